"""The memory of the server does not grow with the number of requests."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Iterator
from itertools import cycle, pairwise
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("starlette")

from ranklake.flows.serving import app as serving_app
from ranklake.flows.serving.app import create_app
from ranklake.flows.serving.state.served_runs import ServedRuns
from ranklake.storage import Lake

N_REQUESTS, N_WINDOW = 9_000, 1_500
# Objects by which memory grows in the window with the least growth. Each of OTHERS is asked for 83 times in a window:
# one object kept for each of its requests is more.
MOST_GROWTH = 60
RUN = "/api/v1/runs/run"
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


async def ask(app: Any, address: str, again: bool) -> int:
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
            assert await ask(app, address, again=n % 5 == 0) == status
            if n % N_WINDOW == N_WINDOW - 1:
                found.append(memory())
        return found

    found = asyncio.run(ask_all())
    growths = [(after[0] - before[0], after[1] - before[1]) for before, after in pairwise(found)]
    assert min(objects for objects, _ in growths) < MOST_GROWTH, growths
    assert min(size for _, size in growths) == 0, growths
