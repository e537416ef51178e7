"""File systems that lack a feature: the replacement, its guarantees, and the log."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from fsspec.implementations.local import LocalFileSystem
from helpers.repeats import repeat_changes
from msgspec.structs import replace

from ranklake.storage import Lake, LakeError
from ranklake.storage.lake.access import disk
from ranklake.storage.lake.access.space import free_space
from ranklake.storage.lake.errors import LeaseHeldError, MissingError
from ranklake.storage.leases import processes
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.holder import LeaseHolder, encode_lease, lease_holder

BEAT = 0.02
FOLDER = "runs/run"


def refused(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def refuse(patch: pytest.MonkeyPatch, target: object, name: str, number: int) -> list[int]:
    """Make a function fail with an error of the file system; returns a list that grows with each call."""
    calls: list[int] = []

    def fail(*_: object) -> None:
        calls.append(number)
        raise refused(number)

    patch.setattr(target, name, fail)
    return calls


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, os, "link", errno.EPERM)


# Created only once


@pytest.mark.usefixtures("no_links")
def test_create__without_links_one_of_many_succeeds_and_readers_see_an_empty_or_complete_file(lake: Lake) -> None:
    ended, seen = threading.Event(), set[bytes]()

    def read() -> None:
        while not ended.is_set():
            for name in lake.list("f"):
                if name.endswith(".json"):
                    seen.add(lake.read_bytes(f"f/{name}"))

    def create(writer: int) -> list[int]:
        return [n for n in range(30) if lake.create_bytes(f"f/{n}.json", b"%d " % writer * 2000)]

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with ThreadPoolExecutor(6) as pool:
            made = list(pool.map(create, range(6)))
    finally:
        ended.set()
        reader.join()
    assert sorted(itertools.chain(*made)) == list(range(30))
    assert seen <= {b"", *(b"%d " % writer * 2000 for writer in range(6))}
    assert lake.list("f") == sorted(f"{n}.json" for n in range(30))
    for writer, numbers in enumerate(made):
        assert {lake.read_bytes(f"f/{n}.json") for n in numbers} <= {b"%d " % writer * 2000}


@pytest.mark.usefixtures("no_links")
def test_create__without_links_that_fails_leaves_nothing_behind(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.write_bytes("f/a", b"")
    with monkeypatch.context() as patch:
        refuse(patch, os, "replace", errno.ENOSPC)
        with pytest.raises(LakeError, match="cannot create: No space left on device"):
            lake.create_bytes("f/b", b"1")
    assert lake.list("f") == ["a"]
    assert lake.create_bytes("f/b", b"1")


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EACCES])
def test_create__other_errors_of_a_link_are_errors(lake: Lake, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    refuse(monkeypatch, os, "link", number)
    with pytest.raises(LakeError, match="f/a: cannot create"):
        lake.create_bytes("f/a", b"1")
    assert lake.list("f") == []
    assert lake.hard_links


def test_create__on_windows_without_links_is_a_rename_that_never_replaces(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, no_links: None
) -> None:
    rename, sizes = os.rename, []

    def windows(source: str, target: str) -> None:
        if os.path.exists(target):
            raise FileExistsError(errno.EEXIST, "Cannot create a file when that file already exists")
        sizes.append(os.path.getsize(source))
        rename(source, target)

    monkeypatch.setattr(disk, "WINDOWS", True)
    monkeypatch.setattr(os, "rename", windows)
    assert lake.create_bytes("f/a", b"one")
    assert not lake.create_bytes("f/a", b"two")
    assert (lake.read_bytes("f/a"), lake.list("f"), sizes) == (b"one", ["a"], [3])


# Half-made leases


def half_made(lake: Lake, number: int) -> None:
    lake.write_bytes(f"{FOLDER}/lease-{number:06d}.json", b"")


def test_hold__an_empty_lease_of_a_killed_process_expires(lake: Lake) -> None:
    half_made(lake, 0)
    began = time.monotonic()
    with hold_lease(lake, FOLDER, "rate", heartbeat_seconds=BEAT) as lease:
        assert time.monotonic() - began >= 3 * BEAT
        lease.check()
        assert lake.list(FOLDER) == ["lease-000001.json", "writing-000001"]


def test_hold__an_empty_lease_that_gets_its_content_is_held(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease of a writer that is about to take it is not taken over."""
    half_made(lake, 0)
    local = LeaseHolder.this_process("rate", time.time())
    remote = replace(local, machine="elsewhere")
    calls = itertools.count()
    read = Lake.read_bytes

    def late(self: Lake, path: str) -> bytes:
        if path.endswith("lease-000000.json") and next(calls) == 2:
            lake.write_bytes(path, encode_lease(remote))
        return read(self, path)

    monkeypatch.setattr(Lake, "read_bytes", late)
    with (
        pytest.raises(LeaseHeldError, match=r"\(rate, process"),
        hold_lease(lake, FOLDER, "compact", heartbeat_seconds=0.2),
    ):
        pass


def test_hold__a_writer_that_loses_its_lease_while_the_file_is_empty_stops(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, no_links: None
) -> None:
    """The writer was suspended between the empty file and its content until another one took the lease."""
    move, others = os.replace, []

    def slow(source: str, target: str) -> None:
        if target.endswith("lease-000000.json") and not others:
            others.append(hold_lease(lake, FOLDER, "faster", steal=True, heartbeat_seconds=60.0))
            others[0].__enter__()
        move(source, target)

    monkeypatch.setattr(os, "replace", slow)
    try:
        with pytest.raises(LeaseHeldError, match="faster"), hold_lease(lake, FOLDER, "slow", heartbeat_seconds=BEAT):
            pass
        assert lease_holder(lake, FOLDER) is not None
        assert lake.list(FOLDER) == ["lease-000001.json", "writing-000001"]
    finally:
        others[0].__exit__(None, None, None)


# Flushed


def test_flush__failure_of_the_disk_is_an_error(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file system supports flushing and failed: nothing may be committed after that."""
    for number in (errno.EIO, errno.ENOSPC):
        lake.write_bytes("f/a", b"1")
        with monkeypatch.context() as patch:
            refuse(patch, disk, "sync", number)
            with pytest.raises(LakeError, match="f/a: cannot flush"):
                lake.commit_bytes("f/b", b"2")
        assert lake.list("f") == ["a"]
        lake.delete("f/a")


def test_flush__deleted_file_is_missing_on_any_disk(lake: Lake) -> None:
    lake.write_bytes("f/a", b"1")
    os.unlink(lake.uri("f/a"))
    with pytest.raises(MissingError, match="f/a"):
        lake.commit_bytes("f/b", b"2")
    assert lake.list("f") == []


@pytest.mark.parametrize("act", ["flush", "log_limitations"])
def test_flush__on_windows_opens_files_for_writing_and_skips_folders(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, act: str
) -> None:
    lake.write_bytes("f/g/a", b"1")
    opened, flags = os.open, {}

    def windows(path: str, how: int) -> int:
        flags[os.path.basename(path)] = how
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, how)

    monkeypatch.setattr(disk, "WINDOWS", True)
    monkeypatch.setattr(disk, "_LOGGED", set())
    monkeypatch.setattr(os, "open", windows)
    for _ in range(3):
        lake.flush() if act == "flush" else lake.log_limitations("f/g/a")
    above = {os.path.basename(path): os.O_RDONLY for path in ("g", "f", lake.url, os.path.dirname(lake.url))}
    assert flags == ({"a": os.O_RDWR, **above} if act == "flush" else {"g": os.O_RDONLY})
    assert [record.getMessage() for record in caplog.records] == [f"lake {lake.url}: {disk._TEXTS['folders']}"]


def test_flush__on_macos_empties_the_cache_of_the_disk(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    lake.write_bytes("f/a", b"1")
    commands: list[int] = []
    synced: list[int] = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda descriptor, command: commands.append(command))
    monkeypatch.setattr(os, "fsync", synced.append)
    lake.flush()
    assert (commands, synced) == ([51] * 4, [])  # the file and the folders above it
    refuse(monkeypatch, fcntl, "fcntl", errno.ENOTSUP)
    lake.commit_bytes("f/a", b"2")
    assert len(synced) == 2  # the file before it replaces the other, and its folder


# Files that another program has open, on Windows


IN_USE = {  # what Windows refuses while another program has the file open: where it fails, and the operation
    "replace": (os, "replace", lambda lake: lake.write_bytes("f/a", b"new")),
    "delete": (os, "remove", lambda lake: lake.delete("f/a")),
    "delete_folder": (shutil, "rmtree", lambda lake: lake.delete_folder("f")),
    "read": (LocalFileSystem, "cat_file", lambda lake: lake.read_bytes("f/a")),
}


@pytest.mark.parametrize("action", IN_USE)
@pytest.mark.parametrize("for_good", [False, True])
def test_windows__operation_on_a_file_in_use_is_retried(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, action: str, for_good: bool
) -> None:
    lake.write_bytes("f/a", b"old")
    left = itertools.count(-3)
    target, name, act = IN_USE[action]
    do = getattr(target, name)

    def in_use(*arguments: object, **more: object) -> object:
        if for_good or next(left) < 0:
            raise PermissionError(errno.EACCES, "The process cannot access the file")
        return do(*arguments, **more)

    monkeypatch.setattr(target, name, in_use)
    monkeypatch.setattr(disk, "WINDOWS", True)
    if for_good:
        monkeypatch.setattr(disk, "SHARING_SECONDS", 0.05)
        problem = r"cannot access the file, for 0 s; another program may have it open; grant"
        with pytest.raises(LakeError, match=problem):
            act(lake)
    else:
        act(lake)
        assert lake.exists("f/a") == (action in ("replace", "read"))
    if action == "replace":
        assert lake.list("f") == ["a"]


def test_posix__permission_error_is_not_retried(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    times = refuse(monkeypatch, os, "replace", errno.EACCES)
    with pytest.raises(LakeError, match="f/a: cannot write: Permission denied; grant"):
        lake.write_bytes("f/a", b"1")
    assert len(times) == 1


def test_windows__a_path_that_is_too_long_is_named_as_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake.open(tmp_path, create=True)
    monkeypatch.setattr(disk, "WINDOWS", True)
    refuse(monkeypatch, os, "replace", errno.ENOENT)
    with pytest.raises(LakeError, match=r"cannot write: the path has \d+ characters and Windows allows 259"):
        lake.write_bytes(f"{'x' * 120}/{'y' * 120}", b"")
    with pytest.raises(MissingError):
        lake.write_bytes("f/a", b"")


# Processes


@pytest.fixture
def child() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-Ic", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)


@pytest.mark.parametrize("proc", ["/proc", "/nowhere"])
@pytest.mark.parametrize("psutil", [True, False])
def test_process__end_is_detected_and_a_later_process_with_its_number_is_another(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, proc: str, psutil: bool
) -> None:
    monkeypatch.setattr(processes, "PROC", Path(proc))
    if not psutil:
        monkeypatch.setitem(sys.modules, "psutil", None)
    with child:
        started = processes.started(child.pid)
        linux = Path(proc, "self/stat").exists()
        known = linux or psutil
        assert bool(started) == known
        assert processes.state(child.pid, started) == ("alive" if known else "unknown")
        assert processes.state(child.pid, "long ago") == ("ended" if linux else "unknown")
    if os.name != "nt" or psutil:  # on Windows only psutil detects this
        assert processes.state(child.pid, started) == "ended"
    assert processes.started(child.pid) == ""


def test_process__on_windows_is_never_sent_a_signal(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "WINDOWS", True)
    monkeypatch.setattr(processes, "PROC", Path("/nowhere"))
    monkeypatch.setitem(sys.modules, "psutil", None)
    with monkeypatch.context() as patch, child:
        patch.setattr(os, "kill", lambda *_: pytest.fail("signal 0 ends a process on Windows"))
        assert processes.state(child.pid, "") == "unknown"
    assert processes.state(child.pid, "") == "unknown"


def test_process__of_another_user_hidden_by_proc_has_an_unknown_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """/proc mounted with hidepid=2 shows only processes of the same user."""
    refuse(monkeypatch, os, "kill", errno.EPERM)
    assert processes.state(2**22 + 1, "12345") == "unknown"


def test_hold__after_a_holder_in_an_unknown_state_waits_for_its_heartbeats(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PROC", Path("/nowhere"))
    monkeypatch.setattr(processes, "WINDOWS", True)
    monkeypatch.setitem(sys.modules, "psutil", None)
    holder = replace(LeaseHolder.this_process("rate", time.time()), pid=os.getppid(), token="other")
    lake.create_bytes(f"{FOLDER}/lease-000000.json", encode_lease(holder))
    with pytest.raises(LeaseHeldError), hold_lease(lake, FOLDER, "compact"):
        pass
    expired = replace(holder, time_seconds=time.time() - 100 * BEAT)
    lake.write_bytes(f"{FOLDER}/lease-000000.json", encode_lease(expired))
    with hold_lease(lake, FOLDER, "compact", heartbeat_seconds=BEAT):
        assert lake.exists(f"{FOLDER}/lease-000001.json")


@pytest.mark.parametrize("left", [0, 15])  # the failed command gives back what it took for its temporary files
def test_free_space__mentions_inodes_where_none_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    assert "inodes" not in free_space(str(tmp_path))
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=5_000, total=9_000))
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_files=1_000, f_favail=left), raising=False)
    assert free_space(str(tmp_path / "missing")) == f"5,000 of 9,000 bytes free, {left} of 1,000 inodes free"


def test_commits__answered_with_an_error_though_done_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake, files = Lake.open(tmp_path), {"a.json": b"1", "b.json": b"2"}
    with monkeypatch.context() as patch:
        repeat_changes(tmp_path, patch=patch.setattr)
        lake.commit_many(files)
        lake.commit_bytes("a.json", b"3")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files | {"a.json": b"3"}
