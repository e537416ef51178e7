"""Synthetic one-to-one games of any number, from players whose true skills are known, in the shape of a chess server.

Activity is log-normal: a few players play hundreds of games a day, most play rarely. The opponent of a player is the
nearest in skill of some players who are drawn by activity. Results are those of Davidson, "On extending the
Bradley-Terry model to accommodate ties in paired comparison experiments" (Journal of the American Statistical
Association 65, 1970), which has draws, with an advantage of White. Skills are normal, and drift from day to day.

All days use one random stream: games are always generated from the first day on. Memory holds the players and one day.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ranklake.rating_kernels.core.standings import Floats
from ranklake.storage.datasets.tables.games import Games, Period

from ..columns import Longs
from ..synthetic import check_count, is_number, random_generator
from .options import GAME_ADVANTAGE
from .periods import number_of_period, period_name

_DAY = 86_400
_LEAST = {"n_players": 2, "n_games": 1, "games_a_day": 1, "candidates": 1, "start_day": 0}


@dataclass(frozen=True, slots=True)
class GamesPreset:
    """All parameters of synthetic games except their seed; ``dataclasses.replace`` makes another preset.

    ``activity_sd``: standard deviation of the logarithm of a player's activity; 0: all play equally often.
    ``candidates``: players drawn by activity, of whom the nearest in skill is the opponent.
    ``skill_mean``, ``skill_sd``: normal distribution of the skills on the first day; ``drift_sd`` of their change from
    day to day. All these, and the ``advantage`` of White, are rating points.
    ``known_advantage``: whether the games have the advantage, for systems that use it.
    ``draws``: probability of a draw between equals, >= 0 and < 1.
    ``start_day``: the first day, counted from 1970-01-01.
    """

    n_players: int
    n_games: int
    games_a_day: int
    activity_sd: float = 1.5
    candidates: int = 3
    skill_mean: float = 1500.0
    skill_sd: float = 350.0
    drift_sd: float = 5.0
    advantage: float = 35.0
    draws: float = 0.05
    start_day: int = 15_706
    known_advantage: bool = False

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            check_count(name, getattr(self, name), least)
        for name in ("activity_sd", "skill_mean", "skill_sd", "drift_sd", "advantage", "draws"):
            value = getattr(self, name)
            if not is_number(value):
                raise ValueError(f"{name} must be a finite number, got {value!r}")
            if name.endswith("_sd") and value < 0:
                raise ValueError(f"{name} must be >= 0, got {value!r}")
        if not 0.0 <= self.draws < 1.0:
            raise ValueError(f"draws must be >= 0 and < 1, got {self.draws!r}")
        if not isinstance(self.known_advantage, bool):
            raise ValueError(f"known_advantage must be true or false, got {self.known_advantage!r}")
        if self.known_advantage and not GAME_ADVANTAGE.contains(self.advantage):
            raise ValueError(f"a known advantage must be {GAME_ADVANTAGE.rule}, got {self.advantage!r}")

    @property
    def days(self) -> int:
        """Number of days with games."""
        return -(-self.n_games // self.games_a_day)


GAMES_PRESETS = {"chess": GamesPreset(200_000, 10_000_000, 100_000)}


def generate_games(preset: GamesPreset, seed: int) -> Iterator[Period]:
    """The days of synthetic games, in order; one preset and seed always give the same games, for one release of numpy:
    another release may change its generators. ``ValueError`` unless the seed is an integer >= 0.
    """
    days = _days(preset, random_generator(seed))
    handles = pa.array([f"player-{player:06d}" for player in range(preset.n_players)], pa.string())
    return (_period(preset, handles, *day) for day in days)


def write_games(preset: GamesPreset, seed: int, path: Path) -> None:
    """Write the games of :func:`generate_games` as a Parquet file for `ingest games`, one row group a day.

    The columns are named as in the database of lichess: White, Black, Result, UTCDate and UTCTime; and Advantage, if it
    is known.
    """
    kinds = [pa.string(), pa.string(), pa.string(), pa.date32(), pa.time32("s"), pa.float64()]
    names = ["White", "Black", "Result", "UTCDate", "UTCTime", *(["Advantage"] if preset.known_advantage else [])]
    schema = pa.schema(list(zip(names, kinds, strict=False)))
    with pq.ParquetWriter(path, schema) as writer:
        for period in generate_games(preset, seed):
            seconds = period.games.time_seconds
            texts = pa.array(["0-1", "1/2-1/2", "1-0"]).take(pa.array((2 * period.score).astype(np.int8)))
            columns = [
                *(period.handles.take(pa.array(number)) for number in (period.player, period.opponent)),
                texts,
                pa.array((seconds // _DAY).astype(np.int32)).cast(pa.date32()),
                pa.array((seconds % _DAY).astype(np.int32)).cast(pa.time32("s")),
                *([pa.array(period.games.advantage)] if preset.known_advantage else []),
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def _days(preset: GamesPreset, rng: np.random.Generator) -> Iterator[tuple[Longs, Longs, Floats, Longs]]:
    """White, Black, the score of White and the time of the games of each day."""
    skill = rng.normal(preset.skill_mean, preset.skill_sd, preset.n_players)
    activity = np.cumsum(np.exp(rng.normal(0.0, preset.activity_sd, preset.n_players)))

    def draw(size: tuple[int, ...]) -> Longs:
        found: Longs = np.searchsorted(activity, rng.random(size) * activity[-1], side="right")
        found[found == preset.n_players] -= 1  # the product was rounded up to the total
        return found

    for day in range(preset.days):
        if day:
            skill += rng.normal(0.0, preset.drift_sd, preset.n_players)
        m = min(preset.games_a_day, preset.n_games - day * preset.games_a_day)
        white, black = draw((m,)), np.empty(m, np.int64)
        open_games = np.arange(m)
        while len(open_games):
            black[open_games] = _nearest(skill, white[open_games], draw((preset.candidates, len(open_games))))
            open_games = open_games[black[open_games] == white[open_games]]
        score = _scores(preset, skill[white] + preset.advantage - skill[black], rng.random(m))
        seconds = np.sort(rng.integers(0, _DAY, m))
        yield white, black, score, (preset.start_day + day) * _DAY + seconds


def _nearest(skill: Floats, player: Longs, candidates: Longs) -> Longs:
    """The nearest in skill of each player's candidates; the player if there is no other one."""
    distance = np.where(candidates == player, np.inf, np.abs(skill[candidates] - skill[player]))
    nearest: Longs = candidates[np.argmin(distance, axis=0), np.arange(len(player))]
    return nearest


def _scores(preset: GamesPreset, ahead: Floats, random: Floats) -> Floats:
    """Scores by Davidson's model, given the difference of the skills and uniform numbers.

    The odds of a win, a draw and a loss are e^x : nu : e^-x, with x = ahead ln 10 / 800.
    """
    x = ahead * (math.log(10.0) / 800.0)
    nu = 2.0 * preset.draws / (1.0 - preset.draws)
    win, loss = np.exp(x), np.exp(-x)
    random = random * (win + nu + loss)
    return np.where(random < win, 1.0, np.where(random < win + nu, 0.5, 0.0))


def _period(
    preset: GamesPreset, handles: pa.StringArray, white: Longs, black: Longs, score: Floats, time_seconds: Longs
) -> Period:
    players, number = np.unique(np.concatenate([white, black]), return_inverse=True)
    numbers, m = number.astype(np.int32), len(white)
    name = period_name(int(number_of_period(time_seconds[:1], "day")[0]), "day")
    facts = Games(time_seconds, np.ones(m), np.full(m if preset.known_advantage else 0, float(preset.advantage)))
    return Period(name, handles.take(pa.array(players)), numbers[:m], numbers[m:], score, facts)
