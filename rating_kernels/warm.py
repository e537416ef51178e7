"""Compile the kernels of systems into the cache: ``python -m ranklake.rating_kernels.warm [SYSTEM ...]``.

The kernels of a system are divided into two parts, so that two processes can compile one system. ``small`` is the one
kernel that rates small rounds, with all steps inlined. ``large`` are the kernels of the single steps and of the store.
If both parts are compiled at the same time, each process loads the kernels that the other has already written.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from queue import SimpleQueue
from time import perf_counter
from typing import Any

import numpy as np

from . import SYSTEMS
from .core import cache_folder
from .core.beliefs import Beliefs, serial_map
from .core.learning import Tally
from .core.ragged import Ragged
from .core.standings import Floats, Ints, Rounds
from .core.system import Outcome, PerformanceLaw, Prior, System, select_rows
from .core.waves import Waves

PARTS = ("large", "small")  # of a system
SCORES = "metrics"  # the kernels of `evaluate` and `search`
SMOOTHING = "smoothing"  # the kernels of `smooth_history` and `smooth`
CHANCES = "chances"  # the kernels that learn nu and the advantage from games
PROBLEMS = "problems"  # the kernels of difficulties of problems, and of ratings from problems
STATIC = "bradley_terry"  # the kernels of strengths from comparisons without an order in time
_FEW = 3  # participants of a small round


def is_warm(part: str) -> bool:
    """Whether the kernels of a part (see :func:`warm_part`) are in the cache for this processor."""
    return cache_folder.is_warm(part)


def warm_part(part: str) -> None:
    """Compile a part or load it from the cache: one of those above, or as ``elo-mmr.small``."""
    system, _, kind = part.partition(".")
    if part == SCORES:
        _score()
    elif part == SMOOTHING:
        _smooth()
    elif part == CHANCES:
        _learn()
    elif part == PROBLEMS:
        _solve()
    elif part == STATIC:
        _compare()
    else:
        {"large": _large, "small": _small}[kind](SYSTEMS[system])
    cache_folder.mark_warm(part)


def warm(system: System, parts: Sequence[str] = PARTS) -> None:
    """Compile parts of a system's kernels or load them from the cache."""
    for part in parts:
        warm_part(f"{system.name}.{part}")


def _score() -> None:
    """Score a synthetic round."""
    from .metrics.metrics import keep, score  # imported here, or each command would declare these kernels
    from .metrics.pair_cells import pair_kinds
    from .metrics.rank_information import rank_information
    from .metrics.rank_likelihood import rank_likelihood

    n = _FEW
    kept = keep(np.array([0, n]), np.arange(n, dtype=np.int32), np.ones(n, dtype=np.bool_))
    mu = np.linspace(1600.0, 1400.0, n)
    score(kept, mu)
    law = PerformanceLaw("normal", mu, np.full(n, 200.0))
    rank_information(kept, law)
    rank_likelihood(kept, law)
    pair_kinds(kept, 0, mu, mu)


def _smooth() -> None:
    """Two sweeps over one round with skewed performances, its result, and its hyperparameters; one of teams."""
    from .smoothing.evidence import LEAST
    from .smoothing.params import Smoothing
    from .smoothing.sweeps import Smoother

    round = _round(np.arange(LEAST))
    smoother = Smoother(Smoothing(skew=2.0), round, LEAST)
    smoother.sweep()
    smoother.sweep()
    smoother.result()
    smoother.estimate()
    Smoother(Smoothing(), _pairs(round), LEAST).sweep()


def _learn() -> None:
    """Learn from one game, by a logistic curve and by another one."""
    from .chances.sums import sums_of_leads, sums_of_scores

    one, won, nothing = np.ones(1), np.ones(1, np.int8), np.empty(0)
    sums_of_leads(one, one, won, nothing, nothing, 0.0, 1.0, False)
    sums_of_scores(one, one, one, one, won, nothing, 1.0, False)


def _solve() -> None:
    """The difficulties of a problem and the slope, with a table and without one, and a joint estimate."""
    from .problems.difficulty import DIRECT, Entrants, slope_score
    from .problems.joint import Answers, estimate_jointly

    one = np.ones(1)
    for n in (_FEW, DIRECT + 1):
        slope_score(Entrants.of(np.linspace(1400.0, 1600.0, n)), one, one, 400.0)
    nothing = np.zeros(1, np.int64)
    estimate_jointly(one, one, Answers(nothing, nothing, one))


def _compare() -> None:
    """Fit games of more players than a tile of a matrix has, with every option that has kernels of its own."""
    from .bradley_terry.comparisons import Comparisons, merged
    from .bradley_terry.covariance import covariance
    from .bradley_terry.fit import fit
    from .bradley_terry.params import BradleyTerry

    player = np.arange(100, dtype=np.int32)
    ahead = [Comparisons.of(player, np.roll(player, k), np.tile([1.0, 0.5], 50)) for k in (1, 1, 2)]
    rows = merged(*ahead)
    for params in (BradleyTerry(), BradleyTerry(ridge=np.inf, ties="davidson", covariance="cluster")):
        covariance(fit(rows, len(player), params), rows, params, rows.first).of_differences(player[:1], player[1:2])


def _small(system: System) -> None:
    """Rate a small synthetic round, unless every round of the system is large."""
    n = min(_FEW, system.small)
    if n == 0:
        return
    params = system.params()
    beliefs = system.newcomers(params, n)
    round, outcome = _round(np.arange(n)), Outcome.empty(n)
    system.rate_small(params, beliefs, round, outcome)
    system.violations(round, outcome)
    Waves.of(round.player[: n // 2 * 2], n)
    if hasattr(params, "games") and not system.periods:
        from .inference.period_games import SIMULTANEOUS  # imported here, as in _score

        game = _round(np.arange(2))
        system.rate_small(replace(params, games=SIMULTANEOUS), system.newcomers(params, 2), game, Outcome.empty(2))


def _large(system: System) -> None:
    """Rate a large synthetic round, and copy beliefs from one store to another."""
    learning = system.learning  # the kernels of its switch, too
    params = system.params(**({} if learning is None else {learning.switch: True}))
    n = 2 * max(system.small, _FEW)
    beliefs = system.newcomers(params, n)
    round, outcome = _round(np.arange(n)), Outcome.empty(n)
    prior = outcome.prior
    beliefs.reserve(round.player)
    if system.empty_summary is not None:
        one, nothing, empty = _round(np.arange(1)), Outcome.empty(1), system.empty_summary()
        system.absorb(params, system.newcomers(params, _FEW), one, nothing.prior, empty, 0, 0, nothing)
        system.perform(params, empty, 0, 0, nothing.perf)
    system.prior(params, beliefs, round, 0, n, prior)
    if not system.periods:  # otherwise the games of a period are its only steps
        _steps(system, params, beliefs, round, prior, outcome)
    other = system.newcomers(params, 0)
    other.restore(beliefs.columns())
    other.put(round.player, beliefs.take(round.player))
    if system.rate_teams is not None:
        system.rate_teams(params, beliefs, _pairs(round), serial_map, outcome)


def _steps(system: System, params: Any, beliefs: Beliefs, round: Rounds, prior: Prior, outcome: Outcome) -> None:
    """The steps of a large round after the first one, and all of a small one with advantages."""
    prior.mu[:] = _spread_out(prior.mu)
    _last_steps(system, params, beliefs, round, prior, outcome)
    if not system.advantages:  # a small round with advantages is rated by the steps
        few, found = _round(np.arange(_FEW)), Outcome.empty(_FEW)
        prior = found.prior
        system.prior(params, beliefs, few, 0, _FEW, prior)
        beliefs.reserve(few.player)
        _last_steps(system, params, beliefs, few, prior, found)
    system.violations(round, outcome)


def _last_steps(system: System, params: Any, beliefs: Beliefs, round: Rounds, prior: Prior, outcome: Outcome) -> None:
    """The steps of a round after the first one."""
    n = round.n_rows
    summary = system.summarise(params, prior, round, serial_map)
    system.perform(params, summary, 0, len(summary.first) - 1, outcome.perf)
    tally = Tally(system.learning, params, beliefs, round, prior)
    tally.add(0, n, outcome.perf)
    tally.close()
    system.absorb(params, beliefs, round, prior, select_rows(summary, np.arange(n)), 0, n, outcome)


def _spread_out(mu: Floats) -> Floats:
    """Ratings around the same level, in whole points: a connected field, as in most rounds."""
    return np.asarray(np.floor(mu) + np.arange(len(mu)) % 200 - 100.0, dtype=np.float64)


def _round(player: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Rounds:
    """A round in which the last two participants tie."""
    n = len(player)
    lo: Ints = np.minimum(np.arange(n), max(n - 2, 0)).astype(np.int32)
    hi = np.where(np.arange(n) < n - 2, np.arange(n), n - 1)
    return Rounds.from_columns([0, n], player, lo, hi, [86_400])


def _pairs(round: Rounds) -> Rounds:
    """The same round between teams of two, without ties."""
    n = round.n_rows
    place = np.arange(n, dtype=np.int32) // 2
    return replace(round, lo=place, hi=place, teams=Ragged(np.arange(0, n + 1, 2), np.ones(n)))


@contextmanager
def report_compiled(report: Callable[[str], None]) -> Iterator[None]:
    """Call ``report`` with the name of each kernel that is compiled inside the block."""
    from .core.dispatchers import notify  # imports numba

    def on_end(function: Any) -> None:
        if function.__module__.startswith(__package__):
            report(function.__qualname__)

    collects = gc.isenabled()
    gc.disable()  # saves a tenth of the compilation time; compilation leaves little garbage
    try:
        with notify(on_end=on_end):
            yield
    finally:
        if collects:
            gc.enable()


def serve() -> None:
    """Compile the parts named in the lines of standard input and report progress on standard output.

    The first line is the release of the parent process; the process fails if its own release differs. The process ends
    at the end of input, even during a compilation: the parent has ended.
    """
    lines: SimpleQueue[str] = SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            lines.put(line.strip())
        os._exit(0)

    def report(*words: str) -> None:
        print(*words, flush=True)

    threading.Thread(target=listen, daemon=True).start()
    release = cache_folder.release()  # imports numba, while the parent starts
    if lines.get() != release:
        sys.exit("another release")
    with report_compiled(lambda name: report("kernel", name)):
        while True:
            part = lines.get()
            warm_part(part)
            report("done", part)


def main(names: Sequence[str]) -> None:
    """Compile the kernels of some systems, or of all."""
    for name in names or SYSTEMS:
        if name not in SYSTEMS:
            sys.exit(f"system must be one of {', '.join(SYSTEMS)}, got {name!r}")
        began = perf_counter()
        warm(SYSTEMS[name])
        print(f"{name}: ready after {perf_counter() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
