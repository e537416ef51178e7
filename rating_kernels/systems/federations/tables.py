"""FIDE's tables: the expected score of a lead, and the lead of a score.

Source: FIDE Handbook B.02, Rating Regulations, 8.1.1 and 8.1.2. The tables decide, no formula: six of their rows differ
from the normal curve, rounded. Scores are whole hundredths here, so that all sums are exact.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...core.standings import Floats, Longs

MOST = 400  # rating points as which a larger lead counts
EXEMPT = 2650  # the lead of a player with at least this rating counts in full (8.3.1, since October 2025)

# The largest lead of an expected score of 0.50, 0.51, ... 0.99.
_LEADS: Longs = np.array(
    [
        3, 10, 17, 25, 32, 39, 46, 53, 61, 68, 76, 83, 91, 98, 106, 113, 121, 129, 137, 145, 153, 162, 170, 179, 188,
        197, 206, 215, 225, 235, 245, 256, 267, 278, 290, 302, 315, 328, 344, 357, 374, 391, 411, 432, 456, 484, 517,
        559, 619, 735,
    ]
)  # fmt: skip

# The lead of a score of 0.50, 0.51, ... 1.00.
_DIFFERENCES: Longs = np.array(
    [
        0, 7, 14, 21, 29, 36, 43, 50, 57, 65, 72, 80, 87, 95, 102, 110, 117, 125, 133, 141, 149, 158, 166, 175, 184,
        193, 202, 211, 220, 230, 240, 251, 262, 273, 284, 296, 309, 322, 336, 351, 366, 383, 401, 422, 444, 470, 501,
        538, 589, 677, 800,
    ]
)  # fmt: skip


def counted_lead(rating: npt.ArrayLike, opponent: npt.ArrayLike) -> Longs:
    """A player's rating less the opponent's, as the table takes it.

    The lead of a player below 2650 counts as at most 400, either way, that of another one counts in full.
    """
    own = np.asarray(rating, dtype=np.int64)
    lead = own - np.asarray(opponent, dtype=np.int64)
    counted: Longs = np.where(own < EXEMPT, np.clip(lead, -MOST, MOST), lead)
    return counted


def expected_hundredths(rating: npt.ArrayLike, opponent: npt.ArrayLike) -> Longs:
    """The expected score of a player against an opponent, in hundredths.

    The two players of a game may not share a point, as the lead of each one is counted by its own rating.
    """
    lead = counted_lead(rating, opponent)
    favourite = 50 + np.searchsorted(_LEADS, np.abs(lead))
    expected: Longs = np.where(lead >= 0, favourite, 100 - favourite)
    return expected


def difference_of(hundredths: npt.ArrayLike) -> Longs:
    """The lead of a score of so many hundredths, rating points; negative below 50."""
    score = np.asarray(hundredths, dtype=np.int64)
    difference: Longs = np.sign(score - 50) * _DIFFERENCES[np.abs(score - 50)]
    return difference


def performance(n: npt.ArrayLike, half_points: npt.ArrayLike, opponents: npt.ArrayLike) -> Floats:
    """The performance in ``n`` games: the mean of the opponents' ratings, whose sum is given, and the lead of the
    score; NaN without games.
    """
    count = np.maximum(np.asarray(n, dtype=np.int64), 1)
    mean = divided(opponents, count)
    found: Floats = np.where(
        np.asarray(n) > 0, mean + difference_of(divided(50 * np.asarray(half_points), count)), np.nan
    )
    return found


def divided(whole: npt.ArrayLike, by: npt.ArrayLike) -> Longs:
    """A quotient of whole numbers, the second one positive, to the nearest whole number; halves away from zero."""
    number, divisor = np.asarray(whole, dtype=np.int64), np.asarray(by, dtype=np.int64)
    quotient: Longs = np.sign(number) * ((2 * np.abs(number) + divisor) // (2 * divisor))
    return quotient
