"""The OpenAPI document: names that generated clients have, and schemas that the answers fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("starlette")
pytest.importorskip("jsonschema")
from helpers.api import TestClient, client_of
from helpers.games import as_periods, ingest_periods, league
from helpers.lakes import rate_run
from jsonschema import Draft202012Validator

from ranklake.flows.events.start import season_event
from ranklake.flows.publication.publish import publish
from ranklake.flows.serving.openapi import openapi
from ranklake.storage import Dataset, Lake

API = "/api/v1/runs"
QUERIES = {  # of operations that need one, or that have more members with one
    "compare_players": [{"handles": "{0},{1}"}, {"handles": "{0},{1}", "neutral": "false"}],
    "get_players": [{"handles": "{0},nobody at all"}], "get_team_rating": [{"handles": "{0},{1}"}],
    "search_players": [{"q": "1"}], "get_distribution": [{}, {"handle": "{0}"}],
    "list_player_problems": [{"width": "1"}], "get_leaderboard": [{}, {"season": "current"}],
    "get_player_progress": [{"since": "1990-01-01", "until": "1991-01-01"}],
}  # fmt: skip
NOT_EVERYWHERE = {"get_player_progress", "list_problems", "get_problem", "list_player_problems", "get_leaderboard"}
"""Operations about runs that are smoothed, or have results of problems or seasons."""


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A run over games."""
    lake = Lake.open(str(tmp_path_factory.mktemp("openapi") / "lake"), create=True)
    ingest_periods(lake, as_periods(league(60)))
    with Dataset.ingest(lake, "league") as body:
        body.start_season(season_event("first", 1, keep=1.0))
    rate_run(lake, dataset="league")
    publish(lake, "run")
    with client_of(lake) as client:
        yield client


def strict(schema: Any) -> Any:
    """A schema whose objects have no other members than the described ones."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if isinstance(schema.get("properties"), dict) else {}
    return {name: strict(one) for name, one in schema.items()} | closed


def answers(client: TestClient) -> Iterator[tuple[str, dict[str, Any]]]:
    """The schema and the answer of every operation that answers in JSON."""
    handles = [row["handle"] for row in client.get(f"{API}/run/leaderboard?limit=2").json()["rows"]]
    contest = client.get(f"{API}/run/contests").json()["rows"][0]["contest_id"]
    values = {"run": "run", "handle": quote(handles[0], ""), "contest_id": quote(contest, ""), "problem": "3-A"}
    bodies = {"post_players": {"handles": handles}, "preview_contest": {"standings": [[handles[0], 1], ["new", 2]]}}
    for path, operations in openapi()["paths"].items():
        for method, operation in operations.items():
            name = operation["operationId"]
            media = operation["responses"]["200"]["content"]
            schema = media.get("application/json", {}).get("schema", {})
            if "$ref" not in schema:
                continue
            for query in QUERIES.get(name, [{}]):
                query = {key: text.format(*handles) for key, text in query.items()}
                answer = client.request(method, path.format_map(values), params=query, json=bodies.get(name))
                if name in NOT_EVERYWHERE and answer.status_code in (400, 404):
                    continue
                assert answer.status_code == 200, answer.text
                yield schema["$ref"], answer.json()


def check(client: TestClient) -> set[str]:
    """Hold every answer to its schema; returns the schemas."""
    schemas = strict(openapi()["components"]["schemas"])
    seen = set()
    for reference, answer in answers(client):
        validator = Draft202012Validator({"components": {"schemas": schemas}, "$ref": reference})
        faults = [f"{list(error.absolute_path)}: {error.message[:300]}" for error in validator.iter_errors(answer)]
        assert faults == [], reference
        seen.add(reference.rpartition("/")[2])
    return seen


def test_openapi__operations_have_names_tags_and_answers() -> None:
    document = openapi()
    operations = list(chain.from_iterable(found.values() for found in document["paths"].values()))
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)
    tags = {tag["name"] for tag in document["tags"]}
    assert {tag for operation in operations for tag in operation["tags"]} == tags
    assert {"get_leaderboard", "get_player", "search_players", "preview_contest"} <= set(names)


def test_openapi__answers_have_the_described_members_and_no_others(client: TestClient) -> None:
    seen = check(client)
    assert {"Run", "Leaderboard", "Player", "Progress", "Comparison", "Standings", "Preview", "Health"} <= seen
    assert {"Problems", "OneProblem", "PlayerProblems"} <= seen


@pytest.mark.slow
def test_openapi__answers_about_games_are_described(games: TestClient) -> None:
    assert {"History", "Comparison", "Standings"} <= check(games)


@pytest.mark.slow
def test_openapi__answers_about_groups_and_teams_are_described(tmp_path: Path) -> None:
    from helpers.lakes import contest, lake_of
    from helpers.teams import rosters

    from ranklake.flows.ingestion.attributes import record_attributes

    teams = rosters("2", ("red", "ada", "bob"), ("blue", "cyd", "dan"), time_seconds=100_000)
    lake = lake_of(tmp_path / "lake", [contest("1", "ada", "bob", "cyd"), teams])
    (tmp_path / "people.csv").write_text("handle,country\nada,PL\nbob,PL\n", encoding="utf-8")
    rate_run(lake)
    record_attributes(lake, "games", str(tmp_path / "people.csv"))
    publish(lake, "run")
    with client_of(lake) as client:
        assert client.get(f"{API}/run/groups").json()["total"] == 1
        assert "Groups" in check(client)
