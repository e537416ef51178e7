"""Teams in the answers and pages of the server; their names are escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
from helpers.api import TestClient, client_of
from helpers.lakes import contest, lake_of, rate_run
from helpers.names import STRANGE
from helpers.teams import rosters

from ranklake.flows.pages.links import short
from ranklake.flows.preview.run_preview import RunPreview
from ranklake.flows.preview.standings import standings_from_file
from ranklake.flows.publication.publish import publish
from ranklake.flows.serving import previews

API = "/api/v1/runs/run"
MEMBERS = {name: f"member {at}" for at, name in enumerate(STRANGE)}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Contest 2 is one of teams with strange names."""
    teams = [(name, member, f"{member} b") for name, member in MEMBERS.items()]
    contests = [contest("1", "ada", "member 0", "member 1"), rosters("2", *teams, (None, "ada"), time_seconds=100_000)]
    lake = lake_of(tmp_path_factory.mktemp("teams") / "lake", contests)
    rate_run(lake)
    publish(lake, "run")
    with client_of(lake) as client:
        yield client


def test_contest__has_the_team_of_each_member(client: TestClient) -> None:
    answer = client.get(f"{API}/contests/2").json()
    assert answer["n_players"] == len(STRANGE) + 1
    teams = [(row["place"], row["team"], row["handle"]) for row in answer["rows"]]
    expected = [(at + 1, name, f"member {at}{b}") for at, name in enumerate(STRANGE) for b in ("", " b")]
    assert teams == [*expected, (len(STRANGE) + 1, None, "ada")]
    assert {row["team"] for row in client.get(f"{API}/contests/1").json()["rows"]} == {None}


def test_history__has_the_team_of_each_round(client: TestClient) -> None:
    rows = client.get(f"{API}/players/member 1/history").json()["rows"]
    assert [row["team"] for row in rows] == [None, STRANGE[1]]
    text = client.get(f"{API}/players/member 0/history?format=csv").text
    assert "'=1+1" in text


STANDINGS = [["red", 1, ["ada", "member 0"], [1, 3]], ["grace", 2], [STRANGE[1], 2, ["member 1", "new"]]]
TABLE = "player,rank,team\nada,1,red\nmember 0,1,red\ngrace,2,\nmember 1,2,<script>\nnew,2,<script>\n"


def preview(client: TestClient, standings: list[Any]) -> Any:
    return client.post(f"{API}/preview", json={"standings": standings})


def test_preview__takes_rosters(client: TestClient, tmp_path: Path) -> None:
    rows = preview(client, STANDINGS).json()["rows"]
    assert [(row["place"], row["team"], row["handle"]) for row in rows] == [
        (1, "red", "ada"), (1, "red", "member 0"), (2, None, "grace"), (2, STRANGE[1], "member 1"),
        (2, STRANGE[1], "new"),
    ]  # fmt: skip
    file = tmp_path / "x.json"
    reference = [["red", 0, 0, ["ada", "member 0"], [1, 3]], ["grace", 1, 2], [STRANGE[1], 1, 2, ["member 1", "new"]]]
    file.write_text(json.dumps({"name": "x", "time_seconds": 0, "standings": reference}))
    lake = client.app.state.previews._lake
    expected = RunPreview.open(lake, "run").preview(standings_from_file(file)).table().to_pylist()
    assert [row["mu"] for row in rows] == [row["mu"] for row in expected]
    assert "team" not in preview(client, [["ada", 1], ["grace", 2]]).json()["rows"][0]


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        (["red", 1, []], "has no members"),
        (["red", 1, ["ada"], [1, 2]], "all members have a share or none"),
        (["red", 1, ["ada"], [-1]], "a share must be"),
        (["", 1, ["ada"]], "a team needs a name"),
        (["ada", 1, None, [1]], "has shares and no members"),
        (["red", 1, ["ada", "ada"]], "listed twice"),
        (["red", 1, ["ada"], [1], 5], "the body must be"),
        (["red", 1, "ada"], "the body must be"),
    ],
)
def test_preview__refuses_rosters_with_a_fault(client: TestClient, row: list[Any], rule: str) -> None:
    answer = preview(client, [row, ["grace", 2]])
    assert answer.status_code == 400
    assert rule in answer.json()["detail"]


def test_preview__counts_members(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previews, "MOST_PREVIEWED", 4)
    assert preview(client, STANDINGS[::-1]).status_code == 413


@pytest.mark.parametrize("form", [{"standings": TABLE, "teams": "on"}, {"standings": json.dumps(
    {"name": "", "time_seconds": 0, "standings": [["red", 0, 0, ["ada", "member 0"]], ["grace", 1, 2],
                                                  ["<script>", 1, 2, ["member 1", "new"]]]})}])  # fmt: skip
def test_preview_page__has_a_row_a_team_with_its_members(client: TestClient, form: dict[str, str]) -> None:
    text = client.post("/run/preview", data=form, headers={"accept": "text/html"}).text
    places = re.findall(r"<tr[^>]*><td>([^<]*)<td(?: colspan=9)?>(?:<a[^>]*>)?([^<\n]*)", text)
    assert places == [("1", "red"), ("", "ada"), ("", "member 0"), ("2", "grace"), ("2", "&lt;script&gt;"),
                      ("", "member 1"), ("", "new")]  # fmt: skip
    assert ('name="teams" checked' in text) == ("teams" in form)
    assert "<script>" not in text


def test_contest_page__has_a_row_a_team_with_its_members(client: TestClient) -> None:
    text = client.get("/run/c/2").text
    assert f"{len(STRANGE) + 1} participants, {2 * len(STRANGE) + 1} players" in text
    shown = re.findall(r"<tr class=team><td>(\d+)<td colspan=6>([^<]*)\n<tr[^>]*><td><td><a [^>]*>([^<]*)</a>", text)
    assert [(place, unescape(name), member) for place, name, member in shown] == [
        (str(at + 1), short(name), MEMBERS[name]) for at, name in enumerate(STRANGE)
    ]
    assert text.count("<tbody>") == len(STRANGE) + 1
    assert "<script>" not in text
    assert "Players and teams named" in text
    assert "team" not in client.get("/run/c/1").text.partition("<thead>")[2]


def test_player_page__has_the_team_of_each_round(client: TestClient) -> None:
    for name, member in MEMBERS.items():
        text = client.get(f"/run/p/{member}").text
        assert [unescape(team) for team in re.findall(r'<small class="with">([^<]*)</small>', text)] == [short(name)]
        assert "<script>" not in text
    assert 'class="with"' not in client.get("/run/p/ada").text
