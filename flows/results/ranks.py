"""Places and percentiles of ratings, and leaderboards of some players only. Imports no kernel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.storage import LakeError

Floats = npt.NDArray[np.float64]


def places(rating: Floats) -> npt.NDArray[np.int64]:
    """The place of each rating, from 1; equal ratings share one. ``rating`` is descending."""
    return np.searchsorted(-rating, -rating, side="left").astype(np.int64) + 1


def percentiles(rating: Floats) -> Floats:
    """The percentage of the ratings that are lower than each, from 0 to less than 100. ``rating`` is descending."""
    n = len(rating)
    return (n - np.searchsorted(-rating, -rating, side="right")) / max(n, 1) * 100.0


def among(board: pa.Table, keep: npt.NDArray[np.bool_]) -> pa.Table:
    """The rows of a leaderboard that a mask keeps, with their places and percentiles among each other."""
    rows = board.filter(pa.array(keep))
    rating = rows.column("rating").to_numpy()
    for name, values in (("place", places(rating)), ("percentile", percentiles(rating))):
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, rows.schema.field(at), pa.array(values))
    return rows


def active(board: pa.Table, seconds: int, at: int | None = None) -> pa.Table:
    """The players of a leaderboard whose last contest ended at most ``seconds`` before a time.

    ``at``: the time, UTC seconds; by default the end of the last contest of all players.
    Raises ``LakeError`` if no time of a contest is known.
    """
    if not board.column("last_time_seconds").to_numpy().any():  # 0 is unknown
        raise LakeError("no contest of the leaderboard has a time, so nobody is known to be active; ingest times")
    return among(board, are_active(board, seconds, at))


def are_active(board: pa.Table, seconds: int, at: int | None = None) -> npt.NDArray[np.bool_]:
    """Mask of the players of :func:`active`; if no time of a contest is known, none is active."""
    return active_since(board, (last_end(board) if at is None else at) - seconds)


def active_since(board: pa.Table, since: int) -> npt.NDArray[np.bool_]:
    """Mask of the players whose last contest ended at a time or later, UTC seconds; unknown ends are earlier."""
    last = board.column("last_time_seconds").to_numpy()
    mask: npt.NDArray[np.bool_] = (last != 0) & (last >= since)
    return mask


def last_end(board: pa.Table) -> int:
    """The end of the last contest of all players, UTC seconds; 0 if unknown."""
    last = board.column("last_time_seconds").to_numpy()
    known = last[last != 0]  # negative before 1970
    return int(known.max()) if len(known) else 0
