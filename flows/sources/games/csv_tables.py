"""CSV tables of games as text, batch by batch, with the number of each row in its file; and faults of such text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from ..base import OnError, SourceError
from ..columns import Bools, Longs
from ..files.inputs import Input
from ..files.text_head import encoding_remedy, undecodable, without_marks
from ..files.text_tables import BLOCK_BYTES, Lines, TextTable, error_of
from .batch import GamesReport
from .columns import KEYS

_HEADERS = {name for names in KEYS.values() for name in names}


@dataclass(frozen=True)
class Rows:
    """Rows of a table: their numbers in the file, from 1, and the faults that its reader found in them."""

    source: str
    number: Longs
    faults: tuple[tuple[Bools, str], ...] = ()
    lines: Lines | None = None

    @property
    def n(self) -> int:
        return len(self.number)

    def error(self, rule: str, row: int) -> SourceError:
        """The error of a row, counted from 0."""
        rows = [int(self.number[row])]
        return SourceError(rule, self.source, rows=rows, lines=self.lines(rows) if self.lines else ())


@dataclass
class CsvGames:
    """A CSV table. Under ``skip``, rows with another number of fields are left out and counted."""

    source: Input
    report: GamesReport
    on_error: OnError
    delimiter: str | None
    encoding: str
    _left_out: list[int] = field(default_factory=list, repr=False)  # rows, from 0

    def names(self) -> list[str]:
        """The names of the columns; ``SourceError`` if the file is empty, or its text has another encoding."""
        skips = self.on_error == "skip"
        self._text = TextTable(self.source, self.encoding, self.delimiter, _HEADERS, marks=skips)
        return self._text.names

    def batches(self, used: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, Rows]]:
        """Batches of some columns, all as text, after :meth:`names`."""
        n = 0
        skip = self._leave_out if self.on_error == "skip" else None
        with self._faults(), self._text.read(used, skip) as stream:
            for batch in stream:
                if batch.num_rows:
                    faults: dict[int, str] = {}
                    if self._text.marked:
                        batch = without_marks(batch, 0, faults, encoding_remedy(self.encoding))
                    yield batch, self._rows(n, batch.num_rows, faults)
                    n += batch.num_rows

    def _rows(self, before: int, n: int, faults: dict[int, str]) -> Rows:
        left_out = np.array(self._left_out, np.int64)
        number = np.arange(before, before + n)
        number += np.searchsorted(left_out - np.arange(len(left_out)), number, "right")
        broken = np.zeros(n, bool)
        broken[list(faults)] = True
        found = ((broken, next(iter(faults.values()))),) if faults else ()
        return Rows(self.source.name, number + 1, found, self._text.lines)

    def _leave_out(self, row: pacsv.InvalidRow) -> str:
        number = row.number - self._text.lines.above
        rule = f"with another number of fields than the header's {row.expected_columns}"
        self.report.leave_out(rule, 1, f"{self.source.name}, row {number}")
        self._left_out.append(number - 1)
        return "skip"

    def _faults(self) -> Any:
        def of(error: str) -> SourceError:
            return error_of(error, self.source.name, self._text.names, self.encoding, self._text.lines)

        return faults_of_text(self.source, self.encoding, of)


SEPARATOR = "\x01"  # of the only column of PGN text

_FAULTS = {
    "straddling object": f"a line is longer than {BLOCK_BYTES // 2**20} MiB",
    "Empty CSV file": "the file is empty",
}
_PGN_FAULTS = {"Expected 1 columns": "the file is no PGN text: a line has the control character 0x01"}


@contextmanager
def faults_of_text(source: Input, encoding: str, others: Callable[[str], SourceError] | None = None) -> Iterator[None]:
    """Raise errors of Arrow and of encodings as :class:`SourceError`; ``others`` makes one of an unknown message."""
    try:
        yield
    except UnicodeError as error:
        raise undecodable(error, encoding, source.name) from None
    except pa.ArrowInvalid as error:
        faults = _FAULTS | (_PGN_FAULTS if source.form == "pgn" else {})
        for words, fault in faults.items():
            if words in str(error):
                raise SourceError(fault, source.name) from None
        if others is None:
            raise
        raise others(str(error)) from None
