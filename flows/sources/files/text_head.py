"""The first lines of a text table: its header, its delimiter and its encoding; and bytes that are not of the encoding.

Of text that is not all UTF-8, valid rows are read, and in the others these bytes become marks.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from ..base import SourceError
from ..limits import MAX_COLUMNS, byte_count, check_width
from .inputs import Input

HEAD_BYTES = 2**20  # the header must fit
_SEARCHED = 2**16  # characters that determine the delimiter
_LONG_HEADER = (
    f"the header is longer than {byte_count(HEAD_BYTES)}, the limit, or one of its names than 128 KiB; "
    "is a quotation mark never closed?"
)
DELIMITERS = (",", ";", "\t", "|")

# Tables of ICPC's tools, which DOMjudge exports: the first line has the kind of the table and a version, and no other
# line has the names of the columns.
_VERSION = re.compile(r"\t[0-9]+$")
_ICPC = {
    "results": ["player", "rank", "award", "solved", "penalty", "last_accepted", "group"],
    "scoreboard": ["institution", "player", "rank", "solved", "penalty", "last_accepted"],
}


class Head:
    """The header of a text table.

    ``skipped`` lines are before it: one, if a line ``sep=;`` of spreadsheets names the delimiter, or a line the table
    of ICPC's tools. ``columns`` are those of a table of ICPC's tools, which has no header.
    """

    def __init__(self, start: bytes, encoding: str, source: str = "") -> None:
        self.utf8 = codecs.lookup(encoding).name == "utf-8"
        self._text = start.decode(encoding, MARKING if self.utf8 else "replace").removeprefix("\ufeff")
        self._encoding, self._source, self._cut = encoding, source, len(start) == HEAD_BYTES
        lines = [line for line in self._text[:_SEARCHED].splitlines() if line.strip()]
        self.skipped = int(bool(lines) and re.fullmatch(r"sep=.", lines[0]) is not None)
        self._header = lines[0] if lines else ""
        kind = _ICPC.get(self._header.partition("\t")[0]) if _VERSION.search(self._header) else None
        self.columns: list[str] = []
        if kind is not None:
            n = len(lines[1].split("\t")) if len(lines) > 1 else 0
            self.columns = kind[:n] + [f"column_{at}" for at in range(len(kind) + 1, n + 1)]
            self.skipped = 1

    def delimiter(self, default: str, names: Collection[str]) -> str:
        """The delimiter that splits the header into the most of the known names, in lower case, or else into the most
        columns; ``default`` is that of the format, if it has one.
        """
        if self.skipped:
            return "\t" if self.columns else self._header[-1]
        if default:
            return default

        def score(delimiter: str) -> tuple[int, int]:
            found = next(csv.reader([self._header], delimiter=delimiter), [])
            return len({name.strip().casefold() for name in found}.intersection(names)), len(found)

        return max(DELIMITERS, key=score)  # the first one of equal scores

    def names(self, delimiter: str) -> list[str]:
        """The names of the columns, as Arrow reads them; none in an empty file. ``SourceError`` if the header is too
        long, not UTF-8 or no text, or has too many names.
        """
        names = self.columns or self._first_row(delimiter)
        check_width(len(names), self._source)
        if any(map(has_marks, names)):
            rule = f"cannot be read: the header is not UTF-8; {encoding_remedy(self._encoding)}"
            raise SourceError(rule, self._source)
        if any("\0" in name for name in names):
            raise SourceError("cannot be read: the header has the byte 0x00, so this is no table of text", self._source)
        return names

    def _first_row(self, delimiter: str) -> list[str]:
        text = io.StringIO(self._text, newline="")
        for _ in range(self.skipped):
            text.readline()
        try:
            row = next(filter(None, csv.reader(text, delimiter=delimiter)), [])
        except csv.Error:
            raise SourceError(_LONG_HEADER, self._source) from None
        if self._cut and not text.read(1) and len(row) <= MAX_COLUMNS:
            raise SourceError(_LONG_HEADER, self._source)
        return row


def read_head(source: Input, encoding: str) -> Head:
    """The header of a file; ``SourceError`` if the file is UTF-16, and the encoding is UTF-8."""
    with source.open_bytes() as file:
        start = file.read(HEAD_BYTES)
    head = Head(start, encoding, source.name)
    if head.utf8 and start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):  # "Unicode text" in spreadsheets
        raise SourceError("UTF-16, not UTF-8; --encoding utf-16 reads it", source.name)
    if (other := re.match(rb"(teams|groups|accounts|userdata|contest|problemset)\t[0-9]+\r?\n", start)) is not None:
        rule = f"a table {other[1].decode()} of ICPC's tools has no results; the contest's results.tsv has them"
        raise SourceError(rule, source.name)
    return head


def undecodable(error: UnicodeError, encoding: str, source: str) -> SourceError:
    """The error of a file whose text is not in its encoding."""
    rule = f"the text is not {encoding}: {error}"
    if isinstance(error, UnicodeDecodeError):
        rule = f"the text is not {encoding}: byte 0x{error.object[error.start]:02x}, {error.reason}"
    return SourceError(f"cannot be read: {rule}; {encoding_remedy(encoding)}", source)


def encoding_remedy(encoding: str) -> str:
    """What to do about text that is not in this encoding."""
    if codecs.lookup(encoding).name == "utf-8":
        return "name its encoding, for example with --encoding latin-1 or --encoding cp1252"
    return "the file has another encoding than that of --encoding"


# A byte that is not UTF-8 is replaced by a character of the private use area, counted from this one. Arrow's reader
# passes a row with too many fields to a callback as text, which must be valid.
_FIRST_MARK = 0x10FF00
_MARKS = r"[\x{10FF80}-\x{10FFFF}]"
MARKING = "ranklake-marks"
"""The treatment of errors in UTF-8 that replaces bytes by marks."""


def is_utf8(source: Input) -> bool:
    """Whether all of a file is UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with source.open_bytes() as file:
            while data := file.read(2**20):
                decoder.decode(data)
        decoder.decode(b"", True)
    except UnicodeDecodeError:
        return False
    return True


def has_marks(text: str) -> bool:
    """Whether a text has a byte that is not UTF-8."""
    return any(ord(character) >= _FIRST_MARK + 0x80 for character in text)


def without_marks(batch: pa.RecordBatch, before: int, faults: dict[int, str], hint: str) -> pa.RecordBatch:
    """The batch with nulls for texts with marks; notes their rows, counted from ``before``, in ``faults``."""
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        bad = pc.match_substring_regex(column, _MARKS)
        for row in pc.indices_nonzero(bad).to_pylist():
            raw = column[row].as_py().encode("utf-8")
            for byte in range(0x80, 0x100):
                raw = raw.replace(chr(_FIRST_MARK + byte).encode(), bytes([byte]))
            try:
                raw.decode()
            except UnicodeDecodeError as error:
                rule = f"the column {name!r} is not UTF-8: {raw[:40]!r}, byte 0x{raw[error.start]:02x}; {hint}"
                faults.setdefault(before + row, rule)
        columns.append(pc.if_else(bad, None, column))
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "".join(chr(_FIRST_MARK + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error(MARKING, _mark)
