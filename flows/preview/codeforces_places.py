"""The place that Codeforces' rule asks for a rating.

A change is half of the way to the needed rating, and a shift that is the same for all. A needed rating x belongs to the
places k with

    sqrt(k seed_i) <= base + sum over j != i of P(j beats x)

see :mod:`ranklake.rating_kernels.inference.needed_rating`. The shift is that of the given standings.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Outcome
from ranklake.rating_kernels.inference.needed_rating import HIGHEST_NEED, LOWEST_NEED
from ranklake.rating_kernels.inference.win_probability import logistic

from ..results.display import Display
from .lattice import Lattice

_ROUNDING = 1e-6  # of a place: the error of the sums


def codeforces_places(
    display: Display, outcome: Outcome, rows: npt.NDArray[np.int64], goals: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64]:
    """The worst place for a display rating; see :func:`.needed.places_needed`."""
    params, mu, n = display.params, outcome.mu_prior, len(outcome.mu)
    _, rate, base, own, whole = params.convention
    half = 0.5 * (outcome.perf - mu)
    shift = float((outcome.mu - mu - (np.trunc(half) if whole else half))[0])
    offset = display.rating(np.zeros(len(rows)), np.zeros(len(rows)), outcome.n_before[rows] + np.int32(1))
    change = goals - offset - mu[rows] - shift
    if whole:  # divisions toward zero: a half is reached one point earlier below zero
        change = np.ceil(change)
    way = 2.0 * change - (whole & (change <= 0.0))
    need = mu[rows] + way
    lattice = Lattice(mu, np.zeros(n), 1.0 / rate)
    losses, seed = (lattice.sums_at(lambda gap, sigma: logistic(rate * gap), x) for x in (need, mu[rows]))
    seed += 0.5  # the own term is 1/2
    against = base + losses - (1.0 - own) * logistic(rate * (mu[rows] - need))
    place = np.floor(against**2 / seed + _ROUNDING).astype(np.int64)
    if whole:
        place = np.where(need <= LOWEST_NEED, n, np.where(need > HIGHEST_NEED, 0, place))
    clipped: npt.NDArray[np.int64] = np.clip(place, 0, n)
    return clipped
