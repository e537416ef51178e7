"""Sums over all players with a worse place, with terms that depend on both uncertainties, in linear time.

    W_i = sum_worse (variance_i + variance_j)^-1/2 + 1/2 sum_tied (variance_i + variance_j)^-1/2        (self is tied)

At each place this is a smooth function of variance_i. Its values at Chebyshev nodes in ln(variance + smallest variance)
are summed along the ranks, and each player's value is interpolated.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.beliefs import Map, serial_map
from ..core.jit import exact, kernel
from ..core.standings import Floats, Longs
from .blocks import BLOCK, block_starts

DIRECT = 200  # players up to which sums term by term are faster than the scan
NODES = 20  # of a panel: the interpolation error is below 1e-12 of the sum
HALF_WIDTH = 1.6  # maximum of a panel, in ln(variance + smallest variance): a factor of about 25 a panel

_ANGLES = (np.arange(NODES) + 0.5) * math.pi / NODES
_X = np.cos(_ANGLES)
_BARYCENTRIC = np.sin(_ANGLES) * (-1.0) ** np.arange(NODES)


def worse_sums(first: Longs, variance: Floats, map: Map) -> Floats:
    """Sum over all players with a worse place plus half of the sum over the own tie group, including oneself.

    ``first`` (int64[groups + 1]): first row of each tie group, best first, and the number of rows
    (:func:`.performance.group_starts`).
    ``variance`` (float64[n]): > 0.
    Returns float64[n]: in units of 1 / sqrt(variance).
    """
    n = len(variance)
    sums = np.empty(n)
    if n <= DIRECT:
        direct_worse_sums(0, len(first) - 1, first, variance, sums)
        return sums
    map = map if n > BLOCK else serial_map  # one thread is faster for small rounds
    least = variance.min()
    bottom, top = math.log(2.0 * least), math.log(least + variance.max())
    panels = max(math.ceil((top - bottom) / (2.0 * HALF_WIDTH)), 1)
    half = max(0.5 * (top - bottom) / panels, 1e-300)
    centres = bottom + half * (2 * np.arange(panels) + 1)
    at = np.exp(centres[:, None] + half * _X).ravel() - least
    starts = np.unique(np.searchsorted(first, block_starts(n)))  # whole tie groups
    blocks = len(starts) - 1
    below = np.empty((blocks + 1, len(at)))
    below[blocks] = 0.0

    def add_up(start: int, stop: int) -> None:
        for block in range(start, stop):
            _add_up(first[starts[block]], first[starts[block + 1]], variance, at, below[block])

    def scan(start: int, stop: int) -> None:
        for block in range(start, stop):
            _scan(starts[block], starts[block + 1], first, variance, at, below[block + 1], least, bottom, half, sums)

    map(add_up, blocks)
    for block in range(blocks - 1, -1, -1):
        below[block] += below[block + 1]
    map(scan, blocks)
    return sums


@kernel
def direct_worse_sums(start, stop, first, variance, sums):
    """Write the sums of tie groups ``start`` to ``stop - 1``, term by term."""
    n = len(variance)
    for g in range(start, stop):
        for i in range(first[g], first[g + 1]):
            v = variance[i]
            tied, worse = 0.0, 0.0
            for j in range(first[g], first[g + 1]):
                tied += 1.0 / math.sqrt(v + variance[j])
            for j in range(first[g + 1], n):
                worse += 1.0 / math.sqrt(v + variance[j])
            sums[i] = worse + 0.5 * tied


@exact
def _add_up(start, stop, variance, at, totals):
    """Sums over rows ``start`` to ``stop - 1`` at the nodes."""
    totals[:] = 0.0
    for j in range(stop - 1, start - 1, -1):
        for b in range(len(at)):
            totals[b] += 1.0 / math.sqrt(at[b] + variance[j])


@kernel
def _scan(start, stop, first, variance, at, below, least, bottom, half, sums):
    """Write the sums of tie groups ``start`` to ``stop - 1``; ``below`` has the next block's sums at the nodes."""
    run, own = below.copy(), np.empty(len(at))
    panels = len(at) // NODES
    for g in range(stop - 1, start - 1, -1):
        own[:] = 0.0
        for j in range(first[g + 1] - 1, first[g] - 1, -1):
            for b in range(len(at)):
                own[b] += 0.5 / math.sqrt(at[b] + variance[j])
        for b in range(len(at)):
            run[b] += own[b]
        for i in range(first[g], first[g + 1]):
            u = math.log(variance[i] + least) - bottom
            panel = min(max(int(u / (2.0 * half)), 0), panels - 1)
            x = u / half - (2 * panel + 1)
            value, total = 0.0, 0.0
            for k in range(NODES):
                share = _BARYCENTRIC[k] / (x - _X[k])
                value += share * run[panel * NODES + k]
                total += share
            sums[i] = value / total
            if not math.isfinite(total):  # the point is a node
                for k in range(NODES):
                    if x == _X[k]:
                        sums[i] = run[panel * NODES + k]
        for b in range(len(at)):
            run[b] += own[b]
