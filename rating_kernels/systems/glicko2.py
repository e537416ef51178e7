"""Glicko-2, with every pair of a contest as one game: Glicko with a volatility for each player.

Source: Glickman, "Example of the Glicko-2 system" (2012, glicko.net/glicko/glicko2.pdf). A contest is a rating period.
With its sums (:mod:`.pairwise`: v is 1 / information, Delta is surprise / information) and f = sigma / scale,

    s' = the new volatility (step 5)                         f*^2 = f^2 + s'^2
    1 / f'^2 = 1 / f*^2 + information                        mu' = mu + scale f'^2 surprise

His RD is our ``sigma``, and ``vol`` is the volatility s. A player that loses on purpose gets a higher volatility and
climbs faster afterwards: a lower place may pay later. As in Glicko, the games of one contest are assumed independent;
with hundreds of participants volatilities diverge, and ratings with them. Contests have no weights. All ratings but
``vol`` in rating points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.beliefs import Beliefs, Map, prefetch_next
from ..core.jit import exact
from ..core.limits import POINTS, choice, finite, later, positive
from ..core.margins import MarginParams, margin_rule
from ..core.parts import keep_belief, prior_of, read_belief
from ..core.standings import Conditions, Floats, Rounds
from ..core.system import ConvergenceError, Outcome, PerformanceLaw, Prior, System, check_limits
from ..fields.advantages import restore_ratings, to_strengths
from ..inference.diffusion import elapsed_days
from ..inference.game_performance import end_of_games
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
    sum_each_game,
    sum_games,
)
from ..inference.period_games import SEQUENTIAL, SIMULTANEOUS, are_simultaneous, rate_periods
from ..inference.resets.ratings import reset_beliefs
from ..inference.volatility import ROWS, new_volatilities
from ..inference.win_probability import curve_law, glicko_rate, glicko_win_probability
from .glicko import check_idle, check_time

SCALES = {"printed": 173.7178, "exact": 400.0 / math.log(10.0)}  # rating points a unit of the Glicko-2 scale


@dataclass(frozen=True, slots=True)
class Glicko2(MarginParams):
    """Hyperparameters of Glicko-2.

    Attributes
    ----------
    tau : float
        Rate of change of volatility; 0.3 to 1.2 are reasonable.
    scale : str
        Rating points a unit: "printed" is the 173.7178 of the paper, "exact" 400 / ln 10.
    period_days : float or None
        Length of a rating period in days; idle time then counts. A contest is one period, so the first period since the
        last contest adds nothing. Every further one, or part of one, adds vol^2 to f^2 before the contest, as step 6
        does for idle players. None: only periods with a contest count.
    mu_init : float
        Rating of a newcomer.
    sigma_init : float
        Standard deviation of a newcomer's skill around ``mu_init``.
    vol_init : float
        Volatility of a newcomer: standard deviation of the change of a skill in a period, in units of ``scale``.
    games : str
        Of a data set of games: "sequential" rates one game after the other, "simultaneous" all games of a period
        against the ratings at its beginning. A contest is always one period.
    """

    tau: float = field(default=0.5, metadata=positive())
    scale: str = field(default="printed", metadata=choice("printed", "exact"))
    period_days: float | None = field(default=None, metadata=positive("days"))
    mu_init: float = field(default=1500.0, metadata=finite(POINTS))
    sigma_init: float = field(default=350.0, metadata=positive(POINTS))
    vol_init: float = field(default=0.06, metadata=positive())
    games: str = field(default=SEQUENTIAL, metadata=later(choice(SEQUENTIAL, SIMULTANEOUS)))

    def __post_init__(self) -> None:
        check_limits(self)


def state(params: Glicko2, mu: Floats, sigma: Floats) -> dict[str, Floats]:
    """A newcomer's volatility."""
    return {"vol": np.full_like(mu, params.vol_init)}


def win_probability(params: Glicko2, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """Expected score of a game with both deviations, as in Glicko."""
    return glicko_win_probability(1.0 / SCALES[params.scale], one, other)


def logistic_rate(params: Glicko2, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """Natural units of odds a rating point, with both deviations."""
    return glicko_rate(1.0 / SCALES[params.scale], one, other)


def performance_law(params: Glicko2, conditions: Conditions, participants: Any, prior: Prior) -> PerformanceLaw:
    """Logistic, of the variance of the expected score's curve."""
    return curve_law(1.0 / SCALES[params.scale], prior, uncertain=True)


def prior(params: Glicko2, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 6, for each idle period since the last contest if idle time counts."""
    _diffuse_rows(
        start, stop, round.n_rows, round.player, round.columns.time_seconds, _rule(params), beliefs.store,
        beliefs.column("vol"), prior,
    )  # fmt: skip


def summarise(params: Glicko2, prior: Prior, round: Rounds, map: Map) -> GameSums:
    """Steps 3 and 4: surprise and information of each player's games against all others."""
    return pairwise_sums(prior.mu, prior.sigma, round.lo, 1.0 / SCALES[params.scale], map)


def absorb(
    params: Glicko2, beliefs: Beliefs, round: Rounds, prior: Prior, summary: GameSums, start: int, stop: int,
    outcome: Outcome,
) -> None:  # fmt: skip
    """Steps 5 to 8: the new volatility, deviation and rating."""
    failed = _absorb_rows(
        start, stop, round.n_rows, round.player, round.columns.time_seconds, _rule(params), prior, summary.surprise,
        summary.information, beliefs.store, beliefs.column("vol"), outcome,
    )  # fmt: skip
    _raise_if_failed(failed)


def rate_small(params: Glicko2, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All steps for many small rounds in sequence, in one kernel call; or for periods of simultaneous games."""
    if are_simultaneous(params.games, rounds):
        rate_periods(partial(_rate_period, params, beliefs), beliefs, rounds, outcome)
        return
    failed = _rate_each(
        rounds.columns, _rule(params), margin_rule(params), beliefs.store, beliefs.column("vol"), outcome
    )
    _raise_if_failed(failed)


def rate_games(
    params: Glicko2,
    beliefs: Beliefs,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    score: npt.ArrayLike,
    time_seconds: int | None = None,
) -> Period:
    """Rate one period given as single games; arguments as for :func:`.glicko.rate_games`."""
    now = check_time(params.period_days, time_seconds)
    period, games = gather_games(beliefs, a, b, score)
    _rate_period(params, beliefs, period, games, now, Outcome.empty(len(period.player)))
    return period


def _rate_period(
    params: Glicko2, beliefs: Beliefs, period: Period, games: PeriodGames, now: int, found: Outcome
) -> None:
    """All steps for one period of games; see :data:`.period_games.RatePeriod`."""
    m, rule, time_seconds, prior = len(period.player), _rule(params), np.array([now]), found.prior
    store, vol = beliefs.store, beliefs.column("vol")
    _diffuse_rows(0, m, m, period.player, time_seconds, rule, store, vol, prior)
    sum_games(games, 1.0 / rule.scale, margin_rule(params), prior.mu, prior.sigma, period.surprise, period.information)
    failed = _absorb_rows(
        0, m, m, period.player, time_seconds, rule, prior, period.surprise, period.information, store, vol, found
    )
    _raise_if_failed(failed)


def sit_out(params: Glicko2, beliefs: Beliefs, rows: npt.NDArray[np.integer], periods: float = 1.0) -> None:
    """Step 6 only, for players without games in a period; arguments as for :func:`.glicko.sit_out`."""
    check_idle(params.period_days, periods)
    drift = SCALES[params.scale] * beliefs.state["vol"][rows]
    beliefs.sigma[rows] = np.sqrt(beliefs.sigma[rows] ** 2 + drift**2 * periods)


class Glicko2Rule(NamedTuple):
    """Hyperparameters for kernels: rating points a unit, rate of change of volatility, and periods a day."""

    scale: float
    tau: float
    periods_a_day: float


def _rule(params: Glicko2) -> Glicko2Rule:
    periods_a_day = 0.0 if params.period_days is None else 1.0 / params.period_days
    return Glicko2Rule(SCALES[params.scale], params.tau, periods_a_day)


def _raise_if_failed(failed: int) -> None:
    if failed >= 0:
        raise ConvergenceError("no volatility found")


@exact
def _diffuse_rows(begin, end, per_round, player, time_seconds, rule, store, vol, prior):
    """Steps 1 and 6 for rows ``player[begin:end]``, of rounds of ``per_round`` rows with these times."""
    sigma = store.sigma
    for i in range(begin, end):
        row = player[i]
        now = time_seconds[(i - begin) // per_round]
        idle = max(elapsed_days(now, store.last_time[row]) * rule.periods_a_day - 1.0, 0.0)
        drift = rule.scale * vol[row]
        sigma[row] = math.sqrt(sigma[row] * sigma[row] + drift * drift * idle)
        read_belief(i, row, store, prior)


@exact
def _absorb_rows(
    begin, end, per_round, player, time_seconds, rule, prior, surprise, information, store, vol, outcome
):  # fmt: skip
    """Steps 5 to 8 for rows ``player[begin:end]``, of rounds of ``per_round`` rows with these times.

    Returns -1, or the first index without a new volatility; no row of its round from there on is written.
    """
    scale, tau, _ = rule
    before, f2, changed = np.empty(ROWS), np.empty(ROWS), np.empty(ROWS)
    for first in range(begin, end, ROWS):
        n = min(ROWS, end - first)
        for k in range(n):
            f = prior.sigma[first + k] / scale
            before[k], f2[k] = vol[player[first + k]], f * f
        new_volatilities(n, before, f2, surprise[first : first + n], information[first : first + n], tau, changed)
        failed = -1
        for k in range(n - 1, -1, -1):
            failed = failed if changed[k] >= 0.0 else first + k
        stop = first + n if failed < 0 else max(first, failed - (failed - begin) % per_round)
        for i in range(first, stop):
            row, k = player[i], i - first
            variance = 1.0 / (1.0 / (f2[k] + changed[k] * changed[k]) + information[i])
            vol[row] = changed[k]
            mu = prior.mu[i] + scale * variance * surprise[i]
            sigma = scale * math.sqrt(variance)
            keep_belief(i, row, mu, sigma, time_seconds[(i - begin) // per_round], store, outcome)
        if failed >= 0:
            return failed
    return -1


@exact
def _rate_each(rounds, rule, margin, store, vol, outcome):
    """Consecutive games of two without a common player take each step together: they fill vector registers."""
    offsets, player, advantage, n = rounds.offsets, rounds.player, rounds.advantage, len(rounds.player)
    g, rating, surprise, information = np.empty(SMALL), np.empty(SMALL), np.empty(n), np.empty(n)
    prior, unit = prior_of(outcome, np.empty(0)), 1.0 / rule.scale
    r = 0
    while r < len(offsets) - 1:
        stop = end_of_games(r, offsets, player, offsets)
        i, j = offsets[r], offsets[stop]
        per_round, time_seconds = offsets[r + 1] - i, rounds.time_seconds[r:stop]
        prefetch_next(i, j, player, store.mu, store.n_rounds)
        _diffuse_rows(i, j, per_round, player, time_seconds, rule, store, vol, prior)
        if len(advantage) > 0:
            to_strengths(i, j, advantage, prior.mu, rating)
        if per_round == 2:
            sum_each_game(
                i, stop - r, rounds.lo, rounds.score[r:stop], unit, prior.mu, prior.sigma, surprise, information
            )
            if margin.kind > 0:
                count_games(r, stop, rounds, margin, prior.mu, surprise, information)
        elif margin.kind > 0:
            count_pairs(i, j, rounds, unit, margin, prior.mu, prior.sigma, g, surprise, information)
        else:
            pairwise_sums_directly(i, j, rounds.lo, rounds.hi, unit, prior.mu, prior.sigma, g, surprise, information)
        if len(advantage) > 0:
            restore_ratings(i, j, rating, prior.mu)
        failed = _absorb_rows(
            i, j, per_round, player, time_seconds, rule, prior, surprise, information, store, vol, outcome
        )
        if failed >= 0:
            return failed
        r = stop
    return -1


SYSTEM = System(
    name="glicko2", performs=False, params=Glicko2, state=state, uncertainty=1.0,
    prior=prior, summarise=summarise, absorb=absorb, rate_small=rate_small, small=SMALL,
    reset_rows=reset_beliefs, widens=True,
    win_probability=win_probability, logistic_rate=logistic_rate, performance_law=performance_law, advantages=True,
    margins="pairs", fractional=True, ignores=("weight", "perf_ceiling", "precision"),
)  # fmt: skip
