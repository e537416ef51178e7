"""First ratings by FIDE's rules: the pool of games of each unrated player, and the rating that follows from it.

Source: FIDE Handbook B.02, Rating Regulations, 7.1.4 and 8.2. A pool is a list of entries in the history of beliefs,
one for each month with games: the month since 1970, games, half points, and the sum of the opponents' ratings. An entry
without games is a first period without a point, which is disregarded; a second one is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.beliefs import Beliefs
from ...core.ragged import Ragged
from ...core.standings import Ints, Longs
from .tables import difference_of, divided

POOL = "pool"  # part of the history of the beliefs
FLOOR = 1400  # the lowest published rating

LEAST_GAMES = 5  # of a pool for a first rating
MOST_FIRST = 2200  # rating points

_MONTHS = 26
_OPPONENT, _OPPONENTS = 1800, 2  # with whom each unrated player draws

Entry = list[int]


def month_of(seconds: int) -> int:
    """The month of a time, since 1970."""
    return int(np.datetime64(seconds, "s").astype("datetime64[M]").astype(np.int64))


def add_to_pools(
    beliefs: Beliefs, player: Ints, games: Longs, half_points: Longs, opponents: Longs, month: int
) -> tuple[Longs, Longs, Longs]:
    """Add the games of a period against rated opponents to the pools of unrated players, in place.

    ``games`` (> 0), ``half_points`` and ``opponents``, the sum of their ratings, have one entry a player.
    Returns the first ratings, 0 for none yet; the games that count, none in a disregarded period; those of the pools.
    """
    assert beliefs.history is not None
    ratings, counted, pooled = np.zeros_like(games), np.zeros_like(games), np.zeros_like(games)
    lists = list[npt.NDArray[np.float64]]()
    for i, pool in enumerate(pools_of(beliefs, player)):
        new = [month, int(games[i]), int(half_points[i]), int(opponents[i])]
        entries = extended(pool, new, bool(beliefs.state["games"][player[i]]))
        counted[i] = games[i] if entries[-1][1] else 0
        _, pooled[i], *sums = np.sum(entries, axis=0).tolist()
        first = first_rating(pooled[i], *sums)
        ratings[i] = 0 if first is None else first.rating
        lists.append(np.ravel(entries if not ratings[i] else []).astype(np.float64))
    lengths = np.array([len(one) for one in lists], dtype=np.int64)
    beliefs.history.put(player, {POOL: Ragged.from_lengths(lengths, np.concatenate([*lists, np.empty(0)]))})
    return ratings, counted, pooled


def pools_of(beliefs: Beliefs, player: Ints) -> list[list[Entry]]:
    """The entries of the pool of each player."""
    assert beliefs.history is not None
    pools = beliefs.history.ragged(player)[POOL]
    values = pools.values.astype(np.int64)
    return [values[a:b].reshape(-1, 4).tolist() for a, b in pairwise(pools.offsets.tolist())]


def extended(entries: Sequence[Entry], new: Entry, has_games: bool) -> list[Entry]:
    """A pool with the entry of one more period, and without the entries of too long ago.

    ``has_games``: whether the player has completed games; a first period without a point is disregarded otherwise.
    """
    month, games, half_points, opponents = new
    if not (entries or half_points or has_games):
        return [[month, 0, 0, 0]]
    kept = [entry for entry in entries if not entry[1] or entry[0] > month - _MONTHS]
    if kept and kept[-1][0] == month:
        _, *last = kept.pop()
        return [*kept, [month, last[0] + games, last[1] + half_points, last[2] + opponents]]
    return [*kept, new]


class FirstRating(NamedTuple):
    """A first rating, and what it follows from.

    ``games``, ``half_points``, ``opponents``: with the two draws against 1800; the last one is a sum of ratings.
    ``score``: in hundredths of a point a game.
    ``lead``: of this score, by the table.
    ``computed``, ``rating``: rating points; the second one at most 2200, and 0 below 1400.
    """

    games: int
    half_points: int
    opponents: int
    score: int
    lead: int
    computed: int
    rating: int


def first_rating(games: int, half_points: int, opponents: int) -> FirstRating | None:
    """The first rating from a pool; None if it is too small."""
    if games < LEAST_GAMES:
        return None
    n, halves, total = games + _OPPONENTS, half_points + _OPPONENTS, opponents + _OPPONENT * _OPPONENTS
    score = int(divided(50 * halves, n))  # a draw is one half point
    lead = int(difference_of(score))
    computed = int(divided(total + n * lead, n))
    return FirstRating(n, halves, total, score, lead, computed, 0 if computed < FLOOR else min(computed, MOST_FIRST))
