"""Text with bytes that are not UTF-8: valid rows are read, and in the others these bytes become marks."""

from __future__ import annotations

import codecs

import pyarrow as pa
import pyarrow.compute as pc

from .inputs import Input

__all__ = ["MARKING", "has_marks", "is_utf8", "without_marks"]

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
