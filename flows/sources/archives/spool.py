"""A buffer for the documents of a stream that are read in another order."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Callable
from functools import partial
from types import TracebackType

import pyarrow as pa

from ..base import SourceError
from ..limits import byte_count

__all__ = ["Spool"]

MEMORY_BYTES = 2**26  # compressed: all of Codeforces needs 20 MB and no file


class Spool:
    """Documents, compressed; those beyond :data:`MEMORY_BYTES` are in a temporary file without a name.

    An archive of 4 GB would not fit in memory, and its order may differ from that of the contests. The file is in the
    folder ``TMPDIR``; it is deleted when the spool is closed or the process ends.
    """

    def __init__(self, source: str) -> None:
        self._source, self._codec = source, pa.Codec("zstd", 1)
        self._file = tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115
        self._starts, self._sizes = array("q", [0]), array("q")

    def __enter__(self) -> Spool:
        return self

    def __del__(self) -> None:
        self._file.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, document: bytes | bytearray) -> Callable[[], bytes]:
        """Store a document; return the function that reads it.

        Raises
        ------
        SourceError
            The disk is full.
        """
        packed = self._codec.compress(document, asbytes=True)
        number, start = len(self._sizes), self._starts[-1]
        try:
            self._file.seek(start)
            self._file.write(packed)
        except OSError as error:
            rule = f"no space for its contents in {tempfile.gettempdir()} after {byte_count(start)}: {error.strerror}"
            raise SourceError(f"{rule}; set TMPDIR to another folder", self._source) from None
        self._starts.append(start + len(packed))
        self._sizes.append(len(document))
        return partial(self._read, number)

    def _read(self, number: int) -> bytes:
        start, stop = self._starts[number], self._starts[number + 1]
        self._file.seek(start)
        unpacked: bytes = self._codec.decompress(self._file.read(stop - start), self._sizes[number], asbytes=True)
        return unpacked
