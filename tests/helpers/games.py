"""Games of made-up players, as periods of a data set and as one contest a game."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ranklake.flows.sources.games.batch import GamesReport
from ranklake.flows.sources.games.options import GamesOptions
from ranklake.flows.sources.games.reading import read_periods
from ranklake.storage import Contest, Dataset, Lake
from ranklake.storage.datasets.tables.covariates import Covariates
from ranklake.storage.datasets.tables.games import Games, Period

DAY = 86_400


class Game(NamedTuple):
    """White, Black, the score of White, a time, a weight, the advantage of White, points of both, a precision, and the
    covariates length and side as White sees them.
    """

    white: str
    black: str
    score: float
    time_seconds: int
    weight: float = 1.0
    advantage: float = 0.0
    points: tuple[float, float] | None = None
    precision: float = 1.0
    covariates: tuple[float, float] | None = None


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


def with_advantages(games: Sequence[Game], seed: int = 4) -> list[Game]:
    """The same games, most of them with an advantage of either sign."""
    points = np.random.default_rng(seed).choice([35.0, 60.5, 0.0, -20.0], len(games))
    return [game._replace(advantage=float(value)) for game, value in zip(games, points, strict=True)]


def with_points(games: Sequence[Game], unknown: float = 0.25, seed: int = 5) -> list[Game]:
    """The same games, most of them with points that agree with the score; some points may be unknown."""
    draw, scored = np.random.default_rng(seed), []
    for game in games:
        low, ahead = draw.integers(-2, 3), draw.integers(1, 6) * (game.score != 0.5)
        pair = (float(low + ahead), float(low)) if game.score >= 0.5 else (float(low), float(low + ahead))
        scored.append(game._replace(points=None if draw.random() < unknown else pair))
    return scored


def with_covariates(games: Sequence[Game], seed: int = 6) -> list[Game]:
    """The same games, each with two covariates."""
    draw = np.random.default_rng(seed)
    pairs = np.column_stack([draw.normal(0.0, 1.0, len(games)), draw.choice([-1.0, 0.0, 1.0], len(games))])
    return [game._replace(covariates=tuple(pair)) for game, pair in zip(games, pairs.tolist(), strict=True)]


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
    given = ("time_seconds", "weight", *(["advantage"] if any(game.advantage for game in games) else []))
    facts = Games(**{name: np.array([getattr(game, name) for game in games]) for name in given})
    if any(game.points for game in games):
        facts = replace(facts, points=np.array([game.points or (np.nan, np.nan) for game in games]).ravel())
    if any(game.precision != 1.0 for game in games):
        facts = replace(facts, precision=np.array([game.precision for game in games]))
    if any(game.covariates for game in games):
        values = np.array([game.covariates for game in games])
        facts = replace(facts, covariates=Covariates(("length", "side"), values))
    score = np.array([game.score for game in games])
    return Period(name, distinct.dictionary, numbers[::2], numbers[1::2], score, facts)


def as_contests(games: Iterable[Game]) -> list[Contest]:
    """One contest a game; contests have no advantages."""
    contests = []
    for number, game in enumerate(games):
        assert not game.advantage
        names = [game.white, game.black] if game.score >= 0.5 else [game.black, game.white]
        drawn = game.score == 0.5
        lo, hi = np.array([0, 0 if drawn else 1], np.int32), np.array([1 if drawn else 0, 1], np.int32)
        facts = f"g{number}", f"g{number}", "", game.time_seconds
        points = None if game.points is None else np.array(sorted(game.points, reverse=True))
        contests.append(Contest(*facts, pa.array(names, pa.string()), lo, hi, game.weight, points=points))
    return contests


def ingest_periods(lake: Lake, periods: Iterable[Period], name: str = "league") -> list[str]:
    """Add periods to a data set of games."""
    with Dataset.ingest(lake, name, games=True) as adding:
        return [adding.add(period) for period in periods]


def read_games(*paths: Path, **options: object) -> tuple[list[tuple[str, list[tuple]]], GamesReport]:
    """The games of files, by period: both players, score and time of each, and the report."""
    report = GamesReport()
    periods = read_periods([str(path) for path in paths], GamesOptions(**options), report)  # type: ignore[arg-type]
    found = []
    for period in periods:
        names = period.handles.to_pylist()
        columns = period.player, period.opponent, period.score, period.games.time_seconds
        games = [(names[a], names[b], float(s), int(t)) for a, b, s, t in zip(*columns, strict=True)]
        found.append((period.contest_id, games))
    return found, report
