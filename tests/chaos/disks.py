"""Failed writes and full disks: the command fails with one line, the last commit stays valid, deletion works."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

from chaos.cases import Violation
from chaos.commands import Words, draw_command, draw_commands
from chaos.lives import Step, check_again, check_content, check_sound, content, lives, run, said
from chaos.world import World
from helpers.command_server import ERRORS, Ended
from helpers.life import put

DELETE: Words = ["delete", "--run", "run", "--yes"]
WORDS = {"EACCES": "Permission denied", "EIO": "Input/output error"}
FULL = "o space "  # left on device; to merge more files
LONGEST_KIB = 150  # maximum free space on the small disk


def draw(seed: int) -> dict[str, Any]:
    """Commands of which the last one runs on a disk that fails once (``at`` an operation), or is full from then on.

    On the small disk ``at`` is the free space, in KiB. Then either a run is deleted on the full disk, or space is freed
    and the command is run again.
    """
    dice = random.Random(seed)
    prelude = draw_commands(random.Random(dice.randrange(12)), dice.choice([2, 4]))
    how = dice.choice(["torn", *ERRORS, "full", "full", "small", "small", "small"])
    at = dice.randrange(LONGEST_KIB) if how == "small" else dice.randrange(1000)
    then = dice.choice(["delete", "again", "again"])
    return {"prelude": prelude, "command": draw_command(dice), "how": how, "at": at, "then": then}


def check(world: World, parameters: dict[str, Any]) -> None:
    prelude, command, how, at = (parameters[name] for name in ("prelude", "command", "how", "at"))
    if how == "small" and world.small_disk is None:
        return
    alone = lives(world).after([*prelude, command])
    place = world.fresh_folder() if how != "small" or world.small_disk is None else world.small_disk
    lake, filler = place / "lake", place / "filler"
    filler.unlink(missing_ok=True)
    put(alone.before, lake)
    if how == "small":
        _fill(filler, at * 1024)
    try:
        fault = {} if how == "small" else {"at": at % max(len(alone.operations), 1), "how": how}
        ended = run(world, command, lake, **fault)
        world.counts["faults"] += 1
        _check_reported(ended, command, alone, how, lake)
        check_sound(lake, f"after {command[0]} on a disk that fails")
        if (
            parameters["then"] == "delete"
            and how in ("full", "small")
            and (lake / "runs" / "run" / "run.json").exists()
        ):
            ended = run(world, DELETE, lake, **({} if how == "small" else {"at": 0, "how": how}))
            if ended.code:
                raise Violation("delete fails on a full disk", ended.err)
            check_sound(lake, "after a run was deleted on a full disk")
            if (lake / "runs" / "run" / "run.json").exists():
                raise Violation("delete on a full disk does not delete", ended.err)
            return
        filler.unlink(missing_ok=True)
        check_again(world, alone, lake, "after a fault", f"after a fault of {command[0]}")
    finally:
        if how == "small":
            shutil.rmtree(lake, ignore_errors=True)


def _check_reported(ended: Ended, command: Words, alone: Step, how: str, lake: Path) -> None:
    """Check that the command succeeded, or failed with the error of the disk."""
    words = said(command, ended)
    if ended.code == 0:
        check_content(content(lake), alone.content, f"{command[0]} on a disk that fails succeeds with a fault", words)
    elif command[0] != "verify" and alone.ended.code == 0 and WORDS.get(how, FULL) not in ended.err:
        raise Violation(f"{command[0]} does not print the error of the disk", words)


def _fill(filler: Path, free: int) -> None:
    """Leave ``free`` bytes free on the disk."""
    facts = os.statvfs(filler.parent)
    filler.write_bytes(bytes(max(facts.f_bavail * facts.f_frsize - free, 0)))
