"""Several commands at once in one lake: each succeeds or fails with a readable error, and nothing is lost."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

from chaos.cases import Violation
from chaos.commands import DATASET, Words, command_server, draw_commands, with_paths
from chaos.lives import EXITS, check_ended, check_sound, lives
from chaos.world import World
from helpers.lakes import rated, same_tables
from helpers.life import put

from ranklake.storage import Dataset, Lake, Run

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
    """Commands before, and commands that are started together; ``delay`` delays all operations of a command."""
    dice = random.Random(seed)
    prelude = draw_commands(random.Random(dice.randrange(6)), 2)
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
        started.append(command_server(world).start(*with_paths(world, step["command"]), "--lake", str(lake), **how))
    ended = [running.wait() for running in started]
    world.counts["commands"] += len(ended)
    outcomes = "\n".join(f"{' '.join(command)}: exit {one.code} {one.err[-300:]}"
                     for command, one in zip(together, ended, strict=True))  # fmt: skip
    for command, one in zip(together, ended, strict=True):
        # A reader may fail because a file was replaced meanwhile.
        try:
            check_ended(one, command, EXITS)
        except Violation as violation:
            raise Violation(violation.rule, f"{violation.detail}\nall:\n{outcomes}") from None
    done = [command for command, one in zip(together, ended, strict=True) if one.code == 0]
    try:
        check_sound(lake, "after concurrent commands")
        _check_ingested(lake, done)
        _check_rated(world, lake)
    except Violation as violation:
        raise Violation(violation.rule, f"{violation.detail}\nall:\n{outcomes}") from None


def _check_ingested(path: Path, done: list[Words]) -> None:
    """Check that every ingested contest exists, unless it was removed."""
    lake = Lake.open(path)
    existing = set(Dataset.open(lake, "games").contests.column("contest_id").to_pylist())
    for command in done:
        source = next((word for word in command if word in IDS), "")
        ingested = {str(number) for number in range(FROM.get(source, 0), IDS.get(source, 0))}
        if lost := ingested - existing - {"5"}:
            raise Violation("an ingested contest is missing", f"{' '.join(command)}: {sorted(lost)}")


def _check_rated(world: World, path: Path) -> None:
    """Check that the updated run is equal to a new run of the final history with the same ratings at entry."""

    def rate(run: str, *more: str) -> None:
        ended = command_server(world).run("rate", *DATASET, "--run", run, *more, "--lake", str(path))
        if ended.code:
            raise Violation("a run cannot be rated after concurrent commands", ended.err)

    rate("run")
    rate("anew")
    lake = Lake.open(path)
    record, other = (path / Run.open(lake, run).entry_folder for run in ("run", "anew"))
    shutil.rmtree(other, ignore_errors=True)
    if record.exists():
        shutil.copytree(record, other)
        rate("anew", "--from", "0")
    if not same_tables(*(rated(lake, run) for run in ("run", "anew"))):
        raise Violation("a run differs from a new run of the final history", str(Run.names(lake)))
    check_sound(path, "after concurrent commands and a rating")
