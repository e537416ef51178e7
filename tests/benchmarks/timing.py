"""Common parts of rows: timing, options and results."""

from __future__ import annotations

import gc
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from excerpts import excerpt

T = TypeVar("T")

DATA = Path(__file__).parents[2].parent / "shared" / "data"  # the real histories, beside the project
GAMES = 10_000_000  # of the row `games`
SHORT_VARIABLE = "RANKLAKE_BENCHMARK_SHORT"  # of the environment
# Calls are repeated more often while they took less processor time than this together, seconds.
SHORT, MOST_REPEATS = float(os.environ.get(SHORT_VARIABLE, "0.1")), 50
LONG = 0.5  # calls that always take this time are not repeated more often, seconds


class SkippedRow(Exception):
    """A row cannot be measured; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line."""

    data: Path  # folder with the real data sets
    limit: int | None = None  # number of contests of each data set, to try the programs
    exact: bool = False  # also run the peer's exact mode on all of Codeforces: half an hour
    quick: bool = False  # repeat nothing
    excerpts: Path | None = None  # folder for the first contests of each data set; needed with a limit
    games: int = GAMES  # number of games of the row `games`

    def file(self, name: str) -> Path:
        """A real data set, or its first contests; the row is skipped where it is missing."""
        path = self.data / name
        if not path.exists():
            raise SkippedRow(f"{name} is not in the data folder; give another with --data")
        if self.limit is None or self.excerpts is None:
            return path
        return excerpt(path, self.excerpts / name, self.limit)

    def least(self, n: int) -> int:
        """``n`` contests, or fewer with a limit."""
        return n if self.limit is None else min(n, self.limit)

    def smaller(self, n: int) -> int:
        """``n`` participants, or a hundredth of them with a limit."""
        return n if self.limit is None else max(n // 100, 2)

    def repeats(self, n: int, quick: int = 1) -> int:
        """``n`` repeats, or ``quick`` ones of a quick run: two where the first may compile or load kernels."""
        return min(n, quick) if self.quick else n


class Best(float):
    """The smallest of several measurements of one thing.

    ``values`` has all of them, and ``cpu_values`` the processor times of the same calls, where they were measured.
    """

    values: tuple[float, ...]
    cpu_values: tuple[float, ...]

    def __new__(cls, values: Iterable[float], cpu_values: Iterable[float] = ()) -> Self:
        values = tuple(values)
        best = super().__new__(cls, min(values))
        best.values, best.cpu_values = values, tuple(cpu_values)
        return best


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table: times in seconds, :class:`Best` of several, and targets with their measured values.

    The first or last word of the name of a figure, for the history (:mod:`.records`), is its unit.
    """

    name: str  # of the row
    what: str
    ours: float | None = None
    peer: float | None = None
    difference: float | None = None  # largest |mu - mu of the peer| over all players, rating points
    targets: dict[str, bool] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    case: str = ""  # of the measurement within its row, the same in every run

    @property
    def ratio(self) -> float | None:
        """Time of the peer divided by ours."""
        return self.peer / self.ours if self.peer and self.ours else None


def best_of(repeats: int, work: Callable[[Any], T], prepare: Callable[[], Any] = lambda: None) -> tuple[Best, T]:
    """Seconds of the fastest of ``repeats`` calls of ``work``, and the result of the last one.

    Short calls are repeated more often, by the least processor time: the first call may load kernels, and any may wait
    for the processor. Calls that work in other processes are not short. ``prepare`` makes each call's argument and is
    not timed. The processor time is that of all threads of this process. Objects stay frozen until the row ends: the
    next measurement does not traverse them again.
    """
    seconds: list[float] = []
    cpu_seconds: list[float] = []
    gc.collect()
    gc.freeze()  # a collection before each call then takes microseconds, not twenty milliseconds
    while (n := len(seconds)) < repeats or (n < MOST_REPEATS and n * min(cpu_seconds) < SHORT and min(seconds) < LONG):
        prepared = prepare()
        gc.collect()
        began, cpu_began = time.perf_counter(), time.process_time()
        answer = work(prepared)
        seconds.append(time.perf_counter() - began)
        cpu_seconds.append(time.process_time() - cpu_began)
    return Best(seconds, cpu_seconds), answer


class Command(NamedTuple):
    """Output of a finished command, wall time, processor time, and peak memory."""

    output: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def run_command(*command: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> Command:
    """Run a command to its end, from a fresh and small process, with additional environment variables.

    ``RuntimeError``: the command failed; the message has its output.
    """
    told = subprocess.run(
        [sys.executable, Path(__file__).with_name("measure.py"), *command],
        stdout=subprocess.PIPE, check=True, text=True, env={**os.environ, **(env or {})},
    )  # fmt: skip
    done: dict[str, Any] = json.loads(told.stdout)
    if done["code"]:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with code {done['code']}:\n{done['output']}")
    return Command(done["output"], done["seconds"], done["cpu_seconds"], done["peak_bytes"])


def from_tests(module: str) -> Any:
    """A module of the tests; the row is skipped where a package that it imports is not installed."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SkippedRow(f"{error}: pip install --group test -e '.[all]'") from None


def invoke() -> str:
    """The installed command, this interpreter's own if it has one."""
    found = shutil.which("ranklake", path=Path(sys.executable).parent) or shutil.which("ranklake")
    if found is None:
        raise SkippedRow("the command ranklake is not installed; pip install --group bench -e .")
    return found


def reported(command: Command) -> float:
    """Seconds that a command reports of itself, in tenths."""
    found = re.findall(r" in ([0-9.]+) s", command.output)
    if not found:
        raise RuntimeError(f"the command reported no seconds: {command.output}")
    return float(found[-1])  # before it are those of a compilation
