"""Rate the rounds of a run: keep those that still hold, rate the others, commit as they come.

A round holds while its chain digest does: the digest of its contest's content and of all that came before it,
beginning with the system, its hyperparameters and the format. Whatever changed, a corrected contest, another
hyperparameter, a crash, shows as the first digest that differs; the run is cut there and goes on from the newest
snapshot before it.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ranklake.storage import Dataset, Lake, LakeError, MissingError, Run
from ranklake.storage.lake import layout
from ranklake.storage.leases.lease import Lease, hold_lease

from ..common.adapters import check_contests
from ..common.settings import find_system
from ..compilation.compile import Announce, announce, compile_everything, compile_kernels
from ..engines.protocols import Engine, EngineError, LocalEngine, WorkersLostError
from . import commit_policy
from .chain import NUMERICS
from .commit_policy import CommitPolicy
from .config import RunConfig
from .counters import RoundCounters
from .plan import Plan
from .rating_pass import RatingPass
from .report import Progress, RateReport
from .resolve import refuse_other
from .segment_writer import SegmentWriter
from .snapshot_schedule import SnapshotSchedule

__all__ = ["rate"]

RECOVERIES = 5  # in a row, without a round committed in between

log = logging.getLogger("ranklake.rate")


def rate(
    lake: Lake,
    config: RunConfig,
    engine: Engine,
    max_rounds: int | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    steal: bool = False,
    dry_run: bool = False,
    start: int | None = None,
    on_compile: Announce = announce,
    policy: CommitPolicy | None = None,
) -> RateReport:
    """Bring one run up to date with its data set: keep the rounds that still hold, rate the others.

    Parameters
    ----------
    max_rounds
        Rate only the first so many contests of the data set; rounds committed beyond them stay.
    steal
        Take the run over from a writer who is dead for certain.
    dry_run
        Only tell what would be done; write nothing.
    start
        Rate again from this round on at the latest, whatever is on record.
    on_compile
        Told when kernels have to be compiled first; the report's seconds are without that time.
    policy
        When segments close and snapshots are taken; None is :data:`.commit_policy.DEFAULT`.

    Raises
    ------
    ValueError
        The run is there and computes something else, and is not to be replaced.
    LakeError
        The data set or a contest to be excluded is missing, a newer release rated the run, something is damaged,
        replayed rounds do not give the ratings on record, a number of a contest to rate is out of range, or somebody
        else is writing the run.
    ConvergenceError
        A round cannot be rated in double precision, or a rating is no number. What was committed before it stays.
    EngineError
        There are no workers, or they were lost too often. What was committed stays, and is a valid beginning.
    """
    began = time.perf_counter()
    dataset = Dataset.open(lake, config.dataset)
    if dry_run:
        plan = Plan.of(lake, config, dataset, max_rounds, start)
        _check_same(config, plan)
        check_contests(dataset, ~plan.excluded, plan.kept, plan.n_rounds)
        return _foretell(dataset, plan)
    with hold_lease(lake, layout.run_folder(config.run), f"rate {config.run}", steal=steal) as lease:
        Run.take_over(lake, config.run, lease)
        while True:
            plan = Plan.of(lake, config, dataset, max_rounds, start)
            _check_same(config, plan)
            check_contests(dataset, ~plan.excluded, plan.kept, plan.n_rounds)
            try:
                if not plan.done:
                    began += _compile(dataset, config, plan, engine, on_compile)
                return _rate(dataset, config, plan, engine, on_progress, lease, began, policy or commit_policy.DEFAULT)
            except MissingError:
                stale, dataset = dataset, Dataset.open(lake, config.dataset)
                if dataset.contests.equals(stale.contests, check_metadata=True):
                    raise
                # Committed to at least twice since: what was replaced is gone. What was rated stays as far as it holds.


def _rate(
    dataset: Dataset,
    config: RunConfig,
    plan: Plan,
    engine: Engine,
    on_progress: Callable[[Progress], None],
    lease: Lease,
    began: float,
    policy: CommitPolicy,
) -> RateReport:
    """Carry a plan out, with other workers when some are lost."""
    run = _cut(dataset.lake, config, plan, lease)
    if plan.done:
        return RateReport(plan.kept, 0, 0, 0, 0, time.perf_counter() - began, plan.why)
    counters, done = RoundCounters(find_system(config.system), plan.kept, dataset.n_players), _Done()
    settled = dataclasses.replace(config, exclude=(), include=())  # it is on record by now what is passed over
    kept, lost_in_a_row = plan.kept, 0
    while True:
        try:
            _rate_missing(dataset, config, plan, run, engine, on_progress, counters, done, began, policy)
            break
        except WorkersLostError as lost:
            now = Plan.of(dataset.lake, settled, dataset, plan.n_rounds)
            lost_in_a_row = 0 if now.kept > kept else lost_in_a_row + 1
            kept = now.kept
            if lost_in_a_row >= RECOVERIES:
                raise _given_up(config, f"{lost}, {RECOVERIES} times without a new round", kept) from lost
            done.recoveries += 1
            log.warning("run %s: %s; recovery %d, from round %d", config.run, lost, done.recoveries, kept)
            plan = dataclasses.replace(plan, kept=kept, snapshots=now.snapshots, run=run)
        except EngineError as error:
            if not done.recoveries:
                raise
            raise _given_up(config, str(error), kept) from error
    first, n_rounds = counters.start, plan.n_rounds
    excluded = int(np.count_nonzero(plan.excluded[first:n_rounds]))
    return RateReport(
        first, done.replayed, n_rounds - first, counters.skipped.total(), counters.rows,
        time.perf_counter() - began, plan.why, dict(counters.violations), excluded,
        damaged_snapshots=tuple(done.damaged_snapshots), recoveries=done.recoveries, phases=done.phases,
        reasons=dict(counters.skipped), drift=counters.level.warning(config.system, config.params),
    )  # fmt: skip


def _compile(dataset: Dataset, config: RunConfig, plan: Plan, engine: Engine, on_compile: Announce) -> float:
    """See that the kernels for the rounds to come are compiled.

    The workers of a cluster do so themselves. If they are all on this machine, each would compile the same.
    """
    if not isinstance(engine, LocalEngine):
        return compile_everything(config.system, on_compile) if getattr(engine, "here", False) else 0.0
    ahead = slice(plan.resumes_at, plan.n_rounds)
    sizes = dataset.contests.column("n_players").to_numpy()[ahead]
    return compile_kernels(config.system, sizes[~plan.excluded[ahead]], on_compile)


@dataclass(slots=True)
class _Done:
    """What rating passes did beside rating, over all recoveries."""

    replayed: int = 0
    recoveries: int = 0
    damaged_snapshots: list[str] = field(default_factory=list)
    phases: dict[str, tuple[float, int]] = field(default_factory=dict)


def _rate_missing(
    dataset: Dataset,
    config: RunConfig,
    plan: Plan,
    run: Run,
    engine: Engine,
    on_progress: Callable[[Progress], None],
    counters: RoundCounters,
    done: _Done,
    began: float,
    policy: CommitPolicy,
) -> None:
    """Rate and commit what the plan does not keep."""
    kept, n_rounds = plan.kept, plan.n_rounds
    rating_pass = RatingPass(dataset, find_system(config.system), config.params, plan.skipping, engine, plan.excluded)
    try:
        replayed = rating_pass.resume(run, kept, plan.digests)
        done.replayed += replayed
        for last_round in rating_pass.damaged_snapshots:
            run.remove_snapshot(last_round)
            done.damaged_snapshots.append(run.path_of_snapshot(last_round))
        contest_ids = dataset.contests.column("contest_id").to_pylist()
        start = kept
        schedule = SnapshotSchedule(dataset.contests, kept, n_rounds, kept - replayed - 1, policy)
        pass_began = time.perf_counter()
        with SegmentWriter(run, contest_ids, plan.digests, policy) as writer:
            for stop in schedule.stops:
                for rated in rating_pass.rate(start, stop):
                    writer.add(rated)
                    counters.add(rated)
                    on_progress(Progress(rated.stop, n_rounds, counters.rows, time.perf_counter() - began))
                writer.close()
                if schedule.due(stop, time.perf_counter() - pass_began):
                    writer.snapshot(stop - 1, rating_pass.rater.columns(), schedule)
                start = stop
    finally:
        for phase, (seconds, times) in rating_pass.rater.phases.items():
            before = done.phases.get(phase, (0.0, 0))
            done.phases[phase] = before[0] + seconds, before[1] + times
        rating_pass.rater.close()


def _check_same(config: RunConfig, plan: Plan) -> None:
    """Refuse to discard what a run holds because something else is to be computed, unless it is to be replaced."""
    if plan.run is None or config.replace:
        return
    recorded = plan.run.config.get("numerics")
    if isinstance(recorded, int) and recorded > NUMERICS:
        raise LakeError(
            f"run {config.run}: a newer release of ranklake rated it; update ranklake, or add --replace to discard its "
            "ratings and rate it anew with this release",
            path=layout.run_file(config.run),
        )
    refuse_other(RunConfig.of(plan.run), dataclasses.replace(config, recorded=plan.skipping))


def _given_up(config: RunConfig, why: str, kept: int) -> EngineError:
    return EngineError(
        f"run {config.run}: {why}; its first {kept:,} rounds are committed and hold: start workers and give the same "
        "command again, it goes on from there"
    )


def _foretell(dataset: Dataset, plan: Plan) -> RateReport:
    """What :func:`rate` would report."""
    if plan.done:
        return RateReport(plan.kept, 0, 0, 0, 0, 0.0, plan.why, planned=True)
    to_rate = slice(plan.kept, plan.n_rounds)
    excluded = plan.excluded[to_rate]
    rows = int(dataset.contests.column("n_players").to_numpy()[to_rate][~excluded].sum())
    replayed, rated, n_out = plan.kept - plan.resumes_at, plan.n_rounds - plan.kept, int(np.count_nonzero(excluded))
    return RateReport(plan.kept, replayed, rated, 0, rows, 0.0, plan.why, excluded=n_out, planned=True)


def _cut(lake: Lake, config: RunConfig, plan: Plan, lease: Lease) -> Run:
    """The run, made if need be, without the rounds that no longer hold."""
    run = Run.create(lake, config.run, plan.config, lease) if plan.run is None else plan.run
    run.lease = lease
    if plan.run is not None:
        run.truncate(plan.holds)  # sweeps what a crash left half written, too
        if run.config != plan.config:
            run.configure(plan.config)
    return run
