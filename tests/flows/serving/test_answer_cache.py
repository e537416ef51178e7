"""The cache of whole answers: what it keeps, for whom, for how long, and that waiting requests share one answer."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("starlette")
from helpers.api import TestClient
from prometheus_client.parser import text_string_to_metric_families

from ranklake.flows.serving.app import create_app
from ranklake.flows.serving.messages.responses import kept_bodies
from ranklake.flows.serving.state import answer_cache
from ranklake.flows.serving.state.answer_cache import AnswerCache
from ranklake.flows.serving.state.served_runs import ServedRuns
from ranklake.storage import Lake

KEPT = {
    "etag": 'W/"1-a"', "last-modified": "Thu, 01 Jan 1970 00:00:07 GMT", "cache-control": "public, max-age=5",
    "vary": "Accept-Encoding, Origin", "content-length": "2",
}  # fmt: skip


class App:
    """An application that counts its calls, and answers after ``go``."""

    def __init__(self, status: int = 200, **headers: str) -> None:
        self.n_calls, self.go = 0, asyncio.Event()
        self.status, self.headers = status, KEPT | {name.replace("_", "-"): value for name, value in headers.items()}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.n_calls += 1
        if "stream" not in self.headers:
            await self.go.wait()
        headers = [(name.encode(), value.encode()) for name, value in self.headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await self.go.wait()
        await send({"type": "http.response.body", "body": b"ok"})


async def ask(cache: AnswerCache, path: str = "/a", query: str = "", **headers: str) -> tuple[int, dict[str, str]]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": pairs}
    await cache(scope, None, send)  # type: ignore[arg-type]
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


def cache_of(app: App, most_bytes: int = 1 << 20) -> tuple[AnswerCache, Any]:
    served: Any = SimpleNamespace(runs={})
    return AnswerCache(app, served, kept_bodies(most_bytes)), served


async def calls(app: App, *requests: dict[str, str], **options: Any) -> int:
    """The number of calls of the application by these requests, one after the other."""
    app.go.set()
    cache, _ = cache_of(app, **options)
    for request in requests:
        await ask(cache, **request)
    return app.n_calls


@pytest.mark.parametrize(
    ("requests", "n_calls"),
    [
        ([{}, {}, {}], 1),
        ([{}, {"query": "b"}, {"path": "/b"}, {"query": "b"}], 3),
        ([{}, {"accept_encoding": "gzip"}, {"accept_encoding": "gzip, br"}, {"accept_encoding": "gzip;q=0"}], 2),
        ([{"origin": "https://a.example"}, {"origin": "https://b.example"}, {}], 1),
        ([{"query": "x" * 2_000}, {"query": "x" * 2_000}], 2),
    ],
)
def test_cache__keeps_one_answer_for_each_address_and_encoding(requests: list[dict[str, str]], n_calls: int) -> None:
    assert asyncio.run(calls(App(), *requests)) == n_calls


@pytest.mark.parametrize(
    "app",
    [{"status": 404}, {"cache_control": "no-store"}, {"vary": "Cookie"}, {"content_length": "3"}, {"status": 206}],
    ids=str,
)
def test_cache__does_not_keep(app: dict[str, Any]) -> None:
    assert asyncio.run(calls(App(**app), {}, {})) == 2


def test_cache__is_limited_with_the_overhead_of_small_answers() -> None:
    requests = [{"path": f"/{i}"} for i in range(100)]
    assert asyncio.run(calls(App(), *requests, *requests, most_bytes=50 * 4096)) == 200


def test_cache__headers_are_the_same_for_every_origin() -> None:
    async def both() -> None:
        app = App()
        app.go.set()
        cache, _ = cache_of(app)
        first, again = await ask(cache), await ask(cache, origin="https://a.example")
        assert first == again
        assert (first[1]["vary"], first[1]["access-control-allow-origin"]) == ("Accept-Encoding", "*")
        status, headers = await ask(cache, if_none_match='"1-a"')
        assert (status, headers["etag"], "content-length" in headers) == (304, 'W/"1-a"', False)
        assert (await ask(cache, if_modified_since=KEPT["last-modified"]))[0] == 304
        assert (await ask(cache, if_none_match='"2-b"'))[0] == 200
        assert app.n_calls == 1

    asyncio.run(both())


def test_cache__waiting_requests_share_one_answer() -> None:
    async def many() -> None:
        app = App()
        cache, _ = cache_of(app)
        tasks = [asyncio.create_task(ask(cache)) for _ in range(5)]
        await asyncio.sleep(0)
        app.go.set()
        assert {status for status, _ in await asyncio.gather(*tasks)} == {200}
        assert app.n_calls == 1

    asyncio.run(many())


def test_cache__nobody_waits_for_a_client_that_reads_slowly() -> None:
    async def many() -> None:
        app = App()
        app.go.set()
        cache, _ = cache_of(app)
        ready = asyncio.Event()

        async def slow(message: Any) -> None:
            await ready.wait()

        scope = {"type": "http", "method": "GET", "path": "/a", "query_string": b"", "headers": []}
        task = asyncio.create_task(cache(scope, None, slow))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        assert (await asyncio.wait_for(ask(cache), 60))[0] == 200
        assert app.n_calls == 1
        ready.set()
        await task

    asyncio.run(many())


def test_cache__nobody_waits_for_a_stream() -> None:
    async def many() -> None:
        app = App(stream="", cache_control="no-store")
        cache, _ = cache_of(app)
        tasks = [asyncio.create_task(ask(cache)) for _ in range(3)]
        for _ in range(10):
            await asyncio.sleep(0)
        assert app.n_calls == 3
        app.go.set()
        await asyncio.gather(*tasks)

    asyncio.run(many())


def test_cache__a_new_version_drops_answers_also_those_under_way() -> None:
    async def publish() -> None:
        app = App()
        cache, served = cache_of(app)
        under_way = asyncio.create_task(ask(cache))
        await asyncio.sleep(0)
        served.runs = {}
        app.go.set()
        await under_way
        await ask(cache)
        assert app.n_calls == 2
        served.runs = {}
        await ask(cache)
        await ask(cache)
        assert app.n_calls == 3

    asyncio.run(publish())


def test_pages__are_counted_and_kept(lake: Lake) -> None:
    served = ServedRuns(lake)
    with TestClient(create_app(served, 0)) as client:
        first, again = client.get("/run"), client.get("/run")
        assert (first.content, first.headers) == (again.content, again.headers)
        assert client.post("/run/preview", content="standings=player+1%0Aplayer+2").status_code == 200
        assert client.post("/api/v1/runs/run/players", json={"handles": ["player 1"]}).status_code == 200
        shown = client.get("/metrics")
    assert shown.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = {one.name: one for one in text_string_to_metric_families(shown.text)}
    assert all(one.documentation for one in found.values())
    samples = {(one.name, *one.labels.values()): one.value for family in found.values() for one in family.samples}
    assert samples["ranklake_requests_total", "page", "200"] == 3
    assert samples["ranklake_requests_total", "players", "200"] == 1
    assert samples["ranklake_cache_requests_total", "hit"] == 1
    assert (samples["ranklake_rounds", "run"], samples["ranklake_refresh_failures_total",]) == (31, 0)
    assert samples["ranklake_published_seconds", "run"] == served.runs["run"].manifest.time_seconds
    duration = "ranklake_request_duration_seconds"
    assert samples[f"{duration}_sum", "page"] == samples["ranklake_request_seconds_total", "page"] > 0
    assert samples[f"{duration}_bucket", "page", "+Inf"] == samples[f"{duration}_count", "page"] == 3
    counts = [value for (name, *labels), value in samples.items() if name == f"{duration}_bucket" and "page" in labels]
    assert counts == sorted(counts)


def test_cache__keeps_no_answer_of_a_long_address_and_few_encodings() -> None:
    long = {"query": "x" * answer_cache._LONGEST}
    assert asyncio.run(calls(App(), long, long)) == 2
    assert answer_cache._known_encoding.cache_parameters()["maxsize"] == answer_cache.MOST_ENCODINGS
    before = answer_cache._known_encoding.cache_info().currsize
    assert answer_cache._encoding("gzip," * 1_000) == "gzip"
    assert answer_cache._known_encoding.cache_info().currsize == before
