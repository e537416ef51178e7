"""Ended periods go to the lake while matches go on: what is slow is done by a thread of its own, on copies.

The thread that rates calls :meth:`PeriodWriter.advance` between two groups; each call copies for a few milliseconds.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from msgspec.structs import replace

from ranklake.storage import Lake
from ranklake.storage.leases.lease import Lease

from ...engines.threads import Threads
from ...maintenance.verify import replay_last
from ...rating.config import RunConfig
from ...sources.games.periods import period_name
from ..log.records import Log, Record
from ..matches.outcomes import Outcomes
from .calendar import PeriodLength, period_end
from .commits import rewrite_period, write_period, write_rounds
from .logged import Tail, matches_between, period_bounds, read_tail
from .period import LivePeriod
from .record import LiveRecord, WrittenPeriod, read_record

T = TypeVar("T")

log = logging.getLogger("ranklake.rated")

_RETRY_SECONDS = 30.0  # after a failure: a disk may be full, or a store out of reach
_SLICE = 0.003  # seconds for which one call copies


class PeriodWriter:
    """Writes the periods of a log to a data set and its runs.

    ``covariates``: of the games.
    ``lease``, ``leases``: on the data set, and on each run by name.
    ``resets``: times of resets, UTC seconds, ascending.
    ``check``: whether the rounds of a period are computed again when they are written.
    ``mismatch``: what differed then; empty if nothing did. It is a failure, too.
    ``failure``: why the last attempt to write failed; empty if it did not.
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
        check: bool = False,
    ) -> None:
        self._lake, self._log, self._dataset, self._kind, self._length = lake, log, dataset, kind, length
        self._covariates, self._lease, self._leases, self._configs = covariates, lease, leases, configs
        self._resets, self._check = resets, check
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="ranklake-periods")
        self._writing: Future[tuple[LiveRecord, str]] | None = None
        self.failure = self.mismatch = ""
        self._retry_at = 0.0

    def finish(self, now: float) -> Tail:
        """Write all periods that have ended and that the data set does not have, and remove matches from those that it
        has, without the rounds of runs; returns the records that the data set did not have.
        """
        record, _ = read_record(self._lake, self._dataset)
        tail = read_tail(self._log, record.last + 1)
        removed = self._correct(record, tail)
        for number, first, last, others in period_bounds(tail, self._length, self._resets, removed):
            if period_end(number, self._length) <= now:
                changes = [record for record in tail.changes if first <= record.sequence <= last]
                self._write_period(number, first, last, others, changes)
        return tail

    def correct(self) -> None:
        """Remove the matches that records after the last written period remove, from the periods that have them."""
        record, _ = read_record(self._lake, self._dataset)
        self._correct(record, read_tail(self._log, record.last + 1))

    def _correct(self, record: LiveRecord, tail: Tail) -> set[int]:
        """As :meth:`correct`; returns the sequence numbers of all removed matches."""
        changes = tail.removals
        found = self._log.find([change.name for change in changes]) if changes else []
        of_period: defaultdict[WrittenPeriod, dict[str, str]] = defaultdict(dict)
        sequences = {match.id: match.sequence for match in found if match is not None}
        for change in changes:
            sequence = sequences[change.name]
            period = record.period_of(sequence)
            if period is not None and sequence not in period.others:
                of_period[period][change.name] = change.why
        for period, removed in of_period.items():
            others = tuple(sorted({*period.others, *(sequences[name] for name in removed)}))
            matches = matches_between(self._log, period.first, period.last, others)
            written = replace(period, others=others)
            facts = self._lease, self._lake, self._dataset, self._kind
            rewrite_period(*facts, written, matches, self._covariates, removed)
        return set(sequences.values())

    @property
    def idle(self) -> bool:
        """Whether nothing is being written."""
        return self._writing is None

    def in_turn(self, work: Callable[[], T]) -> Future[T]:
        """Have the thread do some work when it has written what it is writing."""
        return self._worker.submit(work)

    def advance(self, period: LivePeriod) -> LiveRecord | None:
        """Go on with the oldest period that has ended; returns the record of the log when the lake has all of it."""
        if self.paused:
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
            record, difference = writing.result()
        except Exception as error:  # the process goes on serving
            self.fail(f"period {period_name(period.number, self._length)}: {error}")
            return None
        self.failure = ""
        if difference:
            self.mismatch = difference
            self.fail(difference)
        return record

    @property
    def paused(self) -> bool:
        """Whether nothing is written now: for some seconds after a failure, and for ever after a mismatch."""
        return bool(self.mismatch) or (bool(self.failure) and time.monotonic() < self._retry_at)

    def fail(self, reason: str) -> None:
        """Tell why something was not written; it is tried again later."""
        log.error("%s", reason)
        self.failure, self._retry_at = reason, time.monotonic() + _RETRY_SECONDS

    def close(self) -> None:
        """Wait until the period that is being written is in the lake."""
        self._worker.shutdown()

    def _write(self, period: LivePeriod) -> tuple[LiveRecord, str]:
        """Write a period; returns the record, and how rounds computed again differ, if they do."""
        difference = ""
        others = tuple(record.sequence for record in period.others)
        record = self._write_period(period.number, period.first, period.last, others, period.others)
        for run, config in self._configs.items():
            outcomes = period.outcomes.get(run, Outcomes())
            write_rounds(self._leases[run], self._lake, config, outcomes, period.copies[run].columns())
            if self._check and not difference:
                with Threads(1) as engine:
                    _, problems = replay_last(self._lake, run, engine, [])
                difference = next(iter(problems), "")
        return record, difference

    def _write_period(
        self, number: int, first: int, last: int, others: tuple[int, ...], changes: Iterable[Record]
    ) -> LiveRecord:
        name, end = period_name(number, self._length), period_end(number, self._length)
        written = WrittenPeriod(name, first, last, end, others)
        matches = matches_between(self._log, first, last, others)
        facts = self._lease, self._lake, self._dataset, self._kind
        return write_period(*facts, written, matches, self._covariates, changes)
