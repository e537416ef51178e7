"""Corrections by hand of a data set that is being changed."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from ..lake.errors import MissingError
from ..lake.lake import Lake
from .aliases import Alias, check_alias
from .corrections import Corrections
from .log import Entry, Log
from .players import PlayerIndex
from .recompute import contests_at, contests_with, recompute, renamed
from .rows import Row, table_of
from .standings import StoredStandings

__all__ = ["CorrectionEditor"]


class CorrectionEditor:
    """The part of an ingest that people use by hand, and sources that know of new names.

    Attributes
    ----------
    removed : list of str
        Contests that were taken out; those that a mirror takes out are known at the end.
    recomputed : int
        How many contests corrections changed that the source did not; known at the end.
    """

    def __init__(self, lake: Lake, name: str, rows: dict[str, Row], players: PlayerIndex, log: Iterable[Entry]) -> None:
        self.removed: list[str] = []
        self.recomputed = 0
        self._lake, self._name = lake, name
        self._rows, self._players, self._log = rows, players, Log(log)
        self._aliases_before = dict(self._log.aliases)
        self._added: dict[str, None] = {}  # by a source, in its order
        self._touched: dict[str, list[str]] = {}  # contests that corrections may change: who must stand in them
        self._changed = False

    def remove(self, contest_id: str, why: str = "") -> None:
        """Take a contest out; a source that still has it brings it back.

        Raises
        ------
        MissingError
            There is none; names the data set.
        """
        self._check_known(contest_id)
        del self._rows[contest_id]
        self._touched.pop(contest_id, None)
        self.removed.append(contest_id)
        self._log.note("remove", contest_id=contest_id, why=why)
        self._changed = True

    def disqualify(self, contest_id: str, handle: str, why: str = "") -> bool:
        """Take a player out of a contest in retrospect: from now on the others' places count as if they had not been.

        It outlasts corrections by the source, until :meth:`reinstate`. That they took part, and were not the last, is
        checked at the end of the ingest.

        Returns
        -------
        bool
            Whether it was news.

        Raises
        ------
        MissingError
            There is no such contest.
        """
        self._check_known(contest_id)
        if handle in self._log.disqualified.get(contest_id, {}):
            return False
        self._log.note("disqualify", contest_id=contest_id, handle=handle, why=why)
        self._touched.setdefault(contest_id, []).append(handle)
        self._changed = True
        return True

    def reinstate(self, contest_id: str, handle: str, why: str = "") -> None:
        """Take a disqualification back.

        Raises
        ------
        MissingError
            There is none; names those there are.
        """
        players = self._log.disqualified.get(contest_id, {})
        if handle not in players:
            there_are = f"there are: {', '.join(map(repr, players))}" if players else "nobody was disqualified there"
            raise MissingError(f"contest {contest_id} of {self._name}: no disqualification of {handle!r}; {there_are}")
        self._log.note("reinstate", contest_id=contest_id, handle=handle, why=why)
        must_stand = self._touched.setdefault(contest_id, [])
        if handle in must_stand:
            must_stand.remove(handle)
        self._changed = True

    def alias(self, old: str, new: str, since_seconds: int | None = None, why: str = "") -> bool:
        """Say that who was called ``old`` is called ``new``: their history is one player's.

        Parameters
        ----------
        since_seconds
            When the old name was given up, UTC; contests from then on are those of whoever took it. None: always.

        Returns
        -------
        bool
            Whether it was news.

        Raises
        ------
        ValueError
            It is a cycle that no times part, or a name's own. Take the other one back first, see :meth:`unalias`.
        """
        alias = Alias(new, since_seconds)
        if self._log.aliases.get(old) == alias:
            return False
        check_alias(self._log.aliases, old, alias)
        self._log.note("alias", handle=old, alias=alias, why=why)
        self._players.rows(pa.array([new], pa.string()))  # it may count before anybody played under it
        self._changed = True
        return True

    def unalias(self, old: str, why: str = "") -> None:
        """Take an alias back: what was played under the old name is that name's own again.

        Raises
        ------
        MissingError
            There is none.
        """
        if old not in self._log.aliases:
            listed = f"`ranklake alias --list --dataset {self._name}` shows them"
            raise MissingError(f"{old!r} has no alias in data set {self._name}; {listed}")
        self._log.note("unalias", handle=old, why=why)
        self._changed = True

    def _check_known(self, contest_id: str) -> None:
        if contest_id not in self._rows:
            folded = contest_id.strip().casefold()
            alike = [repr(known) for known in self._rows if known.strip().casefold() == folded]
            hint = f"there is {', '.join(alike)}" if alike else "give its contest_id, as `ranklake player` shows it"
            raise MissingError(f"no contest {contest_id!r} in data set {self._name}; {hint}")

    def _recompute(self) -> None:
        """Give contests that corrections touch the size and the digest that ratings see."""
        turned = renamed(self._aliases_before, self._log.aliases)
        if not turned and not self._touched:
            return
        contests, handles = table_of(self._rows.values()), self._players.since(0)
        stored = StoredStandings(self._lake, self._name, contests)
        corrections = Corrections.of(self._log, lambda: handles, contests)
        ids = list(self._rows)
        places = {place for place, contest_id in enumerate(ids) if contest_id in self._touched}
        if turned:
            places |= contests_with(stored, self._players.known(turned), len(handles))
        for place, source, part in contests_at(stored, corrections, sorted(places)):
            row = self._rows[ids[place]]
            changed = recompute(
                self._name, row, source, part, self._log, handles, self._touched.get(row.contest_id, ())
            )
            self.recomputed += changed and row.contest_id not in self._added
            self._changed |= changed
