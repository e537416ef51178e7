"""Compile kernels once, before processes that share a cache start: ``python -m rating_kernels.warm [SYSTEM ...]``.

A process that finds a kernel in the cache loads it in milliseconds; several that do not find it each compile it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import perf_counter

import numpy as np

from . import SYSTEMS
from .beliefs import at_once
from .standings import Floats, Ints, Rounds
from .system import Outcome, System, of_rows

__all__ = ["warm"]


def warm(system: System) -> None:
    """Rate a small and a large round of made-up players, and hand beliefs from one store to another."""
    params = system.params()
    n = 2 * system.small
    beliefs = system.newcomers(params, n)
    rate_small = _round(np.arange(3))
    system.rate_small(params, beliefs, rate_small, Outcome.empty(3))
    round, outcome = _round(np.arange(n)), Outcome.empty(n)
    prior = outcome.prior
    system.prior(params, beliefs, round, 0, n, prior)
    prior.mu[:] = _spread_out(prior.mu)
    beliefs.make_room(round.player)
    summary = system.summarise(params, prior, round, at_once)
    system.perform(params, summary, 0, len(summary.first) - 1, outcome.perf)
    system.absorb(params, beliefs, round, prior, of_rows(summary, np.arange(n)), 0, n, outcome)
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
