"""Groups and teams of players: their ratings solve their equations, filters keep who has the value."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.answers import leaderboard
from helpers.commands import Command
from helpers.lakes import contest, lake_of, rate_run, synthetic
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake import predict, rate_history, team_rating
from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.flows.results.groups import board_values, group_level, group_ratings, group_table, has_value
from ranklake.flows.results.ranks import among
from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.limits import MAX_COLUMNS
from ranklake.storage import Dataset, Lake, LakeError
from ranklake.storage.datasets.player_attributes import player_attributes
from ranklake.storage.lake.layout import attributes_file
from ranklake.storage.maintenance.verify import verify_dataset

NAMES = ["ada", "grace", "linus", "edsger"]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A rated lake of four players."""
    contests = [contest(str(i), *NAMES[i % 3 :], *NAMES[: i % 3], time_seconds=1000 * i) for i in range(1, 6)]
    lake = lake_of(tmp_path / "lake", contests)
    rate_run(lake, system="elo-mmx")
    return lake


def record(lake: Lake, folder: Path, text: str, name: str = "people.csv") -> Any:
    (folder / name).write_text(text, encoding="utf-8")
    return record_attributes(lake, "games", str(folder / name))


def countries_of(lake: Lake, attribute: str = "country") -> dict[str, str]:
    """The value of an attribute by handle."""
    rows = player_attributes(Dataset.open(lake, "games")).to_pylist()
    return {row["handle"]: row["value"] for row in rows if row["attribute"] == attribute}


# The rating of a group


def group_rating(ratings: np.ndarray) -> float:
    return float(group_ratings(np.sort(ratings)[::-1], np.zeros(1, np.int64))[0])


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_group_rating__of_equals_has_a_closed_form(n: int) -> None:
    """n / (1 + 10^((R - r) / 400)) = 1/2 at R = r + 400 log10(2 n - 1)."""
    rating = group_rating(np.full(n, 1500.0))
    assert rating == pytest.approx(1500.0 + 400.0 * math.log10(2 * n - 1), abs=1e-9)


@repeatable(30)
@given(st.lists(st.floats(-3000.0, 5000.0), min_size=1, max_size=20))
def test_group_rating__solves_its_equation(ratings: list[float]) -> None:
    rating = group_rating(np.array(ratings))
    assert sum(1 / (1 + 10 ** ((rating - one) / 400)) for one in ratings) == pytest.approx(0.5, abs=1e-9)
    assert rating >= max(ratings)
    assert group_rating(np.array([*ratings, min(ratings) - 1.0])) >= rating
    assert group_rating(np.array(ratings) + 100.0) == pytest.approx(rating + 100.0, abs=1e-8)


def test_group_ratings__of_many_groups_are_those_of_each() -> None:
    rng = np.random.default_rng(5)
    groups = [np.sort(rng.normal(1500.0, 400.0, n))[::-1] for n in (1, 9, 200, 2)]
    starts = np.cumsum([0, *map(len, groups[:-1])])
    found = group_ratings(np.concatenate(groups), starts)
    assert found.tolist() == [group_rating(group) for group in groups]  # to the bit
    assert group_ratings(np.zeros(0), np.zeros(0, np.int64)).tolist() == []


# Attributes


def test_attributes__filter_and_group_a_leaderboard(lake: Lake, tmp_path: Path) -> None:
    report = record(lake, tmp_path, "country,handle,team\nGB,ada,x\nUS,grace,\nGB,linus,\nNL,nobody,\n")
    assert report.line() == "country, team of 4 players; 1 handle not in the data set yet"
    board, dataset = leaderboard(lake, "run"), Dataset.open(lake, "games")
    assert countries_of(lake) == {"ada": "GB", "grace": "US", "linus": "GB"}
    countries = board_values(dataset, "country", board)
    assert not has_value(countries, "NL").any()
    british = among(board, has_value(countries, "GB")).to_pylist()
    assert [row["handle"] for row in british] == [
        name for name in board["handle"].to_pylist() if name in ("ada", "linus")
    ]
    assert [row["place"] for row in british] == [1, 2]
    groups = {row["group"]: row for row in group_table(board, countries).to_pylist()}
    rating = dict(zip(board["handle"].to_pylist(), board["rating"].to_pylist(), strict=True))
    assert set(groups) == {"GB", "US"}
    assert groups["US"]["rating"] == pytest.approx(rating["grace"], abs=1e-9)
    assert groups["GB"]["rating"] == group_rating(np.array([rating["ada"], rating["linus"]]))
    assert (groups["GB"]["n_players"], groups["GB"]["best"]) == (2, british[0]["handle"])


def test_attributes__follow_a_player_to_a_new_name(lake: Lake, tmp_path: Path) -> None:
    record(lake, tmp_path, "handle,country\nada,GB\ngrace,US\nhopper,FR\n")
    with Dataset.ingest(lake, "games") as changing:
        changing.alias("ada", "lovelace", None, "married")
        changing.alias("grace", "hopper", None, "married")
    assert countries_of(lake) == {"lovelace": "GB", "hopper": "FR"}


def test_attributes__are_replaced_and_deleted_with_the_data_set(lake: Lake, tmp_path: Path) -> None:
    record(lake, tmp_path, "handle,country\nada,GB\n")
    record(lake, tmp_path, "handle;team\nada;x\n")
    assert Dataset.open(lake, "games").attributes().to_pylist() == [
        {"handle": "ada", "attribute": "team", "value": "x"}
    ]
    with pytest.raises(LakeError, match="data set games has no attribute 'country'; it has team"):
        board_values(Dataset.open(lake, "games"), "country", leaderboard(lake, "run"))
    record(lake, tmp_path, "handle\nada\n")
    with pytest.raises(LakeError, match="`ranklake attributes FILE --dataset games` records some"):
        board_values(Dataset.open(lake, "games"), "team", leaderboard(lake, "run"))


def test_attributes__stay_when_contests_are_ingested(lake: Lake, tmp_path: Path) -> None:
    record(lake, tmp_path, "handle,country\nada,GB\n")
    with Dataset.ingest(lake, "games") as adding:
        for one in synthetic(3):
            adding.add(one)
    assert countries_of(lake) == {"ada": "GB"}
    assert list(verify_dataset(Dataset.open(lake, "games"))) == []
    path = Path(lake.url.removeprefix("file://")) / attributes_file("games")
    path.write_bytes(path.read_bytes()[:-9])
    (problem,) = verify_dataset(Dataset.open(lake, "games"))
    assert "`ranklake attributes FILE --dataset games` writes it again" in problem


def test_attributes__parquet_is_as_csv(lake: Lake, tmp_path: Path) -> None:
    import pandas as pd

    pd.DataFrame({"handle": ["ada", "grace"], "born": [1815, None], "country": ["GB", ""]}).to_parquet(
        tmp_path / "people.parquet"
    )
    record_attributes(lake, "games", str(tmp_path / "people.parquet"))
    assert countries_of(lake) == {"ada": "GB"}
    assert countries_of(lake, "born").keys() == {"ada"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,country\nada,GB\n", "has no column handle; it has 'name', 'country'"),
        pytest.param("handle" + ",a" * MAX_COLUMNS, "the table has more than 10,000 columns, the limit", id="wide"),
        ("", "the file is empty; it needs a header with the column handle"),
        ("handle,a,a\nada,1,2\n", "has the column 'a' twice"),
        ("handle,\nada,1\n", "has a column without a name"),
        ("handle,country\nada,GB\nada,US\n", "handle 'ada' is in row 1, too"),
        ("handle,country\n,GB\n", "the handle is empty"),
        ("handle,country\nada\n", "the row has 1 cell, the header 2"),
        ('handle,country\n"ada,GB\n', "cannot be read as CSV: unexpected end of data"),
    ],
)
def test_attributes__errors_name_the_row(lake: Lake, tmp_path: Path, text: str, message: str) -> None:
    record(lake, tmp_path, "handle,country\nada,GB\n")
    with pytest.raises(SourceError, match=message):
        record(lake, tmp_path, text, "wrong.csv")
    assert countries_of(lake) == {"ada": "GB"}


# The commands


def test_commands__record_filter_and_group(lake: Lake, invoke: Command, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("handle,country\nada,GB\ngrace,US\nlinus,GB\n", encoding="utf-8")
    answer = invoke("attributes", tmp_path / "people.csv", "--dataset", "games", "--lake", lake.url)
    assert (answer.code, answer.out) == (0, "data set games: country of 3 players\n")
    words = ("leaderboard", "--run", "run", "--lake", lake.url)
    rows = json.loads(invoke(*words, "--where", "country=GB", "--format", "json").out)
    assert {row["handle"] for row in rows} == {"ada", "linus"}
    groups = json.loads(invoke(*words, "--by", "country", "--format", "json").out)
    board, dataset = leaderboard(lake, "run"), Dataset.open(lake, "games")
    assert groups == group_table(board, board_values(dataset, "country", board)).to_pylist()
    assert "2 of 2 groups" in invoke(*words, "--by", "country").out
    assert "no attribute 'town'; it has country" in invoke.refuses(*words, "--by", "town")
    assert "no player has country 'gb'; did you mean 'GB'?" in invoke.refuses(*words, "--where", "country=gb")
    assert "--where is ATTRIBUTE=VALUE" in invoke.refuses(*words, "--where", "country", code=2)


# The level of a team


def test_group_level__beats_all_members_at_once_half_of_the_time() -> None:
    rng = np.random.default_rng(11)
    for n in (1, 2, 3, 10, 200):
        ratings = rng.normal(1500, 400, n).tolist()
        found = group_level(ratings)
        assert math.prod(1 / (1 + math.pow(10, (r - found) / 400)) for r in ratings) == pytest.approx(0.5, abs=1e-12)
        assert found >= max(ratings)


def test_group_level__of_equals_is_known() -> None:
    for n in (1, 2, 3, 50):
        assert group_level([1500.0] * n) == pytest.approx(1500.0 - 400.0 * math.log10(2.0 ** (1.0 / n) - 1.0), abs=1e-9)
    assert group_level([1500.0]) == 1500.0


def test_group_level__does_not_depend_on_the_order_and_follows_a_shift() -> None:
    ratings = [1700.0, 1200.0, 2900.0]
    assert group_level(ratings[::-1]) == group_level(ratings)
    assert group_level([r + 100 for r in ratings]) == pytest.approx(group_level(ratings) + 100, abs=1e-9)
    assert group_level([*ratings, -1e9]) == pytest.approx(group_level(ratings), abs=1e-9)
    assert group_level([*ratings, 1000.0]) > group_level(ratings)


def test_group_level__of_extreme_ratings_is_near_the_highest() -> None:
    assert group_level([-1e9, 0.0, 1e9]) == pytest.approx(1e9)
    assert group_level([-1e300, 1e300]) == 1e300


@pytest.mark.parametrize("ratings", [[], [math.nan], [math.inf, 1.0]])
def test_group_level__refuses_what_is_no_group(ratings: list[float]) -> None:
    with pytest.raises(ValueError, match="group"):
        group_level(ratings)


@pytest.mark.parametrize(
    ("n", "team", "country"), [(1, 0, 0), (2, 153, 191), (3, 234, 280), (10, 458, 512), (100, 863, 920)]
)
def test_group_level__is_below_the_rating_of_a_country(n: int, team: int, country: int) -> None:
    """A product of chances and a sum: the figures of docs/predicting.md for n equal members."""
    equal = np.full(n, 1500.0)
    assert round(group_level(equal.tolist()) - 1500.0) == team
    assert round(group_rating(equal) - 1500.0) == country
    ratings = np.random.default_rng(n).normal(1500.0, 300.0, n)
    assert ratings.max() <= group_level(ratings.tolist()) <= group_rating(ratings)


# The rating of a team


@pytest.fixture
def twenty(tmp_path: Path) -> Lake:
    lake = lake_of(tmp_path / "lake", synthetic(20))
    with Dataset.ingest(lake, "games") as correcting:
        correcting.alias("old", "player 3")
    rate_run(lake)
    return lake


def test_command__is_the_level_of_the_members_under_any_name(invoke: Command, twenty: Lake) -> None:
    board = leaderboard(twenty, "run").select(["handle", "rating"]).to_pylist()
    ratings = {row["handle"]: row["rating"] for row in board}
    answer = invoke("teamrate", "player 1", "old", "--run", "run", "--format", "json", "--lake", twenty.url)
    told = json.loads(answer.out)
    assert told["players"] == [{"handle": name, "rating": ratings[name]} for name in ("player 1", "player 3")]
    assert told["rating"] == group_level([ratings["player 1"], ratings["player 3"]])
    text = invoke("teamrate", "player 1", "old", "--run", "run", "--lake", twenty.url).out
    assert text.startswith(f"team rating {told['rating']:.0f}: 'player 1' {ratings['player 1']:.0f}, 'player 3' ")


def test_command__refuses_unknown_and_repeated_players(invoke: Command, twenty: Lake) -> None:
    there = ("--run", "run", "--lake", twenty.url)
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
