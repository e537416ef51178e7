"""Unrated participants of contests with limits of the rating: decided in rated order, from the rating at entry.

The rating at entry is the display rating before the contest; a newcomer has that of the belief before any round. A
recorded rating at entry takes precedence. A contest with participants without a recorded rating is decided when the
outcomes of all rounds before it are known, so the rater reads no such contest in advance.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels import Outcome, Rounds
from ranklake.storage import Dataset, Run, StandingsPart
from ranklake.storage.datasets.rating_limits import RatingLimits
from ranklake.storage.lake.schemas import ENTRY

from ..results.display import Display
from .current_ratings import CurrentRatings, cut_at

Floats = npt.NDArray[np.float64]


class Undecided(NamedTuple):
    """Consecutive contests; for a single contest with limits also the recorded ratings at entry, NaN for none."""

    part: StandingsPart
    ratings: Floats | None = None

    @property
    def waits(self) -> bool:
        """Whether the decision needs the outcomes of all earlier rounds."""
        return self.ratings is not None and bool(np.isnan(self.ratings).any())


class Eligibility:
    """Decides which participants are rated, and follows the display rating of every player.

    ``run``: has the rule of the display rating, and the recorded ratings at entry.
    ``counts``: mask of the contests that are not excluded.
    """

    def __init__(self, run: Run, dataset: Dataset, counts: npt.NDArray[np.bool_]) -> None:
        self._run, self._dataset = run, dataset
        self._limits = RatingLimits(run, dataset)
        self._limited = self._limits.limited & counts

    @cached_property
    def _ratings(self) -> CurrentRatings:
        """The current ratings; as large as the beliefs, so only made if a contest has limits."""
        display = Display.of(self._run)
        return CurrentRatings(display, display.system.newcomers(display.params, self._dataset.n_players))

    def split(self, parts: Iterator[StandingsPart]) -> Iterator[Undecided]:
        """The same contests, each one with limits by itself."""
        for part in parts:
            limited = self._limited[part.first_contest :][: len(part)]
            for a, b in cut_at(limited):
                contests = part.contests(part.first_contest + a, part.first_contest + b) if limited.any() else part
                yield Undecided(contests, self._limits.recorded(contests) if limited[a] else None)

    def decide(self, undecided: Undecided) -> tuple[StandingsPart, pa.Table | None]:
        """The contests with their unrated participants, and the ratings at entry that are not on record yet.

        If ``undecided.waits``, all earlier rounds have been followed.
        """
        part, ratings = undecided
        if ratings is None:
            return part, None
        entry, new = None, np.flatnonzero(np.isnan(ratings))
        if len(new):
            player = part.player[new]
            ratings[new] = self._ratings.of(player)
            contest = self._dataset.contests.column("contest_id")[part.first_contest].as_py()
            names = self._dataset.handles().take(pa.array(player))
            entry = pa.table([pa.array([contest] * len(new)), names, pa.array(ratings[new])], schema=ENTRY)
        return self._limits.decide(part, ratings), entry

    def restore(self, columns: dict[str, Any]) -> None:
        """Begin with stored beliefs; players beyond them are newcomers."""
        if self._limited.any():
            self._ratings.restore(columns)

    def follow(self, rounds: Rounds, outcome: Outcome) -> None:
        """Take the ratings after the next rated rounds."""
        if self._limited.any():
            self._ratings.follow(rounds, outcome)
