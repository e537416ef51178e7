"""Rank information by its definition: quadrature of the mean density and bisection, in numpy and plain Python.

Source as in ``rating_kernels/metrics/rank_information.py``. One place of a player in a tie group of k is each of the
min(k, 16) middles of equal parts of the group's interval of places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def rank_information(
    mu: Sequence[float], deviation: Sequence[float], lo: Sequence[int], hi: Sequence[int], shape: str
) -> list[float]:
    """ln f_i(p_i) - ln f(p_i) of each player, who are in standing order."""
    n = len(mu)
    centre, spread = np.array(mu)[:, None], np.array(deviation)[:, None]

    def mean_density(p: Any) -> Any:
        return np.mean(_density((p - centre) / spread, shape) / spread, axis=0)

    def integral(start: float, stop: float) -> float:
        half = 0.5 * (stop - start)
        return half * float(_WEIGHTS @ mean_density(0.5 * (start + stop) + half * _NODES))

    far = 40.0 * max(deviation)
    edges = np.arange(min(mu) - far, max(mu) + far, 0.5 * min(deviation))
    below = np.concatenate(([0.0], np.cumsum([integral(a, b) for a, b in pairwise(edges)])))

    @cache
    def quantile(share: float) -> float:
        at = int(np.searchsorted(below, share)) - 1
        low, high = edges[at], edges[at + 1]
        for _ in range(60):
            p = 0.5 * (low + high)
            if below[at] + integral(edges[at], p) < share:
                low = p
            else:
                high = p
        return 0.5 * (low + high)

    answer = []
    for i in range(n):
        k = hi[i] - lo[i] + 1
        parts = min(k, 16)
        total = 0.0
        for part in range(parts):
            p = quantile(1.0 - (lo[i] + k * (part + 0.5) / parts) / n)
            own = float(_density((p - mu[i]) / deviation[i], shape)) / deviation[i]
            total += math.log(own) - math.log(float(mean_density(np.array([p]))[0]))
        answer.append(total / parts)
    return answer


def _density(x: Any, shape: str) -> Any:
    """Density of the law of mean 0 and standard deviation 1."""
    if shape == "normal":
        return np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    c = math.pi / math.sqrt(3.0)
    e = np.exp(-c * np.abs(x))
    return c * e / (1.0 + e) ** 2
