"""Carry out a plan: rate the rounds that it does not keep, commit them, and recover when workers are lost."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from ranklake.storage import Run

from ..common.configuration.settings import find_system
from ..common.margins import count_points, points_lines
from ..common.skipping import IN_COMMAND, count_ignored, count_reasons, ignored_lines
from ..common.text import count
from ..engines.protocols import Engine, EngineError, WorkersLostError
from ..entrants.explained import named_players
from ..results.level_shifts import STEADY
from .commits.belief_snapshots import BeliefSnapshots
from .commits.commit_policy import CommitPolicy, SnapshotSchedule
from .commits.level import Level
from .commits.rated_batch import RatedBatch
from .commits.segment_writer import SegmentWriter
from .config import RunConfig
from .learning import Learning
from .plan import Plan
from .rating_pass import RatingPass
from .replay import Difference, largest
from .report import Progress, RateReport

RECOVERIES = 5  # maximum number of consecutive recoveries without a committed round

log = logging.getLogger("ranklake.rate")


class Recoveries:
    """The recoveries of one run from lost workers.

    ``count``: recoveries so far.
    ``committed``: number of rounds in the lake, as far as this is known.
    """

    def __init__(self, run: str, committed: int) -> None:
        self.count, self.committed, self._run, self._in_vain = 0, committed, run, 0

    def after(self, error: EngineError, committed: int) -> None:
        """Count a recovery from the loss of workers, after which so many rounds are committed.

        Raises EngineError: the error is not a loss, or was the last one of too many without a new round.
        """
        if not isinstance(error, WorkersLostError):
            if not self.count:
                raise error
            raise self._given_up(str(error)) from error
        self._in_vain = 0 if committed > self.committed else self._in_vain + 1
        self.committed = committed
        if self._in_vain >= RECOVERIES:
            raise self._given_up(f"{error}, {RECOVERIES} times without a new round") from error
        self.count += 1
        log.warning("run %s: %s; recovery %d, from round %d", self._run, error, self.count, committed)

    def _given_up(self, why: str) -> EngineError:
        rounds, remedy = count(self.committed, "round"), "start workers and repeat the command to continue"
        return EngineError(f"run {self._run}: {why}; {rounds} committed: {remedy}")


class PlanRunner:
    """Rates and commits the rounds of one run's plan, and counts them in a report.

    ``run``: the run in the lake, under a lease, without the rounds that the plan does not keep.
    ``learning``: what learns from the rounds; None: nothing does.
    """

    def __init__(
        self,
        config: RunConfig,
        plan: Plan,
        run: Run,
        engine: Engine,
        policy: CommitPolicy,
        learning: Learning | None = None,
    ) -> None:
        # run.json has the exclusions now: a later plan must not apply them again
        self._config = replace(config, exclude=(), include=())
        self._plan, self._run, self._engine, self._policy, self._learning = plan, run, engine, policy, learning
        self._system, n_players = find_system(config.system), plan.dataset.n_players
        self._contest_ids: list[str] = plan.dataset.contests.column("contest_id").to_pylist()
        self._snapshots = BeliefSnapshots(run, n_players >= policy.worker_snapshot_players)
        self._report = replace(plan.report(), planned=False, replayed=0, rows=0)
        self._counted, self._level, self._ignored = plan.kept, Level(n_players), Counter[str]()
        self._points, self._accepted = Counter[str](), list[Difference]()

    def complete(self, on_progress: Callable[[Progress], None], began: float) -> RateReport:
        """Rate all rounds, and recover when workers are lost; seconds are counted from ``began``.

        Raises EngineError: there are no workers, or they were lost too often without a new round.
        """
        report, recoveries = self._report, Recoveries(self._run.name, self._plan.kept)
        while True:
            try:
                self._rate_missing_rounds(on_progress, began)
                break
            except EngineError as error:
                if isinstance(error, WorkersLostError):
                    self._plan_again()
                recoveries.after(error, self._plan.kept)
        steady = self._plan.config.get("display", {}).get("level") == STEADY
        drift = "" if steady else self._level.warning(self._config.system, self._config.params)
        points = points_lines(self._config.params, self._points)
        report.warnings = (*ignored_lines(self._system, self._ignored, IN_COMMAND), *points, *filter(None, (drift,)))
        report.recoveries, report.rounding = recoveries.count, largest(self._accepted)
        report.seconds = time.perf_counter() - began
        return report

    def _rate_missing_rounds(self, on_progress: Callable[[Progress], None], began: float) -> None:
        """Resume from the newest snapshot, then rate and commit the rounds that the plan does not keep."""
        plan, run, start = self._plan, self._run, self._plan.kept
        rating_pass = RatingPass(run, self._config, plan, self._engine, self._policy, self._learning)
        try:
            replayed = self._resume(rating_pass)
            contests, newest = plan.dataset.contests, start - replayed - 1
            schedule = SnapshotSchedule(contests, start, plan.n_rounds, newest, self._policy)
            rows = plan.rows_from_kept()
            pass_began = time.perf_counter()
            with SegmentWriter(run, self._contest_ids, plan.digests, self._policy) as writer:
                for stop in schedule.stops:
                    for batch in rating_pass.rate(start, stop):
                        writer.add(batch)
                        self._count(batch)
                        done, n_rows = int(rows[batch.stop]), int(rows[-1])
                        on_progress(Progress(batch.stop, plan.n_rounds, done, n_rows, time.perf_counter() - began))
                    writer.close()
                    if schedule.due(stop, time.perf_counter() - pass_began):
                        with named_players(plan.dataset):
                            taken = self._snapshots.take(rating_pass.rater, stop - 1)
                        writer.snapshot(stop - 1, taken, schedule)
                    start = stop
        finally:
            self._report.left_out |= rating_pass.rater.left_out
            for phase, (seconds, times) in rating_pass.rater.phases.items():
                before = self._report.phases.get(phase, (0.0, 0))
                self._report.phases[phase] = before[0] + seconds, before[1] + times
            rating_pass.rater.close()

    def _resume(self, rating_pass: RatingPass) -> int:
        """Restore the beliefs after the kept rounds; return the number of rounds computed again."""
        replayed = rating_pass.resume()
        self._accepted += rating_pass.accepted
        self._report.replayed += replayed
        for last_round in rating_pass.damaged_snapshots:
            self._run.remove_snapshot(last_round)
            self._report.damaged_snapshots += (self._run.path_of_snapshot(last_round),)
        return replayed

    def _plan_again(self) -> None:
        """Update the plan to the rounds and snapshots committed by now."""
        now = Plan.of(self._config, self._plan.dataset, self._plan.n_rounds)
        self._plan = replace(self._plan, kept=now.kept, snapshots=now.snapshots, run=self._run)

    def _count(self, rated: RatedBatch) -> None:
        """Count the rounds of a batch; one that is rated again after a recovery counts once."""
        if rated.stop <= self._counted:
            return
        if rated.start < self._counted:
            rated = rated.part(self._counted - rated.start, rated.stop - rated.start)
        self._counted, report = rated.stop, self._report
        rounds, outcome = rated.rounds, rated.outcome
        if rounds.roles.any():
            rounds, outcome = rounds.rated_only(), outcome.select(rounds.are_rated)
        report.rows += rounds.n_rows
        report.reasons.update(count_reasons(rated.reasons))
        report.violations.update(self._system.violations(rounds, outcome))
        self._ignored.update(count_ignored(self._system, rounds))
        self._points.update(count_points(self._config.params, rounds))
        self._level.add(rounds, outcome)
