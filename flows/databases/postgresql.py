"""Connections to PostgreSQL by its ADBC driver, which exchanges Arrow tables. Needs the extra ``sql``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager, suppress
from threading import current_thread, main_thread
from typing import Any, TypeVar

import pyarrow as pa

from ..common.extras import need
from .address import DatabaseAddress
from .base import NO_QUERY, Connection
from .dialects import CONNECT_SECONDS, WAIT_SECONDS
from .errors import DatabaseError

T = TypeVar("T")
_POLL_SECONDS = 0.1  # from Ctrl-C until a statement is cancelled, at most
_SETTINGS = (
    "SET TIME ZONE 'UTC'",
    f"SET lock_timeout = '{WAIT_SECONDS}s'",
    "SET work_mem = '64MB'",  # a leaderboard of half a million players is joined in memory
)
# A transaction does not hold back all functions, such as lo_export and those of dblink. A superuser therefore reads as
# the role pg_read_all_data, with the schemas of the superuser, and with an error where a policy would hide rows.
_READ_ONLY = (
    "BEGIN READ ONLY",
    """DO $$ BEGIN
    IF current_setting('is_superuser') = 'on' AND EXISTS (SELECT FROM pg_roles WHERE rolname = 'pg_read_all_data') THEN
        PERFORM set_config('search_path', (SELECT coalesce(string_agg(quote_ident(name), ', '), '')
                                           FROM unnest(current_schemas(false)) AS name), true);
        SET LOCAL row_security = off;
        SET LOCAL ROLE pg_read_all_data;
    END IF;
END $$""",
)


class PostgresConnection(Connection):
    def __init__(self, address: DatabaseAddress, read_only: bool = False) -> None:
        super().__init__(address, read_only)
        need("adbc_driver_postgresql", "sql", "a database of PostgreSQL")
        dbapi = need("adbc_driver_postgresql.dbapi", "sql", "a database of PostgreSQL")
        with self._errors():
            self._connection = dbapi.connect(_bounded(address), autocommit=True)
        self._set(*_SETTINGS)

    def execute(self, sql: str) -> None:
        with self._errors(), closing(self._connection.cursor()) as cursor:
            _awaited(lambda: cursor.execute(sql), cursor.adbc_cancel)

    @contextmanager
    def read(self, sql: str) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        with ExitStack() as opened:
            if self._read_only:
                opened.enter_context(self._reading())
            with self._errors():
                cursor = opened.enter_context(closing(self._connection.cursor()))
                sql = f"{sql}\n"  # a comment may end the query, and the driver appends to it
                found = _awaited(lambda: cursor.adbc_execute_schema(sql), cursor.adbc_cancel)
                if not len(found):  # before it is executed: COPY and others are allowed in any transaction
                    raise DatabaseError(self.shown, NO_QUERY)
                _awaited(lambda: cursor.execute(sql), cursor.adbc_cancel)
                reader = cursor.fetch_record_batch()
            schema = pa.schema([pa.field(one.name, _plain_type(one.type)) for one in reader.schema])
            try:
                yield schema, self._plain(reader, schema, cursor.adbc_cancel)
            except BaseException:  # or all further rows would be read before the next statement
                with suppress(Exception):
                    cursor.adbc_cancel()
                raise

    def append(self, table: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema, namespace: str = "") -> int:
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        how: dict[str, Any] = {"temporary": True} if namespace == "temp" else {}
        if namespace and not how:
            how["db_schema_name"] = namespace
        with self._errors(), closing(self._connection.cursor()) as cursor:
            return int(_awaited(lambda: cursor.adbc_ingest(table, reader, mode="append", **how), cursor.adbc_cancel))

    def close(self) -> None:
        with self._errors():
            self._connection.close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """A transaction that may not write, and is undone in any case."""
        for statement in _READ_ONLY:
            self.execute(statement)
        try:
            yield
        finally:
            with suppress(DatabaseError):  # the connection may be lost
                self.execute("ROLLBACK")

    def _plain(
        self, reader: pa.RecordBatchReader, schema: pa.Schema, cancel: Callable[[], None]
    ) -> Iterator[pa.RecordBatch]:
        with self._errors():
            while (batch := _awaited(lambda: next(reader, None), cancel)) is not None:
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
            raise self._error(str(error), state, primary) from None


def _awaited(call: Callable[[], T], cancel: Callable[[], None]) -> T:
    """The result of a call that waits for the server, in a thread of its own, so that Ctrl-C cancels it at once.

    Polars, which the driver imports where it is installed, has a handler of Ctrl-C that ends no wait for a lock. No
    signal reaches other threads than the main one: they wait themselves, in a third of the time of a small statement.
    """
    if current_thread() is not main_thread():
        return call()
    with ThreadPoolExecutor(1, "ranklake-database") as threads:
        waiting = threads.submit(call)
        try:
            while not wait([waiting], _POLL_SECONDS).done:
                pass
        except BaseException:
            cancel()
            raise
        return waiting.result()


def _bounded(address: DatabaseAddress) -> str:
    """The address with a bound of the time to connect, unless it, the environment or a service file may have one."""
    named = address.parameters.keys() | os.environ.keys()
    if {"connect_timeout", "service", "PGCONNECT_TIMEOUT", "PGSERVICE"} & named:
        return address.url
    return f"{address.url}{'&' if '?' in address.url else '?'}connect_timeout={CONNECT_SECONDS}"


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of a column without an extension: ``numeric`` is text, ``uuid`` becomes text."""
    if not isinstance(kind, pa.BaseExtensionType):
        return kind
    return pa.string() if pa.types.is_fixed_size_binary(kind.storage_type) else kind.storage_type


def _plain_array(column: pa.Array) -> pa.Array:
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    if pa.types.is_fixed_size_binary(column.type.storage_type):
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
    return column.storage
