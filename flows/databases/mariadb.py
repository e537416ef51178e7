"""Connections to MariaDB and MySQL by PyMySQL, whose rows become Arrow columns. Needs the extra ``sql``.

The server sends every value as text. Arrow parses the texts of a column, which is faster than Python objects and exact.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from configparser import Error as FileError
from contextlib import closing, contextmanager
from typing import Any

import pyarrow as pa

from ..common.extras import need
from .address import DatabaseAddress
from .dialects import CONNECT_SECONDS, WAIT_SECONDS
from .row_batches import RowConnection

PASSWORD, FILE = "MYSQL_PWD", "~/.my.cnf"
_PARAMETERS = ("unix_socket", "ssl_ca", "ssl_cert", "ssl_key", "ssl_verify_identity")
_SETTINGS = (
    "set session time_zone = '+00:00'",
    f"set session lock_wait_timeout = {WAIT_SECONDS}",
    f"set session innodb_lock_wait_timeout = {WAIT_SECONDS}",
)
_WRITING = "set session sql_mode = 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,NO_ENGINE_SUBSTITUTION'"
_READ_ONLY = "set session transaction read only"
_CHECK = "select 1 from dual where 1 = 0 and exists (\n{}\n)"  # only a query that does not write can stand there
_STATES = {  # SQLSTATE by number, where the server has a general one or the driver none
    **dict.fromkeys((1053, 1927, 2006, 2013, 2055), "08S01"),
    **dict.fromkeys((1044, 1142, 1143, 1227, 1370), "42501"),
    **dict.fromkeys((1021, 1026, 1114), "53100"),
    1205: "55P03",
    1213: "40001",
    1045: "28000",
    1064: "42601",
    **dict.fromkeys((1290, 1792, 1836), "25006"),
}


class MariaDbConnection(RowConnection):
    _mark = "%s"

    def __init__(self, address: DatabaseAddress, read_only: bool = False) -> None:
        super().__init__(address, read_only)
        self._driver = driver = need("pymysql", "sql", "a database of MariaDB or MySQL")
        if unknown := [name for name in address.parameters if name not in _PARAMETERS]:
            known = ", ".join(_PARAMETERS)
            raise ValueError(f"the address of the database has the unknown parameter {unknown[0]}; known are {known}")
        parameters: dict[str, Any] = dict(address.parameters)
        if "ssl_ca" in parameters:  # the driver alone would encrypt, and trust every server
            parameters["ssl_verify_cert"] = True
        settings = os.path.expanduser(FILE)
        with self._errors():
            password = address.password or os.environ.get(PASSWORD) or self._stored_password(settings)
            self._secrets = (*self._secrets, password)
            self._connection = driver.connect(
                host=address.host or None,
                port=address.port or 0,
                user=address.user or None,
                password=password.encode(),
                database=address.path or None,
                charset="utf8mb4",
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                read_default_file=settings if os.path.isfile(settings) else None,
                conv={kind: write for kind, write in driver.converters.conversions.items() if isinstance(kind, type)},
                **parameters,
            )
        self._set(*_SETTINGS, _READ_ONLY if read_only else _WRITING)

    def execute(self, sql: str) -> None:
        with self._errors(), closing(self._connection.cursor()) as cursor:
            cursor.execute(sql)

    @contextmanager
    def read(self, sql: str) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        if self._read_only:
            self.execute(_CHECK.format(sql))
        cursor = self._connection.cursor(self._driver.cursors.SSCursor)
        try:
            with self._errors():
                cursor.execute(sql)
            yield self._batches(cursor)
            with self._errors():
                cursor.close()
        except BaseException:
            self._abandon(cursor)
            raise

    def append(self, table: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema, namespace: str = "") -> int:
        return super().append(table, batches, schema, "" if namespace == "temp" else namespace)

    def _named(self, name: str) -> str:
        return super()._named(name).replace("%", "%%")  # the driver formats the statement

    def close(self) -> None:
        with self._errors():
            if self._connection.open:
                self._connection.close()

    def _abandon(self, cursor: Any) -> None:
        """Close the connection at once; closing the cursor, also by its destructor, would read all further rows."""
        if cursor._result is not None:
            cursor._result.unbuffered_active = False
        cursor.connection = None
        self.close()

    def _stored_password(self, settings: str) -> str:
        """The password of the file, or nothing; the driver would read it as Latin-1."""
        parser = self._driver.optionfile.Parser()
        parser.read(settings, "utf-8")
        return str(parser.get("client", "password")) if parser.has_option("client", "password") else ""

    def _type(self, code: int, values: Sequence[str | bytes | None]) -> pa.DataType:
        kinds = self._driver.constants.FIELD_TYPE
        if code in (kinds.TINY, kinds.SHORT, kinds.LONG, kinds.LONGLONG, kinds.INT24, kinds.YEAR):
            return pa.int64()
        if code in (kinds.FLOAT, kinds.DOUBLE):
            return pa.float64()
        if code in (kinds.TIMESTAMP, kinds.DATETIME):
            return pa.timestamp("us")
        if code in (kinds.DATE, kinds.NEWDATE):
            return pa.date32()
        if code == kinds.NULL:
            return pa.null()
        return pa.binary() if any(isinstance(value, bytes) for value in values) else pa.string()

    def _column(self, values: Sequence[Any], name: str, code: Any) -> pa.Array:
        kind = self._type(code, values)
        try:
            return pa.array(values, kind if pa.types.is_binary(kind) else pa.string()).cast(kind)
        except pa.ArrowException as error:
            raise self._error(f"the column {name} of the query: {error}; cast it in the query") from None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._driver.MySQLError as error:
            number, *texts = error.args or (-1,)
            text = " ".join(map(str, texts)) or str(number)
            state = _STATES.get(number) or getattr(error, "sqlstate", None) or ""
            raise self._error(text, state, **{"28": f"give the password by {PASSWORD} or {FILE}"}) from None
        except (OSError, FileError) as error:
            raise self._error(str(error)) from None
