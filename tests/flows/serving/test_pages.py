"""The pages of the server: the content of the API, escaped, cached by version, below any root path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import quote

import pytest

pytest.importorskip("starlette")
from helpers.api import TestClient

from ranklake.flows.results.leaderboard import leaderboard
from ranklake.flows.serving import views
from ranklake.flows.serving.app import create_app
from ranklake.flows.serving.pages import page_routes
from ranklake.flows.serving.state import ServedRuns
from ranklake.flows.site.pages import POLICY, static_files
from ranklake.storage import Lake

PAGES = (
    "/run",
    "/run/contests",
    "/run/distribution",
    "/run/compare?h=player 1,player 2",
    "/run/p/player 1",
    "/run/c/0",
)


@pytest.fixture(scope="module")
def pages(lake: Lake) -> Iterator[TestClient]:
    served = ServedRuns(lake)
    served.open()
    with TestClient(create_app(served, 0, page_routes(served)), follow_redirects=False) as client:
        yield client


@pytest.mark.parametrize("path", PAGES)
def test_pages__are_html_under_their_policy(pages: TestClient, path: str) -> None:
    answer = pages.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"].startswith(POLICY)
    assert "<h1" in answer.text


@pytest.mark.parametrize("path", PAGES)
def test_pages__link_to_addresses_that_exist(pages: TestClient, path: str) -> None:
    found = re.findall(r'(?:href|src|action)="([^"#]+)"', pages.get(path).text)
    for address in {unescape(one) for one in found if "://" not in one}:
        answer = pages.get(address)
        assert answer.status_code in (200, 301, 303), address


def test_leaderboard__has_every_player_on_its_pages(
    pages: TestClient, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "BOARD_ROWS", 16)
    handles = leaderboard(lake, "run").column("handle").to_pylist()
    found = []
    for page in range(-(-len(handles) // 16)):
        found += re.findall(r"<td><a href=\"[^\"]*\">([^<]*)</a><td>", pages.get(f"/run?page={page}&n=16").text)
    assert [unescape(name) for name in found] == handles


def test_leaderboard__refuses_a_page_that_is_no_number(pages: TestClient) -> None:
    for text in ("-1", "x", "1e9", "9" * 30):
        assert pages.get(f"/run?page={text}").status_code == 400


@pytest.mark.parametrize("handle", ["=1+1", "<script>", "a/b c?d#e", "Zoë"])
def test_player__of_any_handle_has_a_page(pages: TestClient, handle: str) -> None:
    text = pages.get(f"/run/p/{quote(handle, '')}").text
    assert '<h1 data-field="handle"' in text
    assert "<script>" not in text
    assert len(re.findall("<script", text)) == 3


def test_player__graph_is_drawn_without_scripts(pages: TestClient) -> None:
    text = pages.get("/run/p/player 1").text
    assert re.search(r'<path class="line s0" d="M[\d. L-]+"/>', text)
    assert '<path class="belief" d="M' in text


def test_player__old_name_leads_to_the_current_one(pages: TestClient) -> None:
    answer = pages.get("/run/p/old one")
    assert (answer.status_code, answer.headers["location"]) == (301, "/run/p/player%201")


def test_players__with_commas_are_compared(pages: TestClient) -> None:
    text = pages.get("/run/p/player 1,player 2").text
    assert "<h1>Compare players</h1>" in text
    assert text.count('class="line s') == 2
    assert pages.get("/run/p/player 1,nobody").status_code == 404


def test_contest__with_a_slash_has_standings(pages: TestClient) -> None:
    text = pages.get("/run/c/last%2F1").text
    assert "&lt;script&gt;" in text
    assert pages.get("/run/c/none").status_code == 404


def test_distribution__shows_where_a_player_is(pages: TestClient) -> None:
    assert "you are here" in pages.get("/run/distribution?handle=player 1").text
    assert "you are here" not in pages.get("/run/distribution").text
    assert pages.get("/run/distribution?handle=nobody").status_code == 404


def test_search__without_scripts_leads_to_the_best_match(pages: TestClient) -> None:
    answer = pages.get("/run?q=zoe")
    assert (answer.status_code, answer.headers["location"]) == (303, "/run/p/Zo%C3%AB")


def test_pages__are_not_sent_again_to_a_client_that_has_them(pages: TestClient) -> None:
    first = pages.get("/run")
    again = pages.get("/run", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert pages.get("/run", headers={"accept-encoding": "gzip"}).headers["content-encoding"] == "gzip"


def test_static_files__have_types_and_nothing_else_is_reachable(pages: TestClient) -> None:
    for name in static_files():
        assert pages.get(f"/static/{name}").status_code == 200
    assert pages.get("/static/site.js").headers["content-type"].startswith("text/javascript")
    assert pages.get("/static/titles/run.css").headers["content-type"].startswith("text/css")
    for name in ("pages.py", "..%2fpages.py", "%2e%2e/pages.py", "titles/none.css"):
        assert pages.get(f"/static/{name}").status_code == 404


def test_pages__of_a_run_that_is_not_published_are_missing(pages: TestClient) -> None:
    for path in ("/hidden", "/hidden/p/player 1", "/none/contests"):
        assert pages.get(path).status_code == 404
    assert pages.get("/").headers["location"] == "/run"


def test_routes_of_the_api__come_first(pages: TestClient) -> None:
    assert pages.get("/healthz").json()["status"] == "ok"
    assert pages.get("/openapi.json").status_code == 200


def test_root__lists_several_runs(lake: Lake) -> None:
    served = ServedRuns(lake)
    served.open()
    (run,) = served.runs.values()
    served._runs = {"one": run, "two": run}
    with TestClient(create_app(served, 0, page_routes(served)), follow_redirects=False) as client:
        text = client.get("/").text
    assert 'href="/one"' in text
    assert 'href="/two"' in text
