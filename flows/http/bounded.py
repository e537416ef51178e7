"""Sockets with a deadline and a byte limit for a whole exchange, whatever the protocol above them.

A read timeout bounds one read. A site that sends one byte before each timeout can prolong a response for ever: in a
header line, in informational responses, in chunk extensions, in trailers or in records of TLS. Here every read and
write at the socket takes at most the remaining time of the exchange, and every byte received is counted. So no loop
above the socket can outlive the deadline, because each iteration needs bytes.
"""

from __future__ import annotations

import math
import socket
import ssl
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import httpcore

__all__ = ["BoundedBackend", "Budget", "ByteLimitError", "DeadlineError"]

T = TypeVar("T")

_RECORD_BYTES = 1 << 14  # the largest plaintext of a TLS record


class DeadlineError(Exception):
    """The deadline of an exchange has passed."""


class ByteLimitError(Exception):
    """An exchange received more bytes than its limit."""


class Budget:
    """The remaining time and bytes of the current exchange; unlimited until :meth:`start`.

    Parameters
    ----------
    monotonic
        A monotonic clock, seconds.

    Attributes
    ----------
    n_bytes : int
        Bytes received since :meth:`start`.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._end = self._bytes_left = math.inf
        self.n_bytes = 0

    def start(self, seconds: float, n_bytes: int) -> None:
        """Begin an exchange of at most ``seconds`` and at most ``n_bytes`` received."""
        self._end, self._bytes_left = self._monotonic() + seconds, n_bytes
        self.n_bytes = 0

    def is_over(self) -> bool:
        """Whether the deadline has passed, within the resolution of a socket's timeout."""
        return self._monotonic() >= self._end - 2e-3

    def check(self) -> None:
        """Raise DeadlineError if the deadline has passed."""
        if self._monotonic() >= self._end:
            raise DeadlineError

    def seconds(self, timeout: float | None) -> float | None:
        """The lesser of a timeout and the remaining time; None is no timeout.

        Raises
        ------
        DeadlineError
            No time is left.
        """
        self.check()
        least = min(self._end - self._monotonic(), math.inf if timeout is None else timeout)
        # Zero would make the socket non-blocking.
        return None if least == math.inf else max(least, 1e-3)

    def count(self, n_bytes: int) -> None:
        """Count received bytes.

        Raises
        ------
        ByteLimitError
            The limit is exceeded.
        """
        self.n_bytes += n_bytes
        self._bytes_left -= n_bytes
        if self._bytes_left < 0:
            raise ByteLimitError


class BoundedBackend(httpcore.NetworkBackend):
    """Opens connections whose reads and writes are bounded by a budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._backend = budget, httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of a host that accepts; ``timeout`` is for each address."""
        try:
            addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(str(error)) from error
        fault: Exception = httpcore.ConnectError(f"{host} has no address")
        # A name may have any number of addresses: a deadline for each alone would not bound them all.
        for *_, address in addresses:
            seconds = self._budget.seconds(timeout)
            try:
                stream = self._backend.connect_tcp(str(address[0]), port, seconds, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                fault = error
            except OverflowError as error:  # a port beyond 65,535
                fault = httpcore.ConnectError(str(error))
            else:
                return _Stream(stream, self._budget)
        raise fault


class _Stream(httpcore.NetworkStream):
    """A connection, or a TLS session in it, within a budget."""

    def __init__(self, stream: httpcore.NetworkStream, budget: Budget) -> None:
        self._stream, self._budget = stream, budget

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._stream.read(max_bytes, self._budget.seconds(timeout))
        self._budget.count(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._budget.seconds(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        if self.get_extra_info("ssl_object") is not None:
            return _NestedTLS(self, ssl_context, server_hostname, timeout)
        try:
            seconds = self._budget.seconds(timeout)
        except DeadlineError:
            self.close()
            raise
        # A timeout of an SSL socket bounds a whole handshake or read, however many pieces its records come in.
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._budget)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _NestedTLS(httpcore.NetworkStream):
    """TLS in TLS, for a site behind a proxy with TLS. ``below`` reads every piece of a record."""

    def __init__(
        self, below: _Stream, ssl_context: ssl.SSLContext, server_hostname: str | None, timeout: float | None
    ) -> None:
        self._below, self._timeout = below, timeout
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = ssl_context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_hostname)
        try:
            self._run(self._tls.do_handshake)
        except ssl.SSLError as error:
            self.close()
            raise httpcore.ConnectError(str(error)) from error
        except BaseException:
            self.close()
            raise

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._timeout = timeout
        try:
            return self._run(lambda: self._tls.read(max_bytes))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""
        except ssl.SSLError as error:
            raise httpcore.ReadError(str(error)) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._timeout = timeout
        try:
            while buffer:
                piece = buffer
                buffer = piece[self._run(lambda piece=piece: self._tls.write(piece)) :]  # type: ignore[misc]
        except ssl.SSLError as error:
            raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._below.close()

    def get_extra_info(self, info: str) -> Any:
        return self._tls if info == "ssl_object" else self._below.get_extra_info(info)

    def _run(self, act: Callable[[], T]) -> T:
        """The result of a TLS operation, whose data are sent and received through the stream below."""
        while True:
            try:
                result = act()
            except ssl.SSLWantReadError:
                self._flush()
                if data := self._below.read(_RECORD_BYTES, self._timeout):
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            else:
                self._flush()
                return result

    def _flush(self) -> None:
        if data := self._outgoing.read():
            self._below.write(data, self._timeout)
