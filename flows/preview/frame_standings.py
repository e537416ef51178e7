"""The standings of one contest from a frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from ..common.arguments import check_names
from ..frames.kinds import Frame
from ..frames.results import find_times
from ..sources.absences import Absent
from ..sources.base import SourceError
from ..sources.column_names import Columns
from ..sources.options import Duplicates, ReadOptions
from ..sources.results import rounds_from_results, with_contest
from .standings import Standings

__all__ = ["standings_from_frame"]


def standings_from_frame(
    frame: Frame,
    columns: Mapping[str, str | None] | None = None,
    duplicates: Duplicates = "error",
    absent: Absent = "error",
    entrants: Iterable[Any] = (),
    time_seconds: int | None = None,
) -> Standings:
    """The standings of the one contest in a frame; the players and the names of teams keep their types.

    Raises
    ------
    ValueError
        The standings are invalid, or the frame has several contests.
    """
    named = Columns.parse(f"{key}={column}" for key, column in (columns or {}).items() if column is not None)
    named = replace(named, single=True)
    try:
        found = named.find(frame.names, "standings", frame=True)
        found = {key: column for key, column in found.items() if key not in ("name", "url")}
        found = found if time_seconds is not None else find_times(frame, named, found)
        table = frame.arrow(list(dict.fromkeys(found.values())), [found.get("rank"), found.get("score")])
        keys = found
        if "contest" not in found:
            table, keys = with_contest(table, found, "of the preview")
        options = ReadOptions(columns=named, duplicates=duplicates, absent=absent)
        read = rounds_from_results(table, keys, "standings", options)
    except SourceError as error:
        raise ValueError(str(error)) from None
    rounds, rows, limits = read.rounds, read.rows, read.limits
    if len(rounds) != 1:
        raise ValueError(f"standings: a preview takes one contest, got {len(rounds):,}")
    players, entrants = frame.take(found["player"], rows).tolist(), list(entrants)
    _check_entrants(entrants, players)
    if rounds.roles.any():
        rated = rounds.are_rated
        if not rated.any():
            raise ValueError("standings: no participant is rated")
        unrated = {player for player, one in zip(players, rated, strict=True) if not one}
        players, entrants = [one for one in players if one not in unrated], [e for e in entrants if e not in unrated]
        rounds = rounds.rated_only()
    time = int(rounds.time_seconds[0]) if "time" in found else None
    names = table.column(found["team"]).take(pa.array(rows)).to_pylist() if "team" in found else None
    return Standings.of(
        players,
        rounds.lo,
        rounds.hi,
        entrants=entrants,
        time_seconds=time if time_seconds is None else time_seconds,
        weight=float(rounds.weight[0]),
        perf_ceiling=float(rounds.perf_ceiling[0]),
        teams=rounds.teams,
        team_names=names,
        rated_above=float(limits[0, 0]),
        rated_below=float(limits[0, 1]),
    )


def _check_entrants(entrants: list[Any], players: list[Any]) -> None:
    """Refuse entrants that are texts if the players of the standings are numbers, and the reverse."""
    check_names(entrants, "an entrant")
    for entrant in entrants:
        if isinstance(entrant, str) != isinstance(players[0], str):
            rule = f"names must be of the kind of those in the standings, such as {players[0]!r}"
            raise TypeError(f"entrants: {rule}; got {entrant!r}")
