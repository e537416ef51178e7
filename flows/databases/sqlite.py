"""Connections to SQLite files by the standard library, whose rows become Arrow columns.

A connection that only reads has an authoriser: SQLite asks it for each action of a statement before it begins.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote as encoded

import pyarrow as pa

from .address import DatabaseAddress
from .dialects import WAIT_SECONDS
from .errors import DatabaseError
from .row_batches import RowConnection

MAX_VALUE = 2**26  # bytes of one value, or of one row of a table
_STEPS = 100_000  # of SQLite, some milliseconds: Python looks for Ctrl-C in between
# Changes of rows are refused by query_only; statements of virtual tables, which are not executed, have them, too.
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_ALLOWED |= {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE}
_PRAGMAS = ("table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "data_version")


class SqliteConnection(RowConnection):
    def __init__(self, address: DatabaseAddress, read_only: bool = False) -> None:
        super().__init__(address, read_only)
        path = os.path.abspath(address.path)
        if not os.path.isfile(path):
            folder = os.path.dirname(path)
            if read_only or not os.path.isdir(folder):
                raise DatabaseError(
                    address.shown, "no such file" if os.path.isdir(folder) else f"no such folder: {folder}"
                )
        # Not mode=ro: a connection that may not write cannot undo the transaction of a program that was killed.
        where = f"file:{encoded(path)}?mode={'rw' if read_only else 'rwc'}"
        with self._errors():
            self._connection = sqlite3.connect(
                where, timeout=WAIT_SECONDS, isolation_level=None, uri=True, check_same_thread=False
            )
        self._connection.text_factory = bytearray  # texts that are not UTF-8 are for the reader to judge
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
        self._connection.set_progress_handler(lambda: 0, _STEPS)
        if read_only:
            self._set("PRAGMA query_only = 1")
            self._connection.set_authorizer(_authorised)

    def execute(self, sql: str) -> None:
        with self._errors(), closing(self._connection.cursor()) as cursor:
            cursor.execute(sql).fetchall()  # a statement is executed while its rows are read

    @contextmanager
    def read(self, sql: str) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        with closing(self._connection.cursor()) as cursor:
            with self._errors():
                cursor.execute(sql)
            yield self._batches(cursor)

    def close(self) -> None:
        with self._errors():
            self._connection.close()

    def _column(self, values: Sequence[Any], name: str, code: Any) -> pa.Array:
        """Numbers, or texts without a check of their encoding; whole numbers among texts become texts."""
        kinds = set(map(type, values)) - {type(None)}
        if not kinds:
            return pa.nulls(len(values))
        if kinds <= {int, float}:
            return pa.array(values, pa.float64() if float in kinds else pa.int64())
        if float in kinds:
            rule = f"the column {name} of the query has texts and numbers; cast it to one type in the query"
            raise DatabaseError(self.shown, rule)
        texts = (str(value).encode() if type(value) is int else value for value in values)
        array = pa.array(texts if int in kinds else values, pa.binary())
        return array if bytes in kinds else array.view(pa.string())

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
            if str(error) == "interrupted":  # in the handler of Ctrl-C, whose error SQLite has dropped
                raise KeyboardInterrupt from None
            state = "25006" if "readonly database" in str(error) else ""
            raise self._error(str(error), state) from None


def _authorised(action: int, name: str | None, value: str | None, *_: object) -> int:
    """Whether a connection that only reads allows an action; SQLite refuses a statement with any other action."""
    reads = action in _ALLOWED or (action == sqlite3.SQLITE_FUNCTION and value != "load_extension")
    reads = reads or (action == sqlite3.SQLITE_PRAGMA and name in _PRAGMAS)
    return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY
