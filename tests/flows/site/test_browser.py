"""A published site in a browser: Chromium of the system, driven by Playwright."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from helpers.answers import leaderboard
from helpers.browser import new_page, served_files
from helpers.lakes import contest, lake_of, rate_run

from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.flows.publication.content import Content
from ranklake.flows.results.titles import CODEFORCES
from ranklake.flows.site.publish import publish_site
from ranklake.flows.site.shared import Shared
from ranklake.storage import Lake

pytestmark = pytest.mark.slow
HOSTILE = "<img src=x onerror=alert(1)>\u202e\"'&é"
QUOTED = '"' + HOSTILE.replace('"', '""') + '"'  # in CSV
COUNTRIES = ("PL", HOSTILE, "Very " * 60 + "long", "العربية")  # of players in turn
PLACES = {"interval": 0.5, "min_rounds": 12}
PAGES = {  # and what is there when a page is complete
    "index.html": "tbody tr",
    "{v}leaderboard/000.html": "tbody tr",
    "{v}contests.html": "[data-named]:not([hidden])",
    "{v}distribution.html": "form.marks:not([hidden])",
    "{v}groups.html": "table.groups",
    "{v}active.html": "tbody tr",
    "player.html?h=player%207": "svg.graph .line",
    "compare.html?h=player%207,player%208": "svg.graph .line",
    "contest.html?id=39": "table.standings",
    f"{{v}}distribution.html?handle={'x' * 200}": "[data-notice]:not(:empty)",
}


class Site:
    """A site on the loopback interface, and the errors of its pages."""

    def __init__(self, address: str, folder: Path, browser: Any, lake: Lake) -> None:
        self.address, self.folder, self.browser, self.lake = address, folder, browser, lake
        found = re.search(r'"ranklake-version" content="(v/\d+/)"', (folder / "index.html").read_text("utf-8"))
        assert found is not None
        self.version = found[1]
        self.errors: list[str] = []

    def open(self, page: str, **context: Any) -> Any:
        """A page in a new window; its errors, and its requests to other hosts, are kept."""
        opened = new_page(self.browser, self.address, self.errors, **context)
        opened.goto(self.address + page.format(v=self.version))
        return opened


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Site]:
    rng, contests = np.random.default_rng(5), []
    names = [HOSTILE, *(f"player {i}" for i in range(1, 80))]
    for i in range(40):
        order = rng.permutation(80) if i == 39 else rng.permutation(80)[:30]
        contests.append(contest(str(i), *(names[k] for k in order), time_seconds=1_500_000_000 + i * 40 * 86_400))
    folder = tmp_path_factory.mktemp("site")
    lake = lake_of(folder / "lake", contests)
    rate_run(lake)
    people = [f'"{name}",{COUNTRIES[i % 4]},{i}' for i, name in enumerate(names) if i]
    (folder / "people.csv").write_text("\n".join(["handle,country,club", *people]).replace(HOSTILE, QUOTED), "utf-8")
    record_attributes(lake, "games", str(folder / "people.csv"))
    publish_site(lake, "run", str(folder / "site"), titles=CODEFORCES, places=PLACES)
    with served_files(folder / "site") as address:
        yield Site(address, folder / "site", browser, lake)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_pages__fit_the_window_without_an_error(site: Site, scheme: Any, width: int) -> None:
    for page, complete in PAGES.items():
        opened = site.open(page, color_scheme=scheme, viewport={"width": width, "height": 800})
        opened.wait_for_selector(complete)
        opened.wait_for_load_state("load")  # also of the page to which contest.html leads: its styles
        assert opened.evaluate("document.documentElement.scrollWidth") <= width, page
        assert opened.locator("h1").inner_text() not in ("", "Player", "Contest"), page
        opened.context.close()
    assert site.errors == []


def test_leaderboard__later_pages_get_their_links_from_a_script(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ranklake.flows.site.boards.FULL_PAGES", 0)
    lake = lake_of(tmp_path / "lake", [contest(key, "ada", "bob", HOSTILE, "cid") for key in "12"])
    rate_run(lake)
    people = "\n".join(["handle,country", "bob,PL", f"{QUOTED},PL"])
    (tmp_path / "people.csv").write_text(people, "utf-8")
    record_attributes(lake, "games", str(tmp_path / "people.csv"))
    publish_site(lake, "run", str(tmp_path / "site"), shared=Shared(most=0))
    with served_files(tmp_path / "site") as address:
        site = Site(address, tmp_path / "site", browser, lake)
        page = site.open("{v}leaderboard/000.html?row=2")
        page.wait_for_selector("#here")
        links = page.locator(".board td:nth-child(2) a")
        assert links.evaluate_all("(all) => all.map((a) => new URL(a.href).searchParams.get('h'))") == [
            "ada", "bob", HOSTILE, "cid",
        ]  # fmt: skip
        assert page.locator("#here td:nth-child(2)").inner_text().startswith("bob ")
        assert site.errors == []


def test_search__finds_players_as_the_text_is_typed(site: Site) -> None:
    page = site.open("index.html")
    page.wait_for_load_state("networkidle")
    page.keyboard.press("/")
    page.keyboard.type("PLAYER 7")
    page.wait_for_selector("#found a")
    found = page.locator("#found a span:first-child").all_inner_texts()
    board = leaderboard(site.lake, "run").column("handle").to_pylist()
    begun = [handle for handle in board if handle.startswith("player 7")]
    assert found == sorted(begun, key=lambda handle: handle != "player 7")[:10]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator("#found [aria-selected=true]").inner_text().startswith(found[1])
    page.keyboard.press("Enter")
    page.wait_for_selector("svg.graph .line")
    assert page.locator("h1").inner_text() == found[1]


@pytest.mark.parametrize("text", ["ER 7", "player 7"])
def test_search__finds_equal_handles_then_beginnings_then_parts(site: Site, text: str) -> None:
    page = site.open("index.html")
    board = leaderboard(site.lake, "run").column("handle").to_pylist()
    page.locator("[role=combobox]").fill(text)
    page.wait_for_selector("#found a, #found p")
    found = page.locator("#found a span:first-child").all_inner_texts()
    parts = [handle for handle in board if text.lower() in handle]
    assert found == sorted(parts, key=lambda handle: handle != text)[:10]
    assert site.errors == []


def test_player__has_the_values_of_the_leaderboard(site: Site) -> None:
    board = Content(site.lake, "run", places=PLACES).leaderboard().to_pylist()
    page = site.open("player.html?h=player%207")
    page.wait_for_selector("svg.graph .line")
    (row,) = (row for row in board if row["handle"] == "player 7")
    field = lambda name: page.locator(f"[data-field={name}]").inner_text()  # noqa: E731
    assert field("rating") == f"{row['rating']:.0f}"
    assert field("place") == f"{row['place']} ({row['place_high']}-{row['place_low']})"
    assert field("below") == f"{math.floor(row['percentile'] * 100) / 100:.2f} %"
    assert field("missing") == ""
    assert field("member") == f"country {COUNTRIES[3]}"
    assert field("max_rating") == f"{row['max_rating']:.0f}"
    assert field("n_rounds") == str(row["n_rounds"]) == str(page.locator("tbody tr").count())


def test_addresses__in_another_case_lead_to_the_player(site: Site) -> None:
    page = site.open("player.html?h=PLAYER%207")
    page.wait_for_url("**/*?h=player%207")
    page.wait_for_selector("svg.graph .line")
    assert page.locator("h1").inner_text() == "player 7"
    assert site.errors == []


def test_player__without_a_place_lacks_rounds(site: Site) -> None:
    board = Content(site.lake, "run", places=PLACES).leaderboard().to_pylist()
    (row, *_) = (row for row in board if row["provisional"] and row["handle"].startswith("player "))
    page = site.open(f"player.html?h={quote(row['handle'])}")
    page.wait_for_selector("svg.graph .line")
    shown = {
        name: page.locator(f"[data-field={name}]").inner_text() for name in ("rating", "place", "below", "missing")
    }
    lacks = PLACES["min_rounds"] - row["n_rounds"]
    missing = f"provisional: {lacks} more round{'s' * (lacks > 1)}"
    assert shown == {"rating": f"{row['rating']:.0f}?", "place": "–", "below": "–", "missing": missing}
    versus = site.open(f"compare.html?h={quote(row['handle'])},player%207")
    versus.wait_for_selector("[data-players] tbody tr")
    assert versus.locator("[data-players] tbody tr").first.locator("td").all_inner_texts()[1:3] == [
        "–",
        shown["rating"],
    ]
    here = site.open(f"{{v}}distribution.html?handle={quote(row['handle'])}")
    here.wait_for_selector(".here")
    assert here.locator("[data-legend] li").inner_text().endswith(missing)
    assert site.errors == []


def test_player__that_does_not_exist_leads_to_similar_ones(site: Site) -> None:
    page = site.open("player.html?h=Player%2077b")
    page.locator("[data-notice] a").first.click()
    page.wait_for_selector("svg.graph .line")
    assert page.locator("h1").inner_text().startswith("player ")


def test_graph__shows_rounds_under_the_pointer_and_zooms(site: Site) -> None:
    page = site.open("player.html?h=player%207", viewport={"width": 1280, "height": 900})
    page.wait_for_selector("svg.graph .line")
    box = page.locator("svg.graph").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 100)
    assert "Rating" in page.locator(".tip").inner_text()
    before = page.locator(".axes text").all_inner_texts()
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 100, steps=4)
    page.mouse.up()
    assert page.locator(".axes text").all_inner_texts() != before
    page.locator(".zoom button", has_text="All").click()
    assert page.locator(".axes text").all_inner_texts() == before


def test_graph__has_a_view_of_places_over_time(site: Site) -> None:
    board = Content(site.lake, "run", places=PLACES).leaderboard().to_pylist()
    ratings = {row["handle"]: round(row["rating"]) for row in board if not row["provisional"]}
    page = site.open("player.html?h=player%207")
    page.wait_for_selector(".overview")
    page.locator("[data-view=place]").click()
    page.wait_for_selector("svg.graph[aria-label^=Places]")
    page.locator("svg.graph").focus()
    page.keyboard.press("End")
    last = 1 + sum(rating > ratings["player 7"] for rating in ratings.values())
    assert page.locator(".tip").inner_text().endswith(f"Place {last} of {len(ratings)}")
    assert "at the end of each month" in page.locator("[data-about-places]").inner_text()
    page.go_back()
    page.wait_for_selector("svg.graph[aria-label^=Rating]")
    assert site.errors == []


def test_graph__leads_to_the_contest_by_touch(site: Site) -> None:
    page = site.open("player.html?h=player%207", viewport={"width": 360, "height": 900}, has_touch=True)
    page.wait_for_selector(".tip a")
    last = page.locator(".tip").inner_text()
    box = page.locator("svg.graph").bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + 100)
    assert page.locator(".tip").inner_text() != last
    name = page.locator(".tip a").inner_text()
    page.locator(".tip a").click()
    page.wait_for_selector("table.standings")
    assert page.locator("h1").inner_text() == name
    assert site.errors == []


def test_graph__leads_to_the_contest_by_keyboard(site: Site) -> None:
    page = site.open("player.html?h=player%207")
    page.wait_for_selector("svg.graph .line")
    page.locator("svg.graph").focus()
    page.keyboard.press("ArrowLeft")
    name = page.locator(".tip b").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_selector("table.standings")
    assert page.locator("h1").inner_text() == name


def test_contest__shows_the_other_rows_on_request(site: Site) -> None:
    page = site.open("contest.html?id=39")
    page.wait_for_selector("table.standings")
    assert page.locator("tbody tr").count() == 50
    page.locator("[data-more] button").click()
    page.wait_for_selector("tbody tr:nth-child(80)")
    assert page.locator("tbody tr").count() == 80
    assert page.locator("tbody tr.t").count() == 0, "the colour of a title is for the name and the rating alone"
    page.locator("[data-names] input").fill("LAYER 7")
    page.wait_for_url("**?q=LAYER+7")
    assert page.locator("tbody tr").count() == 17, "7, 17, ... 67, and 70 to 79"
    assert page.locator("[data-standings] [role=status]").inner_text() == "17 of 80 players"
    assert site.errors == []


def test_distribution__marks_a_player(site: Site) -> None:
    page = site.open("{v}distribution.html?handle=player%207&handle2=player%208")
    page.wait_for_selector(".here.s1")
    for number, text in enumerate(page.locator("[data-legend] li").all_inner_texts()):
        assert text.startswith(f"player {7 + number}: rating ")
    page.locator(".log summary").click()
    assert page.locator(".log .here").count() == 2


def test_compare__counts_common_contests(site: Site) -> None:
    page = site.open("compare.html?h=player%207, player%208,nobody")
    page.wait_for_selector("[data-pairs] tbody tr")
    assert page.locator("svg .line").count() == 2
    assert "nobody" in page.locator("[data-notice]").inner_text()
    scores = page.locator("table.matrix td").all_inner_texts()
    assert scores[0] == scores[3] == "–"
    assert scores[1].split()[:3] == scores[2].split()[:3][::-1]
    page.locator("details.pairs summary").click()
    difference, chance = page.locator("table.pairs tbody td").all_inner_texts()[-2:]
    assert re.fullmatch(r"[+-]\d+ ± \d+", difference)
    assert (difference[0] == "+") == (float(chance.strip("<> %")) > 50.0)
    assert "not the chance to win the next round" in page.locator("p[data-skills]").inner_text()


def test_compare__says_who_never_met(site: Site, tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", [contest("1", "a", "b"), contest("2", "c", "<i>", time_seconds=86_400)])
    rate_run(lake)
    publish_site(lake, "run", str(site.folder / "apart"))
    for handles, said in (("a,b", ""), ("b,<i>", "'b' and '<i>' never met, not even through others: ")):
        page = site.open(f"apart/compare.html?h={quote(handles)}")
        page.wait_for_selector("[data-pairs] tbody tr")
        assert page.locator("[data-notice]").inner_text().startswith(said)
        assert bool(said) == bool(page.locator("[data-notice]").inner_text())
    assert site.errors == []


def test_hostile_handle__is_a_text_everywhere(site: Site) -> None:
    page = site.open(f"player.html?h={quote(HOSTILE)}")
    page.wait_for_selector("svg.graph .line")
    shown = page.locator("h1").inner_text()
    assert shown.startswith("<img src=x onerror=alert(1)>")
    page.evaluate("document.querySelectorAll('input[type=hidden]').forEach((one) => one.remove())")  # sent as it is
    assert "\u202e" not in page.content()
    page.locator("header [role=combobox]").fill("<img")
    page.wait_for_selector("#found a")
    assert page.locator("main img, header img").count() == 0
    assert site.errors == []


def test_tables__need_no_script(site: Site) -> None:
    for path, rows in (("index.html", 80), ("{v}leaderboard/000.html", 80), ("{v}contests.html", 40)):
        page = site.open(path, java_script_enabled=False)
        assert page.locator("tbody tr:not(.year)").count() == rows
        page.locator("tbody a").first.click()
        assert page.locator("h1").count() == 1
    page = site.open("{v}contests.html", java_script_enabled=False)
    page.locator("tbody a").first.click()
    assert page.locator("table.standings tbody tr").count() == 50
    page = site.open("{v}distribution.html", java_script_enabled=False)
    assert page.locator("svg .bars rect").count() > 5
