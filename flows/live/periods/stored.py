"""The results of a match that is in the lake: from the rows of its round, as they were answered."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Outcome
from ranklake.rating_kernels.core.standings import Ints
from ranklake.storage import Lake, Run
from ranklake.storage.runs.run import concatenate_rounds

_COLUMNS = ("player", *Outcome._fields)
_KEPT = 2  # rounds whose rows stay in memory: who sends a match again sends its neighbours again
_Rows = list[npt.NDArray[np.generic]]


class StoredOutcomes:
    """Results of matches in the rounds of runs. The rows of the rounds that were read last stay in memory."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._kept: OrderedDict[tuple[str, str], _Rows | None] = OrderedDict()

    def find(self, run: str, contest: str, place: int | None) -> tuple[Ints, Outcome] | None:
        """The players and the results of a match in a run; None if the run has no such round.

        ``contest``: its contest, or its period. ``place``: of games, the number of those of the period before it.
        """
        key = run, contest
        if key not in self._kept:
            self._kept[key] = self._read(run, contest)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        rows = self._kept[key]
        if rows is None:
            return None
        at = slice(None) if place is None else slice(2 * place, 2 * place + 2)
        players, *numbers = (column[at].copy() for column in rows)
        return players, Outcome(*numbers)  # type: ignore[arg-type, return-value]

    def _read(self, run: str, contest: str) -> _Rows | None:
        opened = Run.open(self._lake, run)
        chain = opened.segments()
        segment = next((one for one in chain.segments if contest in one.contest_ids), None)
        if segment is None:
            return None
        at = segment.first_round + segment.contest_ids.index(contest)
        parts = [table for _, table in opened.iter_segments(at, at + 1, _COLUMNS, chain=chain)]
        rows = concatenate_rounds(parts)
        return [np.array(rows.column(name).fill_null(np.nan if name == "perf" else 0)) for name in _COLUMNS]
