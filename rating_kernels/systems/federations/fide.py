"""FIDE's ratings of standard games: rated periods, first ratings, and the exception from 2650 points.

Source: FIDE Handbook B.02, Rating Regulations, in force since March 2024, with the amendment of October 2025. All games
of a period are against the ratings at its beginning. With the expected scores E of the table (:mod:`.tables`):

    R' = R + K sum (S - E), rounded, halves away from zero            over the games against rated opponents
    K  = 10 once a published rating reached 2400, else 40 before 30 games, else 40 below 2300 until the year of the 18th
         birthday, else 20; floor(700 / n) where K n > 700 for the n games of the period

A rating below 1400 is not published: the player is unrated, which is the rating 0. An unrated player has a pool of the
games against rated opponents in the last 26 months. From 5 games on, with two draws against opponents of 1800,

    R  = mean of the opponents + lead of the score by the table, at most 2200; published if at least 1400

All numbers are whole, so that the order of the games in a period does not matter. All ratings in rating points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from ...core.beliefs import Beliefs
from ...core.limits import POINTS, Limits, whole
from ...core.standings import Conditions, Floats, Ints, Longs, Rounds
from ...core.system import Outcome, PerformanceLaw, Prior, Reset, System, check_limits
from ...inference.pairwise import Period, PeriodGames, gather_games
from ...inference.period_games import SIMULTANEOUS, rate_periods
from ...inference.resets.ratings import rounded
from ...inference.win_probability import normal
from .pools import FLOOR, POOL, add_to_pools, month_of
from .tables import divided, expected_hundredths, performance
from .tiers import k_of, tiers_of

HIGHEST = 9999  # four digits in the files of pairing programs

_LEVEL = 1800.0  # of an unrated player in predictions: that of the hypothetical opponents of a first rating
_DEVIATION = 200.0  # of a performance, by Elo's normal curve, which the table rounds


@dataclass(frozen=True, slots=True)
class Fide:
    """Hyperparameters of FIDE's ratings.

    Attributes
    ----------
    mu_init : float
        Rating of a newcomer, a whole number from 1400 on; 0: newcomers are unrated, as the rules say.
    """

    mu_init: float = field(default=0.0, metadata=whole(0, HIGHEST, POINTS))
    sigma_init: ClassVar[float] = 0.0
    games: ClassVar[str] = SIMULTANEOUS

    def __post_init__(self) -> None:
        check_limits(self)
        if 0.0 < self.mu_init < FLOOR:
            raise ValueError(f"mu_init must be 0, for unrated newcomers, or at least {FLOOR}, got {self.mu_init:g}")


def state(params: Fide, mu: Floats, sigma: Floats) -> dict[str, Floats]:
    """Completed games, highest published rating (0: none), and year of birth (NaN: an adult)."""
    return {"games": np.zeros_like(mu), "peak": mu.copy(), "birth_year": np.full_like(mu, np.nan)}


def win_probability(params: Fide, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """Elo's normal curve of the whole lead, which the table rounds; a draw is half a win.

    The table itself has chances of 0 and 1, and its cap makes both sides of a game differ.
    """
    return normal((_level(one.mu) - _level(other.mu)) / (math.sqrt(2.0) * _DEVIATION))


def performance_law(params: Fide, conditions: Conditions, participants: Any, prior: Prior) -> PerformanceLaw:
    """The normal law whose differences have the curve."""
    return PerformanceLaw("normal", _level(prior.mu), np.full(len(prior.mu), _DEVIATION))


def _level(mu: Floats) -> Floats:
    """The ratings, with that of the hypothetical opponents for unrated players."""
    return np.where(np.asarray(mu) == 0.0, _LEVEL, mu)


def prior(params: Fide, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Ratings do not change before a round."""
    rows = round.player[start:stop]
    prior.mu[start:stop], prior.sigma[start:stop], prior.n_before[start:stop] = (
        beliefs.mu[rows],
        0.0,
        beliefs.n_rounds[rows],
    )


def _refuse(*_: Any) -> NoReturn:
    """Take the place of the steps of a round that is no game."""
    raise ValueError("fide rates games of two players only")


def rate_small(params: Fide, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """Rate periods of games of two."""
    rate_periods(partial(_rate_period, beliefs), beliefs, rounds, outcome)


@dataclass(frozen=True, slots=True)
class FidePeriod:
    """A rated period, one entry a player.

    Attributes
    ----------
    player : int32[m]
        Rows of the store, in order of first appearance.
    games : int64[m]
        Games against rated opponents; of an unrated player those of its pool after the period.
    score, expected : float64[m]
        Points in the period's games against rated opponents, and those that the table expects of a rated player.
    k : int64[m]
        K of a rated player, rating points.
    before, rating : float64[m]
        Ratings before and after the period, rating points; 0 for an unrated player.
    performance : float64[m]
        By the table, rating points; NaN without games that count.
    """

    player: Ints
    games: Longs
    score: Floats
    expected: Floats
    k: Longs
    before: Floats
    rating: Floats
    performance: Floats


def rate_games(
    params: Fide, beliefs: Beliefs, a: npt.ArrayLike, b: npt.ArrayLike, score: npt.ArrayLike, time_seconds: int
) -> FidePeriod:
    """Rate one period given as single games; ``beliefs`` is updated in place.

    Players without games keep their beliefs. A player with a rating before the first period has it in ``beliefs.mu``,
    and in ``beliefs.state`` the completed ``games``, the highest rating as ``peak``, and perhaps a ``birth_year``.

    Parameters
    ----------
    a, b
        Whole numbers[games]: rows of the store.
    score
        float64[games]: score of ``a`` against ``b``: 1, 1/2 or 0; ``b`` has the rest.
    time_seconds
        End of the period, UTC since the epoch: juniors have an age in its year, pools go back from its month.

    Raises
    ------
    ValueError
        Invalid games, another score, or a rating that is neither a whole number from 1400 on nor 0.
    """
    period, games = gather_games(beliefs, a, b, score)
    one, other, scores = games.a, games.b, games.score
    bad = np.flatnonzero((2.0 * scores) % 1.0)
    if len(bad):
        rule = "a score must be 1, 0.5 or 0, as FIDE rates wins, draws and losses only"
        raise ValueError(f"game {bad[0]}: {rule}, got {scores[bad[0]]:g}")
    found = _rate(beliefs, period.player, one, other, scores, time_seconds)
    beliefs.n_rounds[period.player] += np.bincount(np.concatenate([one, other]), minlength=len(period.player))
    return found


def _rate_period(beliefs: Beliefs, period: Period, games: PeriodGames, now: int, found: Outcome) -> None:
    """Rate one period; see :data:`.period_games.RatePeriod`."""
    if games.lead.any():
        raise ValueError("fide has no rule for advantages: its expected scores do not depend on the colour")
    rated = _rate(beliefs, period.player, games.a, games.b, games.score, now)
    found.mu_prior[:], found.mu[:], found.perf[:] = rated.before, rated.rating, rated.performance
    found.sigma_prior[:], found.sigma[:], found.n_before[:] = 0.0, 0.0, beliefs.n_rounds[period.player]


def _rate(beliefs: Beliefs, player: Ints, a: Ints, b: Ints, score: Floats, now: int) -> FidePeriod:
    """Rate the games of a period between places ``a`` and ``b`` of players; the numbers of rounds stay."""
    before = beliefs.mu[player]
    _check_ratings(player, before)
    me, opponent = np.concatenate([a, b]), np.concatenate([b, a])
    half_points = np.concatenate([2.0 * score, 2.0 - 2.0 * score])
    counts = before[opponent] > 0.0
    me, opponent, half_points = me[counts], before[opponent[counts]], half_points[counts]

    def add(values: npt.NDArray[Any]) -> Longs:  # exact: whole numbers
        return np.bincount(me, values, len(player)).astype(np.int64)

    n, halves, opponents = add(np.ones(len(me))), add(half_points), add(opponent)
    expected = add(expected_hundredths(before[me], opponent))
    state, is_rated = beliefs.state, before > 0.0
    k = k_of(tiers_at(beliefs, player, now), n)
    after = np.where(is_rated, before + divided(k * (50 * halves - expected), 100), 0.0)
    after[after < FLOOR] = 0.0
    shown, new = performance(n, halves, opponents), np.flatnonzero(~is_rated & (n > 0))
    after[new], counted, pooled = add_to_pools(beliefs, player[new], n[new], halves[new], opponents[new], month_of(now))
    n[new] = counted
    state["games"][player] += n
    n[new] = pooled
    state["peak"][player] = np.maximum(np.maximum(state["peak"][player], before), after)
    beliefs.mu[player] = after
    beliefs.last_time[player] = np.maximum(beliefs.last_time[player], now)
    return FidePeriod(player, n, np.divide(halves, 2), np.divide(expected, 100), k, before, after, shown)


def tiers_at(beliefs: Beliefs, player: Ints, now: int) -> Longs:
    """The tier of each player before the games of a period that ends now; see :data:`.tiers.TIERS`."""
    rating, state = beliefs.mu[player], beliefs.state
    age = int(np.datetime64(now, "s").astype("datetime64[Y]").astype(np.int64)) + 1970 - state["birth_year"][player]
    return tiers_of(rating, state["games"][player], np.maximum(state["peak"][player], rating), age)


def _check_ratings(player: Ints, rating: Floats) -> None:
    good = (rating == 0.0) | ((rating >= FLOOR) & (rating <= HIGHEST) & (np.floor(rating) == rating))
    if not good.all():
        at = int(np.argmin(good))
        rule = f"a rating must be a whole number from {FLOOR} to {HIGHEST}, or 0 for an unrated player"
        raise ValueError(f"player {player[at]}: {rule}, got {rating[at]:g}")


def reset_rows(params: Fide, beliefs: Beliefs, rows: Longs, reset: Reset) -> None:
    """Move published ratings, to whole numbers; who is unrated keeps the pool of games for a first rating."""
    rated = rows[beliefs.mu[rows] > 0.0]
    beliefs.mu[rated] = rounded(reset.move(beliefs.mu[rated]))


SYSTEM = System(
    name="fide", performs=False, figures=True, params=Fide, state=state, history=(POOL,),
    prior=prior, summarise=_refuse, absorb=_refuse, rate_small=rate_small, small=2, periods=True,
    reset_rows=reset_rows, counts=("games",),
    win_probability=win_probability, performance_law=performance_law,
    ignores=("weight", "perf_ceiling", "precision"),
    attributes=(
        ("mu", "rating", Limits("whole number", POINTS, FLOOR, HIGHEST, "both")),
        ("games", "games", Limits("whole number", "", 0, 1_000_000, "both")),
        ("peak", "peak", Limits("whole number", POINTS, FLOOR, HIGHEST, "both")),
        ("birth_year", "birth_year", Limits("whole number", "", 1800, 2200, "both")),
    ),
)  # fmt: skip
