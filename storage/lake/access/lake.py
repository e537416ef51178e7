"""The lake: one folder on a disk or in an object store, with tables; all access to its files is through this class."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from .. import layout, parquet
from ..errors import LakeError, NameRefusedError
from ..prefetch import prefetch
from ..remedies import with_remedies
from .files import LakeFiles

_AT_ONCE = 16  # requests to an object store under way at the same time


class Written(NamedTuple):
    """Size of a written file in bytes and the digest of its content, for a manifest."""

    size: int
    digest: str


def digest_of(data: bytes | pa.Buffer) -> str:
    """BLAKE2b-128 of ``data``, 32 hex digits."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def digest_of_facts(facts: Any) -> str:
    """Digest of values of JSON, as :func:`digest_of`."""
    return digest_of(json.dumps(facts, sort_keys=True, allow_nan=False).encode("utf-8", "surrogatepass"))


class Lake(LakeFiles):
    """The tables of a lake, and many of its files at a time. Made by ``Lake.open``."""

    def __repr__(self) -> str:
        return f"Lake({self.url!r})"

    def check_new_folder(self, folder: str) -> None:
        """Refuse a new folder with a name that some disk cannot have beside the existing ones: lakes can be copied.

        An existing folder with exactly this name is accepted: lakes made before this rule stay usable.

        ``folder``: the folder of a data set, run or search, inside the lake.
        Raises NameRefusedError: the name differs from an existing one only in case, which is one folder for Windows and
        macOS; or Windows reserves it.
        """
        parent, _, name = folder.rpartition("/")
        names = self.list(parent)
        if name in names:
            return
        kind = layout.kind_of(folder)
        twin = next((existing for existing in names if existing.lower() == name.lower()), None)
        if twin is not None:
            raise NameRefusedError(
                f"the name of a new {kind} must differ from {twin!r} in more than upper and lower case, got {name!r}; "
                f"use {twin!r} or another name",
                path=folder,
            )
        if reason := layout.portability_problem(name):
            raise NameRefusedError(
                f"the name of a new {kind} must not {reason}, got {name!r}; use another name", path=folder
            )

    def size_below(self, folder: str) -> int:
        """Bytes of all files below a folder."""
        return sum(self.sizes_below(folder).values())

    def sizes_below(self, folder: str) -> dict[str, int]:
        """Paths of all files below a folder, from there, and their sizes in bytes."""
        full = self._full(folder)
        with self._lake_errors("list", folder):
            files = self._filesystem.find(full, detail=True)
        return {name.removeprefix(f"{full}/"): entry["size"] or 0 for name, entry in files.items()}

    def read_many(self, paths: Sequence[str]) -> Iterator[bytes]:
        """The content of each file; from an object store, many are fetched at a time.

        Raises
        ------
        MissingError
            A file does not exist.
        """
        for data in self.read_many_or_errors(paths):
            if isinstance(data, LakeError):
                raise data
            yield data

    def read_many_or_errors(self, paths: Sequence[str]) -> Iterator[bytes | LakeError]:
        """The content of each file, as :meth:`read_many`, or the error that it cannot be read."""
        if self.local or len(paths) < 2:
            yield from map(self._read_or_error, paths)
            return
        yield from prefetch(self._read_or_error, paths, _AT_ONCE - 1, _AT_ONCE, "ranklake-get")

    def log_limitations(self, path: str) -> None:
        """Log what the file system or the store cannot guarantee, once a process; ``path`` is a file just created.

        Missing hard links are detected when the first lease is taken.
        """
        if self.local:  # the file was flushed when it was created
            folder = path.rpartition("/")[0]
            with self._lake_errors("flush", folder):
                self._disk.flush(self._full(folder), folder=True)
        elif self._bucket and not self.conditional:
            self._disk.log_limitation("unconditional")

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
            The file does not exist; it cannot be read or is another table; it is of another format.
        """
        return next(self.read_tables([path], name, columns))

    def read_tables(self, paths: Sequence[str], name: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Tables of kind ``name``, in the order of their paths; from an object store, many are fetched at a time.

        Raises
        ------
        MissingError, DamagedError, FormatError
            As for ``read_table``.
        """
        for path, data in zip(paths, self.read_many(paths), strict=True):
            with with_remedies(self):
                table = parquet.decode(data, name, path, columns)
            yield table

    def _read_or_error(self, path: str) -> bytes | LakeError:
        try:
            return self.read_bytes(path)
        except LakeError as error:
            return error
