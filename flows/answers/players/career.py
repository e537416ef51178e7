"""What the rounds of one player say: changes of the rating, its peak, and what is missing for the next title."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...common.times import AGES, parse_span
from ...results.titles import Titles

YEAR = parse_span("1y", AGES)  # seconds


@dataclass(frozen=True, slots=True)
class Career:
    """What a player's ratings after each round say.

    ``change``: of the rating by the last round; None if there is one round.
    ``change_year``: since the last round that ended a year or more before the last contest of all; None if there is
    none, or times are not known. It is 0 if the player had no round since then.
    ``peak``: the row of the highest rating, of equal ones the first.
    """

    change: float | None
    change_year: float | None
    peak: int


def career(
    rounds: npt.NDArray[np.integer[Any]],
    ratings: npt.NDArray[np.float64],
    before: npt.NDArray[np.float64],
    ends: npt.NDArray[np.int64],
    last_end: int | None,
) -> Career:
    """What the rounds of a player say.

    ``rounds``: the number of the round of each row, ascending; the games of a period share it.
    ``ratings``, ``before``: the rating after each row, and before it; that before the first row does not count.
    ``ends``: the end of the round of each row, UTC seconds; 0 if unknown.
    ``last_end``: the end of the last contest of all; None if unknown.
    Raises ``ValueError`` without a row.
    """
    if not len(ratings):
        raise ValueError("a player without a round has no career")
    now = float(ratings[-1])
    earlier = int(np.searchsorted(rounds, rounds[-1]))
    change = now - float(before[earlier]) if earlier else None
    known = np.flatnonzero((ends != 0) & (ends <= (last_end or 0) - YEAR))
    change_year = now - float(ratings[known[-1]]) if len(known) and last_end is not None else None
    return Career(change, change_year, int(np.argmax(ratings)))


def next_title(titles: Titles, rating: float) -> dict[str, Any] | None:
    """The title above a rating: its ``name``, its ``minimum``, and the ``points`` to it; None if there is none."""
    step = titles.step(rating) + 1
    if step == len(titles.ladder):
        return None
    title = titles.ladder[step]
    return {"name": title.name, "minimum": title.minimum, "points": title.minimum - rating}
