"""First ratings by FIDE's rules: the pool of games of each unrated player, and the rating that follows from it.

Source: FIDE Handbook B.02, Rating Regulations, 7.1.4 and 8.2. A pool is a list of entries in the history of beliefs,
one for each month with games: the month since 1970, games, half points, and the sum of the opponents' ratings. An entry
without games is a first period without a point, which is disregarded; a second one is not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...core.beliefs import Beliefs
from ...core.ragged import Ragged
from ...core.standings import Ints, Longs
from .tables import difference_of, divided

POOL = "pool"  # part of the history of the beliefs
FLOOR = 1400  # the lowest published rating

_MONTHS, _LEAST_GAMES, _MOST = 26, 5, 2200
_OPPONENT, _OPPONENTS = 1800, 2  # with whom each unrated player draws

Entry = list[int]


def add_to_pools(
    beliefs: Beliefs, player: Ints, games: Longs, half_points: Longs, opponents: Longs, month: int
) -> tuple[Longs, Longs, Longs]:
    """Add the games of a period against rated opponents to the pools of unrated players, in place.

    ``games`` (> 0), ``half_points`` and ``opponents``, the sum of their ratings, have one entry a player.
    Returns the first ratings, 0 for none yet; the games that count, none in a disregarded period; those of the pools.
    """
    assert beliefs.history is not None
    pools = beliefs.history.ragged(player)[POOL]
    ratings, counted, pooled = np.zeros_like(games), games.copy(), np.zeros_like(games)
    lists = list[npt.NDArray[np.float64]]()
    for i in range(len(player)):
        entries = pools.values[pools.offsets[i] : pools.offsets[i + 1]].astype(np.int64).reshape(-1, 4).tolist()
        if not entries and not half_points[i] and not beliefs.state["games"][player[i]]:
            counted[i] = 0
            entries = [[month, 0, 0, 0]]
        else:
            new = [month, int(games[i]), int(half_points[i]), int(opponents[i])]
            entries = _joined([entry for entry in entries if not entry[1] or entry[0] > month - _MONTHS], new)
            _, pooled[i], *sums = np.sum(entries, axis=0).tolist()
            ratings[i] = first_rating(pooled[i], *sums)
        lists.append(np.ravel(entries if not ratings[i] else []).astype(np.float64))
    lengths = np.array([len(one) for one in lists], dtype=np.int64)
    beliefs.history.put(player, {POOL: Ragged.from_lengths(lengths, np.concatenate([*lists, np.empty(0)]))})
    return ratings, counted, pooled


def _joined(entries: Sequence[Entry], new: Entry) -> list[Entry]:
    """The entries with a new one, which is added to the last one if that is of the same month."""
    if entries and entries[-1][0] == new[0]:
        month, games, half_points, opponents = entries[-1]
        return [*entries[:-1], [month, games + new[1], half_points + new[2], opponents + new[3]]]
    return [*entries, new]


def first_rating(games: int, half_points: int, opponents: int) -> int:
    """The first rating from a pool; 0 if it is too small, or the rating too low to be published."""
    if games < _LEAST_GAMES:
        return 0
    n = games + _OPPONENTS
    score = divided(50 * (half_points + _OPPONENTS), n)  # a draw is one half point
    rating = int(divided(opponents + _OPPONENT * _OPPONENTS + n * difference_of(score), n))
    return 0 if rating < FLOOR else min(rating, _MOST)
