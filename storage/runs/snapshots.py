"""Snapshots: arrays with one entry, or one list of entries, a player; bit for bit, in Arrow files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..lake.access.lake import Lake, digest_of
from ..lake.errors import DamagedError, LakeError
from ..lake.json_files import decode
from ..lake.parquet import arrow_buffer
from ..lake.remedies import damaged
from ..lake.schemas import FORMAT_VERSION
from ..leases.fence import Writer

__all__ = ["SNAPSHOT_MANIFEST", "Column", "read_digest", "read_snapshot", "snapshots_to_remove", "write_snapshot"]

Array: TypeAlias = npt.NDArray[Any]
Column: TypeAlias = Array | tuple[Array, Array]  # one value a player; or offsets[n + 1] and values, a list a player

SNAPSHOT_MANIFEST = "manifest.json"

_PART_PLAYERS = 1 << 16
_ROOM = 1 << 14  # bytes of an encoded part beside its values: for the schema, and for each column
_AT_ONCE = 2  # parts: encoding and hashing take longer than writing
_NEWEST = 2  # newest snapshots that always stay: if one is damaged, the other is close to it
_INT32_MAX = np.iinfo(np.int32).max


class _Part(msgspec.Struct, frozen=True):
    """A file with some of the players: how many, its bytes, and their BLAKE2b-128 in hex."""

    rows: int
    size: int
    digest: str


class _Manifest(msgspec.Struct, frozen=True, tag_field="format", tag=FORMAT_VERSION):
    """The manifest of a snapshot; its JSON has this order of keys.

    Raises
    ------
    ValueError
        The parts do not hold ``n_players``.
    """

    last_round: int
    digest: str
    n_players: int
    parts: list[_Part]

    def __post_init__(self) -> None:
        if not self.parts or sum(part.rows for part in self.parts) != self.n_players:
            raise ValueError("n_players is not the sum of the rows of its parts")


def write_snapshot(
    lake: Lake,
    folder: str,
    last_round: int,
    columns: Mapping[str, Column],
    digest: str,
    writer: Writer | None = None,
) -> None:
    """Write every player's belief after ``last_round``: parts first, manifest last.

    Parameters
    ----------
    columns
        By name, an array with one entry a player, or the offsets and values of a list a player.
    digest
        Chain digest after ``last_round``, hex.
    writer
        The lease under which it is written; None if no other process writes.

    Raises
    ------
    ValueError
        There are no columns, or they are not of one length.
    """
    lengths = {
        name: len(column[0]) - 1 if isinstance(column, tuple) else len(column) for name, column in columns.items()
    }
    if len(set(lengths.values())) != 1:
        raise ValueError(f"a snapshot needs columns of one length, got {lengths}")
    n_players = next(iter(lengths.values()))

    writer = writer or lake
    if lake.exists(folder):
        # The old manifest is deleted first: it must not be valid beside new parts.
        writer.delete(f"{folder}/{SNAPSHOT_MANIFEST}")
        writer.delete_folder(folder)

    def write(number: int) -> _Part:
        start = number * _PART_PLAYERS
        stop = min(start + _PART_PLAYERS, n_players)
        arrays = {name: _to_arrow(name, column, start, stop) for name, column in columns.items()}
        fields = [pa.field(name, array.type, nullable=False) for name, array in arrays.items()]
        table = pa.Table.from_arrays(list(arrays.values()), schema=pa.schema(fields))
        data = _encode(table)
        writer.write_bytes(f"{folder}/{_part_name(number)}", data)
        return _Part(stop - start, data.size, digest_of(data))

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="ranklake-snapshot") as writers:
        parts = list(writers.map(write, range(max(-(-n_players // _PART_PLAYERS), 1))))
    manifest = msgspec.to_builtins(_Manifest(last_round, digest, n_players, parts))
    writer.write_bytes(f"{folder}/{SNAPSHOT_MANIFEST}", json.dumps(manifest, allow_nan=False).encode())


def read_snapshot(
    lake: Lake, folder: str, last_round: int, players: Array | None = None
) -> tuple[dict[str, Column], str]:
    """The columns of a snapshot as they were written, offsets as int64 from 0, and its chain digest.

    Parameters
    ----------
    players
        Read the rows of these players only: distinct, ascending, below the number of players of the snapshot. All files
        are read and checked; this saves the memory and the time of the other rows.

    Raises
    ------
    MissingError
        The snapshot does not exist.
    DamagedError
        One of its files is missing or has changed.
    FormatError
        The snapshot is of another format.
    """
    manifest = _read_manifest(lake, folder)
    if manifest.last_round != last_round:
        raise _damaged(folder, f"its manifest is of round {manifest.last_round}")
    first = np.cumsum([0, *(part.rows for part in manifest.parts)])

    def read(number: int) -> pa.Table:
        table = _read_part_name(lake, folder, number, manifest.parts[number])
        if players is None:
            return table
        start, stop = np.searchsorted(players, first[number : number + 2])
        return table.take(pa.array(players[start:stop] - first[number]))

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="ranklake-snapshot") as readers:
        tables = list(readers.map(read, range(len(manifest.parts))))
    names = tables[0].column_names
    return {name: _to_numpy([table.column(name) for table in tables]) for name in names}, manifest.digest


def read_digest(lake: Lake, folder: str) -> str:
    """The chain digest of a snapshot, from its manifest alone.

    Raises
    ------
    MissingError, DamagedError, FormatError
        As for :func:`read_snapshot`.
    """
    return _read_manifest(lake, folder).digest


def snapshots_to_remove(positions: Sequence[int], keep: int, gap: int = 0) -> list[int]:
    """Select snapshots to delete, so that the others are spread evenly; the newest stay.

    Parameters
    ----------
    positions
        Amount of history before each snapshot, ascending.
    keep
        Maximum number of snapshots that stay.
    gap
        A snapshot is also deleted if its neighbours are at most this far apart.

    Returns
    -------
    list of int
        Indices into ``positions``, the least useful first.
    """
    if keep < _NEWEST:
        return list(range(len(positions) - keep))
    kept, removed = list(range(len(positions))), []
    while len(kept) > _NEWEST:
        before = [0, *(positions[index] for index in kept)]
        # The distance between the neighbours of each snapshot.
        apart = [positions[kept[i + 1]] - before[i] for i in range(len(kept) - _NEWEST)]
        least = min(range(len(apart)), key=apart.__getitem__)
        if len(kept) <= keep and apart[least] > gap:
            break
        removed.append(kept.pop(least))
    return removed


def _read_manifest(lake: Lake, folder: str) -> _Manifest:
    path = f"{folder}/{SNAPSHOT_MANIFEST}"
    return decode(_Manifest, lake.read_bytes(path), path)


def _read_part_name(lake: Lake, folder: str, number: int, part: _Part) -> pa.Table:
    name = _part_name(number)
    try:
        data = lake.read_bytes(f"{folder}/{name}")
    except LakeError as error:
        raise _damaged(folder, f"{name} cannot be read") from error
    if (len(data), digest_of(data)) != (part.size, part.digest):
        raise _damaged(folder, f"{name} does not match its manifest")
    table = pa.ipc.open_file(pa.BufferReader(arrow_buffer(data))).read_all()
    if table.num_rows != part.rows:
        raise _damaged(folder, f"{name} has {table.num_rows} players, its manifest records {part.rows}")
    return table


def _damaged(folder: str, reason: str) -> DamagedError:
    return damaged(folder, f"damaged snapshot, {reason}")


def _part_name(number: int) -> str:
    return f"part-{number:04d}.arrow"


def _encode(table: pa.Table) -> pa.Buffer:
    # Half the time of Parquet to write and a quarter to read: lists need no repetition levels. The doubles hardly
    # shrink; LZ4 skips them at the speed of no compression and still packs repeated values.
    # The buffer has room for what LZ4 cannot pack: one that grows is copied, which takes a quarter of the time.
    buffer = pa.allocate_buffer(table.nbytes + table.nbytes // 100 + _ROOM * (1 + table.num_columns))
    sink = pa.FixedSizeBufferWriter(buffer)
    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return buffer.slice(0, sink.tell())


def _to_arrow(name: str, column: Column, start: int, stop: int) -> pa.Array:
    if not isinstance(column, tuple):
        return pa.array(column[start:stop])
    offsets, values = column
    first, last = int(offsets[start]), int(offsets[stop])
    if last - first > _INT32_MAX:
        raise ValueError(f"{name}: at most {_INT32_MAX} values for {_PART_PLAYERS} players, got {last - first}")
    inner = pa.array(values[first:last])
    kind = pa.list_(pa.field("item", inner.type, nullable=False))
    return pa.ListArray.from_arrays(pa.array((offsets[start : stop + 1] - first).astype(np.int32)), inner, type=kind)


def _to_numpy(parts: list[pa.ChunkedArray]) -> Column:
    arrays = [part.combine_chunks() for part in parts]
    if not pa.types.is_list(arrays[0].type):
        return np.concatenate([array.to_numpy(zero_copy_only=False) for array in arrays])
    lengths = np.concatenate([np.diff(array.offsets.to_numpy()) for array in arrays])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    return offsets, np.concatenate([array.flatten().to_numpy(zero_copy_only=False) for array in arrays])
