"""Texts of any length from a site: no message repeats them in full."""

from __future__ import annotations

import pytest
from helpers.server import Reply, Server

from ranklake.flows.sources.base import LONGEST_PLACE, SourceError

LONG = "x" * 5_000
SHORTENED = f"... (shortened, {len(LONG):,} characters in all) ..."


def test_message__of_a_long_address_and_a_long_id_has_their_ends(server: Server) -> None:
    with server.client() as client, pytest.raises(SourceError) as error:
        client.get(f"contests/{LONG}/results")
    told = str(error.value)
    assert told.startswith(f"site, {server.url}contests/xxx")
    assert told.endswith("xxx/results: HTTP 404 'not found'")
    assert len(told) < LONGEST_PLACE + 100
    told = str(SourceError("wrong", "site", LONG, f"http://site/{LONG}.json"))
    assert f"contest xxx{'x' * 50}" in told
    assert told.endswith("xxx.json): wrong")
    assert SHORTENED in told
    assert len(told) < 2 * LONGEST_PLACE + 100


def test_message__of_an_answer_that_is_too_long_to_show_is_short(server: Server) -> None:
    server[f"/{LONG}"] = Reply(b"", 503)
    said: list[str] = []
    with server.client(on_retry=said.append) as client, pytest.raises(SourceError) as error:
        client.get(LONG)
    assert max(map(len, (str(error.value), *said))) < 1_000
