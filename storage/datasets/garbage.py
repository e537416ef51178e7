"""The files of a data set: their commit, and the deletion of files without a reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Literal

import pyarrow as pa

from ..lake import layout, parquet
from ..lake.access.lake import Lake
from ..lake.errors import LakeError
from ..lake.parquet import metadata_of
from .tables.shards import read_contests, shards_of

# Metadata of a table of contests: which files belong to it beside the standings
METADATA_KEYS = ("player_parts", "n_players", "log", "events", "epoch", "kind")
_REPLACED = "replaced"
_PARTS: tuple[Literal["log", "events"], ...] = ("log", "events")  # of one file each


def referenced(name: str, files: Iterable[str], metadata: Mapping[str, str]) -> set[str]:
    """Paths of all files of a data set whose table of contests has these standings ``files`` and these metadata."""
    paths = {layout.contests_file(name)} | {layout.dataset_file(name, "standings", file) for file in set(files)}
    paths |= {layout.dataset_file(name, "contests", file) for file in shards_of(metadata)}
    paths |= {layout.dataset_file(name, "players", part) for part in metadata.get("player_parts", "").split()}
    return paths | {layout.dataset_file(name, part, metadata[part]) for part in _PARTS if part in metadata}


def replaced(before: Iterable[str], after: Iterable[str]) -> dict[str, str]:
    """Metadata of a table of contests that list the replaced files that stay for readers; empty if there are none."""
    n_files = len(set(before) - set(after))
    return {_REPLACED: str(n_files)} if n_files else {}


def n_replaced(metadata: Mapping[str, str]) -> int:
    """Number of files that the newest commit replaced. They stay until the next commit."""
    return int(metadata.get(_REPLACED, 0))


def commit(lake: Lake, name: str, contests: pa.Table, metadata: Mapping[str, str], version: str) -> None:
    """Replace the ``version`` of the root by these ``contests``; the files that they name are written.

    Raises LeaseHeldError: another process took over; nothing was replaced.
    """
    path = layout.contests_file(name)
    data = parquet.encode(contests, "contests", metadata)
    lake.check_lease()
    lake.replace_bytes(path, data, version)


def discard(lake: Lake, name: str, written: Iterable[str]) -> None:
    """Delete the files of a failed ingest, except committed ones: a commit may succeed and yet raise."""
    # Files that cannot be read or deleted now are harmless; the next ingest deletes them. A writer that lost its lease
    # must not delete anything: its successor may be about to commit the same files.
    with suppress(LakeError):
        lake.check_lease()
        table, _ = read_contests(lake, name, ["file"])
        committed = set()
        if table is not None:
            committed = referenced(name, table.column("file").to_pylist(), metadata_of(table.schema))
        for path in reversed(list(written)):
            if path not in committed:
                lake.delete(path)


def collect_garbage(lake: Lake, name: str, kept: set[str]) -> None:
    """Delete the files of a data set that are not among the paths ``kept``."""
    # The data are committed: errors of this deletion are ignored.
    with suppress(LakeError):
        for path in unreferenced(lake, name, kept):
            lake.check_lease()  # after the listing: it has no file of a successor
            lake.delete(path)


def unreferenced(lake: Lake, name: str, kept: set[str]) -> list[str]:
    """Files of a data set that are not among the paths ``kept``."""
    folders = [layout.dataset_folder(name, part) for part in ("standings", "players", "contests", "log", "events")]
    paths = (f"{folder}/{file}" for folder in folders for file in lake.list(folder))
    return [path for path in paths if path not in kept]
