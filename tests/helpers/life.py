"""The life of a lake as commands, what it is after each of them, and what of it counts."""

from __future__ import annotations

import json
import random
import re
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from helpers.command_server import CommandServer, Ended
from helpers.folders import write_folder
from helpers.lakes import same_tables, synthetic
from helpers.tables import contents, over_years

from ranklake.flows.maintenance.verify import Verifier
from ranklake.storage import Contest, Dataset, Lake, Run
from ranklake.storage.datasets.garbage import referenced
from ranklake.storage.lake.layout import attributes_file, run_file
from ranklake.storage.lake.parquet import metadata_of
from ranklake.storage.lake.schemas import ROUNDS
from ranklake.storage.runs.entry_ratings import entry_files, read_entry_file
from ranklake.storage.runs.smoothing import StoredSmoothing

# Many small files; sized alone, as a stalled machine would cut segments by time.
SETTINGS = """
from ranklake.flows.rating.commits import commit_policy
from ranklake.storage.lake import limits
commit_policy.DEFAULT = commit_policy.CommitPolicy(
    segment_rows=40, segment_seconds=float("inf"), commit_segments=2, commit_seconds=float("inf"),
    snapshot_rows=120, snapshot_seconds=1e9
)
limits.DEFAULT = limits.Limits(file_rows=60)
"""
LIMITS: tuple[dict[str, Any], ...] = (  # about the display ratings of newcomers and of others
    {},
    {"rated_below": 1480.0},
    {},
    {"rated_above": 1250.0},
    {"rated_above": 1100.0, "rated_below": 1550.0, "field_includes_unrated": True},
)


def _limited(number: int, one: Contest) -> Contest:
    """The contest, perhaps with limits of the rating or with an unrated participant."""
    rated = np.arange(len(one)) != 1 if number % 11 == 5 and len(one) > 3 else None
    return replace(one, rated=rated, **LIMITS[number % len(LIMITS)])


CONTESTS = [_limited(number, one) for number, one in enumerate(over_years(synthetic(42)))]
_OUT = CONTESTS[14].handles[0].as_py()


def corrected(one: Contest) -> Contest:
    """The same contest in reverse order, with nobody tied."""
    places = np.arange(len(one), dtype=np.int32)
    rated = None if one.rated is None else one.rated[::-1]
    return replace(one, handles=pa.array(one.handles.to_pylist()[::-1]), lo=places, hi=places, rated=rated)


SOURCES = {
    "first": CONTESTS[:24],
    "second": [*CONTESTS[:9], corrected(CONTESTS[9]), *CONTESTS[10:32]],
    "third": CONTESTS[28:],
}
OUT = CONTESTS[16].handles[0].as_py()
CORRECT = ("amend", "16", "--remove", OUT, "--dataset", "games")  # after which OUT is disqualified
_BEFORE = str(np.datetime64(CONTESTS[20].time_seconds - 1, "s"))
SEASON = ("season", "start", "next", "--at", _BEFORE, "--keep", "0.5", "--centre", "mean", "--dataset", "games")
LOST = "took over from this process"
RATE = ("rate", "--dataset", "games", "--run", "run")
PUBLISH = ("publish", "--run", "run")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("ingest", "files", "first", "--dataset", "games"),
    RATE,
    ("ingest", "files", "second", "--dataset", "games"),
    RATE,
    PUBLISH,
    ("compact", "--dataset", "games", "--rows", "150"),
    ("compact", "--run", "run", "--rows", "100"),
    ("amend", "14", "--remove", _OUT, "--dataset", "games"),
    RATE,
    PUBLISH,
    SEASON,
    ("ingest", "files", "third", "--dataset", "games"),
    RATE,
    (*PUBLISH, "--maintain"),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One command of an undisturbed life: the lake before and after, what it did to its files, and its duration."""

    command: tuple[str, ...]
    before: Path
    after: Path
    operations: list[str]
    seconds: float

    @property
    def writes(self) -> list[int]:
        """Numbers of the operations that write into a file."""
        return [number for number, what in enumerate(self.operations) if what.startswith("write ")]

    def run(self, command_server: CommandServer, lake: Path, at: int = -1, how: str = "") -> Ended:
        """The command, in another lake."""
        return command_server.run(*self.command, "--lake", str(lake), at=at, how=how)


def one_of_each_kind(
    steps: Iterable[Step], numbers: Callable[[Step], Iterable[int]] = lambda step: range(len(step.operations))
) -> list[tuple[Step, int]]:
    """Of the operations with these numbers one of each kind, at a random place of the life, each time the same.

    Operations of one kind are of one command, and differ only in the words with digits in their paths; those on a
    temporary file are told apart by the name that it gets.
    """
    kinds: dict[str, list[tuple[Step, int]]] = {}
    for step in steps:
        for number in numbers(step):
            what = step.operations[number]
            later = step.operations[number:] if "/.tmp-" in what else []
            named = next((other for other in later if other.startswith(("rename", "link"))), "")
            kind = re.sub(r"[\w-]*[0-9][\w-]*", "#", f"{step.command[0]} {what} {named}")
            kinds.setdefault(kind, []).append((step, number))
    dice = random.Random(1)
    return [dice.choice(places) for places in kinds.values()]


def live(command_server: CommandServer, folder: Path, commands: Sequence[tuple[str, ...]] = COMMANDS) -> list[Step]:
    """Live a whole life undisturbed, and keep what the lake was after each command."""
    for name, contests in SOURCES.items():
        write_folder(folder / name, contests)
    lake, steps = folder / "lake", []
    lake.mkdir()
    put(lake, folder / "states" / "0")
    for number, told in enumerate(commands):
        command = tuple(str(folder / word) if word in SOURCES else word for word in told)
        began = time.perf_counter()
        ended = command_server.done(*command, "--lake", str(lake))
        seconds = time.perf_counter() - began
        states = (folder / "states" / str(number), folder / "states" / str(number + 1))
        put(lake, states[1])
        steps.append(Step(command, *states, ended.operations, seconds))
    return steps


def take_over(command_server: CommandServer, lake: Path | str, commands: Sequence[tuple[str, ...]]) -> None:
    """Run commands in one process, which saves time."""
    before = f"""
import sys
from ranklake.flows.cli.main import main
for command in {list(commands)!r}:
    sys.argv = ["ranklake", *command, "--lake", {str(lake)!r}]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise RuntimeError(command) from ended
sys.argv = ["ranklake", "runs", "--lake", {str(lake)!r}]
"""
    ended = command_server.run("runs", "--lake", str(lake), before=before)
    assert ended.code == 0, ended.err


def put(state: Path, lake: Path) -> None:
    """Make a lake what another one is."""
    shutil.rmtree(lake, ignore_errors=True)
    shutil.copytree(state, lake)


def what_counts(path: Path | str) -> dict[str, bytes]:
    """The bytes of every file of a lake that its data set, its run and its consumers refer to; Delta's tables apart.

    The ratings at entry of a run are one item: their rows do not depend on the files that they are in.
    """
    lake, paths, records = Lake.open(path), set[str](), dict[str, bytes]()
    for name in Dataset.names(lake):
        contests = Dataset.open(lake, name).contests
        paths |= referenced(name, contests.column("file").to_pylist(), metadata_of(contests.schema))
        paths |= {path for path in [attributes_file(name)] if lake.exists(path)}
    for name in Run.names(lake):
        run = Run.open(lake, name)
        paths |= {run_file(name), *map(run.path_of, run.segments().segments)}
        for segment in run.segments().segments:
            paths.add(f"{run.path_of(segment).rpartition('/')[0]}/{segment.first_round:06d}.json")
        for last_round in run.snapshots()[-1:]:
            folder = run.path_of_snapshot(last_round)
            paths |= {f"{folder}/{file}" for file in lake.list(folder)}
        records[f"runs/{name}/entry"] = _entry_rows(lake, run)
        smoothing = StoredSmoothing(lake, name)
        if smoothed := smoothing.manifest("smoothed"):
            records[f"runs/{name}/smoothed"] = lake.read_bytes(f"{smoothing.folder}/{smoothed.file}")
    paths |= {f"published/run/{name}" for name in lake.list("published/run") if name == "latest.parquet"}
    return {name: lake.read_bytes(name) for name in sorted(paths)} | records


def _entry_rows(lake: Lake, run: Run) -> bytes:
    """The ratings at entry of a run, in one order."""
    names = entry_files(lake, run.entry_folder)
    rows = {
        row
        for name in names
        for row in zip(*read_entry_file(lake, run.entry_folder, name).to_pydict().values(), strict=True)
    }
    return json.dumps(sorted(rows)).encode()


def assert_as_after(lake: Path, step: Step) -> None:
    """What counts is what it is after a command, to the byte; what is published, to the bit."""
    found, wanted = what_counts(lake), _of_state(step.after).files
    assert found.keys() == wanted.keys(), found.keys() ^ wanted.keys()
    assert found == wanted, [name for name in wanted if found[name] != wanted[name]]
    if "publish" not in step.command:
        return
    tables, expected = published(lake), _of_state(step.after).tables
    assert tables.keys() == expected.keys(), tables.keys() ^ expected.keys()
    others = [name for name in expected if not same_tables(tables[name], expected[name])]
    assert others == []


def assert_sound(lake: Path, step: Step) -> None:
    """Nothing is damaged, and each part is what it was before a command or what it is after it, or on its way there."""
    opened = Lake.open(lake)
    problems = list(Verifier(opened).everything())
    assert problems == [], problems
    states = [_of_state(path) for path in (step.before, step.after)]
    found = {name: data for name, data in what_counts(lake).items() if name.startswith("games/")}
    assert found in [{k: v for k, v in state.files.items() if k.startswith("games/")} for state in states]
    before, after = (state.tables for state in states)
    before = before or {name: table.slice(0, 0) for name, table in after.items()}  # made empty, then written
    for name, table in published(lake).items() if "publish" in step.command else ():
        assert any(same_tables(table, tables[name]) for tables in (before, after))
    if "run" in Run.names(opened):
        rounds = Run.open(opened, "run").read_rounds(verify=True)
        assert any(same_tables(rounds, state.rounds.slice(0, rounds.num_rows)) for state in states)


def assert_finishes(command_server: CommandServer, step: Step, lake: Path) -> None:
    """The same command again, and the lake is as if nothing had happened."""
    ended = step.run(command_server, lake)
    assert ended.code == 0, ended.err
    assert "Error" not in ended.err
    assert_as_after(lake, step)


def published(path: Path) -> dict[str, pa.Table]:
    """What consumers read, table by table, in order."""
    return contents(Lake.open(path)) if (path / "published" / "run").exists() else {}


class _State(NamedTuple):
    """What counts of a lake, what is published of it, and what its run has rated."""

    files: dict[str, bytes]
    tables: dict[str, pa.Table]
    rounds: pa.Table


@cache
def _of_state(path: Path) -> _State:
    """Of a lake that nobody changes any more."""
    lake = Lake.open(path)
    rounds = Run.open(lake, "run").read_rounds() if Run.names(lake) else ROUNDS.empty_table()
    return _State(what_counts(path), published(path), rounds)
