"""One cell of a benchmark: one system on one history, rated, timed and scored."""

from __future__ import annotations

import math
import platform
import time
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ranklake.rating_kernels import Outcome, Rounds, System
from ranklake.rating_kernels.core.standings import Floats, Longs

from ..common.configuration.settings import check_simultaneous, check_times, chosen_of, rates_simultaneously
from ..common.margins import check_points_of
from ..common.skipping import Skipping
from ..common.text import count
from ..common.times import spelled
from ..engines.threads import Threads
from ..entrants.scores import Mask
from ..execution.periods import GivenPeriods, Remedies, check_periods, first_period_ahead
from ..execution.raters import open_rater
from ..execution.rounds import check_rounds, rate_rounds
from ..rating.commits.level import Level
from .candidates import Candidate
from .histories import BenchmarkHistory, simultaneous
from .measures import sums_of

_REMEDIES = Remedies(
    "a benchmark reads no attributes of players: give newcomers one, as mu_init=1500",
    "give a data set of games with a longer --period",
    "leave the column of advantages out",
)
Status = Literal["rated", "not possible", "diverges", "failed"]


@dataclass(frozen=True, eq=False, slots=True)
class Cell:
    """The result of one system on one history.

    ``status``: ``rated``; ``not possible``: the system has no rule for such contests; ``diverges``: a rating became no
    number; ``failed``: the code of a system of another package raised an error.
    ``reason``: of a cell without ratings; else empty.
    ``seconds``, ``machine``: of rating once, with all kernels compiled; with how many threads, and where.
    ``drift``: of the level, rating points a year; NaN for fewer than three years.
    ``sums`` (float64[units, columns], by filter): see :func:`.measures.sums_of`.
    """

    status: Status
    reason: str = ""
    seconds: float = math.nan
    machine: str = ""
    drift: float = math.nan
    sums: dict[str, Floats] = field(default_factory=dict)


def measure(history: BenchmarkHistory, candidate: Candidate, skip_share: float, workers: int | None) -> Cell:
    """Rate a history from its beginning and score every contest after the first share, before it is rated.

    ``workers``: threads; by default one for each core.
    Raises EngineError: this process has not the system's code.
    """
    system, params = candidate.system(), candidate.params
    try:
        rounds, kept = _rated_by(system, params, history)
    except ValueError as error:
        return Cell("not possible", _first_line(error))
    try:
        with Threads(workers) as engine:
            outcome, seconds = _rate(system, params, history.n_players, rounds, engine)
            machine = f"{count(engine.workers, 'thread')}, {platform.machine()}"
        level = Level(history.n_players)
        level.add(rounds, outcome)
        sums = sums_of(system, params, history, rounds, kept, outcome, skip_share)
    except ArithmeticError as error:
        return Cell("diverges", _first_line(error))
    except Exception as error:
        if not candidate.own:
            raise
        return Cell("failed", f"{type(error).__name__}: {_first_line(error)}")
    return Cell("rated", "", seconds, machine, level.drift(), sums)


def _rated_by(system: System, params: Any, history: BenchmarkHistory) -> tuple[Rounds, Mask]:
    """The rounds that a system rates, and a mask of them; ``ValueError`` if it has no rule for some of them."""
    if history.periods is None:
        check_simultaneous(system, params, "the history has contests, and a contest is always one period")
    else:
        _check_periods(system, params, history, history.periods)
    if not history.timed:
        check_times(type(params), chosen_of(params), "the history has no times")
    kept = Skipping.of(system).keep(history.rounds)
    rounds = history.rounds.keep(kept)
    if history.periods is not None and rates_simultaneously(params):
        rounds = simultaneous(rounds, history.periods)
    check_rounds(system, params, rounds)
    check_points_of(params, rounds, "the history")
    return rounds, kept


def _check_periods(system: System, params: Any, history: BenchmarkHistory, periods: Longs) -> None:
    """Refuse periods that the system cannot rate; a period has the name of its last day."""
    rounds, starts = history.rounds, periods[:-1]
    ends = rounds.time_seconds[periods[1:] - 1]
    where, ahead = f"history {history.name}", first_period_ahead(rounds, starts)
    given = GivenPeriods(where, ends, lambda at: f"to {spelled(int(ends[at]))}", False, ahead, _REMEDIES)
    check_periods(system, getattr(params, "mu_init", 0.0), given)


def _rate(system: System, params: Any, n_players: int, rounds: Rounds, engine: Threads) -> tuple[Outcome, float]:
    """The outcome, and the seconds that rating took."""
    sizes = np.diff(rounds.offsets)
    for at in sorted({int(np.argmin(sizes)), int(np.argmax(sizes))}) if len(sizes) else ():
        few = rounds.part(at, at + 1)  # loads the kernels, or compiles those of a system of another package
        rate_rounds(system, params, system.newcomers(params, n_players), few, engine)
    rater, began = open_rater(system, params, n_players, engine), time.perf_counter()
    [outcome] = rater.rate_batches([rounds])
    return outcome, time.perf_counter() - began


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
