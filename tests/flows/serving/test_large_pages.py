"""The largest contest and the largest preview in a browser: what they cost a visitor, and what works there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

import pytest
from helpers.browser import axe, new_page, page_cost, served_pages
from helpers.lakes import contest, lake_of, rate_run

from ranklake.flows.publication.publish import publish

pytestmark = pytest.mark.slow
N = 25_000
NAMES = [f"player {i}" for i in range(N)]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of a run with a contest of 25,000 after a small one."""
    contests = [contest("1", *NAMES[::-500]), contest("2", *NAMES, time_seconds=10**9)]
    lake = lake_of(tmp_path_factory.mktemp("large") / "lake", contests)
    rate_run(lake)
    publish(lake, "run")
    with served_pages(lake) as address:
        yield address


def test_contest__of_25_000_is_light_and_finds_every_name(address: str, browser: Any) -> None:
    small = page_cost(browser, f"{address}/run/c/2?q=nobody")
    cost = page_cost(browser, f"{address}/run/c/2", ".standings tbody tr")
    assert cost.document_bytes < 100_000
    assert cost.elements < 10_000
    assert cost.browser_seconds - small.browser_seconds < 1.0  # a busy machine has the start of a page in both
    errors: list[str] = []
    page = new_page(browser, address, errors)
    page.goto(f"{address}/run/c/2")
    assert page.locator(".standings tbody tr").count() == 200
    page.locator("[data-names] input").fill(f"layer {N - 1}")
    page.wait_for_url("**/c/2?q=*")
    assert page.locator(".standings td:nth-child(2)").all_inner_texts() == [NAMES[-1]]
    page.goto(f"{address}/run/c/2")
    page.locator(".pager a[rel=next]").click()
    page.wait_for_url("**/c/2?page=1")
    assert page.locator(".standings td:nth-child(2)").first.inner_text() == NAMES[200]
    page.go_back()
    page.wait_for_selector(f".standings :text-is('{NAMES[0]}')")
    assert axe(page) == []
    assert errors == []


def test_preview__of_25_000_names_takes_the_browser_little_time(address: str, browser: Any) -> None:
    errors: list[str] = []
    page = new_page(browser, address, errors, java_script_enabled=False)
    page.goto(f"{address}/run/preview")
    page.locator("#standings").evaluate("(field, text) => { field.value = text; }", "\n".join(NAMES))
    page.locator("[data-preview] button").click()
    result = urljoin(address, page.locator(".pager a[rel=next]").get_attribute("href"))
    small = page_cost(browser, f"{result}&q=nobody&page=0")
    cost = page_cost(browser, result, ".changes tbody tr")
    assert cost.document_bytes < 100_000
    assert cost.elements < 10_000
    assert cost.browser_seconds - small.browser_seconds < 1.0  # as for a contest
    assert errors == []


@pytest.mark.parametrize("scripts", [True, False])
def test_preview__of_25_000_names_is_light_and_has_pages(address: str, browser: Any, scripts: bool) -> None:
    errors: list[str] = []
    page = new_page(browser, address, errors, java_script_enabled=scripts)
    sizes: list[int] = []
    page.on("response", lambda response: sizes.append(int(response.headers.get("content-length", 0))))
    page.goto(f"{address}/run/preview")
    page.locator("#standings").evaluate("(field, text) => { field.value = text; }", "\n".join(NAMES))
    page.locator("[data-preview] button").click()
    page.wait_for_selector(".changes tbody tr")
    assert page.locator("*").count() < 10_000
    page.locator(".pager a[rel=next]").click()
    page.wait_for_selector(f".changes :text-is('{NAMES[200]}')")
    page.locator("[data-names] [name=q]").fill(NAMES[-1])
    page.locator("[data-names] button").click()
    page.wait_for_selector(f".changes :text-is('{NAMES[-1]}')")
    assert page.locator(".changes tbody tr").count() == 1
    assert max(sizes) < 100_000
    assert errors == []
