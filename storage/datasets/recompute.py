"""Size and digest of contests after corrections, and checks that the corrections are consistent."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import quote

import numpy as np
import pyarrow as pa

from ..lake.errors import LakeError
from ..names.hints import hint, near_names
from .corrections import Corrections, participated
from .tables.aliases import Alias, canonical, turning_point
from .tables.games import Games
from .tables.log import Log
from .tables.rows import Row
from .tables.standings import StandingsPart, StoredStandings

_FEW = 32  # up to this many contests are read one by one, more in one range


def renamed(before: Mapping[str, Alias], after: Mapping[str, Alias]) -> list[str]:
    """Handles whose current name differs between two sets of aliases."""
    handles = dict.fromkeys([*before, *after])
    return [handle for handle in handles if turning_point(before, handle) != turning_point(after, handle)]


def contests_with(stored: StoredStandings, players: Iterable[int], n_players: int) -> set[int]:
    """Places in rated order of the contests with any of ``players``; reads all standings."""
    wanted = np.zeros(n_players, np.bool_)
    wanted[list(players)] = True
    places: set[int] = set()
    for part in stored.parts():
        places.update(np.unique(part.contests_of(np.flatnonzero(wanted[part.player]))).tolist())
    return places


def contests_at(
    stored: StoredStandings, corrections: Corrections | None, places: Sequence[int]
) -> Iterator[tuple[int, StandingsPart, StandingsPart]]:
    """The contests at ``places``, ascending: each with its stored and its corrected standings."""
    if not places:
        return
    spans = [(place, place + 1) for place in places] if len(places) <= _FEW else [(places[0], places[-1] + 1)]
    for part in (part for span in spans for part in stored.parts(*span)):
        counted = part if corrections is None else corrections.apply(part)
        first, stop = (bisect_left(places, at) for at in (part.first_contest, part.first_contest + len(part)))
        for place in places[first:stop]:
            yield place, part.contest(place), counted.contest(place)


def recompute(
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
