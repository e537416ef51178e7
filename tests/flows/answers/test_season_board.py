"""The leaderboard of a season: command, notebook and index against a count in plain Python."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import Command
from helpers.games import DAY, as_periods, ingest_periods, league
from helpers.lakes import contest, lake_of, rate_run

from ranklake import Ratings
from ranklake.flows.answers.index_rows import IndexRows
from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.events.start import season_event
from ranklake.flows.publication.publish import publish
from ranklake.storage import Dataset, Lake

COLUMNS = ("season_rounds", "season_start_rating", "season_best", "season_change")
FIELDS = ("ann bob cy", "bob ann", "cy bob dee", "dee ann", "bob cy ann", "eve dee", "ann bob")


def with_seasons(lake: Lake, dataset: str = "games", **days: int) -> Lake:
    """A season without a reset from each of some days on."""
    with Dataset.ingest(lake, dataset) as body:
        for name, day in days.items():
            body.start_season(season_event(name, day * DAY, reset=False))
    return lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    contests = [contest(str(i), *who.split(), time_seconds=i * DAY) for i, who in enumerate(FIELDS, 1)]
    lake = with_seasons(lake_of(tmp_path / "lake", contests), spring=3, summer=6, winter=30)
    rate_run(lake, system="elo-mmr")
    return lake


def counted(ratings: Ratings[Any], first: int, stop: int) -> dict[str, tuple[Any, ...]]:
    """The columns of each player rated before ``stop``, in plain Python from the rows of the history."""
    found: dict[str, tuple[Any, ...]] = {}
    rows = ratings.history.to_dict("records")
    for player in {row["player"] for row in rows if row["round_index"] < stop}:
        own = [row for row in rows if row["player"] == player and row["round_index"] < stop]
        season = [row for row in own if row["round_index"] >= first]
        start = None
        if season and season[0]["n_before"]:
            sigma_limit, one = ratings._display().sigma_limit, season[0]
            start = one["mu_prior"] - ratings._display().deviations * (one["sigma_prior"] - sigma_limit)
        now = own[-1]["rating"]
        best = max((row["rating"] for row in season), default=None)
        found[player] = (len(season), start, best, None if start is None else now - start)
    return found


def check(rows: list[dict[str, Any]], expected: dict[str, tuple[Any, ...]], name: str = "handle") -> None:
    assert {row[name] for row in rows} == set(expected)
    for row in rows:
        for column, value in zip(COLUMNS, expected[row[name]], strict=True):
            shown = None if isinstance(row[column], float) and math.isnan(row[column]) else row[column]
            assert shown == (value if value is None else pytest.approx(value, rel=1e-12)), (row[name], column)


@pytest.mark.parametrize(("season", "first", "stop"), [("spring", 2, 5), ("summer", 5, 7), ("winter", 7, 7)])
def test_season__has_the_same_rows_from_rounds_index_and_frames(lake: Lake, season: str, first: int, stop: int) -> None:
    ratings = Ratings.open(lake, "run")
    expected = counted(ratings, first, stop)
    boards = [RatedRun(lake, "run").leaderboard(season=season)]
    publish(lake, "run")
    assert isinstance(RatedRun(lake, "run")._whole_index(), IndexRows)
    boards.append(RatedRun(lake, "run").leaderboard(season=season))
    assert boards[0].equals(boards[1])
    rows = boards[0].to_pylist()
    check(rows, expected)
    assert {row["handle"] for row in rows if row["provisional"]} == {name for name in expected if not expected[name][0]}
    frame = ratings.leaderboard(season=season, provisional="show")
    check(frame.to_dict("records"), expected, "player")
    assert frame["player"].to_list() == boards[0].column("handle").to_pylist()
    ranked = [row["rating"] for row in rows if not row["provisional"]]
    assert [row["place"] for row in rows if not row["provisional"]] == list(range(1, len(ranked) + 1))


def test_season__shows_the_state_before_the_next_one(lake: Lake, tmp_path: Path) -> None:
    early = [contest(str(i), *who.split(), time_seconds=i * DAY) for i, who in enumerate(FIELDS[:5], 1)]
    other = lake_of(tmp_path / "early", early)
    rate_run(other, system="elo-mmr")
    then = {row["handle"]: row["rating"] for row in RatedRun(other, "run").leaderboard().to_pylist()}
    board = RatedRun(lake, "run").leaderboard(season="spring")
    assert {row["handle"]: row["rating"] for row in board.to_pylist()} == then


def test_current_season__is_that_of_the_last_contest(lake: Lake) -> None:
    run = RatedRun(lake, "run")
    assert run.leaderboard(season="current").equals(run.leaderboard(season="summer"))


def test_command__shows_the_season(lake: Lake, invoke: Command) -> None:
    at = ("leaderboard", "--run", "run", "--lake", lake.url, "--season")
    rows = json.loads(invoke(*at, "spring", "--format", "json").out)
    assert rows == RatedRun(lake, "run").leaderboard(season="spring").to_pylist()
    placed = json.loads(invoke(*at, "spring", "--placement", 2, "--format", "json").out)
    assert {row["handle"]: row["season_rounds"] for row in placed} == {"ann": 2, "bob": 2, "cy": 2, "dee": 2}
    text = invoke(*at, "summer", "--placement", 2)
    assert text.out.startswith("run run has no ranked player")
    shown = invoke(*at, "summer", "--provisional", "show").out
    assert all(word in shown for word in ("in season", "start", "best", "change"))
    assert invoke.refuses(*at, "autumn").endswith(
        "data set games has no season 'autumn'; there are: spring, summer and winter"
    )
    for options in (("--at", "2020-01-01"), ("--all-time",), ("--min-rounds", 2)):
        assert "season" in invoke.refuses(*at, "spring", *options, code=2)
    assert "give --season" in invoke.refuses(*at[:-1], "--placement", 2, code=2)


def test_notebook__refuses_what_does_not_go_with_a_season(lake: Lake) -> None:
    ratings = Ratings.open(lake, "run")
    for options in ({"at": DAY}, {"min_rounds": 2}, {"placement": 0}):
        with pytest.raises(ValueError, match=r"season|placement"):
            ratings.leaderboard(season="spring", **options)
    with pytest.raises(ValueError, match="give season"):
        ratings.leaderboard(placement=2)
    memory = Ratings.rate(ratings.history[["contest", "player"]].assign(rank=ratings.history["lo"] + 1))
    with pytest.raises(ValueError, match="only ratings of a run of a lake have seasons"):
        memory.leaderboard(season="spring")


def test_games__count_each_game_of_a_period(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    ingest_periods(lake, as_periods(league(60, n_players=6)))
    ends = Dataset.open(lake, "league").contests.column("time_seconds").to_pylist()
    with_seasons(lake, "league", one=ends[2] // DAY + 1)
    rate_run(lake, dataset="league", system="glicko")
    ratings = Ratings.open(lake, "run")
    (season,) = RatedRun(lake, "run").seasons()
    check(
        RatedRun(lake, "run").leaderboard(season="one").to_pylist(),
        counted(ratings, season.first_round, season.stop_round),
    )
