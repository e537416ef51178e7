"""The pages of contests and of their list on the server: pages, names and winners."""

from __future__ import annotations

import re
from html import escape, unescape
from urllib.parse import quote

import pytest

pytest.importorskip("starlette")
from helpers.api import ROW_NAMES, TestClient

from ranklake.flows.answers.contests import winners
from ranklake.flows.answers.run import open_published
from ranklake.flows.pages.links import ServerLinks, day, short
from ranklake.flows.pages.render import RunFacts, Templates
from ranklake.flows.pages.views import contest_list
from ranklake.flows.pages.views import contests as contests_page
from ranklake.flows.results.rating_format import RatingFormat
from ranklake.flows.results.titles import CODEFORCES
from ranklake.storage import Lake


def test_contest__has_pages_and_finds_names_on_all(pages: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pages.get("/api/v1/runs/run/contests").json()["rows"][1:]
    address = f"/run/c/{next(row['contest_id'] for row in rows if row['n_players'] > 6)}"
    everybody = ROW_NAMES.findall(pages.get(address).text)
    monkeypatch.setattr(contests_page, "PAGE_ROWS", 3)
    first, second = (pages.get(f"{address}?page={page}&x={page}").text for page in (0, 1))
    assert ROW_NAMES.findall(first) + ROW_NAMES.findall(second) == everybody[:6]
    assert f'<a rel="next" href="{address}?page=1">' in first
    assert "Largest gains" in first
    assert "Largest gains" not in second
    named = pages.get(f"{address}?q={quote(everybody[-1].upper())}").text
    assert everybody[-1] in ROW_NAMES.findall(named)
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
