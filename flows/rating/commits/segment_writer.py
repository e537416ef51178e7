"""Commit rated rounds: cut batches into segments, which one thread writes in order."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

import numpy as np
import pyarrow as pa

from ranklake.storage import RoundEntry, Run
from ranklake.storage.runs.run import concatenate_rounds
from ranklake.storage.runs.segments import Segment

from ...common.adapters import to_table
from ...engines.environment import machine
from .commit_policy import CommitPolicy, SnapshotSchedule
from .rated_batch import RatedBatch

_WAITING = 8  # longest queue of writes: bounds memory


class SegmentWriter:
    """Commits the batches of a rating pass; after its ``with`` block all batches are in the lake.

    The data determine the ends of segments, unless rounds take seconds. An interrupted run therefore has the same files
    at its end.

    ``contest_ids``, ``digests``: ids and digests of all contests of the data set, in rated order.
    """

    def __init__(self, run: Run, contest_ids: Sequence[str], digests: Sequence[str], policy: CommitPolicy) -> None:
        self._run, self._contest_ids, self._digests = run, contest_ids, digests
        self._policy = policy
        self._open: list[RatedBatch] = []
        self._opened = time.monotonic()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="ranklake-write")
        self._waiting: deque[Future[None]] = deque()
        self._failed = False
        self._written: list[Segment] = []  # and not committed
        self._committed = time.monotonic()

    def add(self, rated: RatedBatch) -> None:
        """Add the next batch."""
        ends, start = np.cumsum(rated.n_rows), 0
        if not self._open:
            self._opened = time.monotonic()
        while start < len(ends):
            done = int(ends[start - 1]) if start else 0
            room = self._policy.segment_rows - sum(piece.rounds.n_rows for piece in self._open)
            stop = min(int(np.searchsorted(ends, done + room)) + 1, len(ends))
            self._open.append(rated.part(start, stop))
            late = stop == len(ends) and time.monotonic() - self._opened > self._policy.segment_seconds
            if int(ends[stop - 1]) - done >= room or late:
                self.close()
            start = stop

    def snapshot(self, last_round: int, commit: Callable[[str], None], schedule: SnapshotSchedule) -> None:
        """Commit the open segment, then a snapshot of all beliefs after ``last_round``; prune older snapshots.

        ``commit``: commits the snapshot, given its chain digest.
        """
        self.close()

        def write() -> None:
            self._commit()
            commit(self._digests[last_round])
            self._run.prune_snapshots(schedule.max_snapshots, schedule.rows, schedule.gap)

        self._submit(write)

    def close(self) -> None:
        """Close the open segment."""
        pieces, self._open, self._opened = self._open, [], time.monotonic()
        if pieces:
            self._submit(lambda: self._write(pieces))

    def _write(self, pieces: list[RatedBatch]) -> None:
        entries = [entry for piece in pieces for entry in self._entries(piece)]
        if at_entry := [piece.entry for piece in pieces if piece.entry is not None]:
            self._run.record_entry_ratings(at_entry)
        first = entries[0].round_index
        table = concatenate_rounds([self._table(piece) for piece in pieces])
        self._written.append(self._run.write(table, entries, self._digests[first - 1] if first else "", machine()))
        late = time.monotonic() - self._committed >= self._policy.commit_seconds
        if late or len(self._written) >= self._policy.commit_segments:
            self._commit()

    def _entries(self, piece: RatedBatch) -> list[RoundEntry]:
        rounds, unrated = piece.rounds, np.zeros(piece.stop - piece.start, dtype=np.int64)
        if rounds.roles.any():
            unrated[piece.informative] = np.add.reduceat(~rounds.are_rated, rounds.offsets[:-1], dtype=np.int64)
        facts = zip(piece.n_rows.tolist(), unrated.tolist(), piece.informative.tolist(), strict=True)
        return [
            RoundEntry(
                i,
                self._contest_ids[i],
                rows - out,
                self._digests[i],
                not informative,
                out,
                piece.resets if i == piece.start else (),
            )
            for i, (rows, out, informative) in enumerate(facts, piece.start)
        ]

    def _table(self, piece: RatedBatch) -> pa.Table:
        index = piece.start + np.flatnonzero(piece.informative)
        ids = [self._contest_ids[i] for i in index.tolist()]
        sizes = piece.n_rows[piece.informative]
        return to_table(piece.rounds, piece.outcome, index.astype(np.int32), ids, sizes)

    def _commit(self) -> None:
        if self._written:
            self._run.commit(self._written)
        self._written, self._committed = [], time.monotonic()

    def _submit(self, write: Callable[[], None]) -> None:
        def unless_failed() -> None:  # after a failed write, the next segment would leave a gap
            if not self._failed:
                self._failed = True
                write()
                self._failed = False

        self._waiting.append(self._writer.submit(unless_failed))
        while self._waiting and (len(self._waiting) > _WAITING or self._waiting[0].done()):
            self._waiting.popleft().result()

    def __enter__(self) -> Self:
        # Start the thread now: after an interrupt, nobody waits for a thread that was starting.
        self._writer.submit(lambda: None).result()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.close()
            self._submit(self._commit)
            while self._waiting:  # commit the rounds rated before an error or an interrupt
                self._waiting.popleft().result()
        finally:
            self._writer.shutdown(cancel_futures=True)
