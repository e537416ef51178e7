"""Dates of games: years first in any form, and dates of which a part is unknown."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..columns import Bools, Longs, is_text

NO_DATE = "without a full date"
_LONG = 1e8  # the least number of nine digits

_DAY = re.compile(r"\s*(\d{4})([./-])(\d{1,2})\2(\d{1,2})(?!\d)(.*?)\s*")
_UNKNOWN = re.compile(
    r"\s*(?:-*|0000\D.*|[\d?]*\?[\d?]*(?:[./-].*)?|\d{1,4}[./-][\d?./-]*\?.*|\d{4}(?:[./-]\d\d?)?(?:[./-]00?)*)\s*"
)


def iso_or_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts with their dates in ISO 8601, as ``2021-03-04`` for ``2021.3.4``; null for unknown dates.

    A year alone, or with a month, stays as it is: a number may be a time, too.
    """
    chunks = []
    for encoded in column.dictionary_encode().chunks:
        values = pa.array(map(_iso, encoded.dictionary.to_pylist()), pa.string())
        chunks.append(values.take(encoded.indices))
    return pa.chunked_array(chunks, pa.string())


def without_fractions(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers of nine digits or more, as Unix times have, rounded down; as text or as numbers. A shorter number, as
    2021.03, may be a part of a date.
    """
    if is_text(column.type):
        return pc.replace_substring_regex(column, r"^(\s*\d{9,})\.\d+(\s*)$", r"\1\2")
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.greater_equal(column, pa.scalar(_LONG, column.type)), pc.floor(column), column)


def clocks_of(texts: pa.StringArray | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Seconds since midnight of times such as 13:45:10; null for other texts."""
    day = pc.binary_join_element_wise("1970-01-01", texts, " ")
    return pc.strptime(day, "%Y-%m-%d %H:%M:%S", "s", error_is_null=True).cast(pa.int64())


def days_of(texts: pa.StringArray, form: str) -> tuple[Longs, Bools, Bools]:
    """Dates as UTC seconds, and masks of the unknown dates and of those that are no date. ``form`` is ``auto``, or a
    pattern of ``strptime`` for dates that do not begin with the year.
    """
    encoded = texts.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    read = [_seconds(value, form) for value in values]
    codes = encoded.indices.fill_null(len(values)).to_numpy()
    seconds = np.array([*(one or 0 for one in read), 0], np.int64)
    unknown = np.array([*(one is None and _is_unknown(value) for one, value in zip(read, values, strict=True)), True])
    known = np.array([*(one is not None for one in read), False])
    return seconds[codes], unknown[codes], ~(known | unknown)[codes]


def _iso(text: str) -> str | None:
    if match := _DAY.fullmatch(text):
        year, _, month, day, rest = match.groups()
        return f"{year}-{month:0>2}-{day:0>2}{rest}" if int(year) and int(month) and int(day) else None
    return None if not text.strip().isdigit() and _is_unknown(text) else text


def _is_unknown(text: str) -> bool:
    return _UNKNOWN.fullmatch(text) is not None


def _seconds(text: str, form: str) -> int | None:
    try:
        if "%" in form:
            day = datetime.strptime(text.strip(), form)
        elif (match := _DAY.fullmatch(text)) and not match[5]:
            day = datetime.combine(date(int(match[1]), int(match[3]), int(match[4])), datetime.min.time())
        else:
            return None
    except ValueError:
        return None
    return int((day if day.tzinfo else day.replace(tzinfo=UTC)).timestamp())
