"""The preview of a contest on the server: the page, its form and its limits."""

from __future__ import annotations

import re
import tracemalloc
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("starlette")
from helpers.api import ROW_NAMES, TestClient

from ranklake.flows.http.server.problems import Problem
from ranklake.flows.pages.views import preview as preview_page
from ranklake.flows.serving import pages as serving_pages
from ranklake.flows.serving import previews
from ranklake.flows.serving.previews import MOST_PREVIEWED, read_form, read_standings
from ranklake.flows.sources.limits import MAX_COLUMNS


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
    assert [ROW_NAMES.findall(text) for text in (first, second, third)] == [names[:2], names[2:4], names[4:]]
    found = pages.get(f"{unescape(address).partition('&')[0]}&q=4").text
    assert ROW_NAMES.findall(found) == names[4:]
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
