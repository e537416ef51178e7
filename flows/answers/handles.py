"""Handles and old names of players, and their rows in the leaderboard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from ranklake.storage.datasets.tables.aliases import Alias, turning_point
from ranklake.storage.names.hints import hint
from ranklake.storage.names.lists import split_handles

MOST_SEARCHED = 5  # unknown handles with similar ones


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
    """Handles by row of the leaderboard, rows by handle or old name.

    ``near``: finds similar handles, for errors.
    ``alike``: finds the rows of handles that differ by case, Unicode form or blanks, the best rating first.
    """

    def __init__(
        self, board: pa.Table, aliases: pa.Table, near: Callable[[str], list[str]], alike: Callable[[str], list[int]]
    ) -> None:
        self._handles = board.column("handle")
        self._players = board.column("player")
        self._row = {handle: row for row, handle in enumerate(self._handles.to_pylist())}
        self._aliases = {row["handle"]: Alias(row["new"], row["since_seconds"]) for row in aliases.to_pylist()}
        self._near, self._alike = near, alike

    def __len__(self) -> int:
        return len(self._row)

    def __contains__(self, handle: object) -> bool:
        """Whether a player has this handle now."""
        return handle in self._row

    def row(self, handle: str) -> int:
        """Row of the player with a handle or an old name, else with the best handle that is nearly equal.

        Raises ``NoPlayerError`` if there is none.
        """
        _, before, after = turning_point(self._aliases, handle)
        for name in (handle, after, before):
            if name in self._row:
                return self._row[name]
        for row in self._alike(handle):
            return row
        raise self.missing(handle)

    def missing(self, handle: str) -> NoPlayerError:
        """The error about a handle that no player has."""
        return NoPlayerError(handle, self._near)

    def known(self, handles: Iterable[str]) -> tuple[list[int], list[dict[str, Any]]]:
        """The row of each player, once, and of each unknown handle the name ``requested`` and those ``near`` it.

        Similar handles are searched for the first :data:`MOST_SEARCHED` unknown ones only.
        """
        rows: dict[int, None] = {}
        unknown: list[dict[str, Any]] = []
        for handle in dict.fromkeys(handles):
            try:
                rows[self.row(handle)] = None
            except NoPlayerError as error:
                unknown.append({"requested": handle, "near": error.near if len(unknown) < MOST_SEARCHED else []})
        return list(rows), unknown

    def listed(self, texts: Sequence[str]) -> list[str]:
        """The handles of a list, each once: of one text with commas between them, or of several texts with one each.

        A text that is the handle of a player is one, with or without commas. Others may be in quotation marks.
        """
        if len(texts) != 1 or texts[0] in self._row:
            return list(dict.fromkeys(texts))
        return list(dict.fromkeys(map(self._unquoted, split_handles(texts[0]))))

    def _unquoted(self, handle: str) -> str:
        quoted = len(handle) > 1 and handle[0] == handle[-1] == '"' and handle not in self._row
        return handle[1:-1].replace('""', '"') if quoted else handle

    def current(self, handle: str) -> str | None:
        """The current handle of the player with a handle or an old name; None without one."""
        try:
            return self.handle(self.row(handle))
        except NoPlayerError:
            return None

    def handle(self, row: int) -> str:
        """The handle in a row."""
        return str(self._handles[row].as_py())

    def player(self, row: int) -> int:
        """The index of the player in a row."""
        return int(self._players[row].as_py())
