"""Compiled kernels are loaded without numba's registries, and only those of the systems in use are declared."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.registry import of_contests
from ranklake.rating_kernels.warm import CHANCES, PARTS, PROBLEMS, SCORES, SMOOTHING, warm_part

EVERY = [SCORES, SMOOTHING, CHANCES, PROBLEMS, *(f"{name}.{part}" for name in SYSTEMS for part in PARTS)]

LOAD = """
import sys
import numpy as np, numba
from numba.core.registry import cpu_target
from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.core.beliefs import Segments, places_needed
from ranklake.rating_kernels.warm import warm_part

def registries():
    return len(cpu_target.target_context._registries)

def declared():
    return sorted(name for name in sys.modules if name.startswith("ranklake.rating_kernels.systems."))

assert declared() == []
for part in sys.argv[1:]:
    warm_part(part)
    assert not registries(), part

@numba.njit
def twice(rows, history):
    return 2 * places_needed(0, len(rows), rows, history, 3)

rows = np.arange(4, dtype=np.int64)
history = Segments(rows, rows, rows, np.empty(0), rows)
assert twice(rows, history) == 2 * places_needed.py_func(0, 4, rows, history, 3) > 0
assert registries()
"""

PERIOD = """
import sys
from dataclasses import replace
import numpy as np
from ranklake.rating_kernels import SYSTEMS, Outcome, Rounds
from ranklake.rating_kernels.warm import PARTS, report_compiled, warm

compiled = []
for name in sys.argv[1:]:
    system = SYSTEMS[name]
    warm(system)
    with report_compiled(compiled.append):
        params = replace(system.params(), games="simultaneous")
        lo = np.array([0, 1, 0, 1], dtype=np.int32)
        games = Rounds.from_columns([0, 2, 4], np.array([0, 1, 0, 2]), lo, lo, [1, 1])
        system.rate_small(params, system.newcomers(params, 3), games, Outcome.empty(4))
assert compiled == [], compiled
"""

AHEAD = """
import sys
import numpy as np
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Rounds
from ranklake.rating_kernels.warm import report_compiled, warm

compiled = []
for name in sys.argv[1:]:
    system = SYSTEMS[name]
    warm(system)
    lo = np.array([0, 1, 0, 0, 0, 1, 2], dtype=np.int32)
    hi = np.array([0, 1, 1, 1, 0, 1, 2], dtype=np.int32)
    ahead = [18.0, -18.0, -18.0, 18.0, 4.0, -9.0, 0.0]
    rounds = Rounds.from_columns([0, 2, 4, 7], [0, 1, 0, 2, 1, 0, 2], lo, hi, [1, 1, 2], advantage=ahead)
    with report_compiled(compiled.append):
        rate_rounds(system, system.params(), system.newcomers(system.params(), 3), rounds, Serial())
assert compiled == [], compiled
"""

ONE = """
import sys
from ranklake.rating_kernels import SYSTEMS
assert len(SYSTEMS) > 10 and "elo" in SYSTEMS and "other" not in SYSTEMS
assert SYSTEMS["elo"] is SYSTEMS["elo"]
print(*sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("ranklake.rating_kernels.systems.")))
"""


def run(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_systems__have_the_names_of_the_registry() -> None:
    assert {name: system.name for name, system in SYSTEMS.items()} == {name: name for name in SYSTEMS}


@pytest.mark.slow
def test_systems__are_imported_at_their_first_use() -> None:
    assert run(ONE).split() == ["elo"]


@pytest.mark.slow
def test_compiled_kernels__of_all_systems_load_without_registries_that_a_compilation_completes() -> None:
    for part in EVERY:
        warm_part(part)
    run(LOAD, *EVERY)


@pytest.mark.slow
def test_warm_kernels__rate_periods_of_simultaneous_games() -> None:
    run(PERIOD, *(name for name in of_contests() if hasattr(SYSTEMS[name].params(), "games")))


@pytest.mark.slow
def test_warm_kernels__rate_rounds_with_advantages() -> None:
    run(AHEAD, *of_contests())
