"""Tables that are folders with a log: which of them a path belongs to, and the rows that a Delta table has now.

Such a folder holds the files of older versions beside those of the newest. Only its log says which rows still exist.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa

from ranklake.storage.lake.layout import RESERVED
from ranklake.storage.leases.reserve import RESERVE

from ..common.extras import need, panics_as_errors
from .base import IngestReport, SourceError
from .columns import Batches, plain_types
from .limits import check_width

if TYPE_CHECKING:
    from deltalake import DeltaTable

Kind = Literal["delta", "iceberg", "hudi", "spark", "ranklake"]

_TITLES: dict[Kind, str] = {
    "delta": "a Delta table",
    "iceberg": "an Iceberg table",
    "hudi": "a Hudi table",
    "spark": "a table of a Spark stream",
    "ranklake": "a lake of ranklake",
}
_ONE_PARTITION = {"datafusion.execution.target_partitions": "1"}  # the same order of rows at every reading


class LakeTable(NamedTuple):
    """The table that a path belongs to: its kind and its folder. Of a lake of ranklake: a data set or a run."""

    kind: Kind
    root: Path


def kind_of(folder: Path) -> Kind | None:
    """The kind of the table whose folder this is; of a lake of ranklake, the folder of a data set or a run."""
    if (folder / "_delta_log").is_dir():
        return "delta"
    if (folder / ".hoodie").is_dir():
        return "hudi"
    if (folder / "_spark_metadata").is_dir():
        return "spark"
    metadata = folder / "metadata"
    if metadata.is_dir() and any(metadata.glob("*.metadata.json")):
        return "iceberg"
    data_set = (folder / "contests" / "contests.parquet").is_file() and (folder / "standings").is_dir()
    run = (folder / "run.json").is_file() and (folder / "rounds").is_dir()
    return "ranklake" if data_set or run else None


def lake_table_of(path: str | os.PathLike[str]) -> LakeTable | None:
    """The table that a folder or a Parquet file belongs to, by the logs in it and in the folders above; None if none.

    Other files belong to no table.
    """
    path = Path(path)
    if not path.is_dir() and path.suffix.lower() not in (".parquet", ".pq"):
        return None
    for place in dict.fromkeys((os.path.abspath(path), os.path.realpath(path))):
        for folder in (Path(place), *Path(place).parents):
            if kind := kind_of(folder):
                return LakeTable(kind, folder)
    return None


def is_delta(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the folder of a Delta table, which :class:`DeltaRows` reads.

    Raises ``SourceError`` if the path is another part of a Delta table, or belongs to a table of another kind: read as
    plain files it would bring deleted rows back.
    """
    table = lake_table_of(path)
    if table is None:
        return False
    name = Path(path).name or str(path)
    if table.kind == "delta":
        if os.path.samefile(table.root, path):
            return True
        rule = f"part of the Delta table {table.root.name}, which also keeps deleted rows in its files"
        raise SourceError(f"{rule}; give the folder of the whole table", name)
    inside = "" if os.path.samefile(table.root, path) else f"part of {table.root.name}, "
    if table.kind == "ranklake":
        remedy = "give the files that it was made from, or write its results with `ranklake export`"
        raise SourceError(f"{inside}{_TITLES[table.kind]}, whose own files are not read; {remedy}", name)
    remedy = "export its newest version to one Parquet file, for example with DuckDB or Spark"
    rule = f"{inside}{_TITLES[table.kind]}, whose files also hold rows that were deleted or replaced"
    raise SourceError(f"{rule}; {remedy}", name)


class DeltaRows:
    """The rows of the newest version of a Delta table: without deleted ones, with the columns of its partitions.

    A table of several files has no order of rows of its own. Raises ``MissingExtraError`` without the package
    deltalake, ``SourceError`` if the table cannot be read or has too many columns.
    """

    def __init__(self, root: Path, name: str) -> None:
        self._library: Any = need("deltalake", "publish", f"{name} is a Delta table: reading it")
        self._name = name
        with self._damage():
            self._table: DeltaTable = self._library.DeltaTable(os.fspath(root))
            check_width(len(self._table.schema().fields), name)
            self.n_files = len(self._table.file_uris())
            self.schema = plain_types(self._query("limit 0").schema)

    def batches(self, columns: Sequence[str]) -> Batches:
        """Some columns of all rows, in any order of the files; ``SourceError`` if a file is missing or damaged."""
        names = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
        schema = pa.schema([self.schema.field(column) for column in columns])
        with self._damage():
            reader = self._query(columns=names)
        while True:
            with self._damage():
                batch = next(reader, None)
                if batch is None:
                    return
                batch = batch.cast(schema)
            yield batch

    def read(self) -> pa.Table:
        """All rows and columns, as :meth:`batches`."""
        return pa.Table.from_batches(self.batches(self.schema.names), self.schema)

    def _query(self, condition: str = "", columns: str = "*") -> pa.RecordBatchReader:
        querying = self._library.QueryBuilder(_ONE_PARTITION).register("rows", self._table)
        return pa.RecordBatchReader.from_stream(querying.execute(f"select {columns} from rows {condition}"))

    @contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            with panics_as_errors():
                yield
        except MemoryError:
            raise
        except (self._library.exceptions.DeltaError, pa.ArrowException, OSError, ValueError) as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise SourceError(f"the Delta table cannot be read: {reason}", self._name) from None


# Lock files of Excel and LibreOffice, resource forks of macOS, locks, backups and swap files of editors, files of NFS
# and of folder views.
_LEFTOVER = re.compile(
    r"~\$.*|\.~lock\..*#|\._.*|\.#.*|#.*#|.*~|\..*\.sw[a-z]|\.nfs[0-9a-f]+|\.ds_store|thumbs\.db|desktop\.ini", re.I
)
_OF_A_LAKE = {*RESERVED, RESERVE}


def is_leftover(name: str) -> bool:
    """Whether a file's name is that of a file which another program leaves beside the files that it opens."""
    return _LEFTOVER.fullmatch(name) is not None


def walk(
    folder: str | os.PathLike[str], report: IngestReport | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """As ``os.walk``, in order of name. A caller may remove names of the list of folders. ``report`` counts the
    leftovers and names the lakes. ``OSError`` if a folder cannot be listed.
    """
    for place, folders, names in os.walk(folder, onerror=_refuse):
        of_lake = {name for name in folders if kind_of(Path(place, name)) == "ranklake"}
        if of_lake or RESERVE in folders:
            if report is not None:
                report.notes.append(f"not read: the lake of ranklake in {os.path.relpath(place, folder)}")
            folders[:] = [name for name in folders if name not in of_lake | _OF_A_LAKE]
        kept = sorted(name for name in names if not is_leftover(name))
        if report is not None:
            report.other_files += len(names) - len(kept)
        folders.sort()
        yield place, folders, kept


def _refuse(error: OSError) -> None:
    raise error
