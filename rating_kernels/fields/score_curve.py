"""Curves of expected scores in pieces: a straight line, or a monotone cubic through the points of a table.

Source: Fritsch and Butland, "A method for constructing local monotone piecewise cubic interpolants" (1984): the slope
at a point is a weighted harmonic mean of the slopes of the lines on its two sides. The curve is odd around 1/2,
``E(-x) = 1 - E(x)``, and flat beyond the last point. One point makes a straight line. There is no closed form for sums
over a field: they are term by term, over ratings in ascending order, so that pieces are found by walking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.jit import exact, inner_exact
from ..core.limits import POINTS, positive
from ..core.standings import Floats

MAX_POINTS = 10_000  # of a table; all runs, snapshots and messages of a cluster have it among the hyperparameters

LOGISTIC, NORMAL, IN_PIECES = 0, 1, 2
_LEADS = positive(POINTS)["limits"]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(3)  # exact for cubics times leads


class Shape(NamedTuple):
    """The shape of a curve of expected scores.

    ``kind``: ``LOGISTIC``, ``NORMAL`` or ``IN_PIECES``; the others are for the last one.
    ``lead`` (float64[m + 1]): where the pieces begin, from 0, and where the last one ends.
    ``coefficients`` (float64[m + 1, 4]): of the powers of the lead within a piece; the last row is the flat rest.
    """

    kind: int
    lead: Floats
    coefficients: Floats


SHAPE_OF_LOGISTIC = Shape(LOGISTIC, np.empty(0), np.empty((0, 4)))
SHAPE_OF_NORMAL = SHAPE_OF_LOGISTIC._replace(kind=NORMAL)


def check_points(name: str, numbers: Sequence[float]) -> None:
    """Raise ``ValueError`` unless numbers are the points of a curve: lead, expected score, lead, expected score, ..."""
    points = [tuple(numbers[i : i + 2]) for i in range(0, len(numbers), 2)]
    if not points or len(numbers) % 2:
        raise ValueError(f"{name} must have rows of a lead and an expected score, got {len(numbers)} numbers")
    if len(points) > MAX_POINTS:
        raise ValueError(f"{name} must have at most {MAX_POINTS:,} rows, got {len(points):,}")
    before = (-1.0, 0.0)
    for row, (lead, expected) in enumerate(points, 1):
        where, got = f"{name}, row {row}", f"got lead {lead:g} and expected {expected:g}"
        if lead != 0.0 and not _LEADS.contains(lead):
            raise ValueError(f"{where}: a lead must be 0 or {_LEADS.rule}, {got}")
        if not 0.5 <= expected <= 1.0:
            raise ValueError(f"{where}: an expected score must be within 0.5..1, {got}")
        if (lead == 0.0) != (expected == 0.5):
            raise ValueError(f"{where}: equals have an expected score of 0.5, and nobody else, {got}")
        if lead <= before[0] or expected <= before[1]:
            raise ValueError(
                f"{where}: leads and expected scores must both increase, {got} after {before[0]:g} and {before[1]:g}; "
                "beyond the last row the curve is flat"
            )
        before = lead, expected
    if before[0] == 0.0:
        raise ValueError(f"{name} must have a row with a lead above 0")


def shape_of(numbers: Sequence[float]) -> Shape:
    """The curve through points as :func:`check_points` takes them."""
    x, y = np.array(numbers, np.float64).reshape(-1, 2).T.copy()
    if x[0] > 0.0:
        x, y = np.append(0.0, x), np.append(0.5, y)
    h = np.diff(x)
    secant = np.diff(y) / h
    slope = np.empty(len(x))
    slope[0] = secant[0]  # as inside: the pieces on both sides of 0 are alike
    before, after = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
    slope[1:-1] = (before + after) / (before / secant[:-1] + after / secant[1:])
    inner, outer = (h[-2], secant[-2]) if len(h) > 1 else (h[0], secant[0]), (h[-1], secant[-1])
    # of the parabola through the last three points, but not against the curve
    slope[-1] = max(((2.0 * outer[0] + inner[0]) * outer[1] - outer[0] * inner[1]) / (outer[0] + inner[0]), 0.0)
    coefficients = np.zeros((len(x), 4))
    coefficients[:, 0] = y
    coefficients[:-1, 1] = slope[:-1]
    coefficients[:-1, 2] = (3.0 * secant - 2.0 * slope[:-1] - slope[1:]) / h
    coefficients[:-1, 3] = (slope[:-1] + slope[1:] - 2.0 * secant) / h**2
    return Shape(IN_PIECES, x, coefficients)


def straight(certain_lead: float) -> Shape:
    """The line ``1/2 + x / (2 L)`` up to the lead ``L`` at which a win is certain."""
    return shape_of((certain_lead, 1.0))


def expected_of(lead: Floats, shape: Shape) -> Floats:
    """Expected scores of a curve in pieces at leads of any sign."""
    leads = np.asarray(lead, np.float64, order="C")
    found = np.empty(leads.shape)
    _expected(leads.reshape(-1), shape, found.reshape(-1))
    return found


def deviation(shape: Shape) -> float:
    """Standard deviation of the law whose distribution function is a curve in pieces.

    What the curve leaves to be expected beyond the last point is taken to be there.
    """
    middle, half = 0.5 * (shape.lead[1:] + shape.lead[:-1]), 0.5 * np.diff(shape.lead)
    x = middle[:, None] + half[:, None] * _NODES
    parts: Floats = x * (1.0 - expected_of(x, shape)) @ _WEIGHTS * half
    return float(np.sqrt(4.0 * parts.sum()))  # twice the integral of 2 x P(difference > x)


@inner_exact
def _value(piece, lead, shape):
    """The curve at a lead >= 0 in a piece."""
    t, c = lead - shape.lead[piece], shape.coefficients
    return min(c[piece, 0] + t * (c[piece, 1] + t * (c[piece, 2] + t * c[piece, 3])), 1.0)


@inner_exact
def expected_in_pieces(lead, shape):
    """Expected score of a curve in pieces at a lead of any sign."""
    size, low, high = abs(lead), 0, len(shape.lead)
    while high - low > 1:
        middle = (low + high) // 2
        if size >= shape.lead[middle]:
            low = middle
        else:
            high = middle
    value = _value(low, size, shape)
    return value if lead >= 0.0 else 1.0 - value


@exact
def sum_in_pieces(start, stop, mu, ordered, shape, above):
    """Sum of ``E(other - mine)`` over all of a field for rows ``start`` to ``stop - 1``, the own 1/2 included.

    ``ordered``: the ratings ``mu`` in ascending order.
    """
    last = len(shape.lead) - 1
    for i in range(start, stop):
        mine, first, total = mu[i], np.searchsorted(ordered, mu[i]), 0.0
        piece = 0
        for j in range(first, len(ordered)):
            lead = ordered[j] - mine
            while piece < last and lead >= shape.lead[piece + 1]:
                piece += 1
            total += _value(piece, lead, shape)
        piece = 0
        for j in range(first - 1, -1, -1):
            lead = mine - ordered[j]
            while piece < last and lead >= shape.lead[piece + 1]:
                piece += 1
            total += 1.0 - _value(piece, lead, shape)
        above[i] = total


@exact
def _expected(lead, shape, found):
    for i in range(len(lead)):
        found[i] = expected_in_pieces(lead[i], shape)
