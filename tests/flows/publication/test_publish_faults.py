"""Write errors of the disk: tables stay complete, the error is one line, and the next publish completes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers.command_server import CommandServer, Ended
from helpers.life import Step, assert_as_after, assert_finishes, assert_sound, put
from helpers.mounts import SmallDisk, file_size_limit

pytestmark = pytest.mark.slow

FIRST, AGAIN = 4, 9  # publishes of the life


def assert_reported(ended: Ended, words: str) -> None:
    # threads of the library may write lines before and after
    (line,) = [line for line in ended.err.splitlines() if line.startswith("Error: ")]
    assert (ended.code, words in line) == (1, True), ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("index", [FIRST, AGAIN])
def test_publish__a_limit_on_file_sizes_leaves_complete_tables(
    command_server: CommandServer, steps: list[Step], tmp_path: Path, index: int
) -> None:
    step, lake = steps[index], tmp_path / "lake"
    sizes = sorted({path.stat().st_size for path in (step.after / "published").rglob("*") if path.is_file()})
    for size in [size - 1 for size in sizes[:: max(len(sizes) // 4, 1)] if size > 512]:  # leases have less
        put(step.before, lake)
        ended = command_server.run(*step.command, "--lake", str(lake), before=file_size_limit(size))
        if ended.code:
            assert_reported(ended, "File too large")
        assert_sound(lake, step)
        assert_finishes(command_server, step, lake)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes into read-only folders")
@pytest.mark.parametrize("part", ["", "ratings", "leaderboard/_delta_log"])
def test_publish__a_read_only_folder_leaves_complete_tables(
    command_server: CommandServer, steps: list[Step], tmp_path: Path, part: str
) -> None:
    step, lake = steps[AGAIN], tmp_path / "lake"
    put(step.before, lake)
    folder = lake / "published" / "run" / part
    folder.chmod(0o555)
    try:
        ended = step.run(command_server, lake)
    finally:
        folder.chmod(0o755)
    assert_reported(ended, "Permission denied")
    assert_sound(lake, step)
    assert_finishes(command_server, step, lake)


@pytest.mark.parametrize("left", [0, 4, 16, 32])
def test_life__on_a_full_disk_keeps_the_last_commit_and_continues_with_free_space(
    command_server: CommandServer, steps: list[Step], small_disk: SmallDisk, left: int
) -> None:
    disk = small_disk("size=2m")
    lake, ballast = disk / "lake", disk / "ballast"
    for step in steps[7:]:
        put(step.before, lake)
        room = os.statvfs(disk)
        ballast.write_bytes(bytes(max(room.f_bavail * room.f_frsize - left * 1024, 0)))
        ended = step.run(command_server, lake)
        if ended.code:
            assert_reported(ended, "No space left on device")
        assert_sound(lake, step)
        ballast.unlink()
        assert_finishes(command_server, step, lake)
        assert_as_after(lake, step)
