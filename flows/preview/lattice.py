"""A field of participants on a lattice of ratings and uncertainties: sums over all opponents in O(n).

Win probabilities and laws of performances depend on differences of ratings, and smoothly on the uncertainties. Each
participant is therefore distributed over the nearest points of a lattice: equidistant ratings, Chebyshev points of the
logarithm of sigma. A sum over all participants is then a convolution along the ratings for each pair of sigmas, and the
sum of one participant is interpolated from the same points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Prior

Floats = npt.NDArray[np.float64]

_POINTS = 8  # ratings over which a participant is distributed
_STEP = 0.25  # of the smallest deviation of a performance
_CELLS = 1 << 12  # maximum number of ratings; of wider fields the steps are longer
_BARYCENTRIC = np.array([(-1.0) ** k * math.comb(_POINTS - 1, k) for k in range(_POINTS)])


class Lattice:
    """A field on a lattice.

    ``mu``, ``sigma`` (float64[n]): the participants' beliefs before the round.
    ``scale``: smallest deviation of a performance, rating points: the differences over which a win probability changes.
    ``step``: between two ratings of the lattice.
    ``first``: the lowest rating of the lattice.
    ``sigma`` (float64[k]): the sigmas of the lattice.
    ``weights`` (float64[k, m]): the field: the number of participants at each point; parts of them may be negative.
    """

    def __init__(self, mu: Floats, sigma: Floats, scale: float) -> None:
        self.step = max(_STEP * scale, float(np.ptp(mu)) / _CELLS)
        self.first = float(mu.min()) - (_POINTS // 2) * self.step
        start, self._share = _distribute((mu - mu.min()) / self.step + _POINTS // 2)
        self._columns = start[:, None] + np.arange(_POINTS)
        self.sigma, self._sigma_share = _interpolated(sigma)
        k, m = len(self.sigma), int(start.max()) + _POINTS + 1
        self.n_terms = 2 * k * k * m  # pairs of points whose win probability expected_losses computes
        shares = self._share.ravel()
        self.weights = np.array(
            [np.bincount(self._columns.ravel(), shares * np.repeat(share, _POINTS), m) for share in self._sigma_share.T]
        )

    def expected_losses(self, beats: Callable[[Prior, Prior], Any]) -> Floats:
        """The sum of ``beats(opponent, participant)`` over all participants, for each one, with the term of its own."""
        sums = [
            self.sums(lambda gap, sigma, one=one: beats(_prior(gap, sigma), _prior(0.0 * gap, one)))  # type: ignore[misc]
            for one in self.sigma.tolist()
        ]
        at = np.array(sums)[:, self._columns]
        values: Floats = np.einsum("np,nk,knp->n", self._share, self._sigma_share, at)
        return values

    def sums(self, term: Callable[[Floats, float], Any], pad: int = 0) -> Floats:
        """Sums over the field at every rating of the lattice, and at ``pad`` more on both sides.

        ``term``: ``term(gap, sigma)``: the term of a participant of this sigma at a rating that is ``gap`` below its
        own.
        """
        m = self.weights.shape[1]
        gaps = self.step * np.arange(m + pad - 1, -m - pad, -1)
        total = np.zeros(m + 2 * pad)
        for weights, sigma in zip(self.weights, self.sigma.tolist(), strict=True):
            total += _convolve(weights, np.broadcast_to(term(gaps, sigma), gaps.shape))
        return total

    def ratings(self, pad: int = 0) -> Floats:
        """The ratings of the lattice, and ``pad`` more on both sides."""
        return self.first + self.step * np.arange(-pad, self.weights.shape[1] + pad)

    def sums_at(self, term: Callable[[Floats, float], Any], x: Floats) -> Floats:
        """The sums of :meth:`sums` at any ratings."""
        low, high = self.first, self.first + self.step * (self.weights.shape[1] - 1)
        beyond = max(low - float(x.min(initial=low)), float(x.max(initial=high)) - high)
        pad = min(math.ceil(beyond / self.step) + _POINTS, _CELLS)
        total, ratings = self.sums(term, pad), self.ratings(pad)
        start, share = _distribute((np.clip(x, ratings[0], ratings[-1]) - ratings[0]) / self.step, len(total))
        values: Floats = np.einsum("np,np->n", share, total[start[:, None] + np.arange(_POINTS)])
        return values


def _convolve(weights: Floats, kernel: Floats) -> Floats:
    """The sums over ``a`` of ``weights[a] kernel[m - 1 + b - a]``, for all ``b`` that the kernel has; m weights."""
    m, size = len(weights), 1 << (len(kernel) + len(weights) - 2).bit_length()
    together: Floats = np.fft.irfft(np.fft.rfft(weights, size) * np.fft.rfft(kernel, size), size)
    return together[m - 1 : len(kernel)]


def _distribute(at: Floats, n: int | None = None) -> tuple[npt.NDArray[np.int64], Floats]:
    """The first of the points around each position, and Lagrange's weights of the points."""
    start = np.floor(at).astype(np.int64) - (_POINTS // 2 - 1)
    if n is not None:
        start = np.clip(start, 0, n - _POINTS)
    return start, _lagrange(at - start, np.arange(_POINTS, dtype=np.float64), _BARYCENTRIC)


def _prior(mu: Floats, sigma: float) -> Prior:
    return Prior(mu, np.full(len(mu), sigma), np.full(len(mu), np.nan), np.zeros(len(mu), dtype=np.int32))


def _interpolated(sigma: Floats) -> tuple[Floats, Floats]:
    """The sigmas of the lattice, and each participant's share of them, float64[n, k]."""
    low, high = float(sigma.min()), float(sigma.max())
    if high <= low * (1.0 + 1e-9):
        return np.array([high]), np.ones((len(sigma), 1))
    logarithmic = low > 0.0
    a, b = (math.log(low), math.log(high)) if logarithmic else (low, high)
    k = min(5 + math.ceil(3.0 * (b - a)), 24) if logarithmic else 16
    angles = np.pi * (np.arange(k) + 0.5) / k
    nodes = 0.5 * (a + b) - 0.5 * (b - a) * np.cos(angles)
    barycentric = np.sin(angles) * (-1.0) ** np.arange(k)
    share = _lagrange(np.log(sigma) if logarithmic else sigma, nodes, barycentric)
    return np.exp(nodes) if logarithmic else nodes, share


def _lagrange(x: Floats, nodes: Floats, barycentric: Floats) -> Floats:
    """Lagrange's weights of the nodes at each ``x``, float64[n, nodes]."""
    away = x[:, None] - nodes
    exact = away == 0.0
    away[exact] = 1.0
    share: Floats = barycentric / away
    hit = exact.any(axis=1)
    share[hit] = exact[hit]
    share /= share.sum(axis=1, keepdims=True)
    return share
