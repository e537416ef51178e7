"""Soft resets of ratings, and of ratings with an uncertainty; the formulas are :class:`...core.system.Reset`'s."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.beliefs import Beliefs
from ...core.standings import Floats, Longs
from ...core.system import Reset


def reset_ratings(params: Any, beliefs: Beliefs, rows: Longs, reset: Reset) -> None:
    """Move the ratings; a system without uncertainty has nothing else."""
    beliefs.mu[rows] = reset.move(beliefs.mu[rows])


def reset_beliefs(params: Any, beliefs: Beliefs, rows: Longs, reset: Reset) -> None:
    """Move the ratings and widen the uncertainties; further state columns stay."""
    reset_ratings(params, beliefs, rows, reset)
    beliefs.sigma[rows] = reset.spread(beliefs.sigma[rows], params.sigma_init)


def rounded(ratings: Floats) -> Floats:
    """The nearest whole numbers; halves away from zero."""
    whole: Floats = np.trunc(ratings)
    return whole + np.where(np.abs(ratings - whole) >= 0.5, np.copysign(1.0, ratings), 0.0)
