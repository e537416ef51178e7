"""Two runs side by side: every common player, the quantiles, and who gains and loses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.answers import leaderboard
from helpers.commands import Command
from helpers.lakes import contest, lake_of, rate_run, synthetic

from ranklake.flows.answers.diff import QUANTILES, Migration, compare_boards
from ranklake.storage import Lake, LakeError

NAMES = ("old", "new")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("migration") / "lake", synthetic(20, spice=False, n_players=20, size=6))
    rate_run(lake, run="old", system="codeforces")
    rate_run(lake, run="new", system="elo-mmx", max_rounds=15)
    return lake


@pytest.fixture(scope="module")
def found(lake: Lake) -> Migration:
    return compare_boards(NAMES, *(leaderboard(lake, run) for run in NAMES))


def by_pandas(lake: Lake) -> pd.DataFrame:
    old, new = (leaderboard(lake, run).to_pandas().set_index("handle") for run in NAMES)
    both = old.merge(new, left_index=True, right_index=True, suffixes=("_before", "_after"))
    for name in ("before", "after"):
        both[f"place_{name}"] = both[f"rating_{name}"].rank(ascending=False, method="min").astype(int)
    return both


def test_compare__has_every_common_player(lake: Lake, found: Migration) -> None:
    both = by_pandas(lake)
    rows = found.players.to_pandas().set_index("handle")
    assert set(rows.index) == set(both.index)
    for name in ("rating_before", "rating_after", "n_rounds_before", "n_rounds_after", "place_before", "place_after"):
        assert rows[name].equals(both[name].loc[rows.index].rename(name)), name
    assert rows["change"].equals(rows["rating_after"] - rows["rating_before"])
    assert rows["places_gained"].equals(rows["place_before"] - rows["place_after"])
    assert rows["place_after"].is_monotonic_increasing
    n = leaderboard(lake, "old").num_rows, leaderboard(lake, "new").num_rows
    assert found.only == (n[0] - len(both), n[1] - len(both))


def test_compare__quantiles_and_rank_correlation_are_those_of_pandas(lake: Lake, found: Migration) -> None:
    both = by_pandas(lake)[["rating_before", "rating_after"]]
    expected = both.quantile(list(QUANTILES)).reset_index().to_numpy()
    assert np.array([list(row.values()) for row in found.quantiles()]) == pytest.approx(expected)
    assert found.rank_correlation() == pytest.approx(both.rank().corr().iloc[0, 1])


def test_compare__gains_and_losses_are_the_extremes(found: Migration) -> None:
    moves = sorted(found.players.column("places_gained").to_pylist())
    assert found.gains(3).column("places_gained").to_pylist() == moves[:-4:-1]
    assert found.losses(3).column("places_gained").to_pylist() == moves[:3]
    assert found.gains(100).num_rows == sum(move > 0 for move in moves)


def test_compare__without_a_common_player_is_refused(tmp_path: Path) -> None:
    boards = []
    for name in ("ada", "zoe"):
        rate_run(lake := lake_of(tmp_path / name, [contest("one", name, f"{name} 2")]), system="elo-mmx")
        boards.append(leaderboard(lake, "run"))
    with pytest.raises(LakeError, match="runs old and new have no player in common"):
        compare_boards(NAMES, *boards)


def test_compare__all_ratings_equal_have_no_rank_correlation(lake: Lake) -> None:
    board = leaderboard(lake, "old")
    at = board.schema.get_field_index("rating")
    level = board.set_column(at, board.schema.field(at), [np.full(board.num_rows, 1500.0)])
    assert compare_boards(NAMES, board, level).rank_correlation() is None


# The commands


def rows_of(text: str) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_command__has_all_formats(lake: Lake, found: Migration, invoke: Command) -> None:
    words = ("diff", *NAMES, "--lake", lake.url)
    answer = invoke(*words, "--format", "json")
    facts = json.loads(answer.out)
    assert facts["players"] == found.players.to_pylist()
    assert facts["quantiles"] == found.quantiles()
    assert (facts["before"], facts["after"], facts["rank_correlation"]) == (*NAMES, found.rank_correlation())
    rows = rows_of(invoke(*words, "--format", "csv").out)
    assert [row["handle"] for row in rows] == found.players["handle"].to_pylist()
    table = invoke(*words, "--top", 2).out
    assert "gain most places" in table
    assert f"{found.players.num_rows} players in both" in table
    assert all(handle in table for handle in found.gains(2)["handle"].to_pylist())


@pytest.mark.slow
def test_command__draws_both_distributions(lake: Lake, invoke: Command, tmp_path: Path) -> None:
    answer = invoke("plot", "comparison", *NAMES, "-o", tmp_path / "both.svg", "--lake", lake.url)
    assert (answer.code, "wrote" in answer.out) == (0, True)
    assert b"<svg" in (tmp_path / "both.svg").read_bytes()


def test_command__refuses_a_run_and_itself(lake: Lake, invoke: Command) -> None:
    message = invoke.refuses("diff", "old", "old", "--lake", lake.url, code=2)
    assert "two different runs are compared, got old twice" in message
