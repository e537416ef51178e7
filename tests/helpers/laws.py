"""Rounds drawn from known laws of performances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ranklake.rating_kernels.core.system import PerformanceLaw
from ranklake.rating_kernels.metrics.metrics import Kept, keep


def everybody(lo: Any, offsets: Any = None) -> Kept:
    """All rows of rounds, by default of one."""
    lo = np.asarray(lo, dtype=np.int32)
    offsets = np.array([0, len(lo)]) if offsets is None else np.asarray(offsets)
    return keep(offsets, lo, np.ones(len(lo), dtype=bool))


def field(
    n: int, shape: Any, width: float = 400.0, tied: float = 0.0, seed: int = 5, noise: float = 200.0
) -> tuple[Kept, PerformanceLaw]:
    """Players of the model: skills, uncertain ratings around them, and performances, tied to multiples of ``tied``."""
    draw = np.random.default_rng(seed)
    sigma = draw.uniform(60.0, 300.0, n)
    mu = draw.normal(1500.0, width, n)
    error = draw.normal(0.0, 1.0, n) if shape == "normal" else draw.logistic(0.0, math.sqrt(3.0) / math.pi, n)
    deviation = np.hypot(sigma, noise)
    shown = -(mu + deviation * error)
    if tied:
        shown = np.round(shown / tied) * tied
    order = np.argsort(shown, kind="stable")
    lo = np.searchsorted(shown[order], shown[order], "left")
    return everybody(lo), PerformanceLaw(shape, mu[order], deviation[order])
