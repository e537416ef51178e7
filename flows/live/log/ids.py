"""Where the match of an id is in a folder of segments: sorted arrays of digests, kept for ever.

An id is a digest of 64 bits; its place is the sequence number and the offset, see :class:`Place`. Both take 16 bytes.
The file of closed segments has, in little-endian numbers: ``RLKIDS1`` and a line feed, the number of ids (uint64), the
time of the newest record (float64), CRC32C of the arrays (uint32), the number of segments (uint32); then the digests
(uint64), ascending, and the places (uint64) in the same order.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .frames import ALIGNMENT, crc32c

Words: TypeAlias = npt.NDArray[np.uint64]
_MAGIC = b"RLKIDS1\n"
_HEADER = struct.Struct("<8sQdII")
_WORDS = _HEADER.size // 8
_CHUNK = 2**20  # bytes that are summed at a time: other threads wait meanwhile
_OFFSET_BITS = 26
OFFSETS = ALIGNMENT << _OFFSET_BITS  # bytes of a segment, 512 MiB
_SEQUENCES = 1 << (64 - _OFFSET_BITS)  # at 1,000 matches/s reached after 8 years
_FEW = 8  # arrays of the open segment that are merged, in some milliseconds
_FRESH = 2**14  # ids of a dict, whose sorting takes some milliseconds


class BadIdsError(ValueError):
    """The content of a file of ids is not valid."""


class Place(NamedTuple):
    """Where a record is: its sequence number, and the offset of its frame in the segment of that number."""

    sequence: int
    offset: int

    def packed(self) -> int:
        """Both in 64 bits; OverflowError beyond 2^38 records or 512 MiB a segment."""
        if self.sequence >= _SEQUENCES or self.offset >= OFFSETS:
            raise OverflowError(f"the log ends at {_SEQUENCES:,} records; begin a new one in another folder")
        return self.sequence << _OFFSET_BITS | self.offset // ALIGNMENT

    @classmethod
    def unpacked(cls, value: int) -> Place:
        return cls(value >> _OFFSET_BITS, (value & ((1 << _OFFSET_BITS) - 1)) * ALIGNMENT)


@dataclass(frozen=True, slots=True)
class SortedIds:
    """Digests, ascending, and the packed places of their records (uint64[n] each)."""

    digests: Words
    places: Words

    def __len__(self) -> int:
        return len(self.digests)

    @property
    def on_disk(self) -> bool:
        """Whether they are read from the disk when they are needed."""
        return isinstance(self.digests, np.memmap)

    @classmethod
    def of(cls, digests: Iterable[int], places: Iterable[int]) -> SortedIds:
        return cls._sorted(np.fromiter(digests, np.uint64), np.fromiter(places, np.uint64))

    @classmethod
    def merged(cls, parts: Sequence[SortedIds]) -> SortedIds:
        if len(parts) == 1:
            return parts[0]
        return cls._sorted(
            np.concatenate([part.digests for part in parts]), np.concatenate([part.places for part in parts])
        )

    @classmethod
    def _sorted(cls, digests: Words, places: Words) -> SortedIds:
        order = np.argsort(digests, kind="stable")
        return cls(digests[order], places[order])

    def find(self, digests: Words) -> Iterator[tuple[int, int]]:
        """Positions in ``digests`` that are here, each with the packed place; several times for equal digests."""
        begins = self.digests.searchsorted(digests)
        known = self.digests.take(begins, mode="clip") == digests if len(self) else np.zeros(0, bool)
        if not known.any():
            return
        for at in np.flatnonzero(known).tolist():
            begin = int(begins[at])
            while begin < len(self) and self.digests[begin] == digests[at]:
                yield at, int(self.places[begin])
                begin += 1


def encode_ids(ids: SortedIds, newest: float, segments: int = 1) -> pa.Buffer:
    """The file of closed segments whose newest record has the time ``newest``; their number is ``segments``."""
    words = np.empty(_WORDS + 2 * len(ids), "<u8")
    words[_WORDS : _WORDS + len(ids)], words[_WORDS + len(ids) :] = ids.digests, ids.places
    head = _HEADER.pack(_MAGIC, len(ids), newest, _sum_of(words[_WORDS:]), segments)
    words[:_WORDS] = np.frombuffer(head, "<u8")
    return pa.py_buffer(words)


class StoredIds(NamedTuple):
    """A file of ids: the time of the newest record, and the number of segments."""

    ids: SortedIds
    newest: float
    segments: int


def read_ids(path: str, in_memory_from: float) -> StoredIds:
    """The file of closed segments: in memory if its newest record is at least as new as a time, else on disk.

    Raises BadIdsError: its content is not valid; of arrays on disk only the size is checked.
    Raises OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        head = file.read(_HEADER.size)
        size = os.fstat(file.fileno()).st_size
        if len(head) < _HEADER.size:
            raise BadIdsError("is too short")
        magic, count, newest, total, segments = _HEADER.unpack(head)
        if magic != _MAGIC or size != _HEADER.size + 16 * count or not segments:
            raise BadIdsError("has a header that is not valid")
        if newest >= in_memory_from or not count:
            words: Any = np.fromfile(file, "<u8")
            if _sum_of(words) != total:
                raise BadIdsError("fails its sum")
        else:
            words = np.memmap(path, "<u8", "r", _HEADER.size)
    return StoredIds(SortedIds(words[:count], words[count:]), newest, segments)


def _sum_of(words: Words) -> int:
    total, step = 0, _CHUNK // 8
    for begin in range(0, len(words), step):
        total = crc32c(words[begin : begin + step].tobytes(), total)
    return total


class IdIndex:
    """The ids of all segments. One thread adds and seals, another one may settle, any thread finds."""

    def __init__(self) -> None:
        self._lock = Lock()  # of changes of the closed segments
        self._closed: dict[int, tuple[SortedIds, ...]] = {}  # by the number of the segment
        self._open: tuple[SortedIds, ...] = ()
        self._fresh: dict[str, int] = {}  # ids before the next array, and their packed places
        self._digests: list[int] = []  # of these ids: a group must not wait for those of thousands

    def add(self, name: str, place: Place) -> None:
        """Add a new id, whose record is in the open segment."""
        if self._fresh.setdefault(name, value := place.packed()) == value:
            self._digests.append(digest_of_id(name))
        if len(self._digests) >= _FRESH:
            self._sort()

    def seal(self, segment: int) -> None:
        """Close the segment that was open until now."""
        self._sort()
        with self._lock:
            self._closed = {**self._closed, segment: self._open or (SortedIds.of((), ()),)}
        self._open = ()

    def merged(self, *segments: int) -> SortedIds:
        """The ids of closed segments as one array."""
        closed = self._closed
        return SortedIds.merged([part for segment in segments for part in closed[segment]])

    def in_memory(self) -> list[int]:
        """Numbers of the closed segments whose ids are in memory, ascending."""
        closed = self._closed
        return sorted(number for number, parts in closed.items() if not all(part.on_disk for part in parts))

    def settle(self, segment: int, ids: SortedIds, instead: Sequence[int] = ()) -> None:
        """Use these arrays for a closed segment, and for others before it."""
        with self._lock:
            kept = {number: parts for number, parts in self._closed.items() if number not in instead}
            self._closed = {**kept, segment: (ids,)}

    def find(self, ids: Sequence[str]) -> list[list[Place]]:
        """The places at which each id may be: that of its match, if there is one, and of ids with the same digest."""
        # In this order: what moves from one to the next while this thread searches is found at least once.
        found = [[self._fresh[name]] if name in self._fresh else [] for name in ids]
        digests = np.fromiter(map(digest_of_id, ids), np.uint64, len(ids))
        parts = [*self._open]
        parts += [part for closed in self._closed.values() for part in closed]
        for part in parts:
            for at, place in part.find(digests):
                found[at].append(place)
        return [[Place.unpacked(place) for place in dict.fromkeys(places)] for places in found]

    def _sort(self) -> None:
        if self._digests:
            parts = (*self._open, SortedIds.of(self._digests, self._fresh.values()))
            small = [part for part in parts if len(part) < _FEW * _FRESH]
            if len(small) == _FEW:  # a search looks into each array
                parts = (*(part for part in parts if len(part) >= _FEW * _FRESH), SortedIds.merged(small))
            self._open = parts
            self._digests, self._fresh = [], {}  # after the array exists: another thread may be searching


def digest_of_id(name: str) -> int:
    """64 bits of the BLAKE2b digest of an id."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
