"""Points in the published ratings: of contests and of games, as the data set has them, null if unknown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers.answers import player_history
from helpers.builders import contest, ingest
from helpers.commands import Command
from helpers.games import Game, as_periods, ingest_periods
from helpers.lakes import rate_run, same_tables
from helpers.tables import assert_published, read

from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.answers.run import open_published
from ranklake.flows.maintenance.verify import Verifier
from ranklake.flows.publication.export import export_rows
from ranklake.flows.publication.publish import publish
from ranklake.storage import Dataset, Lake
from ranklake.storage.datasets.round_points import RoundPoints

SCORED = replace(contest("b", ["x", "y", "z"]), points=np.array([7.5, np.nan, -3.0]))


def points(lake: Lake) -> list[tuple[str, str, float | None]]:
    return list(
        zip(*read(lake, "ratings").select(["contest_id", "handle", "points"]).to_pydict().values(), strict=True)
    )


@pytest.mark.slow
def test_publish__has_the_points_of_contests_and_their_corrections(lake: Lake) -> None:
    ingest(lake, [contest("a", ["x", "y"]), SCORED, contest("c", ["z", "x"])])
    rate_run(lake, system="elo")
    publish(lake, "run")
    expected = [("a", "x", None), ("a", "y", None), ("b", "x", 7.5), ("b", "y", None), ("b", "z", -3.0)]
    assert points(lake)[:5] == expected
    assert points(lake)[5:] == [("c", "x", None), ("c", "z", None)]
    assert_published(lake)
    assert list(Verifier(lake).everything()) == []
    assert pa.Table.from_batches(list(export_rows(lake, "run", "ratings"))).column("points").null_count == 5
    with Dataset.ingest(lake, "games") as correcting:
        correcting.disqualify("b", "x")
    dataset = Dataset.open(lake, "games")  # the run still has the player
    player = np.array([dataset.find(name) for name in "xyz"], np.int32)
    found = RoundPoints(dataset, ["a", "b", "c"]).of_rows(np.ones(3, np.int32), player)
    assert np.array_equal(found, [np.nan, np.nan, -3.0], equal_nan=True)
    rate_run(lake, system="elo")
    publish(lake, "run")
    assert points(lake)[2:4] == [("b", "y", None), ("b", "z", -3.0)]


@pytest.mark.slow
def test_index__has_the_points_of_contests_and_games_as_the_rounds_have(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, invoke: Command
) -> None:
    ingest(lake, [contest("a", ["x", "y"]), SCORED, contest("c", ["z", "x"])])
    rate_run(lake, system="elo")
    expected = {handle: player_history(lake, "run", handle).rows for handle in "xyz"}
    assert expected["x"].column("points").to_pylist() == [None, 7.5, None]
    publish(lake, "run")
    published = open_published(lake, "run")
    shown = {row["handle"]: row["points"] for row in published.contest("b")[1].rows.to_pylist()}
    assert shown == {"x": 7.5, "y": None, "z": -3.0}
    assert published.history("z").column("points").to_pylist() == [-3.0, None]
    monkeypatch.delattr("ranklake.flows.answers.lake_rows.LakeRows")
    assert all(same_tables(RatedRun(lake, "run").player(handle).rows, rows) for handle, rows in expected.items())
    there = ("--run", "run", "--lake", lake.url)
    assert " points " in invoke("player", "x", *there).out
    assert " points " not in invoke("player", "y", *there).out


def test_player__of_games_has_the_points_of_each(lake: Lake) -> None:
    games = [Game("x", "y", 1.0, 100, points=(3.0, 1.0)), Game("y", "x", 0.0, 200, points=(2.0, 4.0))]
    ingest_periods(lake, as_periods(games), "games")
    rate_run(lake, system="elo")
    rows = player_history(lake, "run", "x").rows
    assert rows.column("points").to_pylist() == [3.0, 4.0]
    publish(lake, "run")
    assert same_tables(RatedRun(lake, "run").player("x").rows, rows)


def test_dry_run__says_that_points_are_a_part_of_a_contest(lake: Lake, invoke: Command) -> None:
    ingest(lake, [contest("a", ["x", "y"]), SCORED])
    rate_run(lake, system="elo")
    ingest(lake, [replace(SCORED, points=np.array([7.5, 1.0, -3.0]))])
    shown = invoke("rate", "--dataset", "games", "--run", "run", "--dry-run", "--lake", lake.url)
    assert (
        "round 1, contest b, changed (its points are a part of it, also for runs without margins)"
        in shown.out + shown.err
    )


def test_publish__has_the_points_of_both_players_of_a_game(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    games = [
        Game("a", "b", 0.0, 100, points=(1.0, 3.0)),
        Game("b", "a", 0.5, 200, points=(2.0, 2.0)),
        Game("a", "b", 1.0, 300),
        Game("a", "c", 1.0, 90_000),
    ]
    ingest_periods(lake, as_periods(games), "games")
    rate_run(lake, system="elo")
    publish(lake, "run")
    found = read(lake, "ratings").sort_by([("handle", "ascending"), ("n_before", "ascending")])
    assert list(zip(found["handle"].to_pylist(), found["points"].to_pylist(), strict=True)) == [
        ("a", 1.0), ("a", 2.0), ("a", None), ("a", None), ("b", 3.0), ("b", 2.0), ("b", None), ("c", None),
    ]  # fmt: skip
