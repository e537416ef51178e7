"""The standings of one contest, perhaps partial and from a file: placed participants, and entrants without a place."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.core.standings import ROUND_LIMITS, check_places, close_up

from ..common.adapters import to_ragged
from ..sources.base import SourceError
from ..sources.files.contests import read_contests
from ..sources.options import ReadOptions

_SHOWN = 3  # contests named in an error


@dataclass(frozen=True, slots=True, eq=False)
class Standings:
    """The standings of one contest.

    ``players``: the participants' names, all different, best place first; then the entrants without a place.
    ``lo``, ``hi`` (int32[n]): first and last position of the tie group, from 0. The entrants without a place are one
    tie group, the last.
    ``n_placed``: participants with a place.
    ``time_seconds``: end of the contest, UTC; None if unknown.
    ``weight``, ``perf_ceiling``, ``precision``: as for a contest of a data set.
    ``teams``: the shares of the members of each team, whose places count teams; None if all are alone.
    ``rated_above``, ``rated_below``: participants whose rating before the contest is less than ``rated_above``, or not
    less than ``rated_below``, are left out of the field.
    ``team_names``: the name of each participant's team, None for an individual; None if no team has a name.
    """

    players: Sequence[Any]
    lo: npt.NDArray[np.int32]
    hi: npt.NDArray[np.int32]
    n_placed: int
    time_seconds: int | None = None
    weight: float = 1.0
    perf_ceiling: float = np.inf
    teams: Ragged | None = None
    rated_above: float = -np.inf
    rated_below: float = np.inf
    team_names: Sequence[Any] | None = None
    precision: float = 1.0

    def __len__(self) -> int:
        return len(self.players)

    def at(self, time_seconds: int) -> Standings:
        """The same standings with another time."""
        return replace(self, time_seconds=time_seconds)

    @property
    def limited(self) -> bool:
        """Whether some ratings are left out."""
        return self.rated_above > -np.inf or self.rated_below < np.inf

    def select(self, rows: npt.NDArray[np.intp]) -> Standings:
        """Some of the participants, ascending, in the places among them; without limits, and not of teams."""
        lo, hi = close_up(self.lo[rows], np.zeros_like(rows))
        n_placed = int(np.searchsorted(rows, self.n_placed))
        facts: dict[str, Any] = {name: getattr(self, name) for name in ROUND_LIMITS}
        return Standings([self.players[row] for row in rows.tolist()], lo, hi, n_placed, **facts)

    @classmethod
    def of(
        cls,
        players: Sequence[Any],
        lo: npt.NDArray[np.integer],
        hi: npt.NDArray[np.integer],
        entrants: Sequence[Any] = (),
        teams: Ragged | None = None,
        team_names: Sequence[Any] | None = None,
        **facts: Any,
    ) -> Self:
        """Checked standings.

        ``players``, ``lo``, ``hi``: the placed participants, best first; ``teams`` and ``team_names`` are theirs.
        ``entrants``: all entrants; those among ``players`` are placed already, and the others have no team.
        ``facts``: further attributes by name.
        Raises StandingsError: the places are no result.
        Raises ValueError: there is no participant, a player is listed twice, or the time, the weight or the ceiling is
        out of range.
        """
        if not len(players):
            raise ValueError("the standings are empty; a preview needs a placed participant")
        first = slice(None) if teams is None else teams.offsets[:-1]
        check_places(lo[first], hi[first])
        placed = set(players)
        if len(placed) < len(players):
            raise ValueError(f"player {_repeated(players)!r} is listed twice in the standings")
        if len(set(entrants)) < len(entrants):
            raise ValueError(f"player {_repeated(entrants)!r} is listed twice among the entrants")
        waiting = [one for one in entrants if one not in placed]
        for name, limits in ROUND_LIMITS.items():
            value = facts.get(name)
            if value is not None and not limits.contains(value):
                raise ValueError(f"{name} must be {limits.rule}, got {value}")
        n, k = len(lo[first]), len(waiting)
        if teams is not None:
            teams = Ragged.concat([teams, Ragged.from_lengths(np.ones(k, np.int64), np.ones(k))])
        names = None if team_names is None else [*team_names, *([None] * k)]
        lo, hi = np.append(lo, np.full(k, n)), np.append(hi, np.full(k, n + k - 1))
        places = lo.astype(np.int32), hi.astype(np.int32)
        return cls([*players, *waiting], *places, len(players), teams=teams, team_names=names, **facts)


def _repeated(names: Sequence[Any]) -> Any:
    seen: set[Any] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def standings_from_file(
    path: str | os.PathLike[str],
    options: ReadOptions | None = None,
    entrants: Sequence[str] = (),
    time_seconds: int | None = None,
) -> Standings:
    """The standings of the one contest in a file, without unrated participants who are not in the field.

    Limits of the rating stay in the standings, unless unrated participants are in the field.

    ``path``, ``options``: as for :func:`ranklake.flows.sources.files.contests.read_contests`; a table needs no column
    ``contest``.
    ``entrants``: all entrants, placed or not.
    ``time_seconds``: end of the contest; default: that of the file, where 0 is unknown.
    Raises SourceError: the file cannot be read, its contest has a fault, or there are several contests.
    Raises ValueError: a player is listed twice among the entrants.
    """
    options = options or ReadOptions()
    options = replace(options, columns=replace(options.columns, single=True))
    contests = list(read_contests(path, options=options))
    if len(contests) != 1:
        ids = ", ".join(contest.contest_id for contest in contests[:_SHOWN])
        more = ", ..." if len(contests) > _SHOWN else ""
        rule = f"a preview takes one contest, got {len(contests):,}" + (f": {ids}{more}" if ids else "")
        raise SourceError(f"{rule}; --column contest= takes a table as one contest", os.fspath(path))
    (contest,) = contests
    players, lo, hi = contest.handles.to_pylist(), contest.lo, contest.hi
    if contest.rated is not None and not contest.field_includes_unrated:
        if not contest.rated.any():
            raise SourceError("no participant is rated", os.fspath(path), contest.contest_id)
        rows = np.flatnonzero(contest.rated)
        unrated = {player for player, rated in zip(players, contest.rated, strict=True) if not rated}
        players, entrants = [players[row] for row in rows], [one for one in entrants if one not in unrated]
        lo, hi = close_up(lo[rows], np.zeros_like(rows))
    limits = () if contest.field_includes_unrated else ("rated_above", "rated_below")
    names = ("weight", "precision", "perf_ceiling", *limits)
    facts = {name: getattr(contest, name) for name in names}
    facts["time_seconds"] = (contest.time_seconds or None) if time_seconds is None else time_seconds
    if contest.teams is None:
        return Standings.of(players, lo, hi, entrants, **facts)
    teams = to_ragged(contest.teams, np.array([0, len(contest)]))
    return Standings.of(players, lo, hi, entrants, teams, contest.teams.name.to_pylist(), **facts)
