"""The history of measured figures: a file of JSON lines, one for each figure of each run of a row."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from timing import Best, Options, Result

import ranklake

PACKAGES = ("Elo-MMR-Py", "girth", "numpy", "numba", "pyarrow")
UNITS = {"seconds": "s", "ms": "ms", "ns": "ns", "bytes": "bytes"}


def records(results: Iterable[Result], options: Options, commit: str | None = None) -> list[dict[str, Any]]:
    """One record for each finite figure of the results, with commit and machine.

    The figure ``seconds`` is the time of ranklake; ``minimum`` and ``median`` are those of ``n`` measurements.
    ``commit`` is by default that of the repository with the imported package. ``ValueError``: two figures of a row have
    the same case and name.
    """
    run = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"), **_commit(commit), "machine": machine(),
        "limit": options.limit, "quick": options.quick,
    }  # fmt: skip
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for result in results:
        times = {"seconds": result.ours, "peer_seconds": result.peer, "difference": result.difference}
        if isinstance(result.ours, Best) and result.ours.cpu_values:
            times["cpu_seconds"] = Best(result.ours.cpu_values)
        for figure, value in (times | result.figures).items():
            if value is None or not math.isfinite(value):
                continue
            key = result.name, result.case, figure
            if key in found:
                raise ValueError(f"row {result.name} has two figures {figure} of the case {result.case!r}")
            values = sorted(value.values if isinstance(value, Best) else (float(value),))
            found[key] = run | {
                "row": result.name, "case": result.case, "figure": figure, "unit": _unit(figure),
                "minimum": values[0], "median": median(values), "n": len(values),
            }  # fmt: skip
    return list(found.values())


def append(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Append records to a file; it is made where it is missing."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def read(path: Path) -> list[dict[str, Any]]:
    """All records of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def machine() -> dict[str, str | int | float]:
    """Properties of the machine, with its present load."""
    facts: dict[str, str | int | float] = {
        "processor": _processor(), "cores": os.cpu_count() or 1, "load": _load(),
        "python": platform.python_version(),
    }  # fmt: skip
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    return facts


def _load() -> float:
    """Mean number of running processes in the last minute; -1 on Windows, which does not count them."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else -1.0


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    named = (line.partition(": ")[2] for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _commit(given: str | None) -> dict[str, Any]:
    """Commit of the measured package, and whether its files differ from it; none outside of a repository."""
    if given is not None:
        return {"commit": given, "changed": False}
    package = Path(ranklake.__file__).resolve().parent
    try:
        commit, changes = (
            subprocess.run(["git", "-C", package, *words], capture_output=True, text=True, check=True).stdout.strip()
            for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        )
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "changed": False}
    return {"commit": commit, "changed": bool(changes)}


def _unit(figure: str) -> str:
    """The unit in a figure's name, its first or last word; empty for a number without a unit."""
    words = figure.replace("_", " ").split()
    if figure == "difference":
        return "rating points"
    return UNITS.get(words[-1], UNITS.get(words[0], ""))
