"""Single files of a lake, on a disk or in an object store: read, replaced, created once, listed, deleted."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from copy import copy
from typing import Any, Self, TypeVar

import fsspec
import pyarrow as pa
from fsspec.implementations.local import LocalFileSystem

from .. import limits as default_limits
from ..errors import AddressError, ConflictError, MissingError, NoSpaceError
from ..limits import Limits
from ..remedies import with_remedies
from .disk import Disk, too_long
from .object_stores import (
    CREATE,
    REPLACE,
    Conditional,
    bucket_of,
    connect,
    ignored_condition,
    ignores_deletion_condition,
    lake_errors,
    unconditional,
    unsupported,
)

T = TypeVar("T")

_TRIES = 3


class Guard:
    """What guards the changes of files: nothing, or a lease (``ranklake.storage.leases.lease``).

    ``fence``: on a disk, the folder through which files are changed, see ``ranklake.storage.leases.fence``; else empty.
    """

    def __init__(self, fence: str = "") -> None:
        self.fence = fence

    def check(self) -> None:
        """Raise an error if the guard is lost."""

    @contextmanager
    def changing(self, path: str) -> Iterator[None]:
        """Explain errors of a change of a file or folder."""
        yield


class LakeFiles:
    """Files of a lake, by their path inside it, ``/`` between the parts.

    A file exists in full or not at all: writes replace it in one step. Made by ``Lake.open``.

    ``url``: address of the lake, as it was opened.
    ``local``: whether the lake is on a disk of this machine.
    ``conditional``: whether a file can be replaced on condition that it still has the version that was read: in S3.
    ``limits``: sizes of the files that are written.
    ``hard_links``: whether the disk has hard links, as far as is known; certain once a lease was taken.
    """

    def __init__(
        self, filesystem: fsspec.AbstractFileSystem, root: str, url: str, limits: Limits | None = None
    ) -> None:
        self._connection = filesystem
        self._process = os.getpid()
        self._root = root.rstrip("/")
        self.local = isinstance(filesystem, LocalFileSystem)
        self._bucket = bucket_of(filesystem, self._root)
        self._disk = Disk(url, self._root)
        self.conditional = Conditional.offered_by(filesystem)
        self.url = url
        self.limits = limits or default_limits.DEFAULT
        self._guard = Guard()

    @classmethod
    def open(cls, url: str | os.PathLike[str], *, create: bool = False, limits: Limits | None = None) -> Self:
        """The lake at a path or at any address that fsspec knows.

        Raises AddressError: the address cannot be that of a lake.
        Raises LakeError: the folder does not exist and ``create`` is false, or it cannot be made; a bucket is never
        made.
        """
        return cls(*find_lake(url, create=create), limits)

    def under(self, guard: Guard) -> Self:
        """The same files, which are changed under a lease."""
        guarded = copy(self)
        guarded._guard = guard
        return guarded

    def check_lease(self) -> None:
        """Check the lease under which files are changed, if there is one; to be called before every commit."""
        self._guard.check()

    @property
    def hard_links(self) -> bool:
        return self._disk.hard_links

    def uri(self, path: str) -> str:
        """The absolute path of a file or folder on a disk, or its address elsewhere, for other programs."""
        if self.local:
            return self._full(path)
        return f"{self.url.rstrip('/')}/{path}"

    def read_bytes(self, path: str) -> bytes:
        """The content of a file.

        Raises MissingError: the file does not exist.
        """
        with with_remedies(self), self._lake_errors("read", path):
            data: bytes = self._retried(lambda: self._filesystem.cat_file(self._full(path)))
        return data

    def read_versioned(self, path: str) -> tuple[bytes, str]:
        """The content of a file, as :meth:`read_bytes`, and its version for :meth:`replace_bytes`; empty on a disk."""
        if not self.conditional:
            return self.read_bytes(path), ""
        with with_remedies(self), self._lake_errors("read", path):
            return Conditional(self._filesystem).read(self._full(path))

    def write_bytes(
        self,
        path: str,
        data: bytes | pa.Buffer,
        *,
        commits: bool = False,
        media_type: str = "",
        cache_control: str = "",
    ) -> None:
        """Make or replace a file in one step; parents are made as needed. The next commit flushes it.

        ``commits`` as for :meth:`commit_bytes`. S3 sends the ``media_type`` and ``cache_control`` of a file to
        browsers; other places have no use for them.
        """
        full = self._full(path)
        with self._changing("write", path) as fence:
            if self.local:
                commit, replace = self._disk.commit, self._disk.replace
                self._with_parents(full, lambda: commit({full: data}, fence) if commits else replace(full, data, fence))
            else:
                self._with_parents(full, lambda: self._put(full, data, media_type, cache_control))

    def commit_bytes(self, path: str, data: bytes | pa.Buffer, **how: Any) -> None:
        """Make or replace a file that commits what was written before; as :meth:`write_bytes`.

        On a disk, a power cut then undoes neither the file nor anything that this process has written to the lake
        before; and the file never survives without it, see ``ranklake.storage.lake.access.unflushed``.
        """
        self.flush()  # first: its errors name another file
        self.write_bytes(path, data, commits=True, **how)

    def commit_many(self, files: Mapping[str, bytes]) -> None:
        """Make several new files that commit, in their order, as :meth:`commit_bytes`; their folders must exist."""
        if not self.local or len(files) == 1:
            for path, data in files.items():
                self.commit_bytes(path, data)
            return
        self.flush()
        with self._changing("write", next(iter(files))) as fence:
            self._disk.commit({self._full(path): data for path, data in files.items()}, fence)

    def flush(self) -> None:
        """Flush all that this process has written to the lake: a power cut does not undo it."""
        try:
            self._disk.unflushed.flush()
        except OSError as error:
            with self._lake_errors("flush", str(error.filename).removeprefix(f"{self._root}/")):
                raise

    def forget(self, folder: str) -> None:
        """Leave unflushed what was written below a folder: another process may have deleted it."""
        self._disk.unflushed.forget(self._full(folder))

    def note_written(self, paths: Iterable[str]) -> None:
        """Flush files that another library wrote to the disk with the next commit."""
        for path in paths:
            self._disk.unflushed.add(self._full(path), content=True)

    def replace_bytes(self, path: str, data: bytes | pa.Buffer, version: str) -> str:
        """Replace the ``version`` of a file that was read, or create the file if it is empty; returns the new version.

        It commits, as :meth:`commit_bytes`; without conditional puts it is the same.

        Raises ConflictError: the file has another version by now.
        """
        if not self.conditional:
            self.commit_bytes(path, data)
            return ""
        content = bytes(data)
        return self._if_unchanged(path, version, content, lambda at: at.replace(self._full(path), content, version))

    def rewrite_bytes(self, path: str, data: bytes) -> None:
        """Replace the content of a small file; on a full disk in place, which needs no space if the length stays.

        Raises MissingError: the disk is full and the file does not exist.
        """
        try:
            self.write_bytes(path, data)
        except NoSpaceError:
            with self._lake_errors("write", path):
                self._disk.overwrite(self._full(path), data)

    def create_bytes(self, path: str, data: bytes) -> bool:
        """Create a file unless it exists; of several processes that try at once, one succeeds.

        ``data`` must be unique to the caller: a request to an object store may be sent twice, and the content of the
        object then shows whether the first request succeeded.

        Returns bool: whether the file was created.
        """
        full = self._full(path)
        with self._changing("create", path) as fence:
            if self.local:
                return self._with_parents(full, lambda: self._disk.create(full, data, fence))
            return self._with_parents(full, lambda: self._create_remotely(path, data))

    def check_conditions(self, path: str, data: bytes) -> None:
        """Check that the store carries out conditions; ``path`` is an object with ``data``, just created.

        Raises LakeError: the store ignores a condition.
        """
        if self.local:
            return
        with self._lake_errors("check", path):
            if ignored := ignored_condition(self._filesystem, self._full(path), data):
                raise unconditional(self._filesystem, self.url, f"ignores {ignored}", path)

    def ignores_deletion_condition(self, path: str) -> bool:
        """Whether the store deletes a version that is not there; tried at ``path``, which no file has."""
        with self._lake_errors("check", path):
            return self.conditional and ignores_deletion_condition(self._filesystem, self._full(path))

    def exists(self, path: str) -> bool:
        """Whether a file or folder exists."""
        with self._lake_errors("look for", path):
            return bool(self._filesystem.exists(self._full(path)))

    def size(self, path: str) -> int | None:
        """Size of a file in bytes; None if it does not exist."""
        try:
            with self._lake_errors("look for", path):
                return int(self._filesystem.info(self._full(path))["size"] or 0)
        except MissingError:
            return None

    def list(self, folder: str) -> list[str]:
        """Names in a folder, sorted; empty if the folder does not exist."""
        if not self.local:
            return sorted(self.sizes(folder))
        with suppress(MissingError), self._lake_errors("list", folder), suppress(NotADirectoryError):
            return sorted(os.listdir(self._full(folder)))  # fsspec would also read the attributes of each file
        return []

    def sizes(self, folder: str) -> dict[str, int]:
        """Names in a folder and their sizes in bytes (0 for folders), in one listing."""
        return {name: size for name, (size, _) in self.entries(folder).items()}

    def entries(self, folder: str) -> dict[str, tuple[int, str]]:
        """Names in a folder, each with its size in bytes and its version, as of :meth:`read_versioned`."""
        full = self._full(folder)
        try:
            with self._lake_errors("list", folder):
                entries = self._filesystem.ls(full, detail=True)
        except MissingError:
            return {}
        paths = {entry["name"].rstrip("/"): (entry["size"] or 0, entry.get("ETag", "")) for entry in entries}
        paths.pop(full, None)  # stores may list the folder itself
        return {name.rpartition("/")[2]: entry for name, entry in paths.items()}

    def delete_version(self, path: str, version: str) -> None:
        """Delete a file on condition that it has that version; raises as :meth:`replace_bytes`."""
        if not self.conditional:
            self.delete(path)
        else:
            self._if_unchanged(path, version, None, lambda at: at.delete(self._full(path), version))

    def delete(self, path: str) -> None:
        """Delete a file; does nothing if it does not exist."""
        with suppress(MissingError), self._changing("delete", path) as fence:
            if fence:
                self._disk.remove(self._full(path), fence)
            else:
                with suppress(FileNotFoundError):  # also for a deletion that was repeated
                    self._retried(lambda: self._filesystem.rm_file(self._full(path)))
                if self.local:
                    self._disk.note_removed(self._full(path))

    def delete_folder(self, folder: str) -> None:
        """Delete a folder and its files; does nothing if it does not exist."""
        full = self._full(folder)
        with suppress(MissingError), self._changing("delete", folder) as fence:
            if fence:
                self._disk.remove(full, fence)
            elif self.local:
                self._disk.clear(full)
                self._disk.note_removed(full)
            else:
                files = self._filesystem.find(full)
                self.check_lease()  # after the listing: it has no file of a successor
                if files:
                    self._filesystem.rm(files)

    def make_fence(self, fence: str) -> None:
        """Make the folder through which the holder of a lease on a disk changes the lake. Never made again.

        A folder that exists is that of the caller, who has just seen that there was none: its request was repeated.
        """
        with self._lake_errors("create", fence), suppress(FileExistsError):
            os.mkdir(self._full(fence))

    def revoke_fence(self, fence: str) -> None:
        """Rename a fence so that its writer cannot use it any more, in one step, and delete it with its files."""
        with self._lake_errors("delete", fence):
            self._disk.revoke(self._full(fence))

    def make_folder(self, folder: str) -> None:
        """Make a folder on a disk, unless it exists; an object store has none."""
        if self.local:
            with self._lake_errors("create", folder):
                os.makedirs(self._full(folder), exist_ok=True)

    @property
    def _filesystem(self) -> fsspec.AbstractFileSystem:
        if self._process != os.getpid():
            # A connection does not survive a fork. The child keeps a reference: without it, the parent's would close.
            self._inherited = self._connection
            self._connection, _ = connect(self.url)
            self._process = os.getpid()
        return self._connection

    def _lake_errors(self, action: str, path: str) -> AbstractContextManager[None]:
        return lake_errors(action, path or self.url, self._bucket, self._root if self.local else "")

    @contextmanager
    def _changing(self, action: str, path: str) -> Iterator[str]:
        """Change a file; gives the full path of the fence, empty without one."""
        fence = self._guard.fence
        with self._guard.changing(path), self._lake_errors(action, path):
            yield self._full(fence) if fence else ""

    def _retried(self, act: Callable[[], T]) -> T:
        return self._disk.retry(act) if self.local else act()

    def _with_parents(self, full: str, make: Callable[[], T]) -> T:
        """Make a file, and its parents if they are missing; again if another process deleted them meanwhile."""
        for _ in range(_TRIES - 1):
            try:
                return make()
            except FileNotFoundError:
                if self._bucket:
                    raise  # some clients would make the bucket
                self._filesystem.makedirs(full.rpartition("/")[0], exist_ok=True)
                self._disk.unflushed.forget_folders()
        try:
            return make()
        except FileNotFoundError as error:
            if self.local and (reason := too_long(full)):
                raise OSError(errno.ENAMETOOLONG, reason) from error
            raise

    def _full(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _if_unchanged(self, path: str, version: str, wanted: bytes | None, act: Callable[[Conditional], T]) -> T | str:
        """Change an object on condition that it has a version. A request without a reply may have succeeded."""
        at = Conditional(self._filesystem)
        refused: Exception = OSError()
        with self._changing("write", path):
            for _ in range(_TRIES):
                try:
                    return act(at)
                except OSError as error:
                    refused = error
                content: bytes | None = None
                now = ""
                with suppress(FileNotFoundError):
                    content, now = at.read(self._full(path))
                if content == wanted:
                    return now
                if now != version:
                    raise ConflictError(f"{path}: it has changed since it was read", path=path) from refused
            if problem := unsupported(refused, REPLACE if version else CREATE):
                raise unconditional(self._filesystem, self.url, problem, path) from refused
            raise refused

    def _create_remotely(self, path: str, data: bytes) -> bool:
        full = self._full(path)
        refused: Exception = OSError()
        for _ in range(_TRIES):
            try:
                self._filesystem.pipe_file(full, data, mode="create")
                return True
            except Exception as error:  # it exists, or another process is creating it; clients differ in their errors
                refused = error
            with suppress(FileNotFoundError):
                return bool(self._filesystem.cat_file(full) == data)
        if problem := unsupported(refused, CREATE):
            raise unconditional(self._filesystem, self.url, problem, path) from refused
        raise refused

    def _put(self, full: str, data: bytes | pa.Buffer, media_type: str, cache_control: str) -> None:
        # Only the client of S3, which also has conditional puts, takes these names.
        headers = {"ContentType": media_type, "CacheControl": cache_control} if self.conditional else {}
        self._filesystem.pipe_file(full, bytes(data), **{name: value for name, value in headers.items() if value})


def find_lake(url: str | os.PathLike[str], *, create: bool = False) -> tuple[fsspec.AbstractFileSystem, str, str]:
    """The file system of a lake, the path of its folder there, and its address; see :meth:`LakeFiles.open`."""
    if not isinstance(url, str | os.PathLike):
        raise AddressError(f"the address of a lake must be a text or a path, got a {type(url).__name__}")
    url = os.fspath(url)
    filesystem, root = connect(url)
    bucket = bucket_of(filesystem, root)
    if create and not bucket:
        with lake_errors("make the lake", url, disk=root if isinstance(filesystem, LocalFileSystem) else ""):
            if filesystem.isfile(root):
                raise AddressError(f"{url}: is a file, where a folder is needed; choose another name")
            if isinstance(filesystem, LocalFileSystem):
                Disk(url, root).make_folders(root)
            else:
                filesystem.makedirs(root, exist_ok=True)
        return filesystem, root, url
    with lake_errors("open the lake", url, bucket):
        if not filesystem.isdir(root):
            if bucket and not filesystem.exists(bucket):
                raise MissingError(f"{url}: bucket {bucket} does not exist; make it, or correct the lake's address")
            if not bucket and filesystem.exists(root):
                raise AddressError(f"{url}: is a file, and a lake is a folder; give the folder that holds it")
            if not create:
                raise MissingError(f"no lake at {url}; `ranklake ingest` makes one")
    return filesystem, root, url
