"""The sums of :mod:`.field` at each player's own rating, for any distribution of ratings.

Small fields are summed term by term, large ones are read from one table. If every pair counts as a game, a rating can
overshoot by millions of points, and a table from the lowest to the highest rating would be empty almost everywhere.
Such a scattered field consists of clusters of ratings with wide gaps. Terms are first sorted by rate into levels of a
factor of four. In each level, gaps are shortened where all terms are at their limits, so that the table has panels
around clusters only. Clusters too small for their panels are summed term by term. The error is below e^-45 of a term,
as in any table. O(n log n).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.beliefs import Map, serial_map
from ..core.standings import Floats, Longs
from .blocks import BLOCK
from .direct import DIRECT, direct_sums
from .field import NEAR, read_table, tabulate
from .panels import HALF_WIDTH, LEVEL_RATIO, extremes, plan_panels

FEW = 24  # terms up to which a level has no table
_PANEL = 400  # terms that can be read in the time of building one panel
_REACH = NEAR + 4.0 * HALF_WIDTH  # scales: at this distance every panel has the limit of a term
_NEGLIGIBLE = 2.0**-60  # share of the total weight below which a term is lost in rounding


def field_sums(mu: Floats, rate: Floats, weight: Floats, map: Map) -> tuple[Floats, Floats, Floats]:
    """``S``, ``M`` and the slope of ``S`` at each player's ``mu``, including the player's own term.

    Each of ``S`` and ``M`` keeps its digits where it is small. float64[n] each; O(n), scattered O(n log n).
    """
    n = len(mu)
    above, below, slope = np.empty(n), np.empty(n), np.empty(n)
    if n <= DIRECT:
        direct_sums(0, n, mu, mu, rate, weight, above, below, slope)
        return above, below, slope
    if is_scattered(mu, float(np.max(rate))):
        return scattered_sums(mu, rate, weight, map)
    table = tabulate(mu, rate, weight, plan_panels(*extremes(mu, rate, weight)), map)
    total = float(np.sum(weight))
    map = map if n > BLOCK else serial_map  # one thread is faster for small rounds
    map(lambda start, stop: read_table(start, stop, mu, total, table, above, below, slope), n)
    return above, below, slope


def is_scattered(mu: Floats, top_rate: float) -> bool:
    """Whether building one table over the whole field would take longer than sorting its terms."""
    panels = float(np.ptp(mu)) * top_rate / (2.0 * HALF_WIDTH)
    return panels > 64 + len(mu) // 8


def scattered_sums(mu: Floats, rate: Floats, weight: Floats, map: Map) -> tuple[Floats, Floats, Floats]:
    """The result of :func:`field_sums` for a scattered field."""
    n = len(mu)
    sums, part = np.zeros((3, n)), np.empty((3, n))
    terms = np.flatnonzero(weight > _NEGLIGIBLE * np.sum(weight))
    terms = terms[np.argsort(mu[terms], kind="stable")]
    level = np.floor(np.log(np.max(rate) / rate[terms]) / np.log(LEVEL_RATIO)).astype(np.int64)
    counts = np.bincount(level)
    alone = [terms[counts[level] <= FEW]]
    for at_rate in np.flatnonzero(counts > FEW):
        chosen = terms[level == at_rate]
        reach, top_rate = _REACH / float(np.min(rate[chosen])), float(np.max(rate[chosen]))
        worth = _worth_a_table(mu[chosen], reach, top_rate, n)
        alone.append(chosen[~worth])
        if worth.any():
            chosen = chosen[worth]
            _read_clusters(mu, mu[chosen], rate[chosen], weight[chosen], reach, map, part)
            sums += part
    few = np.concatenate(alone)
    if len(few):
        field = mu[few], rate[few], weight[few]
        map(lambda start, stop: direct_sums(start, stop, mu, *field, *part), n)
        sums += part
    return sums[0], sums[1], sums[2]


def _clusters(mu: Floats, reach: float) -> tuple[Longs, Floats, Floats]:
    """The cluster of each term, numbered along the sorted ``mu``, and each cluster's first and last ``mu``."""
    opens = np.concatenate(([True], np.diff(mu) > 2.0 * reach))
    first = np.flatnonzero(opens)
    return np.cumsum(opens) - 1, mu[first], mu[np.append(first[1:], len(mu)) - 1]


def _worth_a_table(mu: Floats, reach: float, top_rate: float, n: int) -> npt.NDArray[np.bool_]:
    """Mask of terms for whose cluster ``n`` direct sums take longer than building its panels."""
    cluster, first, last = _clusters(mu, reach)
    panels = (last - first + 2.0 * reach) * top_rate / (2.0 * HALF_WIDTH)
    worth: npt.NDArray[np.bool_] = (np.bincount(cluster) * n > _PANEL * panels)[cluster]
    return worth


def _read_clusters(
    at: Floats, mu: Floats, rate: Floats, weight: Floats, reach: float, map: Map, sums: npt.NDArray[np.float64]
) -> None:
    """Write the sums at the points ``at`` over terms of similar rates, sorted by ``mu``."""
    moved = _shorten_gaps(mu, reach)
    _, _, middle, top_rate, bottom_rate = extremes(moved, rate, weight)
    plan = plan_panels(float(moved[0]) - reach, float(moved[-1]) + reach, middle, top_rate, bottom_rate)
    table, total, point = tabulate(moved, rate, weight, plan, map), float(np.sum(weight)), np.empty(len(at))

    def read(start: int, stop: int) -> None:
        point[start:stop] = _move(at[start:stop], mu, moved, reach)
        read_table(start, stop, point, total, table, *sums)

    map(read, len(at))


def _shorten_gaps(mu: Floats, reach: float) -> Floats:
    """The sorted ``mu`` with gaps between clusters shortened to ``2 reach``; the middle cluster does not move."""
    cluster, first, last = _clusters(mu, reach)
    start = np.concatenate(([0.0], np.cumsum(last - first + 2.0 * reach)[:-1]))
    middle = cluster[len(mu) // 2]
    start = start - start[middle] + first[middle]
    moved: Floats = start[cluster] + (mu - first[cluster])
    return moved


def _move(at: Floats, mu: Floats, moved: Floats, reach: float) -> Floats:
    """Points moved with the terms: at the old distance from the nearest term, but at most ``reach``."""
    mu = np.concatenate(([-np.inf], mu, [np.inf]))
    moved = np.concatenate(([moved[0] - 2.0 * reach], moved, [moved[-1] + 2.0 * reach]))
    k = np.searchsorted(mu, at, side="right") - 1
    left, right = at - mu[k], mu[k + 1] - at
    return np.where(left <= reach, moved[k] + left, moved[k + 1] - np.minimum(right, reach))
