"""Rows that rate real histories beside the authors' engine, both with default hyperparameters."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from history import TENNIS_COLUMNS, History, largest_difference, load, peer_rater, rate_warm
from timing import Best, Options, Result, best_of, run_command

from ranklake.rating_kernels import Beliefs

CODEFORCES = "elo-datasets/codeforces.tar.xz"
TENNIS = "tennis_atp.parquet"
AGREEMENT = 1e-6  # rating points
PEAK_BYTES = 1.5e9


def codeforces_200(options: Options) -> Iterator[Result]:
    """The first 200 rounds of Codeforces against the exact mode."""
    history = load(options.file(CODEFORCES), options.least(200))
    yield _exact("codeforces-200", history, options, ours=7, peer=2, at_least=40.0)


def ctf(options: Options) -> Iterator[Result]:
    """All of CTFtime against the exact mode."""
    yield _exact("ctf", load(options.file("elo-datasets/ctf.tar.xz"), options.limit), options, ours=5, peer=1)


def reddit(options: Options) -> Iterator[Result]:
    """A thousand small rounds against the exact mode."""
    yield _exact("reddit", load(options.file("elo-datasets/reddit.tar.xz"), options.limit), options, ours=9, peer=5)


def tennis(options: Options) -> Iterator[Result]:
    """Half a century of one-to-one matches against the exact mode."""
    history = load(options.file(TENNIS), options.limit, TENNIS_COLUMNS)
    yield _exact("tennis", history, options, ours=5, peer=2, at_least=6.0, at_most=2.0)


def codeforces_all(options: Options) -> Iterator[Result]:
    """All of Codeforces against the approximate mode, on request the exact one; and peak memory."""
    path = options.file(CODEFORCES)
    limit = () if options.limit is None else (str(options.limit),)
    peak = run_command(sys.executable, Path(__file__).with_name("peak.py"), path, *limit).peak_bytes
    yield Result(
        "codeforces-all", "peak memory: reading the archive and rating, in a process of its own",
        targets={f"below {PEAK_BYTES / 1e9} GB: {peak / 1e9:.2f} GB": peak < PEAK_BYTES}, figures={"peak_bytes": peak},
        case="memory",
    )  # fmt: skip
    history = load(path, options.limit)
    ours, beliefs = rate_all(path, options.limit)
    for mode in ("mmr-fast", "mmr") if options.exact else ("mmr-fast",):
        theirs, ratings = best_of(1, peer_rater(history, mode))
        difference = largest_difference(history, beliefs, ratings)
        if mode == "mmr":
            targets = {f"mu within {AGREEMENT:g}: {difference:.1e}": difference <= AGREEMENT}
        else:
            targets = {f"at least 20x: {theirs / ours:.1f}x": theirs >= 20.0 * ours}
        kind = "exact" if mode == "mmr" else "approximate: the difference is its error"
        yield Result("codeforces-all", f"{history}; {mode} ({kind})", ours, theirs, difference, targets, case=mode)


@cache
def rate_all(path: Path, limit: int | None = None, columns: tuple[str, ...] = ()) -> tuple[Best, Beliefs]:
    """Seconds of the computation for a whole history, and the final beliefs; measured once a run."""
    return best_of(3, rate_warm(load(path, limit, columns)))


def _exact(
    name: str, history: History, options: Options, *, ours: int, peer: int, at_least: float | None = None,
    at_most: float | None = None,
) -> Result:  # fmt: skip
    """Both sides, the best of several calls each; ``at_least`` is a ratio, ``at_most`` our seconds."""
    seconds, beliefs = best_of(options.repeats(ours), rate_warm(history))
    theirs, ratings = best_of(options.repeats(peer), peer_rater(history, "mmr"))
    difference = largest_difference(history, beliefs, ratings)
    targets = {f"mu within {AGREEMENT:g}: {difference:.1e}": difference <= AGREEMENT}
    if at_least is not None:
        targets[f"at least {at_least:g}x: {theirs / seconds:.1f}x"] = theirs >= at_least * seconds
    if at_most is not None:
        targets[f"at most {at_most:g} s: {seconds:.3f} s"] = seconds <= at_most
    return Result(name, f"{history}; mmr (exact)", seconds, theirs, difference, targets)
