"""The server as a process: a publish in the middle of requests fails none of them, a kill only those under way."""

from __future__ import annotations

import re
import signal
import socket
import sys
import threading
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from click.testing import CliRunner
from helpers.lakes import contest, ingest, lake_of, rate_run, synthetic
from helpers.ratings_server import serving
from helpers.timeouts import TIMEOUT

from ranklake.flows.cli.main import cli
from ranklake.flows.http.server.running import _GRACE_SECONDS, _most_connections
from ranklake.flows.publication.publish import publish
from ranklake.storage import Lake

pytest.importorskip("uvicorn")

CONTESTS = [contest("first", "100% a%2Fb", "player 1"), *synthetic(40)]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = lake_of(tmp_path / "lake", CONTESTS[:20])
    rate_run(lake)
    publish(lake, "run")
    return lake


@pytest.mark.slow
def test_serve__publishes_in_the_middle_of_requests_fail_none_and_are_seen(lake: Lake) -> None:
    failures: list[str] = []
    versions: list[str] = []
    events: list[str] = []
    ended, lock = threading.Event(), threading.Lock()

    def ask(address: str) -> None:
        paths = ("leaderboard", "players/player%201", "players/player%201/history", "contests/3", "search?q=pl")
        with httpx.Client(timeout=TIMEOUT) as client:
            n = 0
            while not ended.is_set():
                response = client.get(f"{address}/run/{paths[n % len(paths)]}")
                n += 1
                if response.status_code != 200:
                    failures.append(f"{response.status_code} {response.text}")
                    continue
                version = response.json()["version"]
                with lock:
                    if version not in versions:
                        versions.append(version)

    def listen(address: str) -> None:
        with httpx.stream("GET", f"{address}/run/events", timeout=TIMEOUT) as response:
            for line in response.iter_lines():
                if line.startswith("id: "):
                    events.append(line.removeprefix("id: "))

    with serving(lake) as (process, address):
        threads = [threading.Thread(target=ask, args=(address,)) for _ in range(2)]
        threads.append(threading.Thread(target=listen, args=(address,)))
        for thread in threads:
            thread.start()
        try:
            for n_versions, stop in enumerate((25, 30, 35), 2):
                ingest(lake, CONTESTS[:stop])
                rate_run(lake)
                publish(lake, "run")
                rounds = 0
                with httpx.Client(timeout=TIMEOUT) as client:
                    while rounds != stop or (min(len(versions), len(events)) < n_versions and not failures):
                        rounds = client.get(f"{address}/run").json()["n_rounds"]
            name = quote("100% a%2Fb", safe="")
            assert httpx.get(f"{address}/run/players/{name}", timeout=TIMEOUT).json()["handle"] == "100% a%2Fb"
        finally:
            ended.set()
            for thread in threads[:-1]:
                thread.join()
            process.send_signal(signal.SIGTERM)
            threads[-1].join()
        assert failures == []
        assert [version.partition("-")[0] for version in versions] == ["1", "2", "3", "4"]
        assert events == versions
        assert process.wait(TIMEOUT) in (0, -signal.SIGTERM, 1)
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.slow
def test_serve__a_kill_fails_only_requests_under_way(lake: Lake) -> None:
    paths = ("run/leaderboard", "run/players/player%201", "run/contests/3", "run/search?q=pl")
    expected: dict[str, bytes] = {}
    wrong: list[str] = []
    failures: list[httpx.HTTPError] = []
    addresses: list[str] = []
    back, ended, served = threading.Event(), threading.Event(), threading.Semaphore(0)

    def ask() -> None:
        with httpx.Client(timeout=TIMEOUT) as client:
            for n in count():
                path = paths[n % len(paths)]
                if ended.is_set():
                    return
                try:
                    response = client.get(f"{addresses[-1]}/{path}")
                except httpx.HTTPError as error:
                    failures.append(error)
                    assert back.wait(TIMEOUT)
                    continue
                served.release()
                if response.content != expected[path]:
                    wrong.append(f"{path} {response.status_code}")

    def wait(n: int) -> None:
        assert all(served.acquire(timeout=TIMEOUT) for _ in range(n))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    before = {path: path.read_bytes() for path in Path(lake.uri("published")).rglob("*") if path.is_file()}
    try:
        with serving(lake) as (process, address):
            addresses.append(address)
            expected |= {path: httpx.get(f"{address}/{path}", timeout=TIMEOUT).content for path in paths}
            for thread in threads:
                thread.start()
            wait(50)
            process.kill()
            process.wait()
        with serving(lake) as (_, address):
            addresses.append(address)
            back.set()
            wait(50)
            ended.set()
            for thread in threads:
                thread.join()
    finally:
        ended.set()
        back.set()
    assert wrong == []
    assert len(failures) <= len(threads)  # one under way on each connection
    assert {path: path.read_bytes() for path in Path(lake.uri("published")).rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_serve__below_a_path_of_a_proxy(lake: Lake) -> None:
    with serving(lake, "--root-path", "/ratings", "--run", "run") as (_, address):
        assert address.endswith("/ratings/api/v1/runs")
        inner = address.replace("/ratings", "", 1)  # as the proxy asks
        assert httpx.get(inner, timeout=TIMEOUT).json()["runs"][0]["run"] == "run"
        document = httpx.get(inner.replace("/api/v1/runs", "/openapi.json"), timeout=TIMEOUT).json()
        assert document["servers"] == [{"url": "/ratings"}]


def test_serve__errors_name_the_remedy(lake: Lake) -> None:
    result = CliRunner().invoke(cli, ["serve", "--lake", lake.url, "--run", "other"])
    assert "`ranklake publish --run other` publishes it" in str(result.exception)
    result = CliRunner().invoke(cli, ["serve", "--lake", lake.url, "--root-path", "x"])
    assert (result.exit_code, "--root-path must begin with /" in result.output) == (2, True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        wrong = [("--port", str(taken.getsockname()[1]), "already in use; end the program that listens there, or")]
        wrong.append(("--host", "192.0.2.1", "--host is a name or an address of this machine"))
        for option, value, remedy in wrong:
            result = CliRunner().invoke(cli, ["serve", "--lake", lake.url, option, value])
            assert remedy in str(result.exception)
            assert "attempting" not in str(result.exception)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize(("soft", "hard", "most"), [(1024, 9999, 4096), (1024, -1, 4096), (1024, 1024, 768),
                                                    (256, 256, 128), (-1, -1, 4096)])  # fmt: skip
def test_serve__has_as_many_connections_as_open_files(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, most: int
) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    assert _most_connections(4096) == most


def test_serve__ends_with_ctrl_c_as_a_success(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(server: Any, sockets: list[socket.socket]) -> None:
        assert server.config.timeout_graceful_shutdown == _GRACE_SECONDS
        for listener in sockets[1:]:
            listener.close()
        raise KeyboardInterrupt

    monkeypatch.setattr("uvicorn.Server.run", interrupted)
    result = CliRunner().invoke(cli, ["serve", "--lake", lake.url, "--port", "0"])
    assert result.exit_code == 0
    assert re.fullmatch(r"serving run at http://127\.0\.0\.1:\d+/\nstopped\n", result.output)
