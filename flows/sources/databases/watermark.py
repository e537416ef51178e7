"""The watermark of a query: the largest value of a column that grows whenever a row is added or changed."""

from __future__ import annotations

import datetime as dt
from typing import Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ...common.text import quoted
from ...databases.address import Kind
from ...databases.connection import Connection
from ..base import SourceError
from ..columns import decoded, is_text

__all__ = ["OVERLAP_SECONDS", "Watermark", "watermark_of"]

# A transaction may commit later than its time says: with times, rows of the last minutes are asked for again.
OVERLAP_SECONDS = 600
_EPOCH = dt.datetime(1970, 1, 1)


class Watermark(msgspec.Struct, frozen=True):
    """A value of the column.

    Attributes
    ----------
    kind : str
        ``number``, ``text`` (SQLite only), ``time`` or ``zoned``, a time with a time zone.
    value : int or str
        A time is in microseconds since 1970, UTC or without a zone.
    """

    kind: Literal["number", "text", "time", "zoned"]
    value: int | str

    def literal(self, kind: Kind) -> str:
        """The value as SQL; of times, a value :data:`OVERLAP_SECONDS` earlier."""
        if self.kind == "number":
            return str(int(self.value))
        if self.kind == "text":
            text = str(self.value)
            return "'" + text.replace("'", "''") + "'"
        moment = _EPOCH + dt.timedelta(microseconds=int(self.value), seconds=-OVERLAP_SECONDS)
        text = f"{moment:%Y-%m-%d %H:%M:%S.%f}"
        return f"timestamp with time zone '{text}+00'" if self.kind == "zoned" else f"timestamp '{text}'"


def watermark_of(table: pa.Table, name: str | None, connection: Connection) -> Watermark | None:
    """The largest value of a column; None without a column, or if all its values are null.

    Raises
    ------
    SourceError
        The column is neither a whole number nor a time; text, which databases compare in different ways, is accepted
        from SQLite only.
    """
    if name is None:
        return None
    column = decoded(table[name])
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("us"))
    numeric, timed = pa.types.is_integer(column.type), pa.types.is_timestamp(column.type)
    texts = is_text(column.type) and connection.kind == "sqlite"
    if not (numeric or timed or texts or pa.types.is_null(column.type)):
        rule = f"the watermark column {quoted(name)} holds {column.type}; it must hold times or whole numbers"
        raise SourceError(rule, connection.shown)
    if column.null_count == len(column):
        return None
    if timed:
        zoned = column.type.tz is not None
        latest = pc.max(column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())).as_py()
        return Watermark("zoned" if zoned else "time", latest)
    latest = pc.max(column).as_py()
    return Watermark("number" if numeric else "text", latest)
