"""The ASGI application: it finds the address of a request, checks who asks, and sends the answer or the error.

It is written to the interface of ASGI itself. An answer to a match should take as long as the log takes; a framework's
layers would take several times longer than reading the match.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive, Scope, Send

from ...common.text import quoted
from ...http.server.counts import PAGE, RequestCounts
from ...http.server.parameters import parse
from ...http.server.problems import Problem
from .messages import Call, Response
from .metrics import Metrics
from .routes import Routes
from .tokens import Access

_LOG = logging.getLogger(__name__)
_SAFE = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]


class Application:
    """The application.

    ``start``, ``end``: called at the begin and the end of the server. ``state.end_streams``: when it is told to end.
    """

    def __init__(
        self,
        routes: Routes,
        access: Access,
        counts: RequestCounts,
        metrics: Metrics,
        start: Callable[[], None],
        end_streams: Callable[[], None],
        end: Callable[[], Awaitable[None]],
    ) -> None:
        self._routes, self._access, self._counts, self._metrics = routes, access, counts, metrics
        self._start, self._end = start, end
        self.state = SimpleNamespace(end_streams=end_streams)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self._start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._end()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, name, status = time.perf_counter(), PAGE, 500
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            try:
                route, names = self._routes.find(scope["method"], scope["raw_path"])
                name = route.name
                by = "" if route.access == "open" else self._check(scope, route.access == "write")
                request = Request(scope, receive)
                query = request.query_params.multi_items() if scope["query_string"] else ()
                response = await route.handler(Call(request, names, parse(route.parameters, query), by))
                status, more = response.status, []
            except Problem as problem:
                status, more = problem.status, _headers(problem)
                response = Response(msgspec.json.encode(problem.document()), status, "application/problem+json")
            except ClientDisconnect:
                status = 499
                return
            if response.stream is not None:
                self._counts.add(name, status, time.perf_counter() - began)
                await response.stream(scope, receive, watch)
                return
            await _send(send, response, more, scope["method"])
        except Exception as error:
            _LOG.error("%s %s failed", scope["method"], quoted(scope["path"]), exc_info=error)
            status = 500
            if not started:
                body = msgspec.json.encode(Problem(500, "the process failed; its log has the reason").document())
                await _send(send, Response(body, 500, "application/problem+json"), [], scope["method"])
        self._counts.add(name, status, time.perf_counter() - began)

    def _check(self, scope: Scope, writes: bool) -> str:
        try:
            return self._access.check(dict(scope["headers"]), writes)
        except Problem:
            if writes:
                self._metrics.refuse("forbidden")
            raise


def _headers(problem: Problem) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in problem.headers.items()]


async def _send(send: Send, response: Response, more: list[tuple[bytes, bytes]], method: str) -> None:
    body = response.body
    headers = [(b"content-type", response.media.encode()), (b"content-length", b"%d" % len(body)), *_SAFE, *more]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else body})
