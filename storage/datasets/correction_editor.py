"""Corrections of a data set during an ingest."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import quote

import numpy as np
import pyarrow as pa

from ..lake.access.lake import Lake
from ..lake.errors import LakeError, MissingError
from ..names.hints import hint, near_names
from .corrections import Corrections, participated
from .tables.aliases import Alias, canonical, check_alias, turning_point
from .tables.events import Event, Events
from .tables.games import Games
from .tables.log import Entry, Log
from .tables.player_index import PlayerIndex
from .tables.rows import Row, table_of
from .tables.standings import StandingsPart, StoredStandings


class CorrectionEditor:
    """Corrections during an ingest: manual ones, and new names of players that sources report.

    ``removed``: contests that were removed; a mirror adds those it removes at the end.
    ``recomputed``: number of contests changed by corrections but not by the source; set at the end.
    ``kind``: the kind of the data set, empty for contests; see :class:`.games_ingest.GamesIngest`.
    """

    kind = ""

    def __init__(
        self,
        lake: Lake,
        name: str,
        rows: dict[str, Row],
        players: PlayerIndex,
        log: Iterable[Entry],
        events: Iterable[Event] = (),
    ) -> None:
        self.removed: list[str] = []
        self.recomputed = 0
        self._lake, self._name = lake, name
        self._rows, self._players, self._log, self._events = rows, players, Log(log), Events(events)
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

    def start_season(self, event: Event, why: str = "") -> Event:
        """Record a season, perhaps with a reset; returns it with its number. The same one again changes nothing.

        Raises LakeError: another one has its name. Nothing else is checked here, see ``ranklake.flows.events.start``.
        """
        if (same := self._events.same(event)) is not None:
            return same
        added = self._events.add(event._replace(log_entry=len(self._log.entries)))
        self._log.note("season", season=(added.name, added.time_seconds), why=why)
        self._changed = True
        return added

    def remove_season(self, name: str, why: str = "") -> Event:
        """Remove a season with its reset. Raises MissingError: it does not exist; names near ones."""
        event = self._events.remove(name, self._name)
        self._log.note("season removed", season=(name, event.time_seconds), why=why)
        self._changed = True
        return event

    def restore_season(self, name: str, why: str = "") -> Event:
        """Undo the removal of a season; errors as for :meth:`.Events.restore`."""
        event = self._events.restore(name, self._name)
        self._log.note("season restored", season=(name, event.time_seconds), why=why)
        self._changed = True
        return event

    def _check_known(self, contest_id: str) -> None:
        if contest_id not in self._rows:
            near = hint(contest_id, near_names(contest_id, list(self._rows)))
            about = near or "; give its contest_id, as `ranklake player` shows it"
            raise MissingError(f"no contest {contest_id!r} in data set {self._name}{about}")

    def _recompute(self) -> None:
        """Recompute the size and the digest of contests that corrections affect."""
        renamed_handles = _renamed(self._aliases_before, self._log.aliases)
        if not renamed_handles and not self._touched:
            return
        contests, handles = table_of(self._rows.values()), self._players.since(0)
        stored = StoredStandings(self._lake, self._name, contests, self.kind)
        corrections = Corrections.of(self._log, lambda: handles, contests)
        ids = list(self._rows)
        places = {place for place, contest_id in enumerate(ids) if contest_id in self._touched}
        if renamed_handles:
            places |= _contests_with(stored, self._players.known(renamed_handles), len(handles))
        for place, source, part in _contests_at(stored, corrections, sorted(places), self._lake.limits.single_reads):
            row = self._rows[ids[place]]
            changed = _recompute_one(
                self._name, row, source, part, self._log, handles, self._touched.get(row.contest_id, ())
            )
            self.recomputed += changed and row.contest_id not in self._added
            self._changed |= changed


def _renamed(before: Mapping[str, Alias], after: Mapping[str, Alias]) -> list[str]:
    """Handles whose current name differs between two sets of aliases."""
    handles = dict.fromkeys([*before, *after])
    return [handle for handle in handles if turning_point(before, handle) != turning_point(after, handle)]


def _contests_with(stored: StoredStandings, players: Iterable[int], n_players: int) -> set[int]:
    """Places in rated order of the contests with any of ``players``; reads all standings."""
    wanted = np.zeros(n_players, np.bool_)
    wanted[list(players)] = True
    places: set[int] = set()
    for part in stored.parts():
        places.update(np.unique(part.contests_of(np.flatnonzero(wanted[part.player]))).tolist())
    return places


def _contests_at(
    stored: StoredStandings, corrections: Corrections | None, places: Sequence[int], few: int
) -> Iterator[tuple[int, StandingsPart, StandingsPart]]:
    """The contests at ``places``, ascending, each with its stored and corrected standings; ``few`` are read singly."""
    if not places:
        return
    spans = [(place, place + 1) for place in places] if len(places) <= few else [(places[0], places[-1] + 1)]
    for part in (part for span in spans for part in stored.parts(*span)):
        counted = part if corrections is None else corrections.apply(part)
        first, stop = (bisect_left(places, at) for at in (part.first_contest, part.first_contest + len(part)))
        for place in places[first:stop]:
            yield place, part.contest(place), counted.contest(place)


def _recompute_one(
    dataset: str,
    row: Row,
    stored: StandingsPart,
    part: StandingsPart,
    log: Log,
    handles: pa.StringArray,
    newly_disqualified: Iterable[str] = (),
) -> bool:
    """Set the size and the digest of a contest to those of its corrected standings.

    ``dataset``: the data set's name, for messages.
    ``stored``, ``part``: the contest as its source gave it, and after corrections.
    ``newly_disqualified``: handles that must be in the contest.
    Returns bool: whether the digest changed.
    Raises LakeError: two handles in the contest are one player, no player would be left, or a player to be disqualified
    did not take part.
    """
    for handle in newly_disqualified:
        _check_stands(row, stored, log, handles, handle)
    _check_distinct(dataset, row, stored, part, log, handles)
    if len(part.player) == 0 < row.n_rows:
        contest = quote(row.contest_id)
        kind, members = ("contest", "players") if part.games is None else ("period", "games")
        raise LakeError(
            f"{kind} {row.contest_id}: none of its {members} would be left; remove the whole {kind} "
            f"(`ranklake remove {contest} --dataset {dataset}`), or undo disqualifications "
            f"(`ranklake amend {contest} --remove HANDLE --undo --dataset {dataset}`) and exclude it from the rating "
            f"(`ranklake rate --run RUN --exclude {contest}`)"
        )
    before = row.content_digest
    names = handles.take(pa.array(part.player)) if part.games is None else handles
    row.n_players, row.n_teams, row.content_digest = row.content(part, names)
    return row.content_digest != before


def _check_stands(row: Row, stored: StandingsPart, log: Log, handles: pa.StringArray, handle: str) -> None:
    names = handles.take(pa.array(stored.player if stored.games is None else np.unique(stored.player))).to_pylist()
    if not participated(handle, names, log.aliases, row.time_seconds):
        about = hint(handle, near_names(handle, names)) or "; give the handle as its source spells it"
        if stored.teams is not None and handle in (teams := stored.teams.name.to_pylist()):
            members = [repr(name) for name, team in zip(names, teams, strict=True) if team == handle]
            about = f"; it is a team; disqualify its members: {', '.join(members)}"
        raise LakeError(f"contest {row.contest_id}: no player {handle!r} took part{about}")


def _check_distinct(
    dataset: str, row: Row, stored: StandingsPart, part: StandingsPart, log: Log, handles: pa.StringArray
) -> None:
    if part.games is not None:
        _check_opponents(dataset, row, part, part.games, handles)
        return
    players, counts = np.unique(part.player, return_counts=True)
    if np.all(counts == 1):
        return
    name = handles[int(players[np.argmax(counts)])].as_py()
    out = log.disqualified.get(row.contest_id, {})
    both = [
        handle
        for handle in handles.take(pa.array(stored.player)).to_pylist()
        if canonical(log.aliases, handle, row.time_seconds) == name and handle not in out
    ]
    raise LakeError(
        f"contest {row.contest_id}: {' and '.join(map(repr, both))} both took part, and by their aliases are one "
        f"player, {name!r}; disqualify one of them first (`ranklake amend {quote(row.contest_id)} --remove HANDLE "
        f"--dataset {dataset}`), or undo the alias (`ranklake unalias OLD --dataset {dataset}`)"
    )


def _check_opponents(dataset: str, row: Row, part: StandingsPart, games: Games, handles: pa.StringArray) -> None:
    """Refuse aliases by which the two players of a game are one."""
    same = np.flatnonzero(part.player[::2] == part.player[1::2])
    if not len(same):
        return
    name, time_seconds = handles[int(part.player[2 * same[0]])].as_py(), games.time_seconds[same[0]]
    raise LakeError(
        f"period {row.contest_id}: in the game at {np.datetime64(int(time_seconds), 's')} both players are by their "
        f"aliases {name!r}; undo the alias (`ranklake unalias OLD --dataset {dataset}`)"
    )
