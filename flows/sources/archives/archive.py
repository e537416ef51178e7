"""Folders and archives as lists of contest files, safe against hostile archives.

No member is extracted under its own name. A name that leads out of the archive, a link or a device is refused all the
same: an archive of contests has none. The decompressed size is limited, whatever size the headers declare. One contest
is in memory at a time; the contents of a tar are in a spool.
"""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import lzma
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from ...common.text import byte_size
from ..base import IngestReport, SourceError
from ..lake_tables import walk
from ..limits import BoundedReader, Limits, byte_count
from .members import CHUNK_BYTES, Member, Members, Spool, damage_in_words, read_all

MAX_HEADER_BYTES = 2**20  # of a long name, or of the attributes of one member of a tar

MAX_DIRECTORY_BYTES = 2**29  # of the list of members: that of a million has 100 MB
_ENTRY = b"PK\x01\x02"  # begins each entry of that list
# Compressed bytes that zipfile decompresses at once, if it has no limit for the result: at most 28 MB with LZMA.
_STEP = 2**12

_TARS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".tar": lambda packed: packed,
    ".tar.gz": gzip.open,
    ".tgz": gzip.open,
    ".tar.xz": lzma.open,
    ".txz": lzma.open,
}
ARCHIVES = (*_TARS, ".zip")
_LONG_HEADERS = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip


def open_members(path: Path, report: IngestReport, limits: Limits) -> AbstractContextManager[list[Member]]:
    """The ``.json`` files of a folder or archive, in its own order (a folder's: by name), while the context is open.

    Raises ``SourceError`` on entering the context: a damaged archive, a member that is no plain file inside it, or an
    archive that holds more than is allowed. A member that is too long by itself raises when it is read.
    """
    if path.is_dir():
        return _open_folder(path, report, limits)
    if path.name.lower().endswith(".zip"):
        return _open_zip(path, report, limits)
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


@contextmanager
def _open_zip(path: Path, report: IngestReport, limits: Limits) -> Iterator[list[Member]]:
    members = Members(path, report, limits)
    with _ZipFile(path, members) as file:
        with damage_in_words(path.name):
            archive = zipfile.ZipFile(file)
        total = 0
        for name, info in _zipped(archive):
            if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise SourceError("a link or device; only plain files are read", path.name, member=name)
            if members.are_contests(name, bool(name) and not info.is_dir()):
                # A member never yields more bytes than it declares, so the declared sizes limit the total.
                total += info.file_size if info.file_size <= limits.document else 0
                if total > members.most_bytes:
                    raise members.too_large()
                members.add(name, info.file_size, partial(_read_zipped, archive, info))
        yield members


def _zipped(archive: zipfile.ZipFile) -> Iterator[tuple[str, zipfile.ZipInfo]]:
    return ((info.filename.replace("\\", "/"), info) for info in archive.infolist())  # some writers on Windows


def _read_zipped(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytearray:
    if info.compress_type != zipfile.ZIP_BZIP2:
        bounded = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        with archive.open(info) as stream:
            raw = read_all(stream, info.file_size, CHUNK_BYTES if bounded else _STEP)
            stream.read(1)  # the checksum is compared at the end, also of an empty member
            return raw
    # 4 kB of bzip2 may become gigabytes at once; zipfile has no limit. BZ2File returns only the requested bytes.
    packed = copy.copy(info)
    packed.compress_type, packed.file_size = zipfile.ZIP_STORED, info.compress_size
    del packed.CRC  # the checksum of the decompressed contents
    with archive.open(packed) as inside, bz2.BZ2File(inside) as unpacked:
        raw = read_all(cast(IO[bytes], unpacked), info.file_size)
        if zlib.crc32(raw) != info.CRC or unpacked.read(1):
            raise zipfile.BadZipFile(f"Bad CRC-32 for file {info.filename!r}")
    return raw


def unpacked(path: Path, folder: Path, limits: Limits) -> Iterator[tuple[str, Path]]:
    """The names of all files of a zip, and where each of them is in a folder until the next one is asked for.

    Raises ``SourceError`` if the archive is damaged, or larger than the limits, or a name leads out of it.
    """
    members = Members(path, IngestReport(), limits)
    with _ZipFile(path, members) as file, damage_in_words(path.name):
        archive = zipfile.ZipFile(file)
        left = members.most_bytes
        for number, (name, info) in enumerate(_zipped(archive)):
            members.are_contests(name, not info.is_dir())
            parts = PurePosixPath(name).parts
            if info.is_dir() or any(part.startswith(".") or part == "__MACOSX" for part in parts):
                continue
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise SourceError("packed by another method than Deflate; unpack it first", path.name, member=name)
            if (left := left - info.file_size) < 0:
                raise members.too_large()
            endings = re.sub(r"[^\w.]", "", "".join(PurePosixPath(name).suffixes[-2:]))
            copy_path = folder / f"{number}{endings}"
            with archive.open(info) as stream, copy_path.open("wb") as out:
                shutil.copyfileobj(stream, out, CHUNK_BYTES)
            yield name, copy_path
            copy_path.unlink()


class _ZipFile(io.BufferedReader):
    """The file of a zip. It limits the list of members, which zipfile reads at once into one object a member."""

    def __init__(self, path: Path, members: Members) -> None:
        super().__init__(io.FileIO(path))
        self._members = members

    def read(self, n: int | None = -1) -> bytes:
        if n is not None and n > MAX_DIRECTORY_BYTES:
            rule = f"its list of members has {byte_count(n)}, at most {byte_count(MAX_DIRECTORY_BYTES)} are allowed"
            raise SourceError(f"{rule}; make several archives of it", self._members.source)
        raw = super().read(n)
        # Pieces of members are shorter, or do not begin so.
        if len(raw) > CHUNK_BYTES and raw.startswith(_ENTRY) and raw.count(_ENTRY) > self._members.limits.members:
            raise self._members.too_many()
        return raw
