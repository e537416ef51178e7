"""The interface of a connection, whatever its driver, and what all have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager

import pyarrow as pa

from .address import DatabaseAddress
from .errors import UNWRITABLE, DatabaseError, database_error

NO_QUERY = "the statement is not a query: it returns no rows; the query must not write"


class Connection(ABC):
    """An open connection. Every method raises :class:`ranklake.flows.databases.errors.DatabaseError`.

    Without a transaction each statement commits.
    """

    def __init__(self, address: DatabaseAddress, read_only: bool) -> None:
        self.kind, self.shown, self._read_only = address.kind, address.shown, read_only
        self._secrets = address.secrets

    @abstractmethod
    def execute(self, sql: str) -> None:
        """Execute one statement; its rows are dropped."""

    @abstractmethod
    def read(self, sql: str) -> AbstractContextManager[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        """The columns of a query and its rows in batches, which must be read inside the ``with`` block.

        A batch takes some megabytes, or one row. A column without declared types may have other types in later batches:
        see :func:`ranklake.flows.databases.row_batches.united`. With ``read_only`` the statement must be a query. If
        the block ends early, the connection may be closed.
        """

    @abstractmethod
    def append(self, table: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema, namespace: str = "") -> int:
        """Append rows to an existing table, in a ``namespace`` if given (``temp``: temporary tables); their number."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""

    def _set(self, *settings: str) -> None:
        """Execute the statements with which a connection begins; it is closed if one fails."""
        try:
            for setting in settings:
                self.execute(setting)
        except BaseException:
            self.close()
            raise

    def _error(self, text: str, state: str = "", primary: str = "", **remedies: str) -> DatabaseError:
        """An error of the driver: its text, the SQLSTATE, the message of the server alone; remedies by state."""
        known = remedies if self._read_only else UNWRITABLE | remedies
        return database_error(self.shown, self._secrets, text, state, primary, known)
