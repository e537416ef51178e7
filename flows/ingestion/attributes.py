"""Record the attributes of players from a table with one row a player."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ranklake.storage import Dataset, Lake
from ranklake.storage.lake.layout import dataset_folder
from ranklake.storage.lake.schemas import ATTRIBUTES
from ranklake.storage.leases.acquire import WAIT_SECONDS, hold_lease
from ranklake.storage.leases.holder import LeaseHolder
from ranklake.storage.names.hints import alike_lines
from ranklake.storage.names.search import Search

from ..common.text import count, quoted
from ..sources.base import SourceError
from ..sources.files.parquet_tables import open_parquet
from ..sources.files.text_head import HEAD_BYTES, Head
from ..sources.lake_tables import DeltaRows, is_delta
from ..sources.limits import check_width

HANDLE = "handle"

_BATCH_ROWS = 2**14


@dataclass(frozen=True, slots=True)
class AttributesReport:
    """The attributes recorded, how many players and unknown handles have some, and notes on the latter."""

    names: tuple[str, ...]
    n_players: int
    n_unknown: int
    notes: tuple[str, ...] = ()

    def line(self) -> str:
        """The report in one line."""
        text = f"{', '.join(self.names) or 'no attribute'} of {count(self.n_players, 'player')}"
        return text + (f"; {count(self.n_unknown, 'handle')} not in the data set yet" if self.n_unknown else "")


def record_attributes(
    lake: Lake, dataset: str, path: str, on_wait: Callable[[LeaseHolder], None] = lambda _: None
) -> AttributesReport:
    """Replace the attributes of a data set's players by those in a table: .parquet, the folder of a Delta table, or
    else CSV in UTF-8 with commas, semicolons or tabs.

    It has a column ``handle``; every other column is an attribute, and an empty cell is none. Handles may be old names,
    or not in the data set yet. Errors name the line or row.
    """
    Dataset.open(lake, dataset)  # before the lease, whose folder would be that of a new data set
    rows = _parquet_rows(path) if Path(path).suffix == ".parquet" or is_delta(path) else _csv_rows(path)
    columns = next(rows)
    names = _names(columns, path)
    triples: list[tuple[str, str, str]] = []
    first: dict[str, int] = {}
    for number, cells in enumerate(rows, 1):
        row = dict(zip(columns, cells, strict=True))
        handle = row[HANDLE]
        if not handle:
            raise SourceError("the handle is empty", path, rows=[number])
        if handle in first:
            raise SourceError(f"handle {quoted(handle)} is in row {first[handle]}, too", path, rows=[number])
        first[handle] = number
        triples += [(handle, name, row[name]) for name in names if row[name]]
    table = pa.table([list(column) for column in zip(*triples, strict=True)] or [[], [], []], schema=ATTRIBUTES)
    with hold_lease(
        lake, dataset_folder(dataset), f"attributes {dataset}", wait_seconds=WAIT_SECONDS, on_wait=on_wait
    ) as lease:
        opened = Dataset.open(lake, dataset)
        opened.write_attributes(table, lease)
    known = set(opened.handles().to_pylist()) | set(opened.log().aliases)
    handles = {handle for handle, _, _ in triples}
    new = sorted(handles - known)
    notes = alike_lines(new, Search(list(known)), f"in data set {dataset}") if new else []
    return AttributesReport(tuple(names), len(handles), len(new), tuple(notes))


def _csv_rows(path: str) -> Iterator[list[str]]:
    """The names of the columns of a CSV file, then the cells of each row."""
    with _faults(path, "CSV"):
        with open(path, "rb") as start:
            head = Head(start.read(HEAD_BYTES), "utf-8", path)
        delimiter = head.delimiter("", {HANDLE})
        names = [name.strip() for name in head.names(delimiter)]
        if not names:
            raise SourceError(f"the file is empty; it needs a header with the column {HANDLE}", path)
        yield names
        with open(path, encoding="utf-8-sig", newline="") as file:
            for _ in range(head.skipped):
                file.readline()
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            next(filter(None, reader))  # the header
            for number, cells in enumerate(filter(None, reader), 1):
                if len(cells) != len(names):
                    rule = f"the row has {count(len(cells), 'cell')}, the header {len(names)}"
                    raise SourceError(rule, path, rows=[number], lines=[reader.line_num])
                yield [cell.strip() for cell in cells]


def _parquet_rows(path: str) -> Iterator[list[str]]:
    """The names of the columns of a Parquet file or a Delta table, then the cells of each row, as text."""
    with _faults(path, "Parquet"):
        if is_delta(path):
            table = DeltaRows(Path(path), path)
            names, batches = table.schema.names, table.batches(table.schema.names)
        else:
            file = open_parquet(path, path)
            names, batches = file.schema_arrow.names, file.iter_batches(_BATCH_ROWS)
        yield names
        for batch in batches:
            columns = [column.cast(pa.string()).fill_null("").to_pylist() for column in batch.columns]
            yield from map(list, zip(*columns, strict=True))


@contextmanager
def _faults(path: str, form: str) -> Iterator[None]:
    """Raise the errors of the readers as :class:`SourceError`."""
    try:
        yield
    except UnicodeDecodeError as error:
        byte = f"0x{error.object[error.start]:02x}"
        raise SourceError(f"the text is not UTF-8: byte {byte}; save it as UTF-8", path) from None
    except (csv.Error, pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.strerror:
            raise SourceError(f"cannot be read: {error.strerror}", path) from None
        raise SourceError(f"cannot be read as {form}: {str(error).partition(chr(10))[0]}", path) from None


def _names(names: list[str], path: str) -> list[str]:
    """The attributes among the columns of a table, checked."""
    check_width(len(names), path)
    if HANDLE not in names:
        raise SourceError(f"has no column {HANDLE}; it has {', '.join(map(quoted, names[:20])) or 'none'}", path)
    if "" in names:
        raise SourceError("has a column without a name", path)
    name, n = Counter(names).most_common(1)[0]
    if n > 1:
        raise SourceError(f"has the column {quoted(name)} twice", path)
    return [name for name in names if name != HANDLE]
