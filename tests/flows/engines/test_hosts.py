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
from helpers.lakes import lake_of, rate_run, rated, same_tables, synthetic

from ranklake.flows.engines.serial import Serial

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed: no Dask to test with")

from ranklake.flows.engines.cluster import Cluster  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

CONTESTS = synthetic(40, large=9)
START_SECONDS = 60.0
NUMBERS = itertools.count()
NETWORK = 7 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))  # one for each process of tests
HERE, THERE = f"10.213.{NETWORK}.1", f"10.213.{NETWORK}.2"


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
            ip("addr", "add", f"{HERE}/24", "dev", self.cable)
            ip("link", "set", self.cable, "up")
            ip("-n", self._space, "addr", "add", f"{THERE}/24", "dev", "eth0")
            ip("-n", self._space, "link", "set", "eth0", "up")
            ip("-n", self._space, "link", "set", "lo", "up")
            self.address = f"tcp://{HERE}:18786"
            self._start([], "scheduler", "--host", HERE, "--port", "18786", "--no-dashboard")
            worker = ["worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
            worker += ["--local-directory", str(folder)]
            self._start([], *worker, "--host", HERE)
            self._start(["ip", "netns", "exec", self._space], *worker, "--host", THERE)
            with distributed.Client(self.address, timeout=START_SECONDS, set_as_default=False) as client:
                client.wait_for_workers(2, timeout=START_SECONDS)
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
        ip("addr", "add", f"{HERE}/32", "dev", "lo")  # this host keeps its own address

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        subprocess.run(["ip", "addr", "del", f"{HERE}/32", "dev", "lo"], check=False, capture_output=True)
        ip("link", "del", self.cable)
        ip("netns", "del", self._space)


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    if shutil.which("ip") is None:
        pytest.skip("needs network namespaces (command ip)")
    opened = Hosts(tmp_path)
    yield opened
    opened.close()


@pytest.mark.parametrize("phase", ["prior", "finish_round", "take"])
def test_dask__continues_after_the_loss_of_another_host(hosts: Hosts, strike, tmp_path: Path, phase: str) -> None:
    lake, other = lake_of(tmp_path / "lake", CONTESTS), lake_of(tmp_path / "other", CONTESTS)
    strike(phase, hosts.cut)
    with Cluster(hosts.address, timeout=5.0) as engine:
        report = rate_run(lake, engine=engine)
    rate_run(other, engine=Serial())
    assert report.recoveries >= 1
    assert same_tables(rated(lake), rated(other))
