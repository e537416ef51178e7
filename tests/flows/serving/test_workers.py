"""Long computations for requests: as many as cores at a time, never in the event loop, and few for one request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("starlette")
from helpers.api import ask

from ranklake.flows.answers import run as answers
from ranklake.flows.serving.app import create_app
from ranklake.flows.serving.endpoints import ENDPOINTS, MOST_SEARCHED
from ranklake.flows.serving.messages.problems import Problem
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
                                 "/distribution?handle=plaxer")),
]  # fmt: skip


def with_any_parameter() -> list[str]:
    """The address of each endpoint with each of its parameters of time or number."""
    found = []
    for endpoint in ENDPOINTS:
        path = f"{RUN}{endpoint.path}".replace("{handle}", "player 1").replace("{contest_id}", "3")
        others = "".join(f"{one.name}=player 1&" for one in endpoint.parameters if one.required)
        found += [
            f"{path}?{others}{one.name}={OF_TIME[one.kind]}" for one in endpoint.parameters if one.kind in OF_TIME
        ]
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
    monkeypatch.setattr(Search, "similar", watched(Search.similar))

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
        assert status == 200, address
        assert all(long), address
        n_long += len(long)
    assert n_long == 2  # at=, year=
    for address in SIMILAR:
        status, long = asked(address)
        assert status in (200, 303, 404), address
        assert long == [True], address
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
