"""The client against a server that misbehaves on purpose."""

from __future__ import annotations

import gzip
import logging
import re
import threading
from collections.abc import Iterator

import httpx
import pytest
from helpers.server import FakeClock, Reply, Server, serving
from helpers.sockets import NoSleep, raw_serving

from ranklake.flows.http import client as module
from ranklake.flows.http import transport
from ranklake.flows.http.client import ATTEMPTS, Client, same_host
from ranklake.flows.http.pace import Pace
from ranklake.flows.http.redaction import Secret
from ranklake.flows.sources.base import SourceError

TOKEN = "lip_verySecret123"


def test_get__says_who_asks_and_for_what(server: Server) -> None:
    server["/a?b=1"] = Reply(b"response", headers={"ETag": '"1"', "Last-Modified": "yesterday"})
    with server.client(contact="ops@example.org") as client:
        response = client.get("a?b=1")
    assert (response.url, response.status, response.body) == (f"{server.url}a?b=1", 200, b"response")
    assert (response.etag, response.last_modified, response.time_seconds) == ('"1"', "yesterday", 1_800_000_000)
    agent = server.requests[0].headers["User-Agent"]
    assert agent.startswith("ranklake/")
    assert "ops@example.org" in agent


def test_get__requests_to_a_host_begin_no_sooner_than_the_interval(server: Server) -> None:
    server["/"] = Reply(before=lambda: server.clock.passes(0.5))
    with server.client() as client:
        for _ in range(3):
            client.get("")
    assert server.clock.slept == [1.5, 1.5]


def test_get__clients_of_one_host_share_its_pace(server: Server) -> None:
    server["/"] = b""
    pace = Pace()
    with server.client(pace=pace) as one, server.client(pace=pace) as other:
        one.get("")
        other.get("")
    assert server.clock.slept == [2.0]


def test_get__what_is_unchanged_is_not_sent_again(server: Server) -> None:
    server["/"] = Reply(b"response", headers={"ETag": '"1"'})
    with server.client() as client:
        assert client.get("", etag='"1"', last_modified="yesterday").status == 304
    assert server.requests[0].headers["If-Modified-Since"] == "yesterday"


def test_get__no_attempt_is_waited_for_beyond_the_deadline(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ranklake.flows.http.client.DOCUMENT_SECONDS", 100.0)
    server["/"] = Reply(b"", 503, headers={"Retry-After": "60"})
    with server.client(interval_seconds=0.0) as client, pytest.raises(SourceError, match="after 2 attempts"):
        client.get("")
    assert server.clock.slept == [60.0]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 520])
def test_get__passing_faults_are_tried_again_ever_later(server: Server, status: int) -> None:
    server.script("/", Reply(b"", status), Reply(b"", status), Reply(b"", status), b"response")
    told: list[str] = []
    with server.client(interval_seconds=0.0, on_retry=told.append) as client:
        assert client.get("").body == b"response"
        assert client.requests == 4
    assert len(told) == 3
    assert re.fullmatch(rf"site: HTTP {status}; again in [123] s", told[0])
    assert 1 <= server.clock.slept[0] < 4
    assert 4 <= server.clock.slept[2] < 7


def test_get__jitter_parts_those_who_failed_together(server: Server) -> None:
    server.script("/", *[Reply(b"", 500), b""] * 8)
    with server.client(interval_seconds=0.0) as client:
        for _ in range(8):
            client.get("")
    assert len(set(server.clock.slept)) > 1


@pytest.mark.parametrize(
    ("told", "least", "most"),
    [
        ("120", 119, 121), ("Fri, 15 Jan 2027 08:02:00 GMT", 119, 121),
        # those that say nothing are passed over
        ("soon", 60, 65), ("", 60, 65), ("-5", 60, 65), ("٣", 60, 65), ("Fri, 99 Jan 2027 08:02:00 GMT", 60, 65),
        ("Mon, 01 Jan 1990 00:00:00 GMT", 60, 65),
    ],
)  # fmt: skip
def test_get__retry_after_is_honoured_if_it_says_something(
    server: Server, told: str, least: float, most: float
) -> None:
    headers = {"Retry-After": told} if told.isascii() else {}
    server.script("/", Reply(b"", 429, headers), b"response")
    with server.client(pause_seconds=60.0) as client:
        assert client.get("").body == b"response"
    assert least <= sum(server.clock.slept) <= most


@pytest.mark.parametrize(("status", "waits"), [(429, [60.0]), (503, [])])
def test_get__other_clients_of_a_host_pause_only_when_it_limits_requests(
    server: Server, status: int, waits: list[float]
) -> None:
    server.script("/", Reply(b"", status), b"other", b"one")
    pace, slept = Pace(), list[float]()

    def ask(_: str) -> None:
        assert other.get("").body == b"other"
        slept.extend(server.clock.slept)

    with (
        server.client(pace=pace, interval_seconds=0.0) as other,
        server.client(pace=pace, interval_seconds=0.0, pause_seconds=60.0, on_retry=ask) as one,
    ):
        assert one.get("").body == b"one"
    assert slept == waits


def test_get__gives_up_after_some_attempts_and_says_what_to_do(server: Server) -> None:
    server["/down"] = Reply(b"", 503)
    with server.client() as client, pytest.raises(SourceError) as error:
        client.get("down")
    assert client.requests == ATTEMPTS
    assert str(error.value).startswith(f"site, {server.url}down: HTTP 503 after {ATTEMPTS} attempts; run again later")
    assert sum(server.clock.slept) < 120


def test_get__a_response_cut_in_the_middle_is_asked_for_again(server: Server) -> None:
    server.script("/", Reply(b"x" * 10_000, cut=True), b"x" * 10_000)
    with server.client() as client:
        assert len(client.get("").body) == 10_000
        assert client.requests == 2


def test_get__a_response_that_drips_for_ever_is_given_up(server: Server) -> None:
    server["/"] = Reply(b"x" * 100, before=lambda: server.clock.passes(1000))
    said: list[str] = []
    with (
        server.client(on_retry=said.append) as client,
        pytest.raises(SourceError, match="no whole response within 1800 s"),
    ):
        client.get("")
    assert said[0].startswith("site: no whole response within 600 s; again in ")


@pytest.mark.bound("ranklake.flows.http.client.TIMEOUT.read")
def test_get__silence_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT", httpx.Timeout(0.05))
    over = threading.Event()
    server["/"] = Reply(b"", before=lambda: over.wait(20) and None)
    try:
        with server.client() as client, pytest.raises(SourceError, match=rf"no response .* after {ATTEMPTS} attempts"):
            client.get("")
    finally:
        over.set()


def test_get__nobody_there_is_an_error_that_names_the_address() -> None:
    with serving() as gone:
        url = gone.url
    with (
        Client("site", url, interval_seconds=0, clock=FakeClock()) as client,
        pytest.raises(SourceError, match="refused"),
    ):
        client.get("path")


@pytest.mark.bound("ranklake.flows.http.client.MAX_BYTES")
@pytest.mark.parametrize(
    "reply",
    [b"x" * 200_001, Reply(gzip.compress(b"x" * 5_000_000), headers={"Content-Encoding": "gzip"})],
    ids=["plain", "bomb"],
)
def test_get__a_response_that_is_too_long_unpacked_is_refused(server: Server, reply: bytes | Reply) -> None:
    server["/"] = reply
    with server.client(max_bytes=200_000) as client, pytest.raises(SourceError, match="longer than 200,000 bytes"):
        client.get("")
    assert client.requests == 1


@pytest.mark.bound("ranklake.flows.http.client.MAX_REDIRECTS")
def test_get__redirects_are_followed_at_home_and_nowhere_else(server: Server) -> None:
    with serving() as other:
        other["/"] = b"elsewhere"
        server["/old"] = Reply(b"", 301, {"Location": "/new"})
        server["/new"] = b"response"
        server["/away"] = Reply(b"", 302, {"Location": other.url})
        server["/round"] = Reply(b"", 302, {"Location": "/round"})
        with server.client(token=TOKEN) as client:
            assert client.get("old").body == b"response"
            with pytest.raises(SourceError, match=r"leads to another host, '127.0.0.1', and was not followed"):
                client.get("away")
            with pytest.raises(SourceError, match="leads on and on"):
                client.get("round")
        assert other.requests == []


@pytest.mark.parametrize("to", ["http://a.org/x", "http://a.org:80/x", "https://a.org/x"])
def test_same_host__is_name_scheme_and_port(to: str) -> None:
    assert same_host("http://a.org/", to)
    assert not same_host("https://a.org/", "http://a.org/")


@pytest.mark.parametrize(
    "to",
    ["http://a.org:8080/x", "http://b.a.org/x", "http://a.org@b.org/x", "http://u:p@a.org/x", "ftp://a.org/x",
     "http://[::1", "http://a.org:99999/x"],
)  # fmt: skip
def test_same_host__is_no_other_port_name_or_scheme(to: str) -> None:
    assert not same_host("http://a.org/", to)


def test_get__other_statuses_are_errors_that_show_how_the_response_begins(server: Server) -> None:
    server["/no"] = Reply(b"<html>\x1b[31m Forbidden", 403)
    with server.client() as client, pytest.raises(SourceError) as error:
        client.get("no")
    assert str(error.value) == f"site, {server.url}no: HTTP 403 '<html>\\x1b[31m Forbidden'"
    with server.client() as client:
        assert client.get("no", accept={403}).status == 403


def test_get__reads_no_more_of_an_error_than_a_message_shows(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "BEGINNING_BYTES", 4)
    server["/no"] = Reply(b"Forbidden" * 10, 403)
    with server.client() as client, pytest.raises(SourceError, match="HTTP 403 'Forb'"):
        client.get("no")


@pytest.mark.parametrize(
    "url", ["codeforces.com", "ftp://a", "https://", "https://u:pass@a.org", "https://a.org/?key=1", "http://a:b"]
)
def test_client__refuses_what_is_no_plain_address_and_shows_no_password(url: str) -> None:
    with pytest.raises(ValueError, match="base URL") as error:
        Client("site", url, interval_seconds=1)
    assert "pass@" not in str(error.value)


@pytest.fixture
def everything_logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.DEBUG):
        yield caplog


def test_token__goes_to_its_host_and_into_no_log_message_or_response(
    server: Server, everything_logged: pytest.LogCaptureFixture
) -> None:
    server["/ok"] = b"fine"
    server["/no"] = Reply(b"go away", 403)
    server["/echo"] = f"you sent {TOKEN}".encode()
    with serving() as other, server.client(token=TOKEN) as client:
        other["/"] = b""
        told = [repr(client.get("ok")), repr(client), repr(client.get(other.url))]
        for path in ("no", "echo"):
            with pytest.raises(SourceError) as error:
                client.get(path)
            told.append(str(error.value))
        assert "Authorization" not in other.requests[0].headers
    assert server.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"
    assert "repeats our access token" in told[-1]
    assert TOKEN not in "".join(told) + everything_logged.text


@pytest.mark.parametrize(
    "echo",
    [TOKEN, "".join(f"\\u{ord(c):04x}" for c in TOKEN), "".join(f"%{ord(c):02x}" for c in TOKEN)],
    ids=["plain", "json", "percent"],
)
def test_token__that_a_site_repeats_anywhere_is_nowhere_kept_or_shown(
    server: Server, everything_logged: pytest.LogCaptureFixture, echo: str
) -> None:
    echoing = {"ETag": f'"{echo}"', "Last-Modified": echo, "X-Echo": echo}
    server["/ok"] = Reply(b"fine", headers=echoing)
    server["/body"] = f'{{"a": "{echo}"}}'.encode()
    server["/no"] = Reply(b"x" * 170 + echo.encode(), 403)  # a message that is cut within the token shows a part of it
    server["/to"] = Reply(b"", 302, {"Location": f"http://{TOKEN}.example.org/{echo}"})
    server["/home"] = Reply(b"", 302, {"Location": f"/x?key={echo}"})
    server["/coding"] = Reply(b"", headers={"Content-Encoding": echo})
    server.script("/later", Reply(b"", 503, {"Retry-After": echo}), b"fine")
    said: list[str] = []
    with server.client(token=TOKEN, on_retry=said.append) as client:
        response = client.get("ok")
        assert (response.etag, response.last_modified) == ("", "")
        client.get("later")
        for path in ("body", "no", "to", "home", "coding", f"missing?key={echo}"):
            with pytest.raises(SourceError) as error:
                client.get(path)
            said.append(str(error.value) + repr(error.value))
    assert "/x?key" not in "".join(server.paths)
    kept = "".join(said) + repr(response) + everything_logged.text
    assert not Secret(TOKEN).is_in(kept)
    assert TOKEN[:12] not in kept


def test_token__in_a_line_that_breaks_the_protocol_is_not_shown() -> None:
    said: list[str] = []
    for line in (f"HTTP/1.1 {TOKEN} no", f"HTTP/1.1 200 OK\r\n{TOKEN} is no header"):
        talk = [f"{line}\r\n\r\n".encode()]
        with (
            raw_serving(lambda head, talk=talk: iter(talk)) as site,  # type: ignore[misc]
            Client("site", site.url, interval_seconds=0, token=TOKEN, clock=NoSleep(), on_retry=said.append) as client,
            pytest.raises(SourceError, match="access token") as error,
        ):
            client.get("")
        said.append(str(error.value))
    assert TOKEN not in "".join(said)


def test_token__is_not_sent_unencrypted_to_another_machine() -> None:
    for url in ("http://site.example.org/", "http://192.0.2.1/", "http://localhost.example.org/"):
        with pytest.raises(ValueError, match="RANKLAKE_SITE_TOKEN would be sent unencrypted") as error:
            Client("site", url, interval_seconds=0, token=TOKEN)
        assert TOKEN not in str(error.value)
    for url in ("https://site.example.org/", "http://localhost:8000/", "http://[::1]/", "http://127.1.2.3/"):
        Client("site", url, interval_seconds=0, token=TOKEN).__exit__()


@pytest.mark.parametrize("token", ["short", f"{TOKEN}\nX-Header: injected", "blanks in it", "tökén-tökén"])
def test_token__that_is_none_is_refused_by_the_name_of_its_variable(server: Server, token: str) -> None:
    with pytest.raises(ValueError, match="RANKLAKE_SITE_TOKEN must have 8 or more visible ASCII characters") as error:
        server.client(token=token)
    assert token not in str(error.value)
