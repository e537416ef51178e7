"""FIDE's K: the tier of each player, and the bound for many games in a period.

Source: FIDE Handbook B.02, Rating Regulations, 8.3.3. The handbook does not say which of two tiers comes first; here
it is that of 10 for good.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.standings import Floats, Longs

MOST_CHANGE = 700  # rating points: K times the games of a period

_NEW_GAMES, _MASTER = 30, 2400.0
_JUNIOR_AGE, _JUNIOR_RATING = 18, 2300.0


class Tier(NamedTuple):
    """A tier of K, and who is in it."""

    k: int
    rule: str


TIERS = (
    Tier(10, "a published rating reached 2400"),
    Tier(40, "fewer than 30 games before the period"),
    Tier(40, "below 2300, up to the year of the 18th birthday"),
    Tier(20, "from 30 games on"),
)

_K: Longs = np.array([tier.k for tier in TIERS])


def tiers_of(rating: Floats, games: Floats, peak: Floats, age: Floats) -> Longs:
    """The index in :data:`TIERS` of each player; ``age`` is NaN where it is unknown."""
    junior = (age <= _JUNIOR_AGE) & (rating < _JUNIOR_RATING)
    found: Longs = np.select([peak >= _MASTER, games < _NEW_GAMES, junior], [0, 1, 2], 3)
    return found


def k_of(tier: npt.NDArray[np.integer], n: Longs) -> Longs:
    """K of each player for the ``n`` games of a period."""
    k = _K[tier]
    return np.where(k * n > MOST_CHANGE, MOST_CHANGE // np.maximum(n, 1), k)
