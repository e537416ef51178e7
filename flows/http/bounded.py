"""What bounds an exchange: received bytes, counted whatever the protocol above them, and the size of the decoded body.

Headers, informational responses, chunk extensions and trailers are no part of a body, and a site can send any number of
them. Here every byte that a connection receives counts, within TLS and without.
"""

from __future__ import annotations

import math
import os
import ssl
import zlib
from typing import Any

import anyio
import httpcore

ACCEPTED = "gzip"  # what a request offers; `identity` needs no offer
_GZIP = frozenset({"gzip", "x-gzip"})
_AUTO = 16 + zlib.MAX_WBITS  # the wrapper of gzip, not that of zlib


class ExchangeError(Exception):
    """There is no usable response. ``transient``: another attempt may succeed."""

    def __init__(self, rule: str, *, transient: bool) -> None:
        super().__init__(rule)
        self.transient = transient


class CountedBackend(httpcore.AnyIOBackend):
    """Opens connections that count what they receive, ``n_bytes`` since :meth:`start`."""

    def __init__(self) -> None:
        self.n_bytes, self._limit, self._rule = 0, math.inf, ""

    def start(self, max_bytes: int, framing: int) -> None:
        """Begin an exchange of at most twice ``max_bytes``, those of the longest body, and ``framing`` beside."""
        self.n_bytes, self._limit = 0, 2 * max_bytes + framing
        self._rule = f"the response takes more than twice the {max_bytes:,} bytes of the longest body to send"

    def count(self, n_bytes: int) -> None:
        """Count received bytes; ``ExchangeError`` beyond the limit."""
        self.n_bytes += n_bytes
        if self.n_bytes > self._limit:
            raise ExchangeError(self._rule, transient=False)

    async def connect_tcp(self, host: str, port: int, *how: Any, **more: Any) -> httpcore.AsyncNetworkStream:
        try:
            return _Stream(await super().connect_tcp(host, port, *how, **more), self)
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

    async def start_tls(self, ssl_context: ssl.SSLContext, *how: Any, **more: Any) -> httpcore.AsyncNetworkStream:
        try:
            return _Stream(await self._stream.start_tls(ssl_context, *how, **more), self._counted)
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


class Decoder:
    """Collects a body of at most ``max_bytes`` decoded; every method raises :class:`ExchangeError`.

    ``codings``, the value of Content-Encoding, is one layer of gzip at most: each layer multiplies the size by up to a
    thousand, and a limit on the output of the last layer would not bound the layers below.
    """

    def __init__(self, codings: str, max_bytes: int) -> None:
        layers = [coding for part in codings.lower().split(",") if (coding := part.strip()) not in ("", "identity")]
        if len(layers) > 1 or not _GZIP.issuperset(layers):
            given = f"Content-Encoding is {', '.join(layers)[:60]!r}"
            raise ExchangeError(f"{given}; one layer of gzip is accepted, and nothing else", transient=False)
        self._zlib = zlib.decompressobj(_AUTO) if layers else None
        self._max_bytes, self.decoded = max_bytes, bytearray()
        self._begun = False  # whether any compressed data were received

    def check_length(self, length: int) -> None:
        """Refuse a body that is, or will be, too long."""
        if length > self._max_bytes:
            raise ExchangeError(f"the response is longer than {self._max_bytes:,} bytes", transient=False)

    def feed(self, data: bytes) -> None:
        """Decode the next piece; no more than one byte beyond the limit is decoded."""
        if self._zlib is None:
            self._add(data)
        while self._zlib is not None and data:
            self._begun = True
            if self._zlib.eof:  # gzip is any number of members, one after the other, and then any number of zeros
                data = data.lstrip(b"\0")
                if not data:
                    break
                self._zlib = zlib.decompressobj(_AUTO)
            try:
                self._add(self._zlib.decompress(data, self._max_bytes - len(self.decoded) + 1))
            except zlib.error as error:
                raise ExchangeError(f"no response ({error})", transient=True) from None
            data = self._zlib.unused_data or self._zlib.unconsumed_tail

    def body(self) -> bytes:
        """The whole body."""
        if self._zlib is not None and self._begun and not self._zlib.eof:
            raise ExchangeError("no response (the compressed data end early)", transient=True)
        return bytes(self.decoded)

    def _add(self, data: bytes) -> None:
        self.decoded += data
        self.check_length(len(self.decoded))
