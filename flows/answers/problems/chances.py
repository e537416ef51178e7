"""The chance that a player solves a problem, given its difficulty: without kernels, for answers and pages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

CURVE_POINTS = 21
_CURVE_SCALES = 2.0  # to each side of the difficulty: chances from 1 % to 99 %

Floats = npt.NDArray[np.float64]


def solve_chances(rating: Any, difficulty: Any, scale: float, variance: Any = 0.0) -> Floats:
    """The chance of a player of this skill, or of each.

    ``scale``: rating points in which the odds change tenfold.
    ``variance``: of skill and difficulty together, square rating points: the chance is then nearer to 1/2, as Glicko's.
    """
    rate = math.log(10.0) / scale
    flatter = 1.0 / np.sqrt(1.0 + 3.0 * rate**2 * np.asarray(variance) / math.pi**2)
    exponent = rate * flatter * (np.asarray(difficulty) - np.asarray(rating))
    chances: Floats = 0.5 * (1.0 - np.tanh(0.5 * exponent))  # no overflow
    return chances


def chance_curve(difficulty: float, scale: float) -> tuple[Floats, Floats]:
    """Skills around a difficulty, evenly spaced, and their chances: ``CURVE_POINTS`` each."""
    ratings = difficulty + scale * np.linspace(-_CURVE_SCALES, _CURVE_SCALES, CURVE_POINTS)
    return ratings, solve_chances(ratings, difficulty, scale)
