"""Private database servers on this machine, started without privileges; see tests/README.md."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Judge", "PostgresServer", "postgres", "postgres_judge", "publish_killed_at", "sqlite_judge"]

START_SECONDS = 60.0
ROWS_A_MOMENT = 10
_NUMBERS = count(1)


@dataclass
class PostgresServer:
    """A server of PostgreSQL that listens on loopback only; its superuser is ``ranklake``, without a password."""

    folder: Path
    programs: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return self.url_of("ranklake")

    def url_of(self, user: str, database: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it, or start it again after :meth:`stop`."""
        options = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "fsync": "off",
            "unix_socket_directories": self.folder,
        }
        command = [self.programs / "postgres", "-D", self.folder / "data"]
        command += [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, **unprivileged())
        deadline = time.monotonic() + START_SECONDS
        while subprocess.run([self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode:
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.05)

    def stop(self, how: int = signal.SIGINT) -> None:
        """Stop it and all its connections: at once as for a shutdown, or as in a crash by ``SIGQUIT``."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(START_SECONDS)
            self.process = None

    def sql(self, *statements: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Execute statements as the superuser; the rows of the last one."""
        import adbc_driver_postgresql.dbapi

        with (
            closing(adbc_driver_postgresql.dbapi.connect(self.url_of("ranklake", database), autocommit=True)) as opened,
            closing(opened.cursor()) as cursor,
        ):
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())


@contextmanager
def postgres(folder: Path | None = None) -> Iterator[PostgresServer]:
    """A new server in a folder of its own; the test is skipped without the programs of PostgreSQL."""
    programs = _programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL server: apt-get install postgresql")
    with tempfile.TemporaryDirectory(prefix="ranklake-pg-") as own:  # its path must be short, and open to the user
        place = Path(own) if folder is None else folder
        _give_away(place)
        server = PostgresServer(place, programs, _free_port())
        command = [programs / "initdb", "-D", place / "data", "-U", "ranklake", "--auth=trust", "--no-sync"]
        run([*command, "--encoding=UTF8", "--locale=C"], cwd=place)
        server.start()
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)


def run(command: Sequence[str | Path], **how: Any) -> None:
    """Run a program as an unprivileged user; its output is in the error."""
    done = subprocess.run(command, capture_output=True, text=True, **how, **unprivileged())
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def unprivileged() -> dict[str, Any]:
    """How to start a program as a user without privileges: servers refuse to run as root."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if _is_root() else {}


def _give_away(folder: Path) -> None:
    if _is_root():
        shutil.chown(folder, "nobody", "nogroup")


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _programs() -> Path | None:
    """The folder of the programs: Debian keeps each version in its own, and out of the path."""
    found = shutil.which("initdb")
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parents[1].name))
    paths = [*([Path(found)] if found else []), *versions]
    return paths[-1].resolve().parent if paths else None


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


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
def postgres_judge(server: PostgresServer) -> Iterator[Judge]:
    """A new database in a server."""
    name = f"judge{next(_NUMBERS)}"
    server.sql(f"create database {name}")
    url = server.url_of("ranklake", name)
    try:
        yield Judge(url, partial(server.sql, database=name))
    finally:
        server.sql(f"drop database {name} with (force)")


def publish_killed_at(moment: int, lake: str, url: str) -> None:
    """Publish a run in this process, which is killed at its moment number ``moment``, from 1.

    Each statement begins with a moment, and so do a few rows of a table that is appended; the last is after the commit.
    """
    from ranklake.flows.databases.adbc import AdbcConnection
    from ranklake.flows.publication.database import publish_to_database
    from ranklake.storage import Lake

    execute, append, left = AdbcConnection.execute, AdbcConnection.append, [moment]

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

    AdbcConnection.execute, AdbcConnection.append = watched_execute, watched_append  # type: ignore[method-assign]
    publish_to_database(Lake.open(lake), "run", url, steal=True)
