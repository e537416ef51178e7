"""The responses of a site in the lake: compressed, never changed, each with its address and time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
import pyarrow as pa

from ranklake.storage import Lake
from ranklake.storage.lake import layout
from ranklake.storage.lake.access.lake import digest_of
from ranklake.storage.lake.errors import LakeError, MissingError
from ranklake.storage.lake.prefetch import prefetch
from ranklake.storage.lake.remedies import damaged
from ranklake.storage.leases.lease import Lease

from ..sources.sites.documents import Document, Key, Response

_AHEAD = 8  # responses that are prefetched; in a store each takes a round trip
_BROKEN = "broken"
_CODEC = "zstd"


class ArchiveEntry(msgspec.Struct, omit_defaults=True):
    """The index entry of a response.

    ``version`` numbers the distinct responses from 0, -1 if none could be parsed; ``failures`` counts later responses
    that could not. ``checked_seconds`` is the time of the last request. ``status`` is that of the newest response, 0
    in an index of release 0.1.
    """

    kind: str
    name: str
    version: int = -1
    digest: str = ""
    about: dict[str, Any] = {}
    checked_seconds: int = 0
    etag: str = ""
    last_modified: str = ""
    failures: int = 0
    status: int = 0


class _Header(msgspec.Struct):
    kind: str
    name: str
    url: str
    status: int
    time_seconds: int
    digest: str
    etag: str = ""
    last_modified: str = ""
    about: dict[str, Any] = {}


_HEADER = msgspec.json.Decoder(_Header)
_ENTRIES = msgspec.json.Decoder(list[ArchiveEntry])


class ResponseArchive:
    """All responses of one source.

    A file is a line of JSON (address, time, status and the like) and the body as sent, compressed together. Writing
    needs a lease on the source; an archive without a lease is read-only.

    The index avoids listing a store. It only repeats the files, so it may be out of date or missing.
    """

    def __init__(self, lake: Lake, source: str, lease: Lease | None = None) -> None:
        self._lake, self.source = lake, source
        self._writer = lake if lease is None else lease.lake
        path = layout.raw_index(source)
        try:
            data, self._version = lake.read_versioned(path)
            entries = _ENTRIES.decode(data)
        except MissingError:
            entries, self._version = None, ""
        except msgspec.MsgspecError as error:
            raise damaged(path, str(error)) from None
        self._entries = {Key(entry.kind, entry.name): entry for entry in entries or ()}
        if entries is None:
            self.rebuild()

    def entry(self, key: Key) -> ArchiveEntry | None:
        """The index entry of a document; None if there is none."""
        return self._entries.get(key)

    def keys(self, *kinds: str) -> list[Key]:
        """Keys of the stored documents of these kinds."""
        return [key for key, entry in self._entries.items() if key.kind in kinds and entry.version >= 0]

    def is_ok(self, key: Key) -> bool:
        """Whether the newest response for a key has the status 200."""
        return self._status(self._entries[key]) == 200

    def absent(self, *kinds: str) -> int:
        """Number of the newest responses with status 403 or 404."""
        return sum(self._entries[key].status in (403, 404) for key in self.keys(*kinds))

    def fingerprint(self, key: Key) -> str:
        """A digest of the newest response, its status and its data from the list."""
        entry = self._entries[key]
        status = b"" if entry.status in (0, 200) else b"%d" % entry.status
        return digest_of(entry.digest.encode() + status + msgspec.json.encode(entry.about, order="sorted"))

    def find(self, key: Key) -> ArchiveEntry | None:
        """Like :meth:`entry`, but also find a file that is not in the index because a run was killed."""
        if key not in self._entries:
            for path in self._names(key, 0):
                with suppress(MissingError):  # a check for existence may be two requests to a store, a read is one
                    if self._lake.read_bytes(path):  # an empty file holds no response yet, see Disk.create
                        self._adopt(self._read(path), 0)
        return self._entries.get(key)

    def read(self, key: Key) -> Document:
        """The newest response; ``MissingError`` or ``DamagedError`` if its file is missing or not as written."""
        return self._read(self._path(self._entries[key]))

    def read_ahead(self, keys: Iterable[Key]) -> Iterator[Document]:
        """As :meth:`read`, in the order of ``keys``; the next ones are prefetched and checked meanwhile."""
        return prefetch(self.read, keys, _AHEAD, _AHEAD, "ranklake-raw")

    def store(self, document: Document, *, replace: bool = False) -> bool:
        """Store a response beside earlier ones that differ, or in their place as for lists; returns whether the
        response, or its data from the list, is new.
        """
        key, response = document.key, document.response
        entry = self._entries.get(key) or ArchiveEntry(key.kind, key.name)
        digest = digest_of(response.body)
        news = entry.digest != digest or entry.about != document.about or self._status(entry) != response.status
        if news:
            version = 0 if replace else entry.version + 1
            data = _encode(document, digest)
            if replace:
                self._writer.commit_bytes(layout.raw_file(self.source, key.kind, key.name), data)
            else:  # a run that was killed may have written versions that are not in the index
                while not self._writer.create_bytes(layout.raw_file(self.source, key.kind, key.name, version), data):
                    version += 1
            entry.version, entry.digest, entry.about = version, digest, document.about
        entry.checked_seconds, entry.failures = response.time_seconds, 0
        entry.etag, entry.last_modified, entry.status = response.etag, response.last_modified, response.status
        self._entries[key] = entry
        return news

    def store_unreadable(self, document: Document) -> str:
        """Store a response that cannot be parsed, for inspection; return its path. The next one replaces it."""
        key = document.key
        path = layout.raw_file(self.source, _BROKEN, str(key))
        self._writer.commit_bytes(path, _encode(document, digest_of(document.response.body)))
        entry = self._entries.setdefault(key, ArchiveEntry(key.kind, key.name))
        entry.checked_seconds, entry.failures = document.response.time_seconds, entry.failures + 1
        return path

    def mark_unchanged(self, key: Key, time_seconds: int) -> None:
        """Record a request at this time whose response is the same document."""
        entry = self._entries[key]
        entry.checked_seconds, entry.failures = time_seconds, 0

    def save(self) -> None:
        """Write the index."""
        data = msgspec.json.encode(sorted(self._entries.values(), key=lambda entry: (entry.kind, entry.name)))
        path = layout.raw_index(self.source)
        self._version = self._writer.replace_bytes(path, msgspec.json.format(data, indent=0), self._version)

    def verify(self) -> Iterator[tuple[str, str]]:
        """Read every stored response; yield its path and its fault, ``""`` for none."""
        missing = {self._path(entry) for entry in self._entries.values() if entry.version >= 0}
        for folder, sizes in self._folders():
            for name, size in sizes.items():
                path = f"{folder}/{name}"
                if not name.endswith(".zst") or (not size and path not in missing):
                    continue
                missing.discard(path)
                try:
                    self._read(path)
                except LakeError as error:
                    yield path, str(error)
                else:
                    yield path, ""
        for path in sorted(missing):
            yield path, str(damaged(path, "there is no such file"))

    def rebuild(self) -> None:
        """Add unknown files to the index: one listing a kind, and one read for each of them."""
        for folder, sizes in self._folders():
            kind = folder.rpartition("/")[2]
            if kind == _BROKEN:
                continue
            newest: dict[str, int] = {}
            for name, size in sizes.items():
                stem, _, number = name.removesuffix(".zst").rpartition(".")
                if name.endswith(".zst") and number.isdigit() and size:
                    newest[stem] = max(newest.get(stem, -1), int(number))
            indexed = {self._path(entry) for entry in self._entries.values() if newest and entry.kind == kind}
            for stem, version in newest.items():
                if (path := f"{folder}/{stem}.{version}.zst") not in indexed:
                    self._adopt(self._read(path), version)

    def _folders(self) -> Iterator[tuple[str, dict[str, int]]]:
        """The folder of each kind of document, and the sizes of its files by name, sorted."""
        for kind in self._lake.list(layout.raw_folder(self.source)):
            if not kind.startswith(layout.TEMPORARY_PREFIX) and layout.fence_number(kind) < 0:  # nor of a writer
                folder = layout.raw_folder(self.source, kind)
                yield folder, dict(sorted(self._lake.sizes(folder).items()))

    def _status(self, entry: ArchiveEntry) -> int:
        return entry.status or self._read(self._path(entry)).response.status

    def _path(self, entry: ArchiveEntry) -> str:
        path, *before = self._names(Key(entry.kind, entry.name), entry.version)
        return before[0] if before and not self._lake.exists(path) and self._lake.exists(before[0]) else path

    def _names(self, key: Key, version: int) -> list[str]:
        """Possible paths of a response: the current one, and that of release 0.1 if it differs."""
        now = layout.raw_file(self.source, key.kind, key.name, version)
        return list(dict.fromkeys([now, layout.raw_file_before(self.source, key.kind, key.name, version)]))

    def _adopt(self, document: Document, version: int) -> None:
        key, response = document.key, document.response
        entry = ArchiveEntry(key.kind, key.name, version, digest_of(response.body), document.about)
        entry.checked_seconds, entry.status = response.time_seconds, response.status
        entry.etag, entry.last_modified = response.etag, response.last_modified
        self._entries[key] = entry

    def _read(self, path: str) -> Document:
        data = self._lake.read_bytes(path)
        try:
            line, _, body = pa.CompressedInputStream(pa.BufferReader(data), _CODEC).read().partition(b"\n")
            header = _HEADER.decode(line)
        except (OSError, msgspec.MsgspecError):
            header, body = None, b""
        if header is None or digest_of(body) != header.digest:
            raise damaged(path, "does not match the digest of the response")
        response = Response(header.url, header.status, body, header.time_seconds, header.etag, header.last_modified)
        return Document(Key(header.kind, header.name), response, header.about)


def _encode(document: Document, digest: str) -> bytes:
    key, response = document.key, document.response
    header = _Header(key.kind, key.name, response.url, response.status, response.time_seconds, digest)
    header.etag, header.last_modified, header.about = response.etag, response.last_modified, document.about
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, _CODEC) as stream:
        stream.write(msgspec.json.encode(header) + b"\n")
        stream.write(response.body)
    data: bytes = sink.getvalue().to_pybytes()
    return data
