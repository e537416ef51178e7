"""The leaderboard on the server: its pages, its order, and the way to a row."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import quote

import numpy as np
import pytest

pytest.importorskip("starlette")
from helpers.answers import leaderboard
from helpers.api import TestClient

from ranklake.flows.answers.leaderboard import ORDERS
from ranklake.flows.answers.run import open_published
from ranklake.flows.pages.links import short
from ranklake.flows.pages.views import leaderboard as leaderboard_page
from ranklake.storage import Lake

HEADS = {order: text for order, text, _ in leaderboard_page.COLUMNS}


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
