"""The part of a table that one file holds: rows, their position in the file, and the rows that are unreadable."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from ..base import IngestReport, LeftOut, SourceError
from ..limits import Limits, byte_count
from ..options import ReadOptions

__all__ = ["Reading", "TablePart"]


@dataclass
class TablePart:
    """The columns of one file that are used.

    Attributes
    ----------
    table
        The columns, by the names that the file has for them.
    found
        The same names by key.
    present
        All columns of the file.
    lines
        Lines of the file, from 1, of rows that are numbered from 1 as the file has them; empty if there are none.
    note
        How the file was read; empty if there is nothing to say.
    left_out
        Rows of the file, from 1 and in order, that are not in the table.
    faults
        What is wrong with rows of the table, from 0, beside what their values say.
    """

    table: pa.Table
    found: dict[str, str]
    present: list[str]
    lines: Callable[[Sequence[int]], list[int]] = lambda rows: []
    note: str = ""
    left_out: Sequence[int] = ()
    faults: Mapping[int, str] = field(default_factory=dict)

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

    def leave_out(self, error: SourceError) -> None:
        """A record that cannot be read and whose contest is not known: raises the error, or lists it in the report."""
        if not self.skips:
            raise error
        self._report.left_out.append(LeftOut(error.contest, str(error)))

    def count(self, source: str, rows: int, n_bytes: int) -> None:
        """Count rows and the memory that they take.

        Raises
        ------
        SourceError
            A limit is exceeded.
        """
        self._rows, self._bytes = self._rows + rows, self._bytes + n_bytes
        if self._rows > self.limits.rows:
            found = f"{self._rows:,} rows, at most {self.limits.rows:,} are read as one table"
            key = "rows"
        elif self._bytes > self.limits.table:
            found = f"the columns that are used take more than {byte_count(self.limits.table)} of memory"
            key = "table"
        else:
            return
        way = f"ingest it in parts of whole contests, or allow more with --limit {key}=..."
        raise SourceError(f"{found}, the limit; {way}", source)
