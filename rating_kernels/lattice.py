"""Sums over all pairs of a smooth function of the difference of two ratings, in linear time.

Both ratings are interpolated on one lattice: every row is spread over the 16 lattice points about it, the points are
convolved with the function, and every row gathers its 16 points again. With ratings in units of the logistic law the
functions here have their nearest singularity at pi i; a lattice of five points a unit holds them to 1e-12. Few rows, or
rows that lie very far apart, are summed directly.
"""

from __future__ import annotations

import math

import numpy as np

from ._jit import exact, kernel

__all__ = ["sum_pairs"]

_STEP = 0.2  # units of the logistic law
_POINTS = 16  # a row is spread over
_FEW = 40  # rows up to which every pair costs less than a lattice
_CHEAPER = 4.0  # lattice points a row up to which the lattice costs less than every pair
_BARYCENTRIC = np.array([(-1.0) ** k * math.comb(_POINTS - 1, k) for k in range(_POINTS)])


@exact
def sum_pairs(x, chance, even):
    """Of each row, sums over all rows ``j``, itself included.

    Parameters
    ----------
    x : float64[n]
        Ratings in units of the logistic law.
    chance, even : float64[n]
        Written: sum of logistic(x_j - x_i), and of ln(2 cosh((x_j - x_i) / 2)).
    """
    n, low, high = len(x), x.min(), x.max()
    if n <= _FEW or (high - low) / _STEP > _CHEAPER * n:
        _sum_directly(x, chance, even)
        return
    m = int((high - low) / _STEP) + 1 + _POINTS
    first = low - (_POINTS // 2 - 1) * _STEP  # of the lattice: every row has half its points on either side
    spread, at = np.empty((n, _POINTS)), np.empty(n, np.int64)
    weight = np.zeros(m)
    for i in range(n):
        at[i] = _spread((x[i] - first) / _STEP, spread[i])
        for k in range(_POINTS):
            weight[at[i] + k] += spread[i, k]
    chances, evens = _convolved(weight)
    for i in range(n):
        one, other = 0.0, 0.0
        for k in range(_POINTS):
            one += spread[i, k] * chances[at[i] + k]
            other += spread[i, k] * evens[at[i] + k]
        chance[i], even[i] = one, other


@kernel
def _sum_directly(x, chance, even):
    for i in range(len(x)):
        one, other = 0.0, 0.0
        for j in range(len(x)):
            a, b = _pair(x[j] - x[i])
            one += a
            other += b
        chance[i], even[i] = one, other


@exact
def _pair(d):
    """logistic(d), and ln(2 cosh(d / 2))."""
    e = math.exp(-abs(d))
    return (1.0 if d >= 0.0 else e) / (1.0 + e), 0.5 * abs(d) + math.log1p(e)


@exact
def _spread(t, spread):
    """Lagrange's weights of the points about ``t`` (in steps from the lattice's first); gives the first of them."""
    at = int(t) - (_POINTS // 2 - 1)
    total = 0.0
    for k in range(_POINTS):
        away = t - (at + k)
        if away == 0.0:
            spread[:] = 0.0
            spread[k] = 1.0
            return at
        spread[k] = _BARYCENTRIC[k] / away
        total += spread[k]
    for k in range(_POINTS):
        spread[k] /= total
    return at


@kernel
def _convolved(weight):
    """Both functions, summed over the lattice's points with their weights, at each of them."""
    m = len(weight)
    chance, even = np.empty(2 * m - 1), np.empty(2 * m - 1)
    for d in range(2 * m - 1):
        chance[d], even[d] = _pair((d - (m - 1)) * _STEP)
    chances, evens = np.empty(m), np.empty(m)
    for i in range(m):
        one, other = 0.0, 0.0
        for j in range(m):
            one += chance[j - i + m - 1] * weight[j]
            other += even[j - i + m - 1] * weight[j]
        chances[i], evens[i] = one, other
    return chances, evens
