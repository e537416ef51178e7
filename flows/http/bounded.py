"""Sockets whose received bytes are counted for a whole exchange, whatever the protocol above them.

Headers, informational responses, chunk extensions and trailers are no part of a body, and a site can send any number of
them. Here every byte that a connection receives counts, within TLS and without.
"""

from __future__ import annotations

import math
import os
import ssl
from collections.abc import Iterable
from typing import Any

import anyio
import httpcore


class ByteLimitError(Exception):
    """An exchange received more bytes than its limit."""


class CountedBackend(httpcore.AnyIOBackend):
    """Opens connections that count what they receive.

    ``n_bytes``: bytes received since :meth:`start`.
    """

    def __init__(self) -> None:
        self.n_bytes, self._limit = 0, math.inf

    def start(self, n_bytes: int) -> None:
        """Begin an exchange of at most ``n_bytes`` received."""
        self.n_bytes, self._limit = 0, n_bytes

    def count(self, n_bytes: int) -> None:
        """Count received bytes; raises ByteLimitError beyond the limit."""
        self.n_bytes += n_bytes
        if self.n_bytes > self._limit:
            raise ByteLimitError

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            return _Stream(await super().connect_tcp(host, port, timeout, local_address, socket_options), self)
        except (UnicodeError, OverflowError) as error:  # a name that no resolver takes, a port beyond 65,535
            raise httpcore.ConnectError(str(error)) from error
        except httpcore.ConnectError as error:
            raise httpcore.ConnectError(_cause(error)) from error


class _Stream(httpcore.AsyncNetworkStream):
    """A connection, or a TLS session in it, whose received bytes are counted."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, counted: CountedBackend) -> None:
        self._stream, self._counted = stream, counted
        self.write, self.aclose, self.get_extra_info = stream.write, stream.aclose, stream.get_extra_info  # type: ignore[method-assign]

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = await self._stream.read(max_bytes, timeout)
        self._counted.count(len(data))
        return data

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        try:
            return _Stream(await self._stream.start_tls(ssl_context, server_hostname, timeout), self._counted)
        except BaseException:  # httpcore leaves the connection open if the handshake is cancelled
            with anyio.CancelScope(shield=True):
                await self._stream.aclose()
            raise


def _cause(error: BaseException) -> str:
    """What the system says of the first address, in place of a summary for all addresses of a name."""
    while isinstance(error, BaseExceptionGroup) or error.__cause__ is not None:
        error = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__  # type: ignore[assignment]
    number = getattr(error, "errno", None) or 0
    return f"[Errno {number}] {os.strerror(number)}" if number > 0 else str(error)
