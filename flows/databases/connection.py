"""Connections by their address, and transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .address import DatabaseAddress
from .base import Connection
from .errors import DatabaseError


def connect(url: str | DatabaseAddress, *, read_only: bool = False) -> Connection:
    """Open a connection.

    A password is taken from ``PGPASSWORD`` or ``~/.pgpass``, as by every program of PostgreSQL; for MariaDB from
    ``MYSQL_PWD`` or ``~/.my.cnf``. With ``read_only`` the database refuses all statements that write. Raises
    ``ValueError`` for an invalid address, ``MissingExtraError`` without the driver, and ``DatabaseError`` if the
    database cannot be reached, or refuses the user.
    """
    address = DatabaseAddress.parse(url) if isinstance(url, str) else url
    if address.kind == "mariadb":
        from .mariadb import MariaDbConnection

        return MariaDbConnection(address, read_only)
    if address.kind == "sqlite":
        from .sqlite import SqliteConnection

        return SqliteConnection(address, read_only)
    from .postgresql import PostgresConnection

    return PostgresConnection(address, read_only)


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
