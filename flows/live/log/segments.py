"""The files of a log in a folder: their names, their content, and the error that names a bad byte."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ranklake.storage import Lake
from ranklake.storage.lake.errors import DamagedError

from .frames import (
    HEADER_BYTES,
    SUMS_BYTES,
    BadFrameError,
    decode_frames,
    decode_header,
    encode_header,
    find_frame,
    frame_bytes,
)
from .records import Record

_DIGITS = 12
_SEGMENT, _IDS = ".log", ".ids"


class Segments:
    """The segments of one log, by number, and the files with the ids of closed ones.

    ``lake``: the folder of the log, through the lease on it.
    ``name``: the folder in it.
    """

    def __init__(self, lake: Lake, name: str) -> None:
        self.lake, self.name = lake, name

    def numbers(self) -> list[int]:
        """Numbers of the segments, ascending."""
        return self._numbers(_SEGMENT)

    def id_numbers(self) -> list[int]:
        """Numbers of the segments with a file of ids, ascending."""
        return self._numbers(_IDS)

    def uri(self, number: int) -> str:
        """Full path of a segment."""
        return self.lake.uri(self._path(number, _SEGMENT))

    def id_path(self, number: int) -> str:
        """Path of a file of ids in the folder of the log."""
        return self._path(number, _IDS)

    def firsts(self) -> dict[int, int]:
        """The sequence number of the first record of each segment, by its number, ascending; makes the first segment.

        Raises DamagedError: a segment is missing, or its header is not valid.
        """
        numbers = self.numbers()
        if not numbers:
            if ids := self.id_numbers():
                raise self._missing(ids[-1] + 1)
            self.make(1, 1)
            return {1: 1}
        for number in range(numbers[0], numbers[-1]):
            if number not in numbers:
                raise self._missing(number)
        firsts = {}
        for number in numbers:
            with open(self.uri(number), "rb") as file, self.explained(number):
                firsts[number] = decode_header(file.read(HEADER_BYTES))
        return firsts

    def make(self, number: int, first: int) -> None:
        """Make a segment whose first record will have the sequence number ``first``; it is durable."""
        self.lake.commit_bytes(self._path(number, _SEGMENT), encode_header(first))

    def delete(self, number: int) -> None:
        """Delete a segment."""
        self.lake.delete(self._path(number, _SEGMENT))

    def content(self, number: int) -> bytes:
        """All bytes of a segment."""
        with open(self.uri(number), "rb") as file:
            return file.read()

    def records(self, number: int, first: int, start: int = 0) -> Iterator[tuple[int, Record]]:
        """The records of a segment from a sequence number on, with the offsets of their frames.

        ``first``: the sequence number of its first record.
        """
        data, offset, sequence = self.content(number), HEADER_BYTES, first
        if start > first:
            found = find_frame(data, offset, first, start)
            with suppress(BadFrameError, StopIteration):  # damaged before: from the beginning, to name the place
                next(decode_frames(data, found, start))
                offset, sequence = found, start
        with self.explained(number):
            yield from decode_frames(data, offset, sequence)

    def record(self, number: int, offset: int, sequence: int) -> Record:
        """The record with that number, whose frame is at an offset of a segment.

        Raises FileNotFoundError: the segment is deleted.
        """
        with open(self.uri(number), "rb") as file:
            file.seek(offset)
            head = file.read(SUMS_BYTES)
            data = head + file.read(frame_bytes(head))
        with self.explained(number, offset):
            return next(decode_frames(data, 0, sequence))[1]

    @contextmanager
    def explained(self, number: int, begin: int = 0) -> Iterator[None]:
        """Explain a bad frame of a segment; ``begin``: the offset of the bytes that were decoded."""
        try:
            yield
        except BadFrameError as error:
            raise self.damaged(number, begin + error.offset, error.reason) from error

    def damaged(self, number: int, offset: int, reason: str) -> DamagedError:
        """The error that names a byte of a segment."""
        rule = "the file was damaged after it was written: restore it from a backup"
        return DamagedError(f"{self.uri(number)}: byte {offset:,}: {reason}; {rule}", path=self._path(number, _SEGMENT))

    def _missing(self, number: int) -> DamagedError:
        return DamagedError(
            f"{self.uri(number)}: is missing; restore it from a backup", path=self._path(number, _SEGMENT)
        )

    def _path(self, number: int, suffix: str) -> str:
        return f"{self.name}/{number:0{_DIGITS}}{suffix}"

    def _numbers(self, suffix: str) -> list[int]:
        stems = [name.removesuffix(suffix) for name in self.lake.list(self.name) if name.endswith(suffix)]
        return sorted(int(stem) for stem in stems if len(stem) == _DIGITS and stem.isascii() and stem.isdigit())
