"""The level of a group of players: the rating whose holder wins half of the games against its members."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["group_level"]

_POINTS = 400.0  # of difference, for odds of ten to one


def group_level(ratings: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """The level R with sum_k w_k / (1 + 10^((R - r_k) / 400)) = 1/2.

    Parameters
    ----------
    ratings : sequence of float
        Rating of each member, finite; points of which 400 are odds of ten to one.
    weights : sequence of float, optional
        Weight of each member, positive; they are divided by their sum. Equal by default.

    Returns
    -------
    float
        Between the lowest and the highest rating; to the last bit independent of the order of the members.

    Raises
    ------
    ValueError
        The group is empty, the lengths differ, a rating is not finite, or a weight is not positive.

    Notes
    -----
    The sum falls with R, so bisection between the lowest and the highest rating finds R to the last bit. Added to all
    ratings, a constant is added to the level.
    """
    r = np.asarray(ratings, np.float64)
    w = np.ones_like(r) if weights is None else np.asarray(weights, np.float64)
    if not len(r) or r.shape != w.shape:
        raise ValueError(f"a group needs one weight for each of its members, got {len(r)} and {len(w)}")
    if not (np.isfinite(r).all() and np.isfinite(w).all() and (w > 0).all()):
        raise ValueError("ratings of a group must be finite, and weights finite and above 0")
    order = np.lexsort((w, r))
    r, w = r[order], w[order] / w.max()
    w /= w.sum()
    low, high = float(r[0]), float(r[-1])
    while low < (middle := low + (high - low) / 2) < high:
        share = float(np.sum(w / (1.0 + 10.0 ** np.clip((middle - r) / _POINTS, -300.0, 300.0))))
        low, high = (middle, high) if share > 0.5 else (low, middle)
    return high
