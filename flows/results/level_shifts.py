"""A steady level: one shift of all displayed ratings for each month, so that the mean rating of participants stays.

The mean of a month is that of the ratings after all participations of the twelve months before it, and the shift is
the mean less that of the first twelve months. All players have the same shift at the same time, so their order stays,
and so do predictions, which depend on no display. The shift of a round depends on earlier rounds alone: it is the same
after a resumption, and ratings that were published stay until an earlier round is corrected.

Rounds of unknown time belong to the month of the round before, and so do rounds that end earlier than that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Dataset, Run

STEADY = "steady"  # the other choice is "free"
MONTH = 31_556_952 // 12  # seconds
_WINDOW = 12  # months
_UNKNOWN = np.iinfo(np.int64).min

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LevelShifts:
    """How much lower the ratings after some rounds are displayed, rating points.

    ``rounds``: the first round of each shift, ascending; the rounds before them have none.
    ``shifts``: rating points, with the decimals of a displayed rating: differences of displayed ratings stay.
    """

    rounds: tuple[int, ...] = ()
    shifts: tuple[float, ...] = ()

    @classmethod
    def measure(cls, ends: Longs, sums: Floats, counts: Longs, decimals: int) -> Self:
        """The shifts of a history, given the end of each round, 0 if unknown, and sum and count of ratings after it."""
        rated = np.flatnonzero((counts > 0) & (np.maximum.accumulate(ends != 0) if len(ends) else False))
        if not len(rated):
            return cls()
        of_round = np.maximum.accumulate(np.where(ends == 0, _UNKNOWN, ends))[rated] // MONTH
        months, first = np.unique(of_round, return_index=True)
        totals = np.concatenate(([[0.0], [0.0]], np.cumsum([sums[rated], counts[rated]], axis=1)), axis=1)
        since = first[np.searchsorted(months, months - _WINDOW)]
        total, n = totals[:, first] - totals[:, since]
        measured = np.flatnonzero((months >= months[0] + _WINDOW) & (n > 0) & np.isfinite(total))
        means = total[measured] / n[measured]
        shifts = np.round(means - means[:1], decimals)
        changed = np.flatnonzero(np.diff(shifts, prepend=0.0))
        return cls(tuple(rated[first[measured[changed]]].tolist()), tuple(shifts[changed].tolist()))

    @classmethod
    def of_run(cls, run: Run, decimals: int) -> Self:
        """The shifts of a run after its last round; reads two columns of its rounds."""
        chain = run.segments()
        contests = Dataset.open(run.lake, run.config["dataset"]).contests
        ids = pa.array(chain.contest_ids, pa.string())
        at = pc.index_in(ids, value_set=contests.column("contest_id").combine_chunks())
        ends = contests.column("time_seconds").combine_chunks().take(at).fill_null(0).to_numpy()
        sums, counts = np.zeros(len(ends)), np.zeros(len(ends), np.int64)
        for segment, table in run.iter_segments(columns=("round_index", "mu"), chain=chain):
            index, rounds = table.column("round_index").to_numpy() - segment.first_round, segment.stop_round
            part, n = slice(segment.first_round, rounds), rounds - segment.first_round
            sums[part] = np.bincount(index, table.column("mu").to_numpy(), n)
            counts[part] = np.bincount(index, minlength=n)
        return cls.measure(ends, sums, counts, decimals)

    def at(self, round_index: Any = None) -> Any:
        """The shift of ratings after each round; by default after the last one."""
        after = np.array([0.0, *self.shifts])
        return after[-1] if round_index is None else after[np.searchsorted(self.rounds, round_index, side="right")]

    def before(self, stop: int) -> list[tuple[int, float]]:
        """The first round and the value of each shift before round ``stop``."""
        return [pair for pair in zip(self.rounds, self.shifts, strict=True) if pair[0] < stop]
