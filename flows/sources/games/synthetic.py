"""Synthetic one-to-one games of any number, from players whose true skills are known, in the shape of a chess server.

Activity is log-normal: a few players play hundreds of games a day, most play rarely. The opponent of a player is the
nearest in skill of some players who are drawn by activity. Results have the three chances of
:mod:`ranklake.rating_kernels.chances.three_way`, with an advantage of White, which does not hold on neutral ground.
Skills are normal, and drift from day to day.

All days use one random stream: games are always generated from the first day on. Memory holds the players and one day.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ranklake.rating_kernels.chances.three_way import DAVIDSON, PRESERVING, three_way
from ranklake.rating_kernels.core.standings import Floats
from ranklake.storage.datasets.tables.games import Games, Period
from ranklake.storage.datasets.tables.kept import Kept, text_of

from ..columns import Bools, Longs
from ..synthetic import check_count, is_number, random_generator
from .options import GAME_ADVANTAGE
from .periods import number_of_period, period_name

_DAY = 86_400
_GROUNDS = tuple(text_of({"neutral": neutral}) for neutral in ("false", "true"))
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
    ``model``: of draws, "davidson" or "preserving".
    ``neutral``: share of games on neutral ground; if it is not 0, games have the column "neutral".
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
    model: str = DAVIDSON
    neutral: float = 0.0

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            check_count(name, getattr(self, name), least)
        for name in ("activity_sd", "skill_mean", "skill_sd", "drift_sd", "advantage", "draws", "neutral"):
            value = getattr(self, name)
            if not is_number(value):
                raise ValueError(f"{name} must be a finite number, got {value!r}")
            if name.endswith("_sd") and value < 0:
                raise ValueError(f"{name} must be >= 0, got {value!r}")
        if not 0.0 <= self.draws < 1.0:
            raise ValueError(f"draws must be >= 0 and < 1, got {self.draws!r}")
        if not 0.0 <= self.neutral <= 1.0:
            raise ValueError(f"neutral must be >= 0 and <= 1, got {self.neutral!r}")
        if self.model not in (DAVIDSON, PRESERVING):
            raise ValueError(f"model must be {DAVIDSON} or {PRESERVING}, got {self.model!r}")
        if not isinstance(self.known_advantage, bool):
            raise ValueError(f"known_advantage must be true or false, got {self.known_advantage!r}")
        if self.known_advantage and not GAME_ADVANTAGE.contains(self.advantage):
            raise ValueError(f"a known advantage must be {GAME_ADVANTAGE.rule}, got {self.advantage!r}")

    @property
    def days(self) -> int:
        """Number of days with games."""
        return -(-self.n_games // self.games_a_day)

    @property
    def nu(self) -> float:
        """How common draws are."""
        return 2.0 * self.draws / (1.0 - self.draws)


GAMES_PRESETS = {
    "chess": GamesPreset(200_000, 10_000_000, 100_000),
    "league": GamesPreset(
        24, 1_200, 12, activity_sd=0.0, candidates=1, skill_sd=150.0, drift_sd=2.0, advantage=60.0, draws=2.0 / 7.0,
        start_day=19_600, model=PRESERVING, neutral=0.15,
    ),
}  # fmt: skip


class Truth(NamedTuple):
    """What results of synthetic games depend on: ``nu`` and the advantage, and the skills on the last day by name."""

    nu: float
    advantage: float
    skills: dict[str, float]


def generate_games(preset: GamesPreset, seed: int) -> Iterator[Period]:
    """The days of synthetic games, in order; one preset and seed always give the same games, for one release of numpy:
    another release may change its generators. ``ValueError`` unless the seed is an integer >= 0.
    """
    days, handles = _days(preset, random_generator(seed)), _handles(preset)
    return (_period(preset, handles, day) for day in days)


def truth_of(preset: GamesPreset, seed: int) -> Truth:
    """The truth about the games of :func:`generate_games`; takes as long as these."""
    for day in _days(preset, random_generator(seed)):
        skill = day.skill
    names = _handles(preset).to_pylist()
    return Truth(preset.nu, preset.advantage, dict(zip(names, skill.tolist(), strict=True)))


def _handles(preset: GamesPreset) -> pa.StringArray:
    return pa.array([f"player-{player:06d}" for player in range(preset.n_players)], pa.string())


def write_games(preset: GamesPreset, seed: int, path: Path) -> None:
    """Write the games of :func:`generate_games` as a Parquet file for `ingest games`, one row group a day.

    The columns are named as in the database of lichess: White, Black, Result, UTCDate and UTCTime; and Advantage, if it
    is known, and neutral, if some ground is.
    """
    named = {"White": pa.string(), "Black": pa.string(), "Result": pa.string()}
    named |= {"UTCDate": pa.date32(), "UTCTime": pa.time32("s")}
    named |= {"Advantage": pa.float64()} if preset.known_advantage else {}
    named |= {"neutral": pa.bool_()} if preset.neutral else {}
    schema = pa.schema(list(named.items()))
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
                *([pa.array(period.games.kept.codes == 1)] if period.games.kept is not None else []),
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


class _Day(NamedTuple):
    """The games of a day, and the skills of all players."""

    white: Longs
    black: Longs
    score: Floats
    time_seconds: Longs
    neutral: Bools
    skill: Floats


def _days(preset: GamesPreset, rng: np.random.Generator) -> Iterator[_Day]:
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
        random, seconds = rng.random(m), np.sort(rng.integers(0, _DAY, m))
        neutral = rng.random(m) < preset.neutral if preset.neutral else np.zeros(m, bool)
        score = _scores(preset, skill[white] + np.where(neutral, 0.0, preset.advantage) - skill[black], random)
        yield _Day(white, black, score, (preset.start_day + day) * _DAY + seconds, neutral, skill)


def _nearest(skill: Floats, player: Longs, candidates: Longs) -> Longs:
    """The nearest in skill of each player's candidates; the player if there is no other one."""
    distance = np.where(candidates == player, np.inf, np.abs(skill[candidates] - skill[player]))
    nearest: Longs = candidates[np.argmin(distance, axis=0), np.arange(len(player))]
    return nearest


def _scores(preset: GamesPreset, ahead: Floats, random: Floats) -> Floats:
    """Scores of White, given the difference of the skills and uniform numbers."""
    half = 0.5 * np.tanh(ahead * (math.log(10.0) / 800.0))
    chances = three_way(0.5 + half, 0.5 - half, preset.nu, preset.model)
    return np.where(random < chances.win, 1.0, np.where(random < chances.win + chances.draw, 0.5, 0.0))


def _period(preset: GamesPreset, handles: pa.StringArray, day: _Day) -> Period:
    players, number = np.unique(np.concatenate([day.white, day.black]), return_inverse=True)
    numbers, m = number.astype(np.int32), len(day.white)
    name = period_name(int(number_of_period(day.time_seconds[:1], "day")[0]), "day")
    advantage = np.where(day.neutral, 0.0, preset.advantage) if preset.known_advantage else np.empty(0)
    kept = Kept(_GROUNDS, day.neutral.astype(np.int32)) if preset.neutral else None
    facts = Games(day.time_seconds, np.ones(m), advantage, kept=kept)
    return Period(name, handles.take(pa.array(players)), numbers[:m], numbers[m:], day.score, facts)
