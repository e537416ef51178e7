"""Corrected standings: current names, no disqualified players, no gaps between the places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .tables.aliases import Alias, canonical, turning_point
from .tables.log import Log
from .tables.standings import StandingsPart
from .tables.teams import Teams

Players = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

_MISSING = -1


def participated(handle: str, names: Iterable[str], aliases: Mapping[str, Alias], time_seconds: int) -> bool:
    """Whether the player ``handle`` is in standings with these ``names`` at that time, under any of its names."""
    current = canonical(aliases, handle, time_seconds)
    return any(name == handle or canonical(aliases, name, time_seconds) == current for name in names)


class Corrections:
    """Applies a log of corrections to stored standings.

    ``handles``: of all players, by index.
    ``contests``: in rated order; see ``schemas.CONTESTS``.
    """

    def __init__(self, log: Log, handles: pa.StringArray, contests: pa.Table) -> None:
        self._times: npt.NDArray[np.int64] = contests.column("time_seconds").to_numpy()
        ids = contests.column("contest_id")
        rows = pc.index_in(pa.array(log.disqualified, pa.string()), value_set=ids.combine_chunks()).to_pylist()
        amended = {
            row: players for row, players in zip(rows, log.disqualified.values(), strict=True) if row is not None
        }
        turns = {old: turning_point(log.aliases, old) for old in log.aliases}
        current = {
            (row, handle): canonical(log.aliases, handle, int(self._times[row]))
            for row, players in amended.items()
            for handle in players
        }
        index = _index_of(
            [
                *turns,
                *(name for _, *names in turns.values() for name in names),
                *(h for _, h in current),
                *current.values(),
            ],
            handles,
        )

        self._turn = np.full(len(handles), _MISSING, np.int32)  # of each player, where its name's turning point is
        existing = [old for old in turns if index(old) != _MISSING]
        self._turn[[index(old) for old in existing]] = np.arange(len(existing))
        self._until = np.array([turns[old][0] for old in existing], np.int64)
        self._before = np.array([index(turns[old][1]) for old in existing], np.int32)
        self._after = np.array([index(turns[old][2]) for old in existing], np.int32)
        self._amended = np.array(sorted(amended), np.int64)
        self._out = {row: [(index(h), index(current[row, h])) for h in players] for row, players in amended.items()}

    @classmethod
    def of(cls, log: Log, handles: Callable[[], pa.StringArray], contests: pa.Table) -> Corrections | None:
        """The corrections of a log; None if none is in force, and reading then costs nothing more."""
        return cls(log, handles(), contests) if log.aliases or log.disqualified else None

    def apply(self, part: StandingsPart) -> StandingsPart:
        """The corrected standings."""
        player = self.named(part)
        first, last = np.searchsorted(self._amended, [part.first_contest, part.first_contest + len(part)])
        if first == last:
            return part if player is part.player else replace(part, player=player)
        keep = np.ones(len(player), np.bool_)
        lo, hi = part.lo.copy(), part.hi.copy()
        for contest in self._amended[first:last].tolist():
            a, b = part.offsets[contest - part.first_contest :][:2].tolist()
            for handle, current in self._out[contest]:
                keep[a:b] &= ~_rows_of(part.player[a:b], player[a:b], handle, current)
            if part.games is not None:
                continue
            rows = np.flatnonzero(keep[a:b]) + a
            in_contest = part.contest(contest).teams
            lo[rows], hi[rows] = _close_up(lo[rows], in_contest and in_contest.keep(keep[a:b]))
        if part.games is not None:  # a game needs both players
            return replace(part, player=player).keep_games(keep[::2] & keep[1::2])
        offsets = np.concatenate([[0], np.cumsum(keep)])[part.offsets]
        teams = None if part.teams is None else part.teams.keep(keep)
        rated = None if part.rated is None else part.rated[keep]
        points = None if part.points is None else part.points[keep]
        rows = player[keep], lo[keep], hi[keep]
        return StandingsPart(part.first_contest, offsets, *rows, teams, rated, points=points)

    def named(self, part: StandingsPart) -> Players:
        """The player of each stored row under its current name; the part's own array if no name is replaced."""
        if len(self._until) == 0:
            return part.player
        turn = self._turn[part.player]
        rows = np.flatnonzero(turn != _MISSING)
        if len(rows) == 0:
            return part.player
        turn = turn[rows]
        player = part.player.copy()
        early = self._times[part.contests_of(rows)] < self._until[turn]
        player[rows] = np.where(early, self._before[turn], self._after[turn])
        return player


def among_rated(part: StandingsPart) -> StandingsPart:
    """The rated participants only, with their places among each other."""
    keep = np.ones(len(part.player), np.bool_) if part.rated is None else part.rated
    offsets = np.concatenate([[0], np.cumsum(keep)])[part.offsets]
    lo, hi = part.lo[keep], part.hi[keep]
    teams = None if part.teams is None else part.teams.keep(keep)
    for a, b in pairwise(offsets.tolist()):
        lo[a:b], hi[a:b] = _close_up(lo[a:b], None if teams is None else teams.part(a, b))
    points = None if part.points is None else part.points[keep]
    return StandingsPart(part.first_contest, offsets, part.player[keep], lo, hi, teams, points=points)


def _rows_of(stored: Players, named: Players, handle: int, current: int) -> Mask:
    """Rows of a disqualified player: under exactly that handle, or else under another name of the same player.

    The source may replace the old name by a new one long after the player was disqualified.
    """
    rows: Mask = stored == handle
    return rows if handle != _MISSING and rows.any() else (named == current) & (current != _MISSING)


def _close_up(lo: Players, teams: Teams | None) -> tuple[Players, Players]:
    """First and last place of each tie group without gaps; rows with one value of ``lo`` are one group."""
    n = len(lo)
    opens = np.ones(n, np.bool_) if teams is None else teams.opens(np.array([0, n]))
    starts = np.flatnonzero(np.diff(lo, prepend=-1) != 0)
    before = np.concatenate(([0], np.cumsum(opens)))  # places that begin before each row
    sizes, bounds = np.diff(starts, append=n), before[np.append(starts, n)]
    return np.repeat(bounds[:-1], sizes).astype(np.int32), np.repeat(bounds[1:] - 1, sizes).astype(np.int32)


def _index_of(names: list[str], handles: pa.StringArray) -> Callable[[str], int]:
    distinct = list(dict.fromkeys(names))
    indices = pc.index_in(pa.array(distinct, pa.string()), value_set=handles).fill_null(_MISSING).to_pylist()
    return dict(zip(distinct, indices, strict=True)).__getitem__
