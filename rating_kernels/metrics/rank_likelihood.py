"""Rank likelihood: the logarithm of the chance that a player's performance lies between those above and below.

Source: "Elo-R Competition Rating System" (2015, revised 2020), section 6, suggests the likelihood of the results.
With f_i and F_i the prior law of participant i's performance, by the system's own model,

    l_i = ln integral f_i(p) prod_above (1 - F_j(p)) prod_below F_j(p) prod_tied sqrt(F_j(p) (1 - F_j(p))) dp

by Laplace's method at the performance p_i, the maximum of the integrand: with g its logarithm,
l_i = g(p_i) + ln(2 pi / -g''(p_i)) / 2. In a gap between ratings, where g is flat, the width is that of the field. The
value is l_i less the same for equal priors, which depends on the place and the shape of the laws only, not on their
mean and deviation: it is 0 if all priors are equal, and most of the error of Laplace's method cancels.

With the player among the tied, g is the sum of a function of the tie group and one of the player:

    g(p) = R(p) + ln f_i(p) - ln(F_i(p) (1 - F_i(p))) / 2,    R = sum_above ln(1 - F_j) + sum_below ln F_j
                                                                  + sum_tied ln(F_j (1 - F_j)) / 2

R and three derivatives are kept at evenly spaced nodes while the ranks are passed from the first to the last, and a
polynomial of degree 7 joins two nodes: O(n) a node, and their number depends on the range of ratings. Small rounds, and
those whose ratings lie far apart, are summed term by term. ``tests/twins/rank_likelihood.py`` has the definition.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import exact, inner_exact, inner_kernel
from ..core.numerics import C3, exp, hazards, log1p
from ..core.standings import Floats
from ..core.system import PerformanceLaw
from ..fields.panels import extremes
from .metrics import Kept

DIRECT = 6  # participants up to which sums term by term are faster than nodes
NODES = 1 << 14  # maximum number of nodes of a round
A_PARTICIPANT = 16  # nodes for each participant from which on sums term by term are faster

_STEP = 0.4  # distance of nodes, of the smallest scale: the error of a value is below 5e-8
_TOLERANCE = 1e-10  # of a scale: Newton's next error is far below rounding
_STEPS = 200
_WIDEST = 4.0  # scales of an integrand beyond all ratings: equal priors have at most 3.1, two of them
_LEAST_HAZARD = 0.75  # H(x) is above it for x >= 0
_LN_LEAST = math.log(_LEAST_HAZARD)
_LN_DENSITY = -0.5 * math.log(2.0 * math.pi)  # of the standard normal law at 0


def rank_likelihood(kept: Kept, law: PerformanceLaw, direct: int = DIRECT) -> Floats:
    """The logarithm of the likelihood of each selected row less that of equal priors; nats.

    ``law``: law of performances of each selected row.
    ``direct``: number of participants up to which sums are term by term.
    Returns float64[n]: NaN in rounds with a deviation that is not positive and finite, and in rounds of more than
    1,024 rows where ratings lie further apart than 6,500 of the smallest scale.
    """
    mean, deviation = (np.array(column, dtype=np.float64) for column in (law.mean, law.deviation))
    value = np.full(len(mean), np.nan)
    _rank_likelihood(kept.offsets, kept.hi, mean, deviation, law.shape == "normal", np.int64(direct), value)
    return value


@exact
def _rank_likelihood(offsets, hi, mu, deviation, normal, direct, value):
    for r in range(len(offsets) - 1):
        a, b = offsets[r], offsets[r + 1]
        if not _score_round(hi[a:b], mu[a:b], deviation[a:b], normal, direct, value[a:b]):
            for i in range(a, b):
                value[i] = math.nan


@inner_exact
def _score_round(hi, mu, deviation, normal, direct, value):
    """Write the values of one round; returns False if there are none."""
    n = len(mu)
    rate, one = np.empty(n), np.ones(n)
    total, bottom_rate, lowest, highest = 0.0, math.inf, math.inf, -math.inf
    for i in range(n):
        if not 0.0 < deviation[i] < math.inf:
            return False
        rate[i] = (1.0 if normal else C3) / deviation[i]
        total += rate[i]
        bottom_rate = min(bottom_rate, rate[i])
        lowest, highest = min(lowest, mu[i]), max(highest, mu[i])
    widest = highest - lowest + _WIDEST / bottom_rate
    reach = _reach(total / bottom_rate, normal)
    low, high, _, top_rate, _ = extremes(mu, rate, one, reach, reach)
    cells = (high - low) * top_rate / _STEP
    tabulated = n > direct and cells <= min(NODES, A_PARTICIPANT * n)
    if not (tabulated or n * A_PARTICIPANT <= NODES) or not cells < math.inf:
        return False
    count = int(cells) + 1 if tabulated else 0
    step = (high - low) / max(count, 1)
    nodes = np.zeros((4, count + 1))
    lower, upper = np.ones(n), np.zeros(n)  # weights of ln F and ln(1 - F) in R
    if tabulated:
        for j in range(n):
            _add(1.0, 0.0, mu[j], rate[j], normal, low, step, nodes)
    far = _reach(1.0 * n, normal)
    alone, below, above = np.zeros(1), np.empty(1), np.empty(1)
    start = 0
    while start < n:
        stop = hi[start] + 1
        below[0], above[0] = 0.5 * (stop - start) + n - stop, 0.5 * (stop - start) + start
        equal = _integral(0.0, 1.0, normal, -far, far, _WIDEST, alone, one[:1], below, above, nodes, 0)
        for i in range(start, stop):
            if tabulated:
                _add(-0.5, 0.5, mu[i], rate[i], normal, low, step, nodes)
            lower[i], upper[i] = 0.5, 0.5
        for i in range(start, stop):
            value[i] = -equal + _integral(
                mu[i], rate[i], normal, low, high, widest, mu, rate, lower, upper, nodes, count
            )
        for i in range(start, stop):
            if tabulated:
                _add(-0.5, 0.5, mu[i], rate[i], normal, low, step, nodes)
            lower[i], upper[i] = 0.0, 1.0
        start = stop
    return True


@inner_exact
def _reach(weight, normal):
    """Scales by which maxima may lie above all ratings or below them.

    ``weight``: sum of all rates over the smallest. For logistic laws g' < 0 where every F_j is above logistic(ln
    weight). For normal laws it is -z of the player's own term and at most 1.2 phi(x) of each below, for x >= 1 scales.
    """
    return 1.0 + math.sqrt(2.0 * math.log(weight)) if normal else 0.01 + math.log(weight)


@inner_exact
def _integral(mu, rate, normal, low, high, widest, field_mu, field_rate, lower, upper, nodes, cells):
    """ln of the integral, by Laplace's method: Newton's method within a bracket.

    R is read from the ``cells`` between nodes from ``low`` to ``high``, or, if there are none, summed over the field.
    In a gap of the field the curvature is none, and ``widest`` is the width of the integrand.
    """
    step = (high - low) / max(cells, 1)
    cell = 0
    if cells > 0:  # the last node at which g rises
        stop = cells
        while stop - cell > 1:
            middle = (cell + stop) // 2
            z = (low + middle * step - mu) * rate
            if nodes[1, middle] + rate * _own(z, normal)[1] > 0.0:
                cell = middle
            else:
                stop = middle
    left, right = low + cell * step, low + (cell + 1) * step
    p, last = 0.5 * (left + right), right - left
    value, slope, bend, move = 0.0, 0.0, -1.0, 0.0
    for _ in range(_STEPS):
        own, own_slope, own_bend = _own((p - mu) * rate, normal)
        if cells > 0:
            value, slope, bend = _join((p - low) / step - cell, step, nodes, cell)
        else:
            value, slope, bend = _sum(p, normal, field_mu, field_rate, lower, upper)
        value += own
        slope += rate * own_slope
        bend += rate * rate * own_bend
        if slope > 0.0:
            left = p
        else:
            right = p
        move = -slope / bend if bend < 0.0 else math.inf
        if not (left <= p + move <= right and abs(move) <= 0.5 * last):
            move = 0.5 * (left + right) - p
        p += move
        last = abs(move)
        if last * rate <= _TOLERANCE:
            break
    width = math.sqrt(2.0 * math.pi / -bend) if bend < 0.0 else math.inf
    return value + 0.5 * slope * move + math.log(rate * min(width, widest))


@inner_exact
def _own(z, normal):
    """ln f - ln(F (1 - F)) / 2 of the standard law and its first two derivatives."""
    if not normal:
        e = exp(-abs(z))
        near = 1.0 / (1.0 + e)
        return -0.5 * abs(z) - log1p(e), math.copysign(0.5 * (1.0 - e) * near, -z), -e * near * near
    below, above, down, down_bend, up, up_bend = _logarithms(z, normal)
    return (
        _LN_DENSITY - 0.5 * (z * z + below + above), -z - 0.5 * (down + up), -1.0 - 0.5 * (down_bend + up_bend)
    )  # fmt: skip


@inner_exact
def _logarithms(z, normal):
    """ln F and ln(1 - F) of the standard law, then the first two derivatives of each."""
    size = abs(z)
    if not normal:
        e = exp(-size)
        near, rest = 1.0 / (1.0 + e), log1p(e)
        above = near if z < 0.0 else e * near  # 1 - F
        bend = -e * near * near
        return min(z, 0.0) - rest, -max(z, 0.0) - rest, above, bend, above - 1.0, bend
    up, up_slope, _, down, down_slope, _ = hazards(z)
    tail, body = _tails(size, max(up, down), min(up, down))
    below, above = (tail, body) if z < 0.0 else (body, tail)
    return below, above, down, -down_slope, -up, -up_slope


@inner_exact
def _tails(size, hazard, other):
    """ln(1 - Phi) and ln Phi at ``size`` >= 0, given phi / (1 - Phi) and phi / Phi."""
    return _LN_DENSITY - 0.5 * size * size - _LN_LEAST - log1p(hazard / _LEAST_HAZARD - 1.0), -log1p(other / hazard)


@inner_exact
def _sum(p, normal, mu, rate, lower, upper):
    """R and its first two derivatives, term by term."""
    value, slope, bend = 0.0, 0.0, 0.0
    for j in range(len(mu)):
        below, above, down, down_bend, up, up_bend = _logarithms((p - mu[j]) * rate[j], normal)
        value += lower[j] * below + upper[j] * above
        slope += rate[j] * (lower[j] * down + upper[j] * up)
        bend += rate[j] * rate[j] * (lower[j] * down_bend + upper[j] * up_bend)
    return value, slope, bend


@inner_kernel
def _add(lower, upper, mu, rate, normal, low, step, nodes):
    """Add a multiple of a player's ln F and ln(1 - F), with three derivatives, to R at the nodes."""
    square, cube = rate * rate, rate * rate * rate
    if normal:
        for k in range(nodes.shape[1]):
            z = (low + k * step - mu) * rate
            up, up_slope, up_bend, down, down_slope, down_bend = hazards(z)
            tail, body = _tails(abs(z), max(up, down), min(up, down))
            nodes[0, k] += lower * (tail if z < 0.0 else body) + upper * (body if z < 0.0 else tail)
            nodes[1, k] += rate * (lower * down - upper * up)
            nodes[2, k] -= square * (lower * down_slope + upper * up_slope)
            nodes[3, k] += cube * (lower * down_bend - upper * up_bend)
    elif lower + upper == 0.0:  # ln(1 - F) = ln F - z
        for k in range(nodes.shape[1]):
            nodes[0, k] -= upper * (low + k * step - mu) * rate
            nodes[1, k] -= upper * rate
    else:
        for k in range(nodes.shape[1]):
            z = (low + k * step - mu) * rate
            e = exp(-abs(z))
            near = 1.0 / (1.0 + e)
            far = e * near
            above = near if z < 0.0 else far
            nodes[0, k] += (lower + upper) * (min(z, 0.0) - log1p(e)) - upper * z
            nodes[1, k] += rate * ((lower + upper) * above - upper)
            nodes[2, k] -= square * (lower + upper) * near * far
            nodes[3, k] += cube * (lower + upper) * near * far * (1.0 - 2.0 * above)


@inner_exact
def _join(t, step, nodes, k):
    """R and its first two derivatives at the share ``t`` of a cell: the polynomial with three derivatives at its ends.

    Taylor's polynomial a of the left end, and t^4 q(t - 1), where q completes what is left at the right end.
    """
    a1, a2, a3 = nodes[1, k] * step, nodes[2, k] * step**2 / 2.0, nodes[3, k] * step**3 / 6.0
    d0 = nodes[0, k + 1] - nodes[0, k] - (a1 + a2 + a3)
    d1 = nodes[1, k + 1] * step - (a1 + 2.0 * a2 + 3.0 * a3)
    d2 = nodes[2, k + 1] * step**2 / 2.0 - (a2 + 3.0 * a3)
    d3 = nodes[3, k + 1] * step**3 / 6.0 - a3
    q1, q2, q3 = d1 - 4.0 * d0, d2 - 4.0 * d1 + 10.0 * d0, d3 - 4.0 * d2 + 10.0 * d1 - 20.0 * d0
    s = t - 1.0
    q = d0 + s * (q1 + s * (q2 + s * q3))
    q_slope, q_bend = q1 + s * (2.0 * q2 + s * 3.0 * q3), 2.0 * q2 + 6.0 * s * q3
    u, u_slope, u_bend = t**4, 4.0 * t**3, 12.0 * t**2
    value = nodes[0, k] + t * (a1 + t * (a2 + t * a3)) + u * q
    slope = a1 + t * (2.0 * a2 + t * 3.0 * a3) + u_slope * q + u * q_slope
    bend = 2.0 * a2 + 6.0 * t * a3 + u_bend * q + 2.0 * u_slope * q_slope + u * q_bend
    return value, slope / step, bend / step**2
