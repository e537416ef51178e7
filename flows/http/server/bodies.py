"""Bodies of requests, of limited size, each and together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.requests import ClientDisconnect, Request

from .problems import Problem

MOST_BODIES = 64 << 20  # bytes of all requests together


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
