"""Leaderboards of some players only, and who of them has a place and how sure it is. Imports no kernel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import LakeError
from ranklake.storage.lake.schemas import PLACES

from .components import compared_in, groups_in
from .places import Groups, PlaceOptions, intervals, percentiles, places, tiers

PROVISIONAL = ("hide", "show", "only")  # what a leaderboard does with provisional players


def ranked(
    board: pa.Table, options: PlaceOptions, uncertainty: float, group: Groups = None, rounds: str = "n_rounds"
) -> pa.Table:
    """A leaderboard with places among the players that are not provisional, and the columns ``PLACES``.

    Provisional players have neither place nor percentile nor interval nor tier, and do not count for others.

    ``uncertainty``: that of the system, see :class:`ranklake.rating_kernels.core.system.System`; if it is 0, there is
    neither interval nor tier, and these columns are left out.
    ``group``: of each row; players of different groups do not compare, and places are those in the group. By default
    those are components, if two are large.
    ``rounds``: the column of the rounds of which a player needs ``min_rounds``.
    """
    numbers = {name: board.column(name).to_numpy() for name in ("rating", "mu", "sigma", rounds)}
    spread = numbers["sigma"] if uncertainty else np.zeros(board.num_rows)  # a volatility makes nobody provisional
    provisional = options.provisional(numbers[rounds], spread)
    counted = np.flatnonzero(~provisional)
    rating, mu, deviation = (numbers[name][counted] for name in ("rating", "mu", "sigma"))
    group = compared_in(board, options.min_rounds) if group is None else group
    deviation, group = uncertainty * deviation, None if group is None else group[counted]
    found = {"place": places(rating, group), "percentile": percentiles(rating, group)}
    if uncertainty:
        high, low = intervals(mu, deviation, options.z, options.rule, group)
        found |= {"place_high": high, "place_low": low, "tier": tiers(mu, deviation, options.z, group)}
    board = _with(board, PLACES.field("provisional"), pa.array(provisional))
    for name, values in found.items():
        column = np.zeros(len(provisional), values.dtype)
        column[counted] = values
        field = PLACES.field(name) if name in PLACES.names else board.schema.field(name)
        board = _with(board, field, pa.array(column, mask=provisional))
    return board


def chosen(board: pa.Table, provisional: str) -> pa.Table:
    """The rows of a leaderboard of :func:`ranked` for one of :data:`PROVISIONAL`."""
    if provisional == "show":
        return board
    column = board.column("provisional")
    return board.filter(column if provisional == "only" else pc.invert(column))


def in_tiers(board: pa.Table) -> pa.Table:
    """A leaderboard of :func:`ranked` in order of ``mu``, in which tiers are runs of rows; provisional players last."""
    groups = [("component", "ascending")] if "component" in board.column_names else []
    order = pc.sort_indices(board, [*groups, ("tier", "ascending"), ("mu", "descending")])
    return board.take(order)


def among(board: pa.Table, keep: npt.NDArray[np.bool_]) -> pa.Table:
    """The rows of a leaderboard that a mask keeps, with their places and percentiles among each other.

    They are within components if the leaderboard has these; see :func:`.components.with_large`.
    """
    rows = board.filter(pa.array(keep))
    rating = rows.column("rating").to_numpy()
    group = groups_in(rows)
    for name, values in (("place", places(rating, group)), ("percentile", percentiles(rating, group))):
        rows = _with(rows, rows.schema.field(name), pa.array(values))
    return rows


def _with(board: pa.Table, field: pa.Field, values: pa.Array) -> pa.Table:
    """A table with a column, at its place if it has one of this name, else at the end."""
    at = board.schema.get_field_index(field.name)
    return board.append_column(field, values) if at < 0 else board.set_column(at, field, values)


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
