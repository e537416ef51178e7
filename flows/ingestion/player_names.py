"""Handles for the players of sites that identify players by ids.

A player keeps the first handle in the data set, so a new name changes no contest. The new name becomes an alias, like a
manual one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ranklake.storage.datasets.ingest import Ingest

__all__ = ["PlayerNames"]


class PlayerNames:
    """Handles by id.

    Parameters
    ----------
    handles
        Handles in the data set, by id.
    aliases
        Aliases from earlier runs, by handle.
    current
        Current names at the site, by id.

    Attributes
    ----------
    handles, aliases : dict of str
        As given, with new ones added.
    """

    def __init__(self, handles: Mapping[str, str], aliases: Mapping[str, str], current: Mapping[str, str]) -> None:
        self.handles, self.aliases, self._current = dict(handles), dict(aliases), current
        self._owner = {handle: player for player, handle in self.handles.items()}
        self._owner.update((alias, self._owner[handle]) for handle, alias in self.aliases.items())

    def of(self, players: Iterable[str]) -> list[str]:
        """Handles of players; a new player gets the name at the site, or the id if there is none."""
        return [self.handles.get(player) or self._first(player) for player in players]

    def rename(self, adding: Ingest) -> None:
        """Add an alias for each new name; remove it when a player returns to the first name."""
        for player, handle in self.handles.items():
            name = self._current.get(player) or handle
            if self.aliases.get(handle, handle) in (name, _with_id(name, player)):
                continue
            alias = self._free(name, player)
            if alias == handle:
                adding.unalias(handle, "a name of old")
                del self.aliases[handle]
            else:
                adding.alias(handle, alias, why="a new name")
                self.aliases[handle] = alias
            self._owner[alias] = player

    def _first(self, player: str) -> str:
        handle = self._free(self._current.get(player) or player, player)
        self.handles[player], self._owner[handle] = handle, player
        return handle

    def _free(self, name: str, player: str) -> str:
        """The name, with the id appended if another player has it."""
        while self._owner.get(name, player) != player:
            name = _with_id(name, player)
        return name


def _with_id(name: str, player: str) -> str:
    return f"{name} ({player})"
