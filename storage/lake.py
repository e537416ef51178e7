"""The lake: one folder on a disk or in an object store, and the only place that touches its files."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

import fsspec
import pyarrow as pa
from fsspec.implementations.local import LocalFileSystem

from storage import parquet
from storage.errors import LakeError, MissingError
from storage.layout import TEMPORARY_PREFIX

__all__ = ["Lake", "Written", "digest_of"]


class Written(NamedTuple):
    """What a manifest needs to know of a file: its size in bytes, and their digest."""

    size: int
    digest: str


def digest_of(data: bytes | pa.Buffer) -> str:
    """BLAKE2b-128 of ``data``, 32 hex digits."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class Lake:
    """Files of a lake, by their path inside it, ``/`` between the parts.

    A file is there in full or not at all: writes replace it in one step. Made by ``Lake.open``.
    """

    def __init__(self, filesystem: fsspec.AbstractFileSystem, root: str, url: str) -> None:
        self._filesystem = filesystem
        self._root = root.rstrip("/")
        self._local = isinstance(filesystem, LocalFileSystem)
        self.url = url

    @classmethod
    def open(cls, url: str | os.PathLike[str], *, create: bool = False) -> Lake:
        """The lake at a path or at any address that fsspec knows.

        Raises
        ------
        LakeError
            There is no folder and ``create`` is false, or it cannot be made.
        """
        url = os.fspath(url)
        # A listing remembered from before our own writes would hide them.
        filesystem, root = fsspec.core.url_to_fs(url, use_listings_cache=False)
        if create:
            with _explained("make the lake", url):
                filesystem.makedirs(root, exist_ok=True)
        elif not filesystem.isdir(root):
            raise MissingError(f"no lake at {url}; `ranklake ingest` makes one")
        return cls(filesystem, root, url)

    def __repr__(self) -> str:
        return f"Lake({self.url!r})"

    def uri(self, path: str) -> str:
        """Where a file or folder is, as other tools name it: an absolute path on a disk, an address elsewhere."""
        if self._local:
            return self._full(path)
        return f"{self.url.rstrip('/')}/{path}"

    def read_bytes(self, path: str) -> bytes:
        """All of a file.

        Raises
        ------
        MissingError
            There is none.
        """
        with _explained("read", path):
            data: bytes = self._filesystem.cat_file(self._full(path))
        return data

    def write_bytes(self, path: str, data: bytes | pa.Buffer) -> None:
        """Make or replace a file in one step; parents are made as needed."""
        full = self._full(path)
        put = self._replace if self._local else self._put
        with _explained("write", path):
            try:
                put(full, data)
            except FileNotFoundError:
                self._filesystem.makedirs(full.rpartition("/")[0], exist_ok=True)
                put(full, data)

    def create_bytes(self, path: str, data: bytes) -> bool:
        """Make a file unless there is one; of several who try at once, one succeeds.

        Returns
        -------
        bool
            Whether it was made.
        """
        full = self._full(path)
        create = self._create if self._local else self._create_remotely
        with _explained("create", path):
            try:
                return create(full, data)
            except FileNotFoundError:
                self._filesystem.makedirs(full.rpartition("/")[0], exist_ok=True)
                return create(full, data)

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        return bool(self._filesystem.exists(self._full(path)))

    def list(self, folder: str) -> list[str]:
        """Names in a folder, sorted; none if there is no such folder."""
        return sorted(self.sizes(folder))

    def sizes(self, folder: str) -> dict[str, int]:
        """Names in a folder and their sizes in bytes (0 for folders), in one listing."""
        try:
            with _explained("list", folder):
                entries = self._filesystem.ls(self._full(folder), detail=True)
        except MissingError:
            return {}
        return {entry["name"].rstrip("/").rpartition("/")[2]: entry["size"] or 0 for entry in entries}

    def delete(self, path: str) -> None:
        """Remove a file; nothing happens if there is none."""
        with suppress(MissingError), _explained("delete", path):
            self._filesystem.rm_file(self._full(path))

    def delete_folder(self, folder: str) -> None:
        """Remove a folder and what is left in it; nothing happens if there is none."""
        with suppress(MissingError), _explained("delete", folder):
            self._filesystem.rm(self._full(folder), recursive=True)

    def write_table(
        self, path: str, table: pa.Table, name: str, *, metadata: Mapping[str, str] | None = None
    ) -> Written:
        """Make or replace the Parquet file of a table of kind ``name``, a key of ``schemas.TABLES``.

        Raises
        ------
        ValueError
            The table does not have that schema.
        """
        data = parquet.encode(table, name, metadata)
        self.write_bytes(path, data)
        return Written(data.size, digest_of(data))

    def read_table(self, path: str, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """A table of kind ``name``, or some columns of it.

        Raises
        ------
        MissingError, DamagedError, FormatError
            There is no such file; it cannot be read or holds something else; it is of another format.
        """
        return parquet.decode(self.read_bytes(path), name, path, columns)

    def _full(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _replace(self, full: str, data: bytes | pa.Buffer) -> None:
        folder = full.rpartition("/")[0]
        temporary = f"{folder}/{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
        try:
            with open(temporary, "xb") as file:
                file.write(data)
            os.replace(temporary, full)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise

    def _create(self, full: str, data: bytes) -> bool:
        temporary = f"{full.rpartition('/')[0]}/{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
        with open(temporary, "xb") as file:
            file.write(data)
        try:
            os.link(temporary, full)
        except FileExistsError:
            return False
        finally:
            os.unlink(temporary)
        return True

    def _create_remotely(self, full: str, data: bytes) -> bool:
        try:
            self._filesystem.pipe_file(full, data, mode="create")
        except FileExistsError:
            return False
        return True

    def _put(self, full: str, data: bytes | pa.Buffer) -> None:
        self._filesystem.pipe_file(full, bytes(data))


@contextmanager
def _explained(action: str, path: str) -> Iterator[None]:
    """Turn the system's errors into ours, which name the place inside the lake."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingError(f"{path}: there is no such file; restore it or make it again", path=path) from error
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        raise LakeError(f"{path}: cannot {action}: {reason}; mend that and run again", path=path) from error
