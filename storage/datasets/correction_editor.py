"""Corrections of a data set during an ingest."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from ..lake.access.lake import Lake
from ..lake.errors import MissingError
from ..names.hints import hint, near_names
from .corrections import Corrections
from .recompute import contests_at, contests_with, recompute, renamed
from .tables.aliases import Alias, check_alias
from .tables.log import Entry, Log
from .tables.player_index import PlayerIndex
from .tables.rows import Row, table_of
from .tables.standings import StoredStandings


class CorrectionEditor:
    """Corrections during an ingest: manual ones, and new names of players that sources report.

    ``removed``: contests that were removed; a mirror adds those it removes at the end.
    ``recomputed``: number of contests changed by corrections but not by the source; set at the end.
    ``kind``: the kind of the data set, empty for contests; see :class:`.games_ingest.GamesIngest`.
    """

    kind = ""

    def __init__(self, lake: Lake, name: str, rows: dict[str, Row], players: PlayerIndex, log: Iterable[Entry]) -> None:
        self.removed: list[str] = []
        self.recomputed = 0
        self._lake, self._name = lake, name
        self._rows, self._players, self._log = rows, players, Log(log)
        self._aliases_before = dict(self._log.aliases)
        self._added: dict[str, None] = {}  # by a source, in its order
        # Contests that corrections may change, each with the handles that must be in its standings.
        self._touched: dict[str, list[str]] = {}
        self._changed = False

    def remove(self, contest_id: str, why: str = "") -> None:
        """Remove a contest; a source that still has it adds it again.

        Raises MissingError: the contest does not exist; names the data set.
        """
        self._check_known(contest_id)
        del self._rows[contest_id]
        self._touched.pop(contest_id, None)
        self.removed.append(contest_id)
        self._log.note("remove", contest_id=contest_id, why=why)
        self._changed = True

    def disqualify(self, contest_id: str, handle: str, why: str = "") -> bool:
        """Remove a player from a contest in retrospect; later players move up.

        The disqualification stays in force when the source corrects the contest, until :meth:`reinstate`. The end of
        the ingest checks that the player took part and that other players remain.

        Returns bool: whether this changed anything.
        Raises MissingError: the contest does not exist.
        """
        self._check_known(contest_id)
        if handle in self._log.disqualified.get(contest_id, {}):
            return False
        self._log.note("disqualify", contest_id=contest_id, handle=handle, why=why)
        self._touched.setdefault(contest_id, []).append(handle)
        self._changed = True
        return True

    def reinstate(self, contest_id: str, handle: str, why: str = "") -> None:
        """Undo a disqualification.

        Raises MissingError: it does not exist; names the existing ones.
        """
        players = self._log.disqualified.get(contest_id, {})
        if handle not in players:
            existing = f"there are: {', '.join(map(repr, players))}" if players else "the contest has none"
            raise MissingError(f"contest {contest_id} of {self._name}: no disqualification of {handle!r}; {existing}")
        self._log.note("reinstate", contest_id=contest_id, handle=handle, why=why)
        must_stand = self._touched.setdefault(contest_id, [])
        if handle in must_stand:
            must_stand.remove(handle)
        self._changed = True

    def alias(self, old: str, new: str, since_seconds: int | None = None, why: str = "") -> bool:
        """Record that the player ``old`` is now called ``new``: both names have one history.

        ``since_seconds``: UTC time at which the old name was given up; later contests under it belong to another
        player. None: always the same player.
        Returns bool: whether this changed anything.
        Raises ValueError: the alias closes a cycle without times, or leads to itself. Undo the other alias first, see
        :meth:`unalias`.
        """
        alias = Alias(new, since_seconds)
        if self._log.aliases.get(old) == alias:
            return False
        check_alias(self._log.aliases, old, alias)
        self._log.note("alias", handle=old, alias=alias, why=why)
        self._players.rows(pa.array([new], pa.string()))  # it may be the current name before any contest has it
        self._changed = True
        return True

    def unalias(self, old: str, why: str = "") -> None:
        """Undo an alias: contests under the old name belong to that name again.

        Raises MissingError: the alias does not exist.
        """
        if old not in self._log.aliases:
            near = hint(old, near_names(old, list(self._log.aliases)))
            about = near or f"; `ranklake alias --list --dataset {self._name}` shows all aliases"
            raise MissingError(f"{old!r} has no alias in data set {self._name}{about}")
        self._log.note("unalias", handle=old, why=why)
        self._changed = True

    def _check_known(self, contest_id: str) -> None:
        if contest_id not in self._rows:
            near = hint(contest_id, near_names(contest_id, list(self._rows)))
            about = near or "; give its contest_id, as `ranklake player` shows it"
            raise MissingError(f"no contest {contest_id!r} in data set {self._name}{about}")

    def _recompute(self) -> None:
        """Recompute the size and the digest of contests that corrections affect."""
        renamed_handles = renamed(self._aliases_before, self._log.aliases)
        if not renamed_handles and not self._touched:
            return
        contests, handles = table_of(self._rows.values()), self._players.since(0)
        stored = StoredStandings(self._lake, self._name, contests, self.kind)
        corrections = Corrections.of(self._log, lambda: handles, contests)
        ids = list(self._rows)
        places = {place for place, contest_id in enumerate(ids) if contest_id in self._touched}
        if renamed_handles:
            places |= contests_with(stored, self._players.known(renamed_handles), len(handles))
        for place, source, part in contests_at(stored, corrections, sorted(places)):
            row = self._rows[ids[place]]
            changed = recompute(
                self._name, row, source, part, self._log, handles, self._touched.get(row.contest_id, ())
            )
            self.recomputed += changed and row.contest_id not in self._added
            self._changed |= changed
