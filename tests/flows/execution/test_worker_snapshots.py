"""Workers of Dask write snapshots: bytes through the driver, and workers lost, frozen or without the lake.

Runs where Dask's distributed scheduler is installed (`pip install 'ranklake[cluster]'`).
"""

from __future__ import annotations

import json
import logging
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.lakes import commit_often, lake_of, rate_run, rated, same_beliefs, same_tables, synthetic

from ranklake.flows.engines.serial import Serial
from ranklake.storage import Lake, Run

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed: no Dask to test with")
from helpers.cluster_sites import Site  # noqa: E402

from ranklake.flows.engines.actors import DaskActorGroup  # noqa: E402
from ranklake.flows.engines.cluster import Cluster  # noqa: E402

CONTESTS = synthetic(24, large=9)
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


@pytest.fixture(autouse=True)
def workers_write(monkeypatch: pytest.MonkeyPatch) -> None:
    commit_often(monkeypatch, segment_rows=30, snapshot_rows=60, worker_snapshot_players=0)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("expected"), CONTESTS)
    rate_run(lake, engine=Serial())
    return lake


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    opened = Site(tmp_path, 3)
    yield opened
    opened.close()


def same_end(lake: Lake, expected: Lake) -> bool:
    """Whether two runs have the same rounds and the same newest snapshot."""
    one, other = (Run.open(each, "run") for each in (lake, expected))
    last = other.snapshots()[-1]
    beliefs = [run.read_snapshot(last)[0] for run in (one, other)]
    return same_tables(rated(lake), rated(expected)) and same_beliefs(*beliefs)


def parts_of(lake: Lake) -> list[int]:
    """Number of parts of each snapshot; all its files are in its manifest."""
    run, counts = Run.open(lake, "run"), []
    for last in run.snapshots():
        folder = run.path_of_snapshot(last)
        parts = json.loads(lake.read_bytes(f"{folder}/manifest.json"))["parts"]
        counts.append(len(parts))
        assert lake.list(folder) == sorted(["manifest.json", *(f"part-{part['digest']}.arrow" for part in parts)])
    assert lake.list("runs/run/snapshots") == [f"{last:06d}" for last in run.snapshots()]
    return counts


def test_workers__write_snapshots_past_the_driver(
    site: Site, expected: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    lake, groups, call_all = lake_of(tmp_path / "lake", CONTESTS), list[DaskActorGroup](), DaskActorGroup.call_all

    def watched(self: DaskActorGroup, calls: Any, rows: int = 0, to_all: Any = ()) -> list[list[Any]]:
        groups.append(self)
        return call_all(self, calls, rows, to_all)

    monkeypatch.setattr(DaskActorGroup, "call_all", watched)
    with Cluster(site.address) as engine, caplog.at_level(logging.WARNING):
        assert rate_run(lake, engine=engine).recoveries == 0
    assert caplog.messages == []
    assert same_end(lake, expected)
    assert set(parts_of(lake)) == {3}
    traffic: Counter[tuple[str, str]] = groups[0].traffic
    assert ("received", "columns") not in traffic
    snapshots = Run.open(lake, "run").snapshots()
    assert traffic["received", "hand_over"] < 1000 * 3 * len(snapshots)  # digests and sizes of parts
    assert lake.size_below(Run.open(lake, "run").path_of_snapshot(snapshots[-1])) > 30_000


@pytest.mark.parametrize("frozen", [False, True], ids=["killed", "frozen"])
def test_rate__continues_when_a_worker_is_lost_while_others_write(
    site: Site, strike, expected: Lake, tmp_path: Path, frozen: bool
) -> None:
    lake = lake_of(tmp_path / "lake", CONTESTS)
    how = signal.SIGSTOP if frozen else signal.SIGKILL
    strike("hand_over", lambda: site.workers[1].send_signal(how), 5.0 if frozen else None)
    with Cluster(site.address) as engine:
        assert rate_run(lake, engine=engine).recoveries >= 1
        site.workers[1].send_signal(signal.SIGCONT)  # its files come too late
    assert same_end(lake, expected)
    assert set(parts_of(lake)) <= {1, 2, 3}  # slow workers may be left out


def test_driver__writes_for_workers_without_the_lake(expected: Lake, tmp_path: Path, caplog) -> None:
    """A relative address is another folder where the workers are; the lake's own is a memory that they do not have."""
    lake = Lake.open(f"memory://{tmp_path}", create=True)
    for path in (source := lake_of(tmp_path / "lake", CONTESTS)).sizes_below(""):
        if path.startswith("games/") and "lease" not in path:
            lake.write_bytes(path, source.read_bytes(path))
    site = Site(tmp_path, 2)
    try:
        with Cluster(site.address) as engine, caplog.at_level(logging.WARNING, "ranklake.rate"):
            assert rate_run(lake, engine=engine).recoveries == 0
            addresses = engine._addresses()
    finally:
        site.close()
    (warning,) = [record.getMessage() for record in caplog.records if record.name == "ranklake.rate"]
    assert all(address in warning for address in addresses)
    assert "the driver writes the snapshots" in warning
    assert same_end(lake, expected)


def test_workers__find_a_lake_at_a_relative_address(
    expected: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    site = Site(tmp_path, 2)
    lake_of(tmp_path / "lake", CONTESTS)
    monkeypatch.chdir(tmp_path)
    try:
        with Cluster(site.address) as engine, caplog.at_level(logging.WARNING, "ranklake.rate"):
            rate_run(Lake.open("lake"), engine=engine)
    finally:
        site.close()
    assert [record for record in caplog.records if record.name == "ranklake.rate"] == []
    assert same_end(Lake.open("lake"), expected)
    assert set(parts_of(Lake.open("lake"))) == {2}
