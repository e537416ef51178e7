"""A published table: a Delta Lake table with a state in its newest commit. Needs the extra ``publish``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa
from deltalake import (
    ColumnProperties,
    CommitProperties,
    DeltaTable,
    PostCommitHookProperties,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from ranklake.storage import DamagedError, Lake, LakeError, MissingError
from ranklake.storage.lake.access.space import (
    HOW_TO_FREE_SPACE,
    free_space,
    is_full,
    no_space_to_merge,
    text_means_full,
)
from ranklake.storage.lake.errors import NoSpaceError
from ranklake.storage.lake.remedies import damaged
from ranklake.storage.leases.lease import Lease
from ranklake.storage.leases.reserve import affordable

from ..common.extras import panics_as_errors
from .delta_store import check_clock, check_store, describe, store_options

_STATE = "ranklake"  # our key in the metadata of a commit
_KEPT_HOURS = 7 * 24  # retention of older versions
_UNCHANGED = frozenset({"OPTIMIZE", "VACUUM START", "VACUUM END"})  # operations that do not change the rows
_ROW_GROUP = 1 << 17  # rows: bounds the memory of a writer, and lets readers skip rounds
_DISTINCT = (
    "player",
    "handle",
    "lo",
    "hi",
    "place",
    "place_high",
    "place_low",
)  # and all doubles: for these, dictionaries make files larger
_CHECKPOINT = 100  # versions between two checkpoints of a log, by default of the library
_KEEP_LOG = PostCommitHookProperties(cleanup_expired_logs=False)  # a root may still name a version in it


class PublishedTable:
    """A table of a run for consumers, in one folder of the lake. Older versions are readable for a week.

    ``folder``: path in the lake.
    ``schema``: columns; see ``ranklake.storage.lake.schemas.PUBLISHED``.
    ``partitions``: partition columns.
    ``lease``: the lease on the run; required to change the table.
    ``version``: the version that is read; by default the newest one, which can be changed.
    ``state``: the state recorded with the newest version; None if there is no table, or another program wrote to it.
    Raises UnreachableError: the store does not answer, or refuses access.
    Raises DamagedError: the table cannot be read, or files are missing or truncated.
    """

    def __init__(
        self,
        lake: Lake,
        folder: str,
        schema: pa.Schema,
        partitions: Sequence[str] = (),
        lease: Lease | None = None,
        version: int | None = None,
    ) -> None:
        self._lake, self._folder, self._schema, self._partitions = lake, folder, schema, list(partitions)
        self._lease, self._uri = lease, lake.uri(folder)
        self._files = lake if lease is None else lease.lake
        self._options = store_options(lake, self._uri)
        self._table: DeltaTable | None = None
        self.state: dict[str, Any] | None = None
        distinct = [field.name for field in schema if pa.types.is_floating(field.type) or field.name in _DISTINCT]
        self._writer = WriterProperties(
            compression="ZSTD",
            compression_level=1,
            max_row_group_size=_ROW_GROUP,
            column_properties=dict.fromkeys(distinct, ColumnProperties(dictionary_enabled=False)),
        )
        with self._reading(), suppress(TableNotFoundError):  # `is_deltatable` would hold the interpreter lock
            self._table = self._open(version)
        self._log_is_clean_to = self.version
        with self._reading():
            if self._table is not None:
                self.state = self._recorded_state()
                self._check_files()

    @property
    def version(self) -> int:
        """The newest version; -1 if there is no table."""
        return -1 if self._table is None else int(self._table.version())

    def create(self) -> None:
        """Create an empty table unless it exists.

        A write that creates the table would append to one created by another process in the meantime. A write to a
        table that was read conflicts with every version since.
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
        """Replace the rows that match the condition ``where``, or all rows, in one commit."""
        if where is None:
            self._write(rows, state, mode="overwrite", schema_mode="overwrite", partition_by=self._partitions)
        else:
            self._write(rows, state, mode="overwrite", schema_mode="merge", predicate=where)

    def read(self) -> pa.Table:
        """All rows in any order; the columns may be those of another release."""
        assert self._table is not None
        with self._reading():
            return self._table.to_pyarrow_table()

    def vacuum(self) -> int:
        """Remove files that no version of the last week refers to, and leftovers of crashes; returns their number.

        On a full disk the files are removed without a commit.
        """
        if self._table is None:
            return 0
        try:
            with self._writing():
                how = self._commit_properties(self.state or {})
                removed = self._table.vacuum(_KEPT_HOURS, dry_run=False, full=True, **how)
        except NoSpaceError:
            with self._reading():
                removed = self._open().vacuum(_KEPT_HOURS, dry_run=True, full=True)
            for path in removed:
                self._files.delete(f"{self._folder}/{path}")
        return len(removed)

    def merge_files(self) -> int:
        """Merge small files; returns their number. They stay for a week, for readers of earlier versions.

        Raises NoSpaceError: the disk has no space for the merged files; nothing has changed.
        """
        assert self._table is not None
        needed = self._small_bytes()
        if not affordable(self._lake, [needed]):
            raise NoSpaceError(no_space_to_merge(self._folder, needed, self._lake.uri("")), path=self._folder)
        with self._writing():
            how = self._commit_properties(self.state or {})
            merged = self._table.optimize.compact(writer_properties=self._writer, **how)
        return int(merged["numFilesRemoved"])

    def clean_log(self) -> None:
        """Remove expired entries of the log after a checkpoint; to be called when no root names an earlier version."""
        if self._table is not None and self.version // _CHECKPOINT > self._log_is_clean_to // _CHECKPOINT:
            with self._writing():
                self._table.cleanup_metadata()
            self._log_is_clean_to = self.version

    def _small_bytes(self) -> int:
        """Bytes of the files in partitions with several files, which may be merged."""
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
            except BaseException as error:  # the library keeps only the message of an error
                failures.append(error)
                raise

        assert self._table is not None  # see `create`
        reader = pa.RecordBatchReader.from_batches(self._schema, guarded())
        how |= {"writer_properties": self._writer, **self._commit_properties(state)}
        with self._writing():
            try:
                write_deltalake(self._table, reader, storage_options=self._options, **how)
            except Exception:
                if failures:
                    raise failures[0] from None
                raise
        self.state = dict(state)

    def _open(self, version: int | None = None) -> DeltaTable:
        return DeltaTable(self._uri, version=version, storage_options=self._options)

    def _recorded_state(self) -> dict[str, Any] | None:
        """The state recorded with the newest rows; None if another program has written them.

        The history of the library has all versions, with other numbers, and fails if one after this version is torn.
        """
        for version in range(self.version, -1, -1):
            try:
                log = self._lake.read_bytes(f"{self._folder}/_delta_log/{version:020}.json")
            except MissingError:  # expired
                return None
            entries = map(json.loads, log.splitlines())
            commit: dict[str, Any] = next((entry["commitInfo"] for entry in entries if "commitInfo" in entry), {})
            if _STATE in commit:
                return json.loads(commit[_STATE]) or None
            if commit.get("operation") not in _UNCHANGED:
                return None
        return None

    def _commit_properties(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The metadata of a commit. Its transaction makes one of two appends to the same version fail."""
        metadata, transaction = {_STATE: json.dumps(state, allow_nan=False)}, Transaction(_STATE, self.version + 1)
        commit = CommitProperties(custom_metadata=metadata, app_transactions=[transaction])
        return {"commit_properties": commit, "post_commithook_properties": _KEEP_LOG}

    def _check_files(self) -> None:
        """Compare the sizes of the files with the log of the table."""
        folders: dict[str, dict[str, int]] = {}
        for path, size in self._live().items():
            folder, _, name = f"{self._folder}/{path}".rpartition("/")
            if folder not in folders:
                folders[folder] = self._lake.sizes(folder)
            stored = folders[folder].get(name)
            if stored != size:
                fault = "is missing" if stored is None else f"has {stored} bytes, not {size}"
                raise self._damaged(f"{path} {fault}")

    def _live(self) -> dict[str, int]:
        """The files of the newest version: paths below the folder of the table, and sizes in bytes."""
        assert self._table is not None
        actions = pa.table(self._table.get_add_actions(flatten=True))
        return dict(zip(*(actions.column(name).to_pylist() for name in ("path", "size_bytes")), strict=True))

    def _discard(self, before: Iterable[str]) -> None:
        """Remove the files of an uncommitted write at once, as the disk may be full."""
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
            with panics_as_errors():
                yield
        except (DeltaError, pa.ArrowException, OSError, ValueError, KeyError) as error:
            check_store(error, self._folder)
            raise self._damaged(describe(error)) from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        check_clock(self._folder)
        before = self._lake.sizes_below(self._folder) if self._lake.local else {}
        try:
            with panics_as_errors():
                yield
        except (DeltaError, pa.ArrowException, OSError, ValueError) as error:
            check_store(error, self._folder)
            if self._lease is not None and isinstance(error, CommitFailedError):
                self._lease.check()  # raises if the lease is lost; the message names the new holder
            if self._lake.local and (is_full(error) or text_means_full(str(error))):
                self._discard(before)
                free = f"No space left on device ({free_space(self._lake.uri(''))}); {HOW_TO_FREE_SPACE}"
                raise NoSpaceError(f"{self._folder}: cannot write: {free}", path=self._folder) from error
            remedy = "correct the cause and publish again, or delete the folder first"
            raise LakeError(f"{self._folder}: cannot write: {describe(error)}; {remedy}", path=self._folder) from error
        if self._lake.local:  # the library flushes nothing
            new = self._lake.sizes_below(self._folder).keys() - before
            self._lake.note_written(f"{self._folder}/{path}" for path in new)
