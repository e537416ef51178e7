"""Comparisons of players who never met, not even through others, by HTTP."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest
from helpers.lakes import contest, lake_of, rate_run

pytest.importorskip("starlette")
from helpers.api import client_of

from ranklake.flows.publication.publish import publish


def test_comparison__says_that_players_never_met(tmp_path: Path) -> None:
    lake = lake_of(
        tmp_path / "lake",
        [contest(str(i), *pair, time_seconds=86_400 * (i + 1)) for i, pair in enumerate(("ab", "bc", "de"))],
    )
    rate_run(lake)
    publish(lake, "run")
    apart = "'{}' and 'e' never met, not even through others: their ratings do not compare"
    with client_of(lake) as client:
        for handles, note in (("a,c", ""), ("a,e", apart.format("a")), ("c,a,e", apart.format("c"))):
            for path in ("compare", "teamrate"):
                assert client.get(f"/api/v1/runs/run/{path}", params={"handles": handles}).json()["note"] == note
            page = unescape(client.get("/run/compare", params={"h": handles}).text)
            assert (note in page) if note else ("never met" not in page)
