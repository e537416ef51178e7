"""Folders and archives as lists of contest files, whatever an archive tries.

Members are read in memory; nothing is ever extracted to disk, and a name that leads out of the archive, a link or a
device is refused all the same: whoever sent it wanted something else than contests.
"""

from __future__ import annotations

import gzip
import lzma
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, cast

from flows.sources.base import IngestReport, SourceError, contest_number

__all__ = ["ARCHIVES", "Member", "open_members"]

MAX_MEMBER_BYTES = 2**30  # the largest real contest is 1 MB; more is a mistake or an attack

_TARS: dict[str, Callable[[Path], Any]] = {
    ".tar": lambda path: path.open("rb"),
    ".tar.gz": gzip.open,
    ".tgz": gzip.open,
    ".tar.xz": lzma.open,
    ".txz": lzma.open,
}
ARCHIVES = (*_TARS, ".zip")

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
)


class Member(NamedTuple):
    """A contest file inside a folder or archive, or a contest inside a file of several.

    ``read`` gives its bytes and raises :class:`SourceError` if the archive is damaged there; ``contest`` is what the
    contest is called if its place has no name of its own.
    """

    name: str
    read: Callable[[], bytes]
    contest: str = ""

    @property
    def stem(self) -> str:
        """What the contest is called: the file's name without folder and ``.json``."""
        return self.contest or PurePosixPath(self.name).name[: -len(".json")]

    @property
    def number(self) -> int | None:
        """The stem as a number, if it is one."""
        return contest_number(self.stem)


def open_members(path: Path, report: IngestReport) -> AbstractContextManager[list[Member]]:
    """The ``.json`` files of a folder or archive, in its own order (a folder's: by name), while the context is open.

    Parameters
    ----------
    path
        A folder, or a file with one of the suffixes in ``ARCHIVES``.
    report
        Counts the files that are no contests.

    Raises
    ------
    SourceError
        On entering the context: a damaged archive, or a member that is no plain file inside it.
    """
    if path.is_dir():
        return _open_folder(path, report)
    if path.name.lower().endswith(".zip"):
        return _open_zip(path, report)
    return _open_tar(path, report)


@contextmanager
def _open_folder(path: Path, report: IngestReport) -> Iterator[list[Member]]:
    members = []
    with _damage_in_words(path.name):
        for folder, folders, names in os.walk(path):
            folders.sort()
            for file in (Path(folder, name) for name in sorted(names)):
                name = file.relative_to(path).as_posix()
                if _is_contest(name, file.is_file(), path.name, report):
                    members.append(_member(name, file.stat().st_size, file.read_bytes, path.name))
    yield members


@contextmanager
def _open_zip(path: Path, report: IngestReport) -> Iterator[list[Member]]:
    with _damage_in_words(path.name):
        archive = zipfile.ZipFile(path)
    with archive:
        members = []
        for info in archive.infolist():
            name = info.filename.replace("\\", "/")  # some writers on Windows
            if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise SourceError("a link or device; only plain files are read", path.name, member=name)
            if _is_contest(name, not info.is_dir(), path.name, report):
                members.append(_member(name, info.file_size, partial(archive.read, info), path.name))
        yield members


@contextmanager
def _open_tar(path: Path, report: IngestReport) -> Iterator[list[Member]]:
    # A tar is one stream, and its order need not be that of the numbers: decompress once and keep the bytes.
    opener = next(opener for suffix, opener in _TARS.items() if path.name.lower().endswith(suffix))
    members = []
    with (
        _damage_in_words(path.name),
        cast(IO[bytes], opener(path)) as stream,
        tarfile.open(fileobj=stream, mode="r:", tarinfo=_Header) as archive,
    ):
        for info in archive:
            if not (info.isreg() or info.isdir()):
                raise SourceError("a link or device; only plain files are read", path.name, member=info.name)
            if _is_contest(info.name, info.isreg(), path.name, report):
                raw = _member(info.name, info.size, cast(IO[bytes], archive.extractfile(info)).read, path.name).read()
                members.append(Member(info.name, partial(bytes, raw)))
        while stream.read(2**20):  # only the end of the stream brings the checksum
            pass
    yield members


class _Header(tarfile.TarInfo):
    """A header that is neither whole nor the end mark is damage; by itself tarfile would take it for the end."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> _Header:
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # typeshed does not know it
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from None


def _member(name: str, size: int, read: Callable[[], bytes], source: str) -> Member:
    if size > MAX_MEMBER_BYTES:
        rule = f"{size:,} bytes; a contest of more than {MAX_MEMBER_BYTES:,} bytes is refused"
        raise SourceError(rule, source, member=name)

    def read_checked() -> bytes:
        with _damage_in_words(source, name):
            return read()

    return Member(name, read_checked)


def _is_contest(name: str, is_file: bool, source: str, report: IngestReport) -> bool:
    parts = PurePosixPath(name).parts
    if name.startswith("/") or ".." in parts or re.match(r"[A-Za-z]:", name):
        raise SourceError("the path leads out of the archive", source, member=name)
    if not is_file:
        return False
    if any(part.startswith(".") or part == "__MACOSX" for part in parts) or not name.lower().endswith(".json"):
        report.other_files += 1
        return False
    if not name.isascii():
        try:
            name.encode()
        except UnicodeEncodeError:
            raise SourceError("the file's name is not UTF-8", source, member=name) from None
    return True


@contextmanager
def _damage_in_words(source: str, member: str = "") -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        rule = "cannot be read" if isinstance(error, OSError) and error.errno else "damaged or truncated archive"
        raise SourceError(f"{rule}: {error}", source, member=member) from error
