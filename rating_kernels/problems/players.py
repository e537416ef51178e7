"""Ratings of players from the problems that they solved in a contest (1PL), given the problems' difficulties.

A player of prior skill N(mu, sigma^2) who solved the share y_p of the problem of difficulty D_p and deviation s_p has
the rating r at the maximum of

    -(r - mu)^2 / (2 sigma^2) + sum_p y_p ln q_p + (1 - y_p) ln(1 - q_p),    q_p = 1 / (1 + e^(-k_p (r - D_p)))

with k_p = (ln 10 / 400) / sqrt(1 + 3 (ln 10 s_p / (400 pi))^2). The deviation is that of the curvature there.

Source: Rasch, "Probabilistic models for some intelligence and attainment tests" (1960).
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import exact
from ..core.numerics import C3
from ..core.ragged import Ragged
from ..core.standings import Floats
from .difficulty import SCALE

_TOLERANCE = 1e-13  # of a scale
_STEPS = 200


def problem_ratings(
    mu: Floats, sigma: Floats, share: Ragged, difficulty: Floats, deviation: Floats, scale: float = SCALE
) -> tuple[Floats, Floats]:
    """The rating of each of ``n`` players from problems, and its standard deviation, rating points, float64[n] each.

    ``mu``, ``sigma`` (float64[n]): the skill before the contest; ``sigma`` > 0.
    ``share``: the share solved of each problem of a player, in [0, 1].
    ``difficulty``, ``deviation`` (float64[results]): of the problem of each share.
    """
    base = math.log(10.0) / scale
    rate = base / np.sqrt(1.0 + np.square(base / C3 * deviation))
    rating, spread = np.empty(len(mu)), np.empty(len(mu))
    _climb(mu, sigma, share.offsets, share.values, difficulty, rate, base, rating, spread)
    return rating, spread


@exact
def _climb(mu, sigma, offsets, share, difficulty, rate, base, rating, spread):
    """Write the maximum of each player: the zero of a falling slope, by Newton's method inside a bracket."""
    for i in range(len(mu)):
        precision = 1.0 / (sigma[i] * sigma[i])
        up, down = 0.0, 0.0  # the most that results can pull
        for k in range(offsets[i], offsets[i + 1]):
            up += rate[k] * share[k]
            down += rate[k] * (1.0 - share[k])
        low, high = mu[i] - down / precision, mu[i] + up / precision
        r, last, curvature = mu[i], high - low, precision
        for _ in range(_STEPS):
            slope, curvature = -(r - mu[i]) * precision, precision
            for k in range(offsets[i], offsets[i + 1]):
                z = rate[k] * (r - difficulty[k])
                e = math.exp(-abs(z))
                q = (1.0 if z >= 0.0 else e) / (1.0 + e)
                slope += rate[k] * (share[k] - q)
                curvature += rate[k] * rate[k] * e / ((1.0 + e) * (1.0 + e))
            if slope > 0.0:
                low = r
            else:
                high = r
            step = slope / curvature
            if not (low <= r + step <= high and abs(step) <= 0.5 * last):
                step = 0.5 * (low + high) - r
            r += step
            last = abs(step)
            if last * base <= _TOLERANCE:
                break
        rating[i], spread[i] = r, 1.0 / math.sqrt(curvature)
