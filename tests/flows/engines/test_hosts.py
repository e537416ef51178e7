"""Workers on other hosts (network namespaces), and a network that fails in a round."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.lakes import lake_of, often, rate_run, rated, same_tables, synthetic

from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.serial import Serial

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed: no Dask to test with")

from helpers.hosts import Hosts, NoHostsError  # noqa: E402

from ranklake.flows.engines.actors import DaskActorGroup  # noqa: E402
from ranklake.flows.engines.cluster import Cluster  # noqa: E402

OFTEN = often(segment_rows=30)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

CONTESTS = synthetic(40, large=9)
INNER = 1  # of a tree of four


def hosts_of(folder: Path, workers: int) -> Hosts:
    try:
        return Hosts(workers, folder)
    except NoHostsError as why:
        pytest.skip(str(why))


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    with hosts_of(tmp_path, 2) as opened:
        yield opened


@pytest.fixture
def four_hosts(tmp_path: Path) -> Iterator[Hosts]:
    with hosts_of(tmp_path, 4) as opened:
        yield opened


@pytest.mark.parametrize("phase", ["", "receive_priors"], ids=lambda phase: phase or "from the start")
def test_dask__the_driver_sends_to_workers_that_do_not_reach_each_other(
    hosts: Hosts, strike, tmp_path: Path, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = ClusterLimits(shared_summary_rows=1000, relay_bytes=0, chunk_bytes=1000)
    roots: list[int] = []
    connect = DaskActorGroup.connect_relays

    def connect_relays(self: DaskActorGroup, seconds: float) -> None:
        connect(self, seconds)
        roots.append(len(self._roots))

    monkeypatch.setattr(DaskActorGroup, "connect_relays", connect_relays)
    lake, other = lake_of(tmp_path / "lake", CONTESTS), lake_of(tmp_path / "other", CONTESTS)
    if phase:
        strike(phase, lambda: hosts.cut_between(0, 1), 5.0)
    else:
        hosts.cut_between(0, 1)
    with Cluster(hosts.address, limits=limits) as engine:
        report = rate_run(lake, engine=engine, policy=OFTEN)
    rate_run(other, engine=Serial(), policy=OFTEN)
    assert (report.recoveries, roots) == ((1, [1, 2]) if phase else (0, [2]))
    assert same_tables(rated(lake), rated(other))


def test_dask__continues_after_the_loss_of_another_host(hosts: Hosts, strike, tmp_path: Path) -> None:
    lake, other = lake_of(tmp_path / "lake", CONTESTS), lake_of(tmp_path / "other", CONTESTS)
    strike("finish_round", lambda: hosts.cut(1), 5.0)
    with Cluster(hosts.address) as engine:
        report = rate_run(lake, engine=engine, policy=OFTEN)
    rate_run(other, engine=Serial(), policy=OFTEN)
    assert report.recoveries >= 1
    assert same_tables(rated(lake), rated(other))


def test_dask__continues_when_a_link_goes_down_in_the_middle_of_a_field(
    four_hosts: Hosts, strike_message, tmp_path: Path
) -> None:
    limits = ClusterLimits(shared_summary_rows=1000, overlap_rows=0, relay_bytes=0, chunk_bytes=200)
    lake, other = lake_of(tmp_path / "lake", CONTESTS), lake_of(tmp_path / "other", CONTESTS)
    lost: list[str] = []

    def cut(group: DaskActorGroup) -> None:
        lost.append(list(group._actors)[INNER])
        (place,) = [i for i in range(4) if f"//{four_hosts.host(i)}:" in lost[0]]
        four_hosts.cut(place)

    strike_message("receive_priors", cut, 5.0)
    with Cluster(four_hosts.address, limits=limits) as engine:
        report = rate_run(lake, engine=engine, policy=OFTEN)
    rate_run(other, engine=Serial(), policy=OFTEN)
    assert report.recoveries >= 1
    assert len(lost) == 1
    assert same_tables(rated(lake), rated(other))
