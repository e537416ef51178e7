"""Fixtures that several folders share."""

from __future__ import annotations

import gc
import math
import os
import re
import signal
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from helpers import strategies
from helpers.browser import chromium
from helpers.command_server import CommandServer, open_command_server
from helpers.commands import Command
from helpers.database_servers import Server, mariadb, postgres
from helpers.databases import Judge, server_judge, sqlite_judge
from helpers.life import SETTINGS, Step, live
from helpers.mounts import SmallDisk, small_disks
from hypothesis import settings
from platforms import reason_to_skip

from ranklake.flows.common import progress
from ranklake.flows.compilation.compile import compile_parts
from ranklake.flows.engines.protocols import Engine
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.warm import CHANCES, PARTS, SCORES, SMOOTHING
from ranklake.storage import Lake

ENGINES = {
    "serial": Serial,
    "one-thread": lambda: Threads(1),
    "two-threads": lambda: Threads(2),
    "three-threads": lambda: Threads(3),
}

# What starts the tests in the background may ignore Ctrl-C, and so would every process they start: some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples each time. Tests that are declared later take their settings from these.
settings.register_profile("fixed", derandomize=True)
settings.load_profile("fixed")

# Without compiled modules, each of the many processes that tests start compiles all modules that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


_MARKS_OF_A_MODULE = re.compile(r"^pytestmark = (?:\[$.*?^\]|.*?$)", re.MULTILINE | re.DOTALL)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no module of slow tests where none of them runs: they load Prefect, browsers and object stores."""
    if config.option.markexpr != "not slow" or not collection_path.name.startswith("test_"):
        return None
    marks = _MARKS_OF_A_MODULE.search(collection_path.read_text("utf-8"))
    return True if marks is not None and "mark.slow" in marks[0] else None


def pytest_configure(config: pytest.Config) -> None:
    """Try a tenth of the examples of each property where no slow test runs: a run of slow tests tries all."""
    if config.option.markexpr == "not slow":
        strategies.divisor = 10
        settings.register_profile("fixed", derandomize=True, max_examples=10)
        settings.load_profile("fixed")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile all kernels once before several processes run the tests: each would compile what it meets first."""
    if getattr(session.config.option, "numprocesses", None):
        compile_parts([*(f"{system}.{part}" for system in SYSTEMS for part in PARTS), SCORES, SMOOTHING, CHANCES])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without the garbage collector, and never look at these objects again: each look takes 0.3 s."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before the slow cases are deselected
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow cases of grids, and in a run of slow tests the properties; skip what Windows cannot run."""
    for item in items:
        patterns, function = item.get_closest_marker("quick"), getattr(item, "obj", None)
        case = item.name.partition("[")[2].removesuffix("]")
        in_full = item.config.option.markexpr == "slow" and getattr(function, "is_hypothesis_test", False)
        if in_full or (patterns is not None and not any(fnmatchcase(case, pattern) for pattern in patterns.args)):
            item.add_marker(pytest.mark.slow)
    # the files with the longest tests start first: none of them is left for one process at the end
    items.sort(key=lambda item: not {"system", "experiments"} & set(item.path.parts))
    for item in items if os.name == "nt" else ():
        file = item.path.relative_to(Path(__file__).parent).as_posix()
        if reason := reason_to_skip(f"{file}::{item.name}"):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", autouse=True)
def _no_flush_to_the_disk() -> Iterator[None]:
    """Writes of this process do not wait for the disk: no test cuts the power. Processes that tests start do wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: os.fstat(descriptor) and None)  # a wrong descriptor is an error
        yield


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Every engine of one machine in turn."""
    with ENGINES[request.param]() as opened:
        yield opened


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """An empty lake on a disk."""
    return Lake.open(tmp_path / "lake", create=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Mounts a file system in memory with some options, as ``size=1m`` or ``nr_inodes=99``, and gives its folder."""
    with small_disks(tmp_path / "disk") as mount:
        yield mount


@pytest.fixture(scope="session")
def command_server() -> Iterator[CommandServer]:
    """Runs commands that tests stop, refuse or suspend."""
    with open_command_server(SETTINGS) as made:
        yield made


@pytest.fixture(scope="session")
def steps(command_server: CommandServer, tmp_path_factory: pytest.TempPathFactory) -> list[Step]:
    """The states of a lake after each command of its life, undisturbed."""
    return live(command_server, tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command in this process, whatever the environment and the speed of the tests: without progress."""
    for name in ("FORCE_COLOR", "COLUMNS", "RANKLAKE_CONTACT", "RANKLAKE_LAKE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(progress, "FIRST_SECONDS", math.inf)
    return Command(monkeypatch, capsys)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, see :mod:`helpers.browser`."""
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A server of PostgreSQL."""
    with postgres() as started:
        yield started


@pytest.fixture(scope="session")
def mysql() -> Iterator[Server]:
    """A server of MariaDB."""
    with mariadb() as started:
        yield started


SERVERS = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("postgresql", "mysql")]


@pytest.fixture(params=SERVERS)
def server_database(request: pytest.FixtureRequest) -> Iterator[Judge]:
    """An empty database in each server in turn."""
    with server_judge(request.getfixturevalue(request.param)) as opened:
        yield opened


@pytest.fixture(params=["sqlite", *SERVERS])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Judge]:
    """An empty database of each kind in turn."""
    if request.param == "sqlite":
        yield sqlite_judge(tmp_path)
        return
    with server_judge(request.getfixturevalue(request.param)) as opened:
        yield opened
