"""Tables of text: the detection of the delimiter, all columns as text, and the line in the file of each row."""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice

import pyarrow as pa
import pyarrow.csv as pacsv

from ...common.text import count
from ..archives.arrow_csv import CsvBatches
from ..archives.members import contest_named
from ..base import SourceError
from ..columns import Batches
from ..limits import byte_count
from .inputs import Input
from .parts import Reading, TablePart
from .text_head import MARKING, encoding_remedy, is_utf8, read_head, undecodable, without_marks

BLOCK_BYTES = 2**24  # a row must fit
WORDS = {"\t": "tab"}
_EMPTY = "the file is empty, or has a header alone"
_IN_HEADER = ("contest", "player", "rank", "score", "lo", "hi", "time")


class Lines:
    """The line of the file in which each row of a table begins; computed when it is needed. ``above`` counts the lines
    with text above the first row, which Arrow counts as rows: the header, and what is skipped before it.
    """

    def __init__(self, source: Input, encoding: str, delimiter: str, skipped: int) -> None:
        self._source, self._encoding, self._delimiter, self.above = source, encoding, delimiter, skipped + 1
        self._starts = array("q")

    def __call__(self, rows: Sequence[int]) -> list[int]:
        """Lines, from 1, of rows counted from 1; empty if they are unknown."""
        last = max(rows, default=0)
        if last > len(self._starts):
            # Twice as far as before: many faults cost two passes over the file, and a fault at its start costs little.
            self._starts = array("q", islice(self._read(), max(last, 2 * len(self._starts))))
        return [self._starts[row - 1] for row in rows] if last <= len(self._starts) else []

    def _read(self) -> Iterator[int]:
        with io.TextIOWrapper(
            io.BufferedReader(self._source.open_bytes()), self._encoding, "replace", newline=""
        ) as text:
            reader = csv.reader(text, delimiter=self._delimiter)
            before, unread = 0, self.above
            try:
                for row in reader:
                    if row and unread:
                        unread -= 1
                    elif row:
                        yield before + 1
                    before = reader.line_num
            except (csv.Error, UnicodeError):  # the lines after this are unknown
                return


class TextTable:
    """A text table: its delimiter, and the batches of its columns.

    Without ``delimiter``, it is looked for in the header, by the ``names`` of columns that the table may have, in lower
    case. With ``skips``, bytes that are not UTF-8 become marks. ``given`` are the names of columns that are not in the
    file, ``left_out`` the rows of the file, from 1, that were not read.
    """

    def __init__(
        self, source: Input, encoding: str, delimiter: str | None, names: Collection[str], *, skips: bool
    ) -> None:
        self._source, self._encoding = source, encoding
        head = read_head(source, encoding)
        self.delimiter = delimiter or head.delimiter("\t" if source.form == "tsv" else "", names)
        self.names = head.names(self.delimiter)
        if not self.names:
            raise SourceError(_EMPTY, source.name)
        self.given, self._skipped = head.columns, head.skipped
        self._marked = skips and head.utf8 and not is_utf8(source)
        name = "utf-8-sig" if head.utf8 else encoding
        self.lines = Lines(source, name, self.delimiter, head.skipped - bool(head.columns))
        self.left_out: list[int] = []

    def batches(self, used: Sequence[str], leave_out: Callable[[pacsv.InvalidRow, int], None] | None = None) -> Batches:
        """Some columns, all as text: types would change the player 007 to 7 and NA to null.

        ``leave_out`` is called with a row of another number of fields, and its number in the file. Raises
        ``SourceError`` if the text has another encoding, a row cannot be read, or there is no ``leave_out``.
        """

        def invalid(row: pacsv.InvalidRow) -> str:
            if leave_out is None or row.number is None:
                return "error"
            number = row.number - self.lines.above
            leave_out(row, number)
            self.left_out.append(number)
            return "skip"

        # One thread: only then does Arrow know the row of an error.
        reading = pacsv.ReadOptions(
            use_threads=False, block_size=BLOCK_BYTES, skip_rows=self._skipped, column_names=self.given or None
        )
        handler = None if leave_out is None else invalid
        parsing = pacsv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=handler)
        types = dict.fromkeys(used, pa.string())
        converting = pacsv.ConvertOptions(include_columns=used, column_types=types, strings_can_be_null=False)
        errors, file = MARKING if self._marked else "strict", self._source.open_bytes()
        try:
            with CsvBatches(file, self._encoding, errors, reading, parsing, converting) as batches:
                yield from batches
        except UnicodeError as error:
            raise undecodable(error, self._encoding, self._source.name) from None
        except MemoryError:
            raise
        except pa.ArrowException as error:
            raise self._error_of(str(error)) from None

    def valid(self, batch: pa.RecordBatch, before: int, faults: dict[int, str]) -> pa.RecordBatch:
        """See :func:`.text_head.without_marks`."""
        return without_marks(batch, before, faults, encoding_remedy(self._encoding)) if self._marked else batch

    def _error_of(self, error: str) -> SourceError:
        """An error of Arrow's reader with the row and the line of the file, and a remedy."""
        reason = error.splitlines()[0].removeprefix("CSV parse error: ")
        row = re.search(r"Row #(\d+): ", reason)
        rows = [int(row[1]) - self.lines.above] if row and int(row[1]) > self.lines.above else []
        reason = reason.replace(row[0], "") if row else reason
        if sizes := re.match(r"Expected (\d+) columns, got (\d+)", reason):
            reason = f"the header has {count(int(sizes[1]), 'column')}, the row {sizes[2]}{reason[sizes.end() :]}"
        if "Empty CSV" in reason:
            return SourceError(_EMPTY, self._source.name)
        if "straddling" in reason:
            reason = f"a row of more than {byte_count(BLOCK_BYTES)}, the limit; is a quotation mark never closed?"
        if "invalid UTF8" in reason:
            column = re.search(r"column #(\d+)", reason)
            known = column is not None and int(column[1]) < len(self.names)
            where = f" in column {self.names[int(column[1])]!r}" if known and column is not None else ""
            reason = f"the text{where} is not UTF-8; {encoding_remedy(self._encoding)}"
        return SourceError(f"cannot be read: {reason}", self._source.name, rows=rows, lines=self.lines(rows))


def read_text(source: Input, reading: Reading) -> TablePart:
    """The used columns of a text table, as text. ``SourceError`` if one is missing, or a row cannot be read and
    unreadable rows are not skipped; names the row.
    """
    options = reading.options
    names = {getattr(options.columns, key).casefold() for key in _IN_HEADER}
    text = TextTable(source, options.encoding, options.delimiter, names, skips=reading.skips)

    def leave_out(row: pacsv.InvalidRow, number: int) -> None:
        header = count(row.expected_columns, "column")
        rule = f"cannot be read: the header has {header}, the row {row.actual_columns}"
        reading.leave_out(SourceError(rule, source.name, rows=[number], lines=text.lines([number])))

    named = [name for name in ("contest",) if text.given and name not in source.folder_values]
    columns, used = reading.find([*text.names, *named], source)
    used = [name for name in used if name not in named]
    # An error in the handler cannot be raised, so there is one only if rows may be skipped.
    batches, faults = reading.collect(source.name, text.batches(used, leave_out if reading.skips else None), text.valid)
    table = pa.Table.from_batches(batches, pa.schema([(name, pa.string()) for name in used]))
    for name in named:
        contest = contest_named(source.stem, source.folder)
        table = table.append_column(name, pa.repeat(pa.scalar(contest, pa.string()), len(table)))
    note = "" if text.delimiter == "," else f"delimiter {WORDS.get(text.delimiter, repr(text.delimiter))}"
    return TablePart(table, columns, text.names, text.lines, note, text.left_out, faults)
