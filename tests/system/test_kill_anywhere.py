"""Kill -9 at any operation of any command: nothing is damaged, and the same command again ends as if undisturbed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers.command_server import CommandServer
from helpers.lakes import files
from helpers.life import Step, assert_finishes, assert_sound, one_of_each_kind, put

pytestmark = pytest.mark.slow

POINTS = 40


def die(command_server: CommandServer, step: Step, lake: Path, dice: random.Random) -> bool:
    """Kill a command at an operation, during a write, or at any moment; returns whether it was killed in time."""
    how = dice.choice(["kill", "halfway", "moment"])
    # Writes of the Delta library are not observed.
    if how == "moment" or ("publish" in step.command and dice.random() < 0.5):
        return die_at_a_moment(command_server, step, lake, dice.random())
    at = dice.randrange(len(step.operations)) if how == "kill" else dice.choice(step.writes)
    return step.run(command_server, lake, at, how).killed


def die_at_a_moment(command_server: CommandServer, step: Step, lake: Path, share: float) -> bool:
    """Kill a command after a share of the time that it took undisturbed, perhaps on a slower machine than now."""
    before = lake.with_name("before")
    put(lake, before)
    for turn in range(20):
        if command_server.kill_after(share * step.seconds * 0.5**turn, *step.command, "--lake", str(lake)).killed:
            return True
        put(before, lake)  # it ended in less time: again, and sooner
    return False


def test_kill__at_random_points_of_a_life_every_command_ends_as_if_undisturbed(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    dice, lake = random.Random(20_210_725), tmp_path / "lake"
    for number in range(POINTS):
        step = steps[number % len(steps)]
        put(step.before, lake)
        assert die(command_server, step, lake, dice)
        assert_sound(lake, step)
        if dice.random() < 0.25:  # kill the repeated command, too
            die(command_server, step, lake, dice)
            assert_sound(lake, step)
        assert_finishes(command_server, step, lake)


def test_kill__repeatedly_all_through_a_life_leaves_no_files(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    lake, dice = tmp_path / "lake", random.Random(1)
    put(steps[0].before, lake)
    for step in steps:
        for _ in range(2):
            die(command_server, step, lake, dice)
        assert_finishes(command_server, step, lake)
    assert files(lake / "games").keys() == files(steps[-1].after / "games").keys()
    found, wanted = (files_of_runs(path) for path in (lake, steps[-1].after))
    assert found.rest == wanted.rest
    assert found.snapshots[-1] == wanted.snapshots[-1]
    assert len(found.snapshots) <= len(wanted.snapshots)


class FilesOfRuns(NamedTuple):
    """Snapshots of a run, and the names of all other files.

    A command killed between a segment and its snapshot continues after the segment: the snapshot is then a later one.
    """

    snapshots: list[str]
    rest: set[str]


def files_of_runs(lake: Path) -> FilesOfRuns:
    names = set(files(lake / "runs"))
    in_snapshots = {name for name in names if name.startswith("run/snapshots/")}
    snapshots = sorted({name.rpartition("/")[0] for name in in_snapshots})
    assert in_snapshots == {f"{folder}/{file}" for folder in snapshots for file in ("manifest.json", "part-0000.arrow")}
    return FilesOfRuns(snapshots, names - in_snapshots)


def test_kill__before_an_operation_of_each_kind_or_in_the_middle_of_a_write(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    for step, at in one_of_each_kind(steps):
        what = step.operations[at]
        if not what.startswith("open"):  # the lake is as before the write
            put(step.before, lake)
            assert step.run(command_server, lake, at, "halfway" if what.startswith("write") else "kill").killed
            assert_sound(lake, step)
            assert_finishes(command_server, step, lake)
