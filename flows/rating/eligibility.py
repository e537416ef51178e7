"""Unrated participants of contests with limits of the rating: decided in rated order, from the rating at entry.

The rating at entry is the display rating before the contest; a newcomer has that of the belief before any round. A
recorded rating at entry takes precedence. A contest with participants without a recorded rating is decided when the
outcomes of all rounds before it are known, so the rater reads no such contest in advance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels import Beliefs, Outcome, Rounds
from ranklake.storage import Dataset, Run, StandingsPart
from ranklake.storage.datasets.rating_limits import RatingLimits
from ranklake.storage.lake.schemas import ENTRY

from ..results.display import Display

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
    """Decides which participants of contests are rated; those outside of the mask ``counts`` are excluded.

    ``run``: has the rule of the display rating, and the recorded ratings at entry.
    """

    def __init__(self, run: Run, dataset: Dataset, counts: npt.NDArray[np.bool_]) -> None:
        self._run, self._dataset = run, dataset
        self._limits = RatingLimits(run, dataset)
        self._limited = self._limits.limited & counts

    @cached_property
    def _ratings(self) -> CurrentRatings:  # as large as the beliefs, so only made if a contest has limits
        display = Display.at_entry(self._run)
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

    @property
    def waits(self) -> bool:
        """Whether a contest has limits, so that the ratings of players are followed."""
        return bool(self._limited.any())

    def restore(self, columns: dict[str, Any]) -> None:
        """Begin with stored beliefs; players beyond them are newcomers."""
        if self.waits:
            self._ratings.restore(columns)

    def follow(self, rounds: Rounds, outcome: Outcome) -> None:
        """Take the ratings after the next rated rounds."""
        if self.waits:
            self._ratings.follow(rounds, outcome)


class CurrentRatings:
    """The display rating of every player between two rounds; follows their outcomes in rated order.

    ``beliefs``: beliefs before the first round that is followed; copied.
    """

    def __init__(self, display: Display, beliefs: Beliefs) -> None:
        self._display = display
        self._mu, self._sigma, self._n_rounds = beliefs.mu.copy(), beliefs.sigma.copy(), beliefs.n_rounds.copy()

    def of(self, player: npt.NDArray[np.int32]) -> Floats:
        """The display ratings of some players, rating points."""
        ratings: Floats = self._display.rating(self._mu[player], self._sigma[player], self._n_rounds[player])
        return ratings

    def restore(self, columns: Mapping[str, Any]) -> None:
        """Begin with stored beliefs; players beyond them are newcomers."""
        n = len(columns["mu"])
        self._mu[:n], self._sigma[:n], self._n_rounds[:n] = (columns[key] for key in ("mu", "sigma", "n_rounds"))

    def follow(self, rounds: Rounds, outcome: Outcome) -> None:
        """Take the ratings after the next rated rounds."""
        if not rounds.n_rows:
            return
        player, last = np.unique(rounds.player[::-1], return_index=True)
        rows = rounds.n_rows - 1 - last
        self._mu[player], self._sigma[player] = outcome.mu[rows], outcome.sigma[rows]
        self._n_rounds[player] = outcome.n_before[rows] + rounds.are_rated[rows]


def cut_at(limited: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive contests; each one with limits is alone, as it waits for the ratings after those before."""
    at = np.flatnonzero(limited)
    return pairwise(np.unique(np.concatenate(([0, len(limited)], at, at + 1))).tolist())
