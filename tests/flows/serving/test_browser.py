"""The page of a preview in a browser: Chromium of the system, driven by Playwright."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.browser import new_page, served_pages

from ranklake.storage import Lake

sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(lake: Lake) -> Iterator[str]:
    """A server on the loopback interface."""
    with served_pages(lake) as address:
        yield address


@pytest.mark.parametrize("scripts", [True, False])
def test_preview__shows_changes_with_and_without_scripts(address: str, browser: Any, scripts: bool) -> None:
    errors: list[str] = []
    window = {"java_script_enabled": scripts, "viewport": {"width": 360, "height": 800}}
    page = new_page(browser, address, errors, **window)
    page.goto(f"{address}/run/preview")
    if scripts:
        page.wait_for_selector("[data-file]:not([hidden])")
        file = {
            "name": "standings.csv",
            "mimeType": "text/csv",
            "buffer": b"rank,player\n1,<script>\n2,player 3\n2,new",
        }
        page.locator("input[type=file]").set_input_files([file])
        sync_api.expect(page.locator("#standings")).to_have_value(re.compile("^rank"))
    else:
        page.locator("#standings").fill("1 <script>\n2 player 3\n2 new")
    page.locator("main form button").click()
    page.wait_for_selector("table.changes tbody tr")
    assert page.locator("table.changes td:nth-child(2)").all_inner_texts() == ["<script>", "player 3", "new"]
    assert page.locator("table.changes td:first-child").all_inner_texts() == ["1", "2", "2"]
    assert "player 3" in page.locator("#standings").input_value()
    if scripts:
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.evaluate("document.querySelector('[data-result]').getBoundingClientRect().top") < 0.75 * 800
    page.locator("#standings").fill("player 3\nplayer 3")
    page.locator("main form button").click()
    page.wait_for_selector("[role=alert]")
    assert "listed twice" in page.locator("[role=alert]").inner_text()
    assert [text for text in errors if "400" not in text] == []  # the browser reports the refused request


def test_pictures__are_drawn_where_another_page_embeds_them(address: str, browser: Any) -> None:
    page = browser.new_context().new_page()
    for name, size in (("graph", [960, 450]), ("badge", None)):
        page.set_content(f'<img src="{address}/run/p/Zo%C3%AB/{name}.svg">')
        page.wait_for_function("document.images[0].complete")
        found = page.evaluate("[document.images[0].naturalWidth, document.images[0].naturalHeight]")
        assert found == size or (size is None and found[0] > 40 and found[1] == 20)
