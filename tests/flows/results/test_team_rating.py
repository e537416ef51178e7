"""The rating of a team, from a lake and from beliefs in memory."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from helpers.answers import leaderboard
from helpers.commands import Command
from helpers.lakes import lake_of, rate_run, synthetic

from ranklake import predict, rate_history, team_rating
from ranklake.flows.results.groups import group_level
from ranklake.storage import Dataset, Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = lake_of(tmp_path / "lake", synthetic(20))
    with Dataset.ingest(lake, "games") as correcting:
        correcting.alias("old", "player 3")
    rate_run(lake)
    return lake


def test_command__is_the_level_of_the_members_under_any_name(invoke: Command, lake: Lake) -> None:
    board = leaderboard(lake, "run").select(["handle", "rating"]).to_pylist()
    ratings = {row["handle"]: row["rating"] for row in board}
    answer = invoke("teamrate", "player 1", "old", "--run", "run", "--format", "json", "--lake", lake.url)
    told = json.loads(answer.out)
    assert told["players"] == [{"handle": name, "rating": ratings[name]} for name in ("player 1", "player 3")]
    assert told["rating"] == group_level([ratings["player 1"], ratings["player 3"]])
    text = invoke("teamrate", "player 1", "old", "--run", "run", "--lake", lake.url).out
    assert text.startswith(f"team rating {told['rating']:.0f}: 'player 1' {ratings['player 1']:.0f}, 'player 3' ")


def test_command__refuses_unknown_and_repeated_players(invoke: Command, lake: Lake) -> None:
    there = ("--run", "run", "--lake", lake.url)
    assert "no player 'nobody'" in invoke.refuses("teamrate", "player 1", "nobody", *there)
    assert "player 'old' is named twice" in invoke.refuses("teamrate", "old", "old", *there, code=2)


def test_function__has_the_ratings_of_the_beliefs() -> None:
    results = pd.DataFrame({"contest": [1, 1, 1], "player": ["ada", "grace", "linus"], "rank": [1, 2, 3]})
    _, beliefs = rate_history(results, return_beliefs=True, engine="serial")
    ratings = predict(beliefs, ["ada", "linus"]).table()["rating"]
    expected = group_level(ratings[["ada", "linus"]].tolist())
    assert team_rating(beliefs, ["ada", "linus"]) == pytest.approx(expected, rel=1e-12)
    assert team_rating(beliefs, ["linus", "ada"]) == team_rating(beliefs, ["ada", "linus"])
    assert team_rating(beliefs, ["ada"]) == pytest.approx(ratings["ada"], rel=1e-12)
    with pytest.raises(ValueError, match="named twice"):
        team_rating(beliefs, ["ada", "ada"])
    with pytest.raises(ValueError, match="a group needs at least one member"):
        team_rating(beliefs, [])
