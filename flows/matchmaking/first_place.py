"""The chance of each of several sides to finish first, by the laws of their performances.

With f_i and F_i the law of the performance of side i, independent of the others,

    P_i = integral f_i(x) prod_{j != i} F_j(x) dx

which sums to 1. The trapezoidal rule on the whole line converges exponentially for these integrands (Trefethen and
Weideman, "The exponentially convergent trapezoidal rule", SIAM Review 56, 2014, section 5).
"""

from __future__ import annotations

import numpy as np

from ranklake.rating_kernels.core.numerics import C3
from ranklake.rating_kernels.core.standings import Floats
from ranklake.rating_kernels.core.system import PerformanceLaw
from ranklake.rating_kernels.inference.win_probability import logistic, normal

_STEP = 0.4  # of the smallest scale: an error below 1e-11
_REACH = {"normal": 9.0, "logistic": 40.0}  # scales beyond which lies less than 1e-17 of a law
_NODES = 1 << 18  # at most; the step is longer if scales differ by more than a thousand
_CELLS = 1 << 20  # nodes times sides in memory at a time


def first_place_chances(law: PerformanceLaw) -> Floats:
    """The chance of each side to have the highest performance: float64[n], which sums to 1.

    Shared first places have no chance in continuous laws. Absolute error below 1e-10 unless deviations differ by more
    than a thousand. O(n) time a node.
    """
    scale = np.asarray(law.deviation, np.float64) / (1.0 if law.shape == "normal" else C3)
    mean, reach = np.asarray(law.mean, np.float64), _REACH[law.shape]
    # below the lower limit of the best side no other one can win, either
    low, high = float(np.max(mean - reach * scale)), float(np.max(mean + reach * scale))
    step = max(_STEP * float(scale.min()), (high - low) / _NODES)
    nodes = np.arange(low, high + step, step)
    block = max(1, _CELLS // len(mean))
    sums = [_sums(law.shape, mean, scale, nodes[at : at + block]) for at in range(0, len(nodes), block)]
    total = np.sum(sums, axis=0)
    chances: Floats = total / total.sum()
    return chances


def _sums(shape: str, mean: Floats, scale: Floats, nodes: Floats) -> Floats:
    z = (nodes - mean[:, None]) / scale[:, None]
    if shape == "normal":
        below, density = normal(z), np.exp(-0.5 * np.square(z))
    else:
        below = logistic(z)
        density = below * logistic(-z)
    before = np.cumprod(np.vstack((np.ones(len(nodes)), below[:-1])), axis=0)
    after = np.cumprod(np.vstack((np.ones(len(nodes)), below[:0:-1])), axis=0)[::-1]
    sums: Floats = (density / scale[:, None] * before * after).sum(axis=1)
    return sums
