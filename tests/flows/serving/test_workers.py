"""Long computations for requests: as many as cores, never in the event loop; memory does not grow with requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("starlette")
import gc
import sys
from collections.abc import Iterator
from itertools import cycle, pairwise

import pyarrow as pa
import pytest
from helpers.addresses import VALID
from helpers.api import ask

from ranklake.flows.answers import run as answers
from ranklake.flows.answers.handles import MOST_SEARCHED
from ranklake.flows.answers.index_rows import IndexRows
from ranklake.flows.http.server.problems import Problem
from ranklake.flows.serving import app as serving_app
from ranklake.flows.serving.app import create_app
from ranklake.flows.serving.endpoints import ENDPOINTS
from ranklake.flows.serving.openapi import openapi
from ranklake.flows.serving.state import workers
from ranklake.flows.serving.state.served_runs import ServedRuns
from ranklake.flows.serving.state.workers import MOST_WAITING, Workers
from ranklake.storage import Lake
from ranklake.storage.names.search import Search

RUN = "/api/v1/runs/run"
OF_TIME = {"time": "2015-01-01", "age": "9y", "integer": "2", "number": "50"}
SIMILAR = [
    *(f"{RUN}/{path}" for path in ("players/plaxer", "players/plaxer/history", "players?handles=x", "search?q=plaxer",
                                   "compare?handles=plaxer", "distribution?handle=plaxer", "teamrate?handles=plaxer")),
    *(f"/run{path}" for path in ("?q=plaxer", "/p/plaxer", "/p/plaxer,b", "/p/plaxer/graph.svg", "/compare?h=plaxer",
                                 "/distribution?handle=plaxer", "?to=plaxer")),
]  # fmt: skip


def with_any_parameter() -> list[str]:
    """The address of each endpoint with each of its parameters of time or number."""
    found = []
    for endpoint in ENDPOINTS:
        path = f"{RUN}{endpoint.path}".replace("{handle}", "player 1").replace("{contest_id}", "3")
        required = [one.name for one in endpoint.parameters if one.required]
        values = {
            one.name: "0.5" if one.between or one.high == 1 else OF_TIME.get(one.kind) for one in endpoint.parameters
        }
        for name, value in values.items():
            if value is not None:
                others = "".join(f"{other}={VALID[other]}&" for other in required if other != name)
                found.append(f"{path}?{others}{name}={value}")
    return found


@pytest.fixture
def asked(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[int, list[bool]]]:
    """The status of an answer, and for each long computation for it whether it waited for a core in a thread."""
    app, long = create_app(ServedRuns(lake), 0), []
    here = threading.get_ident()

    def watched(make: Any) -> Any:
        def computed(*given: Any) -> Any:
            long.append(app.state.workers.n_long > 0 and threading.get_ident() != here)
            return make(*given)

        return computed

    monkeypatch.setattr(answers, "leaderboard", watched(answers.leaderboard))
    monkeypatch.setattr(IndexRows, "ranked", watched(IndexRows.ranked))
    monkeypatch.setattr(Search, "rows", watched(Search.rows))

    def send(address: str) -> tuple[int, list[bool]]:
        path, _, query = address.partition("?")
        long.clear()
        if query == "POST":
            body = b'{"handles": [%s]}' % b", ".join(b'"x%d"' % i for i in range(200))
            return asyncio.run(ask(app, path, method="POST", body=body))[0], list(long)
        return asyncio.run(ask(app, path, query.replace(" ", "+").encode()))[0], list(long)

    return send


def test_long_computations__wait_for_a_core_at_every_address(asked: Callable[[str], tuple[int, list[bool]]]) -> None:
    n_long = 0
    for address in with_any_parameter():
        status, long = asked(address)
        beyond_end = address.endswith(("/groups?start=2", "/player 1/problems?start=2"))
        without_season = "placement=" in address
        assert status == (404 if beyond_end else 400 if without_season else 200), address
        assert all(long), address
        n_long += len(long)
    assert n_long == 6  # at=, year=, interval=, min_rounds=, max_sigma= and limit= of a search
    for address in ("/run?at=1971-02-01", "/run?at=1971-03-01&to=3", "/run/distribution?year=1971"):
        status, long = asked(address)
        assert status in (200, 303), address
        assert long, address
        assert all(long), address
    for address in SIMILAR:
        status, long = asked(address)
        assert status in (200, 303, 404), address
        assert long, address
        assert all(long), address
    assert all("429" in operations["get"]["responses"] for path, operations in openapi()["paths"].items()
               if path.endswith(("/leaderboard", "/search", "/distribution", "/players")))  # fmt: skip


def test_players__few_missing_ones_have_similar_handles(asked: Callable[[str], tuple[int, list[bool]]]) -> None:
    assert asked(f"{RUN}/players?handles=" + ",".join(f"x{i}" for i in range(200))) == (200, [True] * MOST_SEARCHED)
    assert asked(f"{RUN}/players?POST") == (200, [True] * MOST_SEARCHED)


def test_workers__compute_at_most_as_many_as_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers.os, "cpu_count", lambda: 2)
    at_work, most, lock, both = 0, 0, threading.Lock(), threading.Barrier(2)

    def compute() -> None:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        both.wait()
        with lock:
            at_work -= 1

    async def many() -> int:
        long = Workers(waiting=6)
        tasks = [asyncio.create_task(long.run(compute, long=True)) for _ in range(8)]
        assert await long.run(lambda: 1) == 1  # others do not wait
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert long.n_long == 0
        return sum(isinstance(result, Problem) and result.status == 429 for result in results)

    assert asyncio.run(many()) == 2
    assert most == 2
    assert Workers()._most == MOST_WAITING


# Memory


N_REQUESTS, N_WINDOW = 9_000, 1_500
# Objects by which memory grows in the window with the least growth. Each of OTHERS is asked for 83 times in a window:
# one object kept for each of its requests is more.
MOST_GROWTH = 60
OTHERS = [  # with the statuses that they have
    (f"{RUN}/players/player 1", 200), (f"{RUN}/players/player 1/history", 200), (f"{RUN}/players/nobody", 404),
    (f"{RUN}/contests/3", 200), (f"{RUN}/contests/none", 404), (f"{RUN}/search?q=pl", 200),
    (f"{RUN}/leaderboard?x=1", 400), ("/run", 200), ("/run/p/player 2", 200), ("/run/p/old one", 301),
    ("/nothing/at/all", 404), ("/metrics", 200),
]  # fmt: skip


def requests() -> Iterator[tuple[str, int]]:
    """Addresses that never come again, and between them the same ones again and again, twice each."""
    others = cycle(OTHERS)
    for i in range(N_REQUESTS // 3):
        other = next(others)
        yield from ((f"{RUN}/count?min={i}", 200), other, other)


async def status_of(app: Any, address: str, again: bool) -> int:
    """The status of an answer; ``again`` for a client that has some version already."""
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    path, _, query = address.partition("?")
    headers = [(b"host", b"testserver"), (b"accept-encoding", b"gzip")] + [(b"if-none-match", b'"1-x"')] * again
    await app(
        {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": query.encode(),
         "headers": headers, "scheme": "http", "server": ("testserver", 80), "client": ("test", 1), "root_path": ""},
        receive, send,
    )  # fmt: skip
    return statuses[0]


@pytest.mark.slow
def test_requests__memory_stays_flat(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_app, "MOST_CACHED", 32 << 10)  # full after ten answers
    app = create_app(ServedRuns(lake), 0)

    def memory() -> tuple[int, int]:
        """Objects of Python, and bytes of Arrow."""
        gc.collect()
        return sys.getallocatedblocks(), pa.total_allocated_bytes()

    async def ask_all() -> list[tuple[int, int]]:
        found = []
        for n, (address, status) in enumerate(requests()):
            assert await status_of(app, address, again=n % 5 == 0) == status
            if n % N_WINDOW == N_WINDOW - 1:
                found.append(memory())
        return found

    found = asyncio.run(ask_all())
    growths = [(after[0] - before[0], after[1] - before[1]) for before, after in pairwise(found)]
    assert min(objects for objects, _ in growths) < MOST_GROWTH, growths
    assert min(size for _, size in growths) == 0, growths
