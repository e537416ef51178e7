"""Sums over all opponents whose terms depend on both players' uncertainties, exactly and in linear time.

A round of ordinary ratings is one table (:mod:`.pairs.table`). If a table costs more than its pairs, these are summed
one by one (:mod:`.pairs.terms`). If uncertainties differ by large factors, or are small relative to the distances
between ratings, the pairs are sorted so that a few tables of moderate size cover them all:

* By levels of the larger variance of the two. A level has the pairs with at least one player above its cut, among all
  players below the cut of the last level. Players below its cut continue with the next level.
* Within a level by segments of the ratings, as long as the terms' reach. Pairs in the same or in adjacent segments are
  near; all others are at their limit, which depends on the variances only and is summed along the axis.

A level costs O(players), and there is at most one level for every factor of :data:`LEVEL_RATIO` between variances.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...core.beliefs import Map, serial_map
from ...core.standings import Floats, Longs
from ..blocks import BLOCK
from .nodes import Nodes
from .table import REACH, SPACING, add_limits, add_table
from .terms import KINDS, LOGISTIC, add_near, direct_sums

WIDEST = 128.0  # largest ratio of variances within a single level
LEVEL_RATIO = 16.0  # otherwise, ratio of variances within a level
LONGEST = 4096  # grid points up to which a level is one segment
SETUP, PER_POINT = 25_000, 1.5  # cost of a table in terms: constant, and for each grid point and pair of nodes


def pair_sums(kinds: Sequence[str], mu: Floats, variance: Floats, map: Map, weight: Floats | None = None) -> Floats:
    """Sums of terms of some ``kinds`` over all players, including oneself, for each player.

    ``kinds``: some of :data:`.pairs.terms.KINDS`; several together share most of the work.
    ``mu``, ``variance`` (float64[n]): ``variance`` > 0, in squares of the unit of ``mu``.
    ``map``: divides the work; does not change the bits of the sums.
    ``weight`` (float64[n]): weight of each player as an opponent; 1 by default.
    Returns float64[len(kinds), n]: error at most 1e-10 of sum_j abs(weight_j) v^-power, where terms are at most
    v^-power.
    Raises ValueError: a variance is not positive.
    """
    codes = np.array([KINDS[kind] for kind in kinds])
    weight = np.ones(len(mu)) if weight is None else weight
    sums = np.zeros((len(codes), len(mu)))
    if len(mu) == 0:
        return sums
    map = map if len(mu) > BLOCK else serial_map  # one thread is faster for small rounds
    if not variance.min() > 0.0:
        raise ValueError(f"variances must be > 0, got {variance.min()}")
    least, most = variance.min(), variance.max()
    levels = max((math.log(most) - math.log(least)) / math.log(LEVEL_RATIO), 1.0)
    if len(mu) ** 2 <= SETUP * levels:
        for row, code in enumerate(codes):
            direct_sums(code, 0, len(mu), mu, variance, weight, sums[row])
        return sums
    if most <= WIDEST * least and _whole(mu, variance, least):
        _add_level(codes, mu, variance, weight, least, map, sums)
        return sums
    order = np.argsort(mu, kind="stable")
    sorted_sums = np.zeros_like(sums)
    rows = np.arange(len(mu))
    while len(rows):
        own = order[rows]
        m, v, w = mu[own], variance[own], weight[own]
        cut = v.max() / LEVEL_RATIO if v.max() > WIDEST * v.min() else v.min()
        level_sums = np.zeros((len(codes), len(rows)))
        _add_level(codes, m, v, w, cut, map, level_sums)
        sorted_sums[:, rows] += level_sums
        rows = rows[v < cut]
    sums[:, order] = sorted_sums
    return sums


def _spacing(variance: Floats, cut: float) -> float:
    return SPACING * math.sqrt(cut + variance.min())


def _whole(mu: Floats, variance: Floats, cut: float) -> bool:
    """Whether the grid of one table covers all ratings."""
    return bool(mu.max() - mu.min() <= LONGEST * _spacing(variance, cut))


def _add_level(codes: Longs, mu: Floats, variance: Floats, weight: Floats, cut: float, map: Map, sums: Floats) -> None:
    """Add all pairs with at least one variance >= ``cut``; ratings ascend unless there is one segment."""
    n, step = len(mu), _spacing(variance, cut)
    nodes = Nodes.between(codes, variance.min(), cut, variance.max())
    starts, near, extent = np.array([0, n]), np.array([[0, n]]), np.array([mu.max() - mu.min()])
    if not _whole(mu, variance, cut):
        segment = np.floor((mu - mu[0]) / (max(REACH[code] for code in codes) * math.sqrt(2.0 * variance.max())))
        starts = np.append(np.flatnonzero(np.diff(segment, prepend=-1.0)), n)
        place = segment[starts[:-1]]
        near = np.stack([np.searchsorted(segment, place - 1.0), np.searchsorted(segment, place + 1.0, "right")], axis=1)
        extent = mu[near[:, 1] - 1] - mu[near[:, 0]]
        for row, code in enumerate(codes):
            if code <= LOGISTIC:
                add_limits(code, starts, near, variance, weight, nodes.bands, nodes.cosines, nodes.variance, sums[row])
    pairs = np.diff(starts) * np.diff(near)[:, 0]
    tabulated = pairs > SETUP + PER_POINT * extent / step * len(nodes.variance) ** 2
    for s in np.flatnonzero(tabulated):
        a, b = near[s]
        add_table(codes, (mu, variance, weight), (a, b), (starts[s], starts[s + 1]), nodes, step, map, sums)
    if tabulated.all():
        return
    near[tabulated] = 0
    near = np.repeat(near, np.diff(starts), axis=0)

    def add(start: int, stop: int) -> None:
        for row, code in enumerate(codes):
            add_near(code, start, stop, mu, variance, weight, cut, near, sums[row])

    map(add, n)
