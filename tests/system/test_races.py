"""Several processes at one lake: no commit is lost, no reader finds half a commit, and refused writers get an error."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from helpers.builders import content, expected
from helpers.command_server import CommandServer, Ended, RunningCommand
from helpers.folders import write_folder
from helpers.lakes import synthetic
from helpers.life import CONTESTS, Step, assert_as_after, assert_finishes, put

from ranklake.flows.maintenance.verify import Verifier
from ranklake.storage import Dataset, Lake

pytestmark = pytest.mark.slow

INGEST, RATED, RATE_AGAIN, PUBLISH, COMPACT_RUN, AMEND = 2, 3, 8, 4, 6, 7  # numbers of commands
HELD = "holds the lease, last heartbeat"


def stop(command_server: CommandServer, step: Step, lake: Path, at: int) -> RunningCommand:
    """Start a command that is suspended before one of its operations."""
    running = command_server.start(*step.command, "--lake", str(lake), at=at, how="stop")
    assert running.wait().stopped
    return running


def assert_names_holder(ended: Ended, holder: RunningCommand) -> None:
    assert ended.code == 1
    assert ended.err.startswith("Error: ")
    assert f"process {holder.pid}) {HELD}" in ended.err
    assert ended.err.count("\n") == 1


# Ingests


def test_ingest__by_several_processes_at_once_loses_no_contest(command_server: CommandServer, tmp_path: Path) -> None:
    contests = synthetic(60, spice=False)
    sources = [contests[i::6] for i in range(6)]
    for i, source in enumerate(sources):
        write_folder(tmp_path / str(i), source)
    lake = str(tmp_path / "lake")
    under_way = [
        command_server.start("ingest", "files", str(tmp_path / str(i)), "--dataset", "games", "--lake", lake)
        for i in range(6)
    ]
    ended = [running.wait() for running in under_way]
    assert [one.code for one in ended] == [0] * 6, [one.err for one in ended]
    opened = Lake.open(lake)
    assert list(Verifier(opened).everything()) == []
    found = content(opened)
    assert sorted(found) == sorted(expected(contests))
    places = [row[0] for row in found]
    for source in sources:  # the order of each source is kept
        mine = [places.index(one.contest_id) for one in source]
        assert mine == sorted(mine)
    assert Dataset.open(opened, "games").unreferenced() == []
    command_server.done("rate", "--dataset", "games", "--run", "run", "--lake", lake)
    assert list(Verifier(opened).everything()) == []


def test_ingest__killed_beside_others_does_not_affect_them(command_server: CommandServer, tmp_path: Path) -> None:
    contests, dice = synthetic(60, spice=False), random.Random(5)
    lake = str(tmp_path / "lake")
    commands = []
    for i in range(6):
        write_folder(tmp_path / str(i), contests[i::6])
        commands.append(("ingest", "files", str(tmp_path / str(i)), "--dataset", "games", "--lake", lake))
    under_way = [
        command_server.start(*command, at=dice.randrange(14) if i % 2 else -1, how="kill")
        for i, command in enumerate(commands)
    ]
    ended = [running.wait() for running in under_way]
    assert [one.code for one in ended[::2]] == [0] * 3
    assert any(one.killed for one in ended)
    opened = Lake.open(lake)
    assert list(Verifier(opened).everything()) == []
    assert {row[0] for row in content(opened)} >= {one.contest_id for i in (0, 2, 4) for one in contests[i::6]}
    for command in commands:
        command_server.done(*command)
    assert sorted(content(opened)) == sorted(expected(contests))


def test_ingest__and_concurrent_manual_corrections_are_both_committed(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    ingest, amend, lake = steps[11], steps[AMEND], tmp_path / "lake"
    for first, second in ((ingest, amend), (amend, ingest)):
        put(amend.before, lake)
        running = stop(command_server, first, lake, at=8)
        waiting = command_server.start(*second.command, "--lake", str(lake))
        waiting.wait_for_message(f"process {running.pid}) to end")
        assert running.go_on().wait().code == 0
        assert waiting.wait().code == 0
        assert content(Lake.open(lake)) == content(Lake.open(ingest.after))
        assert list(Verifier(Lake.open(lake)).everything()) == []


# Rating


def test_rate__of_two_at_once_one_rates_and_the_other_fails(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    step, lake = steps[RATE_AGAIN], tmp_path / "lake"
    put(step.before, lake)
    running = stop(command_server, step, lake, at=40)
    assert_names_holder(step.run(command_server, lake), running)
    assert running.go_on().wait().code == 0
    assert_as_after(lake, step)


def test_rate__of_many_at_once_ends_as_one_alone(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    for index in (RATED, RATE_AGAIN):
        step, lake = steps[index], tmp_path / "lake"
        put(step.before, lake)
        ended = [
            running.wait() for running in [command_server.start(*step.command, "--lake", str(lake)) for _ in range(4)]
        ]
        assert 0 in [one.code for one in ended]
        assert all(HELD in one.err for one in ended if one.code)
        assert_as_after(lake, step)


@pytest.mark.parametrize("other", [COMPACT_RUN, PUBLISH])
def test_rate__and_other_writers_of_the_run_exclude_each_other(
    command_server: CommandServer, steps: list[Step], tmp_path: Path, other: int
) -> None:
    step, lake = steps[RATE_AGAIN], tmp_path / "lake"
    put(step.before, lake)
    running = stop(command_server, steps[other], lake, at=10 if other == COMPACT_RUN else 6)
    assert_names_holder(step.run(command_server, lake), running)
    assert running.go_on().wait().code == 0
    assert_finishes(command_server, step, lake)

    put(step.before, lake)
    running = stop(command_server, step, lake, at=40)
    if other == COMPACT_RUN:  # it waits
        waiting = command_server.start(*steps[other].command, "--lake", str(lake))
        waiting.wait_for_message(f"process {running.pid}) to end")
        assert running.go_on().wait().code == 0
        assert waiting.wait().code == 0
        assert list(Verifier(Lake.open(lake)).everything()) == []
    else:
        assert_names_holder(steps[other].run(command_server, lake), running)
        assert running.go_on().wait().code == 0
        assert_as_after(lake, step)


def test_rate__sees_the_data_set_of_one_commit(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    rate, ingest, lake = steps[1], steps[INGEST], tmp_path / "lake"
    for at in range(0, len(rate.operations), 20):
        put(rate.before, lake)
        running = stop(command_server, rate, lake, at)
        assert ingest.run(command_server, lake).code == 0
        assert running.go_on().wait().code == 0
        assert list(Verifier(Lake.open(lake)).everything()) == []
        put(lake / "runs", tmp_path / "expected" / "runs")
        put(rate.after / "games", tmp_path / "expected" / "games")
        assert_as_after(tmp_path / "expected", rate)
        assert_finishes(command_server, steps[RATED], lake)


def test_rate__continues_while_its_data_set_is_compacted(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    rate, lake = steps[RATE_AGAIN], tmp_path / "lake"
    put(rate.before, lake)
    running = stop(command_server, rate, lake, at=1)
    assert command_server.run("compact", "--dataset", "games", "--rows", "60", "--lake", str(lake)).code == 0
    assert running.go_on().wait().code == 0
    assert list(Verifier(Lake.open(lake)).everything()) == []


def test_rate__restarts_when_its_data_set_changes_repeatedly(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    """Files that one commit replaces stay until the next commit: for this rating they are missing."""
    rate, lake = steps[1], tmp_path / "lake"
    put(rate.before, lake)
    running = stop(command_server, rate, lake, at=1)
    command_server.done("compact", "--dataset", "games", "--lake", str(lake))
    command_server.done(
        "amend", "3", "--remove", CONTESTS[3].handles[0].as_py(), "--dataset", "games", "--lake", str(lake)
    )
    assert running.go_on().wait().code == 0
    verifier = Verifier(Lake.open(lake))
    assert list(verifier.everything()) == []
    assert not any("stale" in note for note in verifier.notes)
    assert verifier.rounds == 24


# Publishing


def test_publish__of_two_at_once_one_publishes_and_the_other_fails(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    step, lake = steps[9], tmp_path / "lake"
    put(step.before, lake)
    running = stop(command_server, step, lake, at=6)
    assert_names_holder(step.run(command_server, lake), running)
    assert running.go_on().wait().code == 0
    assert_as_after(lake, step)


def test_publish__of_many_at_once_gives_the_tables_of_one(
    command_server: CommandServer, steps: list[Step], tmp_path: Path
) -> None:
    for index in (PUBLISH, 9):
        step, lake = steps[index], tmp_path / "lake"
        put(step.before, lake)
        ended = [
            running.wait() for running in [command_server.start(*step.command, "--lake", str(lake)) for _ in range(4)]
        ]
        assert 0 in [one.code for one in ended]
        assert all(HELD in one.err for one in ended if one.code)
        assert_as_after(lake, step)
