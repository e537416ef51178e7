"""A writer that is suspended while another one takes over: after its resumption it changes nothing, and fails."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.command_server import CommandServer, Ended
from helpers.life import (
    COMMANDS,
    CONTESTS,
    CORRECT,
    LOST,
    OUT,
    RATE,
    Step,
    one_of_each_kind,
    put,
    take_over,
    what_counts,
)

from ranklake.flows.maintenance.verify import Verifier
from ranklake.storage import Dataset, Lake
from ranklake.storage.leases.holder import lease_holder

pytestmark = pytest.mark.slow

RATED_AGAIN = "data set games has runs over it"  # a deletion that looks for runs after its resumption
OTHER = CONTESTS[3].handles[0].as_py()
# Further commands, each run in the lake after the others
MORE = (
    ("amend", "14", "--remove", CONTESTS[14].handles[0].as_py(), "--undo", "--dataset", "games"),
    ("alias", OTHER, "somebody else", "--dataset", "games"),
    ("remove", "20", "--dataset", "games"),
    ("publish", "--run", "run", "--afresh"),
    ("delete", "--run", "run", "--with-published", "--yes"),
    ("delete", "--dataset", "games", "--with-runs", "--yes"),
    ("rate", "--dataset", "games", "--run", "run", "--system", "elo", "--replace"),
)


@pytest.fixture(scope="module")
def all_steps(command_server: CommandServer, steps: list[Step], tmp_path_factory: pytest.TempPathFactory) -> list[Step]:
    """All commands that commit."""
    extended, lake = list(steps), tmp_path_factory.mktemp("more") / "lake"
    for command in MORE:
        put(steps[-1].after, lake)
        began = time.perf_counter()
        ended = command_server.done(*command, "--lake", str(lake))
        extended.append(Step(command, steps[-1].after, lake, ended.operations, time.perf_counter() - began))
    return extended


def successors(step: Step, steps: Sequence[Step]) -> list[tuple[str, ...]]:
    """Commands that take over from a command with --steal, and then commit, correct and compact."""
    ingest = (*steps[2].command, "--steal")
    rate, compact = (*RATE, "--steal"), ("compact", "--rows", "100", "--steal")
    if "publish" in step.command or "--with-published" in step.command:
        return [ingest, CORRECT, rate, ("publish", "--run", "run", "--steal")]
    return [ingest, CORRECT, rate, compact]


def under_lease(step: Step) -> range:
    """Numbers of the operations from the first one under a fence to the last one before its lease is released.

    If a command takes several leases in sequence, those under the last one.
    """
    last = max(n for n, line in enumerate(step.operations) if line.startswith("mkdir") and "/writing-" in line)
    folder = step.operations[last].partition(" ")[2].partition("/writing-")[0]
    ends = [n for n, line in enumerate(step.operations) if n > last and line.startswith(f"open {folder}/.tmp-")]
    return range(last + 1, ends[-1])


def changes_names(step: Step, at: int) -> bool:
    """Whether an operation gives or takes a name of the lake. A stop before another one is a stop before the next."""
    verb, path, *_ = step.operations[at].split()
    return verb not in ("open", "write") and path.startswith("/")  # not a name inside of a folder that is deleted


def pause(command_server: CommandServer, step: Step, lake: Path, at: int, commands: Sequence[tuple[str, ...]]) -> Ended:
    """Suspend a command before an operation, let others take over, and resume it: it must have no effect."""
    put(step.before, lake)
    running = command_server.start(*step.command, "--lake", str(lake), at=at, how="stop")
    stopped = running.wait()
    assert stopped.stopped, (at, stopped)
    take_over(command_server, lake, commands)
    before = what_counts(lake)
    ended = running.go_on().wait()
    opened, context = Lake.open(lake), (step.command, at, step.operations[at], ended)
    assert what_counts(lake) == before, context
    assert list(Verifier(opened).everything()) == [], context
    assert OUT in Dataset.open(opened, "games").log().disqualified["16"], context
    assert [lease_holder(opened, folder) for folder in ("games", "runs/run")] == [None, None], context
    assert list(lake.glob("**/writing-*")) == [], context
    assert "Traceback" not in ended.err, context
    return ended


def assert_lost(ended: Ended, *others: str) -> None:
    """Check that a command failed, as it lost its lease or with one of ``others``."""
    assert ended.code == 1, ended
    assert any(words in ended.err for words in (LOST, *others)), ended.err


def commit_of(step: Step, words: str, number: int = -1) -> int:
    """Number of an operation that gives a file its name."""
    operations = enumerate(step.operations)
    return [n for n, line in operations if line.startswith("rename") and words in line.split()[-1]][number]


def test_ingest__suspended_before_its_commit_takes_nothing_from_its_successor(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    step = steps[2]
    at = commit_of(step, "contests.parquet")
    assert_lost(pause(command_server, step, tmp_path / "lake", at, successors(step, steps)))


def test_rate__suspended_before_a_manifest_takes_nothing_from_its_successor(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    step = steps[3]
    for at in (commit_of(step, "/rounds/", -1), commit_of(step, "/rounds/0", 0)):
        assert_lost(pause(command_server, step, tmp_path / "lake", at, successors(step, steps)))


@pytest.mark.parametrize("command", dict.fromkeys(words[0] for words in (*COMMANDS, *MORE)))
def test_writers__suspended_anywhere_take_nothing_from_their_successors(
    command_server: CommandServer, all_steps: list[Step], tmp_path: Path, command: str
) -> None:
    steps = [step for step in all_steps if step.command[0] == command]
    points = [(step, at) for step, at in one_of_each_kind(steps, under_lease) if changes_names(step, at)]
    assert points
    for step, at in points:
        others = [RATED_AGAIN] if "--with-runs" in step.command else []
        assert_lost(pause(command_server, step, tmp_path / "lake", at, successors(step, all_steps)), *others)


def test_writers__suspended_while_they_take_or_release_the_lease_lose_nothing(
    command_server: CommandServer, all_steps: list[Step], tmp_path: Path
) -> None:
    """They take the lease after the successor, or have no work left to do."""
    for step in (all_steps[number] for number in (1, 2, 4, 6)):  # rate, ingest, publish, compact
        guarded = under_lease(step)
        for at in (guarded[0] - 1, guarded[-1] + 1, guarded[-1] + 3, len(step.operations) - 1):
            put(step.before, tmp_path / "lake")
            running = command_server.start(*step.command, "--lake", str(tmp_path / "lake"), at=at, how="stop")
            assert running.wait().stopped
            take_over(command_server, tmp_path / "lake", successors(step, all_steps))
            running.go_on().wait()
            opened = Lake.open(tmp_path / "lake")
            assert list(Verifier(opened).everything()) == []
            assert OUT in Dataset.open(opened, "games").log().disqualified["16"]
