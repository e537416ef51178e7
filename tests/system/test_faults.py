"""A disk that refuses, tears or delays any write: the command fails with one line, and the last commit stays valid."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from helpers.command_server import ERRORS, CommandServer, Ended
from helpers.lakes import files
from helpers.life import Step, assert_as_after, assert_finishes, assert_sound, one_of_each_kind, put

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


def test_faults__at_an_operation_of_each_kind_are_one_line_and_leave_the_last_commit_valid(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    refused, points, lake = 0, one_of_each_kind(steps), tmp_path / "lake"
    for turn, (step, at) in enumerate(points):
        what = step.operations[at]
        how = "torn" if what.startswith("write") and turn % 4 else ERRORS[turn % len(ERRORS)]
        put(step.before, lake)
        ended = step.run(command_server, lake, at, how)
        refused += ended.code
        assert_reported_or_harmless(ended, how, step, lake)
        assert_sound(lake, step)
        if not what.startswith("remove"):
            assert list(lake.rglob(f"{TEMPORARY_PREFIX}*")) == []
        assert_finishes(command_server, step, lake)
    assert refused > 0.5 * len(points)  # a failed release of a lease is harmless


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
