"""Wrong fences and leases before a command, and changes that are answered with an error though they were done."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from chaos.cases import Violation
from chaos.commands import draw_command, draw_commands
from chaos.lives import check_content, check_sound, content, lives, run, said
from chaos.world import World
from helpers.life import put

from ranklake.flows.maintenance.verify import Verifier
from ranklake.storage import Lake
from ranklake.storage.leases.holder import lease_file, lease_numbers

FOLDERS = ("games", "runs/run")
REFUSED = "delete it if no process uses that folder"
REPEATS = "from helpers.repeats import repeat_changes\nrepeat_changes({lake!r}, every={every})"
DAMAGE = ("{", "[]", "\0" * 512, '{"who": "somebody"}', '{"who": 1e999}')


def draw(seed: int) -> dict[str, Any]:
    """A command after others, in a lake with names of leases; ``every`` so many changes are repeated, none with 0."""
    dice = random.Random(seed)
    prelude = draw_commands(random.Random(dice.randrange(8)), dice.choice([1, 2, 3]))
    kinds = ["fence", "fence", "file", "revoked", "strange", "temporary", "lease", "folder"]
    numbers = [-2, -1, 0, 0, 0, 1, 2, 1000, 10**9, 10**12]
    left = [{"folder": dice.choice(FOLDERS), "what": dice.choice(kinds), "number": dice.choice(numbers),
             "damage": dice.choice(DAMAGE)} for _ in range(dice.randrange(5))]  # fmt: skip
    every = dice.choice([0, 1, 1, 2, 3, 7])
    return {"prelude": prelude, "left": left, "command": draw_command(dice), "every": every}


def check(world: World, parameters: dict[str, Any]) -> None:
    command, every = parameters["command"], parameters["every"]
    alone = lives(world).after([*parameters["prelude"], command])
    lake = world.fresh_folder() / "lake"
    put(alone.before, lake)
    paths = [path for one in parameters["left"] if (path := _leave(lake, **one)) is not None]
    _check_named(lake, paths)
    before = REPEATS.format(lake=str(lake), every=every) if every else ""
    ended = run(world, command, lake, before=before)
    world.counts["faults"] += len(paths) + bool(every)
    world.counts["commands"] += 1
    words = said(command, ended)
    leases = [path for path in paths if path.name.startswith("lease-")]
    fails = ended.code == 1 and alone.ended.code == 0 and command[0] != "verify"
    if fails and not (leases and REFUSED in ended.err):
        raise Violation(f"{command[0]} fails because of a left fence", words)
    for path in leases:
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
    if leases:
        again = run(world, command, lake, before=before)
        words += f"then {again.code}\n{again.err}"
    check_content(content(lake), alone.content, f"{command[0]} with left fences does not end as if undisturbed", words)
    check_sound(lake, f"after {command[0]} with left fences")


def _leave(lake: Path, folder: str, what: str, number: int, damage: str) -> Path | None:
    """Make a left name in a folder of the lake, by its distance from the next lease; None if it is taken or too low."""
    after = max(lease_numbers(Lake.open(lake), folder), default=-1) + 1 + number
    if after < 0:
        return None
    names = {
        "fence": f"writing-{after:06d}",
        "file": f"writing-{after:06d}",
        "revoked": f"writing-{after:06d}-0123456789abcdef",
        "strange": f"writing-{after}x",
        "temporary": f".tmp-{after:016x}",
        "lease": lease_file("", after)[1:],
        "folder": lease_file("", after)[1:],
    }
    path = lake / folder / names[what]
    if path.exists():
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    if what in ("file", "temporary", "lease"):
        path.write_text(damage if what == "lease" else "")
    else:
        path.mkdir()
        if what != "folder":
            (path / ".tmp-0123456789abcdef").touch()
    return path


def _check_named(lake: Path, paths: list[Path]) -> None:
    """Check that verify names each left path."""
    verifier = Verifier(Lake.open(lake))
    said = "\n".join([*verifier.everything(), *verifier.notes])
    for path in paths:
        if f"{path.relative_to(lake)}: " not in said:
            raise Violation("verify does not name what was left", f"{path.relative_to(lake)}\n{said}")
