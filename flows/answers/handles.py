"""Handles and old names of players, and their rows in the leaderboard."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import pyarrow as pa

from ranklake.storage.datasets.tables.aliases import Alias, turning_point
from ranklake.storage.names.hints import hint


class NoPlayerError(LookupError):
    """There is no player with a handle.

    ``near``: similar handles of players that exist; searched when it is first read, which takes up to a second.
    """

    def __init__(self, handle: str, find_near: Callable[[str], list[str]]) -> None:
        super().__init__(handle)
        self.handle, self._find_near = handle, find_near

    @cached_property
    def near(self) -> list[str]:
        return self._find_near(self.handle)

    def __str__(self) -> str:
        return f"no player {self.handle!r}{hint(self.handle, self.near)}"


class Handles:
    """Handles by row of the leaderboard, rows by handle or old name; ``near`` finds similar handles, for errors."""

    def __init__(self, board: pa.Table, aliases: pa.Table, near: Callable[[str], list[str]]) -> None:
        self._handles = board.column("handle")
        self._players = board.column("player")
        self._row = {handle: row for row, handle in enumerate(self._handles.to_pylist())}
        self._aliases = {row["handle"]: Alias(row["new"], row["since_seconds"]) for row in aliases.to_pylist()}
        self._near = near

    def __len__(self) -> int:
        return len(self._row)

    def __contains__(self, handle: object) -> bool:
        """Whether a player has this handle now."""
        return handle in self._row

    def row(self, handle: str) -> int:
        """Row of the player with a handle or an old name; raises ``NoPlayerError`` if there is none."""
        _, before, after = turning_point(self._aliases, handle)
        for name in (handle, after, before):
            if name in self._row:
                return self._row[name]
        raise NoPlayerError(handle, self._near)

    def handle(self, row: int) -> str:
        """The handle in a row."""
        return str(self._handles[row].as_py())

    def player(self, row: int) -> int:
        """The index of the player in a row."""
        return int(self._players[row].as_py())
