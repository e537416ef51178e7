"""Rows of drivers without Arrow in bounded batches, batches as one table, and the comparison of two tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter, length_hint
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

ROWS, VALUES, BYTES = 2**16, 2**20, 2**24  # of a batch, at most; one row may have more bytes
_FEW = 2**10
_WIDER = (pa.null(), pa.date32(), pa.timestamp("us"), pa.int64(), pa.float64(), pa.string(), pa.binary())


def bounded(rows: Iterable[Sequence[Any]], n_columns: int) -> Iterator[list[list[Any]]]:
    """The columns of the rows in parts of bounded size; at least one part, which is empty without rows."""
    most = max(1, min(ROWS, VALUES // max(n_columns, 1)))
    few: list[Sequence[Any]] = []  # rows are objects for the garbage collector, and their values are not
    columns, size, left, n_parts = _columns(n_columns), 0, most, 0
    room = min(_FEW, left)
    for row in rows:
        few.append(row)
        size += sum(map(length_hint, row))  # of texts and bytes; numbers, times and null have no length
        if size >= BYTES or len(few) == room:
            left -= _move(few, columns)
            if size >= BYTES or not left:
                yield columns
                columns, size, left, n_parts = _columns(n_columns), 0, most, n_parts + 1
            room = min(_FEW, left)
    if left - _move(few, columns) < most or not n_parts:
        yield columns


def _columns(n_columns: int) -> list[list[Any]]:
    return [[] for _ in range(n_columns)]


def _move(rows: list[Sequence[Any]], columns: list[list[Any]]) -> int:
    """Move rows to the ends of columns; returns their number."""
    for at, column in enumerate(columns):
        column.extend(map(itemgetter(at), rows))
    n_rows = len(rows)
    rows.clear()
    return n_rows


def as_batches(
    parts: Iterator[list[list[Any]]], make: Callable[[list[list[Any]]], pa.RecordBatch]
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The schema of the first part of :func:`bounded`, and a batch of each part with rows, which ``make`` makes."""
    batches = map(make, parts)
    first = next(batches)
    return first.schema, chain([first] if len(first) else [], batches)


def united(schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """One table of the columns of a schema; a column whose batches have several types has the widest one.

    Raises ArrowException: a number is not exact in the type of its column.
    """
    fields = []
    for at, field in enumerate(schema):
        kinds = {batch.schema.types[at] for batch in batches} or {field.type}
        fields.append(field if kinds == {field.type} else field.with_type(max(kinds, key=_WIDER.index)))
    wide = pa.schema(fields)
    return pa.Table.from_batches([batch if batch.schema == wide else batch.cast(wide) for batch in batches], wide)


def equal_rows(rows: pa.Table, stored: pa.Table, at: pa.ChunkedArray, names: Sequence[str]) -> pa.ChunkedArray:
    """Whether each row is stored with the same values in the named columns, bool[n]: equal bits, or both null.

    ``at`` (int64[n]): the position of each of the ``n`` rows in ``stored``; null if it is not there.
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
