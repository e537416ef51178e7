"""Rank likelihood by its definition, in plain Python: Laplace's method with bisection, and the integral by quadrature.

Source as in ``rating_kernels/metrics/rank_likelihood.py``. Derivatives are differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_C = math.pi / math.sqrt(3.0)


def rank_likelihood(
    mu: Sequence[float], deviation: Sequence[float], lo: Sequence[int], hi: Sequence[int], shape: str
) -> list[float]:
    """The value of each player, who are in standing order."""
    n = len(mu)
    equal, same = [0.0] * n, [1.0] * n
    return [
        laplace(mu, deviation, lo, hi, shape, i) - laplace(equal, same, lo, hi, shape, i) for i in range(n)
    ]  # fmt: skip


def laplace(
    mu: Sequence[float], deviation: Sequence[float], lo: Sequence[int], hi: Sequence[int], shape: str, i: int
) -> float:
    """ln of the integral by Laplace's method."""
    g = _integrand(mu, deviation, lo, hi, shape, i)
    step = 1e-3 * min(deviation)

    def slope(p: float) -> float:
        return (8.0 * (g(p + step) - g(p - step)) - (g(p + 2 * step) - g(p - 2 * step))) / (12.0 * step)

    low, high = min(mu) - 30.0 * max(deviation), max(mu) + 30.0 * max(deviation)
    for _ in range(80):
        p = 0.5 * (low + high)
        low, high = (p, high) if slope(p) > 0.0 else (low, p)
    wide = 10.0 * step
    bend = (8.0 * (slope(p + wide) - slope(p - wide)) - (slope(p + 2 * wide) - slope(p - 2 * wide))) / (12.0 * wide)
    return g(p) + 0.5 * math.log(2.0 * math.pi / -bend)


def integral(
    mu: Sequence[float], deviation: Sequence[float], lo: Sequence[int], hi: Sequence[int], shape: str, i: int
) -> float:
    """ln of the integral by quadrature."""
    g = _integrand(mu, deviation, lo, hi, shape, i)
    half, total = 0.25 * min(deviation), 0.0
    for centre in np.arange(min(mu) - 40.0 * max(deviation), max(mu) + 40.0 * max(deviation), 2.0 * half):
        total += half * sum(w * math.exp(g(centre + half * x)) for x, w in zip(_NODES, _WEIGHTS, strict=True))
    return math.log(total)


def _integrand(
    mu: Sequence[float], deviation: Sequence[float], lo: Sequence[int], hi: Sequence[int], shape: str, i: int
) -> Callable[[float], float]:
    """The logarithm of the integrand of player ``i``."""

    def g(p: float) -> float:
        total = -math.log(deviation[i])
        for j in range(len(mu)):
            z = (p - mu[j]) / deviation[j]
            below, above = _ln_cdf(z, shape), _ln_cdf(-z, shape)
            if j == i:
                logistic = math.log(_C) + below + above
                total += -0.5 * z * z - 0.5 * math.log(2.0 * math.pi) if shape == "normal" else logistic
            elif lo[j] == lo[i]:
                total += 0.5 * (below + above)
            else:
                total += above if lo[j] < lo[i] else below
        return total

    return g


def _ln_cdf(z: float, shape: str) -> float:
    """ln F of the law of mean 0 and standard deviation 1."""
    if shape == "normal":
        if z > -30.0:
            return math.log(0.5 * math.erfc(-z / math.sqrt(2.0)))
        return -0.5 * z * z - math.log(-z * math.sqrt(2.0 * math.pi)) + math.log1p(-1.0 / z**2 + 3.0 / z**4)
    return min(_C * z, 0.0) - math.log1p(math.exp(-abs(_C * z)))
