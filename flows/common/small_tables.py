"""Small CSV tables that a setting or an option names: some of their columns, as text, row by row."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from .text import quoted

MAX_TABLE_BYTES = 2**22  # far more than the points of any curve


def read_columns(name: str, path: Path, columns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The place of each row of a CSV file, for messages, and its cells in some columns, trimmed.

    The file is UTF-8 with commas, semicolons or tabs; names of columns are in any case, blank lines do not count.
    ``ValueError`` names the setting or option ``name`` and the file.
    """
    where = f"{name}: file {str(path)!r}"
    try:
        if (size := path.stat().st_size) > MAX_TABLE_BYTES:
            raise ValueError(f"{where} has {size:,} bytes, more than {MAX_TABLE_BYTES:,}")
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise ValueError(f"{where} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{where} is not UTF-8; save it as CSV in UTF-8") from None
    delimiter = max(",;\t", key=lines[0].count) if lines else ","
    rows = csv.reader(lines, delimiter=delimiter)
    try:
        have = [cell.strip().lower() for cell in next(rows, [])]
        check_columns(where, have, columns)
        at = [have.index(column) for column in columns]
        for cells in filter(None, rows):
            yield f"{where}, line {rows.line_num}", [cells[i].strip() if i < len(cells) else "" for i in at]
    except csv.Error as error:
        raise ValueError(f"{where} cannot be read as CSV: {error}") from None


def check_columns(where: str, have: Sequence[str], needed: Sequence[str]) -> None:
    """Raise ``ValueError`` unless a table has all needed columns."""
    for column in needed:
        if column not in have:
            names = ", ".join(map(quoted, have)) or "none"
            raise ValueError(f"{where} has no column {column}; it has {names} and needs {' and '.join(needed)}")


def read_number(where: str, column: str, text: str) -> float:
    """The number of a cell."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{where}: {column} must be a number, got {quoted(text)}") from None
