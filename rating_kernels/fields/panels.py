"""The panels of a field's table, which has a Chebyshev series on each (:mod:`.field`).

Rates may differ by any factor: terms are sorted into levels of a factor of four in rate, with panels of a width for
each level.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.jit import exact, inner_exact, inner_kernel
from ..core.standings import Floats, Longs

NODES = 32  # of a panel
ANGLES = (np.arange(NODES) + 0.5) * math.pi / NODES
X = np.cos(ANGLES)  # the nodes, descending
TO_SERIES = 2.0 / NODES * np.cos(np.outer(np.arange(NODES), ANGLES))  # values at X to Chebyshev coefficients
TO_SERIES[0] *= 0.5
HALF_WIDTH = 0.9 * math.pi  # of a panel, over the level's largest rate: the series' error is below 1e-13
LEVEL_RATIO = 4.0  # largest ratio of rates within one level
PANELS = 1 << 18  # maximum on the narrowest level: 64 MB of partial sums a block
PARTIAL = 1 << 22  # maximum number of panels of all blocks together: 1 GB
RATES = 1e100  # maximum ratio of the largest rate to the smallest


class Plan(NamedTuple):
    """The panels of one field, determined by the field's extremes.

    ``low``, ``high``: bounds of all roots.
    ``middle``: panels above it have ``S``, panels below it ``M``.
    ``top_rate``: the largest rate; level ``l`` has rates above ``top_rate / 4**(l + 1)``.
    ``half_width`` (float64[levels]).
    ``first`` (int64[levels]): panel ``i >= first`` of a level begins at ``middle + 2 i half_width``.
    ``offset`` (int64[levels + 1]): the level's panels are rows ``offset[l]:offset[l + 1]`` of the table.
    """

    low: float
    high: float
    middle: float
    top_rate: float
    half_width: Floats
    first: Longs
    offset: Longs

    def partial_sums(self, blocks: int) -> tuple[Floats, Floats]:
        """Zeros for each block's ``sums`` and ``far`` (:func:`.field.accumulate`)."""
        panels, levels = int(self.offset[-1]), len(self.first)
        if panels * blocks > PARTIAL:
            raise OverflowError("ratings in one round lie too far apart for their deviations")
        return np.zeros((blocks, panels, 2, NODES // 2)), np.zeros((blocks, panels + levels, 2))


def plan_panels(low: float, high: float, middle: float, top_rate: float, bottom_rate: float) -> Plan:
    """Panels for rates in [``bottom_rate``, ``top_rate``] that cover [``low``, ``high``].

    Raises OverflowError: more than :data:`PANELS` panels are required, or an argument is NaN.
    """
    _check_width(low, high, top_rate, bottom_rate)
    panels: Plan = plan(low, high, middle, top_rate, bottom_rate)
    return panels


@exact
def extremes(mu, rate, weight, reach_up=0.0, reach_down=0.0):
    """Arguments of :func:`plan_panels` for a field: low, high, middle, top_rate, bottom_rate.

    The table covers the lowest to the highest ``mu``, extended by ``reach_down`` and ``reach_up`` scales (1 / rate).
    """
    low, high, top_rate, bottom_rate = math.inf, -math.inf, rate[0], rate[0]
    total, moment = 0.0, 0.0
    for i in range(len(mu)):
        low, high = min(low, mu[i] - reach_down / rate[i]), max(high, mu[i] + reach_up / rate[i])
        top_rate, bottom_rate = max(top_rate, rate[i]), min(bottom_rate, rate[i])
        total += weight[i]
        moment += weight[i] * (mu[i] - mu[0])
    return low, high, min(max(mu[0] + moment / total, low), high), top_rate, bottom_rate


def _check_width(low: float, high: float, top_rate: float, bottom_rate: float) -> None:
    """Raise ``OverflowError`` if a table needs more than :data:`PANELS` panels; negated, so that NaN is rejected."""
    if not ((high - low) * top_rate <= 2.0 * HALF_WIDTH * PANELS and top_rate <= RATES * bottom_rate):
        raise OverflowError("ratings in one round lie too far apart for their deviations")


check_width = inner_exact(_check_width)  # for kernels


@exact
def plan(low, high, middle, top_rate, bottom_rate):
    """:func:`plan_panels` for kernels, without its check."""
    levels = math.floor(math.log(top_rate / bottom_rate) / math.log(LEVEL_RATIO)) + 1
    half_width = np.empty(levels)
    first = np.empty(levels, dtype=np.int64)
    offset = np.zeros(levels + 1, dtype=np.int64)
    for level in range(levels):
        half_width[level] = HALF_WIDTH / top_rate * LEVEL_RATIO**level
        first[level] = min(math.floor((low - middle) / (2 * half_width[level])), 0)
        last = max(math.floor((high - middle) / (2 * half_width[level])), 0)
        count = last - first[level] + 1
        offset[level + 1] = offset[level] + count + count % 2  # panels are built in pairs
    return Plan(low, high, middle, top_rate, half_width, first, offset)


@inner_kernel
def level_of(rate, top_rate, n_levels):
    """The level of a term by its rate; the last level also has all smaller rates."""
    level = 0
    floor_rate = top_rate / LEVEL_RATIO
    while rate < floor_rate and level < n_levels - 1:
        level += 1
        floor_rate /= LEVEL_RATIO
    return level


@inner_exact
def panel_at(p, side, level, plan):
    """The row of a level's panel at ``p`` on one ``side`` (+1 or -1) of the middle, and ``p`` in it, -1 to 1.

    Beyond the level's panels it is the last one on this side.
    """
    first, offset, h = plan.first, plan.offset, plan.half_width[level]
    count = offset[level + 1] - offset[level]
    i = math.floor((p - plan.middle) / (2 * h))
    i = min(max(i, 0), count + first[level] - 1) if side > 0 else min(max(i, first[level]), -1)
    return offset[level] + i - first[level], (p - plan.middle) / h - (2 * i + 1)
