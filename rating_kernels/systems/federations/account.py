"""One player's period by FIDE's rules in every step, as a person would compute it by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...core.beliefs import Beliefs
from ...core.standings import Floats, Longs
from .fide import Fide, rate_games, tiers_at
from .pools import Entry, FirstRating, extended, first_rating, month_of, pools_of
from .tables import counted_lead, divided, expected_hundredths
from .tiers import TIERS, Tier


@dataclass(frozen=True, slots=True)
class PlayedGames:
    """The games of a player in a period.

    ``opponent`` (float64[n]): the ratings before the period, 0 for an unrated one.
    ``score`` (float64[n]): points of the player.
    ``lead``, ``counted`` (int64[n]): the player's rating less the opponent's, and as what the table takes it.
    ``expected`` (int64[n]): hundredths of a point, by the table.
    All but the first two mean nothing unless both are rated.
    """

    opponent: Floats
    score: Floats
    lead: Longs
    counted: Longs
    expected: Longs

    @property
    def counts(self) -> npt.NDArray[np.bool_]:
        """Whether each game counts: the opponent is rated."""
        return self.opponent > 0.0


@dataclass(frozen=True, slots=True)
class PeriodAccount:
    """A period of one player.

    ``before``, ``rating``: 0 for unrated.
    ``n``, ``score``, ``expected``: games that count, points in them, and points by the table, in hundredths.
    ``tier``, ``k``: the tier of a rated player, and its K, which is lower for many games.
    ``performance``: by the table; NaN without games that count.
    ``pool``, ``first``: entries of an unrated player with this period, and what the first rating follows from, if there
    are games enough.
    """

    games: PlayedGames
    before: float
    rating: float
    n: int
    score: float
    expected: int
    tier: Tier
    k: int
    performance: float
    pool: Sequence[Entry]
    first: FirstRating | None

    @property
    def surplus(self) -> int:
        """The points above the expected ones, in hundredths."""
        return round(100 * self.score) - self.expected

    @property
    def change(self) -> int:
        """The change of a rated player's rating; a rating below 1400 is then none."""
        return int(divided(self.k * self.surplus, 100))


def rate_with_account(
    params: Fide, beliefs: Beliefs, row: int, others: npt.ArrayLike, score: npt.ArrayLike, time_seconds: int
) -> PeriodAccount:
    """Rate the games of the player in ``row`` against ``others``, in place, and say how; see :func:`.fide.rate_games`.

    What becomes of the others is not right: their other games in the period are unknown here.
    """
    opponents, me = np.asarray(others, dtype=np.int32), np.array([row], dtype=np.int32)
    tier = TIERS[int(tiers_at(beliefs, me, time_seconds)[0])]
    [pool], has_games = pools_of(beliefs, me), bool(beliefs.state["games"][row])
    before, rating = float(beliefs.mu[row]), beliefs.mu[opponents]
    games = PlayedGames(
        rating, np.asarray(score, dtype=np.float64), (before - rating).astype(np.int64),
        counted_lead(before, rating), expected_hundredths(before, rating),
    )  # fmt: skip
    found = rate_games(params, beliefs, np.full(len(opponents), row), opponents, games.score, time_seconds)
    counts = games.counts
    n, points = int(counts.sum()), float(games.score[counts].sum())
    if before == 0.0 and n:
        new = [month_of(time_seconds), n, round(2 * points), int(rating[counts].sum())]
        pool = extended(pool, new, has_games)
    _, *sums = np.sum(pool or [[0, 0, 0, 0]], axis=0).tolist()
    return PeriodAccount(
        games, before, float(found.rating[0]), n, points, int(games.expected[counts].sum()), tier, int(found.k[0]),
        float(found.performance[0]), pool, first_rating(*sums) if before == 0.0 and n else None,
    )  # fmt: skip
