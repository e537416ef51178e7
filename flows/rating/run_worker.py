"""A whole run on one worker of a cluster, which opens the lake and rates there as a process of its own would.

The driver only asks how far the run is. A single run is faster if its players are partitioned over all workers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any

from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.warm import warm
from ranklake.storage import Lake, LakeError
from ranklake.storage.lake.layout import run_folder
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.lease import Delegate
from ranklake.storage.runs.worker_parts import look

from ..engines.protocols import ActorGroup, DistributedEngine, EngineError, WorkersLostError
from ..engines.serial import Serial
from ..execution.partition_worker import ActorState
from .config import RunConfig
from .plan_runner import RECOVERIES, given_up
from .rate import rate
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

    def begin(self, config: RunConfig, max_rounds: int | None, start: int | None) -> None:
        """Begin to rate."""
        self._asked = time.monotonic()
        Thread(target=self._rate, args=(config, max_rounds, start), name="ranklake-run", daemon=True).start()

    def ask(self, stop: bool = False) -> tuple[Progress | None, RateReport | None]:
        """The progress of the run, and its report when it has ended; raises the error of the run.

        ``stop``: end the run after its next batch.
        """
        self._asked, self._stopped = time.monotonic(), stop
        if isinstance(self._ended, Exception):
            raise self._ended
        return self._progress, self._ended

    def _rate(self, config: RunConfig, max_rounds: int | None, start: int | None) -> None:
        assert self._lake is not None

        def report(progress: Progress) -> None:
            self._progress = progress
            if self._stopped or time.monotonic() > self._asked + ALONE_SECONDS:
                raise _StoppedError

        try:
            self._ended = rate(self._lake, config, Serial(), max_rounds, report, start=start, on_compile=_silent)
        except Exception as error:
            self._ended = error


class _StoppedError(Exception):
    """The driver asks no more, or has stopped the run."""


def _silent(systems: Sequence[str], kernels: int, total: int) -> None:
    return None


@dataclass(slots=True)
class _Rest:
    """What is left to do of a run. It changes when a worker begins, and when that is lost."""

    config: RunConfig
    max_rounds: int | None
    start: int | None
    steal: bool
    rounds: int = 0  # finished, as far as the driver knows


def rate_on_worker(
    lake: Lake,
    config: RunConfig,
    engine: DistributedEngine,
    max_rounds: int | None,
    on_progress: Callable[[Progress], None],
    steal: bool,
    start: int | None,
) -> RateReport | None:
    """Rate a run on the worker with the fewest runs, and on another one if that is lost; None if it reaches no lake.

    Raises Exception: as :func:`.rate.rate`; or that of ``on_progress``, after which the worker ends the run.
    """
    began, recoveries, without_new_round, committed = time.perf_counter(), 0, 0, 0
    rest, left_out = _Rest(config, max_rounds, start, steal), dict[str, str]()
    while True:
        try:
            group = engine.start_actors(RunWorker, lambda place, size: (config.system,), 1)
            left_out |= group.left_out
            try:
                report = _rate_by(group, lake, rest, on_progress)
            finally:
                group.close()
            if report is None:
                return None
            seconds = time.perf_counter() - began
            return replace(report, seconds=seconds, recoveries=recoveries, left_out=left_out)
        except WorkersLostError as lost:
            recoveries += 1
            without_new_round = 0 if rest.rounds > committed else without_new_round + 1
            committed = rest.rounds
            if without_new_round >= RECOVERIES:
                why = f"{lost}, {RECOVERIES} times without a new round"
                raise given_up(config.run, why, committed) from lost
            log.warning("run %s: %s; recovery %d, from round %d", config.run, lost, recoveries, committed)
            if rest.rounds:  # run.json has what the configuration asks for
                rest.start, rest.config = None, replace(config, exclude=(), include=())
        except EngineError as error:
            if not recoveries:
                raise
            raise given_up(config.run, str(error), committed) from error


def _rate_by(group: ActorGroup, lake: Lake, rest: _Rest, on_progress: Callable[[Progress], None]) -> RateReport | None:
    """Rate the rest of a run on the worker of a group; None if that reaches no lake."""

    def call(name: str, *given: Any) -> Any:
        return group.call_all([[(name, given)]])[0][0]

    run = rest.config.run
    # By this lease the worker knows the lake from another one at the same address; it takes its own one afterwards.
    with hold_lease(lake, run_folder(run), f"rate {run}", steal=rest.steal) as lease, lease.delegate() as delegate:
        if why := call("open", delegate):
            [worker] = group.addresses
            log.warning("run %s: rated by all workers, as %s does not reach the lake (%s)", run, worker, why)
            return None
    rest.steal = True  # the worker holds the lease, also if it is lost
    call("begin", rest.config, rest.max_rounds, rest.start)
    try:
        while True:
            progress, report = call("ask")
            if progress is not None:
                rest.rounds = progress.rounds
                on_progress(progress)
            if report is not None:
                return report  # type: ignore[no-any-return]
            time.sleep(ASK_SECONDS)
    except EngineError:
        raise
    except BaseException:
        with suppress(Exception):  # the error of the run that was stopped
            while call("ask", True)[1] is None:
                time.sleep(ASK_SECONDS)
        raise
