"""A disk that refuses, tears or delays any write: the command fails with one line, and the last commit stays valid."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from helpers.command_server import ERRORS, CommandServer, Ended
from helpers.lakes import files
from helpers.life import Step, assert_as_after, assert_finishes, assert_sound, put, some

from ranklake.storage.lake.layout import TEMPORARY_PREFIX

pytestmark = pytest.mark.slow

REMEDIES = {"ENOSPC": "to free some: `ranklake", "EACCES": "grant this user the right", "EIO": "correct this and run"}
WORDS = {"ENOSPC": "No space left on device", "EACCES": "Permission denied", "EIO": "Input/output error"}


def assert_reported_or_harmless(ended: Ended, how: str, step: Step, lake: Path) -> None:
    """Check that the command failed with one line about the fault, or succeeded in spite of it."""
    if ended.code == 0:
        assert_as_after(lake, step)
        return
    assert ended.code == 1, ended.err
    assert ended.err.startswith("Error: "), ended.err
    assert ended.err.count("\n") == 1, ended.err
    kind = how if how in ERRORS else "ENOSPC"
    assert WORDS[kind] in ended.err, ended.err
    assert REMEDIES[kind] in ended.err, ended.err


def fail(command_server: CommandServer, step: Step, lake: Path, at: int, how: str) -> Ended:
    """Let one operation of a command fail, in the lake before the command; then verify, and run it again."""
    put(step.before, lake)
    ended = step.run(command_server, lake, at, how)
    assert_reported_or_harmless(ended, how, step, lake)
    assert_sound(lake, step)
    if not step.operations[at].startswith("remove"):
        assert list(lake.rglob(f"{TEMPORARY_PREFIX}*")) == []
    assert_finishes(command_server, step, lake)
    return ended


def test_faults__at_writes_of_a_life_are_one_line_and_leave_the_last_commit_valid(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    dice, refused, points = random.Random(3), 0, 0
    for step in steps[4:9]:
        for at in step.writes[:: 1 if len(step.writes) < 10 else 3]:
            refused += fail(command_server, step, tmp_path / "lake", at, "torn").code
            points += 1
        for at in dice.sample(step.writes, 2):
            around = dice.choice([at - 1, at + 1])  # the file is made before, and renamed after
            refused += fail(command_server, step, tmp_path / "lake", around, dice.choice(ERRORS)).code
            points += 1
    assert (
        refused > 0.5 * points
    )  # a compaction uses the reserve for its lease, and a failed release of a lease is harmless


def test_faults__all_through_a_life_leave_no_files(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    lake, dice = tmp_path / "lake", random.Random(4)
    put(steps[0].before, lake)
    for step in steps:
        for _ in range(2):
            at, how = dice.randrange(len(step.operations)), dice.choice(["torn", *ERRORS])
            assert_reported_or_harmless(step.run(command_server, lake, at, how), how, step, lake)
        assert_finishes(command_server, step, lake)
    for part in ("games", "runs"):
        assert files(lake / part).keys() == files(steps[-1].after / part).keys()


def test_faults__delays_of_any_file_change_nothing(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    for step in steps[:6]:
        put(step.before, tmp_path / "lake")
        assert step.run(command_server, tmp_path / "lake", how="delay").code == 0
        assert_as_after(tmp_path / "lake", step)


@pytest.mark.parametrize("how", ["torn", "refused"])
def test_faults__at_operations_all_through_a_life(
    command_server: CommandServer, steps: list[Step], tmp_path: Path, how: str
) -> None:
    for number, step in enumerate(steps):
        points = step.writes[number % 2 :: 2] if how == "torn" else some(step, range(len(step.operations)), 4, number)
        for turn, at in enumerate(points):
            error = how if how == "torn" else ERRORS[(turn + number) % len(ERRORS)]
            fail(command_server, step, tmp_path / "lake", at, error)
