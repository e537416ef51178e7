"""The numbers of players: in order of the first match, as an ingest gives them, and under their current names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ranklake.rating_kernels.core.standings import Ints
from ranklake.storage.datasets.tables.aliases import Alias, turning_point

from .match import Match


class Players:
    """Handles and numbers of the players of a data set, with those of matches that it does not have yet.

    ``aliases``: in force, by old handle.
    ``turns``: of each of them, see :func:`.aliases.turning_point`.
    """

    def __init__(self, handles: Iterable[str], aliases: Mapping[str, Alias]) -> None:
        self.handles: list[str] = list(handles)
        self._numbers = dict(zip(self.handles, range(len(self.handles)), strict=True))
        self.turns = {old: turning_point(aliases, old) for old in aliases}

    def __len__(self) -> int:
        return len(self.handles)

    def find(self, handle: str) -> int | None:
        """The number of a player by its current name, or by an old one; None if there is none."""
        turn = self.turns.get(handle)
        return self._numbers.get(handle if turn is None else turn[2])

    def is_new(self, handle: str) -> bool:
        """Whether no player has this handle, and none had."""
        return handle not in self._numbers

    def same(self, match: Match) -> str | None:
        """A handle of a player who has another handle of the match, too, by an alias; None if there is none."""
        seen: set[str] = set()
        for side in match.sides:
            for handle in side.players:
                turn = self.turns.get(handle)
                names = {handle} if turn is None else set(turn[1:])  # also the player before a renaming
                if names & seen:
                    return handle
                seen |= names
        return None

    def rows(self, handles: Sequence[str], times: Sequence[int] = ()) -> Ints:
        """The numbers of the players of some rows; a new handle gets the next one.

        ``times``: of the match of each row, UTC seconds; needed where handles have aliases.
        """
        numbers = self._numbers
        try:
            found = [numbers[handle] for handle in handles]
        except KeyError:
            found = [self._number(handle) for handle in handles]
        if self.turns:
            for at, handle in enumerate(handles):
                if (turn := self.turns.get(handle)) is not None:
                    found[at] = self._number(turn[1] if times[at] < turn[0] else turn[2])
        return np.array(found, np.int32)

    def _number(self, handle: str) -> int:
        number = self._numbers.get(handle)
        if number is None:
            number = self._numbers[handle] = len(self.handles)
            self.handles.append(handle)
        return number
