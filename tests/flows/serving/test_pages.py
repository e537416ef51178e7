"""The pages of the server: the content of the API, escaped, cached by version, below any root path."""

from __future__ import annotations

import json
import math
import re
import tracemalloc
from base64 import b64encode
from hashlib import sha256
from html import escape, unescape
from typing import Any
from urllib.parse import quote, urlencode
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("starlette")
from helpers.answers import leaderboard
from helpers.api import TestClient, client_of
from helpers.names import STRANGE

from ranklake.flows.answers.contests import winners
from ranklake.flows.answers.leaderboard import ORDERS
from ranklake.flows.answers.run import open_published
from ranklake.flows.pages.files import package_files
from ranklake.flows.pages.links import ServerLinks, day, short
from ranklake.flows.pages.render import POLICY, RunFacts, Templates
from ranklake.flows.pages.views import contest_list
from ranklake.flows.pages.views import contests as contests_page
from ranklake.flows.pages.views import leaderboard as leaderboard_page
from ranklake.flows.pages.views import preview as preview_page
from ranklake.flows.results.rating_format import RatingFormat
from ranklake.flows.results.titles import CODEFORCES
from ranklake.flows.serving import pages as serving_pages
from ranklake.flows.serving import previews
from ranklake.flows.serving.app import create_app
from ranklake.flows.serving.messages.problems import Problem
from ranklake.flows.serving.previews import MOST_PREVIEWED, read_form, read_standings
from ranklake.flows.serving.state.served_runs import ServedRuns
from ranklake.flows.sources.limits import MAX_COLUMNS
from ranklake.storage import Lake

SVG = "{http://www.w3.org/2000/svg}"
HEADS = {order: text for order, text, _ in leaderboard_page.COLUMNS}
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


def test_leaderboard__has_every_player_on_its_pages(
    pages: TestClient, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaderboard_page, "BOARD_ROWS", 16)
    handles = leaderboard(lake, "run").column("handle").to_pylist()
    found = []
    for page in range(-(-len(handles) // 16)):
        found += re.findall(r"<td><a href=\"[^\"]*\">([^<]*)</a><td", pages.get(f"/run?active=all&page={page}").text)
    assert [unescape(name) for name in found] == [short(handle) for handle in handles]


def board_rows(text: str) -> list[list[str]]:
    """The texts of the cells of each row of a leaderboard."""
    body = text.partition("</thead>")[2].partition("</table>")[0]
    rows = [re.split("<td[^>]*>", row)[1:] for row in re.split("<tr[^>]*>", body)[1:]]
    return [[unescape(re.sub("<[^>]*>", "", cell)).strip() for cell in row] for row in rows]


def test_leaderboard__numbers_the_active_players_among_each_other(pages: TestClient) -> None:
    api = pages.get("/api/v1/runs/run/leaderboard", params={"active": "1y", "limit": 1000}).json()
    assert 0 < api["total"] < pages.get("/api/v1/runs/run/leaderboard").json()["total"]
    text = pages.get("/run").text
    shown, ratings = board_rows(text), [row["rating"] for row in api["rows"]]
    assert [(row[0], row[1], row[-1].partition(" ")[0]) for row in shown] == [
        (str(ratings.index(row["rating"]) + 1), short(row["handle"]), str(row["place"])) for row in api["rows"]
    ]
    assert f"{api['total']} players with a contest within a year before" in text
    assert [row[1] for row in board_rows(pages.get("/run?active=1y").text)] == [row[1] for row in shown]


def test_leaderboard__has_changes_and_lines_of_the_last_ratings(pages: TestClient, lake: Lake) -> None:
    text = pages.get("/run?active=all").text
    lines = re.findall(r"<td class=trend>(?:<svg class=spark[^>]*><polyline points=\"([^\"]*)\"/></svg>)?", text)
    run = open_published(lake, "run")
    board = run.leaderboard(0, 1000).rows.to_pylist()
    assert len(lines) == len(board)
    for cells, line, row in zip(board_rows(text), lines, board, strict=True):
        history = run.history(row["handle"]).column("rating").to_pylist()
        assert len(line.split()) == (min(len(history), 20) if len(history) > 1 else 0)
        change = "–" if len(history) < 2 else f"{round(history[-1]) - round(history[-2]):+d}"
        assert cells[3] == change
        heights = [int(point.partition(",")[2]) for point in line.split()]
        if len(set(history[-20:])) > 1:
            assert np.argmax(history[-20:]) in np.flatnonzero(np.array(heights) == min(heights))


@pytest.mark.parametrize("order", ORDERS)
def test_leaderboard__is_sorted_by_links_of_its_columns(pages: TestClient, order: str) -> None:
    first = pages.get(f"/run?active=all&page=0&order={'mu' if order == 'rating' else 'rating'}").text
    (address,) = re.findall(rf'<a href="([^"]*)">{HEADS[order]}', first)
    assert ("order=" in address) is (order != "rating")
    text = pages.get(unescape(address)).text
    assert re.findall(r'aria-sort="descending"><a [^>]*>([^<]*[^< ])', text) == [HEADS[order]]
    (address,) = re.findall(rf'<a href="([^"]*)">{HEADS[order]} ', text)
    turned = pages.get(unescape(address)).text
    assert re.findall(r'aria-sort="ascending"><a [^>]*>([^<]*[^< ])', turned) == [HEADS[order]]
    for shown, key in ((text, order), (turned, f"-{order}")):
        api = pages.get("/api/v1/runs/run/leaderboard", params={"order": key, "limit": 200}).json()["rows"]
        assert [row[1] for row in board_rows(shown)] == [short(row["handle"]) for row in api]


@pytest.mark.parametrize(
    ("to", "query", "target"),
    [("2", "active=all", "page 0, row 1"), ("17", "active=all&order=mu", "page 1, row 0"), ("player 3", "", "player 3"),
     ("old one", "active=all", "player 1"), ("zoe", "order=n_rounds", "Zoë"),
     ("<script>", "at=1990-01-01", "<script>")],
)  # fmt: skip
def test_leaderboard__leads_to_a_row_by_number_or_name(
    pages: TestClient, monkeypatch: pytest.MonkeyPatch, to: str, query: str, target: str
) -> None:
    monkeypatch.setattr(leaderboard_page, "BOARD_ROWS", 16)
    answer = pages.get(f"/run?to={quote(to)}&{query}")
    assert answer.status_code == 303
    assert answer.headers["location"].endswith("#here")
    text = pages.get(answer.headers["location"].partition("#")[0]).text
    (row,) = re.findall(r"<tr id=here aria-current=true>.*?<a [^>]*>([^<]*)</a>", text)
    if target.startswith("page"):
        at = re.findall(r"<tr[^>]*><td>[^<]*(?:<small[^>]*>[^<]*</small>)?<td><a [^>]*>([^<]*)</a>", text).index(row)
        assert (f"page={target[5]}" in answer.headers["location"], at) == (target[5] != "0", int(target[-1]))
    else:
        assert unescape(row) == target


def test_leaderboard__nobody_to_lead_to_is_the_page_of_the_name(pages: TestClient) -> None:
    answer = pages.get("/run?to=qqqqqqqq")
    assert (answer.status_code, answer.headers["location"]) == (303, "/run/p/qqqqqqqq")


def test_leaderboard__of_a_date_is_that_of_the_api(pages: TestClient) -> None:
    at = "1975-01-01"
    text = pages.get(f"/run?at={at}&active=3y").text
    api = pages.get("/api/v1/runs/run/leaderboard", params={"at": at, "active": "3y", "limit": 200}).json()["rows"]
    assert [row[1] for row in board_rows(text)] == [short(row["handle"]) for row in api]
    assert f"as of {at}" in text
    assert f'value="{at}"' in text
    for address in re.findall(r'<th[^>]*><a href="([^"]*)"', text):
        assert f"at={at}" in address
        assert "active=3y" in address
    assert "There is no such player as of 1900-01-01" in pages.get("/run?at=1900-01-01").text
    assert "as of" not in pages.get("/run?at=2150-01-01").text.partition("<main")[2].partition("data-choose")[0]


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


NAMES = re.compile(r"<tr[^>]*><td>\d+<td><a [^>]*>([^<]*)</a>")


def test_contest__has_pages_and_finds_names_on_all(pages: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pages.get("/api/v1/runs/run/contests").json()["rows"][1:]
    address = f"/run/c/{next(row['contest_id'] for row in rows if row['n_players'] > 6)}"
    everybody = NAMES.findall(pages.get(address).text)
    monkeypatch.setattr(contests_page, "PAGE_ROWS", 3)
    first, second = (pages.get(f"{address}?page={page}&x={page}").text for page in (0, 1))
    assert NAMES.findall(first) + NAMES.findall(second) == everybody[:6]
    assert f'<a rel="next" href="{address}?page=1">' in first
    assert "Largest gains" in first
    assert "Largest gains" not in second
    named = pages.get(f"{address}?q={quote(everybody[-1].upper())}").text
    assert everybody[-1] in NAMES.findall(named)
    assert f"of {len(everybody)} players" in named
    assert "no name has “nobody here”" in pages.get(f"{address}?q=nobody+here").text
    assert pages.get(f"{address}?page=999").status_code == 404


def test_contest__leads_to_those_before_and_after_it(pages: TestClient) -> None:
    rows = pages.get("/api/v1/runs/run/contests?limit=1000").json()["rows"]
    after, at, before = (row["contest_id"] for row in [row for row in rows if not row["skipped"]][:3])
    text = pages.get(f"/run/c/{quote(at, '')}").text
    steps = re.findall(r'<a rel="(?:prev|next)" href="([^"]*)"', text)
    assert steps == [f"/run/c/{quote(key, '')}" for key in (before, after)]
    assert 'rel="next"' not in pages.get(f"/run/c/{quote(after, '')}").text


def test_standings__mark_new_titles_and_who_gained_and_lost_most() -> None:
    rows = {"place": [1, 2, 3, 3], "handle": ["a", "b", "c", "d"], "perf": [None] * 4, "change": [10, -20, None, 0],
            "rating": [1900, 1590, 1200, 1500]}  # fmt: skip
    about = {"contest_id": "1", "name": "N" * 200, "url": None, "time_seconds": 0}
    shown = contests_page.standings(about, rows, 4)
    assert [[one["handle"] for one in shown[name]] for name in ("gains", "losses")] == [["a"], ["b"]]
    assert (shown["contest"]["n_new"], shown["contest"]["n_unrated"]) == (1, 0)
    facts = RunFacts("run", "elo", "games", 4, 1, 0, RatingFormat(CODEFORCES, 0))
    html = Templates.shared().render("contest", facts, ServerLinks("", "run"), **shown)
    assert "a</a> <small class=rise>candidate master</small>" in html
    assert "b</a> <small class=fall>specialist</small>" in html
    assert html.count("<small class=rise>") == html.count("<small class=fall>") == 1
    assert f"<h1>{'N' * 200}</h1>" in html


def test_contest__with_a_slash_has_standings(pages: TestClient) -> None:
    text = pages.get("/run/c/last%2F1").text
    assert "&lt;script&gt;" in text
    assert pages.get("/run/c/none").status_code == 404


def test_contests__are_on_pages_by_year_with_their_winners(
    pages: TestClient, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contest_list, "CONTEST_ROWS", 8)
    run, text, found = open_published(lake, "run"), pages.get("/run/contests?n=8").text, []
    while True:
        for part in text.partition("</thead>")[2].partition("</table>")[0].split('<tr class="year">'):
            year, _, rows = part.partition("</th>" if "</th>" in part else "\n")
            found += [(row, year) for row in re.findall(r"<tr>(.*?)(?=<tr>|</tbody>)", rows, re.DOTALL)]
        link = re.search(r'rel="next" href="([^"]*)"', text)
        if link is None:
            break
        text = pages.get(unescape(link[1])).text
    contests = run.contests(0, 1000).rows.to_pylist()
    assert len(found) == len(contests) > 8
    best = winners(run, [contest["round_index"] for contest in contests])
    for (row, year), contest in zip(found, contests, strict=True):
        (_, standings) = run.contest(contest["contest_id"])
        first = [one["handle"] for one in standings.rows.to_pylist() if one["place"] == 1]
        winner = best.get(contest["round_index"])
        assert (winner is None) == contest["skipped"]
        if winner is not None:
            assert (winner.n, list(winner.handles)) == (len(first), first[:3])
            assert f">{escape(short(first[0]))}</a>" in row
            assert f"and {winner.n - 1} other" in row or winner.n == 1
        assert f"<td>{day(contest['time_seconds'])}<td>" in row
        assert day(contest["time_seconds"])[:4] in year or not contest["time_seconds"]


def test_contests__are_chosen_by_year_and_name(pages: TestClient) -> None:
    years = re.findall(r'<a href="(/run/contests\?year=(\d+))">\d+</a> <small>(\d+)<', pages.get("/run/contests").text)
    assert len(years) > 2
    for address, year, n in years:
        text = pages.get(address).text
        assert f"<h1>Contests of {year}</h1>" in text
        assert len(re.findall(rf"<td>{year}-", text)) == int(n)
    named = pages.get("/run/contests?q=LAST").text
    assert "1 contest named “LAST”" in named
    assert named.count("/run/c/") == 1
    assert "There is no such contest." in pages.get("/run/contests?q=qqq&year=1971").text


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


# Previews


def post(client: TestClient, **form: str) -> Any:
    return client.post("/run/preview", data=form, headers={"accept": "text/html"})


def test_preview__names_who_may_be_meant(pages: TestClient) -> None:
    text = post(pages, standings="playr 3\nplayer 1").text
    (meant,) = re.findall(r"<td>playr 3 <small class=meant>did you mean (.*)\?</small>.*<td>new<td>", text)
    assert re.findall(r">([^<]*)</a>", meant)[0] == "player 3"


@pytest.mark.bound("ranklake.flows.serving.previews.MOST_REPEATED")
def test_preview__is_computed_once_and_has_pages(pages: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    computed, preview = [], previews.Previews.preview
    monkeypatch.setattr(previews.Previews, "preview", lambda *args: (computed.append(1), preview(*args))[1])
    monkeypatch.setattr(preview_page, "PAGE_ROWS", 2)
    monkeypatch.setattr(serving_pages, "MOST_REPEATED", 20)
    names = [f"player {i}" for i in range(5)]
    first = [post(pages, standings="\n".join(names)).text for _ in range(2)][1]
    (address,) = re.findall(r'<a rel="next" href="([^"]*)"', first)
    second, third = (pages.get(unescape(address).replace("page=1", f"page={page}")).text for page in (1, 2))
    assert [NAMES.findall(text) for text in (first, second, third)] == [names[:2], names[2:4], names[4:]]
    found = pages.get(f"{unescape(address).partition('&')[0]}&q=4").text
    assert NAMES.findall(found) == names[4:]
    assert computed == [1]
    assert "too long to be in the field" in first
    assert "player 4" not in first
    assert pages.get(unescape(address).replace("page=1", "page=3")).status_code == 404
    lost = pages.get("/run/preview?result=0")
    assert lost.status_code == 404
    assert "not kept any more" in lost.text


@pytest.mark.parametrize(
    "text",
    ["1 =1+1\n2 player 3\n2 newcomer", " 1. =1+1\r\n\r\n2) player 3\r\n2: newcomer\r\n",
     "T2 player 3\n1st =1+1\n2= newcomer",
     "rank,player\n2,player 3\n1,=1+1\n2,newcomer\n", "player\trank\nnewcomer\t2\nplayer 3\t2\n=1+1\t1"],
)  # fmt: skip
def test_preview__of_pasted_standings_is_that_of_the_api(pages: TestClient, text: str) -> None:
    body = {"standings": [["=1+1", 1], ["player 3", 2], ["newcomer", 2]], "entrants": ["player 1"]}
    expected = {row["handle"]: row for row in pages.post("/api/v1/runs/run/preview", json=body).json()["rows"]}
    answer = post(pages, standings=text, entrants="player 1\n")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["cache-control"] == "no-store"
    cells = r"<tr[^>]*><td>(\d+|–)<td>(?:<a [^>]*>)?([^<]*)(?:</a>)?<td>[^<]*<td>([^<]*)<td>([^<]*)<td>"
    found = re.findall(cells, answer.text)
    assert len(found) == 4
    assert ">newcomer</a>" not in answer.text
    for place, handle, before, rating in found:
        row = expected[unescape(handle)]
        assert place == ("–" if row["place"] is None else str(row["place"]))
        for shown, value in ((before, row["rating_before"]), (rating, row["rating"])):
            assert shown == ("–" if value is None else f"{value:.0f}")


def test_preview__names_without_places_are_best_first(pages: TestClient) -> None:
    ordered, placed = (post(pages, standings=text).text for text in ("player 3x\nZoë", "1 player 3x\n2 Zoë"))
    assert ordered.partition("data-result")[2] == placed.partition("data-result")[2]


@pytest.mark.parametrize(
    ("standings", "message"),
    [("", "at least one name"), ("player 1\nold one", "listed twice"), ("0 a\n1 b", "places must be"),
     ("1 a\nDNF b", "has no place; leave such participants out"),
     ("player,rank\na,1\nb,DNF\n", "got rank = &#39;DNF&#39;; leave such"),
     ("name;points\na;1\n", "standings"), ("{", "standings"), ("[" * 100_000, "standings"), ("1 a\n1 a", "twice")],
)  # fmt: skip
def test_preview__keeps_the_text_and_names_the_fault(pages: TestClient, standings: str, message: str) -> None:
    answer = post(pages, standings=standings)
    assert answer.status_code == 400
    assert message in answer.text.partition('role="alert">')[2].partition("</p>")[0]
    kept = answer.text.partition('<textarea id="standings"')[2].partition(">\n")[2].partition("</textarea>")[0]
    assert unescape(kept) == standings
    assert "/tmp" not in answer.text


def test_preview__escapes_what_it_was_sent(pages: TestClient) -> None:
    text = "</textarea><script>alert(1)</script>\n\"'><img src=x onerror=alert(1)>"
    shown = post(pages, standings=text, entrants=text + "2").text
    assert "<img" not in shown
    assert shown.count("<script") == 2


def test_preview__has_limits(pages: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pages.post("/run/preview", content=b"standings=" + b"x" * (9 << 20)).status_code == 413
    assert pages.post("/run/preview", content=b"standings=\xff").status_code == 400
    fields = b"&".join([b"standings=a"] * (previews._MOST_FIELDS + 1))
    assert pages.post("/run/preview", content=fields).status_code == 400
    monkeypatch.setattr(previews, "MOST_PREVIEWED", 2)
    assert post(pages, standings="a\nb\nc").status_code == 413
    assert pages.put("/run/preview").status_code == 405


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


# The form of a preview


@pytest.mark.parametrize(
    ("text", "entrants", "status", "words"),
    [
        (
            "player,rank" + ",c" * MAX_COLUMNS + "\na,1\n",
            "",
            400,
            "the standings: the table has more than 10,000 columns",
        ),
        ("a\n" * (MOST_PREVIEWED + 1), "", 413, "a preview takes at most 50,000 participants"),
        ("a\u2028" * (MOST_PREVIEWED + 1), "", 413, "a preview takes at most 50,000 participants"),
        ("a\nb\n", "c\r\n\r\n" * (MOST_PREVIEWED + 1), 413, "a preview takes at most 50,000 participants"),
        ("\n \r\n", "a", 400, "the standings are empty"),
    ],
    ids=["columns", "lines", "separators", "entrants", "empty"],
)
def test_form__of_too_many_columns_or_lines_is_refused(text: str, entrants: str, status: int, words: str) -> None:
    with pytest.raises(Problem) as caught:
        read_standings(text, entrants)
    assert caught.value.status == status
    assert caught.value.detail.startswith(words)


def test_form__lines_end_as_in_any_text() -> None:
    assert read_standings("\n1 ann\r\n 2 bob\r3 cid\u2028", "dan\n").players == ["ann", "bob", "cid", "dan"]


@pytest.mark.parametrize("text", ["1 ann\r\n2 b+b & 100 %", "1 \u017e\u00fc\U0001f600\n" * 20_000, "%41+", ""])
def test_form__is_read_as_it_was_sent(text: str) -> None:
    form = read_form(urlencode({"standings": text, "entrants": "a=b", "teams": "on"}).encode())
    assert form == {"standings": text, "entrants": "a=b", "teams": True}
    assert read_form(b"entrants=%zz%4")["entrants"] == "%zz%4"


@pytest.mark.slow
def test_form__of_escapes_takes_little_memory() -> None:
    body = b"standings=" + b"%2C" * 1_000_000
    tracemalloc.start()
    read_form(body)
    assert tracemalloc.get_traced_memory()[1] < 60e6
    tracemalloc.stop()


@pytest.mark.parametrize("body", [b"standings=\xff", b"standings=%ff", b"&" * 10], ids=["bytes", "escapes", "fields"])
def test_form__of_another_kind_is_refused(body: bytes) -> None:
    with pytest.raises(Problem, match="must be a form"):
        read_form(body)


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
