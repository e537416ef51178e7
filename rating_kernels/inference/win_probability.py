"""Probability that one performance exceeds another, for the laws of both: the systems' predictions.

Sources: the logistic and the normal curve are those of the systems' own papers; the probability for two logistic
laws of different scales, which the models of Elo-MMR (arXiv:2101.00400, section 2) and Elo-R need, has no closed form
and is computed as an integral over the narrower law. All functions take arrays of shapes that broadcast.

Some systems define the chance of one player against another only. With a logistic curve of ``rate`` natural units a
point, the difference of two performances is logistic of standard deviation pi / (sqrt(3) rate). Each performance is
taken as logistic with half of this variance: the sum of two such laws has the variance of the curve. Uncertainties of
skills add to the variance, as in Glicko's factor g.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.jit import exact, kernel
from ..core.numerics import C3, exp
from ..core.standings import Conditions, Floats
from ..core.system import PerformanceLaw, Prior
from ..fields.pairs.terms import NORMAL, term

_STEP = 0.6  # of the trapezoidal rule: leaves exp(-2 pi^2 / step) and some, at most 5e-12
_NODES: Floats = _STEP * np.arange(-55.0, 56.0)  # beyond them lies less than 1e-14
_WEIGHTS: Floats = np.exp(-np.abs(_NODES)) / (1.0 + np.exp(-np.abs(_NODES))) ** 2
_WEIGHTS /= _WEIGHTS.sum()
_LEGENDRE = np.polynomial.legendre.leggauss(8)


def logistic(x: Any) -> Floats:
    """1 / (1 + e^-x), for any x."""
    x = np.asarray(x, dtype=np.float64)
    e = np.exp(-np.abs(x))
    probability: Floats = np.where(x >= 0.0, 1.0, e) / (1.0 + e)
    return probability


def normal(x: Any) -> Floats:
    """Phi(x), with full relative precision in the lower tail."""
    x = np.asarray(x, dtype=np.float64, order="C")
    probability = np.empty(x.shape)
    _normal(x.reshape(-1), probability.reshape(-1))
    return probability


def normal_between(distance: Any, half: Any) -> Floats:
    """Phi(-d + h) - Phi(-d - h) for distances d >= 0 and half-widths h >= 0, with full relative precision."""
    distance, half = np.broadcast_arrays(np.asarray(distance, np.float64), np.asarray(half, np.float64))
    # the tails are nearly equal on a narrow interval: the density is integrated instead (Gauss and Legendre)
    places = distance[..., None] + half[..., None] * _LEGENDRE[0]
    inside = half * (np.exp(-0.5 * np.square(places)) @ _LEGENDRE[1]) / math.sqrt(2.0 * math.pi)
    near, far = normal(half - distance), normal(-half - distance)
    # above 1/2, the smaller of the two upper tails keeps the digits
    wide = np.where(half > distance, 1.0 - (normal(distance - half) + far), near - far)
    return np.where(half * (1.0 + distance) < 0.5, inside, wide)


def normal_win_probability(gap: Any, one: Any, other: Any) -> Floats:
    """Probability that the first of two normal performances is the larger; means ``gap`` apart, deviations given."""
    return normal(gap / np.hypot(one, other))


def logistic_win_probability(gap: Any, one: Any, other: Any) -> Floats:
    """Probability that the first of two logistic performances is the larger; means ``gap`` apart, deviations given.

    Absolute error below 1e-11. O(1) a pair, 111 terms.
    """
    arrays: tuple[npt.NDArray[Any], ...] = np.broadcast_arrays(gap, one, other)
    flat = [np.ascontiguousarray(array, dtype=np.float64).reshape(-1) for array in arrays]
    probability = np.empty(arrays[0].shape)
    _logistic_win_probabilities(*flat, _NODES / C3, _WEIGHTS, probability.reshape(-1))
    return probability


def glicko_win_probability(q: Any, one: Prior, other: Prior) -> Floats:
    """Win probability at ``q`` natural units a rating point; nearer to 1/2 the larger the deviations.

    Source: Glickman, "The Glicko system", section "Expected outcome": g at the root of both variances together.
    """
    spread = np.sqrt(1.0 + (q / C3) ** 2 * (one.sigma**2 + other.sigma**2))
    return logistic(q * (one.mu - other.mu) / spread)


def glicko_rate(q: Any, one: Prior, other: Prior) -> Floats:
    """The natural units a rating point of :func:`glicko_win_probability`, with both deviations."""
    spread: Floats = np.sqrt(1.0 + (q / C3) ** 2 * (one.sigma**2 + other.sigma**2))
    return q / spread


def curve_law(rate: Any, prior: Prior, uncertain: bool = False) -> PerformanceLaw:
    """Half of the variance of a logistic curve, and if ``uncertain`` the prior variance of the skill."""
    variance = np.broadcast_to(0.5 * (C3 / np.asarray(rate)) ** 2, prior.mu.shape)
    return PerformanceLaw("logistic", prior.mu, np.sqrt(variance + prior.sigma**2 if uncertain else variance))


def one_curve(rate: float) -> tuple[Callable[..., Floats], Callable[..., PerformanceLaw]]:
    """``win_probability`` and ``performance_law`` of a system with one logistic curve of the difference of ratings."""

    def win_probability(params: Any, conditions: Conditions, one: Prior, other: Prior) -> Floats:
        return logistic(rate * (one.mu - other.mu))

    def performance_law(params: Any, conditions: Conditions, participants: Any, prior: Prior) -> PerformanceLaw:
        return curve_law(rate, prior)

    return win_probability, performance_law


@exact
def _normal(x, probability):
    for i in range(len(x)):
        probability[i] = term(NORMAL, -x[i], 1.0)


@kernel
def _logistic_win_probabilities(gap, one, other, nodes, weights, probability):
    for i in range(len(gap)):
        # the narrower law has the nearer poles: over it one step size serves all ratios of scales
        narrow, wide = min(one[i], other[i]), max(one[i], other[i])
        rate = C3 / wide
        total = 0.0
        for k in range(len(nodes)):
            x = rate * (gap[i] + narrow * nodes[k])
            e = exp(-abs(x))
            total += weights[k] * ((1.0 if x >= 0.0 else e) / (1.0 + e))
        probability[i] = min(total, 1.0)  # the weights add up to 1 but for rounding
