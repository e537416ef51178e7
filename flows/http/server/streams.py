"""Connections that wait for events, of limited number."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from .problems import Problem

MOST_LISTENERS = 1_000
ALIVE_SECONDS = 15.0  # between comments, which keep proxies from closing the connection
ALIVE = b": alive\n\n"


class Listeners:
    """Open connections that wait for events: ``n`` now, at most ``most``; ``ended`` tells their streams to end."""

    def __init__(self, most: int = MOST_LISTENERS) -> None:
        self.n, self._most = 0, most
        self.ended = False

    def close(self) -> None:
        """End all streams at their next look."""
        self.ended = True

    def stream(self, events: AsyncIterator[bytes], headers: Mapping[str, str]) -> StreamingResponse:
        """An answer of server-sent events, which ends with ``events`` or when the client leaves.

        It counts from now until then. Raises Problem: too many connections wait.
        """
        if self.n >= self._most:
            raise Problem(503, "too many connections wait for events; ask again later")
        self.n += 1
        return _Stream(events, self._leave, headers)

    def _leave(self) -> None:
        self.n -= 1


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
