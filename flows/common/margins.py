"""Points for margins of victory: whether there are any, and how many games lack them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.core.margins import NO_MARGIN
from ranklake.storage import Dataset

from .text import count

REMEDY = "ingest points: of games by --column points=... and opponent_points=..., of contests by a column score"


def uses_points(params: Any) -> bool:
    """Whether hyperparameters are those of a system that reads points, with a margin."""
    return bool(getattr(params, "margin", NO_MARGIN) != NO_MARGIN)


def check_points(margin: str, has_points: bool, where: str, remedy: str = REMEDY) -> None:
    """Raise ``ValueError`` if a margin is to be used without any points; ``where`` says what has none."""
    if margin != NO_MARGIN and not has_points:
        raise ValueError(f"margin={margin} needs points of both sides, and {where} has none; {remedy}")


def check_points_of(params: Any, rounds: Rounds, where: str, remedy: str = REMEDY) -> None:
    """As :func:`check_points`, for rounds and hyperparameters of any system."""
    if uses_points(params):
        check_points(params.margin, len(rounds.points) > 0, where, remedy)


def has_points(dataset: Dataset) -> bool:
    """Whether any contest or game of a data set has points."""
    return bool(dataset.contests.column("scored").null_count < dataset.contests.num_rows)


def count_points(params: Any, rounds: Rounds) -> Counter[str]:
    """The number of rounds "with" points of at least two, and of those "without"; empty if no points are read."""
    if not uses_points(params) or not len(rounds):
        return Counter()
    known = ~np.isnan(rounds.points) if len(rounds.points) else np.zeros(rounds.n_rows, dtype=bool)
    n = int(np.count_nonzero(np.add.reduceat(known, rounds.offsets[:-1], dtype=np.int64) > 1))
    return Counter({"with": n, "without": len(rounds) - n})


def points_lines(params: Any, counted: Counter[str]) -> list[str]:
    """A line if more than half of the rounds have no points."""
    with_points, without = counted["with"], counted["without"]
    if without <= with_points:
        return []
    return [
        f"margin={params.margin} counts {without:,} of {count(with_points + without, 'game')} once: they have no points"
    ]
