"""Columns of a snapshot: arrays with one entry, or one list of entries, a player; bit for bit, in Arrow files.

An array that all players share has no rows. Every file has it whole, in the metadata of its schema, as hexadecimal
text of its float64 numbers, little-endian, row after row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Array: TypeAlias = npt.NDArray[Any]
# One value a player; or offsets[n + 1] and values, a list a player; or an array that all players share.
Column: TypeAlias = Array | tuple[Array, Array] | tuple[Array]
Places: TypeAlias = slice | npt.NDArray[np.int64]  # where the rows of a part are in the whole column

PART_PLAYERS = 1 << 16  # in one file
_ROOM = 1 << 14  # bytes of an encoded part beside its values: for the schema, and for each column
_LZ4_LEVEL = -32  # all of Codeforces: two thirds of the time of the default level, and a tenth more bytes
_SHARED = b"ranklake.shared"  # key of the metadata
_INT32_MAX = np.iinfo(np.int32).max


def to_table(columns: Mapping[str, Column], start: int, stop: int) -> pa.Table:
    """Rows ``start`` to ``stop`` of columns.

    Raises ValueError: the lists of a column have too many values for one table.
    """
    shared = {name: column[0] for name, column in columns.items() if is_shared(column)}
    arrays = {name: _to_arrow(name, columns[name], start, stop) for name in columns if name not in shared}
    fields = [pa.field(name, array.type, nullable=False) for name, array in arrays.items()]
    text = json.dumps({name: values.astype("<f8").tobytes().hex() for name, values in shared.items()}, allow_nan=False)
    metadata = {_SHARED: text.encode()} if shared else None
    return pa.Table.from_arrays(list(arrays.values()), schema=pa.schema(fields, metadata))


def is_shared(column: Column) -> bool:
    """Whether all players share a column."""
    return isinstance(column, tuple) and len(column) == 1


def read_shared(table: pa.Table) -> dict[str, Column]:
    """The arrays that all players share, flat, from a table of :func:`to_table`; none if there are none."""
    text = (table.schema.metadata or {}).get(_SHARED, b"{}")
    return {name: (np.frombuffer(bytes.fromhex(values), "<f8"),) for name, values in json.loads(text).items()}


def encode(table: pa.Table) -> pa.Buffer:
    """The bytes of an Arrow file."""
    # Half the time of Parquet to write and a quarter to read: lists need no repetition levels. Most doubles
    # hardly shrink, others repeat: a fast LZ4 gives up early on the first ones and still packs the others.
    # The buffer has room for what LZ4 cannot pack: one that grows is copied, which takes a quarter of the time.
    room = _ROOM * (1 + table.num_columns) + 2 * table.schema.serialize().size  # the schema is at both ends
    buffer = pa.allocate_buffer(table.nbytes + table.nbytes // 100 + room)
    sink = pa.FixedSizeBufferWriter(buffer)
    options = pa.ipc.IpcWriteOptions(compression=pa.Codec("lz4", compression_level=_LZ4_LEVEL), use_threads=False)
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return buffer.slice(0, sink.tell())


def gather(parts: Sequence[pa.ChunkedArray], places: Sequence[Places], n: int) -> Column:
    """One column of ``n`` rows from parts, each of which has the rows at some places; together they have all rows."""
    arrays = [part.combine_chunks() for part in parts]
    if not pa.types.is_list(arrays[0].type):
        return _scatter([array.to_numpy(zero_copy_only=False) for array in arrays], places, n)
    lengths = _scatter([np.diff(array.offsets.to_numpy()).astype(np.int64) for array in arrays], places, n)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    values = [array.flatten().to_numpy(zero_copy_only=False) for array in arrays]
    return offsets, _scatter(values, [_of_lists(offsets, lengths, rows) for rows in places], int(offsets[-1]))


def _scatter(parts: Sequence[Array], places: Sequence[Places], n: int) -> Array:
    column = np.empty(n, dtype=parts[0].dtype)
    for rows, part in zip(places, parts, strict=True):
        column[rows] = part
    return column


def _of_lists(offsets: Array, lengths: Array, rows: Places) -> Places:
    """Where the values of some rows' lists are."""
    if isinstance(rows, slice):
        return slice(offsets[rows.start], offsets[rows.stop])
    counts = lengths[rows]
    ends = np.cumsum(counts)
    places: npt.NDArray[np.int64] = np.repeat(offsets[rows] - (ends - counts), counts) + np.arange(int(counts.sum()))
    return places


def _to_arrow(name: str, column: Column, start: int, stop: int) -> pa.Array:
    if not isinstance(column, tuple):
        return pa.array(column[start:stop])
    offsets, values = column  # type: ignore[misc]
    first, last = int(offsets[start]), int(offsets[stop])
    if last - first > _INT32_MAX:
        raise ValueError(f"{name}: at most {_INT32_MAX} values for {PART_PLAYERS} players, got {last - first}")
    inner = pa.array(values[first:last])
    kind = pa.list_(pa.field("item", inner.type, nullable=False))
    return pa.ListArray.from_arrays(pa.array((offsets[start : stop + 1] - first).astype(np.int32)), inner, type=kind)
