"""Small contests by the million: into a lake, rated, and one contest more."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from timing import Command, Options, Result, invoke, run_command

__all__ = ["contests"]

LARGEST = 1_000_000
REPEATS = (3, 3, 1)  # of a hundredth, a tenth and all contests
GROWTH = 1.3  # the time of a row among the last nine tenths, beside that among the tenth before
SEED = 20210725
FIRST_TIME, INTERVAL = 1_000_000_000, 600  # seconds: twenty years


def contests(options: Options) -> Iterator[Result]:
    """Games of two, a tenth as many players: `ingest files` and `rate` of ten and a hundred times as many."""
    largest = options.least(LARGEST)
    sizes = [max(largest // 100, 1), max(largest // 10, 2), max(largest, 3)]
    done: dict[str, list[Command]] = {"ingest files": [], "rate": []}
    with tempfile.TemporaryDirectory() as folder:
        for n, repeats in zip(sizes, REPEATS, strict=True):
            games = Path(folder, f"{n}.parquet")
            pq.write_table(_games(n), games)
            lakes = [Path(folder, f"lake-{n}-{turn}") for turn in range(options.repeats(repeats))]
            done["ingest files"].append(min((_ingest(games, lake) for lake in lakes), key=lambda one: one.seconds))
            done["rate"].append(min((_rate(lake) for lake in lakes), key=lambda one: one.seconds))
        for name, commands in done.items():
            yield _result(name, sizes, commands)
        one, lake = Path(folder, "one.parquet"), lakes[0]
        pq.write_table(_games(largest + 1).slice(2 * largest), one)
        adding, rating = _ingest(one, lake), _rate(lake)
        yield Result(
            "contests",
            f"one game more beside {largest:,}: ranklake ingest files",
            adding.seconds,
            case="one more, ingest files",
        )
        yield Result("contests", "the same: ranklake rate", rating.seconds, case="one more, rate")


def _games(n: int) -> pa.Table:
    """Two rows a game, in order of time."""
    random, n_players = np.random.default_rng(SEED), max(n // 10, 2)
    first = random.integers(0, n_players, n)
    second = (first + random.integers(1, n_players, n)) % n_players
    game = np.repeat(np.arange(n), 2)
    return pa.table(
        {
            "contest": pa.array([f"game-{i}" for i in range(n)]).take(pa.array(game)),
            "player": pa.array([f"player-{i}" for i in range(n_players)]).take(
                pa.array(np.stack([first, second], axis=1).ravel())
            ),
            "rank": np.tile([1, 2], n),
            "time": FIRST_TIME + INTERVAL * game,
        }
    )


def _ingest(games: Path, lake: Path) -> Command:
    return run_command(invoke(), "ingest", "files", games, "--dataset", "games", "--lake", lake)


def _rate(lake: Path) -> Command:
    return run_command(invoke(), "rate", "--dataset", "games", "--system", "elo", "--run", "elo", "--lake", lake)


def _result(name: str, sizes: list[int], commands: list[Command]) -> Result:
    """The time of a row between neighbouring sizes, without the start of the command."""
    before, row = (
        (b.seconds - a.seconds) / (2 * max(n_b - n_a, 1))
        for (n_a, n_b), (a, b) in zip(pairwise(sizes), pairwise(commands), strict=True)
    )
    last = commands[-1]
    growth = row / before if before > 0 else float("nan")
    what = (
        f"ranklake {name} of {sizes[-1]:,} games of two: {row * 1e6:.1f} us a row, {growth:.2f} times the "
        f"{before * 1e6:.1f} us of {sizes[-2]:,}; peak {last.peak_bytes / 1e9:.2f} GB"
    )
    return Result(
        "contests",
        what,
        last.seconds,
        targets={f"a row at most {GROWTH:g}x the time of {sizes[-2]:,}: {growth:.2f}x": growth <= GROWTH},
        figures={"seconds_a_row": row, "growth": growth, "peak_bytes": last.peak_bytes},
        case=name,
    )
