"""The standings of one contest from a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ranklake.rating_kernels.core.standings import close_up

from ..common.adapters import to_ragged
from ..sources.base import SourceError
from ..sources.files.contests import read_contests
from ..sources.options import ReadOptions
from .standings import Standings

_SHOWN = 3  # contests named in an error


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
    limits = (
        {}
        if contest.field_includes_unrated
        else {"rated_above": contest.rated_above, "rated_below": contest.rated_below}
    )
    return Standings.of(
        players,
        lo,
        hi,
        entrants=entrants,
        time_seconds=(contest.time_seconds or None) if time_seconds is None else time_seconds,
        weight=contest.weight,
        perf_ceiling=contest.perf_ceiling,
        teams=None if contest.teams is None else to_ragged(contest.teams, np.array([0, len(contest)])),
        **limits,
        team_names=None if contest.teams is None else contest.teams.name.to_pylist(),
    )
