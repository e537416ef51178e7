"""Tables of results of problems and of problems: their columns, and their batches by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from ...common.text import quoted
from ..base import SourceError
from ..column_names import chosen_columns
from ..columns import Batches, as_names
from ..files.inputs import Input, check_address, damage_of, files_of, format_of
from ..files.parquet_tables import ParquetTable
from ..files.text_tables import TextTable
from ..lake_tables import DeltaRows
from ..limits import Limits
from ..options import check_delimiter, check_encoding

RESULTS = {
    "contest": ("contest", "contest_id"),
    "player": ("player", "handle"),
    "problem": ("problem", "problem_id"),
    "solved": ("solved",),
    "score": ("score",),
    "max_score": ("max_score",),
    "time": ("time", "time_seconds", "after"),
    "attempts": ("attempts", "submissions"),
}
"""The meaning of the columns of results, and the names by which they are found, in any case of the letters."""

PROBLEMS = {
    "problem": ("problem", "problem_id"),
    "name": ("name", "title"),
    "url": ("url",),
    "position": ("position", "order"),
    "tags": ("tags",),
    "max_score": ("max_score",),
    "same_as": ("same_as",),
}
"""The same for the columns of problems."""

_REQUIRED = ("contest", "player", "problem")
_FORMS = ("csv", "tsv", "parquet", "delta")
_BATCH_ROWS = 2**18


@dataclass(frozen=True)
class TableOptions:
    """How tables of results are read.

    ``columns``: names of columns by key of :data:`RESULTS`; an empty one uses no column.
    ``delimiter``: of CSV files: one character, or ``tab``; None finds it from the header.
    ``encoding``: of texts, as Python names encodings.
    Raises ValueError: the delimiter or the encoding is none.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    delimiter: str | None = None
    encoding: str = "utf-8"
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        check_encoding(self.encoding)
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", check_delimiter(self.delimiter))

    @classmethod
    def parse(cls, columns: Sequence[str], limits: Sequence[str], **texts: str | None) -> TableOptions:
        """From settings such as ``problem=task``; ``ValueError`` for another form, an unknown key, or a key twice."""
        chosen = chosen_columns(columns, RESULTS, "problem=task")
        return cls(chosen, limits=Limits.parse(limits), **texts)  # type: ignore[arg-type]

    def find_results(self, present: Sequence[str], source: str) -> dict[str, str]:
        """The column of each key of results. Raises ``SourceError`` if one is missing or both solved and score exist.

        A column that the table chooses itself, ``solved`` or ``score``, gives way to one that is named.
        """
        found = _find(RESULTS, self.columns, _REQUIRED, present, source)
        told = [key for key in ("solved", "score") if key in found]
        if not told:
            rule = f"needs a column solved or score; it has {', '.join(map(quoted, present[:20]))}"
            raise SourceError(f"{rule}; name it with --column solved=... or --column score=...", source)
        if len(told) == 2:
            rule = "has the columns solved and score, and results have one of them"
            raise SourceError(f"{rule}; leave one out with --column solved= or --column score=", source)
        return found

    def find_problems(self, present: Sequence[str], source: str) -> dict[str, str]:
        """The column of each key of problems; raises ``SourceError`` if ``problem`` is missing."""
        return _find(PROBLEMS, {}, ("problem",), present, source)


def tables_at(paths: Sequence[str], limits: Limits) -> list[Input]:
    """The tables of files or patterns. ``ValueError`` for an address, ``SourceError`` for other files."""
    for path in paths:
        check_address(path)
    return [Input(file, file.name, _form(file), limits) for path in paths for file in files_of(path)]


@dataclass
class ColumnsOfFile:
    """The used columns of some rows of a file by key, and where these rows are.

    ``first``: number of the first of them in the file, from 0. ``text``: the reader of a text file, which knows lines.
    """

    name: str
    columns: dict[str, pa.ChunkedArray]
    n_rows: int
    text: TextTable | None
    first: int = 0

    def error(self, rule: str, row: int, contest: str = "") -> SourceError:
        """The error of a row, counted from 0 in these columns."""
        rows = [self.first + row + 1]
        return SourceError(rule, self.name, contest, rows=rows, lines=self.text.lines(rows) if self.text else ())

    def names(self, key: str) -> pa.ChunkedArray:
        """A column of names, see :func:`.as_names`; an absent one has no rows."""
        try:
            return as_names(self.columns.get(key, pa.chunked_array([pa.array([], pa.string())])), key, self.name)
        except SourceError as error:
            raise (self.error(error.rule, error.rows[0] - 1) if error.rows else error) from None


def read_columns(source: Input, options: TableOptions) -> ColumnsOfFile:
    """The used columns of a file of problems; raises ``SourceError`` if it cannot be read."""
    parts = list(column_parts(source, options, results=False))
    keys = parts[0].columns if parts else ()
    columns = {key: pa.chunked_array([chunk for part in parts for chunk in part.columns[key].chunks]) for key in keys}
    return ColumnsOfFile(source.name, columns, sum(part.n_rows for part in parts), parts[0].text if parts else None)


def column_parts(source: Input, options: TableOptions, results: bool = True) -> Iterator[ColumnsOfFile]:
    """The used columns of a file of results, or of problems, in parts; raises ``SourceError`` if it cannot be read."""
    find, keys = (options.find_results, RESULTS) if results else (options.find_problems, PROBLEMS)
    text, headers = None, {name for names in keys.values() for name in names}
    with damage_of(source.name):
        batches: Batches
        if source.form == "delta":
            delta = DeltaRows(source.path, source.name)
            columns, used = source.find(delta.schema.names, find)
            batches = delta.batches(used)
        elif source.form == "parquet":
            stored = ParquetTable(source)
            columns, used = source.find(stored.schema.names, find)
            batches = stored.batches(used, _BATCH_ROWS)
        else:
            text = TextTable(source, options.encoding, options.delimiter, headers, skips=False)
            columns, used = source.find(text.names, find)
            batches = text.batches(used)
        first = 0
        for batch in _counted(batches, options.limits, source.name):
            n = batch.num_rows
            parts = {name: batch.column(name) for name in used}
            by_key = {
                key: pa.chunked_array([parts[name] if name in parts else source.folder_column(name, n)])
                for key, name in columns.items()
            }
            yield ColumnsOfFile(source.name, by_key, n, text, first)
            first += n


def _counted(batches: Iterator[pa.RecordBatch], limits: Limits, source: str) -> Iterator[pa.RecordBatch]:
    """The batches, up to the limits of rows and of bytes in memory."""
    rows = size = 0
    for batch in batches:
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows > limits.rows:
            rule = f"more than {limits.rows:,} rows, the limit"
            raise SourceError(f"{rule}; --limit rows=... allows more", source)
        if size > limits.table:
            rule = f"the columns take more than {limits.table:,} bytes of memory, the limit"
            raise SourceError(f"{rule}; ingest in parts of whole contests, or --limit table=... allows more", source)
        yield batch


def _find(
    keys: Mapping[str, Sequence[str]],
    chosen: Mapping[str, str],
    required: Sequence[str],
    present: Sequence[str],
    source: str,
) -> dict[str, str]:
    """The column of each key: the chosen one, or the first of the usual names. ``KEY=`` uses no column."""
    folded = {name.strip().lower(): name for name in reversed(present)}
    usual = {key: next((folded[name] for name in names if name in folded), "") for key, names in keys.items()}
    found = {**usual, **chosen}
    for key, column in found.items():
        if (column or key in required) and column not in present:
            have = ", ".join(map(quoted, present[:20])) or "none"
            what = f"has no column {quoted(column)} for {key}" if column else f"needs a column for {key}"
            remedy = f"name it with --column {key}=..." if keys is RESULTS else "rename the column"
            raise SourceError(f"{what}; it has {have}; {remedy}", source)
        if present.count(column) > 1:
            raise SourceError(f"there are two columns {quoted(column)}", source)
    return {key: column for key, column in found.items() if column}


def _form(file: Path) -> str:
    form = format_of(file)
    if form not in _FORMS:
        rule = "results of problems are read from .csv, .tsv and .parquet files, the texts also as .gz .bz2 .zst .xz"
        raise SourceError(f"{rule}, and from folders of Delta tables; give files, or a pattern", file.name)
    return form
