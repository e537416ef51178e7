"""Connections with bounds: the size of a request's head, the time for head, body and answer, and their number.

uvicorn has none of these: it collects an endless header, at a cost that grows with its square, and keeps a connection
without requests for ever.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, ClassVar

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from .problems import Problem

_HEAD, _BODY = "head", "body"
_LINGER_SECONDS = 2.0  # in which the rest of a refused request is discarded, as a reset would discard the answer
_LOOKS = 4  # at a connection, within the shortest time


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of a connection.

    ``head_bytes``: of a head: the request line and the headers. Also of what comes between two parts of a body, and
    after it: the lengths of chunks with their extensions, and trailers.
    ``head_seconds``, ``body_seconds``: from the connection, or from the first byte of a further request, to the end of
    a head; from there to the end of the body.
    ``unread_seconds``: time in which a client that has an answer to read reads nothing.
    ``idle_seconds``: time between two requests.
    ``pipelined``: number of requests on one connection that wait for the answer to an earlier one.
    ``connections``: number of open ones.
    """

    head_bytes: int = 64 << 10
    head_seconds: float = 10.0
    body_seconds: float = 120.0
    unread_seconds: float = 60.0
    idle_seconds: float = 5.0
    pipelined: int = 64
    connections: int = 4_096

    @property
    def shortest_seconds(self) -> float:
        """The shortest of the times."""
        return min(self.head_seconds, self.body_seconds, self.unread_seconds)


BOUNDS = Bounds()


def connection_type(bounds: Bounds) -> type[Connection]:
    """The protocol of a server with other bounds."""
    return type("Connection", (Connection,), {"bounds": bounds})


class Connection(HttpToolsProtocol):
    """A connection to the server."""

    bounds: ClassVar[Bounds] = BOUNDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._reading = _HEAD  # what of a request is incomplete; empty while nothing is
        self._request, self._watched = 0, (0, _HEAD)  # the number of the request; the part whose time runs
        self._since = self._read_last = self.loop.time()
        self._n_framing = 0  # bytes since the last part of a body, or since the first part of the head
        self._n_unread = 0  # bytes of answers that the system has not taken
        self._ended = False
        self._cycles: list[RequestResponseCycle] = []  # of requests whose answers are not complete
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.bounds.connections:
            self._refuse(Problem(503, "too many connections are open; ask again later"))
            transport.close()
        else:
            self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)
        for cycle in self._cycles:  # also those before the last request, which uvicorn forgets
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()

    def data_received(self, data: bytes) -> None:
        if self._ended:
            return
        self._unset_keepalive_if_required()
        self._reading = self._reading or _HEAD
        self._n_framing += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.cycle.keep_alive = False  # no other protocol is spoken here, and the parser has ended
        except httptools.HttpParserError as error:
            found = error.__context__
            self._refuse(found if isinstance(found, Problem) else Problem(400, "the request is not valid HTTP/1.1"))
            return
        if self._reading and self._n_framing > self.bounds.head_bytes:
            self._refuse(self._too_large())
        if self._watched != (part := (self._request, self._reading)):
            self._watched, self._since = part, self.loop.time()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._request, self._reading, self._n_framing = self._request + 1, _HEAD, 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._reading == _HEAD:  # and no trailer
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.bounds.head_bytes:
            raise self._too_large()
        if len(self.pipeline) >= self.bounds.pipelined:
            raise Problem(429, "too many requests wait on this connection")
        self._reading, self._n_framing = _BODY, 0
        super().on_headers_complete()
        self._cycles = [*(cycle for cycle in self._cycles if not cycle.response_complete), self.cycle]

    def on_body(self, body: bytes) -> None:
        self._n_framing = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._reading = ""
        super().on_message_complete()

    def resume_writing(self) -> None:
        self._read_last = self.loop.time()
        super().resume_writing()

    def _look(self) -> None:
        """Close the connection if a time has passed; else look again."""
        now, bounds = self.loop.time(), self.bounds
        size = self.transport.get_write_buffer_size()
        if not size or size < self._n_unread or not self._n_unread:
            self._read_last = now
        self._n_unread = size
        if now - self._read_last > bounds.unread_seconds:
            self.transport.abort()
        elif self._reading == _HEAD and now - self._since > bounds.head_seconds:
            if not (self._request or self._n_framing):
                self.transport.close()  # browsers open connections ahead of their requests
            self._refuse(Problem(408, f"the head of a request must come within {bounds.head_seconds:g} seconds"))
        elif self._reading == _BODY and now - self._since > bounds.body_seconds:
            self._refuse(Problem(408, f"the body of a request must come within {bounds.body_seconds:g} seconds"))
        if not self._ended:
            self._timer = self.loop.call_later(bounds.shortest_seconds / _LOOKS, self._look)

    def _too_large(self) -> Problem:
        return Problem(431, f"the head of a request must have at most {self.bounds.head_bytes:,} bytes")

    def _refuse(self, problem: Problem) -> None:
        """Answer what is no request, unless the answer to another one is under way, and close the connection."""
        if self._ended or self.transport.is_closing():
            return
        self._ended, cycle = True, self.cycle
        free = cycle is None or cycle.response_complete
        if not free and self._reading == _BODY and not (cycle.response_started or self.pipeline):
            cycle.disconnected, free = True, True  # the application waits for the body; its answer is not sent
            cycle.message_event.set()
        if not free:
            self.transport.close()
            return
        self.transport.write(_answer(problem))
        self.transport.write_eof()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(_LINGER_SECONDS, self.transport.abort)


def _answer(problem: Problem) -> bytes:
    """The bytes of an answer, the last one of a connection."""
    body = msgspec.json.encode(problem.document())
    head = (
        b"content-type: application/problem+json\r\nx-content-type-options: nosniff\r\ncache-control: no-store\r\n"
        b"connection: close\r\ncontent-length: %d\r\n" % len(body)
    )
    more = b"".join(b"%s: %s\r\n" % (name.encode(), value.encode()) for name, value in problem.headers.items())
    return STATUS_LINE[problem.status] + head + more + b"\r\n" + body
