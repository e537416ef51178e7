"""Pairs of participants counted by cells: a few thousand kinds of pairs in place of millions of pairs.

In a round of up to :data:`FEW` rows each pair is a kind of its own. In a larger one each row is distributed over the
two nearest points of a lattice of ratings, whose step is a :data:`FINE`-th of the smallest deviation, so that its mean
is kept. Deviations are divided into classes, each with one of its rows as representative. A kind of pairs is two
classes and a difference on the lattice: the chance of a pair must depend on the difference of the ratings only. One
walk down the standings counts them, each row against the cells of all rows before it: O(n) a round.

The error of means over pairs is of second order in the step: it grows as the square.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.jit import exact, inner_exact, inner_kernel
from ..core.standings import Floats, Longs
from .metrics import Kept

FEW = 128  # rows whose pairs, 8,128, are about as many as the kinds of pairs of a lattice
FINE = 16.0  # steps of the lattice in the smallest deviation
_RATIO = 1.12  # of the largest to the smallest deviation of a class, unless that takes more than the following classes
_CLASSES = 8
_POINTS = 1024  # of a lattice; ratings farther apart have wider steps
_KINDS = 1 << 18  # of pairs at a time
_LARGEST = _CLASSES * (_CLASSES + 1) // 2 * (2 * _POINTS - 1)  # number of kinds in a round


class PairKinds(NamedTuple):
    """Kinds of pairs, one entry each, ordered by round.

    ``of_round`` (int64[k]): index of the round.
    ``one``, ``other`` (int64[k]): rows kept that stand for the first and the second of each pair.
    ``mu_one``, ``mu_other`` (float64[k]): their ratings.
    ``won``, ``lost``, ``tied`` (float64[k]): number of pairs in which the first has the better place, the worse, the
    same. A pair on several points of a lattice counts by shares.
    ``step`` (float64[k]): distance of the lattice's points; 0 for single pairs.
    """

    of_round: Longs
    one: Longs
    other: Longs
    mu_one: Floats
    mu_other: Floats
    won: Floats
    lost: Floats
    tied: Floats
    step: Floats


def pair_kinds(kept: Kept, start: int, mu: Floats, deviation: Floats) -> tuple[int, PairKinds]:
    """The kinds of pairs of some rounds from ``start`` on, and the first round that is left.

    ``mu``, ``deviation`` (float64[n]): rating of each row kept, and what its chances depend on beside it.
    """
    longs, floats = np.empty((3, _KINDS), np.int64), np.empty((6, _KINDS))
    stop, n = _count(kept.offsets, kept.hi, mu, deviation, np.int64(start), longs, floats)
    return stop, PairKinds(*longs[:, :n], *floats[:, :n])


@exact
def _count(offsets, hi, mu, deviation, start, longs, floats):
    n = 0
    for r in range(start, len(offsets) - 1):
        a, b = offsets[r], offsets[r + 1]
        size = b - a
        most = size * (size - 1) // 2 if size <= FEW else _LARGEST
        if n + most > longs.shape[1]:
            return r, n
        if size <= FEW:
            n = _every_pair(r, a, b, hi, mu, longs, floats, n)
        else:
            n = _by_cells(r, a, hi[a:b], mu[a:b], deviation[a:b], longs, floats, n)
    return len(offsets) - 1, n


@inner_exact
def _add(n, longs, floats, of_round, one, other, mu_one, mu_other, won, lost, tied, step):
    longs[0, n], longs[1, n], longs[2, n] = of_round, one, other
    floats[0, n], floats[1, n] = mu_one, mu_other
    floats[2, n], floats[3, n], floats[4, n], floats[5, n] = won, lost, tied, step
    return n + 1


@inner_exact
def _every_pair(r, a, b, hi, mu, longs, floats, n):
    for i in range(a, b):
        for j in range(i + 1, b):
            tied = 1.0 if j - a <= hi[i] else 0.0
            n = _add(n, longs, floats, r, i, j, mu[i], mu[j], 1.0 - tied, 0.0, tied, 0.0)
    return n


@inner_exact
def _by_cells(r, a, hi, mu, deviation, longs, floats, n):
    size = len(mu)
    low, high, narrow, wide = mu[0], mu[0], deviation[0], deviation[0]
    for i in range(size):
        low, high = min(low, mu[i]), max(high, mu[i])
        narrow, wide = min(narrow, deviation[i]), max(wide, deviation[i])
    known = narrow > 0.0 and wide < math.inf
    step = max(narrow / FINE if known else 0.0, (high - low) / (_POINTS - 1))
    points = int((high - low) / step) + 2 if 0.0 < high - low < math.inf else 2
    spread = math.log(wide / narrow) if known else 0.0
    classes = min(int(spread / math.log(_RATIO)) + 1, _CLASSES)
    at, share, kind = np.zeros(size, np.int64), np.zeros(size), np.zeros(size, np.int64)
    for i in range(size):
        place = (mu[i] - low) / step if step > 0.0 else 0.0
        if 0.0 < place < points - 1:  # never for NaN, whose integer is no index
            at[i] = int(place)
            share[i] = place - at[i]
        if classes > 1 and deviation[i] >= narrow:
            kind[i] = min(int(math.log(deviation[i] / narrow) / spread * classes), classes - 1)
    typical = _typical(kind, classes, deviation)
    won, tied = _walk(hi, at, share, kind, classes, points)
    middle = 0.5 * (low + high)
    for one in range(classes):
        for other in range(one + 1):
            for lead in range(0 if one == other else 1 - points, points):
                ahead, behind = points - 1 + lead, points - 1 - lead
                wins, ties = won[other, one, ahead], tied[other, one, ahead]
                losses = 0.0
                if one != other:
                    losses = won[one, other, behind]
                    ties += tied[one, other, behind]
                elif lead:
                    losses = won[one, one, behind]
                    ties += tied[one, one, behind]
                if wins + losses + ties > 0.0:
                    n = _add(
                        n, longs, floats, r, a + typical[one], a + typical[other], middle + lead * step, middle,
                        wins, losses, ties, step,
                    )  # fmt: skip
    return n


@inner_exact
def _typical(kind, classes, deviation):
    """For each class the row whose deviation is nearest to the root mean square of the class."""
    squares, members, typical = np.zeros(classes), np.zeros(classes, np.int64), np.full(classes, -1, np.int64)
    for i in range(len(kind)):
        squares[kind[i]] += deviation[i] * deviation[i]
        members[kind[i]] += 1
    for i in range(len(kind)):
        k = kind[i]
        mean = math.sqrt(squares[k] / members[k])
        if typical[k] < 0 or abs(deviation[i] - mean) < abs(deviation[typical[k]] - mean):
            typical[k] = i
    return typical


@inner_exact
def _walk(hi, at, share, kind, classes, points):
    """Numbers of pairs by the class of the worse row, that of the better row, and its lead; of ties likewise.

    A row has the part ``share`` on the point after ``at``. The lead of ``k`` points has the index ``points - 1 + k``;
    in the cells a point has its number plus one. Two tied rows are counted once.
    """
    won = np.zeros((classes, classes, 2 * points - 1))
    tied = np.zeros((classes, classes, 2 * points - 1))
    seen, group = np.zeros((classes, points + 2)), np.zeros((classes, points + 2))
    lowest, highest = np.full(classes, points, np.int64), np.full(classes, -1, np.int64)
    first = 0
    while first < len(at):
        stop = hi[first] + 1
        many = stop - first > classes * points // 4
        for i in range(first, stop):
            _add_row(seen, lowest, highest, won[kind[i]], points - 1 - at[i], share[i])
        for i in range(first, stop):
            k = kind[i]
            lowest[k], highest[k] = min(lowest[k], at[i]), max(highest[k], at[i] + 1)
        for i in range(first, stop):
            counts, part = tied[kind[i]], share[i]
            if many:
                _add_row(group, lowest, highest, counts, points - 1 - at[i], part)
                _put(group[kind[i]], at[i], part)
            else:
                for j in range(first, i):
                    lead = points - 1 + at[j] - at[i]
                    counts[kind[j], lead - 1] += (1.0 - share[j]) * part
                    counts[kind[j], lead] += (1.0 - share[j]) * (1.0 - part) + share[j] * part
                    counts[kind[j], lead + 1] += share[j] * (1.0 - part)
        for i in range(first, stop):
            _put(seen[kind[i]], at[i], share[i])
        if many:
            group[:] = 0.0
        first = stop
    return won, tied


@inner_exact
def _put(cells, at, share):
    cells[at + 1] += 1.0 - share
    cells[at + 2] += share


@inner_kernel
def _add_row(cells, lowest, highest, counts, shift, share):
    """Count one row against the rows in the cells, by their leads."""
    for k in range(len(cells)):
        column, target, keep = cells[k], counts[k], 1.0 - share
        for point in range(lowest[k] - 1, highest[k] + 1):  # none in an empty class
            target[shift + point] += keep * column[point + 1] + share * column[point + 2]
