"""What players are called whom their site knows by an id.

A player keeps the handle that the data set first had for them: contests never change because somebody changed a name.
The new name is an alias that counts, as if it had been given by hand.
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
        By id, as the data set has them.
    aliases
        By handle, as they were given here.
    current
        What the site calls them now, by id.

    Attributes
    ----------
    handles, aliases : dict of str
        The same, with what came since.
    """

    def __init__(self, handles: Mapping[str, str], aliases: Mapping[str, str], current: Mapping[str, str]) -> None:
        self.handles, self.aliases, self._current = dict(handles), dict(aliases), current
        self._owner = {handle: player for player, handle in self.handles.items()}
        self._owner.update((alias, self._owner[handle]) for handle, alias in self.aliases.items())

    def of(self, players: Iterable[str]) -> list[str]:
        """Handles of players; one who is new gets their name, or the id if the site has none."""
        return [self.handles.get(player) or self._first(player) for player in players]

    def rename(self, adding: Ingest) -> None:
        """Give those who have a new name an alias, and take it back from those who have their first one again."""
        for player, handle in self.handles.items():
            name = self._current.get(player) or handle
            if self.aliases.get(handle, handle) in (name, _with_id(name, player)):
                continue
            told = self._free(name, player)
            if told == handle:
                adding.unalias(handle, "a name of old")
                del self.aliases[handle]
            else:
                adding.alias(handle, told, why="a new name")
                self.aliases[handle] = told
            self._owner[told] = player

    def _first(self, player: str) -> str:
        handle = self._free(self._current.get(player) or player, player)
        self.handles[player], self._owner[handle] = handle, player
        return handle

    def _free(self, name: str, player: str) -> str:
        """A name nobody else has: with the id, if need be."""
        while self._owner.get(name, player) != player:
            name = _with_id(name, player)
        return name


def _with_id(name: str, player: str) -> str:
    return f"{name} ({player})"
