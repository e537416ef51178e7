"""What reading and publishing need of a database: statements, tables as batches, and transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Protocol

import pyarrow as pa

from .address import DatabaseAddress, Kind
from .errors import DatabaseError

__all__ = ["Connection", "connect", "transaction"]


class Connection(Protocol):
    """An open connection. Every method raises :class:`ranklake.flows.databases.errors.DatabaseError`."""

    @property
    def kind(self) -> Kind:
        """The kind of the database."""

    @property
    def shown(self) -> str:
        """The address for messages."""

    def execute(self, sql: str) -> None:
        """Execute one statement; its rows are dropped."""

    def read(self, sql: str) -> AbstractContextManager[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        """The columns of a query and its rows in batches, which must be read inside the ``with`` block."""

    def append(self, table: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema, namespace: str = "") -> int:
        """Append rows to an existing table, in a ``namespace`` if given; ``temp`` is that of temporary tables.

        Returns the number of rows.
        """

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""


def connect(url: str | DatabaseAddress, *, read_only: bool = False) -> Connection:
    """Open a connection.

    Parameters
    ----------
    url
        ``postgresql://USER@HOST/DATABASE``, ``mariadb://USER@HOST/DATABASE`` or ``sqlite:///FILE``. A password is taken
        from ``PGPASSWORD`` or ``~/.pgpass``, as by every program of PostgreSQL; for MariaDB from ``MYSQL_PWD`` or
        ``~/.my.cnf``.
    read_only
        The database refuses all statements that write.

    Raises
    ------
    ValueError
        The address is invalid.
    MissingExtraError
        The driver is not installed.
    DatabaseError
        The database cannot be reached, or refuses the user.
    """
    address = DatabaseAddress.parse(url) if isinstance(url, str) else url
    if address.kind == "mariadb":
        from .mariadb import MariaDbConnection

        return MariaDbConnection(address, read_only)
    from .adbc import AdbcConnection

    return AdbcConnection(address, read_only)


@contextmanager
def transaction(connection: Connection, begin: str = "BEGIN") -> Iterator[None]:
    """One transaction: committed at the end of the block, rolled back by any error."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(DatabaseError):  # the connection may be lost, and the transaction with it
            connection.execute("ROLLBACK")
        raise
