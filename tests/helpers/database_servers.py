"""Private database servers on this machine, started without privileges; see tests/README.md."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest
from helpers.timeouts import TIMEOUT

HOST, USER = "127.0.0.1", "ranklake"
Rows = list[tuple[Any, ...]]


class Server(Protocol):
    """A server that listens on loopback only; its administrator is ``ranklake``, without a password."""

    folder: Path

    def url_of(self, user: str, database: str = ...) -> str:
        """The address of a database."""

    def start(self) -> None:
        """Start it, or start it again after :meth:`stop`."""

    def stop(self, how: int = ...) -> None:
        """Stop it and all its connections: at once as for a shutdown, or as in a crash."""

    def sql(self, *statements: str, database: str = ...) -> Rows:
        """Execute statements as the administrator; the rows of the last one."""


@dataclass
class PostgresServer:
    """A server of PostgreSQL; see :class:`Server`. ``SIGQUIT`` is a crash."""

    folder: Path
    programs: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    fsync: str = "off"

    def url_of(self, user: str, database: str = "postgres") -> str:
        return f"postgresql://{user}@{HOST}:{self.port}/{database}"

    def start(self) -> None:
        options = {"port": self.port, "listen_addresses": HOST, "unix_socket_directories": self.folder}
        options["fsync"] = self.fsync
        command = [self.programs / "postgres", "-D", self.folder / "data"]
        command += [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        ready = [self.programs / "pg_isready", "-q", "-h", HOST, "-p", str(self.port)]
        self.process = _start(command, self.folder, lambda: subprocess.run(ready).returncode == 0)

    def stop(self, how: int = signal.SIGINT) -> None:
        _stop(self.process, how)
        self.process = None

    def sql(self, *statements: str, database: str = "postgres") -> Rows:
        import adbc_driver_postgresql.dbapi

        with (
            closing(adbc_driver_postgresql.dbapi.connect(self.url_of(USER, database), autocommit=True)) as opened,
            closing(opened.cursor()) as cursor,
        ):
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())


@dataclass
class MariaDbServer:
    """A server of MariaDB; see :class:`Server`. ``SIGKILL`` is a crash."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    options: list[str] = field(default_factory=list)

    def url_of(self, user: str, database: str = "mysql") -> str:
        return f"mysql://{user}@{HOST}:{self.port}/{database}"

    def start(self) -> None:
        command = [
            _mariadbd() or "mariadbd",
            "--no-defaults",
            f"--datadir={self.folder / 'data'}",
            f"--port={self.port}",
        ]
        command += [f"--bind-address={HOST}", f"--socket={self.folder / 'socket'}", f"--pid-file={self.folder / 'pid'}"]
        command += [f"--tmpdir={self.folder}", *_MARIADB, *self.options]
        self.process = _start(command, self.folder, self._answers)

    def stop(self, how: int = signal.SIGTERM) -> None:
        _stop(self.process, how)
        self.process = None

    def sql(self, *statements: str, database: str = "mysql") -> Rows:
        import pymysql

        how = {"host": HOST, "port": self.port, "user": USER, "charset": "utf8mb4"}
        with (
            closing(pymysql.connect(database=database, autocommit=True, **how)) as opened,  # type: ignore[arg-type]
            closing(opened.cursor()) as cursor,
        ):
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def _answers(self) -> bool:
        try:
            return bool(self.sql("select 1"))
        except Exception:
            return False


_MARIADB = ("--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M")
_MARIADB += ("--innodb-log-file-size=16M", "--innodb-flush-method=nosync")


@contextmanager
def postgres(folder: Path | None = None, fsync: str = "off") -> Iterator[PostgresServer]:
    """A new server in a folder of its own; the test is skipped without the programs of PostgreSQL."""
    programs = _postgres_programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL server: apt-get install postgresql")
    with _place(folder) as place:
        command = [programs / "initdb", "-D", place / "data", "-U", USER, "--auth=trust", "--no-sync"]
        _run([*command, "--encoding=UTF8", "--locale=C"], place)
        server = PostgresServer(place, programs, _free_port(), fsync=fsync)
        server.start()
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)


@contextmanager
def mariadb(folder: Path | None = None) -> Iterator[MariaDbServer]:
    """A new server in a folder of its own; the test is skipped without the programs of MariaDB."""
    if _mariadbd() is None or shutil.which("mariadb-install-db") is None:
        pytest.skip("there is no MariaDB server: apt-get install mariadb-server")
    with _place(folder) as place:
        administrator = f"{USER}@'%'"
        grants = f"create user if not exists {administrator};\ngrant all on *.* to {administrator} with grant option;\n"
        (place / "init.sql").write_text(grants)
        command = ["mariadb-install-db", "--no-defaults", f"--datadir={place / 'data'}", "--skip-test-db", *_MARIADB]
        _run([*command, "--auth-root-authentication-method=normal"], place)
        server = MariaDbServer(place, _free_port(), options=[f"--init-file={place / 'init.sql'}"])
        server.start()
        try:
            yield server
        finally:
            server.stop(signal.SIGKILL)


def _start(command: Sequence[str | Path], folder: Path, is_ready: Callable[[], bool]) -> subprocess.Popen[bytes]:
    """Start a server, and wait until it answers."""
    log = folder / "log"
    with log.open("ab") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output, **_unprivileged())
    deadline = time.monotonic() + TIMEOUT
    while not is_ready():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
    return process


def _stop(process: subprocess.Popen[bytes] | None, how: int) -> None:
    if process is not None:
        process.send_signal(how)
        process.wait(TIMEOUT)


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    """A folder for the data that belongs to the user of the server; its path must be short, and open to that user."""
    with tempfile.TemporaryDirectory(prefix="ranklake-db-") as own:
        place = Path(own) if folder is None else folder
        if _is_root():
            shutil.chown(place, "nobody", "nogroup")
        yield place


def _run(command: Sequence[str | Path], folder: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, **_unprivileged())
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def _unprivileged() -> dict[str, Any]:
    """How to start a program as a user without privileges: servers refuse to run as root."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if _is_root() else {}


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _postgres_programs() -> Path | None:
    """The folder of the programs: Debian keeps each version in its own, and out of the path."""
    found = shutil.which("initdb")
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parents[1].name))
    paths = [*([Path(found)] if found else []), *versions]
    return paths[-1].resolve().parent if paths else None


def _mariadbd() -> str | None:
    """The server, which Debian keeps out of the path of other users than root."""
    return shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as listener:
        return int(listener.getsockname()[1])
