"""The pages of problems: filters, errors, old names, and runs without results."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("starlette")
from helpers.api import TestClient, client_of
from helpers.lakes import contest, lake_of, rate_run
from helpers.problems import STRANGE

from ranklake.flows.publication.publish import publish

HTML = {"accept": "text/html"}


def listed(client: TestClient, **query: str) -> list[str]:
    """The ids of the problems of a list."""
    html = client.get("/run/problems", params=query).text
    table = html.partition('id="problems"')[2].partition("</table>")[0]
    return re.findall(r'<tr><td><a href="/run/problems/([^"]*)"', table)


def test_list__has_the_chosen_problems_in_their_order(pages: TestClient) -> None:
    everything = listed(pages)
    assert len(everything) == 10
    assert listed(pages, order="-difficulty") == everything[::-1]
    assert sorted(listed(pages, contest="3")) == sorted(["3-A", "3-B", "3-C", quote(STRANGE, "")])
    assert sorted(listed(pages, q="task b")) == sorted(["3-B", "7-B", "last%2F1-B"])
    assert listed(pages, q="no such") == []
    assert len(listed(pages, tag="dp")) == 7
    assert "7 of 10 problems" in pages.get("/run/problems?tag=dp").text
    wrong = pages.get("/run/problems?min=a", headers=HTML)
    assert (wrong.status_code, "min must be a finite number" in wrong.text) == (400, True)
    near = pages.get("/run/problems/3-a", headers=HTML)
    assert (near.status_code, '<a href="/run/problems/3-A">3-A</a>' in near.text) == (404, True)


def test_problem__shows_its_name_as_text_and_its_points(pages: TestClient) -> None:
    html = pages.get(f"/run/problems/{quote(STRANGE, '')}").text
    assert re.search(r"<h1>([^<]*)</h1>", html)[1] == "=1+&lt;i&gt;"  # type: ignore[index]
    assert "<i>" not in html
    assert "<u>" not in html
    facts = pages.get(f"/api/v1/runs/run/problems/{quote(STRANGE, '')}").json()
    assert html.count("<circle ") == sum(band["counted"] > 0 for band in facts["bands"])
    labels = re.findall(r"<circle [^>]*><title>-?\d+ to -?\d+: ([^<]*)</title>", html)
    assert labels == [f"{band['solved']:g} of {band['counted']:g}" for band in facts["bands"] if band["counted"]]
    assert len(facts["contest_ids"]) == 3
    for contest_id in facts["contest_ids"]:
        assert f'href="/run/c/{quote(contest_id, "")}"' in html


def test_player__is_found_under_an_old_name(pages: TestClient) -> None:
    moved = pages.get("/run/p/old%20one/problems")
    assert (moved.status_code, moved.headers["location"]) == (301, "/run/p/player%201/problems")
    html = pages.get("/run/p/player%201/problems?chance=0.5&width=0.5").text
    assert "10 problems with a chance of 50 ± 50 %" in unescape(html)
    solved = html.count('class="done"')
    left = pages.get("/run/p/player%201/problems?chance=0.5&width=0.5&unsolved=1").text
    assert f"{10 - solved} problems with a chance" in left
    assert "with a chance of 50 ± 0 %" in pages.get("/run/p/player%201/problems?chance=0.5&width=0").text
    assert pages.get("/run/p/nobody/problems", headers=HTML).status_code == 404
    assert pages.get("/run/p/player%201/problems?chance=1", headers=HTML).status_code == 400


def test_run__without_results_has_no_links_to_problems(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", [contest("one", "ann", "bob"), contest("two", "bob", "ann")])
    rate_run(lake)
    publish(lake, "run")
    with client_of(lake) as client:
        for address in ("", "/p/ann", "/c/one", "/contests"):
            assert "problem" not in client.get(f"/run{address}").text
        for address in ("/problems", "/problems/A", "/p/ann/problems"):
            answer = client.get(f"/run{address}", headers=HTML)
            assert answer.status_code == 404
            assert "published without results of problems" in answer.text
