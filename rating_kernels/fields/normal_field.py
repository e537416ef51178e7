"""The number of normal performances above a level, tabulated on the panels of :mod:`.field`.

    S(p) = sum_j (1 - Phi((p - mu_j) * rate_j))

The layout of panels, levels and partial sums is that of the logistic sum, so :func:`.field.finish` and
:func:`.field.table_sum` apply. 1 - Phi is entire but grows like exp(y^2 / 2) off the real line: with panels planned for
:data:`FINER` times the largest rate, 32 nodes leave rounding only.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import kernel
from ..core.numerics import exp, upper_hazard
from .panels import NODES, level_of

__all__ = ["FINER", "accumulate_normal"]

FINER = 2.0  # panels are narrower than a logistic sum's by this factor
TAIL = 9.5  # deviations beyond which 1 - Phi is at its limit: 1e-21

_HALF = NODES // 2
_X_UPPER = np.cos((np.arange(_HALF) + 0.5) * math.pi / NODES)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)  # of the standard normal law at 0


@kernel
def accumulate_normal(mu, rate, start, stop, middle, top_rate, half_width, first, offset, sums, far):
    """Add terms ``start`` to ``stop - 1`` to the partial sums of one block, as :func:`.field.accumulate` does."""
    for j in range(start, stop):
        r = rate[j]
        level = level_of(r, top_rate, len(half_width))
        h = half_width[level]
        base = offset[level]
        count = offset[level + 1] - base
        origin = middle + (2 * first[level] + 1) * h  # centre of the level's first panel
        at = (mu[j] - origin) / (2 * h)
        reach = TAIL / (2 * h * r) + 0.5
        near = min(max(math.floor(at - reach), 0), count)
        beyond = min(max(math.ceil(at + reach) + 1, near), count)
        far[base + level + near, 0] += 1.0
        far[base + level + beyond, 1] += 1.0
        for i in range(near, beyond):
            side = 1.0 if i + first[level] >= 0 else -1.0  # S above the middle, its mirror image below
            z = side * (origin + 2 * h * i - mu[j]) * r
            for half in range(2):
                width = h * r if half == 0 else -h * r
                for k in range(_HALF):
                    x = z + width * _X_UPPER[k]
                    tail = _DENSITY * exp(-0.5 * x * x) / upper_hazard(abs(x))
                    sums[base + i, half, k] += tail if x >= 0.0 else 1.0 - tail
