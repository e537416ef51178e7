"""The process that runs cases, one for each line of its standard input."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

from chaos.cases import Case, Result, Violation
from chaos.kinds import KINDS
from chaos.world import World


def serve(folder: str) -> None:
    """Run cases until the standard input ends."""
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the output of a case is not a result
    with World(Path(folder)) as world:
        threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
        for line in sys.stdin:
            question = json.loads(line)
            case, only_draw = Case(**question["case"]), question["only_draw"]
            results.write((_drawn(case) if only_draw else _tried(world, case)).to_json() + "\n")
            results.flush()


def _end_with(parent: int) -> None:
    """End this process and its children after the end of its parent, which may have been killed."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os.killpg(0, signal.SIGKILL)


def _drawn(case: Case) -> Result:
    return Result(case.with_parameters(KINDS[case.kind].draw(case.seed)))


def _tried(world: World, case: Case) -> Result:
    kind, began = KINDS[case.kind], time.perf_counter()
    world.counts.clear()
    result = Result(case)
    try:
        if case.parameters is None:
            result.case = case = _drawn(case).case
        kind.check(world, case.seed, case.parameters or {})
    except Violation as violation:
        result.rule, result.detail = violation.rule, violation.detail
    except Exception as error:
        result.rule, result.detail = f"the check fails: {type(error).__name__}", traceback.format_exc()
    result.counts.update(world.counts)
    result.seconds = time.perf_counter() - began
    return result
