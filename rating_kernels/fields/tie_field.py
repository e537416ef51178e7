"""Sums over each player's own tie group, to be subtracted from sums over all opponents.

Each tie group is a separate small field. Small groups are summed term by term; large ones use a table (:mod:`.field`),
so that a group of any size costs O(size): half of a contest may be tied at zero points.
"""

from __future__ import annotations

import numpy as np

from ..core.beliefs import Map
from ..core.jit import exact, inner_exact
from ..core.standings import Floats, Longs
from .blocks import BLOCK
from .direct import DIRECT, direct_sums
from .field import read_table, tabulate_small
from .field_sums import field_sums
from .panels import check_width, extremes, plan


def tied_sums(mu: Floats, rate: Floats, weight: Floats, first: Longs, map: Map) -> Floats:
    """``S`` (:func:`.field_sums.field_sums`) over each player's own tie group, including the player.

    ``first`` (int64[groups + 1]): first row of each tie group, and the number of rows.
    Returns float64[n].
    """
    n = len(mu)
    tied = np.empty(n)

    def work(start: int, stop: int) -> None:  # tie groups that begin between these rows
        _tabulate_ties(*np.searchsorted(first, (start, stop)), first, mu, rate, weight, tied)

    map(work, n)
    for group in np.flatnonzero(np.diff(first) > BLOCK):  # each of them is divided among workers
        rows = slice(first[group], first[group + 1])
        tied[rows] = field_sums(mu[rows], rate[rows], weight[rows], map)[0]
    return tied


@inner_exact
def sum_ties(start, stop, mu, rate, weight, tied, below, slope):
    """Write the sums of tie group ``start`` to ``stop - 1``, term by term; ``below`` and ``slope`` are scratch."""
    if stop - start == 1:
        tied[start] = 0.5 * weight[start]
    else:
        field = mu[start:stop]
        direct_sums(
            np.int64(0), stop - start, field, field, rate[start:stop], weight[start:stop],
            tied[start:stop], below, slope,
        )  # fmt: skip


@exact
def _tabulate_ties(start, stop, first, mu, rate, weight, tied):
    """Groups ``start`` to ``stop - 1``, without groups of more than ``BLOCK`` players."""
    zero = np.int64(0)
    below, slope = np.empty(BLOCK), np.empty(BLOCK)
    for g in range(start, stop):
        a, b = first[g], first[g + 1]
        if b - a <= DIRECT:
            sum_ties(a, b, mu, rate, weight, tied, below, slope)
        elif b - a <= BLOCK:
            field, total = mu[a:b], 0.0
            for i in range(a, b):
                total += weight[i]
            low, high, middle, top_rate, bottom_rate = extremes(field, rate[a:b], weight[a:b])
            check_width(low, high, top_rate, bottom_rate)
            panels = plan(low, high, middle, top_rate, bottom_rate)
            read_table(
                zero,
                b - a,
                field,
                total,
                tabulate_small(field, rate[a:b], weight[a:b], panels),
                tied[a:b],
                below,
                slope,
            )
