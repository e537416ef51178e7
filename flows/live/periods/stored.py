"""The results of a match that is in the lake: from the rows of its round, as they were answered."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels import Outcome
from ranklake.rating_kernels.core.standings import Ints
from ranklake.storage import Lake, Run
from ranklake.storage.runs.run import concatenate_rounds

_COLUMNS = ("player", *Outcome._fields)


def stored_outcome(lake: Lake, run: str, contest: str, place: int | None) -> tuple[Ints, Outcome] | None:
    """The players and the results of a match in a run; None if the run has no such round.

    ``contest``: its contest, or its period. ``place``: of games, the number of those of the period before it.
    """
    opened = Run.open(lake, run)
    chain = opened.segments()
    segment = next((one for one in chain.segments if contest in one.contest_ids), None)
    if segment is None:
        return None
    at = segment.first_round + segment.contest_ids.index(contest)
    parts = [table for _, table in opened.iter_segments(at, at + 1, _COLUMNS, chain=chain)]
    rows: pa.Table = concatenate_rounds(parts)
    rows = rows if place is None else rows.slice(2 * place, 2)
    players, *numbers = (
        rows.column(name).fill_null(np.nan) if name == "perf" else rows.column(name) for name in _COLUMNS
    )
    return np.array(players, np.int32), Outcome(*(np.array(column) for column in numbers))
