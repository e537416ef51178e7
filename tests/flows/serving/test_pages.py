"""The pages of the server: the content of the API, escaped, cached by version, below any root path."""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from hashlib import sha256
from html import escape, unescape
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

pytest.importorskip("starlette")
from helpers.api import TestClient, client_of
from helpers.names import STRANGE

from ranklake.flows.answers.run import open_published
from ranklake.flows.pages.files import package_files
from ranklake.flows.pages.links import day, short
from ranklake.flows.pages.render import POLICY
from ranklake.flows.serving import pages as serving_pages
from ranklake.flows.serving.app import create_app
from ranklake.flows.serving.state.served_runs import ServedRuns
from ranklake.storage import Lake

SVG = "{http://www.w3.org/2000/svg}"


PAGES = (
    "/run",
    "/run/contests",
    "/run/distribution",
    "/run/compare?h=player 1,player 2",
    "/run/p/player 1",
    "/run/c/0",
    "/run/preview",
)


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


@pytest.mark.parametrize("handle", STRANGE, ids=range(len(STRANGE)))
def test_player__of_any_handle_has_a_page(pages: TestClient, handle: str) -> None:
    text = pages.get(f"/run/p/{quote(handle, '')}").text
    assert '<h1 data-field="handle"' in text
    assert "<script>" not in text
    assert len(re.findall("<script", text)) == 4


def test_player__graph_is_drawn_without_scripts(pages: TestClient) -> None:
    text = pages.get("/run/p/player 1").text
    assert re.search(r'<path class="line s0" d="M[\d. L-]+"/>', text)
    assert '<path class="belief" d="M' in text


def test_players__with_commas_are_compared(pages: TestClient) -> None:
    text = pages.get("/run/p/player 1,player 2").text
    assert "<h1>Compare players</h1>" in text
    assert text.count('class="line s') == 2


def test_compare__names_who_is_unknown_and_compares_the_others(pages: TestClient) -> None:
    for path in ("/run/p/player 1,playr 2,Zoë", "/run/compare?h=player 1&h=playr 2&h=Zoë"):
        text = unescape(pages.get(path).text)
        assert text.count('class="line s') == 2
        assert 'No player is called playr 2; similar: <a href="/run/p/player%202">player 2</a>' in text
    text = pages.get("/run/compare?h=nobody").text
    assert "No player is called nobody.<" in text
    assert 'class="line s' not in text


MARKS = re.compile(r'<g class="here s(\d)"><path d="M([\d.]+) [^>]*/><text [^>]*>([^<]*)</text></g>')


def test_distribution__marks_two_players(pages: TestClient, lake: Lake) -> None:
    text = pages.get("/run/distribution?handle=player 1&handle2=old one").text
    assert [(number, name) for number, _, name in MARKS.findall(text)] == [("0", "player 1")]
    text = pages.get("/run/distribution?handle=player 1&handle2=Zoë").text
    found = {name: float(x) for _, x, name in MARKS.findall(text)}
    run = open_published(lake, "run")
    players = {name: run.player(name) for name in ("player 1", "Zoë")}
    assert (found["player 1"] < found["Zoë"]) == (players["player 1"]["rating"] < players["Zoë"]["rating"])
    for name, player in players.items():
        shown = f"rating {player['rating']:.0f}, better than {math.floor(100 * player['percentile']) / 100:.2f} %"
        assert f'">{name}</a>: {shown}' in text
    assert not MARKS.findall(pages.get("/run/distribution").text)


def test_distribution__of_a_wrong_name_shows_the_other_one(pages: TestClient) -> None:
    answer = pages.get("/run/distribution?handle=PLAYR 1&handle2=player 2&year=1971")
    assert answer.status_code == 200
    assert "No player is called PLAYR 1" in answer.text
    assert '<a href="/run/distribution?handle=player%201">player 1</a>' in answer.text
    assert [name for _, _, name in MARKS.findall(answer.text)] == ["player 2"]
    assert "was not rated by the end of 1900" in pages.get("/run/distribution?handle=player 2&year=1900").text


def test_distribution__has_filters_and_a_logarithmic_axis(pages: TestClient) -> None:
    def heights(query: str) -> list[tuple[int, float]]:
        text = pages.get(f"/run/distribution?{query}").text
        bars = re.findall(r'height="([\d.]+)"><title>[^<]*: ([\d,]+)</title>', text)
        return [(int(n.replace(",", "")), float(height)) for height, n in bars]

    for query, parameters in (("", {}), ("active=1y", {"active": "1y"}), ("active=3y&year=1971", {})):
        linear, log = heights(query), heights(f"{query}&log=1")
        total = sum(n for n, _ in linear)
        assert [n for n, _ in linear] == [n for n, _ in log]
        if "year" not in query:
            params = parameters | {"provisional": "hide", "limit": 1}
            assert total == pages.get("/api/v1/runs/run/leaderboard", params=params).json()["total"]
        highest = max(n for n, _ in linear)
        tallest = max(height for _, height in linear)
        for (n, height), (_, logarithmic) in zip(linear, log, strict=True):
            assert height == pytest.approx(max(tallest * n / highest, n > 0), abs=0.02)
            expected = tallest * math.log(2 * n) / math.log(2 * highest) if n else 0.0
            assert logarithmic == pytest.approx(expected, abs=0.02)


# Pictures


@pytest.mark.parametrize("handle", ["player 1", "=1+1", "<script>", "a/b c?d#e", "Zoë", "a/graph.svg"])
def test_pictures__are_complete_files(pages: TestClient, handle: str) -> None:
    for name in ("graph", "badge"):
        answer = pages.get(f"/run/p/{quote(handle, '')}/{name}.svg")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")
        assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
        picture = ElementTree.fromstring(answer.text)
        assert picture.tag == f"{SVG}svg"
        assert handle in (picture.findtext(f"{SVG}title") or "")
        (style,) = picture.findall(f"{SVG}style")
        digest = b64encode(sha256((style.text or "").encode()).digest()).decode()
        assert f"'sha256-{digest}'" in answer.headers["content-security-policy"]
        assert not re.search(r"(href|src|url\(|@import|<script)", answer.text)
        again = pages.get(answer.url.path, headers={"if-none-match": answer.headers["etag"]})
        assert again.status_code == 304


def test_badge__has_the_rating_and_the_title(pages: TestClient) -> None:
    player = pages.get("/api/v1/runs/run/players/player%201").json()
    badge = pages.get("/run/p/player%201/badge.svg").text
    assert f"player 1: {player['rating']:.0f}{' ' + player['title'] if player['title'] else ''}<" in badge


@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("/run/p/PLAYER 1", "/run/p/player%201"),
        ("/run/p/ player  1", "/run/p/player%201"),
        ("/run/p/PLAYER 1/badge.svg", "/run/p/player%201/badge.svg"),
        ("/run/p/ZO\u00cb", "/run/p/Zo%C3%AB"),
        ("/run/c/LAST%2F1", "/run/c/last%2F1"),
        ("/api/v1/runs/run/players/PLAYER 1/history?since=0", "/api/v1/runs/run/players/player%201/history?since=0"),
        ("/api/v1/runs/run/contests/LAST%2F1?limit=2", "/api/v1/runs/run/contests/last%2F1?limit=2"),
    ],
)
def test_address__in_another_case_leads_to_the_one(pages: TestClient, path: str, to: str) -> None:
    answer = pages.get(path, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (301, to)
    assert pages.get(to, follow_redirects=False).status_code == 200


# Errors

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.mark.parametrize(
    ("path", "status", "link"),
    [("/run/p/PLAYR 1", 404, "/run/p/player%201"), ("/run/c/last", 404, "/run/c/last%2F1"), ("/hidden", 404, "/run"),
     ("/run?page=x", 400, "/run"), ("/hidden/p/player 1", 404, "/run"), ("/none/contests", 404, "/run"),
     ("/run/p/nobody/graph.svg", 404, "/run"), ("/nothing/at/all", 404, "/"),
     ("/run?page=9999999&active=", 404, "/run?active=&amp;page=0")],
)  # fmt: skip
def test_errors__are_pages_for_a_browser_with_links_to_what_is_near(
    pages: TestClient, path: str, status: int, link: str
) -> None:
    answer = pages.get(path, headers=BROWSER)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert answer.headers["content-security-policy"].startswith(POLICY)
    assert answer.headers["cache-control"] == "no-store"
    assert "Accept" in answer.headers["vary"].split(", ")
    assert f'href="{link}"' in answer.text
    within = path.startswith("/run")
    assert ("data-search" in answer.text) is within
    assert ("Published runs" in answer.text) is path.startswith(("/hidden", "/none"))
    detail = re.split("; (?:did you mean|near it)", pages.get(path).json()["detail"])[0]  # links are in place of a hint
    assert unescape(re.sub("<[^>]*>", "", answer.text)).count(detail) == 1


def test_errors__are_documents_for_programs(pages: TestClient) -> None:
    for accept in ("*/*", "application/json", "application/json, text/html;q=0.5", "text/html;q=0", ""):
        answer = pages.get("/run/p/nobody", headers={"accept": accept})
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json"), accept
    for path in ("/api/v1/runs/run/players/nobody", "/data/run/none"):
        assert pages.get(path, headers=BROWSER).headers["content-type"] == "application/problem+json"


def test_errors__below_a_path_of_a_proxy(lake: Lake) -> None:
    with client_of(lake, root_path="/ratings") as client:
        answer = client.get("/ratings/run/p/PLAYR 1", headers=BROWSER)
        assert 'href="/ratings/run/p/player%201"' in answer.text
        document = client.get("/ratings/api/v1/runs/none", headers=BROWSER)
        assert document.headers["content-type"] == "application/problem+json"
        assert 'action="/ratings/run/preview"' in client.get("/ratings/run/preview").text


def test_errors__escape_the_address(pages: TestClient) -> None:
    answer = pages.get("/run/p/%3Cimg%20src=x%3E%E2%80%AE", headers=BROWSER)
    assert answer.status_code == 404
    assert "<img" not in answer.text
    assert "\u202e" not in answer.text


@pytest.mark.parametrize("path", ["/static/site.css", "/static/titles/run.css", "/run/p/player 1/badge.svg", *PAGES])
def test_pages__and_their_files_have_validators(pages: TestClient, path: str) -> None:
    first = pages.get(path, headers={"accept-encoding": "zstd"})
    assert first.headers.get("content-encoding") == ("zstd" if len(pages.get(path).text) >= 512 else None)
    assert first.headers["cache-control"] == "public, max-age=5"
    for known, value in (("if-none-match", "etag"), ("if-modified-since", "last-modified")):
        assert pages.get(path, headers={known: first.headers[value]}).status_code == 304


def test_pages__of_another_release_are_other_ones(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    served, tags = ServedRuns(lake), []
    for source in (b"one", b"two"):
        monkeypatch.setattr(serving_pages, "package_files", lambda folder, source=source: {folder: source})
        with TestClient(create_app(served, 0)) as client:
            tags.append(client.get("/run").headers["etag"])
    assert tags[0] != tags[1]


def test_static_files__have_types_and_nothing_else_is_reachable(pages: TestClient) -> None:
    for name in package_files("static"):
        assert pages.get(f"/static/{name}").status_code == 200
    assert pages.get("/static/site.js").headers["content-type"].startswith("text/javascript")
    assert pages.get("/static/titles/run.css").headers["content-type"].startswith("text/css")
    for name in ("pages.py", "..%2fpages.py", "%2e%2e/pages.py", "titles/none.css"):
        assert pages.get(f"/static/{name}").status_code == 404


def test_root__lists_several_runs(lake: Lake) -> None:
    served = ServedRuns(lake)
    (run,) = served.runs.values()
    served._runs = {"one": run, "two": run}
    with TestClient(create_app(served, 0), follow_redirects=False) as client:
        text, validator = (first := client.get("/")).text, {"if-none-match": first.headers["etag"]}
        assert client.get("/", headers=validator).status_code == 304
    assert 'href="/one"' in text
    assert 'href="/two"' in text
    assert text.count("elo-mmr of games</p>") == text.count("<section>") == 2
    leaders = run.leaderboard(0, 3, active=31_557_600).rows.column("handle").to_pylist()
    assert re.findall(r"<li><a href=[^>]*>([^<]*)</a>", text) == [escape(short(handle)) for handle in leaders] * 2
    (contest,) = run.contests(0, 1).rows.to_pylist()
    assert (
        text.count(f">{contest['name'] or contest['contest_id']}</a>, {day(contest['time_seconds'])}, won by <a") == 2
    )


# Redirects

HOSTS = ["evil.example", "a?x=evil", "a/evil/../", "[evil", "evil:99999", "<evil>"]


MOVED = {
    "/run/": "/run", "/run//": "/run", "/api/v1/runs/": "/api/v1/runs",
    "/api/v1/runs/run/?a=%2F/": "/api/v1/runs/run?a=%2F/",
    "/run/contests/?x=/": "/run/contests?x=/", "/%5Crun/": "/%5Crun", "/run/p/old%20one": "/run/p/player%201",
    "/api/v1/runs/run/players/old%20one": "/api/v1/runs/run/players/player%201",
    "/api/v1/runs/run/players/old%20one/history?since=5": "/api/v1/runs/run/players/player%201/history?since=5",
    "/run?q=zoe": "/run/p/Zo%C3%AB", "/run/p/old%20one/badge.svg": "/run/p/player%201/badge.svg",
    "/": "/run",
}  # fmt: skip


OTHERS = ["//run/", "//run/contests/", "/nothing/at/all/", "/api/v1/runs/none", "/openapi.json", "/run", "/run/p/none",
          "/data/run/", "/healthz/x", "/run%2F"]  # fmt: skip


@pytest.mark.quick("True-*")
@pytest.mark.parametrize("root", ["", "/ratings"])
@pytest.mark.parametrize("html", [True, False])
def test_answers__have_no_host_and_redirect_to_paths(lake: Lake, root: str, html: bool) -> None:
    app = create_app(ServedRuns(lake), 0)
    with TestClient(app, root_path=root, follow_redirects=False, base_url="http://evil") as client:
        for number, (path, target) in enumerate({**MOVED, **dict.fromkeys(OTHERS, "")}.items()):
            headers = {"host": HOSTS[number % len(HOSTS)], "accept": "text/html" if html else "*/*"}
            # The client would take an address that begins with // for a host.
            answer = client.get(f"http://evil{root}{path}", headers=headers)
            assert answer.headers.get("location", "") == (target and root + target), path
            assert (answer.status_code in (301, 303, 307)) == bool(target), path
            assert "evil" not in answer.text + str(answer.headers), path


def test_graph__of_places_has_those_of_earlier_leaderboards(pages: TestClient) -> None:
    run = pages.app.state.served.runs["run"]
    shown = pages.get("/run/p/player 1?view=place")
    assert "Places over time of player 1" in shown.text
    history = json.loads(re.search(r'id="history">(.*?)</script>', shown.text)[1])
    (one,) = history["players"]
    assert history["view"] == "place"
    assert len(one["times"]) > 3
    for time, place, of in zip(one["times"], one["places"], one["of"], strict=True):
        board = run.leaderboard(at=time + 1, limit=1_000).rows.to_pylist()
        own = next(round(row["rating"]) for row in board if row["handle"] == "player 1")
        assert (place, of) == (1 + sum(round(row["rating"]) > own for row in board), len(board))
    assert "Places over time" in pages.get("/run/p/player 1/graph.svg?view=place&from=1970-01-01").text
    assert "place" not in pages.get("/run/p/player 1?view=rating&to=2000-01-01").text.partition("<svg class")[2][:200]
    assert pages.get("/run/compare?h=player 1,player 2&view=place").status_code == 200
