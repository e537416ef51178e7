"""Rows in which all systems rate the same histories, beside the authors' engine where it has them."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np
from against_peer import CODEFORCES, TENNIS
from history import TENNIS_COLUMNS, History, largest_difference, load, peer_rater, rate_warm
from timing import Best, Options, Result, best_of

from ranklake.rating_kernels.registry import of_contests

# our system, the engine's, and the allowed difference; the engine's erfc limits the last two
PEERS = (
    ("cf-general", "cfsys", 1e-6),
    ("glicko-allpairs", "glicko", 1e-6),
    ("bar", "bar", 1e-6),
    ("topcoder", "tcsys", 1e-4),
    ("elo-mmx", "mmx", 1e-4),
)
AT_LEAST = 10.0  # times faster than the peer
ONE_DIMENSIONAL = ("cf-general", "codeforces", "leetcode", "elo", "elo-srm", "glicko", "glicko2", "glicko-allpairs")
TWICE = 2.0  # times the time of elo-mmr
WITHOUT_HISTORY = 0.75  # of the time of elo-mmr, for elo-mms
TURNS = 5
SECONDS = {"topcoder": 30.0, "bar": 30.0, "elo-mmx": 30.0, "elo-r": 30.0}
TENNIS_SECONDS = {"elo": 1.0, "glicko": 1.0, "glicko2": 1.0}


def systems_200(options: Options) -> Iterator[Result]:
    """The first 200 rounds of Codeforces: the systems of the engine."""
    history = load(options.file(CODEFORCES), options.least(200))
    for ours, theirs, agreement in PEERS:
        seconds, beliefs = best_of(options.repeats(7), rate_warm(history, ours))
        peer_seconds, ratings = best_of(options.repeats(2), peer_rater(history, theirs))
        difference = largest_difference(history, beliefs, ratings)
        targets = {
            f"mu within {agreement:g}: {difference:.1e}": difference <= agreement,
            f"at least {AT_LEAST:g}x: {peer_seconds / seconds:.1f}x": peer_seconds >= AT_LEAST * seconds,
        }
        what = f"{ours}; {history}; {theirs}"
        yield Result("systems-200", what, seconds, peer_seconds, difference, targets, case=ours)


def systems_all(options: Options) -> Iterator[Result]:
    """All of Codeforces, every system, compared with elo-mmr in one run."""
    history = load(options.file(CODEFORCES), options.limit)
    base, _ = best_of(options.repeats(3), rate_warm(history))
    for name in of_contests():
        repeats = options.repeats(1 if name == "trueskill" else 2)
        seconds = base if name == "elo-mmr" else best_of(repeats, rate_warm(history, name))[0]
        targets = {}
        if name in ONE_DIMENSIONAL:
            targets[f"at most {TWICE:g}x elo-mmr: {seconds / base:.2f}x"] = seconds <= TWICE * base
        if name in SECONDS:
            targets[f"at most {SECONDS[name]:g} s: {seconds:.1f} s"] = seconds <= SECONDS[name]
        figures = {"times_elo_mmr": seconds / base}
        yield Result("systems-all", f"{name}; {history}", seconds, targets=targets, figures=figures, case=name)


def elo_mms(options: Options) -> Iterator[Result]:
    """All of Codeforces by elo-mmr and elo-mms in turns: the median of the ratios of neighbours."""
    history = load(options.file(CODEFORCES), options.limit)
    with_history, without = rate_warm(history), rate_warm(history, "elo-mms")
    pairs = [(best_of(1, without)[0], best_of(1, with_history)[0]) for _ in range(options.repeats(TURNS))]
    ratio = median(one / other for one, other in pairs)
    seconds, other = (Best(column) for column in zip(*pairs, strict=True))
    targets = {f"at most {WITHOUT_HISTORY:g}x elo-mmr: {ratio:.2f}x": ratio <= WITHOUT_HISTORY}
    figures = {"times_elo_mmr": ratio}
    yield Result("elo-mms", f"elo-mms; {history}; elo-mmr", seconds, other, targets=targets, figures=figures)


def systems_others(options: Options) -> Iterator[Result]:
    """CTFtime, Reddit and tennis, every system."""
    files = {"ctf": ("elo-datasets/ctf.tar.xz", ()), "reddit": ("elo-datasets/reddit.tar.xz", ()),
             "tennis": (TENNIS, TENNIS_COLUMNS)}  # fmt: skip
    for label, (file, columns) in files.items():
        history = load(options.file(file), options.limit, columns)
        for name in of_contests():
            limits = TENNIS_SECONDS if label == "tennis" else {}
            yield _alone(label, name, history, limits, options.repeats(2))


def _alone(label: str, name: str, history: History, limits: dict[str, float], repeats: int) -> Result:
    """Seconds of one system, and a check that all ratings are finite."""
    seconds, beliefs = best_of(repeats, rate_warm(history, name))
    targets = {"ratings are numbers": bool(np.isfinite(beliefs.mu).all() and np.isfinite(beliefs.sigma).all())}
    if name in limits:
        targets[f"at most {limits[name]:g} s: {seconds:.2f} s"] = seconds <= limits[name]
    return Result("systems-others", f"{label}, {name}; {history}", seconds, targets=targets, case=f"{label} {name}")
