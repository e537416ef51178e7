"""Requests that are endless, slow, broken off or no requests at all, as bytes on connections."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from itertools import repeat

import pytest

pytest.importorskip("uvicorn")
from helpers.timeouts import TIMEOUT
from helpers.wire import connected, exchange, listening, request, status_of
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ranklake.flows.http.server.bodies import Bodies
from ranklake.flows.http.server.connection import BOUNDS, Bounds
from ranklake.flows.http.server.problems import Problem

HEAD = BOUNDS.head_bytes
PIECE = b"x" * 4096
LARGE = 64 << 20  # more than the system keeps for a client that does not read
BODIES = Bodies(4 << 20)
STREAM_ENDED = threading.Event()
CHUNKED = ("Transfer-Encoding: chunked",)


async def echo(asked: Request) -> Response:
    """The body; with ``large``, one that is too large for the buffers of the system; with ``stream``, a stream."""
    if "stream" in asked.query_params:
        return StreamingResponse(endless())
    if "large" in asked.query_params:
        return Response(b"y" * LARGE)
    async with BODIES.read(asked, 1 << 20) as body:
        names = " ".join(asked.headers.keys())
        return Response(body or names.encode())


async def endless() -> AsyncIterator[bytes]:
    try:
        while True:
            yield b"z"
            await asyncio.sleep(0.01)
    finally:
        STREAM_ENDED.set()


async def refuse(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)
    return Response(problem.detail, problem.status)


def application() -> Starlette:
    routes = [Route("/", echo, methods=["GET", "POST"])]
    return Starlette(routes=routes, exception_handlers={Problem: refuse})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with listening(application()) as port:
        yield port


@pytest.fixture(scope="module")
def hurried() -> Iterator[int]:
    """A server that waits for nothing."""
    bounds = Bounds(head_seconds=0.2, body_seconds=0.2, unread_seconds=0.2, idle_seconds=0.2, connections=3)
    with listening(application(), bounds) as port:
        yield port


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"GET /", PIECE),
        (b"GET / HTTP/1.1\r\nX: ", PIECE),
        (b"GET / HTTP/1.1\r\n", PIECE),
        (b"GET / HTTP/1.1\r\n", b"a: b\r\n" * 500),
        (b"\r\n", b"\r\n" * 2000),
        (request("/", *CHUNKED, method="POST", body=b"5;"), PIECE),
        (request("/", *CHUNKED, method="POST", body=b"1\r\nx\r\n0\r\nX: "), PIECE),
        (request("/", *CHUNKED, method="POST", body=b"1\r\nx\r\n0\r\n"), b"a: b\r\n" * 500),
    ],
    ids=["address", "value", "name", "headers", "lines", "extension", "trailer", "trailers"],
)
def test_head__that_does_not_end_is_refused(port: int, start: bytes, piece: bytes) -> None:
    answer, sent = exchange(port, start, more=repeat(piece))
    assert status_of(answer) == 431
    assert f"at most {HEAD:,} bytes".encode() in answer
    assert sent < 32 << 20  # the buffers of the system, and what is discarded until the client has the answer
    assert status_of(exchange(port, request("/", "Connection: close"))[0]) == 200


@pytest.mark.parametrize(("size", "status"), [(HEAD - 100, 200), (HEAD + 1, 431)])
def test_head__may_have_64_kib(port: int, size: int, status: int) -> None:
    data = request("/", "Connection: close", "X: " + "x" * size)
    assert status_of(exchange(port, data)[0]) == status
    assert status_of(exchange(port, data[:1000], data[1000:])[0]) == status


def test_body__with_many_small_chunks_and_a_trailer_is_read(port: int) -> None:
    chunks = b"1;extension=z\r\nx\r\n" * 10_000 + b"0\r\nX-Trailer: z\r\n\r\n"
    answer, _ = exchange(port, request("/", *CHUNKED, method="POST", body=chunks) + request("/", "Connection: close"))
    assert answer.count(b"HTTP/1.1 200") == 2
    assert b"x" * 10_000 in answer
    assert b"x-trailer" not in answer  # a trailer is no header, and not one of the next request


@pytest.mark.quick("nothing", "body", "second head")
@pytest.mark.bound("ranklake.flows.http.server.connection.BOUNDS.head_seconds")
@pytest.mark.bound("ranklake.flows.http.server.connection.BOUNDS.body_seconds")
@pytest.mark.bound("ranklake.flows.http.server.connection.BOUNDS.idle_seconds")
@pytest.mark.parametrize(
    ("start", "status"),
    [
        (b"", 0),
        (b"GET / HTTP/1.1\r\nX: ", 408),
        (b"\r\n", 408),
        (request("/", "Content-Length: 9", method="POST", body=b"x"), 408),
        (request("/?large=1", "Content-Length: 9", method="POST"), 200),
        (request("/"), 200),
        (request("/") + b"GET ", 200),
    ],
    ids=["nothing", "head", "line", "body", "body of an answered request", "next request", "second head"],
)
def test_request__that_stops_ends_in_time(hurried: int, start: bytes, status: int) -> None:
    answer, _ = exchange(hurried, start)
    assert status_of(answer) == status


@pytest.mark.slow
@pytest.mark.bound("ranklake.flows.http.server.connection.BOUNDS.unread_seconds")
def test_answer__that_is_not_read_ends_in_time(hurried: int) -> None:
    with connected(hurried, 4096) as client:
        client.sendall(request("/?large=1"))
        for _ in range(3):
            exchange(hurried, b"\r\n")  # as long as one time of the server
        received = 0
        with suppress(ConnectionError):
            while part := client.recv(1 << 20):
                received += len(part)
    assert received < LARGE


@pytest.mark.bound("ranklake.flows.http.server.connection.BOUNDS.connections")
def test_connections__beyond_the_most_are_refused(hurried: int) -> None:
    clients = [connected(hurried) for _ in range(3)]
    try:
        answer, _ = exchange(hurried, request("/"))
        assert status_of(answer) in (0, 503)
    finally:
        for client in clients:
            client.close()


@pytest.mark.parametrize(
    "data",
    [b"\x16\x03\x01\x02\0\x01\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"FOO / HTTP/1.1\r\n\r\n",
     b"CONNECT a:80 HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /é HTTP/1.1\r\n\r\n".encode(),
     request("/", "Content-Length: 2", "Content-Length: 3", method="POST", body=b"{}"),
     request("/", "Content-Length: " + "9" * 400, method="POST"),
     request("/", "Content-Length: 2", *CHUNKED, method="POST", body=b"0\r\n\r\n"),
     request("/", *CHUNKED, method="POST", body=b"zz\r\n")],
)  # fmt: skip
def test_request__that_is_none_is_refused_with_a_reason(
    port: int, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    answer, _ = exchange(port, data)
    assert status_of(answer) == 400
    assert b'"detail":"the request is not valid HTTP/1.1"' in answer
    assert caplog.text == ""


def test_pipeline__has_a_limit(port: int) -> None:
    few = request("/") * BOUNDS.pipelined + request("/", "Connection: close")
    assert exchange(port, few)[0].count(b"HTTP/1.1 200") == BOUNDS.pipelined + 1
    with connected(port) as client:
        client.sendall(request("/?stream=1") + request("/") * (BOUNDS.pipelined + 1))
        with suppress(ConnectionError):
            while client.recv(65536):  # the stream, until the server closes the connection
                pass
    assert status_of(exchange(port, request("/") * 20_000 + b"GET")[0]) in (0, 200)


@pytest.mark.bound("ranklake.flows.http.server.bodies.MOST_BODIES")
def test_bodies__of_all_requests_have_a_limit(port: int) -> None:
    clients = []
    try:
        while BODIES.n_bytes < 3 << 20:
            clients.append(connected(port))
            clients[-1].sendall(request("/", "Content-Length: 1000000", method="POST", body=b"x" * 900_000))
            assert status_of(exchange(port, request("/", "Connection: close"))[0]) == 200
        large = request("/", "Connection: close", "Content-Length: 1048576", method="POST", body=b"x" * 1_048_576)
        answers = [status_of(exchange(port, large)[0]) for _ in range(2)]
        assert answers == [429, 429]
    finally:
        for client in clients:
            client.close()


@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
def test_upgrade__is_ignored_and_ends_the_connection(
    port: int, caplog: pytest.LogCaptureFixture, protocol: str
) -> None:
    answer, _ = exchange(port, request("/", "Connection: Upgrade", f"Upgrade: {protocol}"))
    assert status_of(answer) == 200
    assert b"connection: close" in answer
    assert caplog.text == ""


@pytest.mark.parametrize("start", [request("/", "Content-Length: 9", method="POST", body=b"x"),
                                   request("/", *CHUNKED, method="POST", body=b"5\r\nx")])  # fmt: skip
def test_post__that_is_broken_off_leaves_nothing_in_the_log(
    port: int, caplog: pytest.LogCaptureFixture, start: bytes
) -> None:
    with connected(port) as client:
        client.sendall(start)
    assert status_of(exchange(port, request("/", "Connection: close"))[0]) == 200
    assert caplog.text == ""


def test_stream__ends_with_its_connection_also_before_a_further_request(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    STREAM_ENDED.clear()
    with connected(port) as client:
        client.sendall(request("/?stream=1") + request("/"))
        assert client.recv(1)
    assert STREAM_ENDED.wait(TIMEOUT)
    assert status_of(exchange(port, request("/", "Connection: close"))[0]) == 200
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("headers", "status"),
    [(("Content-Length: 99999999999", "Expect: 100-continue"), 413), (("Content-Encoding: gzip", *CHUNKED), 415)],
)
def test_body__that_would_be_refused_is_not_asked_for(port: int, headers: tuple[str, ...], status: int) -> None:
    answer, _ = exchange(port, request("/", "Connection: close", *headers, method="POST"))
    assert status_of(answer) == status  # and not 100
