"""The rating graph in a browser: what it draws, zoom by every means, the address, the click, saved pictures."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers.browser import axe, chromium, new_page, served_pages
from helpers.lakes import contest, lake_of, rate_run

from ranklake.flows.events.start import season_event
from ranklake.flows.publication.publish import publish
from ranklake.flows.results.titles import CODEFORCES
from ranklake.storage import Dataset

pytestmark = pytest.mark.slow
DAY, FIRST = 86_400, 1_400_000_000
NAMES = [f"player {i}" for i in range(30)]
FOUR = ",".join(NAMES[:4])
# The drawn elements: tag, class, text, and all numbers of the place; without empty paths and what follows the pointer.
DRAWN = """() => Array.from(document.querySelectorAll('svg.graph rect, svg.graph path, svg.graph text'))
  .filter((one) => one.getAttribute('d') !== '' && !one.closest('.spots') && !one.matches('.cursor, .range'))
  .map((one) => [one.tagName, one.getAttribute('class'), one.tagName === 'text' ? one.textContent : '',
    ['x', 'y', 'width', 'height', 'd'].map((name) => one.getAttribute(name) ?? '').join(' ')])"""
RANGE = "() => ['from', 'to'].map((name) => new URL(location.href).searchParams.get(name)).filter(Boolean)"


class Pages:
    """Pages of the server, and the errors of all."""

    def __init__(self, browser: Any, address: str) -> None:
        self.browser, self.address = browser, address
        self.errors: list[str] = []

    def open(self, path: str, width: int = 1280, **context: Any) -> Any:
        viewport = {"width": width, "height": 900}
        page = new_page(self.browser, self.address, self.errors, viewport=viewport, **context)
        page.goto(f"{self.address}/run/{path}")
        page.wait_for_selector("svg.graph" if context.get("java_script_enabled") is False else ".overview")
        return page


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """Forty contests of thirty players, strongest first but for luck, with a pause of two years in the middle."""
    rng, contests = np.random.default_rng(7), []
    for i in range(40):
        order = np.argsort(np.arange(30) + 8 * rng.standard_normal(30))
        time = FIRST + 20 * i * DAY + (730 * DAY if i >= 20 else 0)
        contests.append(contest(str(i), *(NAMES[k] for k in order), time_seconds=time))
    contests.append(contest("once", NAMES[0], "newcomer", time_seconds=FIRST + 1_600 * DAY))
    lake = lake_of(tmp_path_factory.mktemp("graphs") / "lake", contests)
    with Dataset.ingest(lake, "games") as body:
        body.start_season(season_event("<b>one</b>", FIRST + 210 * DAY, keep=0.9))
        body.start_season(season_event("two", FIRST + 1_500 * DAY, reset=False))
    rate_run(lake)
    publish(lake, "run", titles=CODEFORCES)
    with served_pages(lake) as address, chromium() as browser:
        pages = Pages(browser, address)
        yield pages
        assert pages.errors == []


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?[\d.]+", text)]


def box_of(page: Any) -> Any:
    return page.locator("svg.graph").bounding_box()


def boxes_of(page: Any, selector: str) -> list[dict[str, float]]:
    """The edges of elements of the graph, in its own units."""
    edges = "{left: box.x, right: box.x + box.width, top: box.y, bottom: box.y + box.height}"
    found: list[dict[str, float]] = page.locator(f"svg.graph {selector}").evaluate_all(
        f"all => all.map((one) => {{ const box = one.getBBox(); return {edges}; }})"
    )
    return found


def spot(page: Any) -> tuple[float, float]:
    """Where on the screen the selected point is."""
    found = page.locator("svg.graph .spots circle").first.bounding_box()
    return found["x"] + found["width"] / 2, found["y"] + found["height"] / 2


@pytest.mark.parametrize(
    "path", ["p/player 0", "p/newcomer", f"compare?h={FOUR}", "p/player 0?from=2014-09-01&to=2017-03-01"]
)
def test_script__draws_what_the_server_does(graphs: Pages, path: str) -> None:
    drawn, served = (graphs.open(path, java_script_enabled=script).evaluate(DRAWN) for script in (True, False))
    assert [one[:3] for one in drawn] == [one[:3] for one in served]
    for one, other in zip(drawn, served, strict=True):
        assert numbers(one[3]) == pytest.approx(numbers(other[3]), abs=0.11), one[:3]


def test_names_of_bands__are_apart_from_the_lines(graphs: Pages) -> None:
    for path in ("p/player 0", f"compare?h={FOUR}"):
        page = graphs.open(path)
        for _ in range(2):
            names = boxes_of(page, ".names text")
            drawn = boxes_of(page, ".line") + boxes_of(page, ".belief") + boxes_of(page, ".pause")
            assert len(names) >= 2
            assert max(box["right"] for box in names) <= min(box["left"] for box in drawn if box["right"])
            page.locator("svg.graph").focus()
            page.keyboard.press("+")
            page.wait_for_function("() => location.search.includes('from=')")


def test_labels__are_at_the_ends_and_do_not_overlap(graphs: Pages) -> None:
    for width in (1280, 390):
        page = graphs.open(f"compare?h={','.join(NAMES[:8])}", width)
        labels = boxes_of(page, ".labels text")
        _, _, wide, high = numbers(page.locator("svg.graph").get_attribute("viewBox"))
        assert len(labels) == 8
        assert all(
            below["top"] >= above["bottom"] - 3 for above, below in pairwise(labels)
        )  # nothing is in the 3 units
        assert all(box["right"] <= wide and box["top"] >= 0 and box["bottom"] <= high for box in labels)
        assert min(box["left"] for box in labels) > max(box["right"] for box in boxes_of(page, ".line"))


def test_pause_and_peak__are_marked(graphs: Pages) -> None:
    page = graphs.open("p/player 0")
    assert page.locator("svg.graph .pause").evaluate("one => getComputedStyle(one).strokeDasharray") != "none"
    highest = page.locator("[data-field=max_rating]").inner_text()
    flag = page.locator("svg.graph .peak text").text_content()
    assert re.fullmatch(rf"{highest} · \d{{4}}-\d\d-\d\d", flag)
    assert flag.partition(" · ")[2] in page.locator("svg.graph").get_attribute("aria-label")
    assert page.locator("[data-legend] .entry").all_inner_texts() == ["rating", "μ ± 2σ", "performance", "pause"]


def test_wheel__zooms_in_and_lets_the_page_scroll_when_all_is_shown(graphs: Pages) -> None:
    page = graphs.open("p/player 0")
    box, length = box_of(page), page.evaluate("history.length")
    page.mouse.move(box["x"] + 500, box["y"] + 150)
    page.mouse.move(box["x"] + 510, box["y"] + 150)
    for _ in range(3):
        page.mouse.wheel(0, -200)
    page.wait_for_function("() => location.search.includes('from=')")
    assert page.evaluate("history.length") == length + 1  # one entry for all steps
    assert page.evaluate("scrollY") == 0
    first, last = page.evaluate(RANGE)
    assert "2014-05-13" < first < last < "2018-12-31"
    page.go_back()
    page.wait_for_function("() => !location.search")
    assert page.locator(".now").inner_text().startswith("2014-05-13")
    page.go_forward()
    page.wait_for_function("() => location.search.includes('from=')")
    assert page.locator(".now").inner_text() == f"{first} – {last}"
    page.reload()
    page.wait_for_selector(".overview")
    assert page.locator(".now").inner_text() == f"{first} – {last}"
    page.keyboard.press("Tab")
    page.locator(".zoom button", has_text="All").click()
    assert page.evaluate(RANGE) == []
    page.mouse.move(box["x"] + 520, box["y"] + 150)
    page.mouse.wheel(0, 300)
    page.wait_for_function("() => scrollY > 0")
    assert page.evaluate(RANGE) == []


def test_pinch__zooms_between_the_fingers(graphs: Pages) -> None:
    page = graphs.open("p/player 0", 390, has_touch=True, is_mobile=True)
    box, session = box_of(page), page.context.new_cdp_session(page)
    y = box["y"] + 80

    def touch(kind: str, *places: float) -> None:
        points = [{"x": box["x"] + x, "y": y, "id": i} for i, x in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 150)
    touch("touchStart", 150, 200)
    for reach in (10, 25, 40, 60):
        touch("touchMove", 150 - reach, 200 + reach)
    touch("touchEnd")
    page.wait_for_function("() => location.search.includes('from=')")
    first, last = page.evaluate(RANGE)
    assert "2014-06" < first < last < "2018-10"
    assert page.evaluate("visualViewport.scale") == 1


def test_slider__is_moved_by_keys_and_pointer(graphs: Pages) -> None:
    page = graphs.open("p/player 0")
    start, end = (page.locator(".overview [role=slider]").nth(side) for side in (0, 1))
    assert [one.get_attribute("aria-valuetext") for one in (start, end)] == ["2014-05-13", "2018-09-29"]
    start.focus()
    page.keyboard.press("PageUp")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.search.includes('from=')")
    moved = start.get_attribute("aria-valuetext")
    assert page.evaluate(RANGE)[0] == moved > "2014-05-13"
    assert start.evaluate("one => one === document.activeElement")
    page.keyboard.press("Home")
    page.wait_for_function("() => !location.search.includes('from=')")
    box = end.locator(".bar").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] - 300, box["y"] + 10, steps=3)
    page.mouse.up()
    assert page.evaluate(RANGE)[1] == end.get_attribute("aria-valuetext") < "2018-01"


def test_click__opens_a_contest_on_its_point_alone(graphs: Pages) -> None:
    page = graphs.open("p/player 0")
    box = box_of(page)
    page.mouse.click(box["x"] + 600, box["y"] + 340)
    assert page.url.endswith("player%200")
    page.locator("svg.graph").focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    name = page.locator(".tip b").inner_text()
    x, y = spot(page)
    page.mouse.click(x, y + 40)
    assert page.url.endswith("player%200")
    page.mouse.click(x, y)
    page.wait_for_url("**/c/*")
    assert page.locator("h1").inner_text() == name


def test_tap__selects_and_the_tip_has_the_link(graphs: Pages) -> None:
    page = graphs.open("p/player 0", 390, has_touch=True)
    before = page.locator(".tip b").inner_text()
    box = box_of(page)
    page.touchscreen.tap(box["x"] + 90, box["y"] + 100)
    name = page.locator(".tip b").inner_text()
    assert name != before
    assert page.url.endswith("player%200")
    page.locator(".tip a").click()
    page.wait_for_url("**/c/*")
    assert page.locator("h1").inner_text() == name


def test_tip__has_all_compared_players_best_first(graphs: Pages) -> None:
    page = graphs.open(f"compare?h={FOUR}")
    box = box_of(page)
    page.mouse.move(box["x"] + 600, box["y"] + 100)
    rows = page.locator(".tip li").all_inner_texts()
    found = [re.fullmatch(r"(player \d) (\d+)", row.strip()) for row in rows]
    assert sorted(one[1] for one in found if one) == NAMES[:4]
    ratings = [int(one[2]) for one in found if one]
    assert ratings == sorted(ratings, reverse=True)
    assert page.locator("svg.graph .spots circle").count() == 4


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_saved_pictures__have_name_and_legend(graphs: Pages, tmp_path: Path, scheme: Any) -> None:
    page = graphs.open("p/player 0", color_scheme=scheme, reduced_motion="reduce")
    files = {}
    for kind in ("svg", "png"):
        with page.expect_download() as download:
            page.locator(f"[data-save={kind}]").click()
        assert download.value.suggested_filename == f"player_0.{kind}"
        files[kind] = tmp_path / kind
        download.value.save_as(files[kind])
    picture = ElementTree.parse(files["svg"])
    texts = [one.text for one in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "player 0 · run" in texts
    assert {"rating", "performance", "pause"} <= set(texts)
    assert not any("class" in one.attrib and "var(" in str(one.attrib) for one in picture.iter())
    data = files["png"].read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (1920, 900)
    assert len(data) > 20_000


def test_graphs__have_no_fault_of_accessibility(graphs: Pages) -> None:
    for path, width in (("p/player 0", 1280), (f"compare?h={FOUR}", 390)):
        page = graphs.open(path, width)
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
