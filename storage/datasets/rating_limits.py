"""Contests that rate only a range of ratings: the participants whose rating at entry is in the range are rated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..runs.entry_ratings import EntryRatings
from ..runs.stored_run import StoredRun
from .dataset import Dataset
from .tables.aliases import canonical
from .tables.standings import StandingsPart

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def in_range(ratings: Floats, above: float, below: float) -> Mask:
    """Mask of the ratings that are at least ``above`` and less than ``below``; NaN is not."""
    mask: Mask = (ratings >= above) & (ratings < below)
    return mask


class RatingLimits:
    """The limits of the contests of a data set, and the ratings at entry that a run has recorded by now.

    ``limited`` (bool[n]): mask of the contests with a limit.
    """

    def __init__(self, run: StoredRun, dataset: Dataset) -> None:
        self._run, self._dataset = run, dataset
        self._above: Floats = dataset.contests.column("rated_above").fill_null(-np.inf).to_numpy()
        self._below: Floats = dataset.contests.column("rated_below").fill_null(np.inf).to_numpy()
        self.limited: Mask = (self._above > -np.inf) | (self._below < np.inf)

    def recorded(self, contest: StandingsPart) -> Floats:
        """The recorded rating at entry of each participant of one contest; NaN for none."""
        place = contest.first_contest
        contest_id, time = (
            self._dataset.contests.column(name)[place].as_py() for name in ("contest_id", "time_seconds")
        )
        names, aliases = self._dataset.handles().take(pa.array(contest.player)), self._dataset.log().aliases
        current: Callable[[str], str] = lambda name: canonical(aliases, name, time)  # noqa: E731
        return self._record.of(contest_id, names, current if aliases else None)

    def unrecorded(self, part: StandingsPart) -> list[int]:
        """The contests of a part that have limits and a participant without a recorded rating."""
        places = part.first_contest + np.flatnonzero(self.limited[part.first_contest : part.first_contest + len(part)])
        return [place for place in places.tolist() if np.isnan(self.recorded(part.contest(place))).any()]

    @cached_property
    def _record(self) -> EntryRatings:
        return self._run.entry_ratings()

    def decide(self, contest: StandingsPart, ratings: Floats) -> StandingsPart:
        """One contest in which those outside of the limits are unrated, too, given all ratings at entry."""
        place = contest.first_contest
        rated = in_range(ratings, self._above[place], self._below[place])
        if contest.rated is not None:
            rated &= contest.rated
        return replace(contest, rated=None if rated.all() else rated)

    def decide_recorded(self, part: StandingsPart) -> StandingsPart:
        """Consecutive contests, decided from the recorded ratings alone; those without one are unrated."""
        places = np.flatnonzero(self.limited[part.first_contest : part.first_contest + len(part)]) + part.first_contest
        if not len(places):
            return part
        rated = np.ones(len(part.player), np.bool_) if part.rated is None else part.rated.copy()
        for place in places.tolist():
            contest = part.contest(place)
            decided = self.decide(contest, self.recorded(contest)).rated
            a, b = part.offsets[place - part.first_contest :][:2].tolist()
            rated[a:b] = True if decided is None else decided
        return replace(part, rated=None if rated.all() else rated)
