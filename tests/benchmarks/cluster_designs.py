"""Time of a round by two other exchanges among workers, beside the relay of :mod:`cluster_model`.

*All-gather*: the driver sends row numbers only; workers exchange the beliefs that each of them has diffused, in as
many steps as their number doubles. *Exact accumulators*: the terms of the table are numbers of 80 binary places in two
integers, whose sums have the same bits in any order; each worker sums those of its own players, and only the
sums travel, up a tree and down again.
"""

from __future__ import annotations

import math
import time

import numba
import numpy as np
from cluster_model import CHUNK_BYTES, LATENCY, LINK, TRIP, Costs

Phases = dict[str, float]

LIMB = float(1 << 40)  # the first integer counts 2^-40, the second 2^-80; sums of 2^22 terms of at most 1 fit
NODES, TERMS, REPEATS = 256, 20_000, 5


def gathered_seconds(costs: Costs, n: int, workers: int, relay: Phases) -> Phases:
    """Seconds of a round of ``n`` participants by phase, if workers exchange the field among themselves.

    ``relay``: the same of the relay, whose other phases do not change.
    """
    n_bytes = n * costs.field * (workers - 1) / workers
    steps = math.ceil(math.log2(workers))
    exchange = steps * TRIP + n_bytes * max(1 / LINK, 2 * costs.chunk / CHUNK_BYTES)  # a worker receives and sends it
    parts = costs.partials / (costs.field + costs.partials)  # of the table, which the driver still relays
    return relay | {"to all": exchange + parts * relay["to all"]}


def accumulated_seconds(costs: Costs, n: int, workers: int, further: float, relay: Phases) -> Phases:
    """Seconds of a round of ``n`` participants by phase, if workers exchange exact sums only.

    ``further``: seconds that a participant takes longer in exact sums than in floating point; ``relay`` as above.
    """
    reductions = 2 * 2 * math.ceil(math.log2(workers)) * (TRIP + LATENCY)  # the bounds of the table, then its sums
    return relay | {
        "to all": reductions,
        "workers, all of the field": n * costs.replicated / workers,
        "workers, their share": n * (costs.shared + further) / workers,
    }


def accumulator_seconds() -> float:
    """Seconds that a participant takes longer in exact sums, with one term for each node of a table."""
    terms = np.random.default_rng(1).random((64, NODES))  # stays in a cache
    floats, high, low = np.zeros(NODES), np.zeros(NODES, dtype=np.int64), np.zeros(NODES, dtype=np.int64)
    add_floats(terms[:1], 1, floats)
    add_exact(terms[:1], 1, high, low)
    spent: tuple[list[float], list[float]] = [], []
    for _ in range(REPEATS):
        began = time.thread_time()
        add_floats(terms, TERMS, floats)
        between = time.thread_time()
        add_exact(terms, TERMS, high, low)
        spent[0].append(between - began)
        spent[1].append(time.thread_time() - between)
    return max(min(spent[1]) - min(spent[0]), 0.0) / TERMS


@numba.njit
def add_floats(terms, repeats, sums):
    """Add rows of terms to sums in floating point."""
    for i in range(repeats):
        row = terms[i % len(terms)]
        for k in range(len(sums)):
            sums[k] += row[k]


@numba.njit
def add_exact(terms, repeats, high, low):
    """Add rows of terms in [0, 1] to sums of two integers."""
    for i in range(repeats):
        row = terms[i % len(terms)]
        for k in range(len(high)):
            scaled = row[k] * LIMB
            first = np.int64(scaled)
            high[k] += first
            low[k] += np.int64((scaled - first) * LIMB)
