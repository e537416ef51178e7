"""The client against servers that never end a response, or whose response is larger than it looks."""

from __future__ import annotations

import asyncio
import gzip
import socket
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from helpers.server import Reply, Server
from helpers.sockets import GIVE_UP_SECONDS, NoSleep, RawServer, certificate, drip, raw_serving, relay, response

from ranklake.flows.http import client as module
from ranklake.flows.http.bounded import Decoder, ExchangeError
from ranklake.flows.http.client import Client
from ranklake.flows.sources.base import SourceError

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n"
EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"  # of deflate: stored, no byte long
GZIP_HEAD = gzip.compress(b"")[:10]
NO_BODY = "takes more than twice the 100,000 bytes of the longest body to send"

LAYERS: dict[str, tuple[bytes, bytes]] = {
    "status-line": (b"HTTP/1.1 200 ", b"O"),
    "header-line": (HEAD + b"X-Slow: ", b"x"),
    "headers": (HEAD, b"X: y\r\n"),
    "informational": (b"HTTP/1.1 103 Early Hints\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "body": (HEAD + b"Content-Length: 1000000\r\n\r\n", b"x"),
    "body-without-length": (HEAD + b"Connection: close\r\n\r\n", b"x"),
    "chunks": (CHUNKED + b"\r\n", b"1\r\nx\r\n"),
    "chunk-extension": (CHUNKED + b"\r\n1;", b"x"),
    "trailers": (CHUNKED + b"\r\n0\r\n", b"X: y\r\n"),
    "gzip-blocks": (
        CHUNKED + b"Content-Encoding: gzip\r\n\r\na\r\n" + GZIP_HEAD + b"\r\n", b"5\r\n" + EMPTY_BLOCK + b"\r\n"
    ),
    "gzip-members": (
        CHUNKED + b"Content-Encoding: gzip\r\n\r\n", b"14\r\n" + gzip.compress(b"", mtime=0) + b"\r\n"
    ),
    "gzip-file-name": (
        CHUNKED + b"Content-Encoding: gzip\r\n\r\na\r\n\x1f\x8b\x08\x08\0\0\0\0\0\xff\r\n", b"1\r\nx\r\n"
    ),
    "redirect": (b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 1000000\r\n", b"X: y\r\n"),
    "refusal": (b"HTTP/1.1 403 No\r\nContent-Length: 1000000\r\n\r\n", b"x"),
}  # fmt: skip


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two attempts of a tenth of a second each."""
    monkeypatch.setattr(module, "ATTEMPTS", 2)
    monkeypatch.setattr(module, "MAX_SECONDS", 0.1)


def client_of(server: RawServer, **more: object) -> Client:
    return Client("site", server.url, **{"interval_seconds": 0.0, "clock": NoSleep(), **more})  # type: ignore[arg-type]


@pytest.mark.quick("headers", "body", "gzip-blocks", "redirect")
@pytest.mark.parametrize("layer", LAYERS)
def test_get__a_response_without_an_end_meets_the_deadline_in_any_layer(hurried: None, layer: str) -> None:
    with raw_serving(drip(*LAYERS[layer])) as server, client_of(server) as client:
        began = time.monotonic()
        with pytest.raises(SourceError) as error:
            client.get("drip")
        seconds = time.monotonic() - began
    assert str(error.value).startswith(f"site, {server.url}drip: no whole response within 0.1 s after 2 attempts; run")
    assert seconds < 0.5 * GIVE_UP_SECONDS
    assert client.requests == 2


@pytest.mark.parametrize("n_bytes", [0, 40], ids=["handshake", "records"])
def test_get__the_deadline_holds_within_records_of_tls(
    hurried: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_bytes: int
) -> None:
    """A server that speaks TLS byte by byte: a read below TLS ends many times before one above it does."""
    server_context, client_context = certificate(tmp_path)
    monkeypatch.setattr("ranklake.flows.http.transport._ssl_context", lambda: client_context)
    with raw_serving(drip(HEAD + b"X-Slow: ", b"x"), server_context) as server, relay(server.port, n_bytes) as slow:
        url = f"https://127.0.0.1:{slow.port}/"
        with Client("site", url, interval_seconds=0.0, clock=NoSleep()) as client:
            began = time.monotonic()
            with pytest.raises(SourceError, match=r"no whole response within 0\.1 s after 2 attempts"):
                client.get("")
            assert time.monotonic() - began < 0.5 * GIVE_UP_SECONDS


@pytest.mark.quick("responds-*")
@pytest.mark.parametrize("proxy_tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("site_drips", [False, True], ids=["responds", "drips"])
def test_get__the_deadline_holds_behind_a_proxy(
    hurried: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy_tls: bool, site_drips: bool
) -> None:
    server_context, client_context = certificate(tmp_path)
    monkeypatch.setattr("ranklake.flows.http.transport._ssl_context", lambda: client_context)

    def talk(head: bytes) -> Iterator[bytes]:
        yield from drip(HEAD, b"X: y\r\n")(head) if site_drips else [response(b"x" * 100_000)]

    with (
        raw_serving(talk, server_context) as server,
        relay(server.port, connect=True, context=server_context if proxy_tls else None) as proxy,
    ):
        monkeypatch.setenv("https_proxy", f"http{'s' if proxy_tls else ''}://user:word@127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "")
        url = f"https://127.0.0.1:{server.port}/"
        with Client("site", url, interval_seconds=0.0, clock=NoSleep()) as client:
            if site_drips:
                monkeypatch.setattr(module, "MAX_SECONDS", 0.5)  # two handshakes
                with pytest.raises(SourceError, match=r"no whole response within 0\.5 s after 2 attempts"):
                    client.get("")
            else:
                monkeypatch.setattr(module, "MAX_SECONDS", 60.0)
                assert client.get("").body == b"x" * 100_000
        assert proxy.heads[0].startswith(b"CONNECT 127.0.0.1:%d " % server.port)
        assert b"Proxy-Authorization: Basic " in proxy.heads[0]


def test_get__a_proxy_that_never_responds_meets_the_deadline(hurried: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with raw_serving(drip(HEAD, b"X: y\r\n")) as proxy:
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{proxy.port}")
        with (
            Client("site", "https://site.invalid/", interval_seconds=0.0, clock=NoSleep()) as client,
            pytest.raises(SourceError, match=r"no whole response within 0\.1 s after 2 attempts"),
        ):
            client.get("")


@pytest.mark.parametrize("proxy", ["http://user:word@[::1", "gopher://user:word@127.0.0.1"])
def test_get__a_proxy_that_is_none_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    with Client("site", "https://site.invalid/", interval_seconds=0.0) as client, pytest.raises(SourceError) as error:
        client.get("")
    assert "HTTPS_PROXY" in str(error.value)
    assert "word" not in str(error.value)


def test_get__the_proxy_is_not_asked_for_hosts_that_it_is_not_for(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server["/"] = b"response"
    with server.client() as client:
        assert client.get("").body == b"response"


def test_get__one_document_with_its_attempts_has_a_deadline_too(server: Server) -> None:
    """Each response takes nearly ten minutes and ends in a fault that may pass."""
    server["/"] = Reply(b"", 503, before=lambda: server.clock.passes(590.0))
    with server.client(interval_seconds=0.0) as client, pytest.raises(SourceError, match=r"after 4 attempts"):
        client.get("")
    assert server.clock.monotonic() < module.DOCUMENT_SECONDS + module.MAX_SECONDS


def test_get__one_document_with_its_redirects_has_a_deadline_too(server: Server) -> None:
    for n in range(5):
        server[f"/{n}"] = Reply(b"", 302, {"Location": f"/{n + 1}"}, before=lambda: server.clock.passes(590.0))
    with (
        server.client(interval_seconds=0.0) as client,
        pytest.raises(SourceError, match="no whole response within 1800 s"),
    ):
        client.get("0")
    assert len(server.requests) == 4


@pytest.mark.bound("ranklake.flows.http.client.TIMEOUT.connect")
@pytest.mark.parametrize(
    ("connect", "whole", "message"),
    [(20.0, 0.1, "no whole response within 0.1 s"), (0.02, 60.0, r"no response \(")],
    ids=["all", "one"],
)
def test_get__all_addresses_of_a_host_share_the_deadline(
    hurried: None, monkeypatch: pytest.MonkeyPatch, connect: float, whole: float, message: str
) -> None:
    """A name with a thousand addresses that do not respond."""

    async def silent(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"192.0.2.{n % 250}", 443)) for n in range(1000)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", silent)
    monkeypatch.setattr(module, "TIMEOUT", httpx.Timeout(60.0, connect=connect))
    monkeypatch.setattr(module, "MAX_SECONDS", whole)
    with (
        Client("site", "https://many.example.org", interval_seconds=0.0, clock=NoSleep()) as client,
        pytest.raises(SourceError, match=f"{message}.* after 2 attempts"),
    ):
        client.get("")


@pytest.mark.parametrize("url", ["http://a..b/", f"http://{'a' * 70}.b/"])
def test_get__a_name_that_no_resolver_takes_is_an_error(hurried: None, url: str) -> None:
    with (
        Client("site", url, interval_seconds=0.0, clock=NoSleep()) as client,
        pytest.raises(SourceError, match=r"no response|no valid address"),
    ):
        client.get("")


def test_get__an_invalid_address_is_refused_at_once(hurried: None) -> None:
    with (
        Client("site", "http://site.example", interval_seconds=0.0, clock=NoSleep()) as client,
        pytest.raises(SourceError, match=r"no valid address") as caught,
    ):
        client.get("a\0b")
    assert "attempt" not in str(caught.value)


# ------------------------------------------------------------------------------------------------------------- sizes


def stacked(n_bytes: int, layers: int) -> bytes:
    body = bytes(n_bytes)
    for _ in range(layers):
        body = gzip.compress(body, compresslevel=1)
    return body


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip, gzip", stacked(50_000_000, 2)),
        ("gzip, gzip, gzip", stacked(50_000_000, 3)),
        ("deflate", zlib.compress(bytes(1000))),
        ("br", b"\x0b\x02\x80hello\x03"),
        ("zstd", b"\x28\xb5\x2f\xfd\x04\x00\x01\x00\x00"),
        ("gzip, br", b"x"),
        ("compress", b"x"),
        ("x" * 1000, b"x"),
    ],
    ids=["gzip-gzip", "three", "deflate", "br", "zstd", "gzip-br", "compress", "unknown"],
)
def test_get__a_content_coding_that_was_not_offered_is_refused(server: Server, coding: str, body: bytes) -> None:
    server["/"] = Reply(body, headers={"Content-Encoding": coding})
    with server.client() as client, pytest.raises(SourceError) as error:
        client.get("")
    assert f"Content-Encoding is {coding[:20]!r}"[:-1] in str(error.value)
    assert "one layer of gzip is accepted" in str(error.value)
    assert len(str(error.value)) < 250
    assert client.requests == 1
    assert server.requests[0].headers["Accept-Encoding"] == "gzip"


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(b"response")),
        ("X-GZip", gzip.compress(b"response")),
        ("identity", b"response"),
        ("identity, gzip", gzip.compress(b"response")),
        ("gzip", gzip.compress(b"resp") + gzip.compress(b"") + gzip.compress(b"onse") + b"\0" * 100),
    ],
    ids=["gzip", "x-gzip", "identity", "identity-gzip", "members"],
)
def test_get__one_layer_of_gzip_is_undone(server: Server, coding: str, body: bytes) -> None:
    server["/"] = Reply(body, headers={"Content-Encoding": coding})
    with server.client() as client:
        assert client.get("").body == b"response"


@pytest.mark.parametrize(
    "body",
    [gzip.compress(b"x" * 10_000)[:-9], gzip.compress(b"x") + b"rest", b"\x1f", b"no gzip"],
    ids=["cut", "more", "one-byte", "nonsense"],  # the bytes hold the time
)
def test_get__compressed_data_that_end_early_or_go_on_are_asked_for_again(server: Server, body: bytes) -> None:
    server.script("/", Reply(body, headers={"Content-Encoding": "gzip"}), b"response")
    with server.client() as client:
        assert client.get("").body == b"response"


def test_decoder__decodes_no_more_than_its_limit_of_a_bomb() -> None:
    bomb = gzip.compress(bytes(200_000_000), compresslevel=1)
    decoder = Decoder("gzip", 1_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(ExchangeError, match="longer than"):
            decoder.feed(bomb)
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


def test_decoder__takes_a_body_of_just_its_limit() -> None:
    for size in (0, 1, 99_999, 100_000):
        decoder = Decoder("gzip", 100_000)
        for byte in gzip.compress(bytes(size)):
            decoder.feed(bytes([byte]))
        assert decoder.body() == bytes(size)
    with pytest.raises(ExchangeError, match="longer than"):
        Decoder("", 100_000).feed(bytes(100_001))


HOSTILE = {
    # the response, the rule
    "two codings in two headers": ([response(stacked(1000, 2), "Content-Encoding: gzip", "Content-Encoding: gzip")],
                                   "Content-Encoding is 'gzip, gzip'"),
    "a length beyond the limit": (drip(HEAD + b"Content-Length: 300000000\r\n\r\n", b"x"), "longer than 100,000 bytes"),
    "informational": (drip(b"HTTP/1.1 103 Early\r\n\r\n", b"HTTP/1.1 103 Early\r\n\r\n" * 5000), NO_BODY),
    "gzip blocks": (drip(CHUNKED + b"Content-Encoding: gzip\r\n\r\na\r\n" + GZIP_HEAD + b"\r\n",
                         b"5000\r\n" + EMPTY_BLOCK * 4096 + b"\r\n"), NO_BODY),
    "chunk extensions": (drip(CHUNKED + b"\r\n", (b"1;" + b"x" * 50_000 + b"\r\nx\r\n") * 2), NO_BODY),
    "a long header": ([HEAD + b"X: " + b"y" * 200_000], "headers of more than 100 kB"),
    "many headers": ([HEAD + b"X: y\r\n" * 40_000], "headers of more than 100 kB"),
    "a long validator": ([HEAD + b"ETag: " + b"y" * 200_000], "headers of more than 100 kB"),
}  # fmt: skip


@pytest.mark.quick("gzip blocks", "a long*", "many headers", "two codings*")
@pytest.mark.bound("ranklake.flows.http.transport.FRAMING_BYTES")
@pytest.mark.parametrize(("talk", "rule"), HOSTILE.values(), ids=HOSTILE.keys())
def test_get__a_response_beyond_a_bound_is_refused_at_once(talk: Any, rule: str) -> None:
    speak = talk if callable(talk) else lambda _: iter(talk)
    with raw_serving(speak) as server, client_of(server, max_bytes=100_000) as client:
        with pytest.raises(SourceError, match=rule):
            client.get("")
        assert client.requests == 1


# -------------------------------------------------------------------------------------------------------- connections


def test_get__a_response_that_was_given_up_does_not_become_the_next_one() -> None:
    """The connection of an aborted response, whose rest looks like the response to another request, is not reused."""
    poison = response(b"poison")

    def talk(head: bytes) -> Iterator[bytes]:
        if b"GET /long" in head:
            yield HEAD + b"Content-Length: 300000000\r\n\r\n" + poison
        elif b"GET /refused" in head:
            yield response(b"x" * 100_000 + poison, status="403 No")
        elif b"GET /down" in head:
            yield response(poison, status="503 Down")
        else:
            yield response(b"fine")

    with raw_serving(talk) as server, client_of(server) as client:
        for path in ("long", "refused", "down"):
            with pytest.raises(SourceError):
                client.get(path)
            assert client.get("").body == b"fine"


def test_get__a_connection_is_used_again_after_a_whole_response(server: Server) -> None:
    with raw_serving(lambda head: iter([response(b"fine")])) as raw, client_of(raw) as client:
        for _ in range(3):
            assert client.get("").body == b"fine"
        assert raw.connections == 1


@pytest.mark.parametrize("length", ["3", "0"], ids=["short", "none"])
def test_get__bytes_beyond_the_length_do_not_become_the_next_response(length: str) -> None:
    def talk(head: bytes) -> Iterator[bytes]:
        yield HEAD + f"Content-Length: {length}\r\n\r\n".encode() + b"abc"[: int(length)] + response(b"poison")

    with raw_serving(talk) as server, client_of(server) as client:
        bodies = []
        for path in "ab":
            try:
                bodies.append(client.get(path).body)
            except SourceError:
                bodies.append(b"")
    assert bodies == [b"abc"[: int(length)]] * 2


@pytest.mark.bound("ranklake.flows.http.client.LONGEST_WAIT")
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("told", ["7200", "999999999999999999999", "1e9", "9" * 5000, "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_get__an_enormous_retry_after_is_not_waited_for(server: Server, told: str, status: int) -> None:
    server["/"] = Reply(b"", status, {"Retry-After": told})
    with server.client(interval_seconds=0.0) as client, pytest.raises(SourceError) as error:
        client.get("")
    assert server.clock.monotonic() < 120
    if told == "7200":
        assert f"HTTP {status}: the site asks to wait 7,200 s" in str(error.value)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "to",
    [
        "file:///etc/passwd", "ftp://127.0.0.1/", "//169.254.169.254/latest/", "http://10.0.0.1/",
        "http://[::1", "//[", "http://127.0.0.1:99999999/", "https:///x", "http://a\\b@c/",  # no addresses
    ],
)  # fmt: skip
def test_get__redirects_to_files_private_addresses_and_none_are_not_followed(server: Server, to: str) -> None:
    server["/"] = Reply(b"", 302, {"Location": to})
    with server.client() as client, pytest.raises(SourceError, match=r"leads to (another host|what is no address)"):
        client.get("")
    assert len(server.requests) == 1


@pytest.mark.bound("ranklake.flows.http.client.MAX_VALIDATOR")
@pytest.mark.parametrize("etag", ['"' + "x" * 100_000 + '"', '"é"', '"\x85"', '"a\tb"'])
def test_get__a_validator_that_cannot_be_kept_is_left_out(etag: str) -> None:
    with (
        raw_serving(lambda head: iter([response(b"fine", f"ETag: {etag[:50_000]}")])) as server,
        client_of(server) as client,
    ):
        assert client.get("").etag == ""
