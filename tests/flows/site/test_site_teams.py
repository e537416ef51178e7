"""Teams on a site: the standings of a round of teams, the histories, and files that stay where there are none."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from helpers.answers import leaderboard
from helpers.lakes import contest, ingest, lake_of, rate_run
from helpers.sites import histories, manifest, published, unpacked
from helpers.teams import rosters

from ranklake.flows.pages.links import short
from ranklake.flows.pages.rows import first_rows, whole_teams
from ranklake.flows.site import parts
from ranklake.flows.site.content import SiteContent
from ranklake.flows.site.publish import publish_site
from ranklake.storage import Lake

HOSTILE = "<b>red\u202e\"'&é"
ROUND = rosters("2", (HOSTILE, "a", "b"), (None, "c"), ("blue", "d", "e", "f"), time_seconds=200_000)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Contest 2 is one of teams."""
    alone = [contest(key, *"fedcba", time_seconds=int(key) * 100_000) for key in "13"]
    lake = lake_of(tmp_path / "lake", [alone[0], ROUND, alone[1]])
    rate_run(lake)
    return lake


def test_rows__are_divided_between_participants() -> None:
    team = ["x", "x", None, None, "y", "z", "z"]
    assert first_rows(team) == [0, 2, 3, 4, 5]
    assert [whole_teams(team, n) for n in range(8)] == [0, 2, 2, 3, 4, 5, 7, 7]
    assert whole_teams([], 3) == 3


def test_contest__has_a_row_a_team_and_its_members(lake: Lake, tmp_path: Path) -> None:
    publish_site(lake, "run", str(tmp_path / "site"))
    about = manifest(tmp_path / "site")
    contests = unpacked(tmp_path / "site", about["contests"])
    html = (tmp_path / "site" / contests["page"][1]).read_text("utf-8")
    assert "3 participants, 6 players" in html
    bodies = [body.split("\n") for body in html.partition("<tbody>")[2].split("<tbody>")]
    assert [len(re.findall("<tr", "".join(body))) for body in bodies] == [3, 1, 4]
    (first,) = re.findall(r"<tr class=team><td>1<td colspan=5>([^<]*)\n", html)
    assert unescape(first) == short(HOSTILE)
    assert "<tr class=team><td>3<td colspan=5>blue" in html
    places = re.findall(r"<tr[^>]*><td>(\d*)<td><a href=[^>]*>(\w)</a>", html)
    assert places == [("", "a"), ("", "b"), ("2", "c"), ("", "d"), ("", "e"), ("", "f")]
    alone = (tmp_path / "site" / contests["page"][0]).read_text("utf-8")
    assert "6 players · 6 for the first time<" in alone
    assert "team" not in alone.partition("<thead>")[2]


def test_contest__longer_than_its_page_is_cut_between_teams(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "CONTEST_ROWS", 1)
    publish_site(lake, "run", str(tmp_path / "site"))
    contests = unpacked(tmp_path / "site", manifest(tmp_path / "site")["contests"])
    html = (tmp_path / "site" / contests["page"][1]).read_text("utf-8")
    assert "The first 2 of 6 players." in html
    (data,) = re.findall(r'data-rows="([^"]*)"', html)
    assert unpacked(tmp_path / "site", data.removeprefix("../"))["team"] == [HOSTILE] * 2 + [None] + ["blue"] * 3


def test_histories__have_the_team_of_each_round(lake: Lake, tmp_path: Path) -> None:
    publish_site(lake, "run", str(tmp_path / "site"))
    (level,) = manifest(tmp_path / "site")["histories"]
    teams = {handle: rows["team"] for handle, rows in histories(tmp_path / "site", level).items()}
    expected = {name: [None, HOSTILE if name in "ab" else None if name == "c" else "blue", None] for name in "abcdef"}
    assert teams == expected
    assert set(teams) == set(leaderboard(lake, "run").column("handle").to_pylist())


def test_keys__of_rounds_without_teams_do_not_depend_on_teams(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    content = SiteContent(lake, "run")
    players = [rows["player"] for _, rows in content.each(0, 3, ["player"])]

    def keys() -> list[str]:
        return [content.round_key(index, player) for index, player in enumerate(players)] + [content.level_key(0, 1, 6)]

    before = keys()
    monkeypatch.setattr(content, "has_teams", lambda start, stop: False)
    assert [one == other for one, other in zip(before, keys(), strict=True)] == [True, False, True, True]


@pytest.mark.slow
def test_site__after_a_round_of_teams_keeps_the_pages_of_others(lake: Lake, tmp_path: Path) -> None:
    site = published(lake, tmp_path)
    before = unpacked(site, manifest(site)["contests"])["page"]
    ingest(lake, [rosters("4", ("red", "a", "d"), ("blue", "b", "e"), time_seconds=400_000)])
    rate_run(lake)
    publish_site(lake, "run", str(site))
    after = unpacked(site, manifest(site)["contests"])["page"]
    assert after[:2] == before[:2]
    last = (site / after[2]).read_text("utf-8")
    assert after[2] != before[2], "it leads to the next contest"
    assert 'rel="next" href="contest.html?id=4"' in last
