"""The part of a table in one file: rows, their position in the file, and the unreadable rows."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import pyarrow as pa

from ..base import IngestReport, LeftOut, SourceError
from ..columns import Batches, without_invalid
from ..limits import byte_count
from ..options import ReadOptions
from .inputs import Input


@dataclass
class TablePart:
    """The used columns of one file, with their names in the file.

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


def row_in_file(row: int, left_out: Sequence[int]) -> int:
    """The row of the file of a row of the table, which does not have the rows ``left_out``; all from 1."""
    number = row
    while (further := row + bisect.bisect_right(left_out, number)) != number:
        number = further
    return number


class Reading:
    """The state of reading the files of one table: options, report, and the rows and bytes so far."""

    def __init__(self, options: ReadOptions, report: IngestReport) -> None:
        self.options, self.limits, self.skips = options, options.limits, options.on_error == "skip"
        self._report, self._rows, self._bytes = report, 0, 0

    def find(self, present: Sequence[str], source: Input) -> tuple[dict[str, str], list[str]]:
        """See :meth:`Input.find`."""
        return source.find(present, self.options.columns.find)

    def leave_out(self, error: SourceError) -> None:
        """Raise the error of an unreadable record whose contest is unknown, or list it in the report."""
        if not self.skips:
            raise error
        self._report.left_out.append(LeftOut(error.contest, str(error)))

    def collect(
        self,
        source: str,
        batches: Batches,
        valid: Callable[[pa.RecordBatch, int, dict[int, str]], pa.RecordBatch] = without_invalid,
        plain: Callable[[pa.RecordBatch], pa.RecordBatch] = lambda batch: batch,
        size: Callable[[pa.RecordBatch], int] = lambda batch: batch.nbytes,
    ) -> tuple[list[pa.RecordBatch], dict[int, str]]:
        """All batches, counted, and the faults of their rows, from 0, if contests with faults are skipped.

        ``valid`` makes the batch with nulls for invalid texts, given the number of rows before it, and notes their
        faults. A batch has ``size`` bytes once it is ``plain``.
        """
        parts: list[pa.RecordBatch] = []
        faults: dict[int, str] = {}
        n_rows = 0
        with closing(batches):  # a file is closed before an error is reported
            for batch in batches:
                self.count(source, batch.num_rows, size(batch))
                part = plain(batch)
                parts.append(valid(part, n_rows, faults) if self.skips else part)
                n_rows += batch.num_rows
        return parts, faults

    def count(self, source: str, rows: int, n_bytes: int) -> None:
        """Count rows and their memory; ``SourceError`` beyond a limit."""
        self._rows, self._bytes = self._rows + rows, self._bytes + n_bytes
        self._report.reading(f"{self._rows:,} rows read")
        if self._rows > self.limits.rows:
            key, excess = "rows", f"{self._rows:,} rows, at most {self.limits.rows:,} are read as one table"
        elif self._bytes > self.limits.table:
            excess = f"the columns that are used take more than {byte_count(self.limits.table)} of memory"
            key = "table"
        else:
            return
        remedy = f"ingest it in parts of whole contests, or allow more with --limit {key}=..."
        raise SourceError(f"{excess}, the limit; {remedy}", source)
