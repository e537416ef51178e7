"""Rate the contests of a frame in memory: initial beliefs and results in, every participation and final beliefs out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranklake.rating_kernels import Beliefs, ConvergenceError, Outcome, Rounds, System
from ranklake.rating_kernels.core.standings import OUTSIDE, RATED
from ranklake.storage.datasets.rating_limits import in_range

from ..common.adapters import concat_rounds, places_among_rated
from ..common.configuration.settings import check_first_times, check_rounds_matter, check_times, chosen_of
from ..common.margins import check_points_of, count_points, points_lines
from ..common.skipping import IN_PYTHON, Skipping, count_ignored, count_reasons, ignored_lines, skipped_text
from ..common.text import described
from ..common.times import spelled
from ..compilation.compile import compile_kernels
from ..engines.factory import ENGINES, open_engine
from ..engines.protocols import Engine, EngineError, WorkersLostError
from ..engines.threads import Threads
from ..execution.outcomes import RoundError, named_error
from ..execution.rater import BeliefColumns, Rater
from ..execution.raters import open_rater
from ..execution.rounds import check_teams
from ..rating.eligibility import CurrentRatings, cut_at
from ..results.display import Display
from .beliefs import HasBeliefs, InitialBeliefs, PlayerBeliefs
from .notebook import warn_user
from .periods import check_period, in_periods
from .results import ABOUT_RATED, NO_TIMES, Results

_VALUES = ("perf", "mu_prior", "sigma_prior", "mu", "sigma", "n_before")
RECOVERIES = 5  # from the start: a history in memory has no snapshots

log = logging.getLogger("ranklake.rate")


class _RatedRounds(NamedTuple):
    """The rated contests, and for every contest the reason why it was skipped, 0 for none."""

    reasons: npt.NDArray[np.uint8]
    rounds: Rounds
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class RatedResults:
    """Contests of a frame, rated.

    ``reasons`` (uint8[contests]): why a contest was skipped; 0 for those that were rated.
    ``rated``: the rated contests, with their unrated participants.
    ``beliefs``: beliefs after the last contest, of all players.
    """

    results: Results
    reasons: npt.NDArray[Any]
    rated: Rounds
    outcome: Outcome
    beliefs: PlayerBeliefs

    def rows(self) -> npt.NDArray[np.int64]:
        """The row of the frame behind each participation in a rated contest."""
        skipped = self.reasons != 0
        sizes = np.diff(self.results.rounds.offsets)
        return self.results.rows[np.repeat(~skipped, sizes)] if skipped.any() else self.results.rows

    def columns(self, first_round: int = 0) -> dict[str, Any]:
        """The table of ratings, one row a participation in rating order."""
        lo, hi = places_among_rated(self.rated)
        values = {"lo": lo, "hi": hi} | {name: getattr(self.outcome, name) for name in _VALUES}
        table = self.results.table(self.rows(), self.reasons, self.rated, values, first_round)
        says_rated = not self.results.columns.keys().isdisjoint(ABOUT_RATED)
        return table | ({"rated": self.rated.are_rated} if says_rated else {})

    def attributes(self) -> dict[str, Any]:
        """What happened on the way: contests skipped, by reason, left out, and violated invariants."""
        rounds, outcome = self.rated, self.outcome
        if rounds.roles.any():
            rounds, outcome = rounds.rated_only(), outcome.select(rounds.are_rated)
        return self.results.skipped(self.reasons) | {"violations": self.beliefs.system.violations(rounds, outcome)}


def rate_results(
    results: Results,
    system: str | None = None,
    hyperparameters: Mapping[str, Any] | None = None,
    *,
    engine: Any = "threads",
    workers: int | None = None,
    beliefs: Mapping[Any, float] | pd.DataFrame | HasBeliefs | PlayerBeliefs | None = None,
    display: Mapping[str, float] | None = None,
) -> RatedResults:
    """Rate all contests; see :func:`.history.rate_history`.

    ``display``: numbers of the display rating, which decides about limits, in place of those of the system.
    """
    results.refuse_columns_in(hyperparameters or {})
    initial = InitialBeliefs.open(beliefs, system, hyperparameters or {})
    rating_system, params = initial.system, initial.params
    if beliefs is not None:
        check_rounds_matter(rating_system, "beliefs to begin with: give it all games")
    if not results.timed:
        check_times(rating_system.params, chosen_of(params, hyperparameters or ()), NO_TIMES)
    check_period(results.reading.period, rating_system, params)
    n_events, last_time = initial.last_event
    if n_events and not last_time and results.timed:
        check_first_times(params, "the contests before have no times: columns={'time': ''} leaves those of these out")
    if last_time != 0 and "time" not in results.columns:
        warn_user("results have no column time, and beliefs have times: no time passes before the contests")
    first = int(results.rounds.time_seconds[0])
    if 0 not in (first, last_time) and first < last_time:
        back = f"time goes back at the first contest, to {spelled(first)} from {spelled(last_time)}"
        warn_user(f"{back}, the end of the last rated one; the order was kept as given")
    check_points_of(params, results.rounds, "the frame", "name their column of scores, as by score='goals'")
    store, players = initial.store(results.players)
    initial.warn_of_lost_record(system)
    first_event = n_events - (n_events > 0 and 0 != last_time == first)
    rounds = results.rounds
    if results.reading.period is not None:
        some_rated = n_events > 0 or bool((store.mu != params.mu_init).any())
        rounds = in_periods(results, rating_system, params, last_time, some_rated)
    rounds = replace(rounds, event=rounds.event + first_event)
    check_teams(rating_system, rounds)
    skipping = Skipping.of(rating_system, results.reading.skip_uninformative)
    numbers: dict[str, Any] = {"deviations": rating_system.deviations, **(display or {})}
    shown = Display(rating_system, params, **numbers)

    def named(error: RoundError, rated: Rounds, at: int) -> ConvergenceError:
        player = None if error.player is None else str(players[error.player])
        remedy = "choose other hyperparameters, or leave the contest out"
        return named_error(error, rating_system, params, rated, str(results.contest(at)), at, player, remedy)

    def rate_all(rater: Rater) -> _RatedRounds:
        start = partial(CurrentRatings, shown, store)
        return _rate_in_order(rater, rounds, results.limits, skipping, start, named)

    with open_given_engine(engine, workers) as opened_engine:
        if isinstance(opened_engine, Threads):
            compile_kernels(rating_system.name, np.diff(rounds.offsets))
        rated, columns = _with_recovery(rating_system, params, store, opened_engine, rate_all)
    for line in ignored_lines(rating_system, count_ignored(rating_system, rated[1]), IN_PYTHON):
        warn_user(line)
    for line in points_lines(params, count_points(params, rated[1])):
        warn_user(line)
    if rated[0].all():
        warn_user(f"no contest was rated{skipped_text(count_reasons(rated[0]))}")
    last = int(rounds.event[-1]) + 1, int(rounds.time_seconds[-1])
    final = PlayerBeliefs(rating_system.name, params, players, columns, *last)
    return RatedResults(results, *rated, final)


def open_given_engine(engine: Any, workers: int | None) -> Engine:
    """The engine of a name, or of a Dask client."""
    if isinstance(engine, str):
        return open_engine(engine, workers)
    if not hasattr(engine, "scheduler"):
        raise ValueError(f"engine must be one of {', '.join(ENGINES)} or a Dask client, got {described(engine)}")
    from ..engines.cluster import Cluster

    return Cluster.of(engine)


def _with_recovery(
    system: System, params: Any, store: Beliefs, opened_engine: Engine, rate: Callable[[Rater], _RatedRounds]
) -> tuple[_RatedRounds, BeliefColumns]:
    """Rate all rounds and return the final beliefs, too; begin again from the start when workers are lost."""
    for attempt in range(1, RECOVERIES + 2):
        try:
            rater = open_rater(system, params, len(store), opened_engine)
            try:
                rater.restore(store.columns())
                return rate(rater), rater.columns()
            finally:
                rater.close()
        except WorkersLostError as lost:
            if attempt > RECOVERIES:
                raise EngineError(f"{lost}, {attempt} times; nothing was rated") from lost
            log.warning("%s; recovery %d, from the start", lost, attempt)
    raise AssertionError("unreachable")


def _rate_in_order(
    rater: Rater,
    rounds: Rounds,
    limits: npt.NDArray[np.float64],
    skipping: Skipping,
    start: Callable[[], CurrentRatings],
    named: Callable[[RoundError, Rounds, int], ConvergenceError],
) -> _RatedRounds:
    """Rate rounds from the beliefs of a rater on; all rounds without limits are one batch.

    ``start``: the ratings before the first round; called only if a round has limits.
    ``named``: the error for the participant in a round, given the rated rounds of the batch and the number of the
    round.
    """
    limited = (limits[:, 0] > -np.inf) | (limits[:, 1] < np.inf)
    ratings = start() if limited.any() else None
    found = list[_RatedRounds]()
    for first, end in cut_at(limited):
        batch = rounds.part(first, end)
        if ratings is not None and limited[first]:
            eligible = in_range(ratings.of(batch.player), *limits[first])
            if not eligible.all():
                roles = np.where(eligible & batch.are_rated, np.uint8(RATED), np.uint8(OUTSIDE))
                batch = replace(batch, roles=roles)
        reasons = skipping.reasons(batch)
        kept = batch.keep(reasons == 0)
        outcome = Outcome.empty(0)
        if len(kept):
            try:
                [outcome] = rater.rate_batches([kept])
            except RoundError as error:
                raise named(error, kept, first + int(np.flatnonzero(reasons == 0)[error.round])) from error
            if ratings is not None:
                ratings.follow(kept, outcome)
        found.append(_RatedRounds(reasons, kept, outcome))
    if len(found) == 1:
        return found[0]
    why, kept_rounds, outcomes = zip(*found, strict=True)
    columns = (np.concatenate(pieces) for pieces in zip(*outcomes, strict=True))
    return _RatedRounds(np.concatenate(why), concat_rounds(kept_rounds), Outcome(*columns))
