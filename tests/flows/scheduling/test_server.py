"""A schedule on a Prefect server: a worker follows a site at the scheduled times, one run after the other."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from helpers.fake_codeforces import FakeCodeforces, changes
from helpers.server import Reply, serving
from helpers.tables import assert_published
from helpers.timeouts import TIMEOUT

from ranklake.storage import Dataset, Lake, Run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
RUN = "codeforces-elo-mmr"
TOKEN = "open-sesame-0123456789"


class Prefect:
    """A server in a process, on a free port of the loopback address, with a new folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/api"
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("PREFECT_")} | {
            "PREFECT_HOME": str(folder),
            "PREFECT_API_URL": self.url,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_SERVER_DATABASE_TIMEOUT": "120",  # a busy machine; the server answers 503 after the default 10 s
            "PREFECT_CLIENT_MAX_RETRIES": "20",
            "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "2",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "DO_NOT_TRACK": "1",
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "RANKLAKE_LAKE": str(folder / "lake"),
            "RANKLAKE_CODEFORCES_TOKEN": TOKEN,
        }
        self.port = str(port)

    @contextmanager
    def running(self, name: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """A command of Prefect that runs until the end of the block; its output is in a file."""
        command = [sys.executable, "-m", "prefect", "--no-prompt", *arguments]
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=self.env, stdout=log, stderr=subprocess.STDOUT)
            try:
                yield process
            finally:
                process.terminate()
                try:
                    process.wait(timeout=30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def command(self, *arguments: str) -> str:
        """Run a command of Prefect to its end."""
        command = [sys.executable, "-m", "prefect", "--no-prompt", *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=self.env, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def all(self, what: str, **wanted: Any) -> list[dict[str, Any]]:
        """Flow runs, logs and so on."""
        answer = httpx.post(f"{self.url}/{what}/filter", json=wanted, timeout=TIMEOUT).raise_for_status()
        found: list[dict[str, Any]] = answer.json()
        return found

    def completed(self) -> list[dict[str, Any]]:
        """Completed flow runs by start time; fails if one has failed."""
        found = self.all("flow_runs")
        assert not [run for run in found if run["state_type"] in ("FAILED", "CRASHED")], self.said()
        return sorted((run for run in found if run["state_type"] == "COMPLETED"), key=lambda run: run["start_time"])

    def said(self) -> str:
        """The output of its processes."""
        return "\n".join(path.read_text(errors="replace")[-4000:] for path in sorted(self.folder.glob("*.log")))


def until(what: Callable[[], Any], said: Callable[[], str]) -> Any:
    """Wait until a function returns a value."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        try:
            if found := what():
                return found
        except httpx.TransportError:  # not started yet
            pass
        time.sleep(0.5)
    raise AssertionError(said())


@pytest.fixture
def prefect(tmp_path: Path) -> Iterator[Prefect]:
    folder = tmp_path / "prefect"
    folder.mkdir()
    prefect = Prefect(folder)

    with prefect.running("server", "server", "start", "--host", "127.0.0.1", "--port", prefect.port):
        until(lambda: httpx.get(f"{prefect.url}/health").is_success, prefect.said)
        prefect.command("work-pool", "create", "ranklake", "--type", "process")
        # Two runs at a time: each poll otherwise submits all late ones at once, whose writes lock SQLite for minutes.
        worker = ("worker", "start", "--pool", "ranklake", "--type", "process", "--limit", "2")
        with prefect.running("worker", *worker):
            until(lambda: prefect.all("work_pools/ranklake/workers"), prefect.said)
            yield prefect


def deploy(prefect: Prefect, schedules: list[dict[str, Any]], *data_sets: dict[str, Any]) -> None:
    """The deployments of the project, one for each set of parameters, with other schedules."""
    result = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))
    for deployment, parameters in zip(result["deployments"], data_sets, strict=False):
        assert deployment["entrypoint"] == "ranklake.flows.scheduling.deployments.follow"
        deployment["schedules"] = schedules
        deployment["parameters"].update(parameters)
    path = prefect.folder / "prefect.yaml"
    path.write_text(yaml.safe_dump(result), encoding="utf-8")
    prefect.command("deploy", "--all", "--prefect-file", str(path))


def test_schedule__a_worker_follows_a_site_and_publishes(prefect: Prefect) -> None:
    with serving() as server:
        site = FakeCodeforces(server)
        site.add(1, changes(1, ("ada", 1), ("bob", 2)))
        deploy(prefect, [{"interval": 5, "slug": "often"}], {"base_url": server.url})

        until(prefect.completed, prefect.said)
        lake = Lake.open(prefect.folder / "lake")
        assert Run.open(lake, RUN).segments().stop_round == 1
        site.add(2, changes(2, ("bob", 1), ("ada", 2)))
        until(lambda: Dataset.open(lake, "codeforces").contests.num_rows == 2, prefect.said)
        finished = len(prefect.completed())
        until(lambda: len(prefect.completed()) > finished + 1, prefect.said)
        assert Run.open(lake, RUN).segments().stop_round == 2
        assert_published(lake, RUN)
    runs = prefect.completed()
    assert all(run["auto_scheduled"] for run in runs)
    assert all(a["end_time"] <= b["start_time"] for a, b in pairwise(runs))  # one after the other
    pages = {one["key"] for one in prefect.all("artifacts")}
    assert {"contests-codeforces", "run-codeforces-elo-mmr"} <= pages
    kept = [path.read_bytes() for path in prefect.folder.rglob("*") if path.is_file()]
    assert any(b"codeforces" in data for data in kept)
    assert not any(TOKEN.encode() in data for data in kept)  # in no log, page, database or response
    assert any(request.headers.get("Authorization") == f"Bearer {TOKEN}" for request in server.requests)


def test_unreachable_site__does_not_delay_another_data_set_and_is_retried(prefect: Prefect) -> None:
    with serving() as dead, serving() as alive:
        asks_to_wait = Reply(b"down", 503, {"Retry-After": "86400"})
        dead["/api/contest.list"] = asks_to_wait
        FakeCodeforces(alive).add(1, changes(1, ("ada", 1), ("bob", 2)))
        sites = {"dead": dead, "alive": alive}
        parameters = [
            {"source": "codeforces", "dataset": name, "base_url": site.url, "engine": "serial"}
            for name, site in sites.items()
        ]
        deploy(prefect, [], *parameters)
        prefect.command("deployment", "run", "follow/codeforces", "--flow-run-name", "dead")
        (run,) = until(lambda: waiting(prefect), prefect.said)
        assert "the site asks to wait" in run["state"]["message"]
        limits = httpx.post(f"{prefect.url}/v2/concurrency_limits/filter", json={}).json()
        assert {limit["active_slots"] for limit in limits} == {0}

        prefect.command("deployment", "run", "follow/ctftime")
        (other,) = until(prefect.completed, prefect.said)
        assert other["id"] != run["id"]
        lake = Lake.open(prefect.folder / "lake")
        assert_published(lake, "alive-elo-mmr")
        logged = [one["message"] for one in prefect.all("logs")]
        assert any("the site asks to wait" in message for message in logged)
        assert not [message for message in logged if "Traceback" in message]

        FakeCodeforces(dead).add(1, changes(1, ("ada", 1), ("bob", 2)))
        due = {"type": "SCHEDULED", "name": "AwaitingRetry"}  # the delay is over
        httpx.post(f"{prefect.url}/flow_runs/{run['id']}/set_state", json={"state": due, "force": True})
        until(lambda: len(prefect.completed()) == 2, prefect.said)
        assert {one["id"]: one["run_count"] for one in prefect.completed()}[run["id"]] >= 2
        assert_published(lake, "dead-elo-mmr")


def waiting(prefect: Prefect) -> list[dict[str, Any]]:
    """Runs that are rescheduled."""
    return [one for one in prefect.all("flow_runs") if one["state_name"] == "AwaitingRetry"]
