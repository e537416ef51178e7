"""Files of a site, written beside those of the version that readers have; one switch at the end.

A file whose name has a digest is never changed: if it exists it is kept. Pages of a version are in a folder of their
own. ``index.html`` names the version; replacing it is the switch. Files of the version before stay for readers that
have its pages open; older ones are removed.

Style sheets, scripts and large pages of a version are also written compressed, with ``.gz`` and ``.zst`` at the end of
the name, for web servers that send such copies. The pages at the root are not: a page and its copy cannot be replaced
at once.
"""

from __future__ import annotations

import gzip
import re
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Self

import msgspec
import pyarrow as pa

from ranklake.storage import Lake, LakeError, MissingError

MARKER = "ranklake-site.json"  # written first: the folder is a site
SWITCH = "index.html"
SHARED = ("data", "contests", "problems", "static")  # folders of files whose names have digests
VERSIONS = "v"
_LEVEL = 6  # of gzip
_ZSTD_LEVEL = 15
_TEXTS = (".css", ".js", ".svg")  # also written compressed
_MEDIA_TYPES = {  # by the end of the name, as an object store sends them
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".gz": "application/gzip",
    ".zst": "application/zstd",
    ".png": "image/png",
    ".ico": "image/vnd.microsoft.icon",
    ".atom": "application/atom+xml; charset=utf-8",
    ".xml": "application/xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}
_VERSION = re.compile(rb'<meta name="ranklake-version" content="v/(\d+)/">')
_THREADS = {True: 4, False: 16}  # on a disk, in an object store
_WAITING = 64  # files in memory that are not written yet


class SiteFiles:
    """The files of one version of a site; a context manager.

    ``folder``: folder or address of the site.
    ``run``: name of the run.
    ``rebuild``: write every file again, and replace the site of another run.
    ``version``: folder of the new version, ``v/000007/``.
    ``previous``: folder of the version that readers have; empty without one.
    ``written``, ``kept``: number of files written, and of those that existed.
    ``bytes_written``: bytes of the files written.
    Raises LakeError: the folder has files of something else, or the site of another run.
    """

    def __init__(self, folder: str, run: str, rebuild: bool = False) -> None:
        self._site = Lake.open(folder, create=True)
        self._check(run, rebuild)
        self._number = self._current()
        self.previous = f"{VERSIONS}/{self._number:06}/" if self._number else ""
        self.version = f"{VERSIONS}/{self._number + 1:06}/"
        existing = {f"{name}/{path}": size for name in SHARED for path, size in self._sizes(name).items()}
        self._found = set(existing)
        # A file that an interrupted publish left may be torn after a power cut: only files of a version are kept.
        finished = self._files_of(self.previous)
        self._existing = set() if rebuild else {path for path in finished if existing.get(path)}
        self._used: dict[str, None] = {}
        self.written = self.kept = self.bytes_written = 0
        self._pool = ThreadPoolExecutor(_THREADS[self._site.local], thread_name_prefix="ranklake-site")
        self._waiting: deque[Future[list[tuple[str, int]]]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def manifest(self) -> dict[str, Any]:
        """The manifest of the version that readers have; empty without one."""
        if not self.previous:
            return {}
        try:
            return dict(msgspec.json.decode(self._site.read_bytes(f"{self.previous}manifest.json")))
        except (MissingError, ValueError, TypeError):
            return {}

    def start(self, run: str) -> None:
        """Mark the folder as a site, and remove what an interrupted publish left of this version."""
        self._put(MARKER, msgspec.json.encode({"format": 1, "run": run}))
        self._site.delete_folder(self.version.rstrip("/"))

    def has(self, path: str) -> bool:
        """Whether a file with a digest in its name exists; it then belongs to this version, too."""
        names = _names(path)
        if not self._existing.issuperset(names):
            return False
        if path not in self._used:
            self.kept += len(names)
        self._used |= dict.fromkeys(names)
        return True

    def put(self, path: str, make: Callable[[], bytes]) -> str:
        """Write a file with a digest in its name unless it exists; returns its path. ``make`` runs in a thread."""
        if path not in self._used and not self.has(path):
            self._used |= dict.fromkeys(_names(path))
            self._write(path, make)
        return path

    def page(self, path: str, content: str | bytes, packed: bool = False) -> None:
        """Write a page of this version at a path in its folder; with ``packed`` also compressed."""
        data = content.encode() if isinstance(content, str) else content
        self._write(f"{self.version}{path}", lambda: data)
        if packed:
            for end, pack in _COPIES.items():
                self._write(f"{self.version}{path}{end}", partial(pack, data))

    def names(self, folder: str) -> list[str]:
        """The names of the files of a folder; none without it."""
        return list(self._sizes(folder))

    def switch(self, shells: dict[str, str | bytes], index: str) -> None:
        """Finish the version: its files, and ``shells`` of no version, are complete before ``index.html`` names it."""
        self._write(f"{self.version}files.json", lambda: msgspec.json.encode(list(self._used)))
        self._wait(0)
        for path, text in shells.items():
            data = text.encode() if isinstance(text, str) else text
            if self._read(path) != data:
                self._put(path, data, "no-cache")
        self._site.commit_bytes(
            SWITCH, index.encode(), **_headers(SWITCH, "no-cache")
        )  # removed versions must not show

    def clean(self) -> int:
        """Remove the files that neither this version nor the one before uses; returns their number."""
        used = {*self._used, *self._files_of(self.previous)}
        unused = sorted(path for path in self._found if path not in used)
        keep = {self.version.split("/")[1], *self.previous.split("/")[1:2]}
        old = [name for name in self._site.list(VERSIONS) if name not in keep]
        for path in unused:
            self._site.delete(path)
        for name in old:
            self._site.delete_folder(f"{VERSIONS}/{name}")
        return len(unused) + len(old)

    def _check(self, run: str, rebuild: bool) -> None:
        url = self._site.url
        marker = self._read(MARKER)
        if marker is None:
            if self._site.list(""):
                raise LakeError(f"{url}: is not empty and is no site of ranklake; name another folder", path="")
            return
        try:
            other = str(msgspec.json.decode(marker)["run"])
        except (msgspec.DecodeError, KeyError, TypeError):
            other = run
        if other != run and not rebuild:
            remedy = "name another folder, or replace the site with --afresh"
            raise LakeError(f"{url}: is the site of run {other}, not of {run}; {remedy}", path=MARKER)

    def _current(self) -> int:
        found = _VERSION.search(self._read(SWITCH) or b"")
        return int(found[1]) if found else 0

    def _read(self, path: str) -> bytes | None:
        try:
            return self._site.read_bytes(path)
        except MissingError:
            return None

    def _sizes(self, folder: str) -> dict[str, int]:
        try:
            return self._site.sizes_below(folder)
        except MissingError:
            return {}

    def _files_of(self, version: str) -> list[str]:
        data = self._read(f"{version}files.json") if version else None
        return msgspec.json.decode(data, type=list[str]) if data else []

    def _put(self, path: str, data: bytes, cache_control: str = "") -> None:
        self._site.write_bytes(path, data, **_headers(path, cache_control))

    def _write(self, path: str, make: Callable[[], bytes]) -> None:
        def write() -> list[tuple[str, int]]:
            data, written = make(), []
            for name in _names(path):
                content = data if name == path else _COPIES[name.removeprefix(path)](data)
                self._put(name, content)
                written.append((name, len(content)))
            return written

        self._waiting.append(self._pool.submit(write))
        self._wait(_WAITING)

    def _wait(self, most: int) -> None:
        """Wait until at most so many files are not written."""
        while len(self._waiting) > most:
            for _, size in self._waiting.popleft().result():
                self.written += 1
                self.bytes_written += size


def _headers(path: str, cache_control: str) -> dict[str, Any]:
    """What an object store tells browsers about a file."""
    return {"media_type": _MEDIA_TYPES[path[path.rindex(".") :]], "cache_control": cache_control}


def _names(path: str) -> tuple[str, ...]:
    """The file, and its compressed copies if it is a text."""
    return (path, *(f"{path}{end}" for end in _COPIES)) if path.endswith(_TEXTS) else (path,)


def compress(data: bytes) -> bytes:
    """Gzip, the same bytes for the same data."""
    return gzip.compress(data, _LEVEL, mtime=0)


def _zstd(data: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd", _ZSTD_LEVEL).compress(data, asbytes=True)
    return packed


_COPIES = {".gz": compress, ".zst": _zstd}  # by the end of the name
