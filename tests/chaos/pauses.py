"""A writer is suspended, another one takes over with --steal and commits, and the first one continues.

The stale writer must end with exit code 1 and name its successor; or with 0 if its commit came before, or if it had not
yet begun and runs after the successor. No commit of the successor is lost.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from chaos.cases import Violation
from chaos.commands import DATASET, Words, command_server, with_paths
from chaos.lives import Content, check_ended, check_sound, content, differences, lives, run, said
from chaos.world import World
from helpers.command_server import Ended
from helpers.life import put

FIRST = ["ingest", "files", "{first}", *DATASET]
SECOND = ["ingest", "files", "{second}", *DATASET]
RATE = ["rate", *DATASET, "--run", "run"]
AMEND = ["amend", "14", "--remove", "player 3", *DATASET]
PUBLISH = ["publish", "--run", "run"]

PRELUDES: tuple[list[Words], ...] = (
    [FIRST, RATE],
    [FIRST, RATE, SECOND],
    [FIRST, RATE, ["compact", "--run", "run", "--rows", "100"], SECOND],
    [FIRST, RATE, PUBLISH, SECOND],
)
BY_HAND: tuple[Words, ...] = (
    ["amend", "3", "--remove", "player 0", *DATASET],
    AMEND,
    ["alias", "player 1", "player 2", *DATASET],
    ["remove", "5", *DATASET],
)
INGESTS: tuple[Words, ...] = (
    SECOND,
    ["ingest", "files", "{third}", *DATASET],
    ["ingest", "files", "{first}", *DATASET, "--mirror"],
    ["ingest", "files", "{second}", *DATASET, "--rewrite"],
    ["compact", *DATASET, "--rows", "150"],
)
RATINGS: tuple[Words, ...] = (
    RATE,
    [*RATE, "--exclude", "4"],
    [*RATE, "--from", "9"],
    [*RATE, "--system", "elo", "--replace"],
    ["compact", "--run", "run", "--rows", "100"],
)
DELETION: Words = ["delete", "--run", "run", "--yes"]
PUBLICATIONS: tuple[Words, ...] = (PUBLISH, [*PUBLISH, "--maintain"], [*PUBLISH, "--afresh"])


def draw(seed: int) -> dict[str, Any]:
    """A command, the operation before which it is suspended, and its successor: both write in one folder."""
    dice = random.Random(seed)
    victims, successors = dice.choice([
        ((*BY_HAND, *INGESTS), INGESTS), ((*BY_HAND, *INGESTS), INGESTS), ((*RATINGS, DELETION), RATINGS),
        ((*RATINGS, DELETION), (*RATINGS, DELETION)), (PUBLICATIONS, PUBLICATIONS),
    ])  # fmt: skip
    prelude = dice.choice(PRELUDES if victims is not PUBLICATIONS else PRELUDES[3:])
    victim, at = dice.choice(victims), dice.randrange(1000)
    return {"prelude": prelude, "victim": victim, "at": at, "successor": [*dice.choice(successors), "--steal"]}


def check(world: World, parameters: dict[str, Any]) -> None:
    prelude, victim, successor = (parameters[name] for name in ("prelude", "victim", "successor"))
    alone = lives(world).after([*prelude, victim])
    lake = world.fresh_folder() / "lake"
    put(alone.before, lake)
    stale = command_server(world).start(
        *with_paths(world, victim), "--lake", str(lake), at=parameters["at"] % len(alone.operations), how="stop"
    )
    ended = stale.wait()
    try:
        if not ended.stopped:
            check_ended(ended, victim)
            return
        world.counts["pauses"] += 1
        paused = content(lake)
        taken = run(world, successor, lake)
        committed = content(lake)
        second = world.fresh_folder("after") / "lake"
        put(lake, second)
        ended = stale.go_on().wait()
    finally:
        if ended.stopped:
            ended = stale.kill()
    check_ended(ended, victim)
    words = "\n".join(said(one, which) for one, which in ((victim, ended), (successor, taken)))
    try:
        check_sound(lake, "after a stale writer continued")
    except Violation as violation:
        raise Violation(f"{victim[0]} that was taken over leaves damage", f"{words}{violation.detail}") from None
    found = content(lake)
    _check_outcome(world, victim, ended, second, (paused, committed, found, alone.content), words)
    if ended.code == 1 and taken.code == 0 and "took over" not in ended.err and differences(found, committed):
        raise Violation(f"{victim[0]} that was taken over does not report it", words)


def _check_outcome(
    world: World,
    victim: Words,
    ended: Ended,
    second: Path,
    states: tuple[Content, Content, Content, Content],
    words: str,
) -> None:
    """Check that the commit of the successor stays, and that the stale writer reports its result correctly."""
    paused, committed, found, alone = states
    changed = differences(found, committed)
    if not changed and (ended.code == 1 or not differences(paused, alone) or not differences(committed, alone)):
        return
    later = run(world, victim, second)  # as after the successor
    if ended.code == later.code and not differences(found, content(second)):
        return
    if changed:
        raise Violation(f"{victim[0]} that was taken over changes a commit of the successor", f"{words}{changed}")
    raise Violation(f"{victim[0]} that was taken over reports success without it", words)
