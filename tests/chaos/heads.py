"""Requests of any bytes: each connection ends in time, without an error of the server, and others are served."""

from __future__ import annotations

import base64
import random
import re
import socket
import struct
import time
from contextlib import suppress
from typing import Any

from chaos.cases import Violation
from chaos.published import port, watched
from chaos.shrinking import BYTES
from chaos.world import World
from helpers.wire import connected, exchange, request, status_of

SECONDS = 0.3  # of each time of the server
MARGIN_SECONDS = 20.0  # of a machine under load
MOST_SENT = 8 << 20
HOST = b"chaos-host.example"
LINES = (b"GET / HTTP/1.1", b"GET /run HTTP/1.1", b"HEAD /run HTTP/1.1", b"GET /run/ HTTP/1.1",
         b"GET /healthz HTTP/1.0",
         b"POST /api/v1/runs/run/players HTTP/1.1", b"POST /api/v1/runs/run/preview HTTP/1.1", b"OPTIONS * HTTP/1.1",
         b"TRACE /run HTTP/1.1", b"CONNECT a:80 HTTP/1.1", b"GET http://a/run HTTP/1.1", b"GET //a/run/ HTTP/1.1",
         b"GET /data/run/latest.parquet HTTP/1.1", b"GET /run/p/%zz%00 HTTP/1.1",
         b"GET /api/v1/runs/run/events HTTP/1.1",
         b"PRI * HTTP/2.0", b"GET /\xff HTTP/1.1", b"GET / HTTP/9.9", b"", b"\x16\x03\x01", b"FOO / HTTP/1.1",
         b"PUT /run/preview HTTP/1.1", b"GET /openapi.json HTTP/1.1")  # fmt: skip
HEADERS = (b"Host: " + HOST, b"Host: [", b"Host: a?b/c", b"Connection: close", b"Connection: keep-alive, upgrade",
           b"Upgrade: websocket", b"Upgrade: h2c", b"Expect: 100-continue", b"Expect: x", b"Content-Length: 0",
           b"Content-Length: 15", b"Content-Length: -1", b"Content-Length: 99999999999",
           b"Content-Length: " + b"9" * 400,
           b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked", b"Content-Encoding: gzip",
           b"Range: bytes=0-3", b"Range: bytes=" + b"0-1," * 5000 + b"2-3", b"Range: bytes=" + b"9" * 400 + b"-",
           b"If-None-Match: " + b'"x",' * 12_000, b"If-None-Match: *", b"If-Modified-Since: " + b"9" * 5000,
           b"If-Range: x", b"Accept: text/html", b"Accept: " + b"a/b;q=0.1," * 5000,
           b"Accept-Language: " + b"x" * 60_000,
           b"Accept-Encoding: zstd;q=0, gzip", b"Accept-Encoding: " + b"x," * 20_000, b"Origin: null",
           b"X-Forwarded-For: " + b"1," * 9000, b"no colon", b": x", b" folded", b"X: \x00", b"X: \xff\r",
           b"X" * 70_000,
           b"Access-Control-Request-Method: GET", b"Trailer: Host")  # fmt: skip
BODIES = (b"", b'{"handles":["a"]}', b'{"standings":[["a",1],["b",2]]}', b"0\r\n\r\n",
          b"5;x=y\r\nhello\r\n0\r\nHost: a\r\n\r\n",
          b"zz\r\n", b"ffffffffffffffff\r\n", b"5\r\nhel", b"\x1f\x8b\x08junk", b"x" * 2_000_000)  # fmt: skip
MORE = (b"x" * 4096, b"a: b\r\n" * 500, b"\r\n" * 2000, b"1\r\nx\r\n" * 500, b"1;" + b"x" * 3000 + b"\r\nx\r\n",
        b"\0" * 4096)  # fmt: skip


def draw(seed: int) -> dict[str, Any]:
    """Pieces of bytes that are sent one after another, each some ``times``, and the ``end`` of the connection."""
    dice = random.Random(seed)
    pieces = [piece for _ in range(dice.choice([1, 1, 1, 2, 3])) for piece in _request(dice)]
    if dice.random() < 0.3:
        pieces.insert(dice.randrange(len(pieces) + 1), (dice.choice(MORE), dice.choice([1, 20, 500])))
    if dice.random() < 0.2:
        pieces = pieces[: dice.randrange(len(pieces) + 1)]
    shown = [{"data": {BYTES: base64.b64encode(data).decode()}, "times": times} for data, times in pieces]
    return {"pieces": shown, "end": dice.choice(["read", "read", "read", "close", "reset", "half"])}


def _request(dice: random.Random) -> list[tuple[bytes, int]]:
    headers = dice.sample(HEADERS, dice.choice([0, 1, 2, 3, 6]))
    data = b"\r\n".join([dice.choice(LINES), *headers, b"", b""]) + dice.choice((*BODIES[:1] * 5, *BODIES))
    if dice.random() < 0.3:
        changed = bytearray(data)
        for _ in range(dice.randint(1, 5)):
            changed[dice.randrange(min(len(data), 300))] = dice.randrange(256)
        data = bytes(changed)
    at = sorted(dice.randrange(len(data) + 1) for _ in range(dice.choice([0, 0, 1, 3])))
    return [(data[start:stop], 1) for start, stop in zip([0, *at], [*at, len(data)], strict=True)]


def check(world: World, parameters: dict[str, Any]) -> None:
    from ranklake.flows.http.server.connection import Bounds

    number = port(
        world, Bounds(head_seconds=SECONDS, body_seconds=SECONDS, unread_seconds=SECONDS, idle_seconds=SECONDS)
    )
    world.counts["requests"] += 1
    with watched() as log:
        began = time.monotonic()
        received = _talk(number, parameters)
        status = status_of(exchange(number, request("/healthz", "Connection: close"))[0])
        seconds = time.monotonic() - began
    if status != 200:
        raise Violation("another client is not served", f"status {status}")
    if seconds > MARGIN_SECONDS:
        raise Violation("a connection does not end in time", f"{seconds:.1f} s: {received[:500]!r}")
    if found := re.search(rb"HTTP/1\.1 5\d\d[^\r]*", received):
        raise Violation("a request is an error of the server", f"{found[0]!r}: {log.lines}")
    if HOST in received:
        raise Violation("the header Host is in an answer", repr(received[:2000]))
    if log.lines:
        raise Violation("a request leaves lines in the log", "\n".join(log.lines)[:3000])


def _talk(number: int, parameters: dict[str, Any]) -> bytes:
    """Send the pieces and read what comes, a stream of events only for a moment."""
    received = b""
    with connected(number) as client:
        client.settimeout(MARGIN_SECONDS)
        with suppress(OSError):
            for piece in parameters["pieces"]:
                data = base64.b64decode(piece["data"][BYTES])
                for _ in range(min(piece["times"], MOST_SENT // max(len(data), 1))):
                    client.sendall(data)
        if parameters["end"] == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif parameters["end"] in ("half", "read"):
            with suppress(OSError):
                if parameters["end"] == "half":
                    client.shutdown(socket.SHUT_WR)
                while (part := client.recv(65536)) and b"text/event-stream" not in received:
                    received += part
    return received
