"""Handles and their dense int32 indices; append-only, so an index means one player for ever."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from storage import layout
from storage.errors import DamagedError
from storage.lake import Lake

__all__ = ["PlayerIndex", "read_handles", "write_handles"]


class PlayerIndex:
    """Handle to index; a handle not seen before gets the next one. Nothing is trimmed or folded."""

    def __init__(self, handles: pa.StringArray) -> None:
        self._index = _Numbering(zip(handles.to_pylist(), range(len(handles)), strict=True))

    def __len__(self) -> int:
        return len(self._index)

    def rows(self, handles: pa.StringArray) -> npt.NDArray[np.int32]:
        """Index of each handle, in order of first appearance where new."""
        return np.fromiter(map(self._index.__getitem__, handles.to_pylist()), np.int32, len(handles))

    def known(self, handles: Iterable[str]) -> list[int]:
        """Indices of those of ``handles`` that have one."""
        return [self._index[handle] for handle in handles if handle in self._index]

    def since(self, player: int) -> pa.StringArray:
        """Handles from index ``player`` on."""
        return pa.array(islice(self._index, player, None), pa.string(), size=len(self) - player)


def read_handles(lake: Lake, dataset: str, n_parts: int, n_players: int) -> pa.StringArray:
    """Handle of each of the ``n_players`` in the first ``n_parts`` parts.

    Raises
    ------
    DamagedError
        The parts do not hold the players 0, 1, 2, ...; names the part.
    """
    parts = []
    start = 0
    for number in range(n_parts):
        path = layout.players_file(dataset, number)
        table = lake.read_table(path, "players")
        stop = start + table.num_rows
        last = stop == n_players if number == n_parts - 1 else stop <= n_players
        if not (last and np.array_equal(table.column("player").to_numpy(), np.arange(start, stop))):
            raise DamagedError(
                f"{path}: does not hold the players from {start} on, of {n_players}; restore it or ingest again",
                path=path,
            )
        parts.extend(table.column("handle").chunks)
        start = stop
    return pa.concat_arrays(parts) if parts else pa.array([], pa.string())


def write_handles(lake: Lake, dataset: str, part: int, first_player: int, handles: pa.StringArray) -> None:
    """Write part number ``part``: ``handles`` of the players from ``first_player`` on."""
    players = np.arange(first_player, first_player + len(handles), dtype=np.int32)
    table = pa.table({"player": players, "handle": handles})
    lake.write_table(layout.players_file(dataset, part), table, "players")


class _Numbering(dict[str, int]):
    def __init__(self, pairs: Iterable[tuple[str, int]]) -> None:
        super().__init__(pairs)

    def __missing__(self, handle: str) -> int:
        number = self[handle] = len(self)
        return number
