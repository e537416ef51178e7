"""Games of a frame in periods: which contests of two are rated at the same time, as ``ingest games`` makes periods."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ranklake.rating_kernels import Rounds, System
from ranklake.rating_kernels.inference.period_games import SIMULTANEOUS

from ..common.configuration.settings import rates_simultaneously
from ..common.text import described
from ..execution.periods import GivenPeriods, Remedies, check_periods
from ..sources.games.periods import PERIODS, number_of_period, period_name
from .results import Results

PeriodName = Literal["hour", "day", "week", "month", "year"]

_REMEDIES = Remedies(
    "give some, as beliefs={'ann': 1830}, or let all begin with one, as mu_init=1500",
    "name a longer period, as period='month'",
    "leave them out",
)


def check_period(period: Any, system: System, params: Any) -> None:
    """Raise ``ValueError`` unless the games of periods are rated at the same time, and a period is named."""
    if period is not None and period not in PERIODS:
        raise ValueError(f"period must be one of {', '.join(PERIODS)}, got {described(period)}")
    chosen = system.name if system.periods else f"games={SIMULTANEOUS}"
    if rates_simultaneously(params) and period is None and system.all_games is None:
        raise ValueError(f"{chosen} rates all games of a period at the same time: name it, as period='month'")
    if period is not None and not rates_simultaneously(params):
        raise ValueError(
            f"period={period!r} is for fide, and for games={SIMULTANEOUS} of glicko and glicko2; {system.name} rates "
            "one game after the other: leave period out"
        )


def in_periods(results: Results, system: System, params: Any, last_time: int, some_rated: bool) -> Rounds:
    """The games of a frame, of which those of one period are one event.

    ``last_time``: the end of the last game before these, UTC seconds; 0 for none.
    ``some_rated``: whether a player has a rating, or games were rated before.
    Raises ValueError: a contest is no game of two, has no time, or follows a later one; the first period has rated
    games already; or the system cannot rate such periods. The message names the contest.
    """
    rounds, period = results.rounds, str(results.reading.period)
    no_game = (np.diff(rounds.offsets) != 2) | rounds.with_unrated | rounds.of_teams
    for bad, fault in (
        (no_game, f"period={period!r} is for games of two rated players, and this is another contest"),
        (np.isfinite(results.limits).any(axis=1), f"period={period!r} is for games without a range of ratings"),
        (rounds.time_seconds == 0, f"period={period!r} needs the time of each game, and this one has none"),
        (
            np.append(False, np.diff(rounds.time_seconds) < 0),
            f"period={period!r} needs games in order of time, and this one is earlier than the one before; sort them",
        ),
    ):
        if bad.any():
            raise ValueError(f"contest {results.contest(int(np.argmax(bad)))}: {fault}")
    number = number_of_period(rounds.time_seconds, period)
    if last_time and number_of_period(np.array([last_time]), period)[0] >= number[0]:
        name = period_name(int(number[0]), period)
        raise ValueError(
            f"contest {results.contest(0)}: the period {name} has rated games already, and all games of a period are "
            "rated at the same time; rate whole periods"
        )
    starts = np.flatnonzero(np.diff(number, prepend=number[0] - 1))
    ends = rounds.time_seconds[np.append(starts[1:], len(rounds)) - 1]
    given = GivenPeriods(
        "the results", ends, lambda at: period_name(int(number[starts[at]]), period), some_rated, None, _REMEDIES
    )
    check_periods(system, params.mu_init, given)
    return replace(rounds, event=np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(rounds)))))
