"""Rows of drivers without Arrow in bounded batches, and batches as one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

__all__ = ["as_batches", "bounded", "united"]

ROWS, VALUES, BYTES = 2**16, 2**20, 2**24  # of a batch, at most; one row may have more bytes
_TEXTS = (str, bytes, bytearray)
_WIDER = (pa.null(), pa.date32(), pa.timestamp("us"), pa.int64(), pa.float64(), pa.string(), pa.binary())


def bounded(rows: Iterable[Sequence[Any]], n_columns: int) -> Iterator[list[Sequence[Any]]]:
    """The rows in lists of bounded size; at least one list, which is empty without rows."""
    most, part, size, n_lists = max(1, min(ROWS, VALUES // max(n_columns, 1))), [], 0, 0
    for row in rows:
        part.append(row)
        for value in row:
            if value.__class__ in _TEXTS:
                size += len(value)
        if len(part) >= most or size >= BYTES:
            yield part
            part, size, n_lists = [], 0, n_lists + 1
    if part or not n_lists:
        yield part


def as_batches(
    lists: Iterator[list[Sequence[Any]]], n_columns: int, make: Callable[[Iterable[Sequence[Any]]], pa.RecordBatch]
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The schema of the first list of :func:`bounded`, and a batch of each list with rows.

    Parameters
    ----------
    make
        A batch from the values of each column.
    """
    batches = (make(zip(*rows, strict=True) if rows else ((),) * n_columns) for rows in lists)
    first = next(batches)
    return first.schema, chain([first] if len(first) else [], batches)


def united(schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """One table; a column whose batches have several types has the widest one.

    Parameters
    ----------
    schema
        The names of the columns, and the types if there are no batches.

    Raises
    ------
    ArrowException
        A number is not exact in the type of its column.
    """
    fields = []
    for at, field in enumerate(schema):
        kinds = {batch.schema.types[at] for batch in batches} or {field.type}
        fields.append(field if kinds == {field.type} else field.with_type(max(kinds, key=_WIDER.index)))
    wide = pa.schema(fields)
    return pa.Table.from_batches([batch if batch.schema == wide else batch.cast(wide) for batch in batches], wide)
