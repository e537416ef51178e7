"""Sums of a smooth function of the difference of two ratings over all opponents of another place, in linear time.

Both ratings are interpolated on one lattice: each row is distributed over the 16 nearest lattice points, the points are
convolved with the function, and each row interpolates from its 16 points. Large tie groups are subtracted in the same
way. With ratings in units of the logistic law the nearest singularity of the functions is at pi i; a lattice of five
points a unit has an error of 1e-12. Few rows, or rows very far apart, are summed directly.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import inner_exact, inner_kernel

_STEP = 0.2  # units of the logistic law
_POINTS = 16  # over which a row is distributed
_FEW = 16  # rows up to which all pairs are faster than a lattice
_CHEAPER = 4.0  # lattice points a row up to which the lattice is faster than all pairs
_BARYCENTRIC = np.array([(-1.0) ** k * math.comb(_POINTS - 1, k) for k in range(_POINTS)])


@inner_exact
def sum_opponents(x, lo, hi, logistic, log_cosh):
    """Sums over all rows ``j`` of other tie groups, for each row.

    ``x`` (float64[n]): ratings in units of the logistic law, in standing order.
    ``lo``, ``hi`` (int32[n]): first and last row of the tie group.
    ``logistic``, ``log_cosh`` (float64[n]): output: sum of logistic(x_j - x_i), and of ln(2 cosh((x_j - x_i) / 2)).
    """
    n, low, high = len(x), x.min(), x.max()
    logistic[:], log_cosh[:] = 0.0, 0.0
    if n <= _FEW or (high - low) / _STEP > _CHEAPER * n:
        for i in range(n):
            _add_pairs(x, i, 0, lo[i], 1.0, logistic, log_cosh)
            _add_pairs(x, i, hi[i] + 1, n, 1.0, logistic, log_cosh)
        return
    first = low - (_POINTS // 2 - 1) * _STEP  # of the lattice: each row has half of its points on either side
    spread, at = np.empty((n, _POINTS)), np.empty(n, np.int64)
    for i in range(n):
        at[i] = _spread((x[i] - first) / _STEP, spread[i])
    _add_by_lattice(spread, at, 1.0, logistic, log_cosh)
    a = 0
    while a < n:
        b = hi[a] + 1
        if b - a <= _FEW:
            for i in range(a, b):
                _add_pairs(x, i, a, b, -1.0, logistic, log_cosh)
        else:
            _add_by_lattice(spread[a:b], at[a:b], -1.0, logistic[a:b], log_cosh[a:b])
        a = b


@inner_kernel
def _add_pairs(x, i, begin, end, sign, logistic, log_cosh):
    """Add the pairs of row ``i`` with some rows to its sums."""
    one, other = 0.0, 0.0
    for j in range(begin, end):
        a, b = _pair(x[j] - x[i])
        one += a
        other += b
    logistic[i] += sign * one
    log_cosh[i] += sign * other


@inner_exact
def _pair(d):
    """logistic(d), and ln(2 cosh(d / 2))."""
    e = math.exp(-abs(d))
    return (1.0 if d >= 0.0 else e) / (1.0 + e), 0.5 * abs(d) + math.log1p(e)


@inner_exact
def _spread(t, spread):
    """Lagrange's weights of the points around ``t`` (in steps from the lattice's first); returns the first of them."""
    at = int(t) - (_POINTS // 2 - 1)
    total = 0.0
    for k in range(_POINTS):
        away = t - (at + k)
        if away == 0.0:
            for other in range(_POINTS):
                spread[other] = 0.0
            spread[k] = 1.0
            return at
        spread[k] = _BARYCENTRIC[k] / away
        total += spread[k]
    scale = 1.0 / total
    for k in range(_POINTS):
        spread[k] *= scale
    return at


@inner_kernel
def _add_by_lattice(spread, at, sign, logistic, log_cosh):
    """Add the pairs of all rows to their sums, with one row distributed over the lattice and one interpolated."""
    low = at.min()
    m = at.max() - low + _POINTS
    weight, logistic_sums, log_cosh_sums = np.zeros(m), np.empty(m), np.empty(m)
    for i in range(len(at)):
        for k in range(_POINTS):
            weight[at[i] - low + k] += spread[i, k]
    logistic_table, log_cosh_table = np.empty(2 * m - 1), np.empty(2 * m - 1)
    for d in range(2 * m - 1):
        logistic_table[d], log_cosh_table[d] = _pair((d - (m - 1)) * _STEP)
    for p in range(m):
        one, other = 0.0, 0.0
        for q in range(m):
            one += logistic_table[q - p + m - 1] * weight[q]
            other += log_cosh_table[q - p + m - 1] * weight[q]
        logistic_sums[p], log_cosh_sums[p] = one, other
    for i in range(len(at)):
        one, other = 0.0, 0.0
        for k in range(_POINTS):
            one += spread[i, k] * logistic_sums[at[i] - low + k]
            other += spread[i, k] * log_cosh_sums[at[i] - low + k]
        logistic[i] += sign * one
        log_cosh[i] += sign * other
