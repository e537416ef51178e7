"""Comparison of the rows of a table with those of a database."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["equal_rows"]


def equal_rows(rows: pa.Table, stored: pa.Table, at: pa.ChunkedArray, names: Sequence[str]) -> pa.ChunkedArray:
    """Whether each row is stored with the same values; nulls are equal, and so are the bits of numbers.

    Parameters
    ----------
    rows, stored
        New rows, and those of the database; columns of the same types.
    at : int64[n]
        The position of each of the ``n`` rows in ``stored``; null if it is not there.
    names
        The columns to compare.

    Returns
    -------
    bool[n], without nulls
    """
    same = pc.is_valid(at)
    for name in names:
        one, other = _bits(rows[name]), _bits(stored[name].take(at))
        equal = pc.fill_null(pc.equal(one, other), False)
        same = pc.and_(same, pc.or_(equal, pc.and_(pc.is_null(one), pc.is_null(other))))
    return same


def _bits(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_floating(column.type):
        return column
    return pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks], pa.int64())
