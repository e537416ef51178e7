"""Handles and their dense int32 indices; append-only, so an index always belongs to the same player."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ...lake import layout, parquet
from ...lake.access.lake import Lake, digest_of
from ...lake.remedies import damaged


def read_handles(lake: Lake, dataset: str, files: Sequence[str], n_players: int) -> pa.StringArray:
    """Handle of each of the ``n_players`` in the parts ``files``.

    Raises MissingError, DamagedError: a part is missing, or the parts do not hold the players 0, 1, 2, ...; names the
    part.
    """
    parts = []
    start = 0
    paths = [layout.dataset_file(dataset, "players", file) for file in files]
    for path, data in zip(paths, lake.read_many(paths), strict=True):
        if digest_of(data) not in path:
            raise damaged(path, "does not match the digest in its name")
        table = parquet.decode(data, "players", path)
        stop = start + table.num_rows
        last = stop == n_players if path == paths[-1] else stop <= n_players
        if not (last and table.column("player").equals(_numbers(start, stop))):
            raise damaged(path, f"does not hold the players from {start} on, of {n_players}")
        parts.extend(table.column("handle").chunks)
        start = stop
    return pa.concat_arrays(parts) if parts else pa.array([], pa.string())


def one_handle(handle: str) -> pa.StringArray:
    """An array of one handle, made from its bytes: ``pa.array`` and ``pa.scalar`` import pandas, which takes long."""
    data = handle.encode()
    return pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, len(data)], np.int32)), pa.py_buffer(data))


def encode_handles(first_player: int, handles: pa.StringArray, epoch: int = 0) -> tuple[str, pa.Buffer]:
    """File name and bytes of a part: ``handles`` of the players from ``first_player`` on.

    The name contains a digest of the bytes, so no writer replaces a part by other players. ``epoch`` is that of the
    data set, see ``ranklake.storage.leases.roots``.
    """
    players = np.arange(first_player, first_player + len(handles), dtype=np.int32)
    data = parquet.encode(pa.table({"player": players, "handle": handles}), "players")
    return f"{layout.numbered(first_player)}-{digest_of(data)}{layout.epoch_suffix(epoch)}.parquet", data


def parts_that_stay(files: Sequence[str], n_players: int, part_players: int) -> tuple[list[str], int]:
    """Parts that are not merged into a new part, and the first player of the new part.

    Small parts are merged into it, so that the number of parts stays small after many small ingests.
    """
    stay, first = list(files), n_players
    while stay and n_players - (start := int(stay[-1].partition("-")[0])) < part_players:
        stay.pop()
        first = start
    return stay, first


def _numbers(start: int, stop: int) -> pa.ChunkedArray:
    """The numbers from ``start`` to ``stop``; made as in :func:`one_handle`."""
    data = pa.py_buffer(np.arange(start, stop, dtype=np.int32))
    return pa.chunked_array([pa.Array.from_buffers(pa.int32(), stop - start, [None, data])])
