"""Connections to PostgreSQL and SQLite by their ADBC drivers, which exchange Arrow tables. Needs the extra ``sql``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pyarrow as pa

from ..common.extras import need
from .address import DatabaseAddress
from .base import Connection
from .dialects import CONNECT_SECONDS, WAIT_SECONDS
from .errors import DatabaseError, database_error

__all__ = ["AdbcConnection"]

# SQLite's columns have no types: the driver takes those of the first rows, and fails at a later value of another type.
_TYPED_ROWS = 2**24
_READ_ONLY = {
    "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "sqlite": "PRAGMA query_only = 1",
}
_SETTINGS = {
    "postgresql": (
        "SET TIME ZONE 'UTC'",
        f"SET lock_timeout = '{WAIT_SECONDS}s'",
        "SET work_mem = '64MB'",  # a leaderboard of half a million players is joined in memory
    ),
    "sqlite": (f"PRAGMA busy_timeout = {WAIT_SECONDS * 1000}",),
}


class AdbcConnection(Connection):
    """See :class:`ranklake.flows.databases.base.Connection`."""

    def __init__(self, address: DatabaseAddress, read_only: bool = False) -> None:
        super().__init__(address)
        driver = need(f"adbc_driver_{address.kind}", "sql", f"a database of {address.kind}")
        dbapi = need(f"{driver.__name__}.dbapi", "sql", f"a database of {address.kind}")
        where = address.path if address.kind == "sqlite" else _bounded(address)
        if address.kind == "sqlite" and not os.path.isfile(where):
            folder = os.path.dirname(os.path.abspath(where))
            if read_only or not os.path.isdir(folder):
                raise DatabaseError(
                    address.shown, "no such file" if os.path.isdir(folder) else f"no such folder: {folder}"
                )
        with self._errors():
            self._connection = dbapi.connect(where, autocommit=True)
        self._set(*_SETTINGS[address.kind], *([_READ_ONLY[address.kind]] if read_only else []))

    def execute(self, sql: str) -> None:
        with self._errors(), closing(self._connection.cursor()) as cursor:
            cursor.execute(sql)
            cursor.fetchall()  # SQLite executes a statement while its rows are read

    @contextmanager
    def read(self, sql: str) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        with ExitStack() as opened:
            with self._errors():
                cursor = opened.enter_context(closing(self._connection.cursor()))
                if self.kind == "sqlite":
                    cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(_TYPED_ROWS)})
                cursor.execute(f"{sql}\n")  # a comment may end the query, and the driver appends to it
                reader = cursor.fetch_record_batch()
            schema = pa.schema([pa.field(one.name, _plain_type(one.type)) for one in reader.schema])
            yield schema, self._plain(reader, schema)

    def append(self, table: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema, namespace: str = "") -> int:
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        how: dict[str, Any] = {"temporary": True} if namespace == "temp" else {}
        if namespace and not how:
            how["db_schema_name"] = namespace
        with self._errors(), closing(self._connection.cursor()) as cursor:
            return int(cursor.adbc_ingest(table, reader, mode="append", **how))

    def close(self) -> None:
        with self._errors():
            self._connection.close()

    def _plain(self, reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with self._errors():
            for batch in reader:
                yield pa.RecordBatch.from_arrays([_plain_array(column) for column in batch.columns], schema=schema)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        from adbc_driver_manager import Error

        try:
            yield
        except (Error, OSError, pa.ArrowException) as error:
            details = dict(getattr(error, "details", None) or ())
            primary = _text(details.get(b"PG_DIAG_MESSAGE_PRIMARY") or details.get("PG_DIAG_MESSAGE_PRIMARY") or "")
            state = getattr(error, "sqlstate", None) or ""
            raise database_error(self.shown, self._address.secrets, str(error), state, primary) from None


def _bounded(address: DatabaseAddress) -> str:
    """The address with a bound of the time to connect, unless it, the environment or a service file may have one."""
    named = address.parameters.keys() | os.environ.keys()
    if {"connect_timeout", "service", "PGCONNECT_TIMEOUT", "PGSERVICE"} & named:
        return address.url
    return f"{address.url}{'&' if '?' in address.url else '?'}connect_timeout={CONNECT_SECONDS}"


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of a column without an extension: PostgreSQL's ``numeric`` is text, its ``uuid`` becomes text."""
    if not isinstance(kind, pa.BaseExtensionType):
        return kind
    return pa.string() if pa.types.is_fixed_size_binary(kind.storage_type) else kind.storage_type


def _plain_array(column: pa.Array) -> pa.Array:
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    if pa.types.is_fixed_size_binary(column.type.storage_type):
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
    return column.storage
