"""The number of normal performances above a level, by integration of their densities.

    S(p) = sum_j (1 - Phi((p - mu_j) * rate_j))

The layout of panels, levels and partial sums is that of the logistic sum, so :func:`.field.finish` and
:func:`.field.table_sum` apply. 1 - Phi is entire but grows like exp(y^2 / 2) off the real line: with panels planned for
:data:`FINER` times the largest rate, 32 nodes leave rounding only. A density costs less than a distribution function:
from one panel to the next it changes by a factor at each node, and these factors form a geometric sequence. The
Chebyshev series of a panel's density has an exact integral.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial import chebyshev

from ..core.jit import inner_exact, inner_kernel
from ..core.numerics import exp, upper_hazard
from ..core.standings import Floats
from .panels import NODES, TO_SERIES, X, level_of

FINER = 1.25  # panels are narrower than a logistic sum's by this factor: 32 nodes leave rounding only
TAIL = 9.5  # deviations beyond which a density is 0: 1e-20

_HALF = NODES // 2
_UPPER = X[:_HALF].copy()
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)  # of the standard normal law at 0


def _integrals() -> tuple[Floats, Floats]:
    """From values at the nodes to the integrals above each node, and below it."""
    integral = chebyshev.chebint(TO_SERIES, lbnd=-1.0, axis=0)  # from -1, of the series of each unit vector
    below: Floats = np.asarray(chebyshev.chebval(X, integral).T, dtype=np.float64)
    whole: Floats = np.asarray(chebyshev.chebval(1.0, integral), dtype=np.float64)
    return whole - below, below


_ABOVE, _BELOW = _integrals()


@inner_kernel
def accumulate_densities(mu, rate, plan, sums, ends):
    """Add the density of every term to the partial sums.

    ``sums[panel, 0, k]`` collects values at the node ``k`` of the upper half of a panel, ``sums[panel, 1, k]`` at its
    mirror image; ``ends[level]`` the terms above the last panel and those below the first.
    """
    _, _, middle, top_rate, half_width, first, offset = plan
    step, upper, lower = np.empty(_HALF), np.empty(_HALF), np.empty(_HALF)
    for j in range(len(mu)):
        r = rate[j]
        level = level_of(r, top_rate, len(half_width))
        h = half_width[level]
        base = offset[level]
        count = offset[level + 1] - base
        origin = middle + (2 * first[level] + 1) * h  # centre of the level's first panel
        ends[level, 0] += _tail((origin + (2 * count - 1) * h - mu[j]) * r)
        ends[level, 1] += _tail((mu[j] - origin + h) * r)
        at = (mu[j] - origin) / (2 * h)
        reach = TAIL / (2 * h * r) + 0.5
        near = min(max(math.floor(at - reach), 0), count)
        beyond = min(max(math.ceil(at + reach) + 1, near), count)
        if near == beyond:
            continue
        z, q = (origin + 2 * h * near - mu[j]) * r, h * r
        for k in range(_HALF):
            width = q * _UPPER[k]
            above, below = z + width, z - width
            step[k] = exp(-2.0 * q * width)
            upper[k] = exp(-0.5 * above * above)
            lower[k] = exp(-0.5 * below * below)
        size = r * _DENSITY
        for i in range(near, beyond):
            for k in range(_HALF):
                sums[base + i, 0, k] += size * upper[k]
                sums[base + i, 1, k] += size * lower[k]
            common = exp(-2.0 * q * (z + q))
            z += 2.0 * q
            for k in range(_HALF):
                upper[k] *= common * step[k]
                lower[k] *= common / step[k]


@inner_exact
def integrate(sums, ends, plan):
    """Replace densities by their integrals, values of the sum that complete those of :func:`.field.accumulate`."""
    half_width, first, offset = plan.half_width, plan.first, plan.offset
    values = np.empty(NODES)
    for level in range(len(first)):
        h, total = half_width[level], ends[level, 0]
        for panel in range(offset[level + 1] - 1, offset[level] - first[level] - 1, -1):  # S, from the top
            total = _replace(sums, panel, values, h, total, _ABOVE, 0)
        total = ends[level, 1]
        for panel in range(offset[level], offset[level] - first[level]):  # M, from the bottom
            total = _replace(sums, panel, values, h, total, _BELOW, 1)


@inner_exact
def _replace(sums, panel, values, h, total, integral, side):
    """Replace one panel's densities by integrals from the end where ``total`` holds; returns that of the other end."""
    whole = 0.0
    for k in range(_HALF):
        values[k], values[NODES - 1 - k] = sums[panel, 0, k], sums[panel, 1, k]
    for k in range(NODES):
        whole += (_ABOVE[0, k] + _BELOW[0, k]) * values[k]
    for k in range(NODES):
        sum = total
        for m in range(NODES):
            sum += h * integral[k, m] * values[m]
        if k < _HALF:
            sums[panel, side, k] = sum
        else:
            sums[panel, 1 - side, NODES - 1 - k] = sum
    return total + h * whole


@inner_exact
def _tail(z):
    """1 - Phi(z) for z >= 0."""
    return _DENSITY * exp(-0.5 * z * z) / upper_hazard(z) if z < TAIL else 0.0
