"""The first lines of a text table: its header, its delimiter, and its encoding."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection

from ..base import SourceError
from ..limits import MAX_COLUMNS, byte_count, check_width
from .inputs import Input
from .text_marks import MARKING, has_marks

__all__ = ["HEAD_BYTES", "Head", "encoding_remedy", "read_head", "undecodable"]

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

    Attributes
    ----------
    utf8 : bool
        Whether the encoding is UTF-8.
    skipped : int
        Lines before the header to skip: one, if a line ``sep=;`` of spreadsheets names the delimiter, or a line the
        table of ICPC's tools.
    columns : list of str
        The columns of a table of ICPC's tools, which has no header; empty for others.
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
        """The delimiter that splits the header into the most of the known names, or else into the most columns.

        Parameters
        ----------
        default
            The delimiter of the format; empty if it has none.
        names
            The names of columns that the table may have, in lower case.
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
        """The names of the columns, as Arrow reads them; none in an empty file.

        Raises
        ------
        SourceError
            The header is too long, not UTF-8 or no text, or has too many names.
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
    """The header of a file.

    Raises
    ------
    SourceError
        The file is UTF-16, and the encoding is UTF-8.
    """
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
