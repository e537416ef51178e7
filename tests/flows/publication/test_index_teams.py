"""Teams in the index of a published run: parts that have them, parts of an earlier release, and the answers."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from helpers.answers import player_history
from helpers.commands import Command
from helpers.lakes import contest, ingest, lake_of, often, rate_run, same_tables
from helpers.teams import rosters

from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.answers.run import open_published
from ranklake.flows.publication.index_parts import encode_rounds
from ranklake.flows.publication.publish import publish
from ranklake.flows.publication.root import index_path, read_manifest
from ranklake.storage import Dataset, Lake, Run
from ranklake.storage.lake.limits import Limits

OFTEN = often(segment_rows=6)

TEAMS = {"2": {"a": "red", "b": "red", "d": "blue", "e": "blue", "f": "blue"}}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A published run in which contest 2 of 4 is one of teams; each contest is a part of the index."""
    alone = [contest(key, *"fedcba", time_seconds=int(key) * 100_000) for key in "134"]
    team = rosters("2", ("red", "a", "b"), (None, "c"), ("blue", "d", "e", "f"), time_seconds=200_000)
    lake = lake_of(tmp_path / "lake", [alone[0], team, *alone[1:]], limits=Limits(index_rows=6))
    rate_run(lake, policy=OFTEN)
    publish(lake, "run")
    return lake


def indexed(lake: Lake) -> dict[str, dict[str, str]]:
    """The teams of each contest in the index, if it has any."""
    run, teams = open_published(lake, "run"), {}
    for contest_id in "1234":
        rows = run.contest(contest_id)[1].rows.to_pylist()
        teams[contest_id] = {row["handle"]: row["team"] for row in rows if row["team"] is not None}
    return {key: found for key, found in teams.items() if found}


def without_teams(lake: Lake) -> None:
    """Make the index that of an earlier release: no part has teams, and the manifest says nothing about them."""
    manifest = read_manifest(lake, "run")
    assert manifest is not None
    fields = msgspec.to_builtins(manifest)
    run = open_published(lake, "run")
    for file, part in zip(fields["parts"], run.parts, strict=True):
        if file.pop("teams"):
            rows = [part.round(index).drop_columns(["team", "points"]) for index in range(file["start"], file["stop"])]
            data = encode_rounds(batch for table in rows for batch in table.to_batches())
            file |= {"name": "rounds-old.arrow", "size": data.size}
            lake.write_bytes(index_path("run", file["name"]), data)
    fields["content"] = "0" * 32
    lake.write_bytes(index_path("run"), json.dumps(fields).encode())


def test_index__has_the_team_of_each_member(lake: Lake) -> None:
    assert indexed(lake) == TEAMS
    manifest = read_manifest(lake, "run")
    assert manifest is not None
    assert [part.teams for part in manifest.parts] == [False, True, False, False]


def test_history__from_the_index_is_that_of_the_rounds(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {handle: player_history(lake, "run", handle).rows for handle in "abcdef"}
    assert rows["a"].column("team").to_pylist() == [None, "red", None, None]
    assert rows["c"].column("team").to_pylist() == [None] * 4
    monkeypatch.delattr("ranklake.flows.answers.lake_rows.LakeRows")
    for handle, expected in rows.items():
        assert same_tables(RatedRun(lake, "run").player(handle).rows, expected)
    published = open_published(lake, "run").history("e").column("team").to_pylist()
    assert published == [None, "blue", None, None]


@pytest.mark.slow
def test_index__of_an_earlier_release_is_read_and_gets_teams_by_a_publish(lake: Lake) -> None:
    parts = open_published(lake, "run").manifest.parts
    without_teams(lake)
    assert indexed(lake) == {}
    assert RatedRun(lake, "run").player("a").rows.column("team").to_pylist() == [None, "red", None, None]
    publish(lake, "run")
    assert indexed(lake) == TEAMS
    new = read_manifest(lake, "run")
    assert new is not None
    assert (new.parts, new.version) == (parts, 2)


@pytest.mark.slow
def test_index__with_more_rounds_keeps_the_parts_with_teams_and_a_correction_changes_them(lake: Lake) -> None:
    before = read_manifest(lake, "run")
    ingest(lake, [rosters("5", ("red", "a", "d"), ("blue", "b", "e", "f", "c"), time_seconds=500_000)])
    rate_run(lake, policy=OFTEN)
    publish(lake, "run")
    after = read_manifest(lake, "run")
    assert before is not None
    assert after is not None
    assert after.parts[:3] == before.parts[:3]
    assert open_published(lake, "run").history("a").column("team").to_pylist() == [None, "red", None, None, "red"]
    assert len(Run.open(lake, "run").read_rounds()) == 30
    with Dataset.ingest(lake, "games") as correcting:
        correcting.disqualify("2", "e")
    rate_run(lake, policy=OFTEN)
    publish(lake, "run")
    assert indexed(lake) == {"2": {name: team for name, team in TEAMS["2"].items() if name != "e"}}


def test_comparison__of_partners_leaves_their_common_rounds_out(lake: Lake) -> None:
    found = open_published(lake, "run").compare(["a", "b", "d"])
    scores = {(one["handle"], one["against"]): (one["wins"], one["losses"], one["draws"]) for one in found["pairs"]}
    assert scores == {("a", "b"): (0, 3, 0), ("a", "d"): (1, 3, 0), ("b", "d"): (1, 3, 0)}
    assert [one.get("teams") for one in found["contests"]] == [None, {"a": "red", "b": "red", "d": "blue"}, None, None]


def test_command__shows_the_team_of_each_round(lake: Lake, invoke: Command) -> None:
    there = ("--run", "run", "--lake", lake.url)
    shown = json.loads(invoke("player", "a", *there, "--format", "json").out)
    assert [row["team"] for row in shown] == [None, "red", None, None]
    assert "red" in invoke("player", "a", *there).out
    assert " team " in invoke("player", "a", *there).out
    assert " team " not in invoke("player", "c", *there).out
