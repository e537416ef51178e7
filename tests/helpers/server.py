"""A site on this machine: a real server with the responses that a test sets and a list of the requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ranklake.flows.http.client import Client
from ranklake.flows.http.pace import Clock


class FakeClock(Clock):
    """Time that passes only when somebody sleeps."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._began = self._now = now
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self._now - self._began

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._now += seconds

    def passes(self, seconds: float) -> None:
        """Time passes by itself."""
        self._now += seconds


@dataclass(frozen=True)
class Request:
    """What came in."""

    path: str
    headers: dict[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Reply:
    """What goes out: ``cut`` ends the connection in the middle, ``before`` runs first."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    before: Callable[[], None] = lambda: None

    @classmethod
    def of(cls, what: Any) -> Reply:
        if isinstance(what, Reply):
            return what
        return cls(what if isinstance(what, bytes) else json.dumps(what).encode())


class Server:
    """Replies by path, query included. A list of replies is used up one a request, save the last."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.replies: dict[str, Any] = {}
        self.requests: list[Request] = []
        self.clock = FakeClock()

    def __setitem__(self, path: str, what: Any) -> None:
        self.replies[path] = [what]

    def script(self, path: str, *replies: Any) -> None:
        """One after another; the last one stays."""
        self.replies[path] = list(replies)

    @property
    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [request.path for request in self.requests]

    def client(self, **more: Any) -> Client:
        """A client whose patience costs no time."""
        return Client("site", self.url, **{"interval_seconds": 2.0, "clock": self.clock, **more})

    def reply(self, path: str, headers: dict[str, str], body: bytes = b"") -> Reply:
        """The next reply for a path."""
        self.requests.append(Request(path, headers, body))
        replies = self.replies.get(path)
        if not replies:
            return Reply(b"not found", 404)
        reply = Reply.of(replies.pop(0) if len(replies) > 1 else replies[0])
        known = headers.get("If-None-Match")
        return Reply(b"", 304, reply.headers) if known and known == reply.headers.get("ETag") else reply


@contextmanager
def serving() -> Iterator[Server]:
    """A server on the loopback, for as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # an answer is two writes: the second would wait 40 ms for an acknowledgement

        def do_POST(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            reply = site.reply(self.path, dict(self.headers.items()), body)
            reply.before()
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.status != 304:
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body[: len(reply.body) // 2] if reply.cut else reply.body)
            self.close_connection |= reply.cut

        def log_message(self, *_: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:  # clients that hang up are what some tests are about
            pass

    with Quiet(("127.0.0.1", 0), Handler) as http:
        site = Server(f"http://127.0.0.1:{http.server_address[1]}/")
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield site
        finally:
            http.shutdown()
            thread.join()
