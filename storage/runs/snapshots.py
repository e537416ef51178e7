"""Snapshots: every player's belief after a round, in parts; the manifest, written last, is the commit.

A snapshot of format 1 is written by one process: its parts have the players in order. The parts of format 2 are
written by several processes, each with the players that it holds (:mod:`.worker_parts`): a part has their numbers as a
column, and a digest of its bytes as its name. What is read does not depend on the format or the number of processes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..lake.access.lake import Lake, digest_of
from ..lake.errors import DamagedError, LakeError
from ..lake.json_files import decode
from ..lake.parquet import arrow_buffer
from ..lake.prefetch import prefetch
from ..lake.remedies import damaged
from ..lake.schemas import FORMAT_VERSION
from .snapshot_columns import PART_PLAYERS, Column, Places, encode, gather, is_shared, read_shared, to_table

SNAPSHOT_MANIFEST = "manifest.json"
PARTITIONED_FORMAT = 2  # releases before it would take the rows of the parts for players in order
PLAYER = "player"  # the column of players' numbers

_AT_ONCE = 2  # parts: encoding and hashing take longer than writing
_NEWEST = 2  # newest snapshots that always stay: if one is damaged, the other is close to it


class Part(msgspec.Struct, frozen=True):
    """A file with some of the players: how many, its bytes, and their BLAKE2b-128 in hex."""

    rows: int
    size: int
    digest: str


class EncodedPart(NamedTuple):
    """The bytes of a part with some of the players, and their BLAKE2b-128 in hex."""

    rows: int
    data: pa.Buffer
    digest: str


class _Manifest(msgspec.Struct, frozen=True):
    """The manifest of a snapshot; its JSON has this order of keys.

    Raises ValueError: the parts do not hold ``n_players``.
    """

    format: int
    last_round: int
    digest: str
    n_players: int
    parts: list[Part]

    def __post_init__(self) -> None:
        if not self.parts or sum(part.rows for part in self.parts) != self.n_players:
            raise ValueError("n_players is not the sum of the rows of its parts")

    def file(self, number: int) -> str:
        """Name of a part."""
        return part_file(self.parts[number]) if self.format == PARTITIONED_FORMAT else _part_name(number)


def encode_parts(columns: Mapping[str, Column]) -> Iterator[EncodedPart]:
    """The parts of a snapshot, with the players in order, encoded while earlier ones are written.

    ``columns``: by name, an array with one entry a player, the offsets and values of a list a player, or a tuple of one
    array that all players share.
    Raises ValueError: there are no columns, or they are not of one length.
    """
    lengths = {
        name: len(column[0]) - 1 if isinstance(column, tuple) else len(column)
        for name, column in columns.items()
        if not is_shared(column)
    }
    if len(set(lengths.values())) != 1:
        raise ValueError(f"a snapshot needs columns of one length, got {lengths}")
    n_players = next(iter(lengths.values()))

    def encoded(start: int) -> EncodedPart:
        return encode_part(columns, start, min(start + PART_PLAYERS, n_players))

    starts = range(0, max(n_players, 1), PART_PLAYERS)
    return prefetch(encoded, starts, _AT_ONCE, _AT_ONCE, "ranklake-snapshot")


def encode_part(columns: Mapping[str, Column], start: int, stop: int) -> EncodedPart:
    """Rows ``start`` to ``stop`` of columns as a part of a snapshot."""
    data = encode(to_table(columns, start, stop))
    return EncodedPart(stop - start, data, digest_of(data))


def write_snapshot(lake: Lake, folder: str, last_round: int, parts: Iterable[EncodedPart], digest: str) -> None:
    """Write every player's belief after ``last_round``: parts with the players in order first, the manifest last.

    ``digest``: chain digest after ``last_round``, hex.
    """
    clear_snapshot(lake, folder)
    written = []
    for number, part in enumerate(parts):
        lake.write_bytes(f"{folder}/{_part_name(number)}", part.data)
        written.append(Part(part.rows, part.data.size, part.digest))
    commit_parts(lake, folder, last_round, written, digest, FORMAT_VERSION)


def commit_parts(
    lake: Lake, folder: str, last_round: int, parts: Sequence[Part], digest: str, version: int = PARTITIONED_FORMAT
) -> None:
    """Commit a snapshot whose parts are written and named by :func:`part_file`; they have all players."""
    manifest = _Manifest(version, last_round, digest, sum(part.rows for part in parts), list(parts))
    content = json.dumps(msgspec.to_builtins(manifest), allow_nan=False)
    lake.commit_bytes(f"{folder}/{SNAPSHOT_MANIFEST}", content.encode())


def clear_snapshot(lake: Lake, folder: str) -> None:
    """Delete a snapshot, complete or not; does nothing if there is none."""
    if lake.exists(folder):
        # The old manifest is deleted first: it must not be valid beside new parts.
        lake.delete(f"{folder}/{SNAPSHOT_MANIFEST}")
        lake.delete_folder(folder)


def part_file(part: Part) -> str:
    """Name of a part that has the numbers of its players."""
    return f"part-{part.digest}.arrow"


def read_snapshot(
    lake: Lake, folder: str, last_round: int, players: npt.NDArray[Any] | None = None
) -> tuple[dict[str, Column], str]:
    """The columns of a snapshot as they were written, offsets as int64 from 0, and its chain digest.

    ``players``: read the rows of these players only: distinct, ascending. Those beyond the players of the snapshot are
    left out. All files are read and checked; this saves the memory and the time of the other rows.
    Raises MissingError: the snapshot does not exist.
    Raises DamagedError: one of its files is missing or has changed, or the parts do not have each player once.
    Raises FormatError: the snapshot is of another format.
    """
    manifest = _read_manifest(lake, folder)
    if manifest.last_round != last_round:
        raise _damaged(folder, f"its manifest is of round {manifest.last_round}")
    first = np.cumsum([0, *(part.rows for part in manifest.parts)])
    n_rows = manifest.n_players if players is None else int(np.searchsorted(players, manifest.n_players))

    def read(number: int) -> tuple[pa.Table, Places]:
        table = _read_part(lake, folder, manifest, number)
        if manifest.format == PARTITIONED_FORMAT:
            return _rows_of_players(table, players, folder)
        start, stop = first[number : number + 2].tolist()
        if players is None:
            return table, slice(start, stop)
        places = slice(*np.searchsorted(players, [start, stop]).tolist())
        return table.take(pa.array(players[places] - start)), places

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="ranklake-snapshot") as readers:
        tables, places = zip(*readers.map(read, range(len(manifest.parts))), strict=True)
    if manifest.format == PARTITIONED_FORMAT:
        known = np.concatenate(places)
        if len(known) != n_rows or not np.array_equal(np.bincount(known, minlength=n_rows), np.ones(n_rows)):
            raise _damaged(folder, "its parts do not have each player once")
    if any(table.schema.metadata != tables[0].schema.metadata for table in tables):
        raise _damaged(folder, "its parts differ in what all players share")
    names = tables[0].column_names
    columns = {name: gather([table.column(name) for table in tables], places, n_rows) for name in names}
    return columns | read_shared(tables[0]), manifest.digest


def read_digest(lake: Lake, folder: str) -> str:
    """The chain digest of a snapshot, from its manifest alone.

    Raises MissingError, DamagedError, FormatError: as for :func:`read_snapshot`.
    """
    return _read_manifest(lake, folder).digest


def snapshots_to_remove(positions: Sequence[int], keep: int, gap: int = 0) -> list[int]:
    """Select snapshots to delete, so that the others are spread evenly; the newest stay.

    ``positions``: amount of history before each snapshot, ascending.
    ``keep``: maximum number of snapshots that stay.
    ``gap``: a snapshot is also deleted if its neighbours are at most this far apart.
    Returns list of int: indices into ``positions``, the least useful first.
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
    return decode(_Manifest, lake.read_bytes(path), path, newest=PARTITIONED_FORMAT)


def _read_part(lake: Lake, folder: str, manifest: _Manifest, number: int) -> pa.Table:
    part, name = manifest.parts[number], manifest.file(number)
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


def _rows_of_players(
    table: pa.Table, players: npt.NDArray[Any] | None, folder: str
) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """The rows of some players, or all, without their numbers, and their places among these players."""
    if PLAYER not in table.column_names:
        raise _damaged(folder, "a part has no players")
    held = table.column(PLAYER).to_numpy().astype(np.int64)
    table = table.drop_columns(PLAYER)
    if players is None:
        return table, held
    places = np.searchsorted(players, held)
    rows = np.flatnonzero(np.append(players, -1)[places] == held)
    return table.take(pa.array(rows)), places[rows]


def _damaged(folder: str, reason: str) -> DamagedError:
    return damaged(folder, f"damaged snapshot, {reason}")


def _part_name(number: int) -> str:
    return f"part-{number:04d}.arrow"
