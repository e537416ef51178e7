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

from .ids import BadIdsError, IdIndex, Place, encode_ids, read_ids
from .segments import Segments

log = logging.getLogger("ranklake.rated")


class IdFiles:
    """The ids of all segments. One thread adds, closes and keeps; any thread finds.

    ``window_seconds``: ids of closed segments whose newest record is older are looked up on the disk.
    """

    def __init__(self, segments: Segments, window_seconds: float) -> None:
        self._segments, self._window_seconds = segments, window_seconds
        self._index = IdIndex()
        self._threads = ThreadPoolExecutor(1, "ranklake-log")
        self._settling: dict[int, Future[None]] = {}

    def load(self, firsts: Mapping[int, int]) -> None:
        """Read the files of all closed segments; make the missing ones, as after a crash.

        ``firsts``: the sequence number of the first record of each segment; the last one is open.
        Raises DamagedError: a file is damaged, and its segment is released or damaged, too.
        """
        known = self._segments.id_numbers()
        for number in sorted({*known, *firsts} - {max(firsts)}):
            try:
                if number not in known:
                    raise BadIdsError("is missing")
                self._read(number)
            except BadIdsError as error:
                if number not in firsts:
                    path = self._segments.id_path(number)
                    raise DamagedError(f"{path}: {error}; restore it from a backup", path=path) from error
                try:
                    self._make(number, firsts[number])
                except NoSpaceError as full:  # until then the ids are in memory alone
                    log.warning("%s; the next start makes it again", full)

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
        if number not in self._segments.id_numbers():
            with_reserve(self._segments.lake, partial(self._make, number, first))

    def close(self) -> None:
        """Wait for the other thread."""
        self._threads.shutdown()

    def _read(self, number: int) -> bool:
        """Use the file of a segment; returns whether its ids are in memory."""
        path = self._segments.lake.uri(self._segments.id_path(number))
        ids = read_ids(path, time.time() - self._window_seconds)
        self._index.settle(number, ids)
        return not ids.on_disk

    def _make(self, number: int, first: int) -> None:
        """Collect the ids of a closed segment, and write its file."""
        index, newest = IdIndex(), 0.0
        for offset, record in self._segments.records(number, first):
            newest = record.received
            if record.kind == "match":
                index.add(record.id, Place(record.sequence, offset))
        index.seal(number)
        ids = index.merged(number)
        self._index.settle(number, ids)
        self._segments.lake.commit_bytes(self._segments.id_path(number), encode_ids(ids, newest))

    def _settle(self, number: int, newest: float) -> None:
        """Write the file of a segment that was closed, and leave on the disk what has become too old for memory."""
        ids = self._index.merged(number)
        self._index.settle(number, ids)
        try:
            self._segments.lake.commit_bytes(self._segments.id_path(number), encode_ids(ids, newest))
        except NoSpaceError as error:
            log.warning("%s; the next start makes it again", error)
        for old in self._index.in_memory():
            with suppress(FileNotFoundError, BadIdsError):  # the disk was full
                if self._read(old):
                    break
