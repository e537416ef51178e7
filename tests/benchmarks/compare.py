"""Compare the benchmarks of two commits: a row that became slower by 10 % fails.

    python tests/benchmarks/compare.py BEFORE AFTER [ROW ...] [--full] [--turns N] [--most-turns N] [--json FILE]

Both commits are measured in turn on this machine with the installed packages of this interpreter. The exit code is 1
if a row became slower, 2 if a commit cannot be measured. README.md beside this file describes the decision.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from commits import CommitError, Side, export
from paired import JUDGED, LEAST_TURNS, Change, change
from records import append, read
from rich.console import Console
from rich.table import Table
from timing import DATA, SHORT_VARIABLE

PROGRAMS = Path(__file__).parent
TURNS, MOST_TURNS = 9, 41  # until all cases are certain
SHORT = 2.0  # seconds of short calls in a turn: a run takes longer to start, and the minimum of two calls is noise
SHOWN = 2_000  # last characters of the output of a failed run

Key = tuple[str, str]  # row and case
Seconds = dict[Key, list[float]]


def main(arguments: Sequence[str] | None = None, repository: Path = PROGRAMS.parents[1]) -> int:
    """Measure two commits in turn and print the ratios of their times."""
    given, words = _arguments(arguments)
    console = Console() if Console().is_terminal else Console(width=150)
    try:
        with tempfile.TemporaryDirectory() as folder:
            names = (given.before, given.after)
            sides = [export(repository, name, Path(folder, str(i))) for i, name in enumerate(names)]
            before, after = _measure(sides, given, words, console)
    except CommitError as error:
        console.print(f"{error}", style="red", markup=False)
        return 2
    changes = _changes(before, after)
    console.print(_table(changes, f"{given.after} beside {given.before}, {given.figure}"))
    for key in sorted((before.keys() | after.keys()) - changes.keys()):
        console.print(f"{' '.join(key)}: measured at one commit only", style="yellow", markup=False)
    if not changes:
        console.print(f"neither commit has a figure {given.figure} of these rows", style="red", markup=False)
        return 2
    return 1 if any(one.slower for one in changes.values()) else 0


def _changes(before: Seconds, after: Seconds) -> dict[Key, Change]:
    """The changes of the cases that both sides have."""
    return {key: change(before[key], after[key]) for key in before if len(before[key]) == len(after.get(key, ()))}


def _arguments(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, list[str]]:
    """The options, and the words for each run of the rows."""
    parser = argparse.ArgumentParser(description="Compare the benchmarks of two commits.")
    parser.add_argument("before", metavar="BEFORE", help="a commit, branch or tag")
    parser.add_argument("after", metavar="AFTER", help="another one")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows of run.py, all by default")
    parser.add_argument(
        "--turns", type=int, default=TURNS, help=f"least runs of each commit ({TURNS}), after one to compile"
    )
    parser.add_argument(
        "--most-turns", type=int, default=MOST_TURNS,
        help=f"while a case is uncertain, more runs, up to this number ({MOST_TURNS})",
    )  # fmt: skip
    parser.add_argument("--figure", default="seconds", help="the compared figure (seconds), for example cpu_seconds")
    parser.add_argument("--full", action="store_true", help="whole histories; without it, --quick of run.py")
    parser.add_argument("--own", action="store_true", help="the programs of each commit, not those beside this file")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the real data sets (../shared/data)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also append all numbers to this history")
    given = parser.parse_args(arguments)
    if given.turns < LEAST_TURNS:
        parser.error(f"--turns must be >= {LEAST_TURNS}, got {given.turns}")
    return given, [*given.rows, *([] if given.full else ["--quick"]), "--data", str(given.data.resolve())]


def _measure(
    sides: Sequence[Side], given: argparse.Namespace, words: Sequence[str], console: Console
) -> list[Seconds]:  # fmt: skip
    """The chosen figure of each side, one value a turn. The first turn compiles and is not counted."""
    found: list[Seconds] = [defaultdict(list) for _ in sides]
    for turn in range(max(given.turns, given.most_turns) + 1):
        if turn > given.turns and all(one.certain for one in _changes(found[0], found[1]).values()):
            break
        console.print(f"turn {turn} ...", style="dim")
        for i in (0, 1) if turn % 2 else (1, 0):  # the order alternates, so that a rising load has no effect
            programs = sides[i].folder / "tests" / "benchmarks" if given.own else PROGRAMS
            lines = _run(sides[i], programs, words)
            if given.json is not None and turn:
                append(given.json, lines)
            for line in lines if turn else ():
                if line["figure"] == given.figure:
                    found[i][line["row"], line["case"]].append(line["minimum"])
    return [dict(one) for one in found]


def _run(side: Side, programs: Path, words: Sequence[str]) -> list[dict[str, Any]]:
    """The records of one run of the rows with the package of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "figures.jsonl")
        done = subprocess.run(
            [sys.executable, programs / "run.py", *words, "--commit", side.commit, "--json", file], cwd=side.folder,
            env={**side.environment, SHORT_VARIABLE: str(SHORT)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False,
        )  # fmt: skip
        if not file.exists():
            raise CommitError(f"{side.commit[:12]} cannot be measured:\n{done.stdout[-SHOWN:]}")
        return read(file)


def _table(changes: Mapping[Key, Change], title: str) -> Table:
    table = Table(title=f"{title}: means of the lower half of the times, and the 99.5 % interval of their ratio")
    for column in ("row", "case"):
        table.add_column(column)
    for column in ("before", "after", "ratio", "interval"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column(f"{100 * (JUDGED - 1):.0f} %")
    for key, one in changes.items():
        verdict = "[red]slower[/]" if one.slower else "[green]faster[/]" if one.faster else ""
        verdict = verdict if one.certain else "uncertain"
        times = (f"{time:.4g}" for time in (one.before, one.after))
        table.add_row(*key, *times, f"{one.ratio:.3f}", f"{one.low:.3f} to {one.high:.3f}", verdict)
    return table


if __name__ == "__main__":
    raise SystemExit(main())
