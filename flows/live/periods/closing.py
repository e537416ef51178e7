"""Ended periods go to the lake while matches go on: what is slow is done by a thread of its own, on copies.

The thread that rates calls :meth:`PeriodWriter.advance` between two groups; each call copies for a few milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from ranklake.storage import Lake
from ranklake.storage.leases.lease import Lease

from ...rating.config import RunConfig
from ...sources.games.periods import period_name
from ..log.records import Log
from .calendar import PeriodLength, period_end
from .commits import write_period, write_rounds
from .logged import matches_between, period_bounds
from .period import LivePeriod
from .record import LiveRecord, WrittenPeriod, read_record

_SLICE = 0.003  # seconds for which one call copies


class PeriodWriter:
    """Writes the periods of a log to a data set and its runs.

    ``covariates``: of the games.
    ``lease``, ``leases``: on the data set, and on each run by name.
    ``resets``: times of resets, UTC seconds, ascending.
    ``failure``: why no further period is written; empty if none failed.
    """

    def __init__(
        self,
        lake: Lake,
        log: Log,
        dataset: str,
        kind: str,
        length: PeriodLength,
        covariates: tuple[str, ...],
        lease: Lease,
        leases: Mapping[str, Lease],
        configs: Mapping[str, RunConfig],
        resets: Sequence[int],
    ) -> None:
        self._lake, self._log, self._dataset, self._kind, self._length = lake, log, dataset, kind, length
        self._covariates, self._lease, self._leases, self._configs = covariates, lease, leases, configs
        self._resets = resets
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="ranklake-periods")
        self._writing: Future[LiveRecord] | None = None
        self.failure = ""

    def finish(self, now: float) -> None:
        """Write all periods that have ended and that the data set does not have, without the rounds of runs."""
        record, _ = read_record(self._lake, self._dataset)
        bounds = period_bounds(self._log, record.last + 1, self._length, self._resets)
        for number, first, last, others in bounds:
            if period_end(number, self._length) <= now:
                self._write_period(number, first, last, others)

    def advance(self, period: LivePeriod) -> LiveRecord | None:
        """Go on with the oldest period that has ended; returns the record of the log when the lake has all of it."""
        if self.failure:
            return None
        if self._writing is None:
            until = time.perf_counter() + _SLICE
            for copy in period.copies.values():
                while not copy.done:
                    if time.perf_counter() >= until:
                        return None
                    copy.step()
            self._writing = self._worker.submit(self._write, period)
        if not self._writing.done():
            return None
        writing, self._writing = self._writing, None
        try:
            return writing.result()
        except Exception as error:  # the process goes on serving
            self.failure = f"period {period_name(period.number, self._length)}: {error}"
            return None

    def close(self) -> None:
        """Wait until the period that is being written is in the lake."""
        self._worker.shutdown()

    def _write(self, period: LivePeriod) -> LiveRecord:
        record = self._write_period(period.number, period.first, period.last, tuple(period.others))
        for run, config in self._configs.items():
            write_rounds(self._leases[run], self._lake, config, period.outcomes[run], period.copies[run].columns())
        return record

    def _write_period(self, number: int, first: int, last: int, others: tuple[int, ...]) -> LiveRecord:
        name, end = period_name(number, self._length), period_end(number, self._length)
        written = WrittenPeriod(name, first, last, end, others)
        matches = matches_between(self._log, first, last)
        return write_period(self._lease, self._lake, self._dataset, self._kind, written, matches, self._covariates)
