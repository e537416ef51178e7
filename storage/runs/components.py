"""Who met whom until a round: a file beside the parts of a snapshot, from which later rounds continue.

The file is no part of the snapshot: without it, or with a damaged one, all rounds are read again. It belongs to the
rounds of the chain digest that it records, and to no others.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..lake.access.lake import Lake
from ..lake.errors import MissingError

FILE = "components.arrow"

Ints = npt.NDArray[np.int32]


class Meetings(NamedTuple):
    """Who met whom until a round.

    ``roots`` (int32[n]): the least index of the players who met each player, even through others.
    ``n_rounds`` (int32[n]): rounds that rated each player.
    """

    roots: Ints
    n_rounds: Ints


def encode_meetings(found: Meetings, digest: str) -> bytes:
    """The bytes of the file; ``digest`` is the chain digest after the last round."""
    schema = pa.schema([pa.field(name, pa.int32(), nullable=False) for name in Meetings._fields])
    metadata = {"digest": digest, "checksum": _checksum(found, digest)}
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema.with_metadata(metadata)) as writer:
        writer.write(pa.record_batch([pa.array(values) for values in found], schema=schema))
    return bytes(sink.getvalue())


def read_meetings(lake: Lake, folder: str, digest: str) -> Meetings | None:
    """Who met whom until the snapshot in ``folder``; None unless a whole file of the chain digest is there."""
    try:
        with pa.ipc.open_file(lake.read_bytes(f"{folder}/{FILE}")) as file:
            table, metadata = file.read_all(), file.schema.metadata or {}
        found = Meetings(*(table.column(name).to_numpy() for name in Meetings._fields))
    except (MissingError, pa.ArrowException, KeyError, OSError):
        return None
    whole = metadata.get(b"checksum") == _checksum(found, digest).encode()
    return found if whole else None


def _checksum(found: Meetings, digest: str) -> str:
    """A digest of the columns and of the rounds that they belong to."""
    made = blake2b(digest.encode(), digest_size=16)
    for values in found:
        made.update(np.ascontiguousarray(values).data)
    return made.hexdigest()
