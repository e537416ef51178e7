"""Attributes of players and ratings of groups: published beside the other tables, and again if they change."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import leaderboard
from helpers.databases import Judge
from helpers.lakes import ingest, rate_run
from helpers.tables import delta, folder, read

from ranklake.flows.answers.run import open_published
from ranklake.flows.databases.connection import connect
from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.flows.publication.database import publish_to_database
from ranklake.flows.publication.database_tables import DatabaseTables
from ranklake.flows.publication.publish import publish
from ranklake.flows.publication.root import read_manifest
from ranklake.flows.publication.verification import verify_published
from ranklake.storage import Contest, Dataset, Lake
from ranklake.storage.lake.schemas import OF_ATTRIBUTES, PUBLISHED

COUNTRIES = {f"player {i}": ("PL", "FR", "ÖSTERREICH")[i % 3] for i in range(0, 40, 2)}
TEAMS = {f"player {i}": f"{i % 2}: a" for i in range(5)}
CHANGED = ("attributes", "groups")


@pytest.fixture
def lake(ten_rounds: Lake) -> Lake:
    return ten_rounds


def record(lake: Lake, folder: Path, **attributes: dict[str, str]) -> None:
    """Record attributes, each given by handle."""
    handles = sorted({handle for of in attributes.values() for handle in of})
    lines = [",".join(["handle", *attributes])]
    lines += [",".join([handle, *(of.get(handle, "") for of in attributes.values())]) for handle in handles]
    (folder / "people.csv").write_text("\n".join(lines), encoding="utf-8")
    record_attributes(lake, "games", str(folder / "people.csv"))


def etag(lake: Lake) -> str:
    manifest = read_manifest(lake, "run")
    assert manifest is not None
    return manifest.etag


def assert_groups(groups: list[dict[str, Any]], lake: Lake, attribute: str, values: dict[str, str]) -> None:
    """The groups of an attribute are those of a loop over the leaderboard, and their ratings solve the equation."""
    board = leaderboard(lake, "run").to_pylist()
    rows = [row for row in groups if row["attribute"] == attribute]
    members: dict[str, list[dict[str, Any]]] = {}
    for row in board:
        if row["handle"] in values:
            members.setdefault(values[row["handle"]], []).append(row)
    assert {row["value"] for row in rows} == members.keys()
    assert [row["rating"] for row in rows] == sorted((row["rating"] for row in rows), reverse=True)
    for row in rows:
        of = members[row["value"]]
        chances = [1 / (1 + 10 ** ((row["rating"] - one["rating"]) / 400)) for one in of]
        assert sum(chances) == pytest.approx(0.5, abs=1e-9)
        assert (row["n_players"], row["best"], row["best_rating"]) == (len(of), of[0]["handle"], of[0]["rating"])
        assert row["place"] == 1 + sum(other["rating"] > row["rating"] for other in rows)


# Tables of the lake


def test_publish__without_attributes_has_no_tables_of_them(lake: Lake) -> None:
    assert publish(lake, "run", maintain=True).tables == (*PUBLISHED, "latest.parquet")
    assert not any(folder(lake, name).exists() for name in OF_ATTRIBUTES)
    published = open_published(lake, "run")
    assert published.attributes == ()
    assert published.groups().total == 0
    assert published.player("player 1")["attributes"] == {}


@pytest.mark.slow
def test_publish__has_attributes_by_current_handle_and_groups(lake: Lake, tmp_path: Path) -> None:
    record(lake, tmp_path, country=COUNTRIES | {"nobody": "PL", "old one": "FR"}, team=TEAMS)
    with Dataset.ingest(lake, "games") as changing:
        changing.alias("old one", "player 1", None, "renamed")
        changing.alias("nobody", "player 2", None, "has a country of its own")
    publish(lake, "run")
    expected = COUNTRIES | {"player 1": "FR"}
    rows = read(lake, "attributes").to_pylist()
    players = Dataset.open(lake, "games").handles().to_pylist()
    assert all(players[row["player"]] == row["handle"] for row in rows)
    for name, values in (("country", expected), ("team", TEAMS)):
        found = {row["handle"]: row["value"] for row in rows if row["attribute"] == name}
        assert found == {handle: value for handle, value in values.items() if handle in players}
        assert_groups(read(lake, "groups").to_pylist(), lake, name, values)


@pytest.mark.slow
def test_publish__of_attributes_alone_is_a_new_version(lake: Lake, tmp_path: Path) -> None:
    publish(lake, "run")
    before, versions = etag(lake), {name: delta(lake, name).version() for name in PUBLISHED}
    record(lake, tmp_path, country=COUNTRIES)
    assert publish(lake, "run").tables == CHANGED
    assert etag(lake) != before
    assert {name: delta(lake, name).version() for name in PUBLISHED} == versions
    before = etag(lake)
    assert publish(lake, "run").tables == ()
    assert etag(lake) == before
    record(lake, tmp_path, country=COUNTRIES | {"player 0": "DE"})
    assert publish(lake, "run").tables == CHANGED
    assert open_published(lake, "run").player("player 0")["attributes"] == {"country": "DE"}
    record(lake, tmp_path, team={"nobody": "x"})
    assert publish(lake, "run").tables == CHANGED
    assert [read(lake, name).num_rows for name in CHANGED] == [0, 0]
    assert open_published(lake, "run").attributes == ()


@pytest.mark.slow
def test_publish__of_new_rounds_rates_the_groups_again_and_other_titles_leave_them(
    lake: Lake, tmp_path: Path, sixteen: list[Contest]
) -> None:
    from ranklake.flows.results.titles import CODEFORCES

    record(lake, tmp_path, country=COUNTRIES)
    publish(lake, "run")
    assert publish(lake, "run", titles=CODEFORCES).tables == ("leaderboard", "latest.parquet")
    publish(lake, "run")
    ingest(lake, sixteen)
    rate_run(lake, system="elo")
    assert {"leaderboard", "groups"} <= set(publish(lake, "run").tables) - {"attributes"}
    assert_groups(open_published(lake, "run").groups(0, 1000).rows.to_pylist(), lake, "country", COUNTRIES)


@pytest.mark.slow
def test_verify__finds_an_earlier_state_and_damage(lake: Lake, tmp_path: Path) -> None:
    publish(lake, "run")
    record(lake, tmp_path, country=COUNTRIES)
    notes: list[str] = []
    assert list(verify_published(lake, "run", notes)) == []
    assert "has an earlier state of the run" in notes.pop()
    publish(lake, "run")
    assert list(verify_published(lake, "run", notes)) == []
    assert notes == []
    for path in folder(lake, "groups").glob("*.parquet"):
        path.unlink()
    assert any("published/run/groups" in line for line in verify_published(lake, "run", notes))
    publish(lake, "run", rebuild=True)
    assert list(verify_published(lake, "run", notes)) == []


# Queries


def test_queries__filter_and_group_the_leaderboard(lake: Lake, tmp_path: Path) -> None:
    record(lake, tmp_path, country=COUNTRIES, team=TEAMS)
    publish(lake, "run")
    run, board = open_published(lake, "run"), leaderboard(lake, "run").to_pylist()
    assert run.attributes == ("country", "team")
    assert run.facts["attributes"] == ["country", "team"]
    for group in (("country", "PL"), ("team", "1: a"), ("country", "nowhere")):
        of = COUNTRIES if group[0] == "country" else TEAMS
        page = run.leaderboard(0, 1000, group=group)
        assert page.rows.to_pylist() == [row for row in board if of.get(row["handle"]) == group[1]]
    half = sorted(row["last_time_seconds"] for row in board)[len(board) // 2]
    page = run.leaderboard(0, 1000, "mu", half, group=("country", "FR"))
    expected = [row for row in board if row["last_time_seconds"] >= half and COUNTRIES.get(row["handle"]) == "FR"]
    assert page.rows.to_pylist() == sorted(expected, key=lambda row: -row["mu"])
    early = sorted(time for time in run.contests_table.column("time_seconds").to_pylist() if time)[4]
    for row in run.leaderboard(0, 1000, at=early, group=("country", "PL")).rows.to_pylist():
        assert COUNTRIES[row["handle"]] == "PL"
    handles = run.leaderboard_table.column("handle").to_pylist()
    assert run.values("country", run.leaderboard_table.column("player")) == [COUNTRIES.get(one) for one in handles]
    groups = run.groups(0, 1000)
    assert groups.rows.to_pylist() == read(lake, "groups").to_pylist()
    assert_groups(run.groups(0, 1000, "country").rows.to_pylist(), lake, "country", COUNTRIES)
    assert (run.groups(1, 1, "team").total, run.groups(1, 1, "team").next) == (2, None)


# Tables of a database


def stored(judge: Judge, name: str) -> list[dict[str, Any]]:
    with closing(connect(judge.url, read_only=True)) as connection:
        return list(DatabaseTables(connection).rows(name).to_pylist())


def sort(rows: list[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: [row[key] for key in keys])


def test_database__has_attributes_and_groups(lake: Lake, database: Judge, tmp_path: Path) -> None:
    record(lake, tmp_path, country=COUNTRIES, team=TEAMS)
    assert publish_to_database(lake, "run", database.url).tables == (*PUBLISHED, *CHANGED)
    assert publish_to_database(lake, "run", database.url).tables == ()
    publish(lake, "run")
    for name, keys in (("attributes", ("attribute", "player")), ("groups", ("attribute", "value"))):
        assert sort(stored(database, name), *keys) == sort(read(lake, name).to_pylist(), *keys)
    record(lake, tmp_path, country=COUNTRIES | {"player 0": "DE"})
    assert publish_to_database(lake, "run", database.url).tables == CHANGED
    assert {row["value"] for row in stored(database, "groups")} == {*COUNTRIES.values(), "DE"}
    record(lake, tmp_path, team={"nobody": "x"})
    assert publish_to_database(lake, "run", database.url).tables == CHANGED
    assert stored(database, "attributes") == stored(database, "groups") == []
    publish_to_database(lake, "run", database.url, rebuild=True)
    assert stored(database, "groups") == []


def test_database__without_attributes_has_room_for_other_tables_of_their_names(lake: Lake, database: Judge) -> None:
    with closing(connect(database.url)) as connection:
        mark = "`" if connection.kind == "mariadb" else '"'
        connection.execute(f"create table {mark}groups{mark} (id integer)")
    publish_to_database(lake, "run", database.url)
    with closing(connect(database.url)) as connection, connection.read(f"select * from {mark}groups{mark}") as rows:
        assert rows[0].names == ["id"]
