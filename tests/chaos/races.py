"""Several commands at once in one lake: each ends well or with an error in words, and nothing is lost."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from chaos.cases import Violation
from chaos.commands import DATASET, Words, a_life, command_server, told
from chaos.lives import EXITS, check_ended, check_sound, lives
from chaos.world import World
from helpers.lakes import rated, same_tables
from helpers.life import put

from ranklake.storage import Dataset, Lake, Run

__all__ = ["check", "draw"]

RATE = ["rate", *DATASET, "--run", "run"]
MIX: tuple[Words, ...] = (
    ["ingest", "files", "{second}", *DATASET],
    ["ingest", "files", "{third}", *DATASET],
    ["ingest", "files", "{first}", *DATASET, "--order", "time"],
    ["ingest", "topcoder", "--base-url", "{feed}"],
    ["ingest", "topcoder", "--base-url", "{longer}", "--again"],
    ["normalise", "--source", "topcoder"],
    ["amend", "14", "--remove", "player 3", *DATASET],
    ["alias", "player 1", "player 2", *DATASET],
    ["remove", "5", *DATASET],
    RATE,
    RATE,
    ["rate", *DATASET, "--system", "elo", "--system", "elo-mmr"],
    ["compact", "--rows", "100"],
    ["compact", *DATASET, "--rows", "200"],
    ["publish", "--run", "run"],
    ["follow", "--source", "files", "--path", "{third}", *DATASET, "--run", "run"],
    ["delete", "--run", "games-elo", "--yes"],
    ["verify"],
    ["runs"],
    ["leaderboard", "--run", "run"],
    ["player", "player 2", "--run", "run"],
    ["export", "--run", "run", "--what", "ratings", "--format", "csv"],
    ["evaluate", "--run", "run"],
)
IDS = {"{second}": 32, "{third}": 42, "{first}": 24}  # contests of a source are numbered from 0, and end here
FROM = {"{third}": 28}


def draw(seed: int) -> dict[str, Any]:
    """A life, and commands that are started together; ``delay`` makes all their operations late."""
    dice = random.Random(seed)
    prelude = a_life(random.Random(dice.randrange(6)), 2)
    together = [{"command": dice.choice(MIX), "delay": dice.random() < 0.5} for _ in range(dice.randint(4, 8))]
    return {"prelude": prelude, "together": together}


def check(world: World, parameters: dict[str, Any]) -> None:
    start = lives(world).after(parameters["prelude"]) if parameters["prelude"] else None
    lake = world.fresh_folder() / "lake"
    put(start.after if start else lives(world).start, lake)
    together = [step["command"] for step in parameters["together"]]
    started = []
    for number, step in enumerate(parameters["together"]):
        how = {"at": number, "how": "delay"} if step["delay"] else {}
        started.append(command_server(world).start(*told(world, step["command"]), "--lake", str(lake), **how))
    ended = [running.wait() for running in started]
    world.counts["commands"] += len(ended)
    said = "\n".join(f"{' '.join(command)}: exit {one.code} {one.err[-300:]}"
                     for command, one in zip(together, ended, strict=True))  # fmt: skip
    for command, one in zip(together, ended, strict=True):
        # A reader of what is being replaced may find it changed; it says so, and is run again.
        try:
            check_ended(one, command, EXITS)
        except Violation as violation:
            raise Violation(violation.rule, f"{violation.detail}\nall:\n{said}") from None
    done = [command for command, one in zip(together, ended, strict=True) if one.code == 0]
    try:
        check_sound(lake, "after commands that were at work at once")
        _check_ingested(lake, done)
        _check_rated(world, lake)
    except Violation as violation:
        raise Violation(violation.rule, f"{violation.detail}\nall:\n{said}") from None


def _check_ingested(path: Path, done: list[Words]) -> None:
    """Every contest that was ingested is there, unless it was removed."""
    lake = Lake.open(path)
    found = set(Dataset.open(lake, "games").contests.column("contest_id").to_pylist())
    for command in done:
        source = next((word for word in command if word in IDS), "")
        wanted = {str(number) for number in range(FROM.get(source, 0), IDS.get(source, 0))}
        if lost := wanted - found - {"5"}:
            raise Violation("what was ingested is not there", f"{' '.join(command)}: {sorted(lost)}")


def _check_rated(world: World, path: Path) -> None:
    """The run, brought up to date, is that of the final history rated from nothing."""
    for run in ("run", "anew"):
        ended = command_server(world).run("rate", *DATASET, "--run", run, "--lake", str(path))
        if ended.code:
            raise Violation("a run cannot be rated after commands that were at work at once", ended.err)
    lake = Lake.open(path)
    if not same_tables(*(rated(lake, run) for run in ("run", "anew"))):
        raise Violation("a run is not that of the final history", str(Run.names(lake)))
    check_sound(path, "after commands at once and a rating")
