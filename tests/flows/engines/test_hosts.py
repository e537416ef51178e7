"""Workers on another host (a network namespace), and a network that fails in the middle of a round."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.lakes import divide_rounds, lake_of, rate_run, rated, same_tables, synthetic

from ranklake.flows.engines import relay
from ranklake.flows.engines.serial import Serial

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed: no Dask to test with")

from helpers.cluster_sites import wait_for_workers  # noqa: E402

from ranklake.flows.engines.actors import DaskActorGroup  # noqa: E402
from ranklake.flows.engines.cluster import Cluster  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

CONTESTS = synthetic(40, large=9)
NUMBERS = itertools.count()
NETWORK = 7 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))  # one for each process of tests
HERE, THERE, SECOND = (f"10.213.{NETWORK}.{n}" for n in (1, 2, 3))  # SECOND: of the worker on this host


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class Hosts:
    """This host with a scheduler and a worker, and another host with a worker; a virtual network joins them."""

    def __init__(self, folder: Path) -> None:
        number = f"{os.getpid() % 100_000}x{next(NUMBERS)}"
        self._space, self.cable = f"ranklake{number}", f"rl{number}"
        self._folder, self._processes = folder, []
        try:
            ip("netns", "add", self._space)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"this machine allows no network namespaces: {error.stderr.strip()}")
        try:
            ip("link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", self._space)
            for address in (HERE, SECOND):
                ip("addr", "add", f"{address}/24", "dev", self.cable)
            ip("link", "set", self.cable, "up")
            ip("-n", self._space, "addr", "add", f"{THERE}/24", "dev", "eth0")
            ip("-n", self._space, "link", "set", "eth0", "up")
            ip("-n", self._space, "link", "set", "lo", "up")
            self.address = f"tcp://{HERE}:18786"
            self._start([], "scheduler", "--host", HERE, "--port", "18786", "--no-dashboard")
            worker = ["worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
            worker += ["--local-directory", str(folder)]
            self._start([], *worker, "--host", SECOND)
            self._start(["ip", "netns", "exec", self._space], *worker, "--host", THERE)
            wait_for_workers(self.address, 2)
        except BaseException:
            self.close()
            raise

    def _start(self, prefix: list[str], *arguments: str) -> None:
        path = os.pathsep.join([str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")])
        self._processes.append(
            subprocess.Popen(
                [*prefix, sys.executable, "-m", "dask", *arguments],
                env=os.environ | {"PYTHONPATH": path},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    def cut(self) -> None:
        ip("link", "set", self.cable, "down")
        for address in (HERE, SECOND):  # this host keeps its own addresses
            ip("addr", "add", f"{address}/32", "dev", "lo")

    def cut_workers(self) -> None:
        """Cut the connection between the workers alone: their packets to each other are lost without an error."""
        ip("-n", self._space, "route", "add", "blackhole", f"{SECOND}/32")

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        for address in (HERE, SECOND):
            subprocess.run(["ip", "addr", "del", f"{address}/32", "dev", "lo"], check=False, capture_output=True)
        ip("link", "del", self.cable)
        ip("netns", "del", self._space)


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    if shutil.which("ip") is None:
        pytest.skip("needs network namespaces (command ip)")
    opened = Hosts(tmp_path)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "phase", ["", "receive_priors", "receive_partials"], ids=lambda phase: phase or "from the start"
)
def test_dask__the_driver_sends_to_workers_that_do_not_reach_each_other(
    hosts: Hosts, strike, tmp_path: Path, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    divide_rounds(monkeypatch, overlap_rows=None)
    monkeypatch.setattr(relay, "RELAY_BYTES", 0)
    monkeypatch.setattr(relay, "CHUNK_BYTES", 1000)
    roots: list[int] = []
    connect = DaskActorGroup.connect_relays

    def connect_relays(self: DaskActorGroup, seconds: float) -> None:
        connect(self, seconds)
        roots.append(len(self._roots))

    monkeypatch.setattr(DaskActorGroup, "connect_relays", connect_relays)
    lake, other = lake_of(tmp_path / "lake", CONTESTS), lake_of(tmp_path / "other", CONTESTS)
    if phase:
        strike(phase, hosts.cut_workers, 5.0)
    else:
        hosts.cut_workers()
    with Cluster(hosts.address) as engine:
        report = rate_run(lake, engine=engine)
    rate_run(other, engine=Serial())
    assert (report.recoveries, roots) == ((1, [1, 2]) if phase else (0, [2]))
    assert same_tables(rated(lake), rated(other))


@pytest.mark.parametrize("phase", ["prior", "finish_round", "take"])
def test_dask__continues_after_the_loss_of_another_host(hosts: Hosts, strike, tmp_path: Path, phase: str) -> None:
    lake, other = lake_of(tmp_path / "lake", CONTESTS), lake_of(tmp_path / "other", CONTESTS)
    strike(phase, hosts.cut, 5.0)
    with Cluster(hosts.address) as engine:
        report = rate_run(lake, engine=engine)
    rate_run(other, engine=Serial())
    assert report.recoveries >= 1
    assert same_tables(rated(lake), rated(other))
