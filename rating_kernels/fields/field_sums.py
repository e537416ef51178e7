"""Everybody's own place in the field: the sums of :mod:`.field` at each player's rating, however the field lies.

A few are summed term by term, a crowd is read from one table. But where every pair counts as a game, a rating can be
thrown millions of points away, and a table from the lowest to the highest would be empty almost everywhere. A field so
scattered is one of islands, with nothing between them. Terms are first sorted by rate into levels of a factor of four.
In each, gaps are cut short where all terms have reached their limits, so that the table has panels around islands only;
and islands that are not worth their panels are summed term by term. What is left out is below e^-45 of a term, as in
any table. O(n log n).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.beliefs import Map, serial_map
from ..core.standings import Floats, Longs
from .field import (
    BLOCK,
    DIRECT,
    HALF_WIDTH,
    LEVEL_RATIO,
    NEAR,
    direct_sums,
    extremes,
    plan_panels,
    read_table,
    tabulate,
)

__all__ = ["field_sums", "is_scattered", "scattered_sums"]

FEW = 24  # terms up to which a level has no table
_PANEL = 400  # terms that are read in the time that one panel takes to build
_REACH = NEAR + 4.0 * HALF_WIDTH  # scales: so far from a term no panel holds more of it than its limit
_NEGLIGIBLE = 2.0**-60  # a term of this share of the total weight is below the rounding of the sum


def field_sums(mu: Floats, rate: Floats, weight: Floats, map: Map) -> tuple[Floats, Floats, Floats]:
    """Everybody's ``S``, ``M`` and slope of ``S`` at their own ``mu``, the term of their own included.

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
    map = map if n > BLOCK else serial_map  # reading so few is not worth a trip to another thread
    map(lambda start, stop: read_table(start, stop, mu, total, *table.arrays, above, below, slope), n)
    return above, below, slope


def is_scattered(mu: Floats, top_rate: float) -> bool:
    """Whether one table over the whole field would take longer to build than its terms to sort."""
    panels = float(np.ptp(mu)) * top_rate / (2.0 * HALF_WIDTH)
    return panels > 64 + len(mu) // 8


def scattered_sums(mu: Floats, rate: Floats, weight: Floats, map: Map) -> tuple[Floats, Floats, Floats]:
    """What :func:`field_sums` gives, of a scattered field."""
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
            _read_islands(mu, mu[chosen], rate[chosen], weight[chosen], reach, map, part)
            sums += part
    few = np.concatenate(alone)
    if len(few):
        field = mu[few], rate[few], weight[few]
        map(lambda start, stop: direct_sums(start, stop, mu, *field, *part), n)
        sums += part
    return sums[0], sums[1], sums[2]


def _islands(mu: Floats, reach: float) -> tuple[Longs, Floats, Floats]:
    """Each term's island, numbered along the sorted ``mu``, and each island's first and last ``mu``."""
    opens = np.concatenate(([True], np.diff(mu) > 2.0 * reach))
    first = np.flatnonzero(opens)
    return np.cumsum(opens) - 1, mu[first], mu[np.append(first[1:], len(mu)) - 1]


def _worth_a_table(mu: Floats, reach: float, top_rate: float, n: int) -> npt.NDArray[np.bool_]:
    """Of each term, whether ``n`` readings of its island take longer than building the panels around it."""
    island, first, last = _islands(mu, reach)
    panels = (last - first + 2.0 * reach) * top_rate / (2.0 * HALF_WIDTH)
    worth: npt.NDArray[np.bool_] = (np.bincount(island) * n > _PANEL * panels)[island]
    return worth


def _read_islands(
    at: Floats, mu: Floats, rate: Floats, weight: Floats, reach: float, map: Map, sums: npt.NDArray[np.float64]
) -> None:
    """Write the sums at the points ``at`` over terms of like rates, sorted by ``mu``."""
    moved = _bring_together(mu, reach)
    _, _, middle, top_rate, bottom_rate = extremes(moved, rate, weight)
    plan = plan_panels(float(moved[0]) - reach, float(moved[-1]) + reach, middle, top_rate, bottom_rate)
    table, total, point = tabulate(moved, rate, weight, plan, map), float(np.sum(weight)), np.empty(len(at))

    def read(start: int, stop: int) -> None:
        point[start:stop] = _move(at[start:stop], mu, moved, reach)
        read_table(start, stop, point, total, *table.arrays, *sums)

    map(read, len(at))


def _bring_together(mu: Floats, reach: float) -> Floats:
    """Where the sorted ``mu`` move when islands come within ``2 reach`` of each other; the middle one stays."""
    island, first, last = _islands(mu, reach)
    start = np.concatenate(([0.0], np.cumsum(last - first + 2.0 * reach)[:-1]))
    middle = island[len(mu) // 2]
    start = start - start[middle] + first[middle]
    moved: Floats = start[island] + (mu - first[island])
    return moved


def _move(at: Floats, mu: Floats, moved: Floats, reach: float) -> Floats:
    """Where points go with the terms: as far from the nearest as they were, but at most ``reach``."""
    mu = np.concatenate(([-np.inf], mu, [np.inf]))
    moved = np.concatenate(([moved[0] - 2.0 * reach], moved, [moved[-1] + 2.0 * reach]))
    k = np.searchsorted(mu, at, side="right") - 1
    left, right = at - mu[k], mu[k + 1] - at
    return np.where(left <= reach, moved[k] + left, moved[k + 1] - np.minimum(right, reach))
