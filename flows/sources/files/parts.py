"""The part of a table in one file: rows, their position in the file, and the unreadable rows."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from ..base import IngestReport, LeftOut, SourceError
from ..limits import Limits, byte_count
from ..options import ReadOptions
from .inputs import Input


@dataclass
class TablePart:
    """The used columns of one file.

    ``table``: the columns, with their names in the file.
    ``columns``: the same names by key, and those of columns in the names of folders.
    ``present``: all columns of the file.
    ``lines``: returns the lines of the file, from 1, of rows of the file, from 1; empty if the file has no lines.
    ``note``: remark about the reading of the file; may be empty.
    ``left_out``: rows of the file, from 1 and in order, that are not in the table.
    ``faults``: faults of rows of the table, from 0, that their values do not show.
    ``ordered``: whether the rows have an order of their own.
    """

    table: pa.Table
    columns: dict[str, str]
    present: list[str]
    lines: Callable[[Sequence[int]], list[int]] = lambda rows: []
    note: str = ""
    left_out: Sequence[int] = ()
    faults: Mapping[int, str] = field(default_factory=dict)
    ordered: bool = True

    def rows(self, rows: Sequence[int]) -> list[int]:
        """Rows of the file, from 1, of rows of the table, from 1."""
        return [self._row(row) for row in rows] if self.left_out else list(rows)

    def _row(self, row: int) -> int:
        number = row
        while (further := row + bisect.bisect_right(self.left_out, number)) != number:
            number = further
        return number


class Reading:
    """The state of reading the files of one table: options, report, and the rows and bytes so far."""

    def __init__(self, options: ReadOptions, report: IngestReport) -> None:
        self.options, self.skips = options, options.on_error == "skip"
        self._report, self._rows, self._bytes = report, 0, 0

    @property
    def limits(self) -> Limits:
        return self.options.limits

    def find(self, present: Sequence[str], source: Input) -> tuple[dict[str, str], list[str]]:
        """The columns to use by key, in the file or in the names of its folders, and the used ones in the file."""
        others = [name for name in source.folder_values if name not in present]
        columns = self.options.columns.find([*present, *others], source.name)
        used = sorted(set(columns.values()))
        source.check_folders(used, present)
        return columns, [name for name in used if name not in others]

    def leave_out(self, error: SourceError) -> None:
        """Raise the error of an unreadable record whose contest is unknown, or list it in the report."""
        if not self.skips:
            raise error
        self._report.left_out.append(LeftOut(error.contest, str(error)))

    def count(self, source: str, rows: int, n_bytes: int) -> None:
        """Count rows and their memory; ``SourceError`` beyond a limit."""
        self._rows, self._bytes = self._rows + rows, self._bytes + n_bytes
        self._report.reading(f"{self._rows:,} rows read")
        if self._rows > self.limits.rows:
            excess = f"{self._rows:,} rows, at most {self.limits.rows:,} are read as one table"
            key = "rows"
        elif self._bytes > self.limits.table:
            excess = f"the columns that are used take more than {byte_count(self.limits.table)} of memory"
            key = "table"
        else:
            return
        remedy = f"ingest it in parts of whole contests, or allow more with --limit {key}=..."
        raise SourceError(f"{excess}, the limit; {remedy}", source)
