"""Server-sent events: one event for each new version of a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ...answers.run import PublishedRun
from ..messages.problems import Problem

MOST_LISTENERS = 1_000
_LOOK_SECONDS = 0.5
_ALIVE_SECONDS = 15.0  # between comments, which keep proxies from closing the connection


class Listeners:
    """Open connections that wait for new versions.

    ``most``: number of connections beyond which none is accepted.
    ``n``: number of open connections.
    """

    def __init__(self, most: int = MOST_LISTENERS) -> None:
        self.n, self._most = 0, most
        self._ended = False

    def close(self) -> None:
        """End all streams at their next look."""
        self._ended = True

    def stream(self, current: Callable[[], PublishedRun | None], headers: Mapping[str, str]) -> StreamingResponse:
        """An answer with the events about a run: the current version at once, then each new one.

        It counts from now until its end, or until the client leaves.

        ``current``: the state of the run; None if it is no longer published, which ends the stream.
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
