"""Commands are killed at any operation, once or twice each; then each ends as if undisturbed, to the byte."""

from __future__ import annotations

import random
from typing import Any

from chaos.cases import Violation
from chaos.commands import Words, a_life, command_server, told
from chaos.lives import Step, check_content, check_ended, check_sound, content, lives
from chaos.world import World
from helpers.command_server import Ended

__all__ = ["check", "draw", "strike"]

MOMENT_SECONDS = 0.3


def draw(seed: int) -> dict[str, Any]:
    """A life, and for each command where it is killed: ``at`` counts operations, or microseconds of a moment."""
    dice = random.Random(seed)
    steps = []
    for command in a_life(dice, dice.randint(3, 8)):
        kills = [strike(dice, command) for _ in range(dice.choice([0, 1, 1, 2]))]
        steps.append({"command": command, "kills": kills})
    return {"steps": steps}


def strike(dice: random.Random, command: Words) -> dict[str, Any]:
    """How and where a command is killed."""
    # Delta's own writes are no operations that are seen here.
    if dice.random() < (0.6 if command[0] in ("publish", "follow") else 0.1):
        return {"how": "moment", "at": dice.randrange(int(MOMENT_SECONDS * 1e6))}
    return {"how": dice.choice(["kill", "kill", "halfway"]), "at": dice.randrange(1000)}


def check(world: World, parameters: dict[str, Any]) -> None:
    lake, steps = world.fresh_folder() / "lake", parameters["steps"]
    lake.mkdir()
    commands = [step["command"] for step in steps]
    for number, step in enumerate(steps):
        undisturbed = lives(world).after(commands[: number + 1])
        arguments = (*told(world, step["command"]), "--lake", str(lake))
        for kill in step["kills"]:
            ended = _killed(world, arguments, undisturbed, kill)
            world.counts["kills"] += 1
            world.counts["in time"] += ended.killed
            check_sound(lake, f"after a kill of {step['command'][0]}")
        ended = command_server(world).run(*arguments)
        world.counts["commands"] += 1
        check_ended(ended, step["command"])
        found, words = content(lake), f"{' '.join(step['command'])}: exit {ended.code}\n{ended.err}"
        rule = f"{step['command'][0]} after a kill does not end as if undisturbed"
        check_content(found, undisturbed.content, rule, words)
        # What was done before the kill need not be done again, and some commands then say so.
        if ended.code != undisturbed.ended.code and not (ended.code == 1 and step["kills"]):
            raise Violation(f"{step['command'][0]} after a kill exits with another code", words)
        check_sound(lake, f"after a kill of {step['command'][0]} and the command again")


def _killed(world: World, arguments: tuple[str, ...], undisturbed: Step, kill: dict[str, Any]) -> Ended:
    if kill["how"] == "moment":
        return command_server(world).kill_after(kill["at"] / 1e6, *arguments)
    points = undisturbed.writes if kill["how"] == "halfway" else list(range(len(undisturbed.operations)))
    at = points[kill["at"] % len(points)] if points else -1
    return command_server(world).run(*arguments, at=at, how=kill["how"])
