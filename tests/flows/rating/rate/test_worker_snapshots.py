"""Snapshots that workers write have the beliefs of one process, for any number of workers, also if one cannot write."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.in_process_engine import InProcessActorGroup, InProcessEngine
from helpers.lakes import commit_often, lake_of, rate_run, rated, same_beliefs, same_tables, synthetic

from ranklake.flows.engines.protocols import WorkersLostError
from ranklake.flows.engines.serial import Serial
from ranklake.storage import Lake, LakeError, Run
from ranklake.storage.leases.lease import Delegate
from ranklake.storage.runs import worker_parts

CONTESTS = synthetic(14, large=8)
OF_DRIVER = "part-0000.arrow"


@pytest.fixture(autouse=True)
def workers_write(monkeypatch: pytest.MonkeyPatch) -> None:
    commit_often(monkeypatch, segment_rows=30, segment_seconds=np.inf, snapshot_rows=60, worker_snapshot_players=0)
    monkeypatch.setattr(worker_parts, "PART_PLAYERS", 100)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("expected"), CONTESTS)
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=30, segment_seconds=np.inf, snapshot_rows=60)
        rate_run(lake, engine=Serial())
    return lake


def same_snapshots(lake: Lake, other: Lake) -> bool:
    run, expected = Run.open(lake, "run"), Run.open(other, "run")
    return run.snapshots() == expected.snapshots() and all(
        run.snapshot_digest(last) == expected.snapshot_digest(last)
        and same_beliefs(run.read_snapshot(last)[0], expected.read_snapshot(last)[0])
        for last in expected.snapshots()
    )


def newest_files(lake: Lake) -> list[str]:
    run = Run.open(lake, "run")
    return lake.list(run.path_of_snapshot(run.snapshots()[-1]))


def nothing_else(lake: Lake) -> bool:
    """Whether the folder of snapshots has the files of its manifests alone."""
    run, named = Run.open(lake, "run"), set[str]()
    for last in run.snapshots():
        folder = run.path_of_snapshot(last)
        manifest = json.loads(lake.read_bytes(f"{folder}/manifest.json"))
        named |= {f"{folder}/part-{part['digest']}.arrow" for part in manifest["parts"]} | {f"{folder}/manifest.json"}
    return named == {f"runs/run/snapshots/{path}" for path in lake.sizes_below("runs/run/snapshots")}


@pytest.mark.quick("engine0")
@pytest.mark.parametrize("engine", [InProcessEngine(1), InProcessEngine(5)])
def test_workers__write_the_snapshots_of_one_process(engine: Any, expected: Lake, tmp_path: Path, caplog) -> None:
    lake = lake_of(tmp_path, CONTESTS)
    rate_run(lake, engine=engine)
    assert caplog.messages == []
    assert same_tables(rated(lake), rated(expected))
    assert same_snapshots(lake, expected)
    assert OF_DRIVER not in newest_files(lake)
    assert len(newest_files(lake)) >= 1 + 1540 // 100


@pytest.mark.slow
def test_workers__resume_from_what_other_workers_wrote(expected: Lake, tmp_path: Path) -> None:
    lake = lake_of(tmp_path, CONTESTS)
    rate_run(lake, engine=InProcessEngine(4), max_rounds=7)
    report = rate_run(lake, engine=InProcessEngine(3))
    assert (report.kept, report.replayed) == (7, 0)
    assert same_tables(rated(lake), rated(expected))
    newest = [Run.open(one, "run").read_snapshot(len(CONTESTS) - 1) for one in (lake, expected)]
    assert same_beliefs(newest[0][0], newest[1][0])


@pytest.mark.quick("error0")
@pytest.mark.parametrize("error", [LakeError("read-only file system"), PermissionError("no")])
def test_driver__writes_the_snapshots_if_a_worker_cannot(
    error: Exception, expected: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    lake, opened, writes = lake_of(tmp_path, CONTESTS), Delegate.open, list[str]()

    def second_fails(self: Delegate) -> Lake:
        writes.append(self.address)
        if len(writes) == 2:
            raise error
        return opened(self)

    monkeypatch.setattr(Delegate, "open", second_fails)
    with caplog.at_level(logging.WARNING):
        rate_run(lake, engine=InProcessEngine(3))
    assert caplog.messages == [
        f"run run: the driver writes the snapshots, as these workers cannot write into the lake: actor 1 ({error})"
    ]
    assert len(writes) == 3
    assert same_tables(rated(lake), rated(expected))
    assert same_snapshots(lake, expected)
    assert OF_DRIVER in newest_files(lake)


@pytest.mark.bound("ranklake.flows.rating.commits.commit_policy.DEFAULT.worker_snapshot_players")
def test_driver__writes_the_snapshots_of_few_players(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_often(monkeypatch, worker_snapshot_players=1541)
    lake = lake_of(tmp_path, CONTESTS)
    rate_run(lake, engine=InProcessEngine(3))
    assert OF_DRIVER in newest_files(lake)


@pytest.mark.slow
def test_rate__continues_when_a_worker_is_lost_after_others_have_written(
    expected: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    lake, lost = lake_of(tmp_path, CONTESTS), list[list[str]]()
    call_all: Callable[..., list[list[Any]]] = InProcessActorGroup.call_all

    def lose_one(self: InProcessActorGroup, calls: Any, rows: int = 0, to_all: Any = ()) -> list[list[Any]]:
        replies = call_all(self, calls, rows, to_all)
        if any(name == "hand_over" for name, _ in calls[0]) and len(lost) < 3:
            lost.append([path for path in lake.sizes_below("runs/run/snapshots") if "part-" in path])
            raise WorkersLostError("a worker is lost while it writes")
        return replies

    monkeypatch.setattr(InProcessActorGroup, "call_all", lose_one)
    report = rate_run(lake, engine=InProcessEngine(3, then=[4, 2]))
    assert report.recoveries == 3
    assert all(lost)
    assert same_tables(rated(lake), rated(expected))
    assert nothing_else(lake)
