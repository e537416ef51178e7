"""Nodes in the variance, with which sums of pairs' terms are interpolated (:mod:`.pairs.table`).

Players of variance below a ``cut`` are *sharp*. A table has all pairs with at least one player that is not sharp: for
these v >= cut. As functions of a sharp player's variance, terms are singular no nearer than -cut, otherwise no nearer
than -(the smallest variance). Therefore both kinds of players have separate nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core.jit import inner_exact
from ...core.standings import Floats, Longs

_STRIP = (1.8, 3.1, 3.1, 3.1)  # of ln v, where terms are bounded: about pi/2 for Phi, else up to the poles
_POWER = (0.0, 0.5, 1.0, 1.5)  # terms are at most v^-power
_DIGITS = 24.0  # e^-24 of a term is the remainder of series in the variance


class Bands(NamedTuple):
    """The two bands of variances, for kernels; as in :class:`Nodes`."""

    cut: float
    shift: Floats
    middle: Floats
    inverse_half: Floats
    offset: Longs


@dataclass(frozen=True, slots=True)
class Nodes:
    """Nodes in the variance, Chebyshev's in u = ln(variance + shift): first the regular players', then the sharp ones'.

    ``cut``: players with smaller variances are sharp.
    ``shift``, ``middle``, ``inverse_half`` (float64[2]): for both kinds of players: u spans middle +- half;
    inverse_half is 0 if all variances are equal.
    ``offset`` (int64[3]): nodes ``offset[0]:offset[1]`` are those of the regular, ``offset[1]:offset[2]`` those of the
    sharp.
    ``cosines`` (float64[nodes, nodes]): chebyshev coefficients of each node's cardinal function.
    ``variance`` (float64[nodes]).
    """

    cut: float
    shift: Floats
    middle: Floats
    inverse_half: Floats
    offset: Longs
    cosines: Floats
    variance: Floats

    @classmethod
    def between(cls, codes: Longs, least: float, cut: float, most: float) -> Nodes:
        """Nodes for terms ``codes`` of players of variances in [``least``, ``most``]; ``cut`` >= ``least``."""
        shift = np.array([least, cut])
        bottom, top = np.log(np.array([cut, least]) + shift), np.log(np.array([most, cut]) + shift)
        middle, half = 0.5 * (bottom + top), 0.5 * (top - bottom)
        length = [_series_length(codes, h) for h in half.tolist()]
        if cut == least:
            length[1] = 0  # there are no sharp players
        offset = np.array([0, length[0], sum(length)])
        cosines, variance = np.zeros((offset[2], offset[2])), np.empty(offset[2])
        for band in range(2):
            own = slice(offset[band], offset[band + 1])
            angle = (np.arange(length[band]) + 0.5) * (math.pi / max(length[band], 1))
            cosines[own, own] = np.cos(np.outer(angle, np.arange(length[band]))) * (2.0 / max(length[band], 1))
            cosines[own, own][:, :1] *= 0.5
            variance[own] = np.exp(middle[band] + half[band] * np.cos(angle)) - shift[band]
        inverse_half = np.divide(1.0, half, out=np.zeros(2), where=half > 0.0)
        return cls(cut, shift, middle, inverse_half, offset, cosines, variance)

    @property
    def bands(self) -> Bands:
        """The two bands of variances, for kernels."""
        return Bands(self.cut, self.shift, self.middle, self.inverse_half, self.offset)


@inner_exact
def degrees(variance, bands, degree):
    """Chebyshev's polynomials in a player's variance at the player's nodes; 0 at the others."""
    cut, shift, middle, inverse_half, offset = bands
    band = 0 if variance >= cut else 1
    first, last = offset[band], offset[band + 1]
    u = (math.log(variance + shift[band]) - middle[band]) * inverse_half[band] if last - first > 1 else 0.0
    last_but_one, now = u, 1.0
    for m in range(len(degree)):
        if first <= m < last:
            degree[m] = now
            last_but_one, now = now, 2.0 * u * now - last_but_one
        else:
            degree[m] = 0.0


def _series_length(codes: Longs, half: float) -> int:
    """Number of terms of a series on an interval of this half-width; for large v sums are smaller by v^-power."""
    if half == 0.0:
        return 1
    digits = [_DIGITS + 2.0 * _POWER[code] * half for code in codes]
    return max(math.ceil(d / math.asinh(_STRIP[code] / half)) + 1 for d, code in zip(digits, codes, strict=True))
