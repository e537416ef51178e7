"""The leaderboard of a day and the ratings of groups, of ratings in memory: the same as the commands show of a lake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from helpers.answers import leaderboard, leaderboard_at
from helpers.frames import frame_of
from helpers.lakes import lake_of, rate_run, synthetic

from ranklake import Lake, Ratings
from ranklake.flows.engines.serial import Serial
from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.flows.rating.rate import rate
from ranklake.flows.rating.resolve import resolve_runs
from ranklake.flows.results.groups import board_values, group_table
from ranklake.flows.results.ranks import active
from ranklake.storage import Dataset

DAY = 86_400
CONTESTS = synthetic(16, spice=False, n_players=12, size=6)
COLUMNS = ["place", "rating", "mu", "sigma", "n_rounds", "last_time_seconds", "percentile"]
COUNTRIES = {f"player {i}": ("PL", "DE", None)[i % 3] for i in range(10)}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("ratings")
    lake = Lake(lake_of(folder / "lake", CONTESTS).url)
    rate_run(lake, system="glicko", period_days=100.0)
    rows = [f"{handle},{country or ''},{handle[-1]}" for handle, country in COUNTRIES.items()]
    (folder / "people.csv").write_text("\n".join(["handle,country,digit", *rows]), "utf-8")
    record_attributes(lake, "games", str(folder / "people.csv"))
    return lake


def test_leaderboard__of_a_day_is_that_of_the_command(lake: Lake) -> None:
    at = CONTESTS[15].time_seconds + 999 * DAY
    expected, ratings = leaderboard_at(lake, "run", at), lake.run("run").ratings()
    in_memory = Ratings.rate(frame_of(CONTESTS), "glicko", period_days=100.0)
    for one in (ratings, in_memory):
        found = one.leaderboard(at=at)
        assert found[COLUMNS].equals(expected.select(COLUMNS).to_pandas())
        assert found["player"].tolist() == expected.column("handle").to_pylist()
        recent = active(expected, 20 * DAY, at)
        assert one.leaderboard(since=at - 20 * DAY, at=at)["percentile"].tolist() == recent["percentile"].to_pylist()
    assert found["sigma"].tolist() != in_memory.leaderboard()["sigma"].tolist()


def test_ratings__of_a_run_with_a_preset_are_shown_by_its_rule(tmp_path: Path) -> None:
    lake = Lake(lake_of(tmp_path / "lake", CONTESTS).url)
    (config,) = resolve_runs(lake, "games", ["run"], preset="dmoj")
    rate(lake, config, Serial())
    expected = leaderboard(lake, "run").column("rating").to_pylist()
    ratings = lake.run("run").ratings()
    ratings.save(tmp_path / "saved.parquet")
    for one in (ratings, Ratings.load(tmp_path / "saved.parquet")):
        board = one.leaderboard()
        assert board["rating"].tolist() == expected
        last = one.history.drop_duplicates("player", keep="last").set_index("player")["rating"]
        assert last[board["player"]].tolist() == expected
        table = one.predict(board["player"][:2].tolist()).table()
        assert table["rating"].tolist() == pytest.approx(expected[:2])


def test_leaderboard__before_the_first_contest_is_refused() -> None:
    results = frame_of(CONTESTS)
    with pytest.raises(
        ValueError, match="no contest had ended by at = 1970-01-01 00:00:01 UTC; the first one ended at"
    ):
        Ratings.rate(results).leaderboard(at=1)
    with pytest.raises(ValueError, match="the contests have no times"):
        Ratings.rate(results.drop(columns="time_seconds")).leaderboard(at=10**9)


def test_groups__are_those_of_the_command(lake: Lake) -> None:
    board, run = leaderboard(lake, "run"), lake.run("run")
    values = board_values(Dataset.open(lake, "games"), "country", board)
    expected: Any = group_table(board, values).to_pylist()
    attributes, ratings = run.attributes(), run.ratings()
    assert attributes["digit"].to_dict() == {handle: handle[-1] for handle in COUNTRIES}
    for by in (COUNTRIES, pd.Series(COUNTRIES), attributes["country"]):
        assert ratings.groups(by).to_dict("records") == expected
    some = ratings.groups(COUNTRIES, among=[handle for handle, country in COUNTRIES.items() if country == "PL"])
    assert some["group"].tolist() == ["PL"]
    assert len(ratings.groups({})) == 0


def test_groups__are_a_frame_of_the_kind_of_the_results() -> None:
    ratings = Ratings.rate(pl.from_pandas(frame_of(CONTESTS)), "elo")
    assert isinstance(ratings.groups(COUNTRIES), pl.DataFrame)
    assert isinstance(ratings.leaderboard(at=CONTESTS[3].time_seconds), pl.DataFrame)
