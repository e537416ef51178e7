"""Tables of text: the detection of the delimiter, all columns as text, and the line in the file of each row."""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from ...common.text import count
from ..archives.members import contest_named
from ..base import SourceError
from ..limits import byte_count
from .inputs import Input
from .parts import Reading, TablePart
from .text_head import encoding_remedy, read_head, undecodable
from .text_marks import check_header, is_utf8, open_marked, without_marks

__all__ = ["Lines", "error_of", "read_text"]

BLOCK_BYTES = 2**24  # a row must fit
WORDS = {"\t": "tab"}
_IN_HEADER = ("contest", "player", "rank", "score", "lo", "hi", "time")


class Lines:
    """The line of the file in which each row of a table begins; computed when it is needed.

    Attributes
    ----------
    above : int
        Lines with text above the first row, which Arrow counts as rows: the header, and what is skipped before it.
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


def read_text(source: Input, reading: Reading) -> TablePart:
    """The used columns of a text table, as text.

    Raises
    ------
    SourceError
        The file lacks a column, or a row cannot be read and unreadable rows are not skipped; names the row.
    """
    options = reading.options
    head = read_head(source, options.encoding)
    utf8, skipped = head.utf8, head.skipped
    names = {getattr(options.columns, key).casefold() for key in _IN_HEADER}
    delimiter = options.delimiter or head.delimiter("\t" if source.form == "tsv" else "", names)
    # One thread: only then does Arrow know the row of an error.
    one_thread = pacsv.ReadOptions(
        use_threads=False, block_size=BLOCK_BYTES, encoding="utf8" if utf8 else options.encoding, skip_rows=skipped,
        column_names=head.columns or None,
    )  # fmt: skip
    lines = Lines(source, "utf-8-sig" if utf8 else options.encoding, delimiter, skipped - bool(head.columns))
    present: list[str] = []
    left_out: list[int] = []

    def invalid(row: pacsv.InvalidRow) -> str:
        if not reading.skips or row.number is None:
            return "error"
        rows = [row.number - lines.above]
        header = count(row.expected_columns, "column")
        rule = f"cannot be read: the header has {header}, the row {row.actual_columns}"
        reading.leave_out(SourceError(rule, source.name, rows=rows, lines=lines(rows)))
        left_out.append(rows[0])
        return "skip"

    # An error in the handler cannot be raised, so there is one only if rows may be skipped.
    parsing = pacsv.ParseOptions(
        newlines_in_values=True, delimiter=delimiter, invalid_row_handler=invalid if reading.skips else None
    )
    heading = pacsv.ParseOptions(
        newlines_in_values=True,
        delimiter=delimiter,
        invalid_row_handler=(lambda row: "skip") if reading.skips else None,
    )
    marked = reading.skips and utf8 and not is_utf8(source)

    def opened(parsing: pacsv.ParseOptions, converting: pacsv.ConvertOptions | None = None) -> Any:
        file = open_marked(source) if marked else source.open_bytes()
        return pacsv.open_csv(file, read_options=one_thread, parse_options=parsing, convert_options=converting)

    try:
        with opened(heading) as stream:
            present = stream.schema.names
        if marked:
            check_header(present, options.encoding, source.name)
        named = [name for name in ("contest",) if head.columns and name not in source.folder_values]
        columns, used = reading.find([*present, *named], source)
        used = [name for name in used if name not in named]
        # All columns are read as text: type detection would change the player 007 to 7 and the player NA to null.
        converting = pacsv.ConvertOptions(
            include_columns=used,
            column_types=dict.fromkeys(used, pa.string()),
            strings_can_be_null=False,
        )
        batches: list[pa.RecordBatch] = []
        faults: dict[int, str] = {}
        n_rows = 0
        with opened(parsing, converting) as stream:
            for batch in stream:
                reading.count(source.name, batch.num_rows, batch.nbytes)
                batches.append(
                    without_marks(batch, n_rows, faults, encoding_remedy(options.encoding)) if marked else batch
                )
                n_rows += batch.num_rows
            table = pa.Table.from_batches(batches, stream.schema)
        for name in named:
            contest = contest_named(source.stem, source.folder)
            table = table.append_column(name, pa.repeat(pa.scalar(contest, pa.string()), len(table)))
    except UnicodeError as error:
        raise undecodable(error, options.encoding, source.name) from None
    except MemoryError:
        raise
    except pa.ArrowException as error:
        raise error_of(str(error), source.name, present, options.encoding, lines) from None
    note = "" if delimiter == "," else f"delimiter {WORDS.get(delimiter, repr(delimiter))}"
    return TablePart(table, columns, present, lines, note, left_out, faults)


def error_of(error: str, source: str, present: list[str], encoding: str, lines: Lines) -> SourceError:
    """An error of Arrow's reader with the row and the line of the file, and a remedy."""
    reason = error.splitlines()[0].removeprefix("CSV parse error: ")
    row = re.search(r"Row #(\d+): ", reason)
    rows = [int(row[1]) - lines.above] if row and int(row[1]) > lines.above else []
    reason = reason.replace(row[0], "") if row else reason
    if sizes := re.match(r"Expected (\d+) columns, got (\d+)", reason):
        reason = f"the header has {count(int(sizes[1]), 'column')}, the row {sizes[2]}{reason[sizes.end() :]}"
    if "Empty CSV" in reason:
        return SourceError("the file is empty, or has a header alone", source)
    if "straddling" in reason:
        reason = f"a row of more than {byte_count(BLOCK_BYTES)}, the limit; is a quotation mark never closed?"
    if "invalid UTF8" in reason:
        column = re.search(r"column #(\d+)", reason)
        position_known = column is not None and int(column[1]) < len(present)
        where = f" in column {present[int(column[1])]!r}" if position_known and column is not None else ""
        reason = f"the text{where} is not UTF-8; {encoding_remedy(encoding)}"
    return SourceError(f"cannot be read: {reason}", source, rows=rows, lines=lines(rows))
