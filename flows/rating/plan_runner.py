"""Carry out a plan: rate the rounds that it does not keep, commit them, and recover when workers are lost."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np

from ranklake.rating_kernels import System
from ranklake.storage import Dataset, Run

from ..common.configuration.settings import find_system
from ..common.skipping import IN_COMMAND, REASONS, count_ignored, ignored_lines
from ..common.text import count
from ..engines.protocols import Engine, EngineError, WorkersLostError
from ..execution.rater import Rater
from .commits.belief_snapshots import WorkerSnapshots, encode_beliefs
from .commits.commit_policy import CommitPolicy
from .commits.level import Level
from .commits.rated_batch import RatedBatch
from .commits.segment_writer import SegmentWriter
from .commits.snapshot_schedule import SnapshotSchedule
from .config import RunConfig
from .plan import Plan
from .rating_pass import RatingPass
from .replay import Difference, largest
from .report import Progress, RateReport

RECOVERIES = 5  # maximum number of consecutive recoveries without a committed round

log = logging.getLogger("ranklake.rate")


class PlanRunner:
    """Rates and commits the rounds of one run's plan.

    ``run``: the run in the lake, under a lease, without the rounds that the plan does not keep.
    """

    def __init__(
        self, dataset: Dataset, config: RunConfig, plan: Plan, run: Run, engine: Engine, policy: CommitPolicy
    ) -> None:
        # run.json has the exclusions now: a later plan must not apply them again
        self._config = dataclasses.replace(config, exclude=(), include=())
        self._dataset, self._plan, self._run, self._engine, self._policy = dataset, plan, run, engine, policy
        self._system = find_system(config.system)
        self._contest_ids: list[str] = dataset.contests.column("contest_id").to_pylist()
        self._counters = _RoundCounters(self._system, plan.kept, dataset.n_players)
        self._replayed = self._recoveries = 0
        self._damaged_snapshots: list[str] = []
        self._accepted: list[Difference] = []
        self._phases: dict[str, tuple[float, int]] = {}
        self._left_out: dict[str, str] = {}
        self._worker_snapshots = WorkerSnapshots(run, policy.worker_snapshot_players, dataset.n_players)

    def complete(self, on_progress: Callable[[Progress], None], began: float) -> RateReport:
        """Rate all rounds, and recover when workers are lost; seconds are counted from ``began``.

        Raises EngineError: there are no workers, or they were lost too often without a new round.
        """
        without_new_round = 0
        while True:
            try:
                self._rate_missing_rounds(on_progress, began)
                return self._report(time.perf_counter() - began)
            except WorkersLostError as lost:
                kept = self._plan.kept
                self._plan_again()
                without_new_round = 0 if self._plan.kept > kept else without_new_round + 1
                if without_new_round >= RECOVERIES:
                    why = f"{lost}, {RECOVERIES} times without a new round"
                    raise given_up(self._run.name, why, self._plan.kept) from lost
                self._recoveries += 1
                log.warning(
                    "run %s: %s; recovery %d, from round %d", self._run.name, lost, self._recoveries, self._plan.kept
                )
            except EngineError as error:
                if not self._recoveries:
                    raise
                raise given_up(self._run.name, str(error), self._plan.kept) from error

    def _rate_missing_rounds(self, on_progress: Callable[[Progress], None], began: float) -> None:
        """Resume from the newest snapshot, then rate and commit the rounds that the plan does not keep."""
        plan, run, contests = self._plan, self._run, self._dataset.contests
        rating_pass = RatingPass(
            run, self._dataset, self._system, self._config.params, plan.skipping, self._engine, plan.excluded,
            self._policy,
        )  # fmt: skip
        self._left_out |= rating_pass.rater.left_out
        try:
            replayed = self._resume(rating_pass)
            start = plan.kept
            schedule = SnapshotSchedule(contests, start, plan.n_rounds, start - replayed - 1, self._policy)
            rows = plan.rows_from_kept(self._dataset)
            pass_began = time.perf_counter()
            with SegmentWriter(run, self._contest_ids, plan.digests, self._policy) as writer:
                for stop in schedule.stops:
                    for batch in rating_pass.rate(start, stop):
                        writer.add(batch)
                        self._counters.add(batch)
                        done, n_rows = int(rows[batch.stop]), int(rows[-1])
                        on_progress(Progress(batch.stop, plan.n_rounds, done, n_rows, time.perf_counter() - began))
                    writer.close()
                    if schedule.due(stop, time.perf_counter() - pass_began):
                        writer.snapshot(stop - 1, self._snapshot(rating_pass.rater, stop - 1), schedule)
                    start = stop
        finally:
            self._add_phases(rating_pass)
            rating_pass.rater.close()

    def _snapshot(self, rater: Rater, last_round: int) -> Callable[[str], None]:
        """A function that commits the current beliefs, given their chain digest."""
        if parts := self._worker_snapshots.write(rater, last_round):
            return partial(self._run.commit_parts, last_round, parts)
        if encoded := encode_beliefs(rater):
            return partial(self._run.write_encoded, last_round, encoded)
        return partial(self._run.write_snapshot, last_round, rater.columns())

    def _resume(self, rating_pass: RatingPass) -> int:
        """Restore the beliefs after the kept rounds; return the number of rounds computed again."""
        accept_rounding = self._plan.config.get("accept_rounding", False)
        replayed = rating_pass.resume(self._run, self._plan.kept, self._plan.digests, accept_rounding)
        self._accepted += rating_pass.accepted
        self._replayed += replayed
        for last_round in rating_pass.damaged_snapshots:
            self._run.remove_snapshot(last_round)
            self._damaged_snapshots.append(self._run.path_of_snapshot(last_round))
        return replayed

    def _plan_again(self) -> None:
        """Update the plan to the rounds and snapshots committed by now."""
        now = Plan.of(self._dataset.lake, self._config, self._dataset, self._plan.n_rounds)
        self._plan = dataclasses.replace(self._plan, kept=now.kept, snapshots=now.snapshots, run=self._run)

    def _add_phases(self, rating_pass: RatingPass) -> None:
        for phase, (seconds, times) in rating_pass.rater.phases.items():
            seconds_before, times_before = self._phases.get(phase, (0.0, 0))
            self._phases[phase] = seconds_before + seconds, times_before + times

    def _warnings(self) -> tuple[str, ...]:
        drift = self._counters.level.warning(self._config.system, self._config.params)
        return (*ignored_lines(self._system, self._counters.ignored, IN_COMMAND), *filter(None, (drift,)))

    def _report(self, seconds: float) -> RateReport:
        counters, plan = self._counters, self._plan
        return RateReport(
            kept=counters.start,
            replayed=self._replayed,
            rated=plan.n_rounds - counters.start,
            skipped=counters.skipped.total(),
            rows=counters.rows,
            seconds=seconds,
            why=plan.why,
            violations=dict(counters.violations),
            excluded=int(np.count_nonzero(plan.excluded[counters.start : plan.n_rounds])),
            damaged_snapshots=tuple(self._damaged_snapshots),
            recoveries=self._recoveries,
            phases=self._phases,
            reasons=dict(counters.skipped),
            warnings=self._warnings(),
            holds=plan.holds,
            left_out=self._left_out,
            rounding=largest(self._accepted),
        )


def given_up(run: str, why: str, committed: int) -> EngineError:
    """The error of a run without workers, with the number of rounds in the lake."""
    return EngineError(
        f"run {run}: {why}; {count(committed, 'round')} committed: start workers and repeat the command to continue"
    )


class _RoundCounters:
    """Counters over the rounds from ``start`` on; a round that is rated again after a recovery counts once.

    ``start``.
    ``rows``: participations rated, without unrated ones.
    ``skipped``: rounds skipped because of their places, by reason.
    ``level``: level of the ratings over the years.
    ``violations``: violations of the system's invariants, by invariant.
    ``ignored``: rounds with a value of a column that the system ignores, by column.
    """

    def __init__(self, system: System, start: int, n_players: int) -> None:
        self.level = Level(n_players)
        self._system, self.start, self._until = system, start, start
        self.rows = 0
        self.skipped: Counter[str] = Counter()
        self.violations: Counter[str] = Counter()
        self.ignored: Counter[str] = Counter()

    def add(self, rated: RatedBatch) -> None:
        """Add the rounds of a batch that are not counted yet."""
        known = max(self._until - rated.start, 0)
        informative, at = rated.informative[known:], int(np.count_nonzero(rated.informative[:known]))
        if not len(informative):
            return
        first_round = int(rated.first_rounds[at])
        rounds = rated.rounds.part(first_round, len(rated.rounds)) if known else rated.rounds
        first = rated.rounds.n_rows - rounds.n_rows
        for reason, text in REASONS.items():
            if n := int(np.count_nonzero(rated.reasons[known:] == reason)):
                self.skipped[text] += n
        outcome = rated.outcome.part(first, rated.rounds.n_rows)
        if rounds.roles.any():
            rounds, outcome = rounds.rated_only(), outcome.select(rounds.are_rated)
        self.rows += rounds.n_rows
        self.ignored.update(count_ignored(self._system, rounds))
        self.violations.update(self._system.violations(rounds, outcome))
        self.level.add(rounds, outcome)
        self._until = rated.stop
