"""A log in a folder: segments of frames, each group flushed to the disk before :meth:`FolderLog.append` returns.

The folder of a data set inside the folder of the log holds segments, ``000000000001.log`` and so on, the ids of each
closed segment, ``000000000001.ids``, and the lease of the process that writes. The segment with the highest number is
open. Bytes behind the last durable record are of no acknowledged group: a failed write is cut at once, and a start cuts
the open segment at the first frame that is not valid, unless a valid one of a later group follows.
"""

from __future__ import annotations

import logging
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from ranklake.storage import Lake
from ranklake.storage.lake.access.disk import sync
from ranklake.storage.lake.access.space import free_space, is_full
from ranklake.storage.lake.errors import AddressError, MissingError, NoSpaceError
from ranklake.storage.lake.layout import check_dataset_name
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.holder import LeaseHolder
from ranklake.storage.leases.reserve import refill_reserve

from .frames import ALIGNMENT, HEADER_BYTES, BadFrameError, decode_frames, encode_group, later_group
from .id_files import IdFiles
from .ids import OFFSETS, Place
from .records import Entry, LogUnavailableError, Record, shortened
from .segments import Segments

SEGMENT_BYTES = 64 * 2**20
RETRY_SECONDS = 5.0  # until a client tries again when the disk is full

log = logging.getLogger("ranklake.rated")


class FolderLog:
    """See :class:`ranklake.flows.live.log.records.Log`.

    ``folder``: made if it does not exist; on a disk of this machine.
    ``dataset``: the data set of the log; the folder may hold the logs of several.
    ``ids_seconds``: ids of closed segments with no newer record than this are looked up on the disk, others in memory.
    ``steal``, ``wait_seconds``, ``on_wait``: as for :func:`ranklake.storage.leases.acquire.hold_lease`.
    ``segment_bytes``: a segment with more bytes is closed.

    Raises LeaseHeldError: another process writes this log; names it.
    Raises DamagedError: a segment that is needed is not as it was written; names the segment and the offset.
    Raises NoSpaceError: there is not even space for the lease.
    """

    def __init__(
        self,
        folder: str,
        dataset: str,
        *,
        ids_seconds: float,
        steal: bool = False,
        wait_seconds: float = 0.0,
        on_wait: Callable[[LeaseHolder], None] = lambda _: None,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        lake = Lake.open(folder, create=True)
        if not lake.local:
            raise AddressError(f"{folder}: the folder of a log must be on a disk of this machine")
        self._name, self._segment_bytes = check_dataset_name(dataset), segment_bytes
        how: dict[str, Any] = {"steal": steal, "wait_seconds": wait_seconds, "on_wait": on_wait}
        with ExitStack() as opened:
            # With the reserve: on a full disk it can still release segments.
            self._lease = opened.enter_context(hold_lease(lake, dataset, "rated", frees_space=True, **how))
            refill_reserve(lake)
            self._segments = Segments(self._lease.lake, dataset)
            self._ids = IdFiles(self._segments, ids_seconds)
            opened.callback(self._ids.close)
            self._firsts = self._segments.firsts()
            self._number = max(self._firsts)
            self._ids.load(self._firsts)
            self._descriptor, self._last, self._end, self._newest = -1, 0, 0, 0.0
            opened.callback(self._close_segment)
            self._recover()
            self._opened = opened.pop_all()

    @property
    def last(self) -> int:
        return self._last

    @property
    def available(self) -> bool:
        return True

    def begin_after(self, sequence: int) -> None:
        if sequence <= self._last:
            return
        if self._number > 1 or self._end > HEADER_BYTES:
            raise shortened(self._segments.uri(self._number), self._last, sequence)
        self._close_segment()
        self._segments.make(self._number, sequence + 1)
        self._firsts, self._last = {self._number: sequence + 1}, sequence

    def append(self, entries: Sequence[Entry], received: float) -> int:
        self._lease.check()
        first = self._last + 1
        data, offsets = encode_group(first, entries, received)
        if HEADER_BYTES + len(data) > OFFSETS:
            raise ValueError(f"a group has at most {OFFSETS:,} bytes, got {len(data):,}")
        try:
            if not self._clean:
                self._cut()
            if self._end > HEADER_BYTES and self._end + len(data) > self._segment_bytes:
                self._begin_segment(first)
            self._write(data)
        except (OSError, NoSpaceError) as error:
            raise self._unavailable(error) from error
        for sequence, ((kind, name, _), offset) in enumerate(zip(entries, offsets, strict=True), first):
            if kind == "match":
                self._ids.add(name, Place(sequence, self._end + offset))
        self._end, self._last, self._newest = self._end + len(data), first + len(entries) - 1, received
        return first

    def read(self, start: int = 1) -> Iterator[Record]:
        firsts, last = self._firsts, self._last
        oldest = min(firsts.values())
        if start < oldest and start <= last:
            raise MissingError(f"{self._name}: records before {oldest:,} are released, and {start:,} is needed")
        for number, end in zip(firsts, [*[*firsts.values()][1:], last + 1], strict=True):
            stop = min(end, last + 1)
            if max(start, firsts[number]) < stop:
                yield from self._read_segment(number, firsts[number], start, stop)

    def find(self, ids: Sequence[str]) -> list[Record | None]:
        found: list[Record | None] = []
        for name, places in zip(ids, self._ids.find(ids), strict=True):
            records = map(self._record, places, [name] * len(places))
            found.append(next((record for record in records if record.id == name), None))
        return found

    def release(self, before: int) -> None:
        for number in sorted(self._firsts)[:-1]:
            if self._firsts[number + 1] > before:
                break
            self._ids.keep(number, self._firsts[number])
            self._segments.delete(number)
            self._firsts = {other: first for other, first in self._firsts.items() if other != number}
        refill_reserve(self._segments.lake)

    def close(self) -> None:
        self._opened.close()

    def _begin_segment(self, first: int) -> None:
        self._segments.make(self._number + 1, first)
        self._close_segment()
        self._ids.close_segment(self._number, self._newest)
        self._number, self._end = self._number + 1, HEADER_BYTES
        self._firsts = {**self._firsts, self._number: first}

    def _open_segment(self) -> int:
        if self._descriptor < 0:
            self._descriptor = os.open(self._segments.uri(self._number), os.O_RDWR | getattr(os, "O_BINARY", 0))
        return self._descriptor

    def _close_segment(self) -> None:
        if self._descriptor >= 0:
            with suppress(OSError):  # all is flushed
                os.close(self._descriptor)
            self._descriptor = -1

    def _write(self, data: bytes) -> None:
        """Write at the end of the open segment, and flush; after a failure nothing of it stays."""
        descriptor, view = self._open_segment(), memoryview(data)
        self._clean = False
        try:
            os.lseek(descriptor, self._end, os.SEEK_SET)
            while view:
                view = view[os.write(descriptor, view) :]
            flush_data(descriptor)
        except OSError:
            with suppress(OSError):  # else before the next group
                self._cut()
            raise
        self._clean = True

    def _cut(self) -> None:
        """Remove what is behind the last durable record."""
        descriptor = self._open_segment()
        os.ftruncate(descriptor, self._end)
        flush_data(descriptor)
        self._clean = True

    def _recover(self) -> None:
        """Find the end of the open segment, and cut what is behind it."""
        self._last, self._newest = self._firsts[self._number] - 1, 0.0
        data = self._segments.content(self._number)
        self._end = len(data) + -len(data) % ALIGNMENT  # zeros may be missing behind the last record
        try:
            for offset, record in decode_frames(data, HEADER_BYTES, self._last + 1):
                self._last, self._newest = record.sequence, record.received
                if record.kind == "match":
                    self._ids.add(record.id, Place(record.sequence, offset))
        except BadFrameError as error:
            later = later_group(data, error.offset, self._last + 1)
            if later is not None:
                reason = f"{error.reason}, and records that were written later follow it at byte {later:,}"
                raise self._segments.damaged(self._number, error.offset, reason) from error
            self._end = error.offset
            path, cut = self._segments.uri(self._number), len(data) - self._end
            log.warning("%s: the last %d bytes are cut, of records that were never acknowledged", path, cut)
        if self._end != len(data):
            self._cut()
        self._clean = True

    def _read_segment(self, number: int, first: int, start: int, stop: int) -> Iterator[Record]:
        """Records of a segment from one sequence number up to another, exclusive."""
        following = first
        for _, record in self._segments.records(number, first, start):
            following = record.sequence + 1
            if following > start:
                yield record
            if following == stop:
                return
        raise self._segments.damaged(number, 0, f"it ends with the record {following - 1:,}, not {stop - 1:,}")

    def _record(self, place: Place, name: str) -> Record:
        """The record at a place; without its body if it is released."""
        firsts = self._firsts
        numbers = list(firsts)
        at = bisect_right(numbers, place.sequence, key=firsts.__getitem__) - 1
        with suppress(FileNotFoundError):
            if at >= 0:
                return self._segments.record(numbers[at], place.offset, place.sequence)
        return Record(place.sequence, "match", name, 0.0, b"")

    def _unavailable(self, error: Exception) -> LogUnavailableError:
        full = isinstance(error, NoSpaceError) or is_full(error)
        remedy = f" ({free_space(self._segments.uri(self._number))}); free some space on its disk" if full else ""
        return LogUnavailableError(f"the log {self._name} cannot be written: {error}{remedy}", RETRY_SECONDS)


def flush_data(descriptor: int) -> None:
    """Flush the content of a file, and its size, to the disk."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        sync(descriptor)
