"""How difficulties are computed from results: who counts, until when, and the scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ranklake.rating_kernels.problems.difficulty import SCALE
from ranklake.rating_kernels.problems.scale import GREATEST, LEAST

Count: TypeAlias = Literal["all", "submitted", "reached", "attempted"]
COUNTS: tuple[Count, ...] = ("all", "submitted", "reached", "attempted")


@dataclass(frozen=True)
class ProblemOptions:
    """How difficulties are computed.

    ``count``: the participants that count for a problem: all of its contests, those with any result in the contest,
    those with a result of it or of a later problem of the contest, or those with a result of it.
    ``time_limit``: later solves count as failures, seconds after the start of the contest; None for no limit.
    ``scale``: rating points in which the odds of a solve change tenfold; None: fit it to all solves.
    ``uncertain``: whether uncertain ratings flatten the chances; None: if the system has an uncertainty of skills.
    ``joint``: estimate levels of players and difficulties together (:mod:`.joint`), not from the ratings at entry.
    Raises ValueError: a value is out of range.
    """

    count: Count = "all"
    time_limit: float | None = None
    scale: float | None = SCALE
    uncertain: bool | None = None
    joint: bool = False

    def __post_init__(self) -> None:
        if self.count not in COUNTS:
            raise ValueError(f"count must be one of {', '.join(COUNTS)}, got {self.count!r}")
        if self.time_limit is not None and not 0.0 < self.time_limit < math.inf:
            raise ValueError(f"time_limit must be > 0 seconds and finite, got {self.time_limit}")
        if self.scale is not None and not LEAST <= self.scale <= GREATEST:
            raise ValueError(f"scale must be from {LEAST:g} to {GREATEST:g} rating points, got {self.scale}")
        if self.joint and self.scale is None:
            raise ValueError("a joint estimate needs a scale: it is fitted to ratings, which are unknown here")
