"""What a server has under way, of each at most so much: long computations, bodies of requests, listeners."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ...answers.run import PublishedRun
from ..messages.problems import Problem

MOST_WAITING = 100
MOST_BODIES = 64 << 20  # bytes of all requests together

T = TypeVar("T")


class Workers:
    """Threads of a server; beyond ``waiting`` long computations under way and waiting, ``n_long``, none is accepted."""

    def __init__(self, waiting: int = MOST_WAITING) -> None:
        self.n_long, self._most = 0, waiting
        self._free = asyncio.Semaphore(os.cpu_count() or 1)

    async def run(self, make: Callable[[], T], long: bool = False) -> T:
        """The result of a computation; raises Problem: too many long ones wait.

        ``long``: it takes time and memory, as a leaderboard of an earlier time, a search for near names, or a preview.
        """
        if not long:
            return await run_in_threadpool(make)
        if self.n_long >= self._most:
            raise Problem(429, "too many requests wait for a core; ask again in a second")
        self.n_long += 1
        try:
            async with self._free:
                return await run_in_threadpool(make)
        finally:
            self.n_long -= 1


MOST_LISTENERS = 1_000
_LOOK_SECONDS = 0.5
_ALIVE_SECONDS = 15.0  # between comments, which keep proxies from closing the connection


class Listeners:
    """Open connections that wait for new versions: ``n`` now, at most ``most``."""

    def __init__(self, most: int = MOST_LISTENERS) -> None:
        self.n, self._most = 0, most
        self._ended = False

    def close(self) -> None:
        """End all streams at their next look."""
        self._ended = True

    def stream(self, current: Callable[[], PublishedRun | None], headers: Mapping[str, str]) -> StreamingResponse:
        """An answer with the events about a run: the current version at once, then each new one.

        It counts from now until its end, or until the client leaves; it ends where ``current`` finds no published run.
        Raises Problem: too many connections wait.
        """
        if self.n >= self._most:
            raise Problem(503, "too many connections wait for events; ask again later")
        self.n += 1
        return _Stream(self._events(current), self._leave, headers)

    def _leave(self) -> None:
        self.n -= 1

    async def _events(self, current: Callable[[], PublishedRun | None]) -> AsyncIterator[bytes]:
        last, quiet = None, 0.0
        while not self._ended and (run := current()) is not None:
            if last is None or run.manifest.etag != last.manifest.etag:
                yield _event(run, last)
                last, quiet = run, 0.0
            elif quiet >= _ALIVE_SECONDS:
                yield b": alive\n\n"
                quiet = 0.0
            await asyncio.sleep(_LOOK_SECONDS)
            quiet += _LOOK_SECONDS


class _Stream(StreamingResponse):
    """A stream of events that tells its end."""

    def __init__(self, events: AsyncIterator[bytes], on_end: Callable[[], None], headers: Mapping[str, str]) -> None:
        super().__init__(events, headers=headers, media_type="text/event-stream")
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._on_end()


def _event(run: PublishedRun, last: PublishedRun | None) -> bytes:
    manifest = run.manifest
    facts: dict[str, Any] = {"run": run.name, "version": manifest.etag, "n_rounds": manifest.n_rounds}
    if last is not None:
        facts |= {"previous": last.manifest.etag, "previous_n_rounds": last.manifest.n_rounds}
    return b"event: version\nid: %s\ndata: %s\n\n" % (manifest.etag.encode(), msgspec.json.encode(facts))


class Bodies:
    """Bodies of requests in memory, of limited size together: ``n_bytes`` now."""

    def __init__(self, most_bytes: int = MOST_BODIES) -> None:
        self.n_bytes, self._most = 0, most_bytes

    @asynccontextmanager
    async def read(self, request: Request, most: int) -> AsyncIterator[bytes]:
        """The body of a request of at most ``most`` bytes; it counts until the end of the block.

        Raises Problem: it is larger, compressed, or incomplete, or there are too many bodies.
        """
        counted = 0

        def count(n_bytes: int) -> None:
            nonlocal counted
            counted += n_bytes
            self.n_bytes += n_bytes
            if self.n_bytes > self._most:
                raise Problem(429, "the server reads too many bodies of requests; ask again in a second")

        try:
            yield await _read_body(request, most, count)
        finally:
            self.n_bytes -= counted


async def _read_body(request: Request, most: int, count: Callable[[int], None]) -> bytes:
    too_large = Problem(413, f"the body must have at most {most:,} bytes")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Problem(415, "the body must not be compressed: no header Content-Encoding")
    if int(request.headers.get("content-length", "0")) > most:  # the server has checked that it is a number
        raise too_large
    data = bytearray()
    try:
        async for part in request.stream():
            count(len(part))
            data += part
            if len(data) > most:
                raise too_large
    except ClientDisconnect:
        raise Problem(400, "the body must be complete") from None  # nobody reads it
    return bytes(data)
