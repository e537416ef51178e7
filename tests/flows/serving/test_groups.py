"""Attributes of players by HTTP: filters, groups, pages, and a publish of attributes alone."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from helpers.lakes import lake_of, rate_run, synthetic
from helpers.tables import over_years
from pyarrow import csv

pytest.importorskip("starlette")
from helpers.answers import leaderboard
from helpers.api import TestClient

from ranklake.flows.answers.run import open_published
from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.flows.pages.views import leaderboard as leaderboard_page
from ranklake.flows.publication.publish import publish
from ranklake.flows.serving.app import create_app
from ranklake.flows.serving.state.served_runs import ServedRuns
from ranklake.storage import Lake

RUN = "/api/v1/runs/run"
COUNTRIES = {f"player {i}": ("PL", "a&b:c", "<script>")[i % 3] for i in range(0, 40, 2)}
TEAMS = {f"player {i}": f"=team {i % 4 // 2}" for i in range(9)}


def record(lake: Lake, folder: Path, countries: dict[str, str]) -> None:
    lines = ["handle,country,country:code", *(f"{one},{countries[one]},{TEAMS.get(one, '')}" for one in countries)]
    (folder / "people.csv").write_text("\n".join(lines), encoding="utf-8")
    record_attributes(lake, "games", str(folder / "people.csv"))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("groups")
    lake = lake_of(folder / "lake", [replace(one, name="") for one in over_years(synthetic(16))])
    rate_run(lake, system="elo")
    record(lake, folder, COUNTRIES)
    publish(lake, "run")
    return lake


@pytest.fixture(scope="module")
def served(lake: Lake) -> ServedRuns:
    served = ServedRuns(lake)
    return served


@pytest.fixture(scope="module")
def client(served: ServedRuns) -> Iterator[TestClient]:
    with TestClient(create_app(served, 0), follow_redirects=False) as client:
        yield client


@pytest.fixture(scope="module")
def board(lake: Lake) -> list[dict[str, Any]]:
    return leaderboard(lake, "run").to_pylist()


def get(client: TestClient, path: str, **query: Any) -> Any:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


# The API


@pytest.mark.parametrize(
    ("group", "of"),
    [("country:PL", (COUNTRIES, "PL")), ("country:a&b:c", (COUNTRIES, "a&b:c")), ("country:xx", (COUNTRIES, "xx")),
     ("country:code:=team 1", (TEAMS, "=team 1"))],
)  # fmt: skip
def test_leaderboard__has_the_players_of_a_group(
    client: TestClient, board: list[dict[str, Any]], group: str, of: tuple[dict[str, str], str]
) -> None:
    expected = [row for row in board if row["handle"] in COUNTRIES and of[0].get(row["handle"]) == of[1]]
    found = get(client, f"{RUN}/leaderboard", group=group, limit=1000)
    assert (found["rows"], found["total"]) == (expected, len(expected))
    half = sorted(row["last_time_seconds"] for row in board)[len(board) // 2]
    active = get(client, f"{RUN}/leaderboard", group=group, active_since=half, limit=1000)["rows"]
    assert active == [row for row in expected if row["last_time_seconds"] >= half]


@pytest.mark.parametrize(("path", "name"), [("leaderboard", "group"), ("groups", "attribute")])
def test_problem__names_the_attributes(client: TestClient, path: str, name: str) -> None:
    answer = client.get(f"{RUN}/{path}", params={name: "town:x"})
    assert answer.status_code == 400
    assert answer.json()["parameter"] == name
    assert "(country, country:code)" in answer.json()["rule"]


def test_groups__are_those_of_the_publish(client: TestClient, lake: Lake) -> None:
    groups = open_published(lake, "run").groups_table.to_pylist()
    assert get(client, f"{RUN}/groups")["rows"] == groups
    countries = [row for row in groups if row["attribute"] == "country"]
    assert get(client, f"{RUN}/groups", attribute="country")["rows"] == countries
    page = get(client, f"{RUN}/groups", attribute="country", start=1, limit=1)
    assert (page["rows"], page["total"], page["next"]) == (countries[1:2], 3, 2)
    text = client.get(f"{RUN}/groups", params={"format": "csv"}).content
    table = csv.read_csv(io.BytesIO(text))
    assert "'=team 1" in table.column("value").to_pylist()  # no formula


def test_player__has_attributes_percentile_and_last_contest(client: TestClient, board: list[dict[str, Any]]) -> None:
    for row in board[:5]:
        found, handle = get(client, f"{RUN}/players/{row['handle']}"), row["handle"]
        of = {"country": COUNTRIES.get(handle), "country:code": TEAMS.get(handle) if handle in COUNTRIES else None}
        assert found["attributes"] == {name: value for name, value in of.items() if value}
        assert found["percentile"] == row["percentile"]
        assert found["last_contest"]["time_seconds"] == row["last_time_seconds"]
    assert get(client, RUN)["attributes"] == ["country", "country:code"]


def test_data__are_the_tables_of_attributes(client: TestClient, lake: Lake) -> None:
    folder = Path(lake.uri("published/run/groups"))
    (file,) = folder.glob("*.parquet")
    answer = client.get(f"/data/run/groups/{file.name}")
    assert (answer.status_code, answer.content) == (200, file.read_bytes())


# Pages


def rows(text: str) -> list[tuple[str, str]]:
    found = re.findall(
        r"<td><a href=\"[^\"]*\">([^<]*)</a>(?: <small[^>]*>(?:<span.*?</span> )?([^<]*)</small>)?<td", text
    )
    return [(unescape(handle), unescape(country)) for handle, country in found]


def test_page__shows_countries_and_filters(client: TestClient, board: list[dict[str, Any]]) -> None:
    everybody = [(row["handle"], COUNTRIES.get(row["handle"], "")) for row in board]
    assert rows(client.get("/run?active=all").text) == everybody
    text = client.get("/run", params={"group": "country:<script>", "active": "all"}).text
    assert rows(text) == [one for one in everybody if one[1] == "<script>"]
    assert "<h1>Leaderboard: country &lt;script&gt;</h1>" in text
    last = max(row["last_time_seconds"] for row in board)
    shown = rows(client.get("/run", params={"active": "90d", "group": ""}).text)
    assert shown == [
        one for one, row in zip(everybody, board, strict=True) if row["last_time_seconds"] >= last - 90 * 86_400
    ]
    assert 0 < len(shown) < len(board)
    assert client.get("/run", params={"active": "2y"}).status_code == 400
    assert client.get("/run", params={"group": "town:x"}, headers={"accept": "text/html"}).status_code == 400


def test_page__of_a_player_leads_to_the_groups(client: TestClient) -> None:
    text = client.get("/run/p/player 4").text
    found = re.findall(r'<span>([^<]*) <a href="([^"]*)">([^<]*)</a></span>', text)
    assert [(name, unescape(value)) for name, _, value in found] == [("country", "a&b:c"), ("country:code", "=team 0")]
    for _, address, value in found:
        assert f"{unescape(value)}</h1>" in unescape(client.get(unescape(address)).text)
    assert 'data-field="member"></p>' in client.get("/run/p/player 1").text


def test_page__of_a_player_has_ids_of_contests_without_names(client: TestClient) -> None:
    text = client.get("/run/p/player 4").text
    for address, name in re.findall(r'<td><a href="/run/c/([^"]*)">([^<]*)</a>', text):
        assert name == address


def test_page__of_a_group_that_does_not_exist_has_no_table(client: TestClient) -> None:
    text = client.get("/run?group=country:none").text
    assert "There is no such player." in text
    assert "<table" not in text


def test_page__of_a_group_has_next_pages(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaderboard_page, "BOARD_ROWS", 3)
    text, found = client.get("/run?group=country:a%26b:c&active=all").text, []
    while True:
        found += rows(text)
        link = re.search(r'rel="next" href="([^"]*)"', text)
        if link is None:
            break
        text = client.get(unescape(link[1])).text
    assert len(found) == len(set(found)) > 3
    assert {country for _, country in found} == {"a&b:c"}


def test_page__lists_groups_that_lead_to_their_players(client: TestClient, lake: Lake) -> None:
    text = client.get("/run/groups").text
    groups = open_published(lake, "run").groups_table.to_pylist()
    links = re.findall(r'<td><a href="(/run\?group=[^"]*)">([^<]*)</a>', text)
    assert [unescape(value) for _, value in links] == [row["value"] for row in groups]
    for (address, _), row in zip(links, groups, strict=True):
        assert len(rows(client.get(f"{unescape(address)}&active=all").text)) == row["n_players"]


def test_server__takes_up_attributes_alone(lake: Lake, served: ServedRuns, client: TestClient, tmp_path: Path) -> None:
    before = client.get(f"{RUN}/players/player 0").headers["etag"]
    record(lake, tmp_path, COUNTRIES | {"player 0": "DE"})
    publish(lake, "run")
    assert served.refresh()
    answer = client.get(f"{RUN}/players/player 0", headers={"if-none-match": before})
    assert (answer.status_code, answer.json()["attributes"]["country"]) == (200, "DE")
