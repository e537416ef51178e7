"""A whole run on one worker of a cluster, which opens the lake and rates there as a process of its own would.

The driver only asks how far the run is. A single run is faster if its players are partitioned over all workers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from threading import Thread
from typing import Any

from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.warm import warm
from ranklake.storage import Lake, LakeError, MissingError, Run
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.lake.layout import run_folder
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.lease import Delegate
from ranklake.storage.runs.worker_parts import look

from ..common.skipping import NOBODY_RATED, count_reasons, reasons_of
from ..engines.protocols import ActorGroup, DistributedEngine, EngineError
from ..engines.serial import Serial
from ..execution.partition_worker import ActorState
from .config import RunConfig
from .plan import Plan
from .plan_runner import Recoveries
from .rate import RateOptions, rate
from .report import Progress, RateReport

ASK_SECONDS = 0.05  # between two questions of the driver
ALONE_SECONDS = 10.0  # without a question, after which a worker stops

log = logging.getLogger("ranklake.rate")


class RunWorker(ActorState):
    """One run, rated by a thread of a worker."""

    def __init__(self, system: str) -> None:
        super().__init__()
        warm(SYSTEMS[system])  # here, where the timeout is long
        self._lake: Lake | None = None
        self._asked = time.monotonic()
        self._stopped = False
        self._progress: Progress | None = None
        self._ended: RateReport | Exception | None = None

    def open(self, delegate: Delegate) -> str:
        """Open the lake of the driver; returns why that fails, or an empty text."""
        try:
            self._lake = look(delegate)
        except (LakeError, OSError) as error:
            return str(error) or type(error).__name__
        return ""

    def begin(self, config: RunConfig, options: RateOptions) -> None:
        """Begin to rate."""
        self._asked = time.monotonic()
        Thread(target=self._rate, args=(config, options), name="ranklake-run", daemon=True).start()

    def ask(self, stop: bool = False) -> tuple[Progress | None, RateReport | None]:
        """The progress of the run, and its report when it has ended; raises the error of the run.

        ``stop``: end the run after its next batch.
        """
        self._asked, self._stopped = time.monotonic(), stop
        if isinstance(self._ended, Exception):
            raise self._ended
        return self._progress, self._ended

    def _rate(self, config: RunConfig, options: RateOptions) -> None:
        assert self._lake is not None

        def report(progress: Progress) -> None:
            self._progress = progress
            if self._stopped or time.monotonic() > self._asked + ALONE_SECONDS:
                raise _StoppedError

        try:
            self._ended = rate(self._lake, config, Serial(), replace(options, on_progress=report))
        except Exception as error:
            self._ended = error


class _StoppedError(Exception):
    """The driver asks no more, or has stopped the run."""


def _ignore(*_: object, **__: object) -> None:
    """Take the place of callbacks, which stay with the driver."""


def rate_on_worker(config: RunConfig, plan: Plan, engine: DistributedEngine, options: RateOptions) -> RateReport | None:
    """Rate a run on the worker with the fewest runs, and on another one if that is lost; None if it reaches no lake.

    ``plan``: of the run, before a worker begins.
    Raises Exception: as :func:`.rate.rate`; or that of ``on_progress``, after which the worker ends the run.
    """
    began, recoveries, left_out = time.perf_counter(), Recoveries(config.run, 0), dict[str, str]()
    init_args = (config.system,)
    reached = 0  # number of finished rounds, as far as the driver knows

    def on_progress(progress: Progress) -> None:
        nonlocal reached
        reached = progress.rounds
        options.on_progress(progress)

    while True:
        try:
            with closing(engine.start_actors(RunWorker, lambda *_: init_args, 1)) as group:
                left_out |= group.left_out
                config, why = _open(group, plan, config, options.steal, recoveries.count)
                if why:
                    [worker] = group.addresses
                    log.warning(
                        "run %s: rated by all workers, as %s does not reach the lake (%s)", config.run, worker, why
                    )
                    return None
                options = replace(options, steal=True)  # the worker holds the lease from now on, also if it is lost
                report = _rate_by(group, config, options, on_progress)
            report.seconds, report.left_out = time.perf_counter() - began, left_out
            report.recoveries = recoveries.count
            return _with_earlier(report, config.run, plan) if recoveries.count else report
        except EngineError as error:
            recoveries.after(error, reached)
            if reached:  # the rounds from the start on are no longer those of before
                options = replace(options, start=None)


def _open(group: ActorGroup, plan: Plan, config: RunConfig, steal: bool, lost: int) -> tuple[RunConfig, str]:
    """Let the worker of a group open the lake; returns what is left to configure, and why the worker cannot open it.

    By the driver's lease the worker knows the lake from another one at the same address; it takes its own one
    afterwards. Each of the ``lost`` workers that goes on may take the lease once, at this moment.
    """
    for _ in range(lost):
        with suppress(LeaseHeldError):
            return _open_under_lease(group, plan, config, steal)
    return _open_under_lease(group, plan, config, steal)


def _open_under_lease(group: ActorGroup, plan: Plan, config: RunConfig, steal: bool) -> tuple[RunConfig, str]:
    lake, folder = plan.dataset.lake, run_folder(config.run)
    with hold_lease(lake, folder, f"rate {config.run}", steal=steal) as lease, lease.delegate() as delegate:
        why = _call(group, "open", delegate)
        with suppress(MissingError):
            if Run.open(lake, config.run).config == plan.config:  # also by a lost worker
                config = replace(config, exclude=(), include=())
    return config, why


def _rate_by(
    group: ActorGroup, config: RunConfig, options: RateOptions, on_progress: Callable[[Progress], None]
) -> RateReport:
    """Rate the rest of a run on the worker of a group."""
    _call(group, "begin", config, replace(options, steal=False, on_progress=_ignore, on_compile=_ignore))
    try:
        while True:
            progress, report = _call(group, "ask")
            if progress is not None:
                on_progress(progress)
            if report is not None:
                return report  # type: ignore[no-any-return]
            time.sleep(ASK_SECONDS)
    except EngineError:
        raise
    except BaseException:
        with suppress(Exception):  # the error of the run that was stopped
            while _call(group, "ask", True)[1] is None:
                time.sleep(ASK_SECONDS)
        raise


def _call(group: ActorGroup, name: str, *given: Any) -> Any:
    return group.call_all([[(name, given)]])[0][0]


def _with_earlier(report: RateReport, name: str, plan: Plan) -> RateReport:
    """The report of the last worker, with the rounds that lost ones have committed, as the lake has them.

    Violations and warnings are of the rounds of the last worker alone.
    """
    first, stop, skipped = plan.kept, report.kept, list[int]()
    for segment in Run.open(plan.dataset.lake, name).segments().segments:
        at = slice(max(first - segment.first_round, 0), max(stop - segment.first_round, 0))
        report.rows += sum(segment.rows[at])
        skipped += [i for i in segment.skipped if first <= i < stop and not plan.excluded[i]]
    if skipped:
        reasons = reasons_of(plan.dataset, plan.skipping, stop)[skipped]
        reasons[reasons == 0] = NOBODY_RATED  # by a range of ratings
        report.reasons.update(count_reasons(reasons))
    rated = plan.n_rounds - first
    excluded = rated - len(plan.sizes(first, plan.n_rounds))
    return replace(report, kept=first, rated=rated, excluded=excluded, holds=plan.holds, why=plan.why)
