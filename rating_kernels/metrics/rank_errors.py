"""The log2 rank error by experience, division and half, as in the EloSRM tables.

Source: "An Elo-based rating system for TopCoder SRM", Tables 1 and 3. E = |P|, P = log2 of the expected over the actual
rank with the ratings before the round, over all participants, newcomers at their initial rating.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.standings import Floats, Ints, Longs
from .metrics import Kept

_EXPERIENCE = {
    "first": (1, 1),
    "2-7": (2, 7),
    "8-24": (8, 24),
    "25-74": (25, 74),
    "75-199": (75, 199),
    "200+": (200, 0),
}
_HALVES = tuple(f"division {division}, half {half}" for division in (1, 2) for half in (1, 2))
RANK_ERROR_ROWS = ("all", *_EXPERIENCE, "existing", "existing, division 1", "existing, division 2", *_HALVES)


class RankErrors(NamedTuple):
    """One row of the table: participations and the means of the change of the rating, of P and of E."""

    name: str
    participations: int
    gain: float
    performance: float
    error: float


def rank_errors(kept: Kept, n_before: Ints, division: Longs, performance: Floats, gain: Floats) -> Floats:
    """Sums of each round for every row of the table.

    Existing players have been rated before. The upper half of a division is r <= (n + 1) / 2 with tie-averaged ranks;
    the document does not define the middle.

    ``n_before`` (int32[n]): number of rounds rated before, of each selected row.
    ``division`` (int64[r]): division of each round, 1 or 2; 0 if it has none.
    ``performance``, ``gain`` (float64[n]): p, and the change of the rating in points.
    Returns float64[r, rows, 4]: participations; sums of ``gain``, P and E.
    """
    n_rounds, sizes = len(kept.offsets) - 1, kept.weight
    of_round = np.repeat(np.arange(n_rounds), sizes)
    in_division, existing = division[of_round], n_before > 0
    upper = kept.lo + kept.hi <= sizes[of_round] - 1
    masks = [np.ones(len(n_before), dtype=bool)]
    for least, most in _EXPERIENCE.values():
        masks.append((n_before + 1 >= least) & ((n_before + 1 <= most) if most else True))
    masks.append(existing)
    masks += [existing & (in_division == one) for one in (1, 2)]
    masks += [existing & (in_division == one) & (upper == half) for one in (1, 2) for half in (True, False)]
    sums = np.empty((n_rounds, len(masks), 4))
    for at, mask in enumerate(masks):
        rows = of_round[mask]
        sums[:, at, 0] = np.bincount(rows, minlength=n_rounds)
        for column, values in enumerate((gain, performance, np.abs(performance)), 1):
            sums[:, at, column] = np.bincount(rows, values[mask], n_rounds)
    return sums


def total(sums: Floats) -> list[RankErrors]:
    """The table of all rounds; means of empty rows are NaN."""
    added = sums.sum(axis=0)
    with np.errstate(invalid="ignore"):
        means = added[:, 1:] / added[:, :1]
    return [
        RankErrors(name, int(n), *row)
        for name, n, row in zip(RANK_ERROR_ROWS, added[:, 0], means.tolist(), strict=True)
    ]
