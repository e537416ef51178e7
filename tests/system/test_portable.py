"""All commands give the same lake, to the bit, if the system or its file system lacks a feature.

The feature is removed in the process of the tests: functions of the operating system, and operations of the file
system. The names of the files are checked by the rules of all disks.
"""

from __future__ import annotations

import errno
import getpass
import logging
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from helpers.commands import Command
from helpers.folders import write_folder
from helpers.lakes import synthetic
from helpers.life import what_counts
from msgspec.structs import replace

from ranklake.storage import Lake
from ranklake.storage.lake import layout
from ranklake.storage.lake.access import disk
from ranklake.storage.leases import processes
from ranklake.storage.leases.acquire import HEARTBEAT_SECONDS, hold_lease
from ranklake.storage.leases.holder import LeaseHolder
from ranklake.storage.leases.reserve import RESERVE

NOW = 1_700_000_000.0
CONTESTS = synthetic(24)
OUT = CONTESTS[9].handles[0].as_py()
Patch = pytest.MonkeyPatch


# Missing features


def nothing(patch: Patch) -> None:
    pass


def affinity(patch: Patch) -> None:
    patch.delattr(os, "sched_getaffinity", raising=False)


def links(*numbers: int) -> Callable[[Patch], None]:
    """Hard links: the file system refuses them, or Python has no function for them."""

    def take(patch: Patch) -> None:
        if not numbers:
            patch.delattr(os, "link")
            return

        def refuse(*_: object) -> None:
            raise OSError(numbers[0], os.strerror(numbers[0]))

        patch.setattr(os, "link", refuse)

    return take


def user_names(error: type[Exception]) -> Callable[[Patch], None]:
    """Names of users, and on Windows their numbers, too."""

    def take(patch: Patch) -> None:
        def fail() -> str:
            raise error("no such user")

        patch.setattr(getpass, "getuser", fail)
        if error is ImportError:  # Windows: the module pwd
            patch.delattr(os, "getuid", raising=False)

    return take


def proc(patch: Patch) -> None:
    patch.setattr(processes, "PROC", Path("/nowhere"))


def proc_and_psutil(patch: Patch) -> None:
    proc(patch)
    patch.setitem(sys.modules, "psutil", None)


def flushes(number: int) -> Callable[[Patch], None]:
    """Flushing folders: they can be opened, but not flushed."""

    def take(patch: Patch) -> None:
        sync = disk.sync

        def refuse(descriptor: int) -> None:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(number, os.strerror(number))
            sync(descriptor)

        patch.setattr(disk, "sync", refuse)

    return take


def opened_folders(patch: Patch) -> None:
    opened = os.open

    def refuse(path: Any, flags: int, *mode: Any, **more: Any) -> int:
        if not flags & os.O_CREAT and flags & os.O_RDWR == 0 and "dir_fd" not in more and os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, flags, *mode, **more)

    patch.setattr(os, "open", refuse)


def signals(patch: Patch) -> None:
    for name in dir(signal):
        kept = ("SIGINT", "SIGTERM", "SIGABRT", "SIGFPE", "SIGILL", "SIGSEGV", "SIGALRM")  # the last is for pytest
        if re.match("SIG[A-Z0-9]+$", name) and name not in kept:
            patch.delattr(signal, name)
    for name in ("pthread_kill", "pthread_sigmask", "sigwait", "alarm", "siginterrupt"):
        patch.delattr(signal, name, raising=False)


def windows(patch: Patch) -> None:
    """All features that Windows lacks; each file is in use by another program once, when it is replaced or removed."""
    for take in (affinity, links(), user_names(ImportError), proc, opened_folders, signals):
        take(patch)
    patch.setattr(disk, "WINDOWS", True)
    patch.setattr(processes, "WINDOWS", True)

    kill = os.kill

    def forbidden(pid: int, number: int) -> None:
        if "psutil" not in sys._getframe(1).f_code.co_filename:  # psutil has another implementation on Windows
            pytest.fail(f"os.kill({pid}, {number}) ends the process on Windows")
        kill(pid, number)

    patch.setattr(os, "kill", forbidden)
    rename, in_use = os.rename, Counter[str]()

    def rename_once(source: str, target: str) -> None:
        if os.path.exists(target):
            raise FileExistsError(errno.EEXIST, "Cannot create a file when that file already exists")
        rename(source, target)

    def sharing(act: Callable[..., None]) -> Callable[..., None]:
        def refuse_once(*paths: Any, **more: Any) -> None:
            in_use[str(paths[-1])] += 1
            if in_use[str(paths[-1])] == 1 and os.path.exists(paths[-1]):
                raise PermissionError(errno.EACCES, "The process cannot access the file")
            act(*paths, **more)

        return refuse_once

    patch.setattr(os, "rename", rename_once)
    patch.setattr(os, "replace", sharing(os.replace))
    patch.setattr(os, "remove", sharing(os.remove))


TAKEN: dict[str, Callable[[Patch], None]] = {
    "nothing": nothing,
    "affinity": affinity,
    "links-eperm": links(errno.EPERM),
    "links-enotsup": links(errno.ENOTSUP),
    "links-enosys": links(errno.ENOSYS),
    "os.link": links(),
    "user-names": user_names(KeyError),
    "users": user_names(ImportError),
    "proc": proc,
    "proc-and-psutil": proc_and_psutil,
    "folder-flushes": flushes(errno.EINVAL),
    "open-folders": opened_folders,
    "signals": signals,
    "windows": windows,
}
LOGGED = {  # missing features by the text that is logged once
    "links": ("links-eperm", "links-enotsup", "links-enosys", "os.link"),
    "folders": ("folder-flushes", "open-folders", "windows"),
}


# The commands


def live(invoke: Command, folder: Path) -> dict[str, Any]:
    """Run every kind of writing command; returns the content of the lake at the end."""
    for name, contests in (("first", CONTESTS[:16]), ("second", CONTESTS)):
        write_folder(folder / name, contests)
    lake = folder / "lake"
    run = ("--run", "run", "--lake", lake)
    rate = ("rate", "--dataset", "games", "--system", "elo", *run)

    def done(*arguments: object) -> str:
        result = invoke(*arguments)
        assert result.code == 0, result.err
        return result.out

    done("ingest", "files", folder / "first", "--dataset", "games", "--lake", lake)
    done(*rate)
    done("ingest", "files", folder / "second", "--dataset", "games", "--lake", lake)
    done(*rate)
    assert "kept 24 rounds" in done(*rate)
    done("amend", "9", "--remove", OUT, "--dataset", "games", "--lake", lake)
    refused_while_another_writes(invoke, lake, rate)
    with ended_holder(lake):
        began = time.monotonic()
        done(*rate)
        assert time.monotonic() - began < 3 * HEARTBEAT_SECONDS  # the wait for heartbeats
    done("publish", *run)
    done("compact", "--rows", 150, "--lake", lake)
    assert "no problems" in done("verify", "--lake", lake)
    found: dict[str, Any] = what_counts(lake)
    found |= {form: done("leaderboard", *run, "--all", "--format", form) for form in ("csv", "json")}
    paths = [str(path.relative_to(lake)) for path in sorted(lake.rglob("*"))]
    done("delete", "--dataset", "games", "--with-runs", "--with-published", "--yes", "--lake", lake)
    left = [path for path in lake.rglob("*") if path.is_file() and path.parent.name != RESERVE]
    assert all(path.name.startswith("lease-") for path in left), left
    return found | {"paths": paths}


def refused_while_another_writes(invoke: Command, lake: Path, command: tuple[object, ...]) -> None:
    with hold_lease(Lake.open(lake), "runs/run", "somebody else"):
        assert "somebody else" in invoke.refuses(*command)


@contextmanager
def ended_holder(lake: Path) -> Iterator[None]:
    """The lease of a process that ended after it took it."""
    opened = Lake.open(lake)
    with subprocess.Popen([sys.executable, "-Ic", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as process:
        own = LeaseHolder.this_process("rate run", time.time())
        holder = replace(own, pid=process.pid, started=processes.started(process.pid), token="other")
        assert holder.alive or not holder.started  # without a start time the state is unknown
        assert not holder.died
    assert holder.died
    numbers = [layout.number_of(name[6:], ".json") for name in opened.list("runs/run") if name.startswith("lease-")]
    number = max(number for number in numbers if number is not None) + 1
    assert opened.create_bytes(f"runs/run/lease-{number:06d}.json", msgspec.json.encode(holder))
    yield
    assert opened.exists(f"runs/run/lease-{number + 1:06d}.json")


@pytest.fixture
def same_time(monkeypatch: Patch) -> None:
    """The log of corrections, which is compared, contains the user and the time."""
    monkeypatch.setattr("ranklake.storage.datasets.tables.log.time", SimpleNamespace(time=lambda: NOW))
    monkeypatch.setattr("ranklake.storage.datasets.tables.log.author", lambda: "somebody@somewhere")


@pytest.fixture(scope="module")
def ordinary() -> dict[str, Any]:
    """The content of the lake with all features, for comparison: that test runs first."""
    return {}


@pytest.mark.quick("windows")
@pytest.mark.usefixtures("same_time")
@pytest.mark.parametrize("taken", list(TAKEN))
def test_life__is_the_same_to_the_bit(
    taken: str,
    ordinary: dict[str, Any],
    invoke: Command,
    monkeypatch: Patch,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if not ordinary:
        ordinary |= live(invoke, tmp_path_factory.mktemp("ordinary"))
    caplog.clear()
    TAKEN[taken](monkeypatch)
    found = live(invoke, tmp_path)
    assert {name for name in ordinary if found[name] != ordinary[name]} <= {"paths"}
    messages = [record.getMessage() for record in caplog.records if record.name == "ranklake.lake"]
    lacks = {"folders"} if os.name == "nt" else {key for key, names in LOGGED.items() if taken in names}
    wanted = [disk._TEXTS[key] for key in LOGGED if key in lacks]
    assert [line for line in messages if str(tmp_path) in line] == [f"lake {tmp_path}/lake: {text}" for text in wanted]


@pytest.mark.slow
@pytest.mark.usefixtures("same_time")
def test_life__leaves_names_that_every_disk_can_have(invoke: Command, tmp_path: Path) -> None:
    paths = live(invoke, tmp_path)["paths"]
    assert len(paths) > 30
    assert len({path.lower() for path in paths}) == len(paths)
    for part in {part for path in paths for part in path.split("/")}:
        assert not re.search(r'[<>:"|?*\\\x00-\x1f]|[. ]$', part)
        assert not re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", part, re.IGNORECASE)
    assert max(map(len, paths)) < 150


# Names


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("con", "device on Windows"),
        ("NUL", "device on Windows"),
        ("Com1.games", "device on Windows"),
        ("games.", "end with '.'"),
    ],
)
def test_names__that_windows_cannot_have_are_refused_for_new_folders(
    invoke: Command, tmp_path: Path, name: str, rule: str
) -> None:
    write_folder(tmp_path / "files", CONTESTS[:2])
    lake = ("--lake", tmp_path / "lake")
    message = invoke.refuses("ingest", "files", tmp_path / "files", "--dataset", name, *lake, code=2)
    assert rule in message
    assert repr(name) in message
    assert not (tmp_path / "lake" / name).exists()
    assert invoke("ingest", "files", tmp_path / "files", "--dataset", "games", *lake).code == 0
    assert rule in invoke.refuses("rate", "--dataset", "games", "--system", "elo", "--run", name, *lake, code=2)
    assert not (tmp_path / "lake" / "runs" / name).exists()


def test_names__that_differ_only_in_case_are_refused_for_new_folders(invoke: Command, tmp_path: Path) -> None:
    write_folder(tmp_path / "files", CONTESTS[:2])
    lake = ("--lake", tmp_path / "lake")
    ingest = ("ingest", "files", tmp_path / "files", *lake, "--dataset")
    assert invoke(*ingest, "Games").code == 0
    message = invoke.refuses(*ingest, "games", code=2)
    assert message.startswith("the name of a new data set must differ from 'Games' in more than upper and lower case")
    assert invoke(*ingest, "Games").code == 0
    rate = ("rate", "--dataset", "Games", "--system", "elo", *lake, "--run")
    assert invoke(*rate, "run").code == 0
    assert "use 'run' or another name" in invoke.refuses(*rate, "RUN", code=2)
    assert sorted(path.name for path in (tmp_path / "lake").iterdir()) == [RESERVE, "Games", "runs"]


def test_names__of_lakes_made_before_stay_usable(invoke: Command, tmp_path: Path) -> None:
    write_folder(tmp_path / "files", CONTESTS[:2])
    lake = tmp_path / "lake"
    for run in ("run", "RUN", "nul"):  # as release 0.1 made them
        (lake / "runs" / run).mkdir(parents=True)
    (lake / "aux").mkdir()
    assert invoke("ingest", "files", tmp_path / "files", "--dataset", "aux", "--lake", lake).code == 0
    for run in ("run", "RUN", "nul"):
        result = invoke("rate", "--dataset", "aux", "--system", "elo", "--run", run, "--lake", lake)
        assert result.code == 0, result.err
        assert invoke("leaderboard", "--run", run, "--lake", lake).code == 0
    assert invoke("verify", "--lake", lake).code == 0


# Output


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-16"])
def test_output__to_a_pipe_is_utf8_in_any_locale(encoding: str, tmp_path: Path) -> None:
    import io

    from ranklake.flows.cli.terminal.output import write_utf8

    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="\r\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONIOENCODING", raising=False)
        patch.setattr(sys, "stdout", stream)
        write_utf8()
        print("Жанна 東 é")
        stream.flush()
    assert raw.getvalue() == "Жанна 東 é\n".encode()


@pytest.fixture(autouse=True)
def no_warning_was_given_before(monkeypatch: Patch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(disk, "_LOGGED", set())
    caplog.set_level(logging.WARNING)
