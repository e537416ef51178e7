"""Connections of drivers without Arrow: rows in bounded batches; batches as one table, and two tables compared."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from itertools import chain
from operator import itemgetter, length_hint
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .base import NO_QUERY, Connection
from .dialects import quote
from .errors import DatabaseError

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


class RowConnection(Connection):
    """A connection of a driver whose cursors have rows of Python objects."""

    _connection: Any
    _mark = "?"  # in place of a value

    @abstractmethod
    def _errors(self) -> AbstractContextManager[None]:
        """Raise the errors of the driver as :class:`DatabaseError`."""

    @abstractmethod
    def _column(self, values: Sequence[Any], name: str, code: Any) -> pa.Array:
        """Values of a column, given its name and what the driver knows of its type."""

    def append(self, table: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema, namespace: str = "") -> int:
        place = ".".join(self._named(name) for name in (namespace, table) if name)
        columns = ", ".join(map(self._named, schema.names))
        insert = f"insert into {place} ({columns}) values ({', '.join([self._mark] * len(schema))})"
        n_rows = 0
        with self._errors(), closing(self._connection.cursor()) as cursor:
            for batch in batches:
                for start in range(0, len(batch), ROWS):
                    part = batch.slice(start, ROWS)
                    cursor.executemany(insert, list(zip(*(column.to_pylist() for column in part.columns), strict=True)))
                n_rows += len(batch)
        return n_rows

    def _named(self, name: str) -> str:
        return quote(name, self.kind)

    def _batches(self, cursor: Any) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The schema of the first part of :func:`bounded`, and a batch of each part with rows."""
        described = cursor.description
        if described is None:
            raise DatabaseError(self.shown, NO_QUERY)

        def batch(columns: list[list[Any]]) -> pa.RecordBatch:
            made = [self._column(values, *about[:2]) for values, about in zip(columns, described, strict=True)]
            return pa.RecordBatch.from_arrays(made, names=[about[0] for about in described])

        batches = map(batch, self._parts(cursor, len(described)))
        first = next(batches)
        return first.schema, chain([first] if len(first) else [], batches)

    def _parts(self, cursor: Any, n_columns: int) -> Iterator[list[list[Any]]]:
        with self._errors():
            yield from bounded(cursor, n_columns)


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
