"""A site of a run of games: pages of periods and histories as the server has them, joined by period in a browser."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.browser import new_page, served_files
from helpers.games import as_periods, ingest_periods, league
from helpers.lakes import commit_often, rate_run, small_files
from helpers.sites import histories, manifest, unpacked

from ranklake.flows.answers.players.record import WIN, record
from ranklake.flows.answers.run import PublishedRun, open_published
from ranklake.flows.pages.links import ServerLinks
from ranklake.flows.pages.render import Templates
from ranklake.flows.pages.views import contest_list, periods, players
from ranklake.flows.pages.views import leaderboard as leaderboard_page
from ranklake.flows.pages.views import run as run_view
from ranklake.flows.publication.publish import publish
from ranklake.flows.results.rating_format import RatingFormat
from ranklake.flows.site import parts
from ranklake.flows.site.publish import publish_site
from ranklake.storage import Lake

PERIODS = as_periods(league(300, n_players=12, days=40))
LINKS = ServerLinks("", "run")


@pytest.fixture(scope="module", params=["elo", "glicko2"])
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """``glicko2`` rates the games of a period at once."""
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=40)
        small_files(patch, index_rows=64)
        lake = Lake.open(tmp_path_factory.mktemp("games") / "lake", create=True)
        ingest_periods(lake, PERIODS[:-1])
        rate_run(lake, dataset="league", system=request.param)
        publish(lake, "run")
    return lake


@pytest.fixture(scope="module")
def served(lake: Lake) -> PublishedRun:
    return open_published(lake, "run")


@pytest.fixture(scope="module")
def site(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ranklake.flows.site.shards._SHARD_ROWS", 64)
        folder = tmp_path_factory.mktemp("site")
        publish_site(lake, "run", str(folder))
        return folder


def texts(html: str, table: str) -> list[list[str]]:
    """The texts of the cells of the rows in the body of a table."""
    body = html.partition(f'<table class="{table}"')[2].partition("<tbody")[2].partition("</table>")[0]
    cells = [row.split("<td")[1:] for row in body.split("<tr")[1:]]
    return [[unescape(re.sub("<[^>]*>", "", f"<{cell}")).strip() for cell in row] for row in cells]


def test_periods__are_those_of_the_server(served: PublishedRun, site: Path) -> None:
    contests = unpacked(site, manifest(site)["contests"])
    facts = run_view.facts(served)
    for key, page in zip(contests["contest_id"], contests["page"], strict=True):
        expected = Templates.shared().render("period", facts, LINKS, **periods.period(served, LINKS, key))
        html = (site / page).read_text("utf-8")
        assert texts(html, "period") == texts(expected, "period")
        shown, wanted = (re.findall('<p class="about">.*?</p>', one, re.S) for one in (html, expected))
        assert shown == wanted


def test_list_and_board__are_those_of_the_server(served: PublishedRun, site: Path) -> None:
    facts = run_view.facts(served)
    expected = Templates.shared().render("contests", facts, LINKS, **contest_list.contests(served, LINKS))
    assert texts((site / "v/000001/contests.html").read_text("utf-8"), "contests") == texts(expected, "contests")
    (key,) = manifest(site)["leaderboard"]["files"]
    board = unpacked(site, f"data/leaderboard/000-{key}.json.gz")
    rows = served.leaderboard(0, 100).rows
    assert board["handle"] == rows.column("handle").to_pylist()
    assert board["n_rounds"] == rows.column("n_rounds").to_pylist()
    choice = leaderboard_page.Choice(leaderboard_page.ALL)
    expected = Templates.shared().render(
        "leaderboard", facts, LINKS, **leaderboard_page.leaderboard(served, LINKS, choice, 0)
    )
    shown, wanted = (
        re.findall('<span class="?(?:up|down)"?>([^<]*)', page)
        for page in ((site / "v/000001/leaderboard/000.html").read_text("utf-8"), expected)
    )
    assert shown == wanted != []


def test_histories__have_games_opponents_and_results(served: PublishedRun, site: Path) -> None:
    levels = manifest(site)["histories"]
    assert len(levels) == 2
    (key,) = manifest(site)["leaderboard"]["files"]
    board = unpacked(site, f"data/leaderboard/000-{key}.json.gz")
    best = dict(zip(board["handle"], board["best_win"], strict=True))
    found: dict[str, dict[str, list[Any]]] = {}
    for level in levels:
        for handle, rows in histories(site, level).items():
            known = found.setdefault(handle, {name: [] for name in ("contest", "rating", "opponent", "result")})
            known["contest"] += np.cumsum(rows["contest"]).tolist()
            known["rating"] += np.cumsum(rows["change"]).tolist()
            for name in ("opponent", "result"):
                known[name] += rows[name]
    played: dict[str, dict[int, list[float]]] = {}
    for handle, rows in found.items():
        history = served.history(handle).to_pylist()
        assert rows["opponent"] == [row["opponent"] for row in history]
        assert rows["contest"] == [row["round_index"] for row in history]
        np.testing.assert_allclose(rows["rating"], [row["rating"] for row in history], atol=0.50001)
        won = [row["lo"] == 0 == row["hi"] for row in history]
        assert [result == WIN for result in rows["result"]] == won
        assert sum(record(rows["result"]).form.count(one) for one in ("win", "draw", "loss")) == min(len(history), 10)
        for row in history:
            before = row["rating"] - row["change"] if row["change"] is not None else None
            played.setdefault(handle, {}).setdefault(row["round_index"], []).append(before)
    for handle, rows in found.items():
        against = []
        for at, (index, opponent, result) in enumerate(
            zip(rows["contest"], rows["opponent"], rows["result"], strict=True)
        ):
            mine = [i for i, one in enumerate(rows["contest"]) if one == index and rows["opponent"][i] == opponent]
            theirs = [i for i, one in enumerate(found[opponent]["contest"])
                      if one == index and found[opponent]["opponent"][i] == handle]  # fmt: skip
            other = theirs[mine.index(at)]
            first = found[opponent]["contest"].index(index)
            before = played[opponent][index][other - first]
            if result == WIN and before is not None:
                against.append((before, -at, opponent, index))
        expected = max(against) if against else None
        if expected is None:
            assert best[handle] is None
        else:
            assert best[handle] == [expected[2], round(expected[0]), expected[3]]


def test_publish__again_writes_nothing_and_one_more_period_only_what_changed(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    ingest_periods(lake, PERIODS[:-1])
    rate_run(lake, dataset="league", system="elo")
    site = tmp_path / "site"
    publish_site(lake, "run", str(site))
    assert publish_site(lake, "run", str(site)).written == 0
    before = {path: path.stat().st_mtime_ns for path in (site / "data/contests").iterdir()}
    ingest_periods(lake, PERIODS[-1:])
    rate_run(lake, dataset="league", system="elo")
    publish_site(lake, "run", str(site))
    after = {path: path.stat().st_mtime_ns for path in (site / "data/contests").iterdir()}
    assert before.items() <= after.items()
    assert len(after) == len(before) + 1


@pytest.mark.slow
@pytest.mark.parametrize("lake", ["elo"], indirect=True)
def test_pages__of_periods_and_players_in_a_browser(
    lake: Lake, served: PublishedRun, tmp_path: Path, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "CONTEST_ROWS", 3)
    publish_site(lake, "run", str(tmp_path / "site"))
    errors: list[str] = []
    with served_files(tmp_path / "site") as address:
        page = new_page(browser, address, errors)
        page.goto(f"{address}player.html?h=p3")
        page.wait_for_selector("table.games tbody tr")
        history = served.history("p3").to_pylist()
        rounds = [row["round_index"] for row in history]
        assert page.locator("table.games tbody tr").count() == len(set(rounds))
        assert page.locator("[data-field=n_rounds]").inner_text() == str(len(history))
        won = [row["lo"] == 0 == row["hi"] for row in history]
        last = [row for row in history if row["round_index"] == rounds[-1]]
        shown = [[" ".join(cell.split()) for cell in row.locator("td").all_text_contents()]
                 for row in page.locator("table.games tbody tr").all()]  # fmt: skip
        context = players.player(served, LINKS, "p3")
        expected = Templates.shared().render("player", run_view.facts(served), LINKS, **context)
        assert shown == [[" ".join(cell.split()) for cell in row] for row in texts(expected, "rounds games")]
        facts = page.locator(".facts").inner_text()
        assert f"{sum(won)} · " in facts
        assert "Best win" in facts
        change = RatingFormat(served.titles, 0).change(context["player"]["change"])
        assert page.locator("[data-field=change]").inner_text().split()[0] == change
        page.locator("table.games tbody tr").first.locator("a").first.click()
        page.wait_for_selector("table.period")
        n_games = served.n_rows_of_round(rounds[-1]) // 2
        rows = page.locator("table.period tbody tr")
        assert rows.count() == min(3, n_games)
        page.locator("[data-names] input").fill("p3")
        page.wait_for_selector("[data-standings] [role=status]")
        assert rows.count() == len(last)
        page.goto(f"{address}compare.html?h=p3&h=p4")
        page.wait_for_selector(".common tbody tr")
        against = [row for row in history if row["opponent"] == "p4"]
        wins = sum(row["lo"] == 0 == row["hi"] for row in against)
        losses = sum(row["lo"] == 1 for row in against)
        assert page.locator(".matrix tbody tr").first.locator("td").nth(1).inner_text().startswith(f"{wins} : {losses}")
    assert errors == []
