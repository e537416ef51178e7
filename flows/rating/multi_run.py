"""Rate several runs over one history; each has its own lease, beliefs and commits."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from dataclasses import replace
from threading import Event
from typing import TypeVar

from ranklake.storage import Dataset, Lake

from ..compilation.compile import compile_kernels
from ..engines.protocols import DistributedEngine, Engine
from .config import RunConfig
from .rate import DEFAULTS, RateOptions, checked_plan, rate
from .report import Progress, RateReport
from .run_worker import rate_on_worker

T = TypeVar("T")

log = logging.getLogger("ranklake.rate")

MAX_PLAYERS = 2_000_000  # maximum number of players whose state one worker may hold (a few GB)
_AT_A_TIME = 8  # minimum number of parallel runs on a cluster: while one run commits, its worker rates another
_END_SECONDS = 3.0  # of an interrupt, for the runs on workers to end


def rate_many(
    lake: Lake, configs: Sequence[RunConfig], engine: Engine, options: RateOptions = DEFAULTS
) -> Iterator[tuple[RunConfig, RateReport]]:
    """Bring runs up to date; yields each run with its report when it is finished.

    On this machine the runs are rated in sequence, because each uses all workers. On a cluster several are rated in
    parallel, each as a whole on one worker that opens the lake itself (:mod:`.run_worker`). Progress is the sum over
    all started runs.

    Raises Exception: the error of the first failed run (:func:`.rate.rate`), after the end of all others.
    """
    at_a_time = 1
    if isinstance(engine, DistributedEngine):
        at_a_time = max(_AT_A_TIME, engine.workers)
    progress: dict[str, Progress] = {}
    stop = Event()

    def attempt(config: RunConfig) -> RateReport | Exception:
        try:
            return bring_up_to_date(config)
        except Exception as error:
            return error

    def bring_up_to_date(config: RunConfig) -> RateReport:
        def report_progress(now: Progress) -> None:
            if stop.is_set():
                raise _StoppedError
            progress[config.run] = now
            options.on_progress(_total(list(progress.values())))

        own = replace(options, on_progress=report_progress)
        if len(configs) > 1 and isinstance(engine, DistributedEngine) and not options.dry_run:
            plan = checked_plan(Dataset.open(lake, config.dataset), config, options)
            if plan.kept < plan.n_rounds and plan.dataset.n_players <= MAX_PLAYERS:
                if engine.on_this_machine:
                    compile_kernels(config.system, None, options.on_compile)
                report = rate_on_worker(config, plan, engine, own)
                if report is not None:
                    return report
        return rate(lake, config, engine, own)

    failed: list[Exception] = []
    in_turn = ((config, attempt(config)) for config in configs)
    for config, outcome in in_turn if at_a_time == 1 else _in_parallel(attempt, configs, stop, at_a_time):
        if isinstance(outcome, RateReport):
            yield config, outcome
        else:
            failed.append(outcome)
            if len(configs) > 1:
                log.error("run %s failed: %s", config.run, outcome)
    if failed:
        raise failed[0]


class _StoppedError(Exception):
    """The caller stopped the runs."""


def _total(runs: Sequence[Progress]) -> Progress:
    """The sum over runs; the time is that of the slowest."""
    rounds, n_rounds = sum(run.rounds for run in runs), sum(run.n_rounds for run in runs)
    rows, n_rows = sum(run.rows for run in runs), sum(run.n_rows for run in runs)
    return Progress(rounds, n_rounds, rows, n_rows, max(run.seconds for run in runs))


def _in_parallel(
    work: Callable[[RunConfig], T], configs: Sequence[RunConfig], stop: Event, at_a_time: int
) -> Iterator[tuple[RunConfig, T]]:
    drivers = ThreadPoolExecutor(at_a_time, thread_name_prefix="ranklake-run")
    running = {drivers.submit(work, config): config for config in configs}
    try:
        for ended in as_completed(running):
            yield running[ended], ended.result()
    except BaseException:
        stop.set()  # the other runs end after their next round, or when the engine is closed
        drivers.shutdown(wait=False, cancel_futures=True)
        wait(running, _END_SECONDS)
        raise
    drivers.shutdown()
