"""Glicko, with every pair of a contest as one game.

Source: Glickman, "The Glicko system" (1995, glicko.net/glicko/glicko.pdf). A contest is a rating period. Before it,
step 1 increases every sigma for the elapsed time; then step 2 uses all games together, with the sums of
:mod:`.pairwise`:

    1 / sigma'^2 = 1 / sigma^2 + q^2 information        mu' = mu + q sigma'^2 surprise        q = ln 10 / 400

His RD is our ``sigma``, his c our ``sig_drift``. The games of one contest are assumed independent, which they are not:
sigma falls with the root of the number of participants, and step 2, a single step of Newton's method, may overshoot
widely with thousands of participants. Contests have no weights. All ratings in rating points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.beliefs import NEVER, Beliefs, Map, prefetch_next
from ..core.jit import exact
from ..core.limits import POINTS, choice, finite, later, non_negative, positive
from ..core.margins import MarginParams, margin_rule
from ..core.parts import keep_belief, prior_of, read_belief
from ..core.standings import Conditions, Floats, Rounds
from ..core.system import Outcome, PerformanceLaw, Prior, System, check_limits, check_value
from ..fields.advantages import restore_ratings, to_strengths
from ..inference.diffusion import elapsed_days
from ..inference.pairwise import (
    SMALL,
    GameSums,
    Period,
    PeriodGames,
    count_games,
    count_pairs,
    gather_games,
    pairwise_sums,
    pairwise_sums_directly,
    sum_game,
    sum_games,
)
from ..inference.period_games import SEQUENTIAL, SIMULTANEOUS, are_simultaneous, rate_periods
from ..inference.resets.ratings import reset_beliefs
from ..inference.win_probability import curve_law, glicko_rate, glicko_win_probability

Q = math.log(10.0) / 400.0  # natural units a rating point


@dataclass(frozen=True, slots=True)
class Glicko(MarginParams):
    """Hyperparameters of Glicko.

    Attributes
    ----------
    sig_drift : float
        Growth of sigma in a rating period: rating points per square root of a period. No growth for newcomers.
    max_rd : float
        Upper limit of sigma, rating points.
    period_days : float or None
        Length of a rating period in days; idle time then counts. None: every contest is one period.
    mu_init : float
        Rating of a newcomer.
    sigma_init : float
        Standard deviation of a newcomer's skill around ``mu_init``.
    games : str
        Of a data set of games: "sequential" rates one game after the other, "simultaneous" all games of a period
        against the ratings at its beginning. A contest is always one period.
    """

    sig_drift: float = field(default=35.0, metadata=non_negative("rating points per root of a period"))
    max_rd: float = field(default=350.0, metadata=positive(POINTS))
    period_days: float | None = field(default=None, metadata=positive("days"))
    mu_init: float = field(default=1500.0, metadata=finite(POINTS))
    sigma_init: float = field(default=350.0, metadata=positive(POINTS))
    games: str = field(default=SEQUENTIAL, metadata=later(choice(SEQUENTIAL, SIMULTANEOUS)))

    def __post_init__(self) -> None:
        check_limits(self)
        if self.sigma_init > self.max_rd:
            raise ValueError(f"sigma_init must be at most max_rd = {self.max_rd} rating points, got {self.sigma_init}")


def win_probability(params: Glicko, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """Expected score of a game with both deviations."""
    return glicko_win_probability(Q, one, other)


def logistic_rate(params: Glicko, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """Natural units of odds a rating point, with both deviations."""
    return glicko_rate(Q, one, other)


def performance_law(params: Glicko, conditions: Conditions, participants: Any, prior: Prior) -> PerformanceLaw:
    """Logistic, of the variance of the expected outcome's curve."""
    return curve_law(Q, prior, uncertain=True)


def prior(params: Glicko, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 1: sigma grows with the periods since the last contest."""
    diffuse_rows(start, stop, round.player, round.time_seconds[0], _idle(params), beliefs.store, prior)


def summarise(params: Glicko, prior: Prior, round: Rounds, map: Map) -> GameSums:
    """Surprise and information of each player's games against all others."""
    return pairwise_sums(prior.mu, prior.sigma, round.lo, Q, map)


def absorb(
    params: Glicko, beliefs: Beliefs, round: Rounds, prior: Prior, summary: GameSums, start: int, stop: int,
    outcome: Outcome,
) -> None:  # fmt: skip
    """Step 2: the new rating and its deviation."""
    absorb_rows(
        start, stop, round.player, round.time_seconds[0], Q, prior, summary.surprise, summary.information,
        beliefs.store, outcome,
    )  # fmt: skip


def rate_small(params: Glicko, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """Both steps for many small rounds in sequence, in one kernel call; or for periods of simultaneous games."""
    if are_simultaneous(params.games, rounds):
        rate_periods(partial(_rate_period, params, beliefs), beliefs, rounds, outcome)
        return
    rate_each(rounds.columns, Q, False, margin_rule(params), _idle(params), beliefs.store, outcome)


def rate_games(
    params: Glicko,
    beliefs: Beliefs,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    score: npt.ArrayLike,
    time_seconds: int | None = None,
) -> Period:
    """Rate one period given as single games, as in leagues; ``beliefs`` is updated in place.

    Parameters
    ----------
    a, b
        Whole numbers[games]: rows of the store.
    score
        float64[games]: score of ``a`` against ``b``, 0 to 1; ``b`` has the rest.
    time_seconds
        End of the period, UTC since the epoch; required with ``params.period_days``.

    Returns
    -------
    Period
        The players, and the sums over their games. O(games).

    Raises
    ------
    ValueError
        Invalid games, or no time although idle time counts.

    Notes
    -----
    Players without games keep their beliefs: see :func:`sit_out`.
    """
    now = check_time(params.period_days, time_seconds)
    period, games = gather_games(beliefs, a, b, score)
    _rate_period(params, beliefs, period, games, now, Outcome.empty(len(period.player)))
    return period


def _rate_period(
    params: Glicko, beliefs: Beliefs, period: Period, games: PeriodGames, now: int, found: Outcome
) -> None:
    """Both steps for one period of games; see :data:`.period_games.RatePeriod`."""
    m, prior = len(period.player), found.prior
    diffuse_rows(0, m, period.player, now, _idle(params), beliefs.store, prior)
    sum_games(games, Q, margin_rule(params), prior.mu, prior.sigma, period.surprise, period.information)
    absorb_rows(0, m, period.player, now, Q, prior, period.surprise, period.information, beliefs.store, found)


def sit_out(params: Glicko, beliefs: Beliefs, rows: npt.NDArray[np.integer], periods: float = 1.0) -> None:
    """Step 1 only, for players without games in a period: sigma grows.

    For leagues without times; with times, idle time is added automatically.

    Parameters
    ----------
    rows
        Distinct rows of the store.
    periods
        Number of periods, >= 0.

    Raises
    ------
    ValueError
        ``params.period_days`` is given, or the number of periods is negative.
    """
    check_idle(params.period_days, periods)
    sigma = np.sqrt(beliefs.sigma[rows] ** 2 + params.sig_drift**2 * periods)
    beliefs.sigma[rows] = np.minimum(sigma, params.max_rd)


def check_time(period_days: float | None, time_seconds: int | None) -> int:
    """The end of a period of games; :data:`NEVER` if none is given and none is required."""
    if time_seconds is not None:
        return int(time_seconds)
    if period_days is not None:
        raise ValueError(f"time_seconds must be given, as idle time counts (period_days = {period_days})")
    return NEVER


def check_idle(period_days: float | None, periods: float) -> None:
    """Raise ``ValueError`` if players cannot sit out so many periods."""
    check_value("periods", periods, non_negative()["limits"])
    if period_days is not None:
        raise ValueError(f"sit_out must not be used where idle time counts (period_days = {period_days})")


class Idle(NamedTuple):
    """How sigma grows: variance of each contest and of each day, whether newcomers' does, and the largest sigma."""

    each: float
    daily: float
    newcomers_too: bool
    most: float


def _idle(params: Glicko) -> Idle:
    return Idle(*idle_variance(params.sig_drift, params.period_days), False, params.max_rd)


def idle_variance(sig_drift: float, period_days: float | None) -> tuple[float, float]:
    """Variance that every contest adds and that every day adds, squared points."""
    return (sig_drift**2, 0.0) if period_days is None else (0.0, sig_drift**2 / period_days)


@exact
def diffuse_rows(begin, end, player, time_seconds, idle, store, prior):
    """Widen the beliefs of rows ``player[begin:end]``, and write ``prior``."""
    sigma = store.sigma
    for i in range(begin, end):
        row = player[i]
        grown = idle.daily * elapsed_days(time_seconds, store.last_time[row])
        if idle.newcomers_too or store.n_rounds[row] > 0:
            grown += idle.each
        sigma[row] = min(math.sqrt(sigma[row] * sigma[row] + grown), idle.most)
        read_belief(i, row, store, prior)


@exact
def absorb_rows(begin, end, player, time_seconds, q, prior, surprise, information, store, outcome):
    """Update the beliefs of rows ``player[begin:end]`` with the sums over games."""
    for i in range(begin, end):
        row = player[i]
        variance = 1.0 / (1.0 / (prior.sigma[i] * prior.sigma[i]) + q * q * information[i])
        mu = prior.mu[i] + q * variance * surprise[i]
        sigma = math.sqrt(variance)
        keep_belief(i, row, mu, sigma, time_seconds, store, outcome)


@exact
def rate_each(rounds, q, one_game, margin, idle, store, outcome):
    """Rate all rounds; with ``one_game`` each counts as one game, more or less precise (:mod:`.glicko_allpairs`)."""
    player, advantage, n = rounds.player, rounds.advantage, len(rounds.player)
    g, rating, surprise, information = np.empty(SMALL), np.empty(SMALL), np.empty(n), np.empty(n)
    prior = prior_of(outcome, np.empty(0))
    for r in range(len(rounds.offsets) - 1):
        i, j, time_seconds = rounds.offsets[r], rounds.offsets[r + 1], rounds.time_seconds[r]
        scale = q * math.sqrt(rounds.weight[r] * rounds.precision[r]) if one_game else q
        prefetch_next(i, j, player, store.mu, store.n_rounds)
        diffuse_rows(i, j, player, time_seconds, idle, store, prior)
        if len(advantage) > 0:
            to_strengths(i, j, advantage, prior.mu, rating)
        if margin.kind > 0 and j - i > 2:
            count_pairs(i, j, rounds, scale, margin, prior.mu, prior.sigma, g, surprise, information)
        else:
            pairwise_sums_directly(i, j, rounds.lo, rounds.hi, scale, prior.mu, prior.sigma, g, surprise, information)
            if len(rounds.score) > 0 and 0.5 < rounds.score[r] < 1.0:
                sum_game(i, rounds.score[r], scale, prior.mu, prior.sigma, surprise, information)
            if margin.kind > 0 and j - i == 2:
                count_games(r, r + 1, rounds, margin, prior.mu, surprise, information)
        if len(advantage) > 0:
            restore_ratings(i, j, rating, prior.mu)
        if one_game:
            for k in range(i, j):
                surprise[k], information[k] = surprise[k] / (j - i), 0.25
        absorb_rows(i, j, player, time_seconds, scale, prior, surprise, information, store, outcome)


SYSTEM = System(
    name="glicko", performs=False, params=Glicko, uncertainty=1.0,
    prior=prior, summarise=summarise, absorb=absorb, rate_small=rate_small, small=SMALL,
    reset_rows=reset_beliefs, widens=True,
    win_probability=win_probability, logistic_rate=logistic_rate, performance_law=performance_law, advantages=True,
    margins="pairs", fractional=True, ignores=("weight", "perf_ceiling", "precision"),
)  # fmt: skip
