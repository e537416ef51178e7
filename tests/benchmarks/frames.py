"""The row about frames: a DataFrame of a million rows into ``rate_history`` and back, beside its rating alone."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np
import pandas as pd
from timing import Best, Options, Result, best_of

from ranklake import rate_history
from ranklake.flows.engines.factory import open_engine
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.frames.results import Results
from ranklake.rating_kernels import SYSTEMS

__all__ = ["frames"]

CONTESTS, SIZE, PLAYERS = 20_000, 50, 20_000
TURNS = 5
MOST_RATIO = 1.5


def frames(options: Options) -> Iterator[Result]:
    """Text names, ranks and times, with and without the frame in turns: the median of the ratios of neighbours."""
    frame = _results(options.least(CONTESTS))
    rounds, system = Results.read(frame).rounds, SYSTEMS["elo-mmr"]
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


def _results(n_contests: int) -> pd.DataFrame:
    """Contests of random standings, an hour apart."""
    rng = np.random.default_rng(1)
    players = np.concatenate([rng.choice(PLAYERS, SIZE, replace=False) for _ in range(n_contests)])
    contest = np.repeat(np.arange(n_contests), SIZE)
    return pd.DataFrame(
        {
            "contest": contest,
            "player": [f"player {i}" for i in players],
            "rank": np.tile(np.arange(SIZE), n_contests),
            "time": 1_600_000_000 + 3600 * contest,
        }
    )
