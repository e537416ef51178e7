"""Compile the kernels of systems into the cache: ``python -m ranklake.rating_kernels.warm [SYSTEM ...]``.

The kernels of a system come in parts, so that two processes can compile one system. ``small`` is the one kernel that
rates small rounds: it has all steps compiled into it. ``large`` are the steps by themselves and the store of beliefs,
of which a process that compiles ``small`` at the same time loads what it does not have yet.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from time import perf_counter
from typing import Any

import numpy as np
from numba.core import event

from . import SYSTEMS
from .core import cache_folder
from .core.beliefs import serial_map
from .core.standings import Floats, Ints, Rounds
from .core.system import Outcome, System, select_rows
from .metrics.metrics import keep, score

__all__ = ["PARTS", "SCORES", "is_warm", "report_compiled", "serve", "warm", "warm_part"]

PARTS = ("large", "small")  # of a system
SCORES = "metrics"  # what `evaluate` and `search` compile beside
_FEW = 3  # participants of the small round


def is_warm(part: str) -> bool:
    """Whether a part, named as by :func:`warm_part`, was compiled and kept on a machine like this."""
    return cache_folder.is_warm(part)


def warm_part(part: str) -> None:
    """Compile a part, or load it if it is kept: ``metrics``, or a system's, as ``elo-mmr.small``."""
    system, _, kind = part.partition(".")
    if part == SCORES:
        _metrics()
    else:
        {"large": _large, "small": _small}[kind](SYSTEMS[system])
    cache_folder.mark_warm(part)


def warm(system: System, parts: Sequence[str] = PARTS) -> None:
    """Compile parts of a system's kernels, or load them if they are kept."""
    for part in parts:
        warm_part(f"{system.name}.{part}")


def _metrics() -> None:
    """Score a round of made-up players."""
    n = _FEW
    kept = keep(np.array([0, n]), np.arange(n, dtype=np.int32), np.ones(n, dtype=np.bool_))
    score(kept, np.linspace(1600.0, 1400.0, n))


def _small(system: System) -> None:
    """Rate a small round of made-up players."""
    params = system.params()
    beliefs = system.newcomers(params, _FEW)
    round, outcome = _round(np.arange(_FEW)), Outcome.empty(_FEW)
    system.rate_small(params, beliefs, round, outcome)
    system.violations(round, outcome)


def _large(system: System) -> None:
    """Rate a large round of made-up players, and hand beliefs from one store to another."""
    params = system.params()
    n = 2 * system.small
    beliefs = system.newcomers(params, n)
    round, outcome = _round(np.arange(n)), Outcome.empty(n)
    prior = outcome.prior
    beliefs.reserve(round.player)
    if system.compile_last_steps is not None:
        system.compile_last_steps(params, system.newcomers(params, _FEW))
    system.prior(params, beliefs, round, 0, n, prior)
    prior.mu[:] = _spread_out(prior.mu)
    summary = system.summarise(params, prior, round, serial_map)
    system.perform(params, summary, 0, len(summary.first) - 1, outcome.perf)
    system.absorb(params, beliefs, round, prior, select_rows(summary, np.arange(n)), 0, n, outcome)
    system.violations(round, outcome)
    other = system.newcomers(params, 0)
    other.restore(beliefs.columns())
    other.put(round.player, beliefs.take(round.player))


def _spread_out(mu: Floats) -> Floats:
    """The same level with some ratings above and below, as whole points: one field, as in most rounds."""
    return np.asarray(np.floor(mu) + np.arange(len(mu)) % 200 - 100.0, dtype=np.float64)


def _round(player: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Rounds:
    """A round in which the last two tie."""
    n = len(player)
    lo: Ints = np.minimum(np.arange(n), n - 2).astype(np.int32)
    hi = np.where(np.arange(n) < n - 2, np.arange(n), n - 1)
    return Rounds.from_columns([0, n], player, lo, hi, [86_400])


class _Counter(event.Listener):
    """Calls a function after each kernel that was compiled, with its name."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def on_start(self, event: Any) -> None:
        pass

    def on_end(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith(__package__):
            self._tell(function.__qualname__)


@contextmanager
def report_compiled(tell: Callable[[str], None]) -> Iterator[None]:
    """A block that compiles; ``tell`` is called with the name of each kernel that was compiled."""
    collects = gc.isenabled()
    gc.disable()  # a tenth of the time of compilation, which leaves little garbage
    try:
        with event.install_listener("numba:compile", _Counter(tell)):
            yield
    finally:
        if collects:
            gc.enable()


def serve() -> None:
    """Compile the parts that lines of the standard input name, and tell the standard output what was done.

    The first line is the release that the parent process runs; another one is a failure. The end of the input ends the
    process, also in the middle of the work: the parent has ended.
    """
    lines: SimpleQueue[str] = SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            lines.put(line.strip())
        os._exit(0)

    def tell(*words: str) -> None:
        print(*words, flush=True)

    threading.Thread(target=listen, daemon=True).start()
    if lines.get() != cache_folder.release():
        sys.exit("another release")
    with report_compiled(lambda name: tell("kernel", name)):
        while True:
            part = lines.get()
            warm_part(part)
            tell("done", part)


def main(names: Sequence[str]) -> None:
    """Warm the systems named, or all."""
    for name in names or SYSTEMS:
        if name not in SYSTEMS:
            sys.exit(f"system must be one of {', '.join(SYSTEMS)}, got {name!r}")
        began = perf_counter()
        warm(SYSTEMS[name])
        print(f"{name}: ready after {perf_counter() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
