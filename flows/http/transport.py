"""One request and its response over HTTP/1.1, bounded in time, in bytes on the wire and in bytes of the body."""

from __future__ import annotations

import asyncio
import ssl
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Literal

import httpcore
import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal

from .bounded import ACCEPTED, CountedBackend, Decoder, ExchangeError

KEEP_ALIVE_SECONDS = 5.0
BEGINNING_BYTES = 1 << 16  # of a body that is only shown in a message
FRAMING_BYTES = 1 << 20  # headers and the like; beside twice the longest body, for chunks of a few bytes

Part = Literal["whole", "beginning", "none"]


@dataclass(frozen=True, slots=True)
class TransportResponse:
    """Status, headers by lower-case name, and the requested part of the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport:
    """Connections to sites, direct or through the proxies of the environment.

    Every request has the ``headers``; ``max_bytes`` limits a decoded body, ``timeout`` each read and write, and the
    connection; ``monotonic`` is a clock for deadlines, seconds.
    """

    def __init__(
        self, headers: Mapping[str, str], *, max_bytes: int, timeout: httpx.Timeout, monotonic: Callable[[], float]
    ) -> None:
        self._headers = {"Accept": "*/*", "Accept-Encoding": ACCEPTED, "Connection": "keep-alive", **headers}
        self._max_bytes, self._timeout, self._monotonic = max_bytes, timeout, monotonic
        self._network = CountedBackend()
        self._pools: dict[str, httpcore.AsyncConnectionPool] = {}
        self._loop = ExitStack()  # a thread with an event loop: this one may have a loop that runs
        self._portal: BlockingPortal | None = None

    def close(self) -> None:
        """Close all connections."""
        if self._portal is not None:
            for pool in self._pools.values():
                self._portal.call(pool.aclose)
        self._portal = None
        self._pools.clear()
        self._loop.close()

    def request(
        self,
        method: Literal["GET", "POST"],
        url: str,
        headers: Mapping[str, str],
        seconds: float,
        part: Callable[[int], Part],
        content: bytes | None = None,
    ) -> TransportResponse:
        """The response to a request with the body ``content``.

        ``seconds``: time for the whole exchange, from the connection to the last byte.
        ``part``: the part of the body to read, by status. The connection is closed if the rest is not read.
        Raises ExchangeError: there is no response, it takes too long, is too long, or has a coding that was not
        offered.
        """
        try:
            to = httpx.URL(url)
            # Bytes without user and password; a port only if it is not that of the scheme.
            target = httpcore.URL(scheme=to.raw_scheme, host=to.raw_host, port=to.port, target=to.raw_path)
        except httpx.InvalidURL as error:
            raise ExchangeError(f"no valid address: {error}", transient=False) from None
        given = [("Host", to.netloc.decode("ascii")), *(self._headers | dict(headers)).items()]
        if content is not None:
            given.append(("Content-Length", str(len(content))))
        encoded = [(name.encode("ascii"), value.encode("latin-1")) for name, value in given]
        request = httpcore.Request(
            method, target, headers=encoded, content=content, extensions={"timeout": self._timeout.as_dict()}
        )
        with _exchange_errors():
            if self._portal is None:
                self._portal = self._loop.enter_context(start_blocking_portal())
            exchange = self._portal.start_task_soon(self._exchange, self._pool(to), request, seconds, part)
            try:
                return exchange.result()
            finally:
                exchange.cancel()  # after an interrupt of this thread

    async def _exchange(
        self, pool: httpcore.AsyncConnectionPool, request: httpcore.Request, seconds: float, part: Callable[[int], Part]
    ) -> TransportResponse:
        self._network.start(self._max_bytes, FRAMING_BYTES)
        end = self._monotonic() + seconds
        try:
            # A read timeout bounds one read. A site that sends one byte before each could prolong a response for ever:
            # in a header, in chunk extensions, in trailers, in records of TLS. This timeout bounds the whole.
            async with asyncio.timeout(seconds):
                response = await pool.handle_async_request(request)
                try:
                    if not self._network.n_bytes:
                        # It was read from bytes behind the previous response on the same connection.
                        raise ExchangeError("no response (the one before was longer than it said)", transient=True)
                    found = await self._read(response, part(response.status))
                    if self._monotonic() >= end:
                        raise TimeoutError
                    return found
                finally:
                    await response.aclose()
        except TimeoutError:
            raise ExchangeError(f"no whole response within {seconds:.4g} s", transient=True) from None

    async def _read(self, response: httpcore.Response, part: Part) -> TransportResponse:
        headers: dict[str, str] = {}
        for raw, value in response.headers:
            name = raw.decode("latin-1").lower()
            headers[name] = f"{headers[name]}, {_text(value)}" if name in headers else _text(value)
        if part == "none":
            return TransportResponse(response.status, headers, b"")
        decoder = Decoder(headers.get("content-encoding", ""), self._max_bytes)
        length = headers.get("content-length", "")
        if part == "whole" and length.isascii() and length.isdigit():
            decoder.check_length(int(length))  # before a byte of it is read
        async for piece in response.aiter_stream():
            decoder.feed(piece)
            if part == "beginning" and len(decoder.decoded) >= BEGINNING_BYTES:
                return TransportResponse(response.status, headers, bytes(decoder.decoded[:BEGINNING_BYTES]))
        return TransportResponse(response.status, headers, decoder.body())

    def _pool(self, to: httpx.URL) -> httpcore.AsyncConnectionPool:
        """The connections through the proxy for an address, or direct ones."""
        address = _proxy_of(to)
        if address not in self._pools:
            self._pools[address] = httpcore.AsyncConnectionPool(
                ssl_context=_ssl_context(),
                proxy=_proxy(address) if address else None,
                keepalive_expiry=KEEP_ALIVE_SECONDS,
                network_backend=self._network,
            )
        return self._pools[address]


@contextmanager
def _exchange_errors() -> Iterator[None]:
    """Turn the errors of the library into :class:`ExchangeError`."""
    try:
        yield
    except httpcore.RemoteProtocolError as error:
        if "too long" in str(error):  # h11's only message for a head or trailers beyond its limit
            raise ExchangeError("the response has headers of more than 100 kB", transient=False) from None
        raise ExchangeError(f"no response ({_error_text(error)})", transient=True) from error
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError) as error:
        raise ExchangeError(f"no response ({_error_text(error)})", transient=True) from error
    except (httpcore.UnsupportedProtocol, ImportError) as error:
        raise ExchangeError(f"cannot send the request: {_error_text(error)}", transient=False) from None


@cache
def _ssl_context() -> ssl.SSLContext:
    """The trusted certificates, cached: reading them takes longer than many a request."""
    return httpx.create_ssl_context()


def _proxy_of(to: httpx.URL) -> str:
    """The proxy of the environment or the system for an address; empty if none."""
    if urllib.request.proxy_bypass(to.netloc.decode("ascii")):
        return ""
    proxies = urllib.request.getproxies()
    address = proxies.get(to.scheme) or proxies.get("all") or ""
    return address if not address or "://" in address else f"http://{address}"


def _proxy(address: str) -> httpcore.Proxy:
    try:
        proxy = httpx.Proxy(address)
    except (httpx.InvalidURL, ValueError):
        # Not shown: it may hold a password.
        rule = "the proxy of the environment (HTTPS_PROXY, HTTP_PROXY or ALL_PROXY) is no address as http://host:port"
        raise ExchangeError(rule, transient=False) from None
    url = proxy.url
    at = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    return httpcore.Proxy(at, auth=proxy.raw_auth, ssl_context=_ssl_context() if url.scheme == "https" else None)


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _error_text(error: Exception) -> str:
    return str(error).strip() or type(error).__name__
