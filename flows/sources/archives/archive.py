"""Folders and archives as lists of contest files, safe against hostile archives.

No member is extracted under its own name. A name that leads out of the archive, a link or a device is refused all the
same: an archive of contests has none. The decompressed size is limited, whatever size the headers declare. One contest
is in memory at a time; the contents of a tar are in a spool.
"""

from __future__ import annotations

import gzip
import lzma
import tarfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from ...common.text import byte_size
from ..base import IngestReport, SourceError
from ..lake_tables import walk
from ..limits import BoundedReader, Limits
from .members import CHUNK_BYTES, Member, Members, Spool, damage_in_words, read_all
from .zips import open_zip

MAX_HEADER_BYTES = 2**20  # of a long name, or of the attributes of one member of a tar

_TARS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".tar": lambda packed: packed,
    ".tar.gz": gzip.open,
    ".tgz": gzip.open,
    ".tar.xz": lzma.open,
    ".txz": lzma.open,
}
ARCHIVES = (*_TARS, ".zip")
_LONG_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


def open_members(
    path: Path, report: IngestReport, limits: Limits | None = None
) -> AbstractContextManager[list[Member]]:
    """The ``.json`` files of a folder or archive, in its own order (a folder's: by name), while the context is open.

    Raises ``SourceError`` on entering the context: a damaged archive, a member that is no plain file inside it, or an
    archive that holds more than is allowed. A member that is too long by itself raises when it is read.
    """
    limits = limits or Limits()
    if path.is_dir():
        return _open_folder(path, report, limits)
    if path.name.lower().endswith(".zip"):
        return open_zip(path, report, limits)
    return _open_tar(path, report, limits)


@contextmanager
def _open_folder(path: Path, report: IngestReport, limits: Limits) -> Iterator[list[Member]]:
    members = Members(path, report, limits)
    with damage_in_words(path.name):
        for folder, _, names in walk(path, report):
            for file in (Path(folder, name) for name in names):
                name = file.relative_to(path).as_posix()
                if members.are_contests(name, file.is_file()):
                    size = file.stat().st_size
                    members.add(name, size, partial(_read_file, path, name, size))
    yield members


def _read_file(folder: Path, name: str, size: int) -> bytes:
    """A file of a folder, which may be replaced after it was listed."""
    try:
        with Path(folder, name).open("rb") as stream:
            raw = stream.read(size + 1)
    except FileNotFoundError:
        raise SourceError("it disappeared after the folder was listed; run again", folder.name, member=name) from None
    if len(raw) != size:
        rule = f"it is being written: it had {size:,} bytes when the folder was listed; run again when it is complete"
        raise SourceError(rule, folder.name, member=name)
    return raw


@contextmanager
def _open_tar(path: Path, report: IngestReport, limits: Limits) -> Iterator[list[Member]]:
    # A tar is one stream, and its order need not be that of the numbers: decompress once and keep the contents.
    opener = next(opener for suffix, opener in _TARS.items() if path.name.lower().endswith(suffix))
    members = Members(path, report, limits)
    with Spool(path.name) as spool:
        with (
            damage_in_words(path.name),
            path.open("rb") as packed,
            BoundedReader(opener(packed), members.most_bytes, members.too_large) as stream,
            tarfile.open(fileobj=cast(IO[bytes], stream), mode="r:", tarinfo=_Header) as archive,
        ):
            while (info := archive.next()) is not None:
                cast(Any, archive).members.clear()  # tarfile keeps all headers
                if not (info.isreg() or info.isdir()):
                    raise SourceError("a link or device; only plain files are read", path.name, member=info.name)
                if members.are_contests(info.name, info.isreg()):
                    raw = bytearray()
                    if info.size <= limits.document:
                        with damage_in_words(path.name, info.name):
                            raw = read_all(cast(IO[bytes], archive.extractfile(info)), info.size)
                    members.add(info.name, info.size, spool.add(raw))
                report.reading(f"{byte_size(packed.tell())} of {byte_size(members.size)} read")
            while stream.read(CHUNK_BYTES):  # the checksum is at the end of the stream
                pass
        yield members


class _Header(tarfile.TarInfo):
    """A header. A truncated header is damage; tarfile itself would treat it as the end of the archive."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        header = super().frombuf(buf, encoding, errors)
        # tarfile reads the body of such a header at once.
        if header.type in _LONG_HEADERS and header.size > MAX_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {header.size:,} bytes")
        return header

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> _Header:
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # missing in typeshed
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from None
