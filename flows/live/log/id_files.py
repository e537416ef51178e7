"""The ids of a log in a folder, and their files beside the closed segments."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from ranklake.storage.lake.errors import DamagedError, NoSpaceError
from ranklake.storage.leases.reserve import with_reserve

from .ids import BadIdsError, IdIndex, Place, SortedIds, encode_ids, read_ids
from .segments import Segments

log = logging.getLogger("ranklake.rated")


_MERGED = 8  # files that become one
_LARGEST = 64  # segments of a file that is not merged further: some hundred MiB


class IdFiles:
    """The ids of all segments. One thread adds, closes and keeps; any thread finds.

    Each closed segment has a file of its own at first. As a search looks into each, eight files of one size become one:
    it replaces that of the last of their segments, and the others are deleted.

    ``window_seconds``: ids of files whose newest record is older are looked up on the disk.
    """

    def __init__(self, segments: Segments, window_seconds: float) -> None:
        self._segments, self._window_seconds = segments, window_seconds
        self._index = IdIndex()
        self._covers: dict[int, tuple[int, float]] = {}  # segments, and newest record, of a file or what will be one
        self._stored: set[int] = set()  # segments whose ids are in a file
        self._threads = ThreadPoolExecutor(1, "ranklake-log")
        self._settling: dict[int, Future[None]] = {}

    def load(self, firsts: Mapping[int, int]) -> None:
        """Read the files of all closed segments; make the missing ones, as after a crash.

        ``firsts``: the sequence number of the first record of each segment; the last one is open.
        Raises DamagedError: a file is damaged or missing, and a segment is released or damaged, too.
        """
        reasons: dict[int, str] = {}
        stale = []
        for number in reversed(self._segments.id_numbers()):
            # Of segments that were moved away, or merged: the process was killed before it was deleted.
            if number >= max(firsts) or number in self._stored:
                stale.append(number)
                continue
            try:
                self._read(number)
            except BadIdsError as error:
                reasons[number] = str(error)
        for number in sorted({*range(1, max(firsts))} - self._stored):
            if number not in firsts:
                path = self._segments.id_path(number)
                reason = f"{path}: {reasons.get(number, 'is missing')}; restore it from a backup"
                raise DamagedError(reason, path=path)
            try:
                self._make(number, firsts[number])
            except NoSpaceError as full:  # until then the ids are in memory alone
                log.warning("%s; the next start makes it again", full)
        for number in stale:
            if number not in self._covers:
                self._segments.lake.delete(self._segments.id_path(number))

    def add(self, name: str, place: Place) -> None:
        """Add the id of a match, whose record is in the open segment."""
        self._index.add(name, place)

    def close_segment(self, number: int, newest: float) -> None:
        """Close the open segment; another thread writes the file. ``newest``: the time of its last record."""
        self._index.seal(number)
        self._settling[number] = self._threads.submit(self._settle, number, newest)

    def find(self, ids: Sequence[str]) -> list[list[Place]]:
        """See :meth:`ranklake.flows.live.log.ids.IdIndex.find`."""
        return self._index.find(ids)

    def keep(self, number: int, first: int) -> None:
        """Make sure that the file of a closed segment exists, so that the segment can be deleted.

        Raises NoSpaceError: the disk is full, also without the reserve.
        """
        if number in self._settling:
            self._settling.pop(number).result()
        if number not in self._stored:
            with_reserve(self._segments.lake, partial(self._make, number, first))

    def close(self) -> None:
        """Wait for the other thread."""
        self._threads.shutdown()

    def _read(self, number: int) -> bool:
        """Use a file; returns whether its ids are in memory."""
        path = self._segments.lake.uri(self._segments.id_path(number))
        ids, newest, segments = read_ids(path, time.time() - self._window_seconds)
        self._index.settle(number, ids)
        self._covers[number] = segments, newest
        self._stored.update(range(number - segments + 1, number + 1))
        return not ids.on_disk

    def _make(self, number: int, first: int) -> None:
        """Collect the ids of a closed segment, and write its file."""
        index, newest = IdIndex(), 0.0
        for offset, record in self._segments.records(number, first):
            newest = record.received
            if record.kind == "match":
                index.add(record.id, Place(record.sequence, offset))
        index.seal(number)
        self._write(number, index.merged(number), newest)

    def _settle(self, number: int, newest: float) -> None:
        """Write the file of a segment that was closed, merge files, and drop from memory what is too old for it."""
        try:
            self._write(number, self._index.merged(number), newest)
            while (some := self._mergeable()) and (last := some[-1]):
                covered = sum(self._covers[one][0] for one in some)
                self._write(last, self._index.merged(*some), self._covers[last][1], covered, some[:-1])
                for old in some[:-1]:
                    self._segments.lake.delete(self._segments.id_path(old))
        except NoSpaceError as error:
            log.warning("%s; the next start makes it again", error)
        for old in self._index.in_memory():
            with suppress(FileNotFoundError, BadIdsError):  # the disk was full
                if self._read(old):
                    break

    def _write(
        self, number: int, ids: SortedIds, newest: float, segments: int = 1, instead: Sequence[int] = ()
    ) -> None:
        self._index.settle(number, ids, instead)
        for old in instead:
            self._covers.pop(old, None)
        self._covers[number] = segments, newest
        self._segments.lake.commit_bytes(self._segments.id_path(number), encode_ids(ids, newest, segments))
        self._stored.update(range(number - segments + 1, number + 1))

    def _mergeable(self) -> list[int]:
        """The newest files, if they are enough and of one size; else none."""
        numbers = sorted(self._covers)[-_MERGED:]
        sizes = {self._covers[number][0] for number in numbers}
        return numbers if len(numbers) == _MERGED and len(sizes) == 1 and max(sizes) < _LARGEST else []
