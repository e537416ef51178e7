"""The level of a team: the rating that beats all its members at once half of the time, a product of chances.

The rating of a country, in :mod:`ranklake.flows.results.groups`, is the solution of a sum of chances.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

__all__ = ["group_level"]

_POINTS = 400.0  # of difference, for odds of ten to one


def group_level(ratings: Sequence[float]) -> float:
    """The level R with prod_k 1 / (1 + 10^((r_k - R) / 400)) = 1/2.

    Parameters
    ----------
    ratings : sequence of float
        Rating of each member, finite; points of which 400 are odds of ten to one.

    Returns
    -------
    float
        At least the highest rating, and that of a single member; to the last bit independent of the order.

    Raises
    ------
    ValueError
        The group is empty, or a rating is not finite.

    Notes
    -----
    The probability rises with R, so bisection finds R to the last bit. Added to all ratings, a constant is added to the
    level. It is the level of a team in rounds with ``team=best``. For n equal members it is higher than their rating by
    400 log10(1 / (2^(1/n) - 1)), that of ``groups.group_rating`` by 400 log10(2n - 1).
    """
    r = np.sort(np.asarray(ratings, np.float64))
    if not len(r) or not np.isfinite(r).all():
        raise ValueError("a group needs at least one member, and finite ratings")
    highest = float(r[-1])
    if len(r) == 1:
        return highest
    below = np.maximum((r - highest) / _POINTS, -400.0)
    low, high = 0.0, math.log10(len(r) / math.log(2.0))  # above the highest; n log(1 + x) <= n x
    while low < (middle := low + (high - low) / 2) < high:
        surplus = float(np.log1p(10.0 ** np.maximum(below - middle, -400.0)).sum()) - math.log(2.0)
        low, high = (middle, high) if surplus > 0.0 else (low, middle)
    return highest + _POINTS * high
