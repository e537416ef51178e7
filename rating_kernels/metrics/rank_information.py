"""Rank information: the information of the prior laws of performances about places, in nats a participation.

Participant i of a round of n has a performance with density f_i, by the system's own model. f is the mean of all f_i
and F its distribution function. A place among n corresponds to the level p_i, its quantile of f:

    L = mean_i [ln f_i(p_i) - ln f(p_i)],    p_i = F^-1(1 - (place_i - 1/2) / n)

L is 0 if all priors are equal and larger the better the priors separate the players and fit their places; it is
negative if they are confident and wrong. It is a mean logarithmic score with ranks in place of unknown performances,
and smooth in ratings, deviations and hyperparameters.

A tie group of k places takes the mean over its interval of places, by the midpoint rule with min(k, :data:`PARTS`)
equal parts: up to 16 places these are the places themselves.

F is a sum over participants that is tabulated once a round (:mod:`ranklake.rating_kernels.fields.field`), so a round
costs O(n). ``tests/twins/rank_information.py`` has the definition by quadrature and bisection.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import exact, inner_exact
from ..core.numerics import C3, exp
from ..core.standings import Floats
from ..core.system import PerformanceLaw
from ..fields.density_field import FINER, accumulate_densities, integrate
from ..fields.field import finish, table_start, tabulate_small
from ..fields.panels import HALF_WIDTH, NODES, PANELS, RATES, extremes, panel_at, plan
from ..inference.performance import TOLERANCE
from .metrics import Kept

LEAST = 30  # participants of a round with a value: of fewer ranks F^-1 is too coarse
PARTS = 16  # of a tie group's interval of places
_STEPS = 200
_THIN = 1e-6  # of the largest rate: a field of fewer participants than this is a gap, whose density is summed directly
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)


def rank_information(kept: Kept, law: PerformanceLaw) -> Floats:
    """ln f_i(p_i) - ln f(p_i) of each selected row; the mean of a round is its rank information.

    ``law``: law of performances of each selected row.
    Returns float64[n]: nats. NaN in rounds of fewer than :data:`LEAST` selected rows, in rounds with a deviation that
    is not positive and finite, and where ratings lie too far apart for their deviations (1.4 million of the smallest
    scale).
    """
    return _both(kept, law, LEAST)[0]


def rank_levels(kept: Kept, law: PerformanceLaw) -> Floats:
    """p_i of each selected row: the performance that corresponds to a place, rating points; the mean over a tie group.

    NaN as in :func:`rank_information`, but for rounds of any size.
    """
    return _both(kept, law, 2)[1]


def _both(kept: Kept, law: PerformanceLaw, least: int) -> tuple[Floats, Floats]:
    mean, deviation = (np.array(column, dtype=np.float64) for column in (law.mean, law.deviation))
    value, level = np.full(len(mean), np.nan), np.full(len(mean), np.nan)
    _rank_information(kept.offsets, kept.hi, mean, deviation, law.shape == "normal", np.int64(least), value, level)
    return value, level


@exact
def _rank_information(offsets, hi, mu, deviation, normal, least, value, level):
    for r in range(len(offsets) - 1):
        a, b = offsets[r], offsets[r + 1]
        if b - a < least or not _inform(hi[a:b], mu[a:b], deviation[a:b], normal, value[a:b], level[a:b]):
            for i in range(a, b):
                value[i], level[i] = math.nan, math.nan


@inner_exact
def _inform(hi, mu, deviation, normal, value, level):
    """Write the values and levels of one round; returns False if there are none."""
    n = len(mu)
    rate = np.empty(n)
    for i in range(n):
        if not 0.0 < deviation[i] < math.inf:
            return False
        rate[i] = (1.0 if normal else C3) / deviation[i]
    # this many scales above all ratings, less than half a participant is expected
    reach = 0.01 + (math.sqrt(2.0 * math.log(2.0 * n)) if normal else math.log(2.0 * n))
    low, high, middle, top_rate, bottom_rate = extremes(mu, rate, np.ones(n), reach, reach)
    finest = top_rate * FINER if normal else top_rate
    if not ((high - low) * finest <= 2.0 * HALF_WIDTH * PANELS and finest <= RATES * bottom_rate):
        return False
    table = _tabulate(mu, rate, normal, plan(low, high, middle, finest, bottom_rate))
    levels = np.empty(PARTS)
    start = 0
    while start < n:
        stop = hi[start] + 1
        parts = min(stop - start, PARTS)
        field, mean = 0.0, 0.0
        for part in range(parts):
            above = start + (stop - start) * (part + 0.5) / parts
            p, slope = _level(above, n, top_rate, table)
            levels[part] = p
            if not slope > _THIN * top_rate:
                slope = 0.0
                for i in range(n):
                    slope += math.exp(_mean_log_density(levels[part:], 1, mu[i], rate[i], normal))
            field += math.log(slope / n) / parts
            mean += p / parts
        for i in range(start, stop):
            value[i] = _mean_log_density(levels, parts, mu[i], rate[i], normal) - field
            level[i] = mean
        start = stop
    return True


@inner_exact
def _tabulate(mu, rate, normal, panels):
    """The table of a field on these panels."""
    if not normal:
        return tabulate_small(mu, rate, np.ones(len(mu)), panels)
    levels = len(panels.first)
    sums, far = np.zeros((1, panels.offset[-1], 2, NODES // 2)), np.zeros((1, panels.offset[-1] + levels, 2))
    ends = np.zeros((levels, 2))
    accumulate_densities(mu, rate, panels, sums[0], ends)
    integrate(sums[0], ends, panels)
    return finish(sums, far, panels)


@inner_exact
def _mean_log_density(levels, parts, mu, rate, normal):
    """Mean over the first ``parts`` levels."""
    total, product = 0.0, 1.0
    for part in range(parts):
        x = abs(levels[part] - mu) * rate
        if normal:
            total += 0.5 * x * x
        else:
            total += x
            product *= 1.0 + exp(-x)  # at most 2^16
    if normal:
        return math.log(rate / _ROOT_TWO_PI) - total / parts
    return math.log(rate) - (total + 2.0 * math.log(product)) / parts


@inner_exact
def _level(above, n, top_rate, table):
    """The level p with S(p) = ``above``, and -S'(p): Newton's method within a bracket.

    Each step is at most half of the last. The slope is extrapolated over the last step, whose square is rounding.
    """
    p = table_start(2.0 * above - n, table)
    lower, upper = table.plan.low, table.plan.high
    p = min(max(p, lower), upper)
    last = upper - lower
    slope, bend, step = 0.0, 0.0, 0.0
    for _ in range(_STEPS):
        side = 1.0 if p >= table.plan.middle else -1.0
        value, slope, bend = _curvature(p, side, table)
        excess = value - above if side > 0.0 else (n - above) - value
        slope *= side
        bend *= side
        if excess > 0.0:
            lower = p
        else:
            upper = p
        step = -excess / slope if slope < 0.0 else math.inf
        newton = lower <= p + step <= upper and abs(step) <= 0.5 * last
        if not newton:
            step = 0.5 * (lower + upper) - p
        p += step
        last = abs(step)
        if last * top_rate <= (TOLERANCE if newton else 1e-13):
            break
    return p, -(slope + bend * step)


@inner_exact
def _curvature(p, side, table):
    """``S(p)`` or ``M(p)`` as :func:`.field.table_sum`, its slope and its second derivative."""
    plan, series = table.plan, table.series
    value, slope, bend = 0.0, 0.0, 0.0
    for level in range(len(plan.first)):
        h = plan.half_width[level]
        panel, x = panel_at(p, side, level, plan)
        x2 = 2 * x
        b1, b2, c1, c2, d1, d2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for m in range(NODES - 1, 0, -1):  # Clenshaw, both derivatives of the recurrence beside it
            d1, d2 = 4 * c1 + x2 * d1 - d2, d1
            c1, c2 = 2 * b1 + x2 * c1 - c2, c1
            b1, b2 = series[panel, m] + x2 * b1 - b2, b1
        value += series[panel, 0] + x * b1 - b2
        slope += (b1 + x * c1 - c2) / h
        bend += (2 * c1 + x * d1 - d2) / (h * h)
    return value, slope, bend
