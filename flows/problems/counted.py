"""Who counts for the problems of a contest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ranklake.storage import LakeError

from .entrants import Field, Floats, Longs
from .options import Count
from .solves import Solves


def counted_sets(
    count: Count, field: Field, found: Solves, problems: Longs, positions: Floats, contest: str
) -> Iterator[tuple[Longs | None, Longs]]:
    """The participations that count, None for all of the field, and the problems for which they do.

    ``problems``: of the contest. ``positions``: of all problems.

    Raises LakeError: a problem has no position, and it matters.
    """
    n = len(field.rating)
    if count == "all":
        yield None, problems
    elif count == "submitted":
        yield np.flatnonzero(np.bincount(found.row, minlength=n)), problems
    elif count == "attempted":
        for problem in problems.tolist():
            yield np.flatnonzero(np.bincount(found.row[found.problem == problem], minlength=n)), np.array([problem])
    else:
        place = positions[problems]
        if np.isnan(place).any():
            rule = "the order of its problems is unknown: the table of problems has no position of one"
            remedy = "give them with --problems of `ranklake ingest results`, or choose another --count"
            raise LakeError(f"contest {contest}: {rule}; {remedy}")
        last = np.full(n, -np.inf)
        np.maximum.at(last, found.row, positions[found.problem])
        for position in np.unique(place).tolist():
            yield np.flatnonzero(last >= position), problems[place == position]
