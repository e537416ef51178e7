"""Workers call other workers for the driver: the bits of one process, and losses of workers that pass calls on or not.

Runs where Dask's distributed scheduler is installed (`pip install 'ranklake[cluster]'`).
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.lakes import commit_often, lake_of, rate_run, rated, same_tables, synthetic

import ranklake.flows.execution.overlap
import ranklake.flows.execution.partitioned
from ranklake.flows.engines import fan_out, relay
from ranklake.flows.engines.serial import Serial
from ranklake.storage import Lake

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed: no Dask to test with")
from helpers.cluster_sites import Site  # noqa: E402
from helpers.ports import listening  # noqa: E402

from ranklake.flows.engines.actors import DaskActorGroup  # noqa: E402
from ranklake.flows.engines.cluster import COMPILE_SECONDS, Cluster  # noqa: E402

CONTESTS = synthetic(24, large=9)
FIRST, OTHER = range(2)  # of a group of two
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


@pytest.fixture(autouse=True)
def groups_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    commit_often(monkeypatch, segment_rows=30, segment_seconds=np.inf)
    monkeypatch.setattr(ranklake.flows.execution.partitioned, "SHARED_SUMMARY_ROWS", 1000)
    monkeypatch.setattr(ranklake.flows.execution.overlap, "OVERLAP_ROWS", 0)
    monkeypatch.setattr(relay, "RELAY_BYTES", 10_000)
    monkeypatch.setattr(fan_out, "DIRECT", 1)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("expected"), CONTESTS)
    rate_run(lake, engine=Serial())
    return lake


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    opened = Site(tmp_path, 4)
    yield opened
    opened.close()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[DaskActorGroup]:
    """The groups of actors that a test has used."""
    found, call_all = list[DaskActorGroup](), DaskActorGroup.call_all

    def watched(self: DaskActorGroup, calls: Any, rows: int = 0, to_all: Any = ()) -> list[list[Any]]:
        if self not in found:
            found.append(self)
        return call_all(self, calls, rows, to_all)

    monkeypatch.setattr(DaskActorGroup, "call_all", watched)
    return found


def test_fan_out__has_the_bits_of_one_process(
    site: Site, expected: Lake, tmp_path: Path, made: list[DaskActorGroup]
) -> None:
    lake = lake_of(tmp_path / "lake", CONTESTS)
    with Cluster(site.address) as engine:
        assert rate_run(lake, engine=engine).recoveries == 0
        (group,) = made
    assert [len(members) for members in group._groups] == [2, 2]
    assert same_tables(rated(lake), rated(expected))


@pytest.mark.bound("ranklake.flows.engines.actors.GRACE_SECONDS")
@pytest.mark.parametrize(("who", "frozen"), [(FIRST, False), (FIRST, True), (OTHER, False), (OTHER, True)])
def test_fan_out__continues_when_a_worker_is_lost(
    site: Site, strike, made, expected: Lake, tmp_path: Path, caplog, who: int, frozen: bool
) -> None:
    lake, lost = lake_of(tmp_path / "lake", CONTESTS), list[str]()

    def blow() -> None:
        lost.append(made[0]._groups[1][who])
        at = int(lost[0].rpartition(":")[2])
        (process,) = [worker for worker in site.workers if any(port == at for _, port in listening([worker.pid]))]
        process.send_signal(signal.SIGSTOP if frozen else signal.SIGKILL)

    strike("resume_summary", blow)
    with Cluster(site.address, timeout=15.0 if frozen else 60.0) as engine:
        assert rate_run(lake, engine=engine).recoveries >= 1
    assert any(lost[0] in message for message in caplog.messages)
    assert same_tables(rated(lake), rated(expected))


@pytest.mark.bound("ranklake.flows.engines.cluster.LINK_SECONDS")
def test_fan_out__calls_workers_directly_that_others_do_not_reach(
    site: Site, expected: Lake, tmp_path: Path, made: list[DaskActorGroup], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, call, limits = lake_of(tmp_path / "lake", CONTESTS), DaskActorGroup.call, dict[str, Any]()

    def cut_off(self: DaskActorGroup, method: str, arguments: Any, *more: Any) -> list[Any]:
        replies = call(self, method, arguments, *more)
        limits[method] = more
        if method == "unreached":
            replies[0] = [address for address, _ in arguments[0][0]]
        return replies

    monkeypatch.setattr(DaskActorGroup, "call", cut_off)
    with Cluster(site.address) as engine:
        assert rate_run(lake, engine=engine).recoveries == 0
        (group,) = made
    assert sorted(len(members) for members in group._groups) == [1, 1, 2]
    assert limits["set_state"] == (COMPILE_SECONDS,)
    assert same_tables(rated(lake), rated(expected))
