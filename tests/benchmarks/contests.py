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

LARGEST = 1_000_000
REPEATS = (3, 3, 1)  # of a hundredth, a tenth and all contests
GROWTH = 1.3  # the time of a row among the last nine tenths, beside that among the tenth before
SEED = 20210725
FIRST_TIME, INTERVAL = 1_000_000_000, 600  # seconds: twenty years


def contests(options: Options) -> Iterator[Result]:
    """Games of two, a tenth as many players: `ingest files` and `rate` of ten and a hundred times as many."""
    largest = options.smaller(LARGEST)
    sizes = [largest // 100, largest // 10, largest][1 if options.quick else 0 :]
    done: dict[str, list[Command]] = {"ingest files": [], "rate": []}
    with tempfile.TemporaryDirectory() as folder:
        for n, repeats in zip(sizes, REPEATS[-len(sizes) :], strict=True):
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
    """The time of a row between neighbouring sizes, without the start of the command; its growth, of three sizes."""
    *before, row = _slopes(sizes, [command.seconds for command in commands])
    *cpu_before, cpu = _slopes(sizes, [command.cpu_seconds for command in commands])
    last = commands[-1]
    what = (
        f"ranklake {name} of {sizes[-1]:,} games of two: {row * 1e6:.1f} us a row, {cpu * 1e6:.1f} us of all cores "
        f"together; peak {last.peak_bytes / 1e9:.2f} GB"
    )
    targets: dict[str, bool] = {}
    figures = {"seconds_a_row": row, "cpu_seconds_a_row": cpu}
    figures |= {"cpu_seconds": last.cpu_seconds, "peak_bytes": last.peak_bytes}
    if before:
        growth, cpu_growth = row / before[0], cpu / cpu_before[0]
        what += f"; {growth:.2f} times the time of a row of {sizes[-2]:,}, {cpu_growth:.2f} times its processor time"
        targets[f"a row at most {GROWTH:g}x the time of {sizes[-2]:,}: {growth:.2f}x"] = 0 < growth <= GROWTH
        figures |= {"growth": growth, "cpu_growth": cpu_growth}
    return Result("contests", what, last.seconds, targets=targets, figures=figures, case=name)


def _slopes(sizes: list[int], values: list[float]) -> list[float]:
    """Growth of a value by one row of a game, between neighbouring sizes."""
    steps = zip(pairwise(sizes), pairwise(values), strict=True)
    return [(b - a) / (2 * (n_b - n_a)) for (n_a, n_b), (a, b) in steps]
