"""The facts of a player and the comparison, in the API and on the pages without scripts."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from helpers.api import TestClient
from helpers.lakes import contest, lake_of, rate_run

from ranklake.flows.answers.run import open_published
from ranklake.flows.pages.links import ServerLinks
from ranklake.flows.pages.views import players as players_page
from ranklake.flows.publication.publish import publish
from ranklake.storage import Lake

RUN = "/api/v1/runs/run"
DAY = 86_400


def history(client: TestClient, handle: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"{RUN}/players/{quote(handle, '')}/history").json()["rows"]
    return found


def test_player__facts_are_those_of_the_history(client: TestClient) -> None:
    rows = client.get(f"{RUN}/leaderboard").json()["rows"]
    for row in rows[::5]:
        player, rounds = client.get(f"{RUN}/players/{quote(row['handle'], '')}").json(), history(client, row["handle"])
        assert player["change"] == rounds[-1]["change"]
        best = max(rounds, key=lambda one: one["rating"])
        assert (player["peak"]["rating"], player["peak"]["contest_id"]) == (best["rating"], best["contest_id"])
        assert player["peak"]["rating"] == player["max_rating"]
        assert player["n_ranked"] == len(rows)
        assert player["percentile"] == 100.0 or player["place"] > 1
        title = player["next_title"]
        assert title is None or title["points"] == title["minimum"] - player["rating"] > 0


def test_compare__has_the_changes_and_every_pair(client: TestClient) -> None:
    names = [row["handle"] for row in client.get(f"{RUN}/leaderboard").json()["rows"] if "," not in row["handle"]][:3]
    found = client.get(f"{RUN}/compare", params={"handles": ",".join(names)}).json()
    changes = {name: {row["round_index"]: row["change"] for row in history(client, name)} for name in names}
    assert found["contests"]
    for one in found["contests"]:
        assert one["changes"] == {name: changes[name][one["round_index"]] for name in one["places"]}
    page = client.get("/run/compare", params=[("h", name) for name in names]).text
    cells = re.findall(
        r"<td>(?:<b>(\d+) %</b> <small>(\d+) : (\d+)|–)", page.partition("matrix")[2].partition("</table")[0]
    )
    matrix = dict(zip([(a, b) for a in names for b in names], cells, strict=True))
    for pair in found["pairs"]:
        one, other = pair["handle"], pair["against"]
        assert matrix[one, other][1:] == (str(pair["wins"]), str(pair["losses"]))
        assert matrix[other, one][1:] == (str(pair["losses"]), str(pair["wins"]))
        assert abs(int(matrix[one, other][0]) + int(matrix[other, one][0]) - 100) <= 1
    assert all(matrix[name, name] == ("", "", "") for name in names)
    for name in names:  # each chip leads to the comparison of the others
        others = urlencode([("h", other) for other in names if other != name])
        assert f'href="/run/compare?{others}"'.replace("&", "&amp;") in page


def test_compare__of_unknown_players_keeps_the_others(client: TestClient) -> None:
    page = client.get("/run/compare", params=[("h", "player 1"), ("h", "nobody at all"), ("h", "player 2")]).text
    assert "No player is called nobody at all" in page
    assert page.count('class="chip"') == 2


def test_player__is_told_why_the_rating_is_below_mu(client: TestClient) -> None:
    about = client.get(RUN).json()
    assert (about["deviations"], about["sigma_limit"]) == (3.0, 80.0)
    found = 0
    for row in client.get(f"{RUN}/leaderboard").json()["rows"]:
        page = client.get(f"/run/p/{quote(row['handle'], '')}").text
        lower = round(row["mu"] - 3 * (row["sigma"] - 80))
        said = re.findall(r'data-field="caution">The uncertainty σ lowers the rating by (\d+): it is (.*?)\.', page)
        assert said == ([(str(round(row["mu"]) - lower), "μ − 3 × (σ − 80)")] if lower < round(row["mu"]) else [])
        assert lower == round(row["rating"])
        found += len(said)
    assert found


def test_player__whose_rating_is_mu_is_told_nothing(long: Lake) -> None:
    run = open_published(long, "run")
    assert players_page.about(run, run.player("ada"))["caution"] == ""


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two players with 230 common rounds, a newcomer, and a player of long ago."""
    contests = [
        contest(str(i), *(["ada", "bob"] if i % 3 else ["bob", "ada"]), time_seconds=i * DAY) for i in range(1, 231)
    ]
    contests += [contest("old", "eve", "dan", time_seconds=1), contest("last", "ada", "new", time_seconds=900 * DAY)]
    lake = lake_of(tmp_path_factory.mktemp("long") / "lake", contests)
    rate_run(lake, run="run", system="elo")
    publish(lake, "run")
    return lake


def test_player__of_many_rounds_has_pages(long: Lake) -> None:
    run, links = open_published(long, "run"), ServerLinks("", "run")
    pages = [players_page.player(run, links, "ada", page) for page in (0, 1)]
    shown = [row["contest_id"] for page in pages for row in reversed(page["rounds"])]
    assert shown == ["last", *map(str, range(230, 0, -1))]
    assert [len(page["rounds"]) for page in pages] == [players_page.ROUND_ROWS, 31]
    assert pages[0]["pages"](1) == "/run/p/ada?page=1"
    found = players_page.compare(run, links, ["ada", "bob"], 2)
    assert (found["total"], found["n_pages"], len(found["contests"])) == (230, 3, 30)
    assert found["pages"](1) == "/run/compare?h=ada&h=bob&page=1"
    with pytest.raises(LookupError, match="beyond the end"):
        players_page.player(run, links, "ada", 2)


def test_player__new_and_inactive_ones_make_sense(long: Lake) -> None:
    run = open_published(long, "run")
    new, eve, bob = (players_page.about(run, run.player(handle)) for handle in ("new", "eve", "bob"))
    assert (new["change"], new["change_year"], new["inactive"]) == (None, None, False)
    assert (eve["change"], eve["change_year"], eve["inactive"]) == (None, 0.0, True)
    assert (bob["change_year"], bob["inactive"]) == (0.0, True)
