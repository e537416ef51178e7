"""The rows about frames: a million rows into ``rate_history`` and back; many games, and updates by one game more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from timing import Best, Options, Result, best_of

from ranklake import Ratings, rate_history
from ranklake.flows.engines.factory import open_engine
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.frames.results import Reading
from ranklake.rating_kernels import SYSTEMS

CONTESTS, SIZE, PLAYERS = 20_000, 50, 20_000
TURNS = 5
MOST_RATIO = 1.5
GAMES, UPDATES = 100_000, 1000
MOST_SHARE = 0.1  # an update by one game, in ratings of all games
KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
}


def frames(options: Options) -> Iterator[Result]:
    """Text names, ranks and times, with and without the frame in turns: the median of the ratios of neighbours."""
    frame = _results(options.least(CONTESTS))
    rounds, system = Reading().read(frame).rounds, SYSTEMS["elo-mmr"]
    params, n_players = system.params(), int(rounds.player.max()) + 1
    rate_history(frame[: 100 * SIZE])  # compiles
    with open_engine("threads") as engine:
        pairs = []
        for _ in range(options.repeats(TURNS)):
            alone, outcome = best_of(
                1,
                lambda store: rate_rounds(system, params, store, rounds, engine),
                lambda: system.newcomers(params, n_players),
            )
            seconds, history = best_of(1, lambda _: rate_history(frame))
            pairs.append((seconds, alone))
    ratio = median(seconds / alone for seconds, alone in pairs)
    seconds, alone = (Best(column) for column in zip(*pairs, strict=True))
    same = history["mu"].to_numpy().tobytes() == outcome.mu.tobytes()
    yield Result(
        "frames", f"{len(history):,} rows into rate_history and back: {ratio:.2f} times the rating alone", seconds,
        targets={f"at most {MOST_RATIO:g}x the rating: {ratio:.2f}x": ratio <= MOST_RATIO, "the same bits": same},
        figures={"times_rating": ratio, "rating_seconds": alone},
    )  # fmt: skip


def updates(options: Options) -> Iterator[Result]:
    """One game after many, and a loop of updates by one game each, beside rating all games again."""
    Ratings.rate(_games(50, text=True), "elo")  # compiles
    for kind in KINDS:
        for text in (True, False):
            yield _update(options, kind, text)


def _update(options: Options, kind: str, text: bool) -> Result:
    n_games, n_updates, make = options.least(GAMES), options.least(UPDATES), KINDS[kind]
    games = _games(n_games + 1 + n_updates, text)
    frame, before = make(games), make(games[: 2 * n_games])
    single = [make(games[row : row + 2]) for row in range(2 * n_games, len(games), 2)]

    def update(ratings: Ratings) -> Ratings:
        for game in single[1:]:
            ratings = ratings.update(game)
        return ratings

    again, whole = best_of(options.repeats(3), lambda _: Ratings.rate(frame, "elo"))
    first, ratings = best_of(1, lambda rated: rated.update(single[0]), lambda: Ratings.rate(before, "elo"))
    seconds, updated = best_of(1, lambda _: update(ratings))
    each = Best(value / n_updates for value in seconds.values)
    share, names = each / again, "text" if text else "numbers"
    return Result(
        "updates", f"{kind}, {names}: an update by one game after {n_games:,}, of {n_updates:,}; the first one "
        f"{1e3 * first:.0f} ms, all games again {1e3 * again:.0f} ms", each,
        targets={f"at most {MOST_SHARE:g} of all games again: {share:.3f}": share <= MOST_SHARE,
                 "the same beliefs": updated.beliefs.equals(whole.beliefs)},
        figures={"first_seconds": first, "again_seconds": again}, case=f"{kind} {names}",
    )  # fmt: skip


def _games(n_games: int, text: bool) -> pd.DataFrame:
    """Games between random players, a minute apart."""
    rng = np.random.default_rng(1)
    one = rng.integers(0, n_games // 10 + 2, n_games)
    other = (one + 1 + rng.integers(0, n_games // 10 + 1, n_games)) % (n_games // 10 + 2)
    contest, player = np.repeat(np.arange(n_games), 2), np.stack([one, other], axis=1).ravel()
    return pd.DataFrame(
        {
            "contest": [f"game {i}" for i in contest] if text else contest,
            "player": [f"player {i}" for i in player] if text else player,
            "rank": np.tile([1, 2], n_games),
            "time": 1_600_000_000 + 60 * contest,
        }
    )


def _results(n_contests: int) -> pd.DataFrame:
    """Contests of random standings, an hour apart."""
    rng = np.random.default_rng(1)
    players = np.concatenate([rng.choice(PLAYERS, SIZE, replace=False) for _ in range(n_contests)])
    contest = np.repeat(np.arange(n_contests), SIZE)
    return pd.DataFrame(
        {
            "contest": contest,
            "player": [f"player {i}" for i in players],
            "rank": np.tile(np.arange(1, SIZE + 1), n_contests),
            "time": 1_600_000_000 + 3600 * contest,
        }
    )
