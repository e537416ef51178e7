"""The words of a run on all pages: its nouns for players and contests, and names in place of handles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from helpers.browser import new_page, served_files, served_pages
from helpers.lakes import contest, lake_of, rate_run

pytest.importorskip("starlette")
from helpers.api import TestClient, client_of

from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.flows.publication.publish import publish
from ranklake.flows.results.titles import CODEFORCES
from ranklake.flows.site.publish import publish_site
from ranklake.storage import Lake

NOUNS = {"player": "athlete", "players": "athletes", "contest": "race", "contests": "races"}
HANDLES = [f"h_{i:02}" for i in range(30)]  # of which no page shows one
WRONG = re.compile(r"\b(players?|contests?|participants?|a athlete|1 athletes|h_\d\d)\b", re.IGNORECASE)
DAY = 86_400
SERVER = (
    "/run", "/run?active=all&order=mu", "/run?title=Nobody&group=country:PL", "/run/contests", "/run/contests?q=none",
    "/run/distribution?handle=h_01&handle2=nobody", "/run/groups", "/run/compare?h=h_01,h_02,nobody,h_2,lonely",
    "/run/p/h_01", "/run/p/h_01?view=place", "/run/p/nobody", "/run/p/h_0", "/run/c/0", "/run/c/0?q=name",
    "/run/c/none", "/run/preview", "/run?title=Newbie&active=90d",
)  # fmt: skip
SITE = {  # pages that scripts fill, and what they have when they are filled
    "player.html?h=h_01": "svg.graph .line", "player.html?h=h_0": "[data-notice] a",
    "compare.html?h=h_01,h_02,nobody,h_1": "svg.graph .line", "contest.html?id=none": "[data-find]:not(:empty)",
    "contest.html?id=0&q=name": "table.standings",
    "{v}distribution.html?handle=h_01&handle2=nobody": "[data-legend] li",
    "{v}leaderboard/000.html": "tbody tr", "{v}contests.html": "tbody tr", "{v}groups.html": "table.groups",
}  # fmt: skip


class Text(HTMLParser):
    """What a page says: its texts without scripts and the footer, attributes that are read, its description."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.said: list[str] = []
        self._hidden = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {key: value or "" for key, value in attrs}
        if tag in ("script", "style", "footer"):
            self._hidden = tag
        self.said += [of[name] for name in ("title", "aria-label", "placeholder", "alt") if name in of]
        if tag == "meta" and (of.get("name") == "description" or of.get("property", "").startswith("og:")):
            self.said.append(of["content"])

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden:
            self._hidden = ""

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.said.append(data)


@dataclass(frozen=True)
class Published:
    lake: Lake
    site: Path


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    """A run with nouns and display names, and its site."""
    folder = tmp_path_factory.mktemp("words")
    at = [DAY * (10_000 + 60 * i) for i in range(12)]
    races = [contest(str(i), *(HANDLES[i:] + HANDLES[:i])[:12], time_seconds=at[i]) for i in range(12)]
    lake = lake_of(folder / "lake", [replace(one, name=f"Grand Prix {one.contest_id}") for one in races])
    people = ["handle,name,country", *(f"{one},Name {one[2:]},PL" for one in HANDLES)]
    (folder / "people.csv").write_text("\n".join(people), "utf-8")
    record_attributes(lake, "games", str(folder / "people.csv"))
    rate_run(lake)
    publish(lake, "run", brand=NOUNS, titles=CODEFORCES)
    publish_site(lake, "run", str(folder / "site"), brand=NOUNS, titles=CODEFORCES)
    return Published(lake, folder / "site")


@pytest.fixture(scope="module")
def client(published: Published) -> Iterator[TestClient]:
    with client_of(published.lake) as client:
        yield client


def wrong(text: str) -> list[str]:
    """The places with a word that no page of the run has."""
    return [text[max(found.start() - 40, 0) : found.end() + 40] for found in WRONG.finditer(text)]


@pytest.mark.parametrize("path", SERVER)
def test_server__has_the_words_of_the_run(client: TestClient, path: str) -> None:
    answer = client.get(path, headers={"accept": "text/html"})
    assert wrong(re.sub(r"'h_\w+'|called h_\w+", "", "\n".join(Text(answer.text).said))) == []


def test_preview__has_the_words_of_the_run(client: TestClient) -> None:
    form = {"standings": "\n".join(["name 3", "h_04", "h_044", *(f"new {i}" for i in range(250))])}
    page = client.post("/run/preview", data=form, headers={"accept": "text/html"})
    assert page.status_code == 200
    said = "\n".join(Text(page.text.replace(form["standings"], "")).said)
    assert "did you mean" in said
    assert wrong(re.sub(r"'h_\w+'|\bh_044\b", "", said)) == []


def test_site__has_the_words_of_the_run(published: Published) -> None:
    pages = sorted(published.site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        assert wrong("\n".join(Text(page.read_text("utf-8")).said)) == [], page


def test_groups__have_the_name_of_the_best_beside_the_handle(client: TestClient) -> None:
    (row,) = client.get("/api/v1/runs/run/groups").json()["rows"]
    assert row["best_name"] == f"Name {row['best'][2:]}"


@pytest.mark.slow
def test_scripts__have_the_words_of_the_run(published: Published, browser: Any) -> None:
    errors: list[str] = []
    version = re.search(r'"ranklake-version" content="(v/\d+/)"', (published.site / "index.html").read_text("utf-8"))
    assert version is not None
    with served_files(published.site) as address:
        for page, complete in SITE.items():
            opened = new_page(browser, address, errors)
            opened.goto(address + page.format(v=version[1]))
            opened.wait_for_selector(complete)
            opened.locator("[role=search] input").fill("name 0")
            opened.wait_for_selector("#found [role=option]")
            said = re.sub(r"called h_\w+", "", "\n".join(Text(opened.content()).said))
            assert wrong(said) == [], page
            opened.context.close()
        opened = new_page(browser, address, errors)
        opened.goto(f"{address}player.html?h=h_01")
        opened.locator("#against").fill("name 2")
        opened.wait_for_selector(".picker [role=option]")
        assert wrong("\n".join(Text(opened.content()).said)) == []
    with served_pages(published.lake) as address:
        opened = new_page(browser, address, errors)
        opened.goto(f"{address}/run/p/h_01")
        opened.locator("#against").fill("nobody at all")
        opened.keyboard.press("Enter")
        opened.wait_for_selector("[data-answer]:not(:empty)")
        assert wrong(opened.locator("main").inner_text()) == []
        opened.locator("[role=search] input").fill("name 0")
        opened.wait_for_selector("#found [role=option]")
        assert wrong(opened.locator("#found").inner_text()) == []
    assert errors == []
