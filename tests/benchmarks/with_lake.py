"""Rows that time whole commands, with start-up, lake and commits."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from against_peer import CODEFORCES, TENNIS, rate_all
from changes import codeforces
from history import TENNIS_COLUMNS
from timing import Best, Command, Options, Result, invoke, reported, run_command

REPEATS = 3  # the first may compile; the best counts
TINY = {"paper": "n_rounds=3", "synth-sm": "n_rounds=50"}  # large and small rounds: all kernels


def codeforces_lake(options: Options) -> Iterator[Result]:
    """All of Codeforces into a lake, compared with the computation only."""
    compute, _ = rate_all(options.file(CODEFORCES), options.limit)
    with codeforces(options) as (lake, _, _):
        seconds, best, inside = _rate_into_lake(lake, options)
    targets = {
        f"at most 2.5x compute ({compute:.2f} s), with start-up: {seconds / compute:.2f}x": seconds <= 2.5 * compute,
        f"at most 2.5x compute, without: {inside / compute:.2f}x": inside <= 2.5 * compute,
    }
    yield _result("codeforces-lake", seconds, best, inside, targets)


def tennis_lake(options: Options) -> Iterator[Result]:
    """Half a century of one-to-one matches into a lake."""
    named = [word for column in TENNIS_COLUMNS for word in ("--column", column)]
    file = options.file(TENNIS)
    with tempfile.TemporaryDirectory() as lake:
        run_command(invoke(), "ingest", "files", file, "--dataset", "d", "--lake", lake, "--on-error", "skip", *named)
        seconds, best, inside = _rate_into_lake(lake, options)
    yield _result("tennis-lake", seconds, best, inside, {f"at most 5 s: {seconds:.2f} s": seconds <= 5.0})


def start(options: Options) -> Iterator[Result]:
    """Start-up time, compilation, and that a second run compiles nothing."""
    helped = Best(run_command(invoke(), "--help").seconds for _ in range(options.repeats(5)))
    target = {f"at most 0.5 s: {helped:.2f} s": helped <= 0.5}
    yield Result("start", "ranklake --help", helped, targets=target, case="help")
    system = "elo" if options.quick else "elo-mmr"  # with fewer kernels
    with tempfile.TemporaryDirectory() as folder:
        lake, cache = Path(folder, "lake"), Path(folder, "cache")
        presets = list(TINY)[-1:] if options.quick else list(TINY)
        for preset in presets:
            size = TINY[preset]
            run_command(invoke(), "ingest", "synthetic", "--preset", preset, "--set", size, "--lake", lake)

        def rate(preset: str, run: str, system: str = system) -> tuple[float, int]:
            """Seconds, and number of new files in the cache."""
            before = _files(cache)
            command = (invoke(), "rate", "--dataset", preset, "--system", system, "--run", f"{preset}-{run}")
            seconds = run_command(*command, "--lake", lake, env={"NUMBA_CACHE_DIR": os.fspath(cache)}).seconds
            return seconds, len(_files(cache) - before)

        for preset in presets:
            shutil.rmtree(cache, ignore_errors=True)
            cold, compiled = rate(preset, "first")
            warm, new = rate(preset, "second")
            yield Result(
                "start", f"ranklake rate, {preset}, {system}, empty kernel cache; {cold / warm:.1f} times a warm one",
                cold, figures={"cold_by_warm": cold / warm, "files": compiled}, case=f"{preset}, cold",
            )  # fmt: skip
            target = {f"no new cache file: {new} beside {compiled}": new == 0 and compiled > 0}
            yield Result("start", "the same, kernels compiled", warm, targets=target, case=f"{preset}, warm")
        if not options.quick:
            second, _ = rate(preset, "glicko", "glicko")
            yield Result("start", "a second system, glicko, compiled after elo-mmr", second,
                         targets={f"at most 3 s: {second:.1f} s": second <= 3.0}, case="second system")  # fmt: skip


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def _rate_into_lake(lake: str, options: Options) -> tuple[Best, Command, Best]:
    """Seconds of several `ranklake rate` into new runs, the fastest, and their reported seconds."""
    bound = [] if options.limit is None else ["--max-rounds", str(options.limit)]
    done = [
        run_command(invoke(), "rate", "--dataset", "d", "--run", f"r{turn}", "--lake", lake, *bound)
        for turn in range(options.repeats(REPEATS))
    ]
    best = min(done, key=lambda command: command.seconds)
    return Best(command.seconds for command in done), best, Best(reported(command) for command in done)


def _result(name: str, seconds: Best, best: Command, inside: Best, targets: dict[str, bool]) -> Result:
    what = (
        f"ranklake rate, the whole command; itself it reports {inside:.1f} s; {best.cpu_seconds:.1f} s of all cores "
        f"together; peak {best.peak_bytes / 1e9:.2f} GB"
    )
    figures = {"reported_seconds": inside, "cpu_seconds": best.cpu_seconds, "peak_bytes": best.peak_bytes}
    return Result(name, what, seconds, targets=targets, figures=figures)
