"""Problems on a site: a page for each that stays while it is unchanged, a list, and the difficulties of contests."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from helpers.browser import axe, new_page, served_files
from helpers.lakes import contest, copy_of, ingest, lake_of, rate_run, synthetic
from helpers.problems import STRANGE, solve, solve_some
from helpers.sites import manifest, published, unpacked, version

from ranklake.flows.answers.run import open_published
from ranklake.flows.publication.publish import publish
from ranklake.storage import Lake

pytest.importorskip("jinja2")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lake, Path]:
    folder = tmp_path_factory.mktemp("problems")
    lake = lake_of(folder / "lake", synthetic(12))
    rate_run(lake)
    solve_some(lake, ["7", "8", "9"])
    return lake, published(lake, folder)


def listed(page: Path) -> list[tuple[str, str]]:
    """Address and difficulty of each row of a list."""
    table = page.read_text("utf-8").partition('id="problems"')[2].partition("</table>")[0]
    return re.findall(r'<tr><td><a href="([^"]*)">.*?<td>([^<]*)<td class="wide">', table, re.DOTALL)


def test_site__has_the_problems_of_the_published_run(made: tuple[Lake, Path]) -> None:
    lake, site = made
    publish(lake, "run")
    problems = open_published(lake, "run").problems
    assert problems is not None
    rows, data = problems.table.to_pylist(), unpacked(site, manifest(site)["problems"])
    assert data["problem"] == [row["problem"] for row in rows]
    assert data["difficulty"] == pytest.approx([row["difficulty"] for row in rows], abs=1e-6)
    signs = {"above": "> ", "below": "< ", None: ""}
    shown = [
        (page, f"{signs[row['bound']]}{row['difficulty']:.0f}") for page, row in zip(data["page"], rows, strict=True)
    ]
    assert [(page, unescape(text)) for page, text in listed(version(site) / "problems.html")] == shown
    for page, row in zip(data["page"], rows, strict=True):
        html = (site / page).read_text("utf-8")
        assert "<i>" not in html
        assert html.count("<circle ") == sum(band["counted"] > 0 for band in problems.problem(row["problem"])["bands"])
    contests = unpacked(site, manifest(site)["contests"])
    own = listed(site / contests["page"][contests["contest_id"].index("8")])
    in_contest = problems.of_contest("8").column("problem").to_pylist()
    assert [page for page, _ in own] == [data["page"][data["problem"].index(name)] for name in in_contest]


def test_site__writes_only_pages_that_change(made: tuple[Lake, Path], tmp_path: Path) -> None:
    lake = copy_of(made[0], tmp_path / "lake")
    site = published(lake, tmp_path)
    before = set((site / "problems").iterdir())
    ingest(lake, [contest("new", "player 1", "player 2", "player 3", time_seconds=10**8)])
    rate_run(lake)
    solve(lake, [("new", "player 1", "N", 1, 5), ("new", "player 2", "N", 0, "")])
    published(lake, tmp_path)
    (added,) = set((site / "problems").iterdir()) - before
    assert added.name.startswith("N-")


def test_site__without_results_has_no_problems(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", [contest("one", "ann", "bob")])
    rate_run(lake)
    site = published(lake, tmp_path)
    assert "problems" not in manifest(site)
    assert not (site / "problem.html").exists()
    for page in site.rglob("*.html"):
        assert "problem" not in page.read_text("utf-8")


def test_site__with_results_of_contests_that_are_not_rated_has_an_empty_list(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", [contest("one", "ann", "bob"), contest("two", "bob", "ann")])
    rate_run(lake, exclude=("two",))
    solve(lake, [("two", "ann", "A", 1, 5)])
    site = published(lake, tmp_path)
    assert "There is no such problem" in (version(site) / "problems.html").read_text("utf-8")
    publish(lake, "run")
    assert open_published(lake, "run").problems is None


@pytest.mark.slow
def test_scripts__filter_the_list_and_find_problems_for_a_player(made: tuple[Lake, Path], browser: Any) -> None:
    lake, site = made
    publish(lake, "run")
    run, errors = open_published(lake, "run"), []
    rows = run.problems_for("player 1", chance=0.6, width=0.2).rows.to_pylist()
    assert run.problems is not None
    with served_files(site) as host:
        page = new_page(browser, host, errors)
        page.goto(f"{host}/player.html?h=player%201")
        page.locator("[data-field=problems][href*=chance]").click()
        page.locator("#problems tbody").wait_for(state="attached")
        page.fill("[name=chance]", "0.6")
        page.fill("[name=width]", "0.2")
        page.locator("[data-notice]", has_text="60 ± 20 %").wait_for()
        assert page.locator("[data-notice]").inner_text().startswith(f"{len(rows)} problem")
        cells = page.locator("#problems tbody td:nth-child(2)").all_inner_texts()
        assert [int(text.split()[0]) for text in cells] == pytest.approx([100 * row["chance"] for row in rows], abs=1.0)
        page.goto(f"{host}/{version(site).relative_to(site)}/problems.html")
        page.fill("[data-problems] [name=q]", "task b")
        page.locator("[data-notice]:not(:empty)").wait_for()
        names = page.locator("#problems tbody td:first-child a").all_inner_texts()
        assert names == [row["name"] for row in run.problem_page(q="task b").rows.to_pylist()]
        page.goto(f"{host}/problem.html?id={'%3Cb%3E%26%2Fa%20c%3Fd%23e'}")
        page.locator("svg.chances").wait_for()
        assert page.locator("h1").inner_text() == "=1+<i>"
        assert page.title().startswith("=1+<i>")
        assert axe(page) == []
        page.goto(f"{host}/problem.html?id=none")
        page.locator("[data-notice]:not(:empty)").wait_for()
    assert errors == []
    assert STRANGE == "<b>&/a c?d#e"
