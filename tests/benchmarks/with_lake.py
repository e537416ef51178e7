"""Rows that time whole commands, with start-up, lake and commits."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from against_peer import CODEFORCES, TENNIS, rate_all
from history import TENNIS_COLUMNS
from timing import Command, Options, Result, invoke, run_command

__all__ = ["codeforces_lake", "start", "tennis_lake"]

REPEATS = 3  # the first may compile; the best counts
TINY = {"paper": "n_rounds=3", "synth-sm": "n_rounds=50"}  # large and small rounds: all kernels


def codeforces_lake(options: Options) -> Iterator[Result]:
    """All of Codeforces into a lake, compared with the computation only."""
    path = options.file(CODEFORCES)
    compute, _ = rate_all(path, options.limit)
    best, inside = _rate_into_lake(path, options, ())
    targets = {
        f"at most 2.5x compute ({compute:.2f} s), with start-up: {best.seconds / compute:.2f}x": best.seconds
        <= 2.5 * compute,
        f"at most 2.5x compute, without: {inside / compute:.2f}x": inside <= 2.5 * compute,
    }
    yield _result("codeforces-lake", best, inside, targets)


def tennis_lake(options: Options) -> Iterator[Result]:
    """Half a century of one-to-one matches into a lake."""
    best, inside = _rate_into_lake(options.file(TENNIS), options, TENNIS_COLUMNS)
    yield _result("tennis-lake", best, inside, {f"at most 5 s: {best.seconds:.2f} s": best.seconds <= 5.0})


def start(options: Options) -> Iterator[Result]:
    """Start-up time, compilation, and that a second run compiles nothing."""
    helped = min(run_command(invoke(), "--help").seconds for _ in range(5))
    yield Result("start", "ranklake --help", helped, targets={f"at most 0.5 s: {helped:.2f} s": helped <= 0.5})
    with tempfile.TemporaryDirectory() as folder:
        lake, cache = Path(folder, "lake"), Path(folder, "cache")
        for preset, size in TINY.items():
            run_command(invoke(), "ingest", "synthetic", "--preset", preset, "--set", size, "--lake", lake)

        def rate(preset: str, run: str, system: str = "elo-mmr") -> tuple[float, int]:
            """Seconds, and number of new files in the cache."""
            before = _files(cache)
            command = (invoke(), "rate", "--dataset", preset, "--system", system, "--run", f"{preset}-{run}")
            seconds = run_command(*command, "--lake", lake, env={"NUMBA_CACHE_DIR": os.fspath(cache)}).seconds
            return seconds, len(_files(cache) - before)

        for preset in TINY:
            shutil.rmtree(cache, ignore_errors=True)
            cold, compiled = rate(preset, "first")
            warm, new = rate(preset, "second")
            yield Result(
                "start", f"ranklake rate, {preset}, empty kernel cache; {cold / warm:.1f} times a warm one", cold,
                figures={"cold_by_warm": cold / warm, "files": compiled},
            )  # fmt: skip
            told = f"no new cache file: {new} beside {compiled}"
            yield Result("start", "the same, kernels compiled", warm, targets={told: new == 0 and compiled > 0})
        second, _ = rate(preset, "glicko", "glicko")
        yield Result("start", "a second system, glicko, compiled after elo-mmr", second,
                     targets={f"at most 3 s: {second:.1f} s": second <= 3.0})  # fmt: skip


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def _rate_into_lake(path: Path, options: Options, columns: tuple[str, ...]) -> tuple[Command, float]:
    """The fastest of several `ranklake rate` into new runs, and its reported seconds. Ingestion is not timed."""
    with tempfile.TemporaryDirectory() as lake:
        named = [word for column in columns for word in ("--column", column)]
        run_command(invoke(), "ingest", "files", path, "--dataset", "d", "--lake", lake, "--on-error", "skip", *named)
        bound = [] if options.limit is None else ["--max-rounds", str(options.limit)]
        done = [
            run_command(invoke(), "rate", "--dataset", "d", "--run", f"r{turn}", "--lake", lake, *bound)
            for turn in range(REPEATS)
        ]
    best = min(done, key=lambda command: command.seconds)
    return best, min(_reported(command) for command in done)


def _reported(command: Command) -> float:
    """Seconds in the last line of `ranklake rate`, in tenths."""
    found = re.search(r" participations in ([0-9.]+) s", command.output)
    if found is None:
        raise RuntimeError(f"ranklake rate reported no seconds: {command.output}")
    return float(found[1])


def _result(name: str, best: Command, inside: float, targets: dict[str, bool]) -> Result:
    what = (
        f"ranklake rate, the whole command; itself it reports {inside:.1f} s; {best.cpu_seconds:.1f} s of all cores "
        f"together; peak {best.peak_bytes / 1e9:.2f} GB"
    )
    figures = {"reported_seconds": inside, "cpu_seconds": best.cpu_seconds, "peak_bytes": best.peak_bytes}
    return Result(name, what, best.seconds, targets=targets, figures=figures)
