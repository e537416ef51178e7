"""The players of resets by attributes, recorded with the run that applied them.

A reset acts on the players who have an attribute when the run first rates past it. They are recorded beside the
ratings at entry, so that a later change of attributes changes no rating. A file is written before the manifest of the
rounds after the reset and never changed. Its name is the number of the event and the digest of its bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from ..lake import layout, parquet
from ..lake.access.lake import Lake, digest_of
from ..lake.remedies import damaged
from ..lake.schemas import RESET_PLAYERS

PREFIX = "reset-"
_NAME = re.compile(rf"{PREFIX}([0-9]+)-([0-9a-f]+)\.parquet")


def reset_files(lake: Lake, folder: str) -> dict[int, str]:
    """The file of each event, by its number; the first one of two of the same event."""
    found = [(match, name) for name in sorted(lake.list(folder), reverse=True) if (match := _NAME.fullmatch(name))]
    return {int(match[1]): name for match, name in found}


def read_reset_file(lake: Lake, folder: str, name: str) -> list[str]:
    """The handles in a file, sorted.

    Raises MissingError, DamagedError: the file does not exist, or does not match the digest in its name.
    """
    path = f"{folder}/{name}"
    data, match = lake.read_bytes(path), _NAME.fullmatch(name)
    if match is None or match[2] != digest_of(data):
        raise damaged(path, "does not match the digest in its name")
    handles: list[str] = parquet.decode(data, "reset_players", path).column("handle").to_pylist()
    return handles


def write_reset_file(lake: Lake, folder: str, event_id: int, handles: Sequence[str]) -> None:
    """Record the players of an event; ``handles`` are sorted."""
    data = parquet.encode(pa.table([pa.array(handles, pa.string())], schema=RESET_PLAYERS), "reset_players")
    name = f"{PREFIX}{layout.numbered(event_id)}-{digest_of(data)}.parquet"
    lake.commit_bytes(f"{folder}/{name}", data)  # readers list the folder: no manifest names it
