"""The field of a round passes from worker to worker: bytes through the driver, and losses in the middle of a message.

Runs where Dask's distributed scheduler is installed (`pip install 'ranklake[cluster]'`).
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.lakes import lake_of, often, rate_run, rated, same_tables, synthetic
from helpers.rated_runs import fresh

from ranklake.flows.engines.limits import ClusterLimits
from ranklake.storage import Lake

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed: no Dask to test with")
from helpers.cluster_sites import Site  # noqa: E402
from helpers.ports import listening  # noqa: E402

from ranklake.flows.engines.actors import DaskActorGroup  # noqa: E402
from ranklake.flows.engines.cluster import Cluster  # noqa: E402

OFTEN = often(segment_rows=30)

CONTESTS = synthetic(40, large=9)
LIMITS = ClusterLimits(shared_summary_rows=1000, overlap_rows=0, relay_bytes=0, chunk_bytes=200)
FREEZE_SECONDS = 10.0  # timeout of a message to a frozen worker
ROOT, INNER = range(2)  # of a tree of four
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return fresh(tmp_path_factory.mktemp("expected"), CONTESTS)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    opened = Site(tmp_path, 4)
    yield opened
    opened.close()


class Some:
    """Some workers of a cluster; keeps the groups that it starts."""

    def __init__(self, cluster: Cluster, workers: int) -> None:
        self.cluster, self.workers, self.groups = cluster, workers, list[DaskActorGroup]()
        self.on_this_machine, self.describe, self.limits = False, cluster.describe, cluster.limits

    def start_actors(self, make: Any, init_args: Any, max_workers: int | None = None) -> DaskActorGroup:
        group = self.cluster.start_actors(make, init_args, self.workers)
        assert group.size == self.workers
        self.groups.append(group)
        return group

    def __enter__(self) -> Some:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def test_relay__bytes_through_the_driver_do_not_depend_on_the_number_of_workers(
    site: Site, expected: Lake, tmp_path: Path
) -> None:
    traffic: list[Counter[tuple[str, str]]] = []  # of one large round: the others are rated by the driver
    with Cluster(site.address, limits=LIMITS) as cluster:
        for workers in (2, 4):
            lake, engine = lake_of(tmp_path / str(workers), CONTESTS), Some(cluster, workers)
            assert rate_run(lake, engine=engine, policy=OFTEN).recoveries == 0
            assert same_tables(rated(lake), rated(expected))
            (group,) = engine.groups
            traffic.append(group.traffic)
    for phase in ("receive_priors", "receive_partials"):
        two, four = (counted["sent", phase] for counted in traffic)
        assert 1000 < two < four < two + 1000 * (4 - 2)  # a message of its own to each worker
    assert traffic[0]["sent", "receive_priors"] > 20 * 1500  # the field


def test_relay__sends_to_workers_directly_that_others_do_not_reach(
    site: Site, expected: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, call, limits = lake_of(tmp_path / "lake", CONTESTS), DaskActorGroup.call, dict[str, Any]()
    roots: list[int] = []

    def cut_off(self: DaskActorGroup, method: str, arguments: Any, *more: Any) -> list[Any]:
        limits[method] = more
        if method == "relay_to":
            (children, seconds, _), *others = arguments
            assert seconds == ClusterLimits.link_seconds
            arguments = [(dict.fromkeys(children, "no actor"), *arguments[0][1:]), *others]
        roots.append(len(self._roots))
        return call(self, method, arguments, *more)

    monkeypatch.setattr(DaskActorGroup, "call", cut_off)
    with Cluster(site.address, limits=LIMITS) as engine:
        assert rate_run(lake, engine=engine, policy=OFTEN).recoveries == 0
    assert roots[-1] == 3  # the first worker of four, and its two children
    assert limits["set_state"] == (ClusterLimits.compile_seconds,)
    assert same_tables(rated(lake), rated(expected))


@pytest.mark.parametrize(
    ("phase", "who", "frozen"), [("receive_priors", INNER, True), ("receive_partials", ROOT, False)]
)
def test_relay__continues_when_a_worker_is_lost_in_the_middle_of_a_message(
    site: Site, strike_message, expected: Lake, tmp_path: Path, phase: str, who: int, frozen: bool
) -> None:
    lake = lake_of(tmp_path / "lake", CONTESTS)

    def blow(group: DaskActorGroup) -> None:
        address = list(group._actors)[who]
        at = int(address.rpartition(":")[2])
        (process,) = [worker for worker in site.workers if any(port == at for _, port in listening([worker.pid]))]
        process.send_signal(signal.SIGSTOP if frozen else signal.SIGKILL)

    struck = strike_message(phase, blow, FREEZE_SECONDS if frozen else 60.0)
    with Cluster(site.address, limits=LIMITS) as engine:
        assert rate_run(lake, engine=engine, policy=OFTEN).recoveries >= 1
    assert struck
    assert same_tables(rated(lake), rated(expected))
