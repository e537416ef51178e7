"""Places of a table of results: from ranks or scores to tie groups, and players who are in a contest twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels.core.standings import StandingsError, check_places

from .columns import Bools, Longs

WITHOUT_PLACE = "a participant without a place shares the last places, or has no row"

Ints = npt.NDArray[np.int32]


def places_of(contest_of: Longs, rank: npt.NDArray[Any], dropped: Bools | None = None) -> tuple[Longs, Ints, Ints]:
    """The rows by contest, best first, without the ``dropped`` ones, and the first and last place of the tie group of
    each.
    """
    rows = np.lexsort((rank, contest_of))
    if dropped is not None:
        rows = rows[~dropped[rows]]
    rank, contest = rank[rows], contest_of[rows]
    opens_contest = np.concatenate(([True], contest[1:] != contest[:-1]))
    opens_group = opens_contest | np.concatenate(([True], rank[1:] != rank[:-1]))
    starts = np.flatnonzero(opens_group)
    sizes = np.diff(starts, append=len(rows))
    begin = np.flatnonzero(opens_contest)[np.cumsum(opens_contest)[starts] - 1]  # of each group's contest
    lo = np.repeat(starts - begin, sizes).astype(np.int32)
    return rows, lo, lo + np.repeat(sizes - 1, sizes).astype(np.int32)


def repeated_rows(contest_of: Longs, player_of: Ints) -> Longs:
    """For each row an earlier one of the same player in the same contest, -1 if there is none."""
    earlier = np.full(len(contest_of), -1)
    if not len(contest_of):
        return earlier
    key = contest_of * (int(player_of.max()) + 2) + player_of
    order = np.argsort(key, kind="stable")
    repeats = np.flatnonzero((key[order[1:]] == key[order[:-1]]) & (player_of[order[1:]] >= 0))
    earlier[order[repeats + 1]] = order[repeats]
    return earlier


def dropped_rows(contest_of: Longs, player_of: Ints, rank: npt.NDArray[Any] | None) -> Bools:
    """Rows to leave out so that each player is in a contest once: all but the one with the best ``rank``, the first one
    of equal ranks; without ranks, all but the last row.
    """
    position = np.arange(len(contest_of))
    order = np.lexsort((-position,) if rank is None else (position, rank))
    key = contest_of * (int(player_of.max()) + 2) + player_of
    _, first = np.unique(key[order], return_index=True)
    dropped = np.ones(len(key), bool)
    dropped[order[first]] = False
    return dropped & (player_of >= 0)


def check_standings(lo: npt.NDArray[np.integer], hi: npt.NDArray[np.integer]) -> None:
    """Raise :class:`StandingsError` unless the rows of one contest are whole tie groups, best first, without gaps."""
    for name, place in (("lo", lo), ("hi", hi)):
        outside = np.flatnonzero((place < 0) | (place >= len(place)))
        if len(outside):
            row = int(outside[0])
            rule = f"{name} = {place[row]} is outside the field, whose places are 0 to {len(place) - 1}"
            raise StandingsError(rule + (f"; {WITHOUT_PLACE}" if place[row] < 0 else ""), 0, row)
    check_places(lo, hi)
