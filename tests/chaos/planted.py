"""Cases that fail for a known reason, to test the suite itself."""

from __future__ import annotations

import os
import random
import time
from typing import Any

from chaos.cases import Violation
from chaos.world import World

HANGS, DIES = 78, 79  # never drawn


def draw(seed: int) -> dict[str, Any]:
    dice = random.Random(seed)
    return {"numbers": [dice.randrange(78) for _ in range(60)]}


def check(world: World, parameters: dict[str, Any]) -> None:
    world.counts["records"] += len(parameters["numbers"])
    for number in parameters["numbers"]:
        if number == HANGS:
            (world.folder / "hangs").write_text(str(os.getpid()))
            time.sleep(10_000)
        if number == DIES:
            os._exit(3)
        if number == 77:
            raise Violation("77 is among the numbers", f"{len(parameters['numbers'])} numbers")
