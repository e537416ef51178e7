"""Common parts of rows: timing, options and results."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

__all__ = ["Command", "Options", "Result", "SkippedRow", "best_of", "invoke", "reported", "run_command"]

T = TypeVar("T")


class SkippedRow(Exception):
    """A row cannot be measured; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line.

    Attributes
    ----------
    data : Path
        Folder with the real data sets.
    limit : int or None
        Number of contests of each data set, to try the programs.
    exact : bool
        Whether to run the peer's exact mode on all of Codeforces, which takes about half an hour.
    """

    data: Path
    limit: int | None = None
    exact: bool = False

    def file(self, name: str) -> Path:
        """A real data set; the row is skipped where it is missing."""
        path = self.data / name
        if not path.exists():
            raise SkippedRow(f"{name} is not in the data folder; give another with --data")
        return path

    def least(self, n: int) -> int:
        """``n`` contests, or fewer with a limit."""
        return n if self.limit is None else min(n, self.limit)


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table.

    Attributes
    ----------
    name : str
        Name of the row.
    what : str
        Description of the measurement.
    ours, peer : float or None
        Seconds.
    difference : float or None
        Largest |mu - mu of the peer| over all players, rating points.
    targets : dict of str to bool
        Targets with their measured values, and whether they are reached.
    figures : dict of str to float
        Further numbers, for the JSON.
    """

    name: str
    what: str
    ours: float | None = None
    peer: float | None = None
    difference: float | None = None
    targets: dict[str, bool] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Time of the peer divided by ours."""
        return self.peer / self.ours if self.peer and self.ours else None


def best_of(repeats: int, work: Callable[[Any], T], prepare: Callable[[], Any] = lambda: None) -> tuple[float, T]:
    """Seconds of the fastest of ``repeats`` calls of ``work``, and the result of the last one.

    ``prepare`` makes each call's argument and is not timed.
    """
    best = float("inf")
    for _ in range(repeats):
        prepared = prepare()
        gc.collect()
        began = time.perf_counter()
        answer = work(prepared)
        best = min(best, time.perf_counter() - began)
    return best, answer


class Command(NamedTuple):
    """Output of a finished command, wall time, processor time, and peak memory."""

    output: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def run_command(*command: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> Command:
    """Run a command to its end, from a fresh and small process.

    Parameters
    ----------
    env
        Additional environment variables.

    Raises
    ------
    RuntimeError
        The command failed; the message has its output.
    """
    told = subprocess.run(
        [sys.executable, Path(__file__).with_name("measure.py"), *command],
        stdout=subprocess.PIPE, check=True, text=True, env={**os.environ, **(env or {})},
    )  # fmt: skip
    done: dict[str, Any] = json.loads(told.stdout)
    if done["code"]:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with code {done['code']}:\n{done['output']}")
    return Command(done["output"], done["seconds"], done["cpu_seconds"], done["peak_bytes"])


def invoke() -> str:
    """The installed command, this interpreter's own if it has one."""
    found = shutil.which("ranklake", path=Path(sys.executable).parent) or shutil.which("ranklake")
    if found is None:
        raise SkippedRow("the command ranklake is not installed; pip install -e '.[bench]'")
    return found


def reported(command: Command) -> float:
    """Seconds that a command reports of itself, in tenths."""
    found = re.search(r" in ([0-9.]+) s", command.output)
    if found is None:
        raise RuntimeError(f"the command reported no seconds: {command.output}")
    return float(found[1])
