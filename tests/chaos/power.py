"""The power is cut at any step of a command; then nothing committed is lost, and the command ends as if undisturbed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from chaos.cases import Violation
from chaos.commands import draw_command, draw_commands
from chaos.lives import Content, Step, check_again, check_content, check_sound, content, lives, run
from chaos.world import World
from helpers.life import put, what_counts
from helpers.power import SURVIVING, Change, changes, cuts, recorder, write
from helpers.tables import rooted, same_content

from ranklake.storage import Lake, LakeError, Run


def draw(seed: int) -> dict[str, Any]:
    """Commands, of which the last one loses power after a step, and what of its unflushed changes survives."""
    dice = random.Random(seed)
    prelude = draw_commands(random.Random(dice.randrange(12)), dice.choice([2, 4]))
    return {"prelude": prelude, "command": draw_command(dice), "surviving": dice.choice(SURVIVING), "at": dice.random()}


def check(world: World, parameters: dict[str, Any]) -> None:
    step = lives(world).after([*parameters["prelude"], parameters["command"]])
    states = list(cuts(step.before, recorded(world, step), parameters["surviving"]))
    number, left = states[int(parameters["at"] * len(states))]
    check_cut(world, step, left, number, parameters["surviving"], last=number == states[-1][0])
    world.counts["cuts"] += 1


def recorded(world: World, step: Step) -> list[Change]:
    """The changes of a command."""
    lake, log = world.fresh_folder("recorded") / "lake", world.fresh_folder("changes") / "log"
    put(step.before, lake)
    log.touch()
    run(world, step.command, lake, before=recorder(log))
    return changes(log)


def check_cut(
    world: World, step: Step, left: dict[str, bytes | None], number: int, surviving: str, last: bool = False
) -> None:
    """Check a state after a cut, and the same command in it; the ``last`` one comes after the command has ended.

    ``Violation``: something committed is lost or damaged, or the command does not end as if undisturbed.
    """
    when = f"after a power cut at step {number} of {' '.join(step.command)} ({surviving} survived)"
    lake = check_kept(world, step, left, last, when)
    check_again(world, step, lake, "again", when)


def check_kept(world: World, step: Step, left: dict[str, bytes | None], last: bool, when: str) -> Path:
    """Check that data sets are as before or after a command, and runs a prefix of one of them; returns the lake."""
    lake = world.fresh_folder("cut") / "lake"
    write(left, lake)
    if last and step.ended.code == 0:
        check_sound(lake, when)
        check_content(content(lake), step.content, f"{step.command[0]} ends before all is on the disk", when)
    if not any(lake.iterdir()):
        return lake
    try:
        check_sound(lake, when)
        found = Content(what_counts(lake), {})
        for folder in (lake / "published").glob("*"):
            seen, *known = (rooted(Lake.open(path), folder.name) for path in (lake, step.before, step.after))
            if not any(same_content(seen, one) for one in known):
                raise Violation("a power cut mixes the tables of two publishes", f"{when}: {folder.name}")
    except LakeError as error:
        raise Violation("a power cut damages a lake", f"{when}\n{error}") from error
    states = content(step.before), step.content
    for kind in {name.partition("/")[0] for state in (found, *states) for name in state.files} - {"runs", "published"}:
        if _part(found, kind) not in [_part(state, kind) for state in states]:
            raise Violation("a power cut changes a data set", when)
    rounds = [_rounds(path) for path in (lake, step.before, step.after)]
    for name in rounds[0].keys() | (rounds[1].keys() & rounds[2].keys()):
        now = rounds[0].get(name)
        if now is None or all(state.get(name, [])[: len(now)] != now for state in rounds[1:]):
            raise Violation("a power cut changes a run", f"{when}: {name}")
        fewest = min(len(state[name]) for state in rounds[1:] if name in state)
        if len(now) < fewest and "rate" not in step.command and "follow" not in step.command:
            raise Violation("a power cut loses rounds", f"{when}: {name}")
    return lake


def _part(state: Content, kind: str) -> dict[str, bytes]:
    return {name: data for name, data in state.files.items() if name.startswith(f"{kind}/")}


def _rounds(path: Path) -> dict[str, list[str]]:
    """The chain digests of the rounds of each run."""
    if not any(path.iterdir()):
        return {}
    lake = Lake.open(path)
    chains = {name: Run.open(lake, name).segments() for name in Run.names(lake)}
    return {name: chain.digests for name, chain in chains.items()}
