"""A full disk: commands that free space work, all others fail with a remedy, and no file is damaged."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from helpers.command_server import CommandServer
from helpers.commands import Command
from helpers.folders import write_folder
from helpers.lakes import commit_often, ingest, lake_of, rate_run, synthetic
from helpers.life import Step, assert_finishes, assert_sound, put
from helpers.mounts import SmallDisk

from ranklake.flows.publication.publish import publish
from ranklake.storage import Lake, Run
from ranklake.storage.leases.reserve import PARTS, RESERVE

CONTESTS = synthetic(24)
FREES = ("publish --run RUN --maintain", "compact", "delete --run RUN")  # in the order of the messages
SIZES = {"bytes": "size=4m", "inodes": "size=64m,nr_inodes=400"}


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with two runs in several segments, both published more than once."""
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=40)
        folder = tmp_path_factory.mktemp("pattern") / "lake"
        lake = lake_of(folder, CONTESTS[:12])
        for stop in (12, 18, 24):
            ingest(lake, CONTESTS[:stop])
            for run in ("one", "two"):
                rate_run(lake, run=run, system="elo")
                publish(lake, run)
    return folder


def fill(disk: Path, leave: int = 0) -> None:
    """Use up all bytes of a disk except ``leave``, or all inodes."""
    ballast = disk / "ballast"
    ballast.mkdir(exist_ok=True)
    if os.statvfs(disk).f_files < 1000:
        for number in range(os.statvfs(disk).f_favail):
            (ballast / str(number)).touch()
        return
    room = os.statvfs(disk)
    (ballast / "bytes").write_bytes(bytes(room.f_bavail * room.f_frsize - leave))


def old(lake: Path) -> int:
    """Make a file in a published table as after a crash more than a week ago; returns its size."""
    leftover = lake / "published" / "one" / "players" / "part-00000-left-by-a-crash.parquet"
    leftover.write_bytes(bytes(40_000))
    os.utime(leftover, (time.time() - 8 * 86_400,) * 2)
    return leftover.stat().st_size


def assert_sound_without_notes(invoke: Command, lake: Path) -> None:
    result = invoke("verify", "--lake", lake)
    assert (result.code, result.err, result.out.startswith("no problems")) == (0, "", True), result


def assert_has_remedy(message: str) -> None:
    """Check that a message has the free space and the commands, in the order in which to try them."""
    assert message.count("\n") == 0
    assert "No space left on device (" in message
    assert " bytes free" in message
    places = [message.index(f"`ranklake {command}`") for command in FREES]
    assert places == sorted(places)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SIZES)
def test_full_disk__of_a_site_or_an_export_is_named_with_what_is_missing(
    invoke: Command, small_disk: SmallDisk, pattern: Path, kind: str
) -> None:
    disk = small_disk(SIZES[kind])
    fill(disk)
    for command in (
        ("publish", "--site", disk / "site"),
        ("export", "--what", "ratings", "--output", disk / "ratings.csv"),
    ):
        message = invoke.refuses(command[0], "--run", "one", *command[1:], "--lake", pattern)
        assert "No space left on device (" in message
        assert ("0 of 400 inodes free" in message) == (kind == "inodes")


@pytest.mark.slow
@pytest.mark.parametrize("kind", SIZES)
def test_full_disk__is_an_error_of_writers_and_every_step_of_the_runbook_works(
    invoke: Command, small_disk: SmallDisk, pattern: Path, tmp_path: Path, kind: str
) -> None:
    disk = small_disk(SIZES[kind])
    lake = disk / "lake"
    shutil.copytree(pattern, lake)
    old(lake)
    write_folder(tmp_path / "more", synthetic(3, seed=5))
    fill(disk)
    for command in (
        ("rate", "--dataset", "games", "--run", "three", "--system", "elo"),
        ("ingest", "files", tmp_path / "more", "--dataset", "more"),
    ):
        message = invoke.refuses(*command, "--lake", lake)
        assert_has_remedy(message)
        assert ("0 of 400 inodes free" in message) == (kind == "inodes")
    assert len(list((lake / RESERVE).iterdir())) == PARTS
    # the commands of the message, in its order
    result = invoke("publish", "--run", "one", "--maintain", "--lake", lake)
    assert "1 old file" in result.out or "old files removed: 1" in result.err, result
    fill(disk)
    result = invoke("compact", "--lake", lake)
    assert result.code == 0 or "no space to merge more files, which takes" in result.err, result
    fill(disk)
    result = invoke("delete", "--run", "two", "--with-published", "--yes", "--lake", lake)
    assert (result.code, result.out) == (0, "run two: deleted\n")
    assert invoke("rate", "--dataset", "games", "--run", "three", "--system", "elo", "--lake", lake).code == 0
    assert_sound_without_notes(invoke, lake)
    assert len(list((lake / RESERVE).iterdir())) == PARTS
    shutil.rmtree(disk / "ballast")
    for command in ("compact", "publish --run one --maintain", "publish --run three", "compact"):
        assert invoke(*command.split(), "--lake", lake).code == 0
    assert_sound_without_notes(invoke, lake)


def test_full_disk__deletes_a_data_set_with_its_runs(invoke: Command, small_disk: SmallDisk, pattern: Path) -> None:
    disk = small_disk("size=4m")
    lake = disk / "lake"
    shutil.copytree(pattern, lake)
    fill(disk)
    assert invoke("delete", "--dataset", "games", "--with-runs", "--with-published", "--yes", "--lake", lake).code == 0
    assert "has no data set and no run" in invoke("verify", "--lake", lake).out
    assert len(list((lake / RESERVE).iterdir())) == PARTS


def test_full_disk__of_a_lake_without_a_reserve_is_an_error(
    invoke: Command, small_disk: SmallDisk, pattern: Path
) -> None:
    """As a lake of release 0.1: after space is freed elsewhere on the disk, the reserve is made."""
    disk = small_disk("size=4m")
    lake = disk / "lake"
    shutil.copytree(pattern, lake)
    shutil.rmtree(lake / RESERVE)
    fill(disk)
    message = invoke.refuses("delete", "--run", "two", "--yes", "--lake", lake).splitlines()[-1]
    assert_has_remedy(message)
    (disk / "ballast" / "bytes").write_bytes(b"")
    assert invoke("delete", "--run", "two", "--yes", "--lake", lake).code == 0
    assert len(list((lake / RESERVE).iterdir())) == PARTS


@pytest.mark.quick("8192")
@pytest.mark.parametrize("leave", [0, 8_192, 65_536])
def test_compact__short_of_space_leaves_a_valid_lake_and_reports_the_needed_space(
    invoke: Command, small_disk: SmallDisk, pattern: Path, leave: int
) -> None:
    disk = small_disk("size=4m")
    lake = disk / "lake"
    shutil.copytree(pattern, lake)
    n_segments = [len(Run.open(Lake.open(lake), run).segments().segments) for run in ("one", "two")]
    fill(disk, leave)
    result = invoke("compact", "--lake", lake)
    if result.code:
        lines = result.err.splitlines()
        assert all(line.startswith("Error: ") and "no space to merge more files, which takes" in line for line in lines)
    assert leave or result.code == 1
    assert_sound_without_notes(invoke, lake)
    shutil.rmtree(disk / "ballast")
    assert invoke("compact", "--lake", lake).code == 0
    for run, before in zip(("one", "two"), n_segments, strict=True):
        assert len(Run.open(Lake.open(lake), run).segments().segments) == 1 < before
    assert_sound_without_notes(invoke, lake)


@pytest.mark.slow
def test_publish__on_a_full_disk_leaves_no_files_that_are_kept_for_a_week(
    invoke: Command, small_disk: SmallDisk, pattern: Path
) -> None:
    disk = small_disk("size=4m")
    lake = disk / "lake"
    shutil.copytree(pattern, lake)
    assert invoke("delete", "--run", "two", "--with-published", "--yes", "--lake", lake).code == 0
    ingest(Lake.open(lake), synthetic(30))
    assert invoke("rate", "--run", "one", "--lake", lake).code == 0
    tables = lake / "published" / "one"
    for leave in (0, 4_096, 12_288, 20_480, 40_960):
        before = {path for path in tables.rglob("*.parquet") if not path.name.startswith("latest")}
        versions = {path: len(list((path / "_delta_log").glob("*.json"))) for path in tables.iterdir() if path.is_dir()}
        fill(disk, leave)
        result = invoke("publish", "--run", "one", "--lake", lake)
        after = {path for path in tables.rglob("*.parquet") if not path.name.startswith("latest")}
        if result.code:
            (line,) = [line for line in result.err.splitlines() if line.startswith("Error: ")]
            assert_has_remedy(line)
        changed = {path for path, n in versions.items() if len(list((path / "_delta_log").glob("*.json"))) > n}
        assert all(any(path.is_relative_to(table) for table in changed) for path in after - before)
        assert invoke("verify", "--lake", lake).code == 0
        shutil.rmtree(disk / "ballast")
    assert invoke("publish", "--run", "one", "--lake", lake).code == 0
    assert_sound_without_notes(invoke, lake)


# Injected, on any file system


@pytest.mark.slow
@pytest.mark.parametrize("command", ["compact games", "compact run", "publish"])
def test_full_disk__from_any_operation_on_commands_that_free_space_leave_a_valid_lake(
    command_server: CommandServer, steps: list[Step], tmp_path: Path, command: str
) -> None:
    step = steps[{"compact games": 5, "compact run": 6, "publish": 13}[command]]
    lake = tmp_path / "lake"
    for at in range(0, len(step.operations) + 1, 2):
        put(step.before, lake)
        ended = step.run(command_server, lake, at, "full")
        assert ended.code == 0 or "to free some: `ranklake" in ended.err, ended.err
        assert "lease-" not in ended.err
        assert_sound(lake, step)
        assert_finishes(command_server, step, lake)


@pytest.mark.slow
def test_full_disk__from_any_operation_on_a_deletion_succeeds(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    put(steps[-1].after, lake)
    command = ("delete", "--dataset", "games", "--with-runs", "--with-published", "--yes", "--lake", str(lake))
    n_operations = len(command_server.done(*command).operations)
    for at in [*range(6), *range(6, n_operations, n_operations // 10)]:
        put(steps[-1].after, lake)
        ended = command_server.run(*command, at=at, how="full")
        assert ended.code == 0, ended.err
        assert Run.names(Lake.open(lake)) == []
        assert command_server.done("verify", "--lake", str(lake)).out.endswith("has no data set and no run\n")
