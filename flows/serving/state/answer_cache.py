"""Whole answers before the application, by address and content encoding: a repeated question costs no routing.

All answers of a state of the runs are dropped when a publish replaces it. Requests for an answer that is being made
wait for it, so that a new version is rendered once and not once for each connection.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...answers.kept import Kept
from ...http.server.counts import ENDPOINT, PAGE
from ..messages.responses import encoding_for, is_unchanged
from .served_runs import ServedRuns

MOST_CACHED = 64 << 20  # bytes of answers
_LONGEST = 1_000  # characters of an address whose answer is kept
MOST_ENCODINGS = 256  # values of Accept-Encoding in memory
_SHORT = 100  # characters of Accept-Encoding
_Headers = list[tuple[bytes, bytes]]
# An answer is the same for all origins, so it does not vary by them.
_SHARED = [
    (b"vary", b"Accept-Encoding"),
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"ETag, Last-Modified"),
]
_NAMES = {name for name, _ in _SHARED}
_OF_REQUEST = (b"accept-encoding", b"if-none-match", b"if-modified-since")
_OF_BODY = (b"content-length", b"content-type", b"content-encoding")
_known_encoding = lru_cache(MOST_ENCODINGS)(encoding_for)


@dataclass(frozen=True, slots=True)
class _Answer:
    endpoint: str
    etag: str
    time_seconds: float
    headers: _Headers
    data: bytes

    async def send(self, asked: dict[str, str], send: Send) -> None:
        """Send the answer, or 304 if the client has it."""
        status, headers, data = 200, self.headers, self.data
        if is_unchanged(asked, self.etag, self.time_seconds):
            status, data = 304, b""
            headers = [one for one in headers if one[0] not in _OF_BODY]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": data})


class AnswerCache:
    """A middleware that keeps answers with an ETag that are ``public`` and vary by the encoding."""

    def __init__(self, app: ASGIApp, served: ServedRuns, cache: Kept[_Answer]) -> None:
        self._app, self._served, self._cache = app, served, cache
        self._runs = served.runs
        self._pending: dict[tuple[str, ...], asyncio.Event] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer that is kept, or let the application answer."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        if self._served.runs is not self._runs:
            self._runs = self._served.runs
            self._cache.clear()
        asked: dict[str, str] = {}
        for name, value in scope["headers"]:
            if name in _OF_REQUEST:
                asked.setdefault(name.decode(), value.decode("latin-1"))
        query = scope["query_string"].decode("latin-1")
        key = (scope.get("root_path", ""), scope["path"], query, _encoding(asked.get("accept-encoding", "")))
        answer = self._cache.get(key)
        if answer is None and (pending := self._pending.get(key)) is not None:
            await pending.wait()
            answer = self._cache.get(key)
        if answer is None:
            await self._make(key, scope, receive, send)
        else:
            scope[ENDPOINT] = answer.endpoint
            await answer.send(asked, send)

    async def _make(self, key: tuple[str, ...], scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer, and keep the answer if it may be kept."""
        runs = self._runs
        headers: _Headers | None = None
        start: Message | None = None
        short = len(scope["path"]) + len(scope["query_string"]) <= _LONGEST
        pending = self._pending[key] = asyncio.Event()

        def end() -> None:
            pending.set()
            if self._pending.get(key) is pending:
                del self._pending[key]

        async def keep(message: Message) -> None:
            nonlocal headers, start
            if message["type"] == "http.response.start":
                headers = _shared(message) if short else None
                if headers is not None:
                    start = {**message, "headers": headers}
                    return  # until the body is there: others do not wait for a client that reads slowly
                end()  # a stream has no end to wait for
            elif headers is not None and start is not None:
                if not message.get("more_body") and runs is self._served.runs:
                    answer = _answer(scope.get(ENDPOINT, PAGE), headers, message.get("body", b""))
                    if answer is not None:
                        self._cache.put(key, answer)
                end()
                await send(start)
                start = None
            await send(message)

        try:
            await self._app(scope, receive, keep)
        finally:
            end()


def _encoding(accepted: str) -> str:
    """As :func:`encoding_for`; short headers, which most clients send, are looked up."""
    return _known_encoding(accepted) if len(accepted) <= _SHORT else encoding_for(accepted)


def _shared(message: Message) -> _Headers | None:
    """The headers of an answer for everybody; None if it may not be kept."""
    found = dict(message["headers"])
    if message["status"] != 200 or not found.get(b"cache-control", b"").startswith(b"public"):
        return None
    if b"etag" not in found or not found.get(b"vary", b"").startswith(b"Accept-Encoding"):
        return None
    return [*(one for one in message["headers"] if one[0] not in _NAMES), *_SHARED]


def _answer(endpoint: str, headers: _Headers, data: bytes) -> _Answer | None:
    found = {name: value.decode("latin-1") for name, value in headers}
    if found.get(b"content-length") != str(len(data)):
        return None  # an answer to HEAD, or one in parts
    etag = found[b"etag"].removeprefix("W/").strip('"')
    return _Answer(endpoint, etag, parsedate_to_datetime(found[b"last-modified"]).timestamp(), headers, data)
