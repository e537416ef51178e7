"""Lists without an end: a site that always has one more page."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from helpers.server import FakeClock
from helpers.sockets import raw_serving, response

from ranklake.flows.http.client import Client
from ranklake.flows.ingestion import fetch as fetching
from ranklake.flows.ingestion.fetch import fetch
from ranklake.flows.ingestion.response_archive import ResponseArchive
from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.sites import dmoj
from ranklake.flows.sources.sites.site import find_site
from ranklake.storage import Lake

END = "2020-01-01T00:00:00Z"


def page_of(head: bytes) -> int:
    return int(head.split(b"page=")[1].split(b" ")[0])


@pytest.mark.parametrize("same", [True, False], ids=["the-same-again", "always-others"])
def test_dmoj__a_list_without_an_end_is_an_error(lake: Lake, monkeypatch: pytest.MonkeyPatch, same: bool) -> None:
    monkeypatch.setattr(dmoj, "MAX_PAGES", 20)

    def talk(head: bytes) -> Iterator[bytes]:
        key = "one" if same else f"c{page_of(head)}"
        listed = {"objects": [{"key": key, "end_time": END}], "has_more": True}
        yield response(json.dumps({"data": listed}).encode())

    with (
        raw_serving(talk) as server,
        Client("dmoj", server.url, interval_seconds=0.0, clock=FakeClock()) as client,
        pytest.raises(SourceError, match="nothing new on page 2" if same else "more than 20 pages") as error,
    ):
        fetch(ResponseArchive(lake, "dmoj"), find_site("dmoj", server.url), client)
    assert f"{server.url}api/v2/contests?is_rated=True&page=" in str(error.value)
    assert len(server.heads) == (2 if same else 20)


@pytest.mark.parametrize("same", [True, False], ids=["the-same-again", "always-others"])
def test_ctftime__names_without_an_end_are_an_error(lake: Lake, monkeypatch: pytest.MonkeyPatch, same: bool) -> None:
    monkeypatch.setattr(fetching, "MAX_FOLLOW_UPS", 20)

    def talk(head: bytes) -> Iterator[bytes]:
        if b"/results/" in head:
            yield response(b"{}")
        else:
            first = 0 if same else int(head.split(b"offset=")[1].split(b" ")[0])
            yield response(json.dumps({"result": [{"id": first + n, "name": "x"} for n in range(300)]}).encode())

    with (
        raw_serving(talk) as server,
        Client("ctftime", server.url, interval_seconds=0.0, clock=FakeClock()) as client,
        pytest.raises(SourceError, match="more than 20 documents beyond its list"),
    ):
        fetch(ResponseArchive(lake, "ctftime"), find_site("ctftime", server.url), client)
    assert sum(b"/teams/" in head for head in server.heads) == 20
