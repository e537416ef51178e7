"""A log in PostgreSQL: rows of the table ``ranklake_log``, each group one statement in one transaction.

An advisory lock, which ends with its connection, allows one writer. After a lost connection the next group connects
again. Where a commit has no answer, its outcome is looked up before anything else is written.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from threading import Event, Lock
from typing import Any
from urllib.parse import quote as encoded

import msgspec

from ranklake.storage.lake.errors import DamagedError, LeaseHeldError
from ranklake.storage.lake.layout import check_dataset_name
from ranklake.storage.leases.holder import author

from ...databases.address import DatabaseAddress
from ...databases.base import Connection
from ...databases.connection import connect
from ...databases.dialects import text
from ...databases.errors import DatabaseError
from .records import Entry, LogUnavailableError, Record, shortened

TABLE = "ranklake_log"
_CREATE = (
    f"create table {TABLE} (dataset text not null, sequence bigint not null, kind text not null, id text not null, "
    '"time" double precision, body json, received double precision not null, '
    "primary key (dataset, sequence))",
    f"create unique index {TABLE}_id on {TABLE} (dataset, id) where kind = 'match'",
)  # the type json keeps the text as it is; jsonb would write numbers and keys anew
_SETTINGS = (
    # remote_apply waits for more than on
    "select set_config('synchronous_commit', case current_setting('synchronous_commit') when 'remote_apply' "
    "then 'remote_apply' else 'on' end, false)",
    "set lock_timeout = '5s'",
    "set standard_conforming_strings = on",
)
# A connection that is cut off fails within seconds; libpq alone waits for a quarter of an hour.
_LOST = {
    "tcp_user_timeout": "10000",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "connect_timeout": "5",
}
_PAUSE, _LAST_PAUSE = 0.1, 5.0  # seconds between attempts to connect, at first and in the end
_WAIT_STEP = 0.2  # seconds between attempts to take the lock


class _Timed(msgspec.Struct):
    time: float | None = None


class DatabaseLog:
    """See :class:`ranklake.flows.live.log.records.Log`.

    ``url``: of a database of PostgreSQL; the user may create a table, or it exists.
    ``dataset``: the data set of the log; the table may hold the logs of several.
    ``wait_seconds``: how long to wait for another process to end.
    ``on_wait``: called once with the text that names it, when waiting begins.

    Raises LeaseHeldError: another process writes this log; names it.
    Raises DatabaseError: the database cannot be reached, or refuses the table.
    """

    def __init__(
        self, url: str, dataset: str, *, wait_seconds: float = 0.0, on_wait: Callable[[str], None] = lambda _: None
    ) -> None:
        self._address = _patient(DatabaseAddress.parse(url))
        if self._address.kind != "postgresql":
            raise ValueError(f"a log must be in PostgreSQL or in a folder, got {self._address.shown}")
        self._name = check_dataset_name(dataset)
        self._where = f"dataset = {text(dataset)}"
        self._begin = 0  # the number before the first record
        self._writer: Connection | None = None
        self._reader: Connection | None = None
        self._reading, self._writing, self._closed = Lock(), Lock(), Event()
        self._pause, self._again_at, self._available = 0.0, 0.0, True
        self._connect_first(wait_seconds, on_wait)
        self._last = self._stored_last()

    @property
    def last(self) -> int:
        return self._last

    @property
    def available(self) -> bool:
        return self._available

    def begin_after(self, sequence: int) -> None:
        if sequence <= self._last:
            return
        if self._last:
            raise shortened(f"{self._name} in {self._address.shown}", self._last, sequence)
        self._begin = self._last = sequence

    def append(self, entries: Sequence[Entry], received: float) -> int:
        with self._writing:
            return self._append(entries, received)

    def read(self, start: int = 1) -> Iterator[Record]:
        query = f"{self._selection()} and sequence between {start} and {self._last} order by sequence"
        with closing(connect(self._address, read_only=True)) as connection:
            for following, record in enumerate(_records(connection, query), start):
                if record.sequence != following:
                    raise self._gap(following)
                yield record

    def find(self, ids: Sequence[str]) -> list[Record | None]:
        if not ids:
            return []
        query = f"{self._selection()} and kind = 'match' and id in ({', '.join(map(text, ids))})"
        with self._reading:
            for attempt in range(2):
                try:
                    if self._reader is None:
                        self._reader = connect(self._address)
                    found = {record.id: record for record in _records(self._reader, query)}
                    break
                except DatabaseError as error:
                    _close(self._reader)
                    self._reader = None
                    if attempt:
                        raise LogUnavailableError(str(error), _LAST_PAUSE) from error
        return [found.get(name) for name in ids]

    def release(self, before: int) -> None:
        released = f"{self._where} and sequence < {before} and body is not null"
        with self._writing:
            try:
                self._connected().execute(f"update {TABLE} set body = null where {released}")
            except DatabaseError as error:
                self._drop()
                raise self._unavailable(error) from error

    def close(self) -> None:
        self._closed.set()
        with self._writing:
            self._drop()
        with self._reading:
            _close(self._reader)
            self._reader = None

    # The connection that writes

    def _append(self, entries: Sequence[Entry], received: float) -> int:
        first = self._last + 1
        connection = self._connected()
        try:
            connection.execute("BEGIN")
            connection.execute(self._insertion(first, entries, received))
        except DatabaseError as error:  # without a commit nothing stays
            self._drop()
            if error.state == "23505":  # no other process has the lock, and ids are looked up before
                raise DamagedError(f"{self._address.shown}: another program has written records: {error}") from error
            raise self._unavailable(error) from error
        try:
            connection.execute("COMMIT")
        except DatabaseError:
            self._drop()
            if not self._was_committed(first, entries):
                raise self._unavailable("the group was not committed") from None
        self._last = first + len(entries) - 1
        return first

    def _connect_first(self, wait_seconds: float, on_wait: Callable[[str], None]) -> None:
        deadline, waiting = time.monotonic() + wait_seconds, False
        while True:
            try:
                self._connect()
                return
            except LeaseHeldError as error:
                if time.monotonic() >= deadline:
                    raise
                if not waiting:
                    on_wait(error.holder)
                    waiting = True
            self._closed.wait(_WAIT_STEP)

    def _connect(self) -> None:
        """Connect, and take the lock.

        Raises LeaseHeldError, DatabaseError.
        """
        connection = connect(self._address)
        try:
            for statement in (*_SETTINGS, f"set application_name = {text(_this_process())}"):
                connection.execute(statement)
            encoding = _rows(connection, "select current_setting('server_encoding') as name")[0]["name"]
            if encoding != "UTF8":
                raise DatabaseError(self._address.shown, f"the encoding of the database must be UTF8, is {encoding}")
            key = f"hashtextextended({text(f'{TABLE} {self._name}')}, 0)"
            if not _rows(connection, f"select pg_try_advisory_lock({key}) as taken")[0]["taken"]:
                raise self._held(connection, key)
            if _rows(connection, f"select to_regclass('{TABLE}') is null as missing")[0]["missing"]:
                for statement in ("BEGIN", *_CREATE, "COMMIT"):
                    connection.execute(statement)
        except BaseException:
            _close(connection)
            raise
        self._writer = connection

    def _connected(self) -> Connection:
        """The connection that writes; a new one after a failure, unless the pause has not passed.

        Raises LogUnavailableError, and DamagedError: another process has written meanwhile.
        """
        if self._writer is None:
            if (left := self._again_at - time.monotonic()) > 0:
                raise LogUnavailableError(f"{self._address.shown}: the database is away", left)
            try:
                self._connect()
                last = self._stored_last()
            except (DatabaseError, LeaseHeldError) as error:
                self._drop()
                raise self._unavailable(error) from error
            if last != self._last:
                raise self._moved(last)
            self._pause = 0.0
        assert self._writer is not None
        return self._writer

    def _drop(self) -> None:
        _close(self._writer)
        self._writer = None

    def _was_committed(self, first: int, entries: Sequence[Entry]) -> bool:
        """Whether a group is stored whose commit had no answer; waits until the database can tell."""
        self._available = False
        try:
            while True:
                with suppress(DatabaseError, LeaseHeldError):  # the server may still have our old connection
                    self._connect()
                    last = self._stored_last()
                    if last == self._last:
                        return False
                    query = f"{self._selection()} and sequence >= {first} order by sequence"
                    stored = [Entry(record.kind, record.id, record.body) for record in _records(self._writer, query)]
                    if stored != [Entry(*entry) for entry in entries]:
                        raise self._moved(last)
                    return True
                self._drop()
                if self._closed.wait(self._next_pause()):
                    raise LogUnavailableError(
                        f"{self._address.shown}: the log was closed before the database told whether the last group is "
                        "stored; send it again",
                        _LAST_PAUSE,
                    )
        finally:
            self._available, self._pause = True, 0.0

    def _next_pause(self) -> float:
        self._pause = min(max(2 * self._pause, _PAUSE), _LAST_PAUSE)
        self._again_at = time.monotonic() + self._pause
        return self._pause

    # Statements

    def _selection(self) -> str:
        return f"select sequence, kind, id, received, body::text as body from {TABLE} where {self._where}"

    def _insertion(self, first: int, entries: Sequence[Entry], received: float) -> str:
        rows = (
            f"({text(self._name)}, {sequence}, {text(kind)}, {text(name)}, {_time_of(body)}, "
            f"{text(body.decode())}, {received!r})"
            for sequence, (kind, name, body) in enumerate(entries, first)
        )
        return f'insert into {TABLE} (dataset, sequence, kind, id, "time", body, received) values {", ".join(rows)}'

    def _stored_last(self) -> int:
        query = f"select coalesce(max(sequence), {self._begin}) as last from {TABLE} where {self._where}"
        assert self._writer is not None
        return int(_rows(self._writer, query)[0]["last"])

    # Errors

    def _held(self, connection: Connection, key: str) -> LeaseHeldError:
        query = (
            "select coalesce(application_name, '') as name, pid from pg_locks join pg_stat_activity using (pid) "
            f"where locktype = 'advisory' and granted and (classid::bigint << 32 | objid::bigint) = {key} limit 1"
        )
        holders = _rows(connection, query)
        holder = f"{holders[0]['name']}, connection {holders[0]['pid']}" if holders else "another process"
        return LeaseHeldError(
            f"{self._address.shown}: {holder} writes the log {self._name}; wait for it", holder=holder
        )

    def _moved(self, last: int) -> DamagedError:
        return DamagedError(
            f"{self._address.shown}: the log {self._name} ends with the record {last:,}, and this process has written "
            f"{self._last:,}: another process wrote it, or the database is an older copy; start again"
        )

    def _gap(self, sequence: int) -> DamagedError:
        return DamagedError(f"{self._address.shown}: the record {sequence:,} of the log {self._name} is missing")

    def _unavailable(self, error: object) -> LogUnavailableError:
        return LogUnavailableError(f"the log {self._name} cannot be written: {error}", self._next_pause())


def _patient(address: DatabaseAddress) -> DatabaseAddress:
    """The address with bounds of the time until a lost connection fails, unless it has its own."""
    more = [f"{name}={encoded(value)}" for name, value in _LOST.items() if name not in address.parameters]
    joined = "&" if address.parameters else "?"
    return replace(address, url=f"{address.url}{joined}{'&'.join(more)}" if more else address.url)


def _this_process() -> str:
    return f"ranklake rated, {author()}, process {os.getpid()}"[:63]  # PostgreSQL cuts longer names


def _time_of(body: bytes) -> str:
    with suppress(msgspec.MsgspecError):
        value = msgspec.json.decode(body, type=_Timed).time
        if value is not None:
            return repr(value)
    return "null"


def _rows(connection: Connection, query: str) -> list[dict[str, Any]]:
    with connection.read(query) as (_, batches):
        return [row for batch in batches for row in batch.to_pylist()]


def _records(connection: Connection | None, query: str) -> Iterator[Record]:
    assert connection is not None
    with connection.read(query) as (_, batches):
        for batch in batches:
            columns = (batch.column(name).to_pylist() for name in ("sequence", "kind", "id", "received", "body"))
            for sequence, kind, name, received, body in zip(*columns, strict=True):
                yield Record(sequence, kind, name, received, (body or "").encode())


def _close(connection: Connection | None) -> None:
    if connection is not None:
        with suppress(DatabaseError):
            connection.close()
