"""The page of a player and the comparison in a browser, on a server and on a static site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.browser import new_page, served_files, served_pages
from helpers.lakes import contest, lake_of, rate_run

from ranklake.flows.publication.publish import publish
from ranklake.flows.site.publish import publish_site
from ranklake.storage import Lake

pytestmark = pytest.mark.slow
DAY = 86_400


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Four players, two of them with 230 common rounds, and one whose name has a comma."""
    contests = [
        contest(str(i), *(["ada", "bob"] if i % 3 else ["bob", "ada"]), time_seconds=i * DAY) for i in range(1, 231)
    ]
    contests += [contest("last", "cy, the third", "ada", "dora", time_seconds=300 * DAY)]
    lake = lake_of(tmp_path_factory.mktemp("players") / "lake", contests)
    rate_run(lake, run="run", system="elo-mmr")
    publish(lake, "run")
    return lake


@pytest.fixture(scope="module")
def site(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    publish_site(lake, "run", str(folder))
    return folder


def chips(page: Any) -> list[str]:
    """The compared players, once the table of them is there."""
    page.wait_for_selector("table.matrix td, .chip:only-child")
    found: list[str] = page.locator(".chip a:first-of-type").all_inner_texts()
    return found


def test_pages__of_players_on_server_and_site(lake: Lake, site: Path, browser: Any) -> None:
    from playwright.sync_api import expect

    errors: list[str] = []
    with served_pages(lake) as server, served_files(site) as files:
        doors = {
            f"{server}/": ("run/p/ada", "run/compare?h=ada&h=bob"),
            files: ("player.html?h=ada", "compare.html?h=ada&h=bob"),
        }
        facts, tables = [], []
        for address, (player, compare) in doors.items():
            page = new_page(browser, address, errors, viewport={"width": 390, "height": 800})
            page.goto(address + player)
            page.wait_for_selector("svg.graph .line")
            names = ("rating", "change", "change_year", "place", "ranked", "below", "max_rating", "peak", "n_rounds")
            facts.append({name: page.locator(f"[data-field={name}]").inner_text() for name in names})
            assert page.locator("table.rounds tbody tr").count() == 200
            page.locator(".pager a[rel=next], [data-older] button").click()
            expect(page.locator("table.rounds tbody tr")).to_have_count(31 if address != files else 231)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            # type, choose by keys, and the two are compared
            page.locator("#against").fill("BO")
            page.wait_for_selector(".against [role=option]")
            page.keyboard.press("ArrowDown")
            page.keyboard.press("Enter")
            if address == files:
                page.wait_for_url("**/compare.html?h=ada&h=bob")
            else:
                expect(page.locator("[data-answer]")).to_contain_text("finish before bob")
                assert "so far 154 : 76." in page.locator("[data-answer]").inner_text()
            page.goto(address + compare)
            assert chips(page) == ["ada", "bob"]
            page.locator("#add").fill("third")
            page.wait_for_selector(".chosen [role=option]")
            page.keyboard.press("ArrowDown")
            page.keyboard.press("Enter")
            page.wait_for_url("**h=cy*")
            assert chips(page) == ["ada", "bob", "cy, the third"]
            tables.append(page.locator("table.common tr").nth(1).all_inner_texts())
            assert page.locator("table.common tbody tr").count() == 100
            page.locator(".chip", has_text="bob").locator(".remove").click()
            page.wait_for_selector(".chip >> nth=1")
            expect(page.locator(".chips")).not_to_contain_text("bob")
            assert chips(page) == ["ada", "cy, the third"]
            page.go_back()
            page.wait_for_selector(".chip >> nth=2")
            page.goto(f"{address}{compare}&h=nobody+here")
            assert chips(page) == ["ada", "bob"]
            assert "nobody here" in page.locator("p.notice", has_text="nobody").inner_text()
            page.context.close()
        assert facts[0] == facts[1]
        assert facts[0]["ranked"] == "of 4"
        assert tables[0] == tables[1]
    assert errors == []
