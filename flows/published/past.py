"""The leaderboard after an earlier round: the last row of each player before a round, from the parts of the index."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ..results.board_table import board_table
from .tables import PublishedTables

__all__ = ["leaderboard_before", "round_at"]

_STATE = {"rating": float, "mu": float, "sigma": float, "n_rounds": np.int32, "max_rating": float}


def round_at(tables: PublishedTables, time_seconds: int) -> int:
    """The number of rounds until the last one that ended before a time, UTC seconds."""
    times = tables.contests_table.column("time_seconds").cast(pa.float64()).fill_null(np.nan).to_numpy()
    before = np.flatnonzero(times < time_seconds)
    return int(before[-1]) + 1 if len(before) else 0


def leaderboard_before(tables: PublishedTables, stop: int) -> pa.Table:
    """The leaderboard after the rounds before ``stop``, as it was published then; players have their current handles.

    Columns as in ``PUBLISHED["leaderboard"]``. O(rows of these rounds).
    """
    n = len(tables.row_of_player)
    state = {name: np.zeros(n, kind) for name, kind in _STATE.items()}
    last_round, state["max_rating"][:] = np.full(n, -1), -np.inf
    for part in tables.parts_before(stop):
        players, found = part.states(stop)
        highest = np.maximum(state["max_rating"][players], found["max_rating"])
        for name, values in (found | {"max_rating": highest}).items():
            if name in state:
                state[name][players] = values
        last_round[players] = found["round_index"]
    rated = np.flatnonzero(last_round >= 0).astype(np.int32)
    times = tables.contests_table.column("time_seconds").fill_null(0).to_numpy()
    columns = {name: values[rated] for name, values in state.items()}
    columns["last_time_seconds"] = times[last_round[rated]]
    return board_table(rated, tables.handles_of(pa.chunked_array([pa.array(rated)])), columns, tables.titles)
