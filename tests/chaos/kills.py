"""Commands are killed at any operation, once or twice each; then each ends as if undisturbed, to the byte."""

from __future__ import annotations

import random
from typing import Any

from chaos.cases import Violation
from chaos.commands import Words, command_server, draw_commands, with_paths
from chaos.lives import Step, check_again, check_sound, lives, said
from chaos.world import World
from helpers.command_server import Ended

MOMENT_SECONDS = 0.3


def draw(seed: int) -> dict[str, Any]:
    """Commands, each with the place at which it is killed: ``at`` is an operation, or a time in microseconds."""
    dice = random.Random(seed)
    steps = []
    for command in draw_commands(dice, dice.randint(3, 8)):
        kills = [strike(dice, command) for _ in range(dice.choice([0, 1, 1, 2]))]
        steps.append({"command": command, "kills": kills})
    return {"steps": steps}


def strike(dice: random.Random, command: Words) -> dict[str, Any]:
    """The way and the place in which a command is killed."""
    # Writes of the Delta library are not among the observed operations.
    if dice.random() < (0.6 if command[0] in ("publish", "follow") else 0.1):
        return {"how": "moment", "at": dice.randrange(int(MOMENT_SECONDS * 1e6))}
    return {"how": dice.choice(["kill", "kill", "halfway"]), "at": dice.randrange(1000)}


def check(world: World, parameters: dict[str, Any]) -> None:
    lake, steps = world.fresh_folder() / "lake", parameters["steps"]
    lake.mkdir()
    commands = [step["command"] for step in steps]
    for number, step in enumerate(steps):
        command, undisturbed = step["command"], lives(world).after(commands[: number + 1])
        when = f"after a kill of {command[0]}"
        for kill in step["kills"]:
            ended = _killed(world, (*with_paths(world, command), "--lake", str(lake)), undisturbed, kill)
            world.counts["kills"] += 1
            world.counts["in time"] += ended.killed
            check_sound(lake, when)
        ended = check_again(world, undisturbed, lake, "after a kill", when)
        world.counts["commands"] += 1
        # Work before the kill need not be repeated, and some commands then print another message.
        if ended.code != undisturbed.ended.code and not (ended.code == 1 and step["kills"]):
            raise Violation(f"{command[0]} after a kill exits with another code", said(command, ended))


def _killed(world: World, arguments: tuple[str, ...], undisturbed: Step, kill: dict[str, Any]) -> Ended:
    if kill["how"] == "moment":
        return command_server(world).kill_after(kill["at"] / 1e6, *arguments)
    points = undisturbed.writes if kill["how"] == "halfway" else list(range(len(undisturbed.operations)))
    at = points[kill["at"] % len(points)] if points else -1
    return command_server(world).run(*arguments, at=at, how=kill["how"])
