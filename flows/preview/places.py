"""Expected places of a round, and the chance of a place or a better one, before the round.

The expected place of i is 1 + the sum over all others of their win probability against i (``System.beats``).

The chance of place k or better follows from the laws of performances (``System.performance_law``). Given the
performance x of i, the number of others above it has

    mean      m(x) = sum over j != i of P(perf_j > x)
    variance  v(x) = sum over j != i of P(perf_j > x) (1 - P(perf_j > x))

The level x_k of place k is the root of m(x) = k - 1/2. In units of performances, the number of others above has at this
level the deviation tau = sqrt(v(x_k)) / |m'(x_k)|. The chance is that of i to show a performance above the level with
this noise added:

    P(perf_i + noise > x_k),    with the law of i widened to the variance deviation_i^2 + tau^2

In large fields tau is small beside the deviations. In fields of 2 to 5 players the chance is within 0.05.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Prior, System
from ranklake.rating_kernels.core.numerics import C3
from ranklake.rating_kernels.core.standings import Conditions
from ranklake.rating_kernels.core.system import PerformanceLaw
from ranklake.rating_kernels.inference.win_probability import logistic, normal

from ..matchmaking.lobby import part_of
from .lattice import Lattice

Floats = npt.NDArray[np.float64]

_PAIRS = 1 << 20  # pairs whose chances are in memory at a time
_STEPS = 40  # for a level; each at least halves the error
_TOLERANCE = 1e-6  # of a deviation


class PlaceModel:
    """The places of a round, by the model of the system.

    ``conditions``: weight and precision of the round.
    ``prior``: the participants' beliefs before the round, after diffusion.

    Large fields take O(n), fields of few participants and of systems without laws of performances O(n^2).
    """

    def __init__(self, system: System, params: Any, conditions: Conditions, prior: Prior) -> None:
        self._system, self._params, self._conditions, self._prior = system, params, conditions, prior
        self._law = None
        if system.performance_law is not None:
            self._law = system.performance_law(params, conditions, len(prior.mu), prior)
        self._lattice = None
        if self._law is not None:
            self._lattice = Lattice(prior.mu, prior.sigma, float(np.min(self._law.deviation)))

    def expected_places(self) -> Floats:
        """The expected place of each participant, from 1; they sum to n (n + 1) / 2."""
        n = len(self._prior.mu)
        if self._lattice is not None and self._lattice.n_terms < n * n:
            return np.clip(0.5 + self._lattice.expected_losses(self._beats), 1.0, n)
        places, step = np.empty(n), max(1, _PAIRS // n)
        for start in range(0, n, step):
            rows = slice(start, start + step)
            others, some = part_of(self._prior, (None, slice(None))), part_of(self._prior, (rows, None))
            places[rows] = 0.5 + self._beats(others, some).sum(axis=1)
        return places

    def chances(self, rows: npt.NDArray[np.int64], places: npt.NDArray[np.int64]) -> Floats:
        """The chance of each of some participants to reach a place, 1 to n, or a better one; NaN without laws."""
        n = len(self._prior.mu)
        if self._law is None or not len(rows):
            return np.full(len(rows), np.nan)
        law, goal = self._law.take(rows), places - 0.5
        x, above, spread = self._field(self._law)
        level = law.mean
        for _ in range(_STEPS):  # the participant's own term is a part of the tabulated sum
            last, level = level, np.interp(-(goal + _above(law, level)), -above, x)
            if np.max(np.abs(level - last) / law.deviation) < _TOLERANCE:
                break
        own = _above(law, level)
        variance = np.maximum(np.interp(level, x, spread) - own * (1.0 - own), 0.0)
        slope = -np.interp(level, x, np.gradient(above, x)) - _density(law, level)
        with np.errstate(divide="ignore"):
            noise = np.where(slope > 0.0, variance / np.square(slope), np.inf)
        widened = PerformanceLaw(law.shape, law.mean, np.sqrt(law.deviation**2 + noise))
        return np.where(places >= n, 1.0, _above(widened, level))

    def _beats(self, one: Prior, other: Prior) -> Floats:
        return self._system.beats(self._params, self._conditions, len(self._prior.mu), one, other)

    def _law_at(self, sigma: float) -> PerformanceLaw:
        """The law of a participant of this sigma, around its rating."""
        assert self._system.performance_law is not None
        one = Prior(np.zeros(1), np.array([sigma]), np.zeros(1), np.zeros(1, dtype=np.int32))
        return self._system.performance_law(self._params, self._conditions, len(self._prior.mu), one)

    def _field(self, law: PerformanceLaw) -> tuple[Floats, Floats, Floats]:
        """Levels, and at each of them the sums of p and of p (1 - p) over all participants, p = P(perf_j > level)."""
        lattice, n = self._lattice, len(law.mean)
        assert lattice is not None
        # this many deviations above all ratings, less than half a participant is expected
        scales = math.log(4.0 * n) / C3 if law.shape == "logistic" else math.sqrt(2.0 * math.log(4.0 * n))
        laws = {sigma: self._law_at(sigma) for sigma in lattice.sigma.tolist()}
        reach = max(float(abs(one.mean[0]) + scales * one.deviation[0]) for one in laws.values())
        pad = math.ceil(reach / lattice.step) + 1
        above = lattice.sums(lambda gap, sigma: _above(laws[sigma], -gap), pad)
        spread = lattice.sums(lambda gap, sigma: _spread(laws[sigma], -gap), pad)
        return lattice.ratings(pad), np.minimum.accumulate(above), spread


def _above(law: PerformanceLaw, x: Floats) -> Floats:
    """P(perf > x) of each law."""
    z = (law.mean - x) / law.deviation
    return logistic(C3 * z) if law.shape == "logistic" else normal(z)


def _spread(law: PerformanceLaw, x: Floats) -> Floats:
    """P(perf > x) P(perf <= x) of each law."""
    p = _above(law, x)
    return p * (1.0 - p)


def _density(law: PerformanceLaw, x: Floats) -> Floats:
    """The density of each law."""
    if law.shape == "logistic":
        return C3 / law.deviation * _spread(law, x)
    z = (x - law.mean) / law.deviation
    density: Floats = np.exp(-0.5 * z * z) / (math.sqrt(2.0 * math.pi) * law.deviation)
    return density
