"""The rated rounds of a player, with their contests."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ..publication.index_parts import integers
from .source import HistoryRows

__all__ = ["changes", "history"]

_OF_CONTEST = ("contest_id", "name", "url", "time_seconds", "n_players")


def history(rows: HistoryRows, players: Sequence[int]) -> pa.Table:
    """The rated rows of the first of some players who has any, in order; else no row.

    Returns
    -------
    pa.Table
        The columns of ``ROUNDS``, and ``name, url, time_seconds, n_players`` of the contest, ``rating`` and ``team``,
        which is null in a round of individuals. Rows of games have the ``opponent``.
    """
    found = rows.history_rows(players)
    contests = rows.contests_table.select(_OF_CONTEST).take(found.column("round_index"))
    columns = dict(zip(found.column_names, found.columns, strict=True))
    columns |= dict(zip(_OF_CONTEST, contests.columns, strict=True))
    if "opponent" in columns:
        columns["opponent"] = rows.handles_of(integers(columns["opponent"]))
    return pa.table(columns)


def changes(rating: pa.ChunkedArray) -> pa.Array:
    """The change of a player's rating by each round; null in the first one."""
    values = rating.combine_chunks()
    before = pa.concat_arrays([pa.nulls(1, pa.float64()), values.slice(0, max(len(values) - 1, 0))])
    return pc.subtract(values, before.slice(0, len(values)))
