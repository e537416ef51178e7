"""A batch of contests: what a rating pass yields, and what is counted and committed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels import Outcome, Rounds
from ranklake.storage.datasets.tables.games import Games
from ranklake.storage.runs.segments import AppliedReset

_UNRATED = Outcome.empty(0)


@dataclass(frozen=True, slots=True)
class RatedBatch:
    """Consecutive contests ``start`` to ``stop - 1`` of the data set.

    ``informative`` (bool[stop - start]): mask of the rated contests; the others are excluded or skipped.
    ``reasons`` (uint8[stop - start]): reason for skipping a contest, a key of :data:`.skipping.REASONS`; 0 for rated
    and excluded contests.
    ``rounds``, ``outcome``: the informative contests and, once they are rated, their outcome.
    ``entry``: new ratings at entry, of the one contest of the batch; see ``schemas.ENTRY``. None if there are none.
    ``games`` (int64[k] or None): number of games of each informative contest, which are so many ``rounds``; None: each
    contest is one round.
    ``resets``: those before contest ``start``.
    ``facts``: of the games, as the data set has them; None: each contest is one round.
    """

    start: int
    stop: int
    informative: npt.NDArray[np.bool_]
    reasons: npt.NDArray[np.uint8]
    rounds: Rounds
    entry: pa.Table | None = None
    games: npt.NDArray[np.int64] | None = None
    facts: Games | None = None
    outcome: Outcome = _UNRATED
    resets: tuple[AppliedReset, ...] = ()

    @property
    def first_rounds(self) -> npt.NDArray[np.int64]:
        """The first of the ``rounds`` of each informative contest, and their number."""
        if self.games is None:
            return np.arange(len(self.rounds) + 1)
        return np.concatenate(([0], np.cumsum(self.games)))

    @property
    def n_rows(self) -> npt.NDArray[np.int64]:
        """The number of rows of each contest."""
        found = np.zeros(len(self.informative), dtype=np.int64)
        found[self.informative] = np.diff(self.rounds.offsets[self.first_rounds])
        return found

    def part(self, start: int, stop: int) -> RatedBatch:
        """The contests at some places of the batch."""
        a, b = (int(np.count_nonzero(self.informative[:place])) for place in (start, stop))
        first, last = self.first_rounds[[a, b]].tolist()
        return replace(
            self,
            start=self.start + start,
            stop=self.start + stop,
            informative=self.informative[start:stop],
            reasons=self.reasons[start:stop],
            rounds=self.rounds.part(first, last),
            games=None if self.games is None else self.games[a:b],
            facts=None if self.facts is None else self.facts.part(*self.rounds.offsets[[first, last]]),
            outcome=self.outcome.part(*self.rounds.offsets[[first, last]]),
            resets=() if start else self.resets,
        )
