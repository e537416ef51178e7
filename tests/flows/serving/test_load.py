"""Versions published while wrk asks over a hundred connections: every answer is whole, and of one version.

They are published by ``publish``, also ``--afresh``, and by ``follow``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from helpers.lakes import ingest, lake_of, rate_run, start, synthetic
from helpers.ratings_server import serving
from helpers.timeouts import TIMEOUT

from ranklake.flows.publication.publish import publish
from ranklake.storage import Lake

pytest.importorskip("uvicorn")
WRK = shutil.which("wrk")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(WRK is None, reason="no wrk on this machine: apt-get install wrk")]

CONTESTS = synthetic(40)
STOPS = (20, 30, 40)  # rounds of each version
API = "/api/v1/runs/run"
PATHS = ("/run", "/run/p/player%201", API, *(f"{API}/{path}" for path in (
    "leaderboard", "players/player%201", "contests/3", "search?q=pl")))  # fmt: skip
# The answers of each version, and those whose body has another version than the header. The first Lua state prints.
SCRIPT = """
local paths, at, threads = {%s}, 0, {}
seen, mixed = {}, 0
function setup(thread) table.insert(threads, thread) end
function request() at = at %% #paths + 1; return wrk.format("GET", paths[at]) end
function response(status, headers, body)
  local tag = headers["etag"]:match('"(%%d+%%-%%x+)')
  seen[tag] = (seen[tag] or 0) + 1
  local version = body:match('"version":"([^"]+)"')
  if version and version ~= tag then mixed = mixed + 1 end
end
function done()
  for _, thread in ipairs(threads) do
    print("mixed " .. thread:get("mixed"))
    for tag, n in pairs(thread:get("seen")) do print("version " .. tag .. " " .. n) end
  end
end
"""


@contextmanager
def load(address: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """wrk on an address until SIGINT, after which it prints."""
    assert WRK is not None
    script = folder / "load.lua"
    script.write_text(SCRIPT % ", ".join(f'"{path}"' for path in PATHS))
    command = [WRK, "-t1", "-c100", "-d3600s", "--timeout", "300s", "-s", str(script), address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_load__no_request_fails_while_versions_are_published(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", CONTESTS[: STOPS[0]])
    _publish(lake, STOPS[0])

    def versions(current: Callable[[], dict[str, Any]]) -> Iterator[str]:
        for stop in STOPS[1:]:
            _publish(lake, stop)
            while (about := current())["n_rounds"] != stop:
                pass
            yield about["version"]
        publish(lake, "run", rebuild=True)
        while (now := current())["version"] == about["version"]:
            pass
        yield now["version"]

    no_request_fails(lake, tmp_path, versions)


def test_load__no_request_fails_while_a_source_is_followed(tmp_path: Path) -> None:
    lake, source = lake_of(tmp_path / "lake", []), tmp_path / "source"
    source.mkdir()
    _follow(lake, source, 0, STOPS[0])

    def versions(current: Callable[[], dict[str, Any]]) -> Iterator[str]:
        for start_round, stop in pairwise(STOPS):
            _follow(lake, source, start_round, stop)
            while (about := current())["n_rounds"] != stop:
                pass
            yield about["version"]

    no_request_fails(lake, tmp_path, versions)


def no_request_fails(
    lake: Lake, folder: Path, versions: Callable[[Callable[[], dict[str, Any]]], Iterator[str]]
) -> None:
    """Serve a published run under load while ``versions`` publishes others, and returns each once it is served."""
    with serving(lake) as (server, runs), httpx.Client(timeout=TIMEOUT) as client:
        current = lambda: client.get(f"{runs}/run").json()  # noqa: E731
        tags = [current()["version"]]
        site = runs.removesuffix("/api/v1/runs")
        with load(site, folder) as wrk:
            while n_served(client, site) < 10:  # of the first version, to wrk
                pass
            for tag in versions(current):
                tags.append(tag)
                for path in PATHS:  # as many turns for each connection of wrk
                    assert client.get(f"{site}{path}").status_code == 200
            wrk.send_signal(signal.SIGINT)
            output, _ = wrk.communicate(timeout=TIMEOUT)
        server.kill()
        assert server.stderr is not None
        assert server.stderr.read() == b""
    assert not re.search(r"Socket errors|Non-2xx", output), output
    assert "mixed 0\n" in output, output
    assert set(re.findall(r"version (\S+) \d+", output)) == set(tags), output
    assert len(set(tags)) == len(tags) > 2


def n_served(client: httpx.Client, site: str) -> int:
    """Number of answers of the leaderboard, which only wrk asks for."""
    found = re.findall(
        r'requests_total{endpoint="[^"]*leaderboard",status="200"} (\d+)', client.get(f"{site}/metrics").text
    )
    return int(found[0]) if found else 0


def _publish(lake: Lake, stop: int) -> None:
    ingest(lake, CONTESTS[:stop])
    rate_run(lake)
    publish(lake, "run")


def _follow(lake: Lake, source: Path, start_round: int, stop: int) -> None:
    """Follow a folder once, after contests from ``start_round`` to ``stop`` were added to it an hour ago."""
    for number, one in enumerate(CONTESTS[start_round:stop], start_round):
        rows = [list(row) for row in zip(one.handles.to_pylist(), one.lo.tolist(), one.hi.tolist(), strict=True)]
        file = source / f"{number}.json"
        file.write_text(
            json.dumps({"name": f"contest {number}", "time_seconds": 86_400 * (number + 1), "standings": rows})
        )
        os.utime(file, (time.time() - 3600,) * 2)
    command = (
        "follow",
        "--source",
        "files",
        "--path",
        str(source),
        "--dataset",
        "games",
        "--run",
        "run",
        "--lake",
        lake.url,
    )
    with start(*command) as process:
        _, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, errors
