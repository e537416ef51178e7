"""The leaderboard of all time: each player's best smoothed level, as the file of the smoothing has it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from helpers.commands import Command
from helpers.lakes import contest, ingest, lake_of, rate_run, synthetic

from ranklake.flows.answers.leaderboard import all_time_leaderboard
from ranklake.flows.engines.serial import Serial
from ranklake.flows.smoothing.smooth import smooth_run
from ranklake.storage import Dataset, Lake, LakeError

COLUMNS = ["place", "handle", "level", "smooth_mu", "smooth_sigma", "contest_id", "name", "time_seconds", "n_rounds"]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A smoothed run of forty contests."""
    lake = lake_of(tmp_path / "lake", synthetic(40))
    rate_run(lake)
    smooth_run(lake, "run", Serial())
    return lake


def by_sql(lake: Lake, deviations: float) -> list[tuple[Any, ...]]:
    """Handle, level, mu, sigma and contest of each player's first best row, best first."""
    root = lake.url.removeprefix("file://")
    return duckdb.sql(f"""
        WITH levels AS (SELECT *, smooth_mu - {deviations} * smooth_sigma AS level
                        FROM '{root}/runs/run/smoothing/smoothed-*.parquet'),
             ranked AS (SELECT *, row_number() OVER (PARTITION BY player ORDER BY level DESC, round_index) AS nth
                        FROM levels)
        SELECT handle, level, smooth_mu, smooth_sigma, contest_id FROM ranked
        JOIN '{root}/games/players/*.parquet' USING (player) WHERE nth = 1 ORDER BY level DESC, handle
    """).fetchall()


@pytest.mark.parametrize("deviations", [None, 0.0, 3.0])
def test_all_time__has_each_players_best_level(lake: Lake, deviations: float | None) -> None:
    board = all_time_leaderboard(lake, "run", deviations)
    assert board.column_names == [*COLUMNS, "player"]
    rows = board.select(["handle", "level", "smooth_mu", "smooth_sigma", "contest_id"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == by_sql(lake, 2.0 if deviations is None else deviations)
    contests = {row["contest_id"]: row for row in Dataset.open(lake, "games").contests.to_pylist()}
    for row in board.to_pylist():
        facts = contests[row["contest_id"]]
        assert (row["name"], row["time_seconds"]) == (facts["name"], facts["time_seconds"])
    levels = board.column("level").to_pylist()
    assert board.column("place").to_pylist() == [1 + sum(other > level for other in levels) for level in levels]
    assert sum(board.column("n_rounds").to_pylist()) == sum(
        row["n_rounds"] for row in json.loads(board_of_now(lake)) if row["handle"] in set(board["handle"].to_pylist())
    )


def board_of_now(lake: Lake) -> str:
    from helpers.answers import leaderboard

    return json.dumps(leaderboard(lake, "run").select(["handle", "n_rounds"]).to_pylist())


def test_all_time__a_champion_of_the_past_stays_above_one_who_never_won(tmp_path: Path) -> None:
    rise = [contest(f"rise {i}", "ada", "bob", "cyd", "dan", time_seconds=86_400 * i) for i in range(8)]
    fall = [contest(f"fall {i}", "bob", "cyd", "dan", "ada", time_seconds=86_400 * (400 + 90 * i)) for i in range(8)]
    lake = lake_of(tmp_path, rise + fall)
    rate_run(lake)
    smooth_run(lake, "run", Serial())
    rows = {row["handle"]: row for row in all_time_leaderboard(lake, "run").to_pylist()}
    assert rows["ada"]["contest_id"].startswith("rise")
    assert rows["bob"]["contest_id"].startswith("fall")
    assert rows["ada"]["level"] > rows["cyd"]["level"] > rows["dan"]["level"]


def test_command__has_the_formats_of_the_leaderboard(lake: Lake, invoke: Command) -> None:
    words = ("leaderboard", "--run", "run", "--all-time", "--lake", lake.url)
    board = all_time_leaderboard(lake, "run")
    answer = invoke(*words, "--all", "--format", "json")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out) == board.to_pylist()
    rows = list(csv.DictReader(io.StringIO(invoke(*words, "--all", "--format", "csv").out)))
    assert [float(row["level"]) for row in rows] == board.column("level").to_pylist()
    assert len(json.loads(invoke(*words, "--top", 3, "--format", "json").out)) == 3
    table = invoke(*words, "--top", 3).out
    assert f"3 of {board.num_rows} players" in table
    assert all(row["handle"] in table and row["name"] in table for row in board.slice(0, 3).to_pylist())


def test_command__names_the_remedy_where_there_is_no_current_smoothing(lake: Lake, invoke: Command) -> None:
    rate_run(lake, run="other")
    message = invoke.refuses("leaderboard", "--run", "other", "--all-time", "--lake", lake.url)
    assert "run other: its smoothing does not exist; `ranklake smooth --run other` makes a current one" in message
    ingest(lake, synthetic(42)[40:])
    rate_run(lake)
    message = invoke.refuses("leaderboard", "--run", "run", "--all-time", "--lake", lake.url)
    assert "run run: its smoothing is of earlier rounds; `ranklake smooth --run run` makes a current one" in message
    rate_run(lake, run="new", max_rounds=0)
    with pytest.raises(LakeError, match="no rated rounds yet"):
        all_time_leaderboard(lake, "new")
