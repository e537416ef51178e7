"""The first lines of a text table: its header, its delimiter, and its encoding."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Collection

from ..base import SourceError
from .inputs import Input

__all__ = ["Head", "encoding_remedy", "read_head", "undecodable"]

HEAD_BYTES = 2**16
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

    def __init__(self, head: bytes, encoding: str) -> None:
        text = head.decode(encoding, "replace").lstrip("\ufeff")
        lines = [line for line in text.splitlines() if line.strip()]
        self.utf8 = codecs.lookup(encoding).name == "utf-8"
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


def read_head(source: Input, encoding: str) -> Head:
    """The header of a file.

    Raises
    ------
    SourceError
        The file is UTF-16, and the encoding is UTF-8.
    """
    with source.open_bytes() as file:
        start = file.read(HEAD_BYTES)
    head = Head(start, encoding)
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
