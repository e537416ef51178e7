"""A published table: a Delta Lake table whose newest commit says what is in it. Needs the extra ``publish``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa
from deltalake import ColumnProperties, CommitProperties, DeltaTable, Transaction, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from ranklake.storage import DamagedError, Lake, LakeError
from ranklake.storage.lake.errors import NoSpaceError, UnreachableError
from ranklake.storage.lake.remedies import damaged
from ranklake.storage.lake.space import HOW_TO_FREE_SPACE, free_space, is_full, no_space_to_merge, text_means_full
from ranklake.storage.leases.fence import Writer
from ranklake.storage.leases.lease import Lease
from ranklake.storage.leases.reserve import affordable

__all__ = ["PublishedTable", "check_lake"]

_STATE = "ranklake"  # our key in a commit's metadata
_KEPT_HOURS = 7 * 24  # older versions are readable for so long
_UNCHANGED = frozenset({"OPTIMIZE", "VACUUM START", "VACUUM END"})  # commits after which a table reads the same
_ROW_GROUP = 1 << 17  # rows: bounds a writer's memory, and lets readers pass over rounds they do not want
_DISTINCT = ("player", "handle", "lo", "hi", "place")  # as all doubles: dictionaries cost more than they save
_COLOUR = re.compile("\x1b\\[[0-9;]*m")
# How the library words a fault of a store. It has no class for it, and the same class for files that cannot be read.
_STORE_FAULT = re.compile(
    r"\bGeneric (?!LocalFileSystem)\w+ error\b|\blacked (valid authentication|the necessary priv)"
)
_RETRY_SECONDS = 60  # for one request to a store, of which the library itself would take 180
_REFUSED = set("#?%[]^|\\") | {chr(code) for code in range(32)}  # the library loses files, or its way, below such names


def check_lake(lake: Lake) -> None:
    """Refuse a lake at a place that the Delta library cannot write to.

    Raises
    ------
    LakeError
        Names the characters.
    """
    if odd := sorted(_REFUSED.intersection(lake.uri(""))):
        named = " or ".join(map(repr, odd))
        raise LakeError(f"{lake.url}: Delta tables cannot be written where a name has {named}; move the lake")


class PublishedTable:
    """A table of a run for consumers, in one folder of the lake. What it was before can be read for a week.

    Parameters
    ----------
    folder
        Its place in the lake.
    schema
        Its columns; see ``ranklake.storage.lake.schemas.PUBLISHED``.
    partitions
        Names of the columns by which its files are parted.
    lease
        The lease on the run, for a table that is to be changed.

    Attributes
    ----------
    state : dict or None
        What was said of its content when that was last written; None if there is no table, or others wrote to it.

    Raises
    ------
    UnreachableError
        The store does not answer, or refuses access.
    DamagedError
        It cannot be read, or files of it are missing or torn.
    """

    def __init__(
        self, lake: Lake, folder: str, schema: pa.Schema, partitions: Sequence[str] = (), lease: Lease | None = None
    ) -> None:
        self._lake, self._folder, self._schema, self._partitions = lake, folder, schema, list(partitions)
        self._lease = lease
        self._files: Writer = lake if lease is None else lease
        self._uri = lake.uri(folder)
        self._options = _options(lake, self._uri)
        self._table: DeltaTable | None = None
        self.state: dict[str, Any] | None = None
        distinct = [field.name for field in schema if pa.types.is_floating(field.type) or field.name in _DISTINCT]
        self._writer = WriterProperties(
            compression="ZSTD",
            compression_level=1,
            max_row_group_size=_ROW_GROUP,
            column_properties=dict.fromkeys(distinct, ColumnProperties(dictionary_enabled=False)),
        )
        with self._reading(), suppress(TableNotFoundError):  # `is_deltatable` holds the interpreter's lock meanwhile
            self._table = self._open()
        with self._reading():
            if self._table is not None:
                self.state = _state_of(self._table)
                self._check_files()

    @property
    def version(self) -> int:
        """The newest version; -1 if there is no table."""
        return -1 if self._table is None else int(self._table.version())

    def reads_as(self, version: int) -> bool:
        """Whether the table reads the same as in that version: only files were merged or removed since."""
        assert self._table is not None
        with self._reading():
            newer = self._table.history(max(self.version - version, 1)) if version < self.version else []
        return version <= self.version and all(commit.get("operation") in _UNCHANGED for commit in newer)

    def create(self) -> None:
        """Make the table, empty, unless it is there.

        A write that makes a table would be added to one that another process has made meanwhile. A write to a table
        that was read conflicts with every version since.
        """
        if self._table is None:
            with self._writing():
                self._table = DeltaTable.create(
                    self._uri, self._schema, mode="ignore", partition_by=self._partitions, storage_options=self._options
                )
                self._table = self._open()

    def append(self, rows: Iterable[pa.RecordBatch], state: Mapping[str, Any]) -> None:
        """Add rows, in one commit."""
        self._write(rows, state, mode="append", schema_mode="merge")

    def replace(self, rows: Iterable[pa.RecordBatch], state: Mapping[str, Any], where: str | None = None) -> None:
        """Put ``rows`` in the place of those for which the condition ``where`` holds, or of all; in one commit."""
        if where is None:
            self._write(rows, state, mode="overwrite", schema_mode="overwrite", partition_by=self._partitions)
        else:
            self._write(rows, state, mode="overwrite", schema_mode="merge", predicate=where)

    def read(self) -> pa.Table:
        """All rows, in any order; its columns may be another release's."""
        assert self._table is not None
        with self._reading():
            return self._table.to_pyarrow_table()

    def vacuum(self) -> int:
        """Remove the files that no version of the last week refers to, and what a crash left; returns how many.

        A table that is not there has none. On a full disk the log does not mention it.
        """
        if self._table is None:
            return 0
        try:
            with self._writing():
                said = self._said(self.state or {})
                removed = self._table.vacuum(_KEPT_HOURS, dry_run=False, full=True, commit_properties=said)
        except NoSpaceError:
            with self._reading():
                removed = self._open().vacuum(_KEPT_HOURS, dry_run=True, full=True)
            for path in removed:
                self._files.delete(f"{self._folder}/{path}")
        return len(removed)

    def merge_files(self) -> int:
        """Merge small files; returns how many. They stay for a week, for readers of earlier versions.

        Raises
        ------
        NoSpaceError
            The disk has no space for the merged files; nothing has changed.
        """
        assert self._table is not None
        needed = self._small_bytes()
        if not affordable(self._lake, [needed]):
            raise NoSpaceError(no_space_to_merge(self._folder, needed, self._lake.uri("")), path=self._folder)
        with self._writing():
            said = self._said(self.state or {})
            merged = self._table.optimize.compact(writer_properties=self._writer, commit_properties=said)
        return int(merged["numFilesRemoved"])

    def _small_bytes(self) -> int:
        """Bytes of the files that may be merged: those of partitions with several."""
        assert self._table is not None
        of_partition: dict[str, list[int]] = {}
        for path, size in self._live().items():
            of_partition.setdefault(path.rpartition("/")[0], []).append(size)
        return sum(sum(sizes) for sizes in of_partition.values() if len(sizes) > 1)

    def _write(self, rows: Iterable[pa.RecordBatch], state: Mapping[str, Any], **how: Any) -> None:
        failures: list[BaseException] = []

        def guarded() -> Iterator[pa.RecordBatch]:
            try:
                yield from rows
            except BaseException as error:  # the library would pass on no more than its words
                failures.append(error)
                raise

        assert self._table is not None  # see `create`
        reader = pa.RecordBatchReader.from_batches(self._schema, guarded())
        how |= {"writer_properties": self._writer, "commit_properties": self._said(state)}
        with self._writing():
            try:
                write_deltalake(self._table, reader, storage_options=self._options, **how)
            except Exception:
                if failures:
                    raise failures[0] from None
                raise
        self.state = dict(state)

    def _open(self) -> DeltaTable:
        return DeltaTable(self._uri, storage_options=self._options)

    def _said(self, state: Mapping[str, Any]) -> CommitProperties:
        """What a commit says. Of two who append to the same version, thanks to the transaction, one fails."""
        transaction = Transaction(_STATE, self.version + 1)
        return CommitProperties(
            custom_metadata={_STATE: json.dumps(state, allow_nan=False)}, app_transactions=[transaction]
        )

    def _check_files(self) -> None:
        """Compare the sizes of the files with those in the table's log."""
        folders: dict[str, dict[str, int]] = {}
        for path, size in self._live().items():
            folder, _, name = f"{self._folder}/{path}".rpartition("/")
            if folder not in folders:
                folders[folder] = self._lake.sizes(folder)
            if folders[folder].get(name) != size:
                found = folders[folder].get(name)
                raise self._damaged(f"{path} " + ("is missing" if found is None else f"has {found} bytes, not {size}"))

    def _refuse_store_fault(self, error: Exception) -> None:
        """Raise UnreachableError if the fault is the store's, and not that of a file in it."""
        causes = _causes(error)
        if not _STORE_FAULT.search(causes[0]):
            return
        reason = ": ".join(dict.fromkeys([causes[0], causes[-1]]))[:300]
        raise UnreachableError(
            f"{self._folder}: the store does not answer as it must: {reason}; the table is not known to be damaged: "
            "mend the connection, the endpoint or the credentials, and run again",
            path=self._folder,
        ) from error

    def _live(self) -> dict[str, int]:
        """Paths of the files of the newest version, below the table's folder, and their sizes in bytes."""
        assert self._table is not None
        actions = pa.table(self._table.get_add_actions(flatten=True))
        return dict(zip(*(actions.column(name).to_pylist() for name in ("path", "size_bytes")), strict=True))

    def _discard(self, before: Iterable[str]) -> None:
        """Remove what a failed write has added, unless it was committed after all: a full disk cannot wait a week."""
        with suppress(LakeError), self._reading():
            with suppress(TableNotFoundError):
                self._table = self._open()
            live = {} if self._table is None else self._live()
            for path in self._lake.sizes_below(self._folder).keys() - set(before) - live.keys():
                if not path.startswith("_delta_log/"):
                    self._files.delete(f"{self._folder}/{path}")

    def _damaged(self, reason: str) -> DamagedError:
        return damaged(self._folder, f"damaged table, {reason}")

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (DeltaError, pa.ArrowException, OSError, ValueError, KeyError) as error:
            self._refuse_store_fault(error)
            raise self._damaged(_reason(error)) from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        before = self._lake.sizes_below(self._folder) if self._lake.local else {}
        try:
            yield
        except (DeltaError, pa.ArrowException, OSError, ValueError) as error:
            self._refuse_store_fault(error)
            if self._lease is not None and isinstance(error, CommitFailedError):
                self._lease.check()  # a lost lease is the cause; what it raises says who has taken over
            if self._lake.local and (is_full(error) or text_means_full(str(error))):
                self._discard(before)
                free = f"No space left on device ({free_space(self._lake.uri(''))}); {HOW_TO_FREE_SPACE}"
                raise NoSpaceError(f"{self._folder}: cannot write: {free}", path=self._folder) from error
            remedy = "mend that and publish again, or delete that folder before"
            raise LakeError(f"{self._folder}: cannot write: {_reason(error)}; {remedy}", path=self._folder) from error


def _state_of(table: DeltaTable) -> dict[str, Any] | None:
    """The newest of our states, if nobody else has written anything since."""
    for limit in (1, None):
        for commit in table.history(limit):
            if _STATE in commit:
                return json.loads(commit[_STATE]) or None
            if commit.get("operation") not in _UNCHANGED:
                return None
    return None


def _options(lake: Lake, uri: str) -> dict[str, str]:
    """Options of the Delta library beside what it reads from the environment itself."""
    if not lake.hard_links:  # it commits by hard links; for one writer a rename is as safe
        return {"allow_unsafe_rename": "true"}
    if "://" not in uri:
        return {}
    options = {"retry_timeout": f"{_RETRY_SECONDS}s"}
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    if not uri.startswith("s3://") or not endpoint:
        return options
    return options | {"endpoint_url": endpoint, "allow_http": str(endpoint.startswith("http://")).lower()}


def _reason(error: Exception) -> str:
    """What the library says, in one line: its first one, and the causes it lists below."""
    return ": ".join(_causes(error))


def _causes(error: Exception) -> list[str]:
    first, *more = _COLOUR.sub("", str(error)).strip().splitlines() or [type(error).__name__]
    return [first, *(line.strip("↳ ") for line in more if line.lstrip().startswith("↳"))]
