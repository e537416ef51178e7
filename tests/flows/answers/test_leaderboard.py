"""The leaderboard of a day from every source: the rounds until then, and the uncertainty of the days since."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.answers import SOURCES, leaderboard, leaderboard_at, rows_of, stored_board
from helpers.commands import Command
from helpers.lakes import contest, lake_of, rate_run, rated, synthetic

from ranklake.flows.answers.leaderboard import leaderboard as of_rows
from ranklake.flows.answers.run import open_published
from ranklake.flows.publication.publish import publish
from ranklake.flows.results.places import percentiles, places
from ranklake.flows.results.ranks import active
from ranklake.storage import Lake, LakeError

DAY = 86_400
CONTESTS = synthetic(16, spice=False, n_players=12, size=6)
STEADY = {"elo-mmx": {}, "codeforces": {}}  # systems without a drift by day
DRIFTING: dict[str, dict[str, Any]] = {
    "elo-mmr": {"drift_per_day": 40.0},
    "elo-mmx": {"drift_per_day": 40.0},
    "elo-mms": {"drift_per_day": 40.0},
    "elo-r": {"drift_per_day": 40.0},
    "glicko": {"period_days": 100.0},
    "glicko-allpairs": {"period_days": 100.0},
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("as-of") / "lake", CONTESTS)
    rate_run(lake, system="elo-mmx")
    return lake


def shown(board: pa.Table, source: str = "lake") -> list[dict[str, Any]]:
    """The rows, without what is known in the lake alone."""
    more = ["max_rating", "title"] if source == "frame" else []
    return board.drop_columns(["player", *more]).to_pylist()


@pytest.mark.quick("0-elo-mmx-*", "86400-codeforces-*")
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("system", STEADY)
@pytest.mark.parametrize("late", [0, DAY])
def test_at__equals_the_leaderboard_of_a_history_that_ends_there(
    tmp_path: Path, system: str, late: int, source: str
) -> None:
    rate_run(whole := lake_of(tmp_path / "whole", CONTESTS), system=system)
    until = CONTESTS[8].time_seconds + late
    known = [one for one in CONTESTS if one.time_seconds <= until]
    rate_run(part := lake_of(tmp_path / "part", known), system=system)
    assert shown(of_rows(rows_of(source, whole), until), source) == shown(stored_board(part), source)


@pytest.mark.quick("elo-mms")
@pytest.mark.parametrize("system", ["elo-mms", "glicko"])
def test_leaderboard__is_the_same_from_every_source(tmp_path: Path, system: str) -> None:
    rate_run(lake := lake_of(tmp_path, CONTESTS), system=system, **DRIFTING[system])
    path = tmp_path / "runs/run/run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"display": {"deviations": 2.0, "minimum": 1400.0}}))
    last = CONTESTS[-1].time_seconds
    for at in (None, 1, CONTESTS[6].time_seconds, last, last + 4000 * DAY):
        boards = {source: of_rows(rows_of(source, lake), at) for source in SOURCES}
        assert boards["index"].equals(boards["lake"])
        assert shown(boards["frame"], "frame") == shown(boards["lake"], "frame")
        assert bool(boards["lake"].num_rows) is (at != 1)
    assert boards["lake"]["sigma"].to_pylist() != leaderboard(lake, "run")["sigma"].to_pylist()


@pytest.mark.parametrize("source", SOURCES)
def test_at__uncertainty_of_the_days_grows_before_1970(tmp_path: Path, source: str) -> None:
    times = (-9000 * DAY, 0, -8000 * DAY)
    lake = lake_of(tmp_path, [contest(str(i), "ada", "bob", time_seconds=time) for i, time in enumerate(times)])
    rate_run(lake, system="glicko", period_days=30.0, sig_drift=50.0)
    (after, *_), (later, *_) = (
        of_rows(rows_of(source, lake), at)["sigma"].to_pylist() for at in (-8000 * DAY, -7970 * DAY)
    )
    assert later == pytest.approx(math.hypot(after, 50.0), rel=1e-12)


@pytest.mark.parametrize("system", DRIFTING)
def test_at__uncertainty_of_the_days_is_that_of_the_next_round(tmp_path: Path, system: str) -> None:
    """The variance at the time of a player's next round, and that which the player brings: they differ by one round."""
    lake = lake_of(tmp_path, CONTESTS)
    rate_run(lake, system=system, **DRIFTING[system])
    rows, of_round, grown = rated(lake).to_pylist(), [], 0
    for index in range(4, len(CONTESTS), 3):
        board = leaderboard_at(lake, "run", CONTESTS[index].time_seconds - 1).to_pylist()
        before = {row["handle"]: row for row in board}
        for row in rows:
            if row["round_index"] == index and row["n_before"]:
                of_round.append(row["sigma_prior"] ** 2 - before[row["player"]]["sigma"] ** 2)
                last = max(r["round_index"] for r in rows if r["player"] == row["player"] and r["round_index"] < index)
                after = next(r for r in rows if r["player"] == row["player"] and r["round_index"] == last)
                grown += before[row["player"]]["sigma"] > after["sigma"]
    assert grown > len(of_round) // 2 > 2
    assert of_round == pytest.approx([of_round[0]] * len(of_round), rel=1e-6, abs=1e-2)


def test_at__glicko_grows_by_its_formula(tmp_path: Path) -> None:
    """Glickman's step 1: the variance grows by c^2 a period, up to that of a newcomer."""
    lake = lake_of(tmp_path, [contest("one", "ada", "bob", time_seconds=DAY)])
    rate_run(lake, system="glicko", period_days=30.0, sig_drift=50.0)
    sigma = leaderboard(lake, "run").column("sigma")[0].as_py()
    for periods in (0, 1, 2.5):
        board = leaderboard_at(lake, "run", DAY + int(periods * 30 * DAY))
        assert board.column("sigma")[0].as_py() == pytest.approx(math.sqrt(sigma**2 + periods * 50.0**2), rel=1e-12)
    ages = leaderboard_at(lake, "run", DAY + 10_000 * DAY)
    assert ages.column("sigma")[0].as_py() <= 350.0
    assert ages.column("rating")[0].as_py() < leaderboard(lake, "run").column("rating")[0].as_py()
    assert ages.column("max_rating").equals(leaderboard(lake, "run").column("max_rating"))


@pytest.mark.parametrize("source", SOURCES)
def test_at__out_of_range_is_refused(lake: Lake, source: str) -> None:
    with pytest.raises(ValueError, match="at must be a whole number"):
        of_rows(rows_of(source, lake), 10**15)


def test_at__before_all_contests_names_the_first_one(lake: Lake) -> None:
    with pytest.raises(LakeError, match=r"no rated rounds until 1970-01-01 00:00:01 UTC; its first contest ended at"):
        leaderboard_at(lake, "run", 1)


@pytest.mark.parametrize("source", SOURCES)
def test_at__contests_without_times_belong_to_the_next_one(tmp_path: Path, source: str) -> None:
    times = (0, 10 * DAY, 0, 20 * DAY)
    lake = lake_of(tmp_path, [contest(str(i), "ada", f"b{i}", time_seconds=time) for i, time in enumerate(times)])
    rate_run(lake, system="elo-mmx", drift_per_day=40.0)
    board = {row["handle"]: row for row in of_rows(rows_of(source, lake), 15 * DAY).to_pylist()}
    assert set(board) == {"ada", "b0", "b1"}
    row = next(row for row in rated(lake).to_pylist() if row["player"] == "b0")
    assert board["b0"]["sigma"] == row["sigma"]  # no days since an unknown time


# Places, percentiles and activity


def test_ranks__are_those_of_plain_python() -> None:
    rating = np.array([9.0, 7.0, 7.0, 3.0])
    assert places(rating).tolist() == [1, 2, 2, 4]
    assert percentiles(rating).tolist() == pytest.approx([100.0, 100 / 3, 100 / 3, 0.0], rel=1e-15)
    assert percentiles(np.array([7.0, 7.0])).tolist() == [0.0, 0.0]
    assert percentiles(np.array([7.0])).tolist() == [100.0]
    assert percentiles(np.empty(0)).tolist() == []


@pytest.mark.parametrize("at", [None, CONTESTS[10].time_seconds + 40 * DAY])
def test_active__has_places_among_the_active(lake: Lake, at: int | None) -> None:
    board = leaderboard(lake, "run") if at is None else leaderboard_at(lake, "run", at)
    last = board.column("last_time_seconds").to_pylist()
    seconds = (max(last) if at is None else at) - sorted(last)[len(last) // 2]
    rows = active(board, seconds, at).to_pylist()
    expected = [row for row in board.to_pylist() if row["last_time_seconds"] >= sorted(last)[len(last) // 2]]
    assert [row["handle"] for row in rows] == [row["handle"] for row in expected]
    assert 0 < len(rows) < board.num_rows
    ratings = [row["rating"] for row in rows]
    assert [row["place"] for row in rows] == [1 + sum(other > own for other in ratings) for own in ratings]
    assert rows[-1]["percentile"] == 0.0


def test_active__counts_back_from_the_last_contest_before_1970(tmp_path: Path) -> None:
    times = {"ada": -9000 * DAY, "bob": 0, "eve": -8990 * DAY}
    lake = lake_of(tmp_path, [contest(one, one, "dan", time_seconds=time) for one, time in times.items()])
    rate_run(lake, system="elo-mmx")
    publish(lake, "run")
    board, run = leaderboard(lake, "run"), open_published(lake, "run")
    for days, expected in ((5, {"dan", "eve"}), (10, {"ada", "dan", "eve"})):
        assert set(active(board, days * DAY)["handle"].to_pylist()) == expected
        assert set(run.leaderboard(active=days * DAY).rows["handle"].to_pylist()) == expected


def test_active__needs_times(tmp_path: Path) -> None:
    rate_run(lake := lake_of(tmp_path, [contest("one", "ada", "bob")]), system="elo-mmx")
    with pytest.raises(LakeError, match="nobody is known to be active; ingest times"):
        active(leaderboard(lake, "run"), DAY)


# The command


def test_command__shows_a_day_and_the_active(lake: Lake, invoke: Command) -> None:
    at = CONTESTS[8].time_seconds
    words = ("leaderboard", "--run", "run", "--all", "--at", f"{at:010}", "--lake", lake.url)
    answer = invoke(*words, "--format", "json")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out) == leaderboard_at(lake, "run", at).to_pylist()
    rows = list(csv.DictReader(io.StringIO(invoke(*words, "--active", "7d", "--format", "csv").out)))
    assert [row["handle"] for row in rows] == active(leaderboard_at(lake, "run", at), 7 * DAY, at)["handle"].to_pylist()
    assert "percentile" in invoke(*words, "--wide").out


def test_command__refuses_what_has_no_meaning(lake: Lake, invoke: Command) -> None:
    words = ("leaderboard", "--run", "run", "--lake", lake.url)
    assert "--all-time takes no --at" in invoke.refuses(*words, "--all-time", "--at", "2020-01-01", code=2)
    assert "must be a duration as 90d, 26w or 1y" in invoke.refuses(*words, "--active", "1h", code=2)
    assert "divide nanoseconds by 1,000,000,000" in invoke.refuses(*words, "--at", 10**17, code=2)
