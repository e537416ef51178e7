"""Databases of a judge in a file or a server, and publishes into them that are killed."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from .database_servers import USER, Server
from .mounts import small_disks

NO_SUCH_THREAD = 1094  # of MariaDB
ROWS_A_MOMENT = 7
_NUMBERS = count(1)


@dataclass
class Judge:
    """The database of a judge: its address, and a function that executes statements in it as its owner."""

    url: str
    sql: Callable[..., list[tuple[Any, ...]]]

    @property
    def kind(self) -> str:
        return self.url.partition(":")[0]


def sqlite_judge(folder: Path) -> Judge:
    """An empty SQLite file."""
    path = folder / "judge.db"

    def execute(*statements: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(path)) as opened:
            rows: list[tuple[Any, ...]] = []
            for statement in statements:
                rows = opened.execute(statement).fetchall()
            opened.commit()
            return rows

    execute("pragma user_version")
    path.touch()
    return Judge(f"sqlite:///{path}", execute)


@contextmanager
def server_judge(server: Server) -> Iterator[Judge]:
    """A new database in a server."""
    name = f"judge{next(_NUMBERS)}"
    server.sql(f"create database {name}")
    url = server.url_of(USER, name)
    try:
        yield Judge(url, partial(server.sql, database=name))
    finally:
        server.sql(f"drop database {name}{' with (force)' if url.startswith('postgresql') else ''}")


@contextmanager
def small_judge(server: Server) -> Iterator[tuple[Judge, Path]]:
    """A new database on a small disk of its own, and the folder of the disk; the log of the server has another disk."""
    is_postgres = server.url_of(USER).startswith("postgresql")
    place = server.folder / "small" if is_postgres else server.folder / "data" / "small"
    with small_disks(place) as mount:
        folder = mount("size=16m")
        shutil.chown(folder, server.folder.owner(), server.folder.group())
        if is_postgres:
            server.sql(f"create tablespace small location '{folder}'", "create database small tablespace small")
        judge = Judge(server.url_of(USER, "small"), partial(server.sql, database="small"))
        try:
            yield judge, folder
        finally:
            if is_postgres:
                server.sql("drop database small with (force)", "drop tablespace small")
            else:  # the folder itself is a mount and stays
                for (name,) in judge.sql("show tables"):
                    judge.sql(f"drop table {name}")


def fill(folder: Path) -> Path:
    """Fill a disk with a file, whose path is returned."""
    filler = folder / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    return filler


def login(judge: Judge, user: str) -> None:
    """Create a user of a server whose password is ``S3cret-word``."""
    word = "password" if judge.kind == "postgresql" else "identified by"
    judge.sql(f"drop user if exists {user}", f"create user {user} {word} 'S3cret-word'")


def end_connections(judge: Judge) -> None:
    """End all other connections to a database of a server."""
    if judge.kind == "postgresql":
        others = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        judge.sql(f"select pg_terminate_backend(pid) {others}")
        return
    others = "from information_schema.processlist where db = database() and id <> connection_id()"
    import pymysql

    for (number,) in judge.sql(f"select id {others}"):
        try:
            judge.sql(f"kill {number}")
        except pymysql.MySQLError as error:
            if error.args[0] != NO_SUCH_THREAD:  # a connection that was being closed
                raise


def publish_killed_at(moment: int, lake: str, url: str) -> None:
    """Publish a run in this process, which is killed at its moment number ``moment``, from 1.

    Each statement begins with a moment, and so do a few rows of a table that is appended; the last is after the commit.
    """
    from ranklake.flows.databases.connection import connect
    from ranklake.flows.publication.database import publish_to_database
    from ranklake.storage import Lake

    with closing(connect(url)) as connection:
        opened: Any = type(connection)
    execute, append, left = opened.execute, opened.append, [moment]

    def step() -> None:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    def divided(batches: Any) -> Iterator[Any]:
        for batch in batches:
            for start in range(0, len(batch), ROWS_A_MOMENT):
                step()
                yield batch.slice(start, ROWS_A_MOMENT)

    def watched_execute(self: Any, sql: str) -> None:
        step()
        execute(self, sql)
        if sql == "COMMIT":
            step()

    def watched_append(self: Any, table: str, batches: Any, *more: Any) -> int:
        return append(self, table, divided(batches), *more)

    opened.execute, opened.append = watched_execute, watched_append
    publish_to_database(Lake.open(lake), "run", url, steal=True)
