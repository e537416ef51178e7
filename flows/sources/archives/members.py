"""The contest files inside a folder or an archive, the checks of their names and sizes, and a buffer for them."""

from __future__ import annotations

import lzma
import re
import struct
import tarfile
import tempfile
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

import pyarrow as pa

from ..base import IngestReport, SourceError, contest_number
from ..limits import Limits, byte_count, expands_too_far

CHUNK_BYTES = 2**20

# Errors of the standard library's readers for damaged archives; zipfile raises RuntimeError for an encrypted member.
_DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    lzma.LZMAError,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    IndexError,
    OverflowError,
)


class Member(NamedTuple):
    """A contest file inside a folder or archive, or a contest inside a file of several.

    ``read`` returns its bytes and raises :class:`SourceError` if the archive is damaged there or the member is too
    long; ``contest`` is the id of a contest that has no file of its own.
    """

    name: str
    read: Callable[[], bytes | bytearray]
    contest: str = ""

    @property
    def stem(self) -> str:
        """The id of the contest: the file's name without folder and ``.json``."""
        return self.contest or PurePosixPath(self.name).name[: -len(".json")]

    @property
    def number(self) -> int | None:
        """The stem as a number, if it is one."""
        return contest_number(self.stem)


def contest_named(stem: str, folder: str) -> str:
    """The id of the contest in a file: its name, or that of its folder for names that contest systems give."""
    return folder if stem in ("scoreboard", "results") and folder else stem


class Members(list[Member]):
    """The contest files of one folder or archive, in the order in which they are added."""

    def __init__(self, path: Path, report: IngestReport, limits: Limits) -> None:
        super().__init__()
        self.source, self.limits, self._report = path.name, limits, report
        self._folder = path.absolute().name if path.is_dir() else ""
        self.size = 0 if path.is_dir() else path.stat().st_size
        self.most_bytes = limits.expanded_from(self.size)

    def are_contests(self, name: str, is_file: bool) -> bool:
        """Whether a file is a contest file; counts the other files. ``SourceError`` if its name leads out of the
        archive, or is not UTF-8.
        """
        parts = PurePosixPath(name).parts
        if name.startswith("/") or ".." in parts or re.match(r"[A-Za-z]:", name):
            raise SourceError("the path leads out of the archive", self.source, member=name)
        if not is_file:
            return False
        if any(part.startswith(".") or part == "__MACOSX" for part in parts) or not name.lower().endswith(".json"):
            self._report.other_files += 1
            return False
        if not name.isascii():
            try:
                name.encode()
            except UnicodeEncodeError:
                raise SourceError("the file's name is not UTF-8", self.source, member=name) from None
        return True

    def add(self, name: str, size: int, read: Callable[[], bytes | bytearray]) -> None:
        """Add a contest file; ``SourceError`` if there are too many. A file that is too long raises when it is read."""
        if len(self) >= self.limits.members:
            raise self.too_many()

        def read_checked() -> bytes | bytearray:
            if size > self.limits.document:
                excess = f"{size:,} bytes; a contest of more than {self.limits.document:,} bytes is refused"
                rule = f"{excess}: use a table for larger contests, or allow it with --limit document=..."
                raise SourceError(rule, self.source, member=name)
            with damage_in_words(self.source, name):
                return read()

        inside = PurePosixPath(self._folder, name)
        stem = inside.name[: -len(".json")]
        self.append(Member(name, read_checked, contest_named(stem, inside.parent.name) if stem == "scoreboard" else ""))

    def too_many(self) -> SourceError:
        """The error of an archive or folder with too many files."""
        rule = f"more than {self.limits.members:,} contest files, the limit"
        remedy = "use a table for many small contests, or allow more with --limit members=..."
        return SourceError(f"{rule}; {remedy}", self.source)

    def too_large(self) -> SourceError:
        """The error of an archive whose members are too large together."""
        return expands_too_far(self.source, self.size, self.most_bytes)


def read_all(stream: IO[bytes], size: int, step: int = CHUNK_BYTES) -> bytearray:
    """``size`` bytes of a stream, in steps, so that a wrong declared size takes no memory."""
    raw = bytearray()
    while len(raw) < size and (piece := stream.read(min(step, size - len(raw)))):
        raw += piece
    if len(raw) < size:
        raise EOFError(f"{size:,} bytes are declared, the archive has {len(raw):,}")
    return raw


@contextmanager
def damage_in_words(source: str, member: str = "") -> Iterator[None]:
    """Raise errors of the readers of archives as :class:`SourceError`."""
    try:
        yield
    except _DAMAGE as error:
        rule = "cannot be read" if isinstance(error, OSError) and error.errno else "damaged or truncated archive"
        raise SourceError(f"{rule}: {error}", source, member=member) from error


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

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, document: bytes | bytearray) -> Callable[[], bytes]:
        """Store a document, and return the function that reads it; ``SourceError`` if the disk is full."""
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
