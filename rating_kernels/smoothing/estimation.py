"""Hyperparameters of smoothing from its own messages: expectation-maximisation.

Source: Dempster, Laird and Rubin, "Maximum likelihood from incomplete data via the EM algorithm" (Journal of the Royal
Statistical Society B 39, 1977), in the variant of Liu and Rubin, "The ECME algorithm" (Biometrika 81, 1994).

A smoothing gives the performances. The classical step would then take means of squared differences of smoothed skills,
and these depend on the present drift: it moves by a small part of its error in each step. Here the step maximises the
evidence of the performances instead, by Fisher scoring. Its result gives new performances, and so on; three or four
steps are enough.

The results are ranks, so they do not determine the unit of skills. ``sigma_init`` is the unit, and stays: the step also
finds the spread of newcomers in the unit of the performances, and the other hyperparameters are scaled to it.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..core.standings import Floats
from ..core.system import ConvergenceError
from .evidence import BETA2, DRIFT, GAMMA2, LEVELS, PRACTICE, SIGMA2, Evidence, Slope
from .params import Smoothing

Bools = npt.NDArray[np.bool_]

ESTIMATED = ("beta", "gamma", "drift_per_day", "practice")
_PLACES = {"gamma": GAMMA2, "drift_per_day": DRIFT, "practice": PRACTICE}
_KNOWN = 0.01  # of sigma_init: practice stays if its standard error is larger
_STEPS, _HALVINGS = 50, 30
_GAIN = 1e-3  # nats: converged if a step of scoring promises less
_ENOUGH = 0.1  # of the gain that a step promises
_SINGULAR = 1e-10  # of the largest singular value: such combinations of hyperparameters stay


def estimate(params: Smoothing, evidence: Evidence, estimated: Container[str] = ESTIMATED) -> Smoothing:
    """The hyperparameters after one step of expectation-maximisation.

    ``params``: those of the smoothing that gave the performances.
    ``evidence``: of these performances.
    ``estimated``: names among :data:`ESTIMATED`. Others stay; beta is always estimated. Drift by the day stays if
    rounds have no times, and practice if newcomers come at the beginning only, so that no round shows who practised.
    Raises ConvergenceError: the evidence has no maximum within reach.
    """
    point = np.zeros(evidence.size)
    point[:LEVELS] = params.beta**2, params.gamma**2, params.drift_per_day, params.sigma_init**2, params.practice
    slope = evidence.at(point)
    free = np.diag(slope.information) > 0.0
    for name, place in _PLACES.items():
        free[place] &= name in estimated
    if free[PRACTICE] and _error(slope, PRACTICE, free) > _KNOWN * params.sigma_init:
        free[PRACTICE] = False
    for _ in range(_STEPS):
        there, gain = _step(point, slope, free)
        if gain < _GAIN:
            break
        point, slope = _ascend(evidence, point, slope, there)
    else:
        raise ConvergenceError(f"no maximum of the evidence for hyperparameters in {_STEPS} steps")
    unit = params.sigma_init / math.sqrt(point[SIGMA2])
    return replace(
        params,
        beta=unit * math.sqrt(point[BETA2]),
        gamma=unit * math.sqrt(point[GAMMA2]) if free[GAMMA2] else params.gamma,
        drift_per_day=unit**2 * float(point[DRIFT]) if free[DRIFT] else params.drift_per_day,
        practice=unit * float(point[PRACTICE]) if free[PRACTICE] else params.practice,
    )


def _step(point: Floats, slope: Slope, free: Bools) -> tuple[Floats, float]:
    """Where a step of scoring leads, within the limits of hyperparameters, and its gain if the evidence is linear."""
    held = (point <= 0.0) & (slope.score <= 0.0)
    held[LEVELS:] = False
    places, scale, scaled = _scaled(slope, free & ~held)
    there = point.copy()
    there[places] += scale * np.linalg.lstsq(scaled, scale * slope.score[places], rcond=_SINGULAR)[0]
    least = np.full(len(point), -np.inf)
    least[[GAMMA2, DRIFT, PRACTICE]] = 0.0
    least[[BETA2, SIGMA2]] = 0.1 * point[[BETA2, SIGMA2]]
    there = np.maximum(there, least)
    return there, float(slope.score @ (there - point))


def _ascend(evidence: Evidence, point: Floats, slope: Slope, there: Floats) -> tuple[Floats, Slope]:
    """A point on the way ``there`` with enough of the promised gain (Armijo's rule)."""
    for halving in range(_HALVINGS):
        at = point + 0.5**halving * (there - point)
        found = evidence.at(at)
        if found.value - slope.value >= _ENOUGH * (slope.score @ (at - point)):
            return at, found
    raise ConvergenceError("the evidence for hyperparameters does not rise along its slope")


def _error(slope: Slope, place: int, free: Bools) -> float:
    """Standard error of one of the free elements."""
    places, scale, scaled = _scaled(slope, free)
    at = int(np.searchsorted(places, place))
    return float(scale[at] * math.sqrt(np.linalg.pinv(scaled, rcond=1e-15, hermitian=True)[at, at]))


def _scaled(slope: Slope, free: Bools) -> tuple[npt.NDArray[np.intp], Floats, Floats]:
    """Places of the free elements, one unit of each, and the information in these units: its diagonal is 1."""
    places = np.flatnonzero(free)
    scale = 1.0 / np.sqrt(np.diag(slope.information)[places])
    return places, scale, slope.information[np.ix_(places, places)] * scale[:, None] * scale
