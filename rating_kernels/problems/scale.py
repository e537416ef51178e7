"""The scale of difficulties that the solves of a data set support best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.standings import Floats
from .difficulty import Entrants, slope_score

LEAST, GREATEST = 25.0, 10_000.0  # rating points in which the odds change tenfold
_TOLERANCE = 1e-9  # of the logarithm of the scale
_STEPS = 100


class Solves(NamedTuple):
    """The problems that had the same participants, some of whom solved each and some of whom did not.

    ``solved``, ``moments`` (float64[problems]): see :func:`.difficulty.slope_score`.
    """

    entrants: Entrants
    solved: Floats
    moments: Floats


def fit_scale(fields: Sequence[Solves]) -> float:
    """The scale of the greatest likelihood of all solves, each difficulty being that for the scale; rating points.

    The score is bracketed on a logarithmic scale (regula falsi, the Illinois variant); between :data:`LEAST` and
    :data:`GREATEST`.
    """

    def score(log_scale: float) -> float:
        return sum(slope_score(*field, math.exp(log_scale)) for field in fields)

    low, high = math.log(LEAST), math.log(GREATEST)
    at_low, at_high = score(low), score(high)
    if at_low >= 0.0 or at_high <= 0.0:  # the score rises with the scale
        return LEAST if at_low >= 0.0 else GREATEST
    kept = 0
    for _ in range(_STEPS):
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        found = score(middle)
        if found == 0.0 or high - low < _TOLERANCE:
            return math.exp(middle)
        if found > 0.0:
            step = high - middle
            high, at_high = middle, found
            at_low = 0.5 * at_low if kept > 0 else at_low
            kept = 1
        else:
            step = middle - low
            low, at_low = middle, found
            at_high = 0.5 * at_high if kept < 0 else at_high
            kept = -1
        if step < _TOLERANCE:
            break
    return float(np.exp(middle))
