"""Static Bradley-Terry as a rating system, in rating points; :mod:`.bradley_terry.params` has the model."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ...bradley_terry.all_games import AllGames
from ...bradley_terry.params import UNIT, BradleyTerry
from ...core.array_system import array_system
from ...core.beliefs import Beliefs
from ...core.standings import Conditions, Floats, Rounds
from ...core.system import Outcome, PerformanceLaw, Prior
from ...inference.pairwise import Period, PeriodGames
from ...inference.period_games import rate_periods
from ...inference.win_probability import curve_law, logistic

_RATE = 1.0 / UNIT


def win_probability(params: BradleyTerry, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """Of a game without covariates; a tie counts half."""
    return logistic(_RATE * (one.mu - other.mu))


def logistic_rate(params: BradleyTerry, conditions: Conditions, one: Prior, other: Prior) -> float:
    """Natural units of odds a rating point."""
    return _RATE


def performance_law(params: BradleyTerry, conditions: Conditions, participants: Any, prior: Prior) -> PerformanceLaw:
    """Of the shape and variance of the curve."""
    return curve_law(_RATE, prior)


def _unchanged(params: BradleyTerry, prior: Prior, round: Rounds) -> tuple[Floats, Floats]:
    return prior.mu, prior.sigma


def rate_small(params: BradleyTerry, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """The beliefs before and after each game are those of the last fit."""
    rate_periods(partial(_rate_period, beliefs), beliefs, rounds, outcome)


def _rate_period(beliefs: Beliefs, period: Period, games: PeriodGames, now: int, found: Outcome) -> None:
    rows = period.player
    found.mu_prior[:] = found.mu[:] = beliefs.mu[rows]
    found.sigma_prior[:] = found.sigma[:] = beliefs.sigma[rows]
    found.n_before[:] = beliefs.n_rounds[rows]
    beliefs.last_time[rows] = now


SYSTEM = replace(
    array_system("bt", BradleyTerry, _unchanged, win_probability, uncertainty=1.0),
    rate_small=rate_small, logistic_rate=logistic_rate, performance_law=performance_law, deviations=0.0, periods=True,
    fractional=True, ignores=("perf_ceiling", "precision"), all_games=AllGames,
    reset_rows="all games are explained at once, whatever their time; make a data set of each season",
)  # fmt: skip
