"""One writer at a time: the holder of a lease, its takeover, and the writer that lost it."""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import msgspec
import pytest
from helpers.timeouts import TIMEOUT
from msgspec.structs import replace

from ranklake.storage import Lake, LakeError
from ranklake.storage.lake.errors import ConflictError, DamagedError, LeaseHeldError
from ranklake.storage.lake.layout import TEMPORARY_PREFIX
from ranklake.storage.leases import acquire
from ranklake.storage.leases.acquire import HEARTBEAT_SECONDS, MISSED_HEARTBEATS, hold_lease
from ranklake.storage.leases.holder import LeaseHolder, lease_holder

FOLDER = "runs/run"
BEAT = 0.02
HOLD = """
import sys, time
from ranklake.storage import Lake
from ranklake.storage.leases.acquire import hold_lease
with hold_lease(Lake.open(sys.argv[1]), "runs/run", "rate run", heartbeat_seconds=0.02):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=["disk", "memory"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    return Lake.open(tmp_path if request.param == "disk" else f"memory://{tmp_path}", create=True)


def file(lake: Lake, number: int) -> dict[str, object]:
    content: dict[str, object] = json.loads(lake.read_bytes(f"{FOLDER}/lease-{number:06d}.json"))
    return content


def leases(lake: Lake) -> list[int]:
    """Numbers of the lease files."""
    return [int(name[6:12]) for name in lake.list(FOLDER) if name.startswith("lease-")]


def take(lake: Lake, purpose: str = "rate", **how: Any) -> None:
    """Take the lease and release it."""
    with hold_lease(lake, FOLDER, purpose, **how):
        pass


def pretend(lake: Lake, number: int, **facts: object) -> None:
    """Write a lease file of another process."""
    holder = replace(LeaseHolder.this_process("rate run", time.time()), **facts)  # type: ignore[arg-type]
    assert lake.create_bytes(f"{FOLDER}/lease-{number:06d}.json", msgspec.json.encode(holder))


def test_hold__is_exclusive_and_names_the_holder(lake: Lake) -> None:
    me = rf"runs/run: .*@.* \(rate run, process {os.getpid()}\) holds the lease"
    with hold_lease(lake, FOLDER, "rate run"):
        with pytest.raises(LeaseHeldError, match=me) as caught:
            take(lake, "compact")
        assert "--steal" in str(caught.value)
        assert caught.value.age_seconds < TIMEOUT
        assert f"process {os.getpid()}" in caught.value.holder
        assert lease_holder(lake, FOLDER) is not None
    assert lease_holder(lake, FOLDER) is None
    take(lake, "compact")
    assert leases(lake) == [1]


def test_hold__is_of_one_folder_and_released_when_the_work_fails(lake: Lake) -> None:
    with pytest.raises(ZeroDivisionError), hold_lease(lake, FOLDER, "rate"), hold_lease(lake, "runs/other", "rate"):
        raise ZeroDivisionError
    take(lake)


def test_hold__by_concurrent_threads_is_exclusive(lake: Lake) -> None:
    inside, most, lock = 0, 0, threading.Lock()

    def work(_: int) -> None:
        nonlocal inside, most
        with hold_lease(lake, FOLDER, "rate", wait_seconds=TIMEOUT, heartbeat_seconds=BEAT) as lease:
            with lock:
                inside += 1
                most = max(most, inside)
            lease.check()
            with lock:
                inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(24)))
    assert (inside, most) == (0, 1)


def test_hold__sends_heartbeats_while_it_lasts(lake: Lake) -> None:
    with hold_lease(lake, FOLDER, "rate", heartbeat_seconds=BEAT):
        deadline = time.monotonic() + TIMEOUT
        while file(lake, 0)["beats"] == 0:
            assert time.monotonic() < deadline
            time.sleep(BEAT)


@pytest.mark.slow
def test_hold__of_a_holder_whose_process_ended_is_taken_over_at_once(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path, create=True)
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            with pytest.raises(LeaseHeldError, match=f"process {process.pid}"):
                take(lake)
        finally:
            process.kill()
    began = time.monotonic()
    with hold_lease(lake, FOLDER, "rate"):
        assert time.monotonic() - began < 3 * HEARTBEAT_SECONDS  # the wait for heartbeats
    assert file(lake, 1)["released"]


def test_hold__a_reused_process_number_is_another_process(lake: Lake) -> None:
    pretend(lake, 0, started="1")
    take(lake)


@pytest.mark.parametrize("clock", [-2 * MISSED_HEARTBEATS * BEAT, -1e9, 1e9])
def test_hold__of_a_remote_holder_without_heartbeats_expires_whatever_its_clock_was(lake: Lake, clock: float) -> None:
    pretend(lake, 3, machine="elsewhere", time_seconds=time.time() + clock)
    with hold_lease(lake, FOLDER, "rate", heartbeat_seconds=BEAT):
        assert leases(lake) == ([4] if clock == -1e9 else [3, 4])  # after so long it does not come back


def test_hold__removes_the_lease_of_a_holder_that_was_silent_too_long(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acquire, "FORGOTTEN_SECONDS", 100.0)
    for number, age in enumerate((101.0, 99.0)):
        pretend(lake, number, machine="elsewhere", time_seconds=time.time() - age)
    with hold_lease(lake, FOLDER, "rate", heartbeat_seconds=BEAT):
        assert leases(lake) == [1, 2]


def test_hold__a_suspended_holder_detects_its_loss_after_several_takeovers(lake: Lake) -> None:
    lost = pytest.raises(LeaseHeldError, match="took over from this process")
    with lost, hold_lease(lake, FOLDER, "rate run", heartbeat_seconds=BEAT) as suspended:
        machine = file(lake, 0)["machine"]
        for _ in range(3):
            remote = file(lake, 0) | {"machine": "elsewhere"}  # the state of a remote process is unknown
            lake.write_bytes(f"{FOLDER}/lease-000000.json", json.dumps(remote).encode())
            take(lake, "rate again", steal=True)
        assert machine != "elsewhere"
        with pytest.raises(LeaseHeldError, match="took over from this process"):
            suspended.check()
    with hold_lease(lake, FOLDER, "rate"):
        assert len(leases(lake)) == 1  # the old holder has stopped: the lease after its own is not needed any more


def test_hold__a_number_that_was_released_and_deleted_is_not_taken_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, raced = Lake.create_bytes, False

    def late(self: Lake, path: str, data: bytes, **how: str) -> bool:
        nonlocal raced
        if not raced:
            raced = True
            for _ in range(2):  # the chosen number is taken and released
                take(lake, "faster")
        return create(self, path, data, **how)

    monkeypatch.setattr(Lake, "create_bytes", late)
    with hold_lease(lake, FOLDER, "rate", wait_seconds=TIMEOUT) as lease:
        lease.check()
        assert leases(lake) == [2]


def test_hold__a_lease_that_is_deleted_while_its_heartbeats_are_awaited_is_free(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(lake, 0, machine="elsewhere", time_seconds=0.0)
    monkeypatch.setattr(acquire.time, "sleep", lambda _: lake.delete(f"{FOLDER}/lease-000000.json"))
    with hold_lease(lake, FOLDER, "rate", wait_seconds=TIMEOUT, heartbeat_seconds=BEAT):
        assert leases(lake) == [0]
        assert file(lake, 0)["machine"] != "elsewhere"


def test_hold__a_clock_that_was_set_back_does_not_keep_an_ended_holder_for_ever(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    died_at = time.time()
    pretend(lake, 0, machine="elsewhere", time_seconds=died_at)
    monkeypatch.setattr(time, "time", lambda: died_at)
    with (
        pytest.raises(LeaseHeldError, match="last heartbeat 0 s ago"),
        hold_lease(lake, FOLDER, "rate", heartbeat_seconds=BEAT),
    ):
        pass
    monkeypatch.setattr(time, "time", lambda: died_at - 3600)
    with hold_lease(lake, FOLDER, "rate", heartbeat_seconds=BEAT):
        assert file(lake, 1)["time_seconds"] == died_at - 3600


def test_hold__a_clock_that_always_runs_back_stops_neither_heartbeats_nor_writers(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = itertools.count()
    monkeypatch.setattr(time, "time", lambda: 2e9 - 1e5 * next(calls))
    with hold_lease(lake, FOLDER, "rate", heartbeat_seconds=BEAT) as lease:
        give_up = time.monotonic() + TIMEOUT
        while int(str(file(lake, 0)["beats"])) < 3:
            assert time.monotonic() < give_up
            time.sleep(BEAT)
        with pytest.raises(LeaseHeldError):
            take(lake, "compact", heartbeat_seconds=BEAT)
        lease.check()


@pytest.mark.parametrize("clock", [-1e6, 0.0, 1e6])
def test_hold__a_remote_holder_with_new_heartbeats_keeps_the_lease(lake: Lake, clock: float) -> None:
    """A clock that was set back, on either machine, does not end the lease: new heartbeats keep it."""
    pretend(lake, 0, machine="elsewhere", time_seconds=time.time() + clock)
    ended = threading.Event()

    def beat() -> None:
        path, content = f"{FOLDER}/lease-000000.json", file(lake, 0)
        while not ended.wait(BEAT):
            content["beats"] = int(str(content["beats"])) + 1
            lake.write_bytes(path, json.dumps(content).encode())

    heart = threading.Thread(target=beat)
    heart.start()
    try:
        with pytest.raises(LeaseHeldError):
            take(lake, heartbeat_seconds=3 * BEAT)
    finally:
        ended.set()
        heart.join()


def test_hold__with_steal_takes_over_and_the_old_holder_stops_at_its_next_commit(lake: Lake) -> None:
    lost = pytest.raises(LeaseHeldError, match="took over")  # even if it changes nothing any more
    with lost, hold_lease(lake, FOLDER, "rate run") as one:
        one.check()
        with hold_lease(lake, FOLDER, "rate again", steal=True) as other:
            other.check()
            with pytest.raises(LeaseHeldError, match=r"rate again.* took over from this process"):
                one.check()
        with pytest.raises(LeaseHeldError):  # also when the other has ended
            one.check()


def test_hold__survives_a_short_outage_of_the_store(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = threading.Event()

    def refuse(self: Lake, path: str, data: bytes, **_: str) -> None:
        failed.set()
        raise LakeError("out of reach")

    with hold_lease(lake, FOLDER, "rate", heartbeat_seconds=BEAT):
        with monkeypatch.context() as patch:
            patch.setattr(Lake, "write_bytes", refuse)
            assert failed.wait(TIMEOUT)
        before = file(lake, 0)["beats"]
        deadline = time.monotonic() + TIMEOUT
        while file(lake, 0)["beats"] == before:
            assert time.monotonic() < deadline
            time.sleep(BEAT)


def test_hold__that_could_not_be_released_does_not_block_its_own_process(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Lake, path: str, data: bytes, **_: str) -> None:
        raise LakeError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(Lake, "write_bytes", refuse)
        with hold_lease(lake, FOLDER, "rate"), pytest.raises(LeaseHeldError), hold_lease(lake, FOLDER, "compact"):
            pass
    assert not file(lake, 0)["released"]
    assert lease_holder(lake, FOLDER) is None
    with hold_lease(lake, FOLDER, "compact"):
        assert leases(lake) == [1]


def test_hold__deletes_temporary_files_of_a_killed_process(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path)
    for name in (f"{TEMPORARY_PREFIX}0123456789abcdef", "run.json"):
        lake.write_bytes(f"{FOLDER}/{name}", b"{")
    take(lake)
    assert lake.list(FOLDER) == ["lease-000000.json", "run.json"]


def test_hold__error_of_an_unreadable_lease_names_the_file(lake: Lake) -> None:
    lake.write_bytes(f"{FOLDER}/lease-000002.json", b"{}")
    rule = r"runs/run/lease-000002\.json: not readable .*; delete it"
    with pytest.raises(DamagedError, match=rule):
        take(lake)


def test_create_bytes__makes_a_file_once(lake: Lake) -> None:
    assert lake.create_bytes("a/b.json", b"one")
    assert not lake.create_bytes("a/b.json", b"two")
    assert lake.read_bytes("a/b.json") == b"one"
    assert lake.list("a") == ["b.json"]


def test_create_bytes__that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake.open(tmp_path)
    lake.write_bytes("a/c.json", b"")

    def full(path: str, mode: str) -> IO[bytes]:
        open(path, mode).close()
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("ranklake.storage.lake.access.disk.open", full, raising=False)
        with pytest.raises(LakeError, match=r"a/b\.json: cannot create: No space left on device \([0-9]"):
            lake.create_bytes("a/b.json", b"one")
    assert lake.list("a") == ["c.json"]


@pytest.mark.bound("ranklake.storage.lake.access.files._TRIES")
@pytest.mark.parametrize("name", ["link", "replace"])
def test_write_bytes__makes_its_folder_again_after_a_concurrent_deletion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    do, there = getattr(os, name), iter([True])

    def swept(source: str, target: str) -> None:
        if next(there, False):
            os.unlink(source)
        do(source, target)

    lake = Lake.open(tmp_path)
    monkeypatch.setattr(os, name, swept)
    (lake.create_bytes if name == "link" else lake.write_bytes)("a/b.json", b"one")  # its folder does not exist, either
    assert lake.read_bytes("a/b.json") == b"one"
    assert lake.list("a") == ["b.json"]


# Fences


def test_fence__no_change_under_a_lost_lease_takes_effect(tmp_path: Path) -> None:
    """The old holder makes no further check of its lease."""
    lake = Lake.open(tmp_path)
    before = {"run.json": b"1", "rounds/000000.json": b"2"}
    for name, data in before.items():
        lake.write_bytes(f"{FOLDER}/{name}", data)
    lake.write_bytes("published/run/latest.json", b"3")
    lost = pytest.raises(LeaseHeldError, match="rate again")
    with lost, hold_lease(lake, FOLDER, "rate run") as old:
        old.lake.write_bytes(f"{FOLDER}/run.json", b"1")
        old.lake.delete(f"{FOLDER}/nothing")
        with hold_lease(lake, FOLDER, "rate again", steal=True) as new:
            acts = (
                lambda: old.lake.write_bytes(f"{FOLDER}/run.json", b"late"),
                lambda: old.lake.replace_bytes(f"{FOLDER}/run.json", b"late", ""),
                lambda: old.lake.create_bytes(f"{FOLDER}/rounds/000001.json", b"late"),
                lambda: old.lake.write_bytes(f"{FOLDER}/rounds/of/a/folder", b"late"),
                lambda: old.lake.delete(f"{FOLDER}/run.json"),
                lambda: old.lake.delete_folder(f"{FOLDER}/rounds"),
                lambda: old.lake.delete_folder("published/run"),
            )
            for act in acts:
                with pytest.raises(LeaseHeldError, match=r"rate again.* took over from this process"):
                    act()
            assert {name: lake.read_bytes(f"{FOLDER}/{name}") for name in before} == before
            assert lake.read_bytes("published/run/latest.json") == b"3"
            new.lake.delete_folder(f"{FOLDER}/rounds")
            new.lake.write_bytes(f"{FOLDER}/run.json", b"new")
    assert lake.read_bytes(f"{FOLDER}/run.json") == b"new"
    assert [name for name in lake.list(FOLDER) if "lease" not in name] == ["run.json"]


def test_replace_bytes__conflict_after_a_takeover_is_reported_as_the_lost_lease(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store with conditional puts reports the successor's commit as a conflict."""
    path, lost = f"{FOLDER}/run.json", pytest.raises(LeaseHeldError, match="took over")

    def conflict(*_: object, **__: object) -> str:
        raise ConflictError(f"{path}: is of another version", path=path)

    with lost, hold_lease(lake, FOLDER, "rate run") as old:
        monkeypatch.setattr(old.lake, "_with_parents", conflict)
        with pytest.raises(ConflictError, match="though this process holds the lease"):
            old.lake.replace_bytes(path, b"1", "")
        successor = hold_lease(lake, FOLDER, "rate again", steal=True)
        with successor, pytest.raises(LeaseHeldError, match=r"rate again.* took over from this process"):
            old.lake.replace_bytes(path, b"late", "")


def test_write_bytes__outside_of_the_folder_of_the_lease_is_refused(lake: Lake) -> None:
    """The lease on a run covers its published tables; a data set whose name contains runs has none."""
    with hold_lease(lake, FOLDER, "rate run") as lease:
        lease.lake.write_bytes("published/run/latest.json", b"1")
    with hold_lease(lake, "old-runs", "ingest into old-runs") as lease:
        lease.lake.write_bytes("old-runs/contests/contests.parquet", b"1")
        with pytest.raises(AssertionError, match=r"old-published/latest\.json"):
            lease.lake.write_bytes("old-published/latest.json", b"1")


def test_delete__frees_the_space_while_the_lease_is_held(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path)
    lake.write_bytes(f"{FOLDER}/run.json", b"1")
    with hold_lease(lake, FOLDER, "compact") as lease:
        lease.lake.delete(f"{FOLDER}/run.json")
        assert lake.list(FOLDER) == ["lease-000000.json", "writing-000000"]
        assert lake.list(f"{FOLDER}/writing-000000") == []


def test_fence__made_too_late_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process was suspended between its lease and its fence; meanwhile another one took over and released."""
    lake, make, raced = Lake.open(tmp_path, create=True), Lake.make_fence, []

    def late(self: Lake, fence: str) -> None:
        if not raced:
            raced.append(fence)
            take(lake, "faster", steal=True)
        make(self, fence)

    monkeypatch.setattr(Lake, "make_fence", late)
    with hold_lease(lake, FOLDER, "rate", wait_seconds=TIMEOUT) as lease:
        lease.lake.write_bytes(f"{FOLDER}/run.json", b"1")
        assert lease.number == 2  # after the other one
        assert not lake.exists(raced[0])


def test_fence__of_a_killed_process_is_removed_with_its_files(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path)
    for name in ("writing-000003/.tmp-1", "writing-000003-0123/.tmp-2/000000.json", "run.json"):
        lake.write_bytes(f"{FOLDER}/{name}", b"{")
    pretend(lake, 3, released=True)
    with hold_lease(lake, FOLDER, "rate"):
        assert lake.list(FOLDER) == ["lease-000004.json", "run.json", "writing-000004"]
    assert lake.list(FOLDER) == ["lease-000004.json", "run.json"]


def test_fence__on_another_file_system_is_an_error_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: str, target: str) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    lake = Lake.open(tmp_path, create=True)
    with hold_lease(lake, FOLDER, "publish run") as lease, monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        there = re.escape(f"it is on another file system than {tmp_path}/{FOLDER}; ")
        with pytest.raises(LakeError, match=rf"published/run/latest\.json: cannot write: {there}"):
            lease.lake.write_bytes("published/run/latest.json", b"")
