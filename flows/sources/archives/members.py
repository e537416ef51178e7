"""The contest files inside a folder or an archive, and the checks of their names and sizes."""

from __future__ import annotations

import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from ..base import IngestReport, SourceError, contest_number
from ..limits import Limits, byte_count

__all__ = ["CHUNK_BYTES", "Member", "Members", "damage_in_words", "read_all"]

CHUNK_BYTES = 2**20

# What the standard library's readers raise for damaged archives; zipfile says RuntimeError for an encrypted member.
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

    ``read`` gives its bytes and raises :class:`SourceError` if the archive is damaged there, or the member is too long;
    ``contest`` is what the contest is called if its place has no name of its own.
    """

    name: str
    read: Callable[[], bytes | bytearray]
    contest: str = ""

    @property
    def stem(self) -> str:
        """What the contest is called: the file's name without folder and ``.json``."""
        return self.contest or PurePosixPath(self.name).name[: -len(".json")]

    @property
    def number(self) -> int | None:
        """The stem as a number, if it is one."""
        return contest_number(self.stem)


class Members(list[Member]):
    """The contest files of one folder or archive, as they are found.

    Parameters
    ----------
    path
        The folder or archive.
    report
        Counts the files that are no contests.
    limits
        How many there may be, and how long.
    """

    def __init__(self, path: Path, report: IngestReport, limits: Limits) -> None:
        super().__init__()
        self.source, self.limits, self._report = path.name, limits, report
        self.size = 0 if path.is_dir() else path.stat().st_size
        self.most_bytes = limits.expanded_from(self.size)

    def are_contests(self, name: str, is_file: bool) -> bool:
        """Whether a file is one of a contest; counts those that are not.

        Raises
        ------
        SourceError
            Its name leads out of the archive, or is not UTF-8.
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
        """Add a contest file; one that is too long raises when it is read.

        Raises
        ------
        SourceError
            The folder or archive has too many files.
        """
        if len(self) >= self.limits.members:
            raise self.too_many()

        def read_checked() -> bytes | bytearray:
            if size > self.limits.document:
                found = f"{size:,} bytes; a contest of more than {self.limits.document:,} bytes is refused"
                rule = f"{found}: a table holds larger ones, --limit document=... allows it"
                raise SourceError(rule, self.source, member=name)
            with damage_in_words(self.source, name):
                return read()

        self.append(Member(name, read_checked))

    def too_many(self) -> SourceError:
        """The error of an archive or folder with too many files."""
        rule = f"more than {self.limits.members:,} contest files, the limit"
        way = "a table holds many small contests better, --limit members=... allows more"
        return SourceError(f"{rule}; {way}", self.source)

    def too_large(self) -> SourceError:
        """The error of an archive whose members are too much together."""
        rule = f"expands from {byte_count(self.size)} to more than {byte_count(self.most_bytes)}, the limit"
        return SourceError(f"{rule}; if it is honest, --limit expanded=... allows more", self.source)


def read_all(stream: IO[bytes], size: int, step: int = CHUNK_BYTES) -> bytearray:
    """``size`` bytes of a stream, in steps: a declared size that is not true costs no memory."""
    raw = bytearray()
    while len(raw) < size and (piece := stream.read(min(step, size - len(raw)))):
        raw += piece
    if len(raw) < size:
        raise EOFError(f"{size:,} bytes are declared, {len(raw):,} are there")
    return raw


@contextmanager
def damage_in_words(source: str, member: str = "") -> Iterator[None]:
    """Turn what readers of archives raise into :class:`SourceError`."""
    try:
        yield
    except _DAMAGE as error:
        rule = "cannot be read" if isinstance(error, OSError) and error.errno else "damaged or truncated archive"
        raise SourceError(f"{rule}: {error}", source, member=member) from error
