"""Games of made-up players, as periods of a data set and as one contest a game."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ranklake.storage import Contest, Dataset, Lake
from ranklake.storage.datasets.tables.games import Games, Period

__all__ = ["Game", "as_contests", "as_periods", "ingest_periods", "league"]

DAY = 86_400


class Game(NamedTuple):
    """White, Black, the score of White, a time and a weight."""

    white: str
    black: str
    score: float
    time_seconds: int
    weight: float = 1.0


def league(n: int, n_players: int = 30, days: int = 6, seed: int = 3) -> list[Game]:
    """Games in order of time, all at different times; a third are draws."""
    draw = np.random.default_rng(seed)
    times = np.sort(draw.choice(days * DAY, n, replace=False)) + 1_000 * DAY
    games = []
    for time in times.tolist():
        white, black = draw.choice(n_players, 2, replace=False).tolist()
        score, weight = float(draw.choice([0.0, 0.5, 1.0])), float(draw.choice([0.5, 1.0, 2.0]))
        games.append(Game(f"p{white}", f"p{black}", score, time, weight))
    return games


def as_periods(games: Iterable[Game], seconds: int = DAY) -> list[Period]:
    """The periods of games in order of time."""
    periods: dict[int, list[Game]] = {}
    for game in games:
        periods.setdefault(game.time_seconds // seconds, []).append(game)
    return [_period(f"period-{number}", members) for number, members in periods.items()]


def _period(name: str, games: Sequence[Game]) -> Period:
    handles = pa.array([handle for game in games for handle in (game.white, game.black)], pa.string())
    distinct = handles.dictionary_encode()
    numbers = distinct.indices.to_numpy()
    facts = Games(np.array([game.time_seconds for game in games]), np.array([game.weight for game in games]))
    score = np.array([game.score for game in games])
    return Period(name, distinct.dictionary, numbers[::2], numbers[1::2], score, facts)


def as_contests(games: Iterable[Game]) -> list[Contest]:
    """One contest a game."""
    contests = []
    for number, game in enumerate(games):
        names = [game.white, game.black] if game.score >= 0.5 else [game.black, game.white]
        drawn = game.score == 0.5
        lo, hi = np.array([0, 0 if drawn else 1], np.int32), np.array([1 if drawn else 0, 1], np.int32)
        facts = f"g{number}", f"g{number}", "", game.time_seconds
        contests.append(Contest(*facts, pa.array(names, pa.string()), lo, hi, game.weight))
    return contests


def ingest_periods(lake: Lake, periods: Iterable[Period], name: str = "league") -> list[str]:
    """Add periods to a data set of games."""
    with Dataset.ingest(lake, name, games=True) as adding:
        return [adding.add(period) for period in periods]
