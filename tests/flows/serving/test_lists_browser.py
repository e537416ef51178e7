"""The lists of a run in a browser: leaderboard, contests, distribution and the first page, on the server and a site."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from helpers.browser import axe, new_page, served_files, served_pages
from helpers.lakes import lake_of, rate_run, synthetic
from helpers.tables import over_years

from ranklake.flows.pages.views import contest_list
from ranklake.flows.pages.views import leaderboard as leaderboard_page
from ranklake.flows.publication.publish import publish
from ranklake.flows.results.titles import CODEFORCES
from ranklake.flows.site.publish import publish_site
from ranklake.storage import Lake

pytestmark = pytest.mark.slow
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 800}
PATHS = ("/", "/one", "/one?active=all&order=change&at=1971-06-01", "/one/contests", "/one/distribution?handle=player 1"
         "&handle2=player 2&log=1&active=3y")  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two published runs of 40 contests over more than three years."""
    lake = lake_of(tmp_path_factory.mktemp("lists") / "lake", list(over_years(synthetic(40))))
    for run in ("one", "two"):
        rate_run(lake, run=run)
        publish(lake, run, titles=CODEFORCES)
    return lake


@pytest.fixture(scope="module")
def address(lake: Lake) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leaderboard_page, "BOARD_ROWS", 16)
        patch.setattr(contest_list, "CONTEST_ROWS", 16)
        with served_pages(lake) as address:
            yield address


def query(page: Any) -> dict[str, list[str]]:
    """The parameters of the address of a page."""
    return parse_qs(urlsplit(page.url).query)


def test_lists__have_no_faults_in_any_light_and_width(address: str, browser: Any) -> None:
    errors: list[str] = []
    for viewport, scheme in ((WIDE, "light"), (PHONE, "dark")):
        page = new_page(browser, address, errors, viewport=viewport, color_scheme=scheme)
        for number, path in enumerate(PATHS):
            page.goto(f"{address}{path}")
            assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], path
            if number % 2 == (viewport is PHONE):  # half of the pages in each
                assert axe(page) == [], path
        page.context.close()
    assert errors == []


@pytest.mark.parametrize("scripts", [True, False])
def test_leaderboard__sorts_filters_and_leads_to_rows(address: str, browser: Any, scripts: bool) -> None:
    errors: list[str] = []
    page = new_page(browser, address, errors, java_script_enabled=scripts, viewport=WIDE)
    page.goto(f"{address}/one")
    page.locator("th a", has_text="Rounds").click()
    assert query(page) == {"order": ["n_rounds"]}
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("Rounds")
    rounds = [int(text) for text in page.locator("tbody td:nth-child(8)").all_inner_texts()]
    assert rounds == sorted(rounds, reverse=True)
    page.locator(".switch a", has_text="All").click()
    page.locator("[data-jump] input[name=to]").fill("player 7")
    page.locator("[data-jump] button").click()
    page.wait_for_selector("tr[aria-current]")
    assert query(page)["active"] == ["all"]
    assert page.locator("tr[aria-current] td:nth-child(2)").inner_text() == "player 7"
    page.locator(".filters summary").click()
    page.locator("input[name=at]").fill("1971-06-01")
    page.locator("[data-choose] button").click()
    page.wait_for_selector("h1 small")
    assert query(page)["at"] == ["1971-06-01"]
    assert query(page)["order"] == ["n_rounds"]
    assert all(text < "1971-06-01" for text in page.locator("tbody td:nth-child(10)").all_inner_texts())
    page.go_back()
    assert "at" not in query(page)
    assert errors == []
    page.context.close()


def test_leaderboard__goes_back_in_time_by_its_slider(address: str, browser: Any) -> None:
    errors: list[str] = []
    page = new_page(browser, address, errors, viewport=WIDE)
    page.goto(f"{address}/one")
    page.locator(".filters summary").click()
    slider = page.locator("[data-date]")
    least, most = (int(slider.get_attribute(name)) for name in ("min", "max"))
    slider.focus()
    with page.expect_navigation():
        page.keyboard.press("PageDown")
    assert query(page)["at"][0] < "1973-06-01"
    assert least < int(page.locator("[data-date]").input_value()) < most
    page.locator("[data-date]").focus()
    with page.expect_navigation():
        page.keyboard.press("End")
    assert query(page) == {}
    assert errors == []
    page.context.close()


def test_site__leads_to_rows_and_finds_contests_of_all_pages(lake: Lake, browser: Any, tmp_path: Path) -> None:
    errors: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contest_list, "CONTEST_ROWS", 16)
        publish_site(lake, "one", str(tmp_path / "site"), titles=CODEFORCES)
    with served_files(tmp_path / "site") as address:
        page = new_page(browser, address, errors, viewport=PHONE)
        page.goto(address)
        page.locator("[data-jump] input").fill("player 7")
        page.locator("[data-jump] button").click()
        page.wait_for_selector("tr[aria-current]")
        assert page.locator("tr[aria-current] td:nth-child(2)").inner_text() == "player 7"
        assert axe(page) == []
        page.locator("[data-jump] input").fill("5")
        page.locator("[data-jump] button").click()
        page.wait_for_selector("tbody tr[aria-current]")
        page.wait_for_url("**row=5")
        assert page.locator(".board tbody tr").nth(4).get_attribute("aria-current") == "true"
        page.goto(f"{address}{page.locator('nav [data-page=contests]').get_attribute('href')}")
        rows = page.locator("tbody tr:not(.year)")
        oldest = "contest 0"
        assert rows.count() == 16
        page.locator("[data-named] input").fill(oldest)
        page.wait_for_selector("[data-notice]:not(:empty)")
        name, winner = (rows.first.locator(f"td:nth-child({i})").inner_text() for i in (2, 3))
        assert oldest in name.lower()
        page.locator("[data-named] input").fill("")
        page.wait_for_selector(".year")
        page.locator(".years summary").click()
        page.locator(".years a", has_text="1970").click()
        page.wait_for_url("**#y1970")
        assert page.locator("#y1970 .year").inner_text() == "1970"
        page.locator(".pager a:not([rel])").last.click()
        page.wait_for_selector(".pager a:not([rel]):last-of-type[aria-current]")
        (same,) = [row for row in rows.all() if row.locator("td:nth-child(2)").inner_text() == name]
        assert same.locator("td:nth-child(3)").inner_text() == winner
        assert axe(page) == []
    assert errors == []
