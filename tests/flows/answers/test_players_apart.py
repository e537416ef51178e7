"""Commands about players who never met: the list of components and of bridges, one component, and --strict."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import Command
from helpers.games import Game, as_periods, ingest_periods
from helpers.lakes import contest, ingest, lake_of, rate_run

from ranklake import Ratings
from ranklake.flows.publication.publish import publish
from ranklake.storage import Lake

DAY = 86_400
LADDERS = [
    contest("1", "ann", "bob", "cid", time_seconds=DAY),
    contest("2", "dot", "eva", "gus", time_seconds=2 * DAY),
    contest("3", "ann", "cid", "hal", time_seconds=3 * DAY),
]
SAID = "2 groups of players never met (4 and 3 players, such as 'ann' and 'dot'): their ratings cannot be compared"
APART = "'ann' and 'dot' never met, not even through others: their ratings cannot be compared"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake with a run of two ladders that never met."""
    lake = lake_of(tmp_path / "lake", LADDERS)
    rate_run(lake)
    return lake


@pytest.mark.slow
def test_strict__is_exit_code_2_after_the_work_and_the_warning(lake: Lake, invoke: Command) -> None:
    words = ("--run", "run", "--lake", lake.url)
    commands = [
        ("rate", *words),
        ("leaderboard", *words),
        ("evaluate", *words),
        ("smooth", *words),
        ("publish", *words),
    ]
    for command in commands:
        answer = invoke(*command)
        assert (answer.code, answer.err.count(SAID)) == (0, 1), command
        strict = invoke(*command, "--strict")
        assert (strict.code, bool(strict.out), strict.err.count(SAID)) == (2, bool(answer.out), 1), command
    listed = invoke("runs", "--strict", "--lake", lake.url)
    assert (listed.code, listed.out.count(SAID)) == (2, 1)
    ingest(lake, [contest("9", "gus", "hal", time_seconds=9 * DAY)])
    assert SAID not in invoke("rate", "--strict", *words).err
    for command in commands:
        answer = invoke(*command, "--strict")
        assert (answer.code, SAID in answer.err) == (0, False)


def test_tune__says_that_players_of_the_data_set_never_met(tmp_path: Path, invoke: Command) -> None:
    left, right = [f"l{i}" for i in range(6)], [f"r{i}" for i in range(6)]
    rng = np.random.default_rng(2)
    contests = [contest(str(i), *rng.permutation((left, right)[i % 2]), time_seconds=i * DAY) for i in range(40)]
    lake = lake_of(tmp_path / "lake", contests)
    words = ("tune", "--dataset", "games", "--system", "elo", "--space", "k=20,40", "--train-share", "0.5",
             "--filter", "everyone", "--workers", "1", "--lake", lake.url)  # fmt: skip
    assert "2 groups of players never met (6 and 6 players" in invoke(*words).err
    assert invoke(*words, "--strict").code == 2


def test_predict__refuses_players_who_never_met_if_strict(lake: Lake, invoke: Command) -> None:
    words = ("--run", "run", "--lake", lake.url)
    assert invoke("predict", "ann", "dot", *words).err == f"{APART}\n"
    assert APART in invoke.refuses("predict", "ann", "dot", "--strict", *words, code=2)
    assert invoke("predict", "ann", "hal", "--strict", "--newcomers", "1", *words).err == ""


@pytest.mark.quick("True")
@pytest.mark.parametrize("published", [False, True])
def test_pairs__are_connected_or_not(lake: Lake, invoke: Command, published: bool) -> None:
    if published:
        publish(lake, "run")
    words = ("--run", "run", "--format", "json", "--lake", lake.url)
    expected = {("ann", "bob"): True, ("ann", "dot"): False, ("bob", "dot"): False}
    rows = json.loads(invoke("predict", "ann", "bob", "dot", "--pairs", *words).out)
    found = {(row["handle"], row["against"]): row["connected"] for row in rows}
    assert {pair: found[pair] for pair in expected} == {pair: found[pair[::-1]] for pair in expected} == expected
    compared = json.loads(invoke("compare", "ann", "bob", "dot", *words).out)
    assert {(row["handle"], row["against"]): row["connected"] for row in compared["pairs"]} == expected
    ratings = Ratings.open(lake.url, "run")
    with pytest.warns(UserWarning, match="never met"):
        prediction = ratings.predict([["ann", "bob"], ["dot", "eva"], "hal", "new"])
    names = prediction.players
    assert [prediction.connected(names[0], other) for other in names] == [True, False, True, True]
    assert prediction.connected("new", names[1])


@pytest.mark.quick("True")
@pytest.mark.parametrize("published", [False, True])
def test_leaderboard__has_places_within_components(lake: Lake, invoke: Command, published: bool) -> None:
    if published:
        publish(lake, "run")
    words = ("leaderboard", "--run", "run", "--lake", lake.url)
    rows = json.loads(invoke(*words, "--format", "json").out)
    places = {0: ["ann"], 1: ["dot"]}
    assert {
        number: [row["handle"] for row in rows if (row["component"], row["place"]) == (number, 1)] for number in places
    } == places
    for number in places:
        within = [row for row in rows if row["component"] == number]
        assert sorted(row["place"] for row in within) == list(range(1, len(within) + 1))
        assert all(row["place_high"] <= row["place_low"] <= len(within) for row in within)
        alone = json.loads(invoke(*words, "--component", number, "--format", "json").out)
        assert [(row["handle"], row["place"]) for row in alone] == [(row["handle"], row["place"]) for row in within]
        assert [row["tier"] for row in alone] == [row["tier"] for row in within]
    table = list(csv.DictReader(io.StringIO(invoke(*words, "--format", "csv").out)))
    assert [row["component"] for row in table] == [str(row["component"]) for row in rows]
    assert "places within components" in invoke(*words, "--tiers").out
    assert "there is no component 2; they are 0 to 1" in invoke.refuses(*words, "--component", "2", code=2)
    assert "there is no component -1" in invoke.refuses(*words, "--component", "-1", code=2)
    early = json.loads(invoke(*words, "--at", "1970-01-02", "--format", "json").out)
    assert "component" not in early[0]
    assert "all players are of 0" in invoke.refuses(*words, "--at", "1970-01-02", "--component", "1", code=2)


def test_components__are_listed_with_those_that_one_contest_joins(lake: Lake, invoke: Command) -> None:
    ingest(lake, [contest("4", "lea", "moe", time_seconds=4 * DAY), contest("5", "gus", "ida", time_seconds=5 * DAY)])
    rate_run(lake)
    words = ("runs", "--run", "run", "--components", "--lake", lake.url)
    found = json.loads(invoke(*words, "--format", "json").out)
    sizes = [("ann", 4, True), ("dot", 4, True), ("lea", 2, False)]
    assert [(row["component"], row["player"], row["players"], row["large"]) for row in found["components"]] == [
        (number, *one) for number, one in enumerate(sizes)
    ]
    table = invoke(*words).out
    assert (table.count("large"), table.count("small"), table.count("lea")) == (2, 1, 1)
    assert "no contest alone joins" in invoke("runs", "--bridges", "--lake", lake.url).out
    ingest(lake, [contest("6", "hal", "dot", time_seconds=6 * DAY)])
    rate_run(lake)
    found = json.loads(invoke("runs", "--bridges", "--format", "json", "--lake", lake.url).out)
    assert [(row["contest_id"], row["players"]) for row in found["bridges"]] == [("6", 4), ("3", 3), ("2", 2)]
    first = found["bridges"][0]
    assert (first["run"], first["name"], first["time_seconds"]) == ("run", "Contest 6", 6 * DAY)
    assert {first["player"], first["other"]} == {"hal", "dot"}
    assert "Contest 6" in invoke("runs", "--bridges", "--lake", lake.url).out


def test_bridges__of_games_are_single_games(tmp_path: Path, invoke: Command) -> None:
    pairs = ["ab", "bc", "ca", "de", "ef", "fd", "cd"]
    lake = Lake.open(str(tmp_path / "lake"), create=True)
    ingest_periods(lake, as_periods([Game(*pair, 1.0, day) for day, pair in enumerate(pairs)]), "games")
    rate_run(lake, system="elo")
    (found,) = json.loads(invoke("runs", "--bridges", "--format", "json", "--lake", lake.url).out)["bridges"]
    assert (found["players"], {found["player"], found["other"]}) == (3, {"c", "d"})


@pytest.mark.slow
def test_server__has_the_component_of_each_player_if_two_are_large(lake: Lake) -> None:
    pytest.importorskip("starlette")
    from helpers.api import client_of

    publish(lake, "run")
    with client_of(lake) as client:
        facts = client.get("/api/v1/runs/run").json()
        assert (facts["components"], facts["note"]) == ([4, 3], SAID)
        rows = client.get("/api/v1/runs/run/leaderboard").json()["rows"]
        assert {row["handle"] for row in rows if row["component"] == 1} == {"dot", "eva", "gus"}
        assert client.get("/api/v1/runs/run/players/eva").json()["component"] == 1
        pairs = client.get("/api/v1/runs/run/compare", params={"handles": "ann,bob,dot"}).json()["pairs"]
        assert [pair["connected"] for pair in pairs] == [True, False, False]
    ingest(lake, [contest("9", "gus", "hal", time_seconds=9 * DAY)])
    rate_run(lake)
    publish(lake, "run")
    with client_of(lake) as client:
        facts = client.get("/api/v1/runs/run").json()
        assert (facts["components"], facts["note"]) == ([7], "")
        assert "component" not in client.get("/api/v1/runs/run/leaderboard").json()["rows"][0]
