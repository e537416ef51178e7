"""Zip archives of contests or tables. The decompressed size is limited even if the headers of a zip are wrong."""

from __future__ import annotations

import bz2
import copy
import io
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, cast

from ..base import IngestReport, SourceError
from ..limits import Limits, byte_count
from .members import CHUNK_BYTES, Member, Members, damage_in_words, read_all

MAX_DIRECTORY_BYTES = 2**29  # of the list of members: that of a million has 100 MB
_ENTRY = b"PK\x01\x02"  # begins each entry of that list
# Compressed bytes that zipfile decompresses at once, if it has no limit for the result: at most 28 MB with LZMA.
_STEP = 2**12


@contextmanager
def open_zip(path: Path, report: IngestReport, limits: Limits) -> Iterator[list[Member]]:
    """The contest files of a zip; see :func:`ranklake.flows.sources.archives.archive.open_members`."""
    members = Members(path, report, limits)
    with _File(path, members) as file:
        with damage_in_words(path.name):
            archive = zipfile.ZipFile(file)
        total = 0
        for info in archive.infolist():
            name = info.filename.replace("\\", "/")  # some writers on Windows
            if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise SourceError("a link or device; only plain files are read", path.name, member=name)
            if members.are_contests(name, bool(name) and not info.is_dir()):
                # A member never yields more bytes than it declares, so the declared sizes limit the total.
                total += info.file_size if info.file_size <= limits.document else 0
                if total > members.most_bytes:
                    raise members.too_large()
                members.add(name, info.file_size, partial(_read, archive, info))
        yield members


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytearray:
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
    with _File(path, members) as file, damage_in_words(path.name):
        archive = zipfile.ZipFile(file)
        left = members.most_bytes
        for number, info in enumerate(archive.infolist()):
            name = info.filename.replace("\\", "/")
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


class _File(io.BufferedReader):
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
