"""Matches as the rows of a data set: those that are rated now, and later its periods or contests.

The rounds of a group are those that a batch run makes of the stored matches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.core.standings import Conditions, Floats, Ints, Longs
from ranklake.storage import StandingsPart
from ranklake.storage.datasets.tables.contests import Contest
from ranklake.storage.datasets.tables.covariates import Covariates, join_covariates
from ranklake.storage.datasets.tables.games import GAMES_KIND, Games, Period
from ranklake.storage.datasets.tables.points import Points, join_points
from ranklake.storage.datasets.tables.teams import Teams

from ...common.adapters import HALVES, ContestFacts, covariates_of
from .match import Match

_NONE: Floats = np.empty(0)


class Accepted(NamedTuple):
    """A match with its time, UTC seconds."""

    match: Match
    time: int


@dataclass(slots=True)
class Events:
    """Events of a history so far, as a run counts them: games, or contests of different times.

    ``count``: number of events. ``last_time``: that of the last contest; 0 without one.
    """

    count: int = 0
    last_time: int = 0

    def next_of(self, times: Longs) -> Longs:
        """The event of each further contest; counts them."""
        begins = np.diff(times, prepend=self.last_time) != 0
        begins |= times == 0
        if self.count == 0 and len(begins):
            begins[0] = True
        found = self.count + np.cumsum(begins, dtype=np.int64) - 1
        if len(times):
            self.count, self.last_time = int(found[-1]) + 1, int(times[-1])
        return found


def handles_of(kind: str, matches: Sequence[Accepted]) -> list[str]:
    """The players of matches, row by row as they are stored: of a game the first one, then the second one."""
    if kind == GAMES_KIND:
        return [side.players[0] for accepted in matches for side in accepted.match.sides]
    return [handle for accepted in matches for at in best_first(accepted.match) for handle in _side(accepted, at)]


def best_first(match: Match) -> list[int]:
    """The numbers of the sides of a match by their places; those that tie keep their order."""
    places = [side.place for side in match.sides]
    return sorted(range(len(places)), key=places.__getitem__)


def games_rows(
    player: Ints, matches: Sequence[Accepted], event: int, covariates: tuple[str, ...], used: tuple[str, ...]
) -> Rounds:
    """The rounds of games that follow each other.

    ``player`` (int32[2n]): of each game the first and the second player.
    ``event``: number of games before them. ``covariates``: of the data set. ``used``: those that the rounds have.

    Made from the games at once, as a reader of the stored ones makes them: a group is often one game, and all the steps
    of a reader would take longer than the rating.
    """
    given = [accepted.match for accepted in matches]
    n, score = len(given), [match.first_score for match in given]
    lo, hi = np.zeros(2 * n, np.int32), np.ones(2 * n, np.int32)
    lo[1::2] = [one != 0.5 for one in score]
    hi[::2] = 1 - lo[1::2]
    swapped = [one < 0.5 for one in score]
    if any(swapped):
        rows = player.reshape(n, 2)
        player = np.where(np.array(swapped)[:, None], rows[:, ::-1], rows).ravel()
    facts: dict[str, Any] = {}
    if any(match.advantage for match in given):
        ahead = [-match.advantage if back else match.advantage for match, back in zip(given, swapped, strict=True)]
        facts["advantage"] = np.outer(np.array(ahead) + 0.0, HALVES).ravel()
    if any(match.score is not None for match in given):
        facts["score"] = np.array([1.0 - one if back else one for one, back in zip(score, swapped, strict=True)])
    if (points := _points_of(given)) is not None:
        pairs = points.reshape(n, 2)
        facts["points"] = np.where(np.array(swapped)[:, None], pairs[:, ::-1], pairs).ravel()
    if used:
        games = _games_of(matches, covariates)[1].winner_first(np.array(score))
        facts["covariates"] = covariates_of(games, used)
    return Rounds(
        np.arange(0, 2 * n + 1, 2),
        player,
        lo,
        hi,
        np.array([accepted.time for accepted in matches], np.int64),
        np.array([match.weight for match in given]),
        np.full(n, math.inf),
        np.arange(event, event + n),
        **facts,
    )


def contest_rows(player: Ints, matches: Sequence[Accepted], events: Events) -> Rounds:
    """The rounds of contests that follow each other, given the player of each row; counts their events."""
    n = len(matches)
    times = np.array([accepted.time for accepted in matches], np.int64)
    weight = np.array([accepted.match.weight for accepted in matches])
    rows = [_contest_rows(accepted.match) for accepted in matches]
    offsets = np.concatenate(([0], np.cumsum([len(row.lo) for row in rows])))
    lo, hi = (np.fromiter(chain.from_iterable(getattr(row, name) for row in rows), np.int32) for name in ("lo", "hi"))
    sizes = np.diff(offsets).tolist()
    teams = Teams.concat([row.teams for row in rows], sizes)
    points = None
    if any(row.points is not None for row in rows):
        points = np.concatenate(
            [np.full(m, np.nan) if row.points is None else row.points for row, m in zip(rows, sizes, strict=True)]
        )
    part = StandingsPart(0, offsets, player, lo, hi, teams, points=points)
    facts = ContestFacts(
        times, Conditions(weight, np.ones(n)), np.full(n, np.inf), events.next_of(times), np.zeros(n, np.bool_)
    )
    return facts.rounds(part)


def period_of(name: str, parts: Iterable[Sequence[Accepted]], covariates: tuple[str, ...]) -> Period:
    """The period of games to be stored, in the order of their acceptance; ``parts`` are read one after the other."""
    names, scores, facts = [], [], []
    for matches in parts:
        score, games = _games_of(matches, covariates)
        names.append(pa.array(handles_of(GAMES_KIND, matches), pa.string()))
        scores.append(score)
        facts.append(games)
    encoded = pa.chunked_array(names, pa.string()).combine_chunks().dictionary_encode()
    rows = encoded.indices.to_numpy()
    return Period(name, encoded.dictionary, rows[::2].copy(), rows[1::2].copy(), np.concatenate(scores), _join(facts))


def contest_of(accepted: Accepted) -> Contest:
    """The contest to be stored; its id is that of the match."""
    match, row = accepted.match, _contest_rows(accepted.match)
    handles = pa.array(handles_of("", [accepted]), pa.string())
    lo, hi = np.array(row.lo, np.int32), np.array(row.hi, np.int32)
    facts = {"weight": match.weight, "teams": row.teams, "points": row.points}
    return Contest(match.id, match.id, "", accepted.time, handles, lo, hi, **facts)  # type: ignore[arg-type]


def _side(accepted: Accepted, at: int) -> tuple[str, ...]:
    return accepted.match.sides[at].players


def _games_of(matches: Sequence[Accepted], covariates: tuple[str, ...]) -> tuple[Floats, Games]:
    """The score of the first player of each game, and the facts of the games as the first players see them."""
    given = [accepted.match for accepted in matches]
    n = len(given)
    score = np.fromiter((match.first_score for match in given), np.float64, n)
    times = np.fromiter((accepted.time for accepted in matches), np.int64, n)
    weight = np.fromiter((match.weight for match in given), np.float64, n)
    advantage = np.fromiter((match.advantage for match in given), np.float64, n)
    points = _points_of(given)
    x = None
    if covariates:
        values = np.array([[match.x.get(name, 0.0) for name in covariates] for match in given]).reshape(n, -1)
        x = Covariates(covariates, values)
    return score, Games(times, weight, advantage if advantage.any() else _NONE, points, covariates=x)


def _join(parts: Sequence[Games]) -> Games:
    """The facts of all parts, one part after the other."""
    sizes = [len(part.weight) for part in parts]
    ahead = _NONE
    if any(len(part.advantage) for part in parts):
        ahead = np.concatenate(
            [part.advantage if len(part.advantage) else np.zeros(n) for part, n in zip(parts, sizes, strict=True)]
        )
    times, weight = (np.concatenate([getattr(part, name) for part in parts]) for name in ("time_seconds", "weight"))
    points = join_points([part.points for part in parts], [2 * n for n in sizes])
    return Games(times, weight, ahead, points, covariates=join_covariates([part.covariates for part in parts]))


def _points_of(matches: Sequence[Match]) -> Points:
    """The points of both players of each game; None if all are unknown."""
    if all(side.points is None for match in matches for side in match.sides):
        return None
    return np.array([math.nan if side.points is None else side.points for match in matches for side in match.sides])


class _ContestRows(NamedTuple):
    lo: list[int]
    hi: list[int]
    teams: Teams | None
    points: npt.NDArray[np.float64] | None


def _contest_rows(match: Match) -> _ContestRows:
    """The rows of a match, best first; places count sides."""
    order = best_first(match)
    sides = [match.sides[at] for at in order]
    places = [side.place for side in sides]
    lo, hi, names, points = [], [], [], []
    shares: list[float] = []
    for at, side in zip(order, sides, strict=True):
        n, first = len(side.players), places.index(side.place)
        lo += [first] * n
        hi += [first + places.count(side.place) - 1] * n
        names += [str(at + 1) if n > 1 else None] * n
        shares += side.shares or [1.0] * n
        points += [math.nan if side.points is None else side.points] * n
    teams = None if len(names) == len(sides) else Teams(pa.array(names, pa.string()), np.array(shares))
    known = np.array(points) if any(side.points is not None for side in sides) else None
    return _ContestRows(lo, hi, teams, known)
