"""Points of games: read beside results, instead of them, with the other sign, and refused where they contradict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.games.batch import GamesReport
from ranklake.flows.sources.games.options import GamesOptions, parse_columns
from ranklake.flows.sources.games.reading import read_periods

GOALS = [("ann", "bob", "3", "1"), ("bob", "cat", "2", "2"), ("cat", "ann", "-0.5", "1e2"), ("dan", "ann", "", "1")]
RESULTS = ["1-0", "1/2-1/2", "0-1", "1-0"]


def read(
    folder: Path, goals: list[tuple[str, ...]], results: list[str] | None = None,
    names: tuple[str, str] = ("home_score", "away_score"), **options: Any,
) -> tuple[list[tuple], GamesReport]:  # fmt: skip
    """Each game of a file as players, score and points, None for unknown ones; and the report."""
    header = ["player1", "player2", *names, "time", *([] if results is None else ["result"])]
    rows = [
        (*row, "2024-01-01", *([] if results is None else [results[at]])) for at, row in enumerate(goals)
    ]  # fmt: skip
    path = folder / "games.csv"
    path.write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n")
    report, found = GamesReport(), []
    for period in read_periods([str(path)], GamesOptions(**options), report):
        handles, points = period.handles.to_pylist(), period.games.points
        pairs = [None] * len(period) if points is None else points.reshape(-1, 2).tolist()
        for one, other, score, pair in zip(period.player, period.opponent, period.score, pairs, strict=True):
            pair = pair and tuple(None if np.isnan(value) else value for value in pair)
            found.append((handles[one], handles[other], float(score), pair))
    return found, report


@pytest.mark.parametrize(
    "names",
    [("home_score", "away_score"), ("Score1", "SCORE2"), ("goals_for", "goals_against"), ("points", "opponent_points")],
)
def test_points__are_found_in_pairs_and_say_the_result(tmp_path: Path, names: tuple[str, str]) -> None:
    found, report = read(tmp_path, GOALS, names=names)
    assert found == [
        ("ann", "bob", 1.0, (3.0, 1.0)), ("bob", "cat", 0.5, (2.0, 2.0)), ("cat", "ann", 0.0, (-0.5, 100.0)),
    ]  # fmt: skip
    assert report.lines() == [
        "left out: 1 game, without points (first: games.csv, row 4 (line 5))",
        f"3 games with points, from '{names[0]}' and '{names[1]}' (first: games.csv, row 1 (line 2))",
    ]


def test_points__beside_results_may_be_unknown_or_left_out(tmp_path: Path) -> None:
    found, report = read(tmp_path, GOALS, RESULTS)
    assert [row[2] for row in found] == [1.0, 0.5, 0.0, 1.0]
    assert [row[3] for row in found] == [(3.0, 1.0), (2.0, 2.0), (-0.5, 100.0), (None, 1.0)]
    assert report.games == 4
    found, report = read(tmp_path, GOALS, RESULTS, columns={"points": ""})
    assert [row[3] for row in found] == [None] * 4
    assert report.lines() == []


@pytest.mark.parametrize("names", [("home_score", "score2"), ("points", "won"), ("goals_for", "away_score")])
def test_a_half_of_a_pair__is_no_column_of_points(tmp_path: Path, names: tuple[str, str]) -> None:
    assert read(tmp_path, GOALS, RESULTS, names=names)[0][0][3] is None
    with pytest.raises(SourceError, match=r"needs a column for result; .* --column points=\.\.\. --column opp"):
        read(tmp_path, GOALS, names=names)
    with pytest.raises(SourceError, match=r"points are those of both .* --column opponent_points=\.\.\.$"):
        read(tmp_path, GOALS, RESULTS, names=names, columns={"points": names[0]})
    columns = parse_columns([f"points={names[0]}", f"opponent_points={names[1]}"])
    assert read(tmp_path, GOALS, names=names, columns=columns)[0][0] == ("ann", "bob", 1.0, (3.0, 1.0))


def test_score__stays_a_name_of_the_result(tmp_path: Path) -> None:
    found, _ = read(tmp_path, [("ann", "bob", "1", "0"), ("bob", "cat", "0.5", "7")], names=("score", "points"))
    assert found == [("ann", "bob", 1.0, None), ("bob", "cat", 0.5, None)]


@pytest.mark.parametrize(("row", "said"), [(0, "a loss"), (1, "a win"), (2, "a draw")])
def test_contradiction__is_refused_by_row_unless_points_may_disagree(tmp_path: Path, row: int, said: str) -> None:
    results = list(RESULTS)
    results[row] = {"a loss": "0-1", "a win": "1-0", "a draw": "1/2-1/2"}[said]
    place = rf"games\.csv, row {row + 1} \(line {row + 2}\): the points .* contradict the result, {said}"
    with pytest.raises(SourceError, match=place):
        read(tmp_path, GOALS, results)
    assert read(tmp_path, GOALS, results, on_error="skip")[1].games == 3
    found, report = read(tmp_path, GOALS, results, points_may_disagree=True)
    assert found[row][3] == tuple(map(float, GOALS[row][2:]))
    where = f"(first: games.csv, row {row + 1} (line {row + 2}))"
    assert f"1 game with points that do not agree with the result, rated without a margin {where}" in report.lines()


def test_fewer_wins__turns_the_sign_once(tmp_path: Path) -> None:
    found, _ = read(tmp_path, GOALS, fewer_wins=True)
    assert found == [
        ("ann", "bob", 0.0, (-3.0, -1.0)), ("bob", "cat", 0.5, (-2.0, -2.0)), ("cat", "ann", 1.0, (0.5, -100.0)),
    ]  # fmt: skip
    with pytest.raises(SourceError, match=r"row 1 \(line 2\): the points 3 and 1 contradict the result, a win"):
        read(tmp_path, GOALS, RESULTS, fewer_wins=True)
    zeros, _ = read(tmp_path, [("ann", "bob", "0", "0")], fewer_wins=True)
    assert [str(value) for value in zeros[0][3]] == ["0.0", "0.0"]


@pytest.mark.bound("ranklake.rating_kernels.core.limits.SCORED.high")
@pytest.mark.parametrize("value", ["x", "inf", "1e10", "-1000000001"])
def test_bad_points__name_the_row(tmp_path: Path, value: str) -> None:
    goals = [GOALS[0], ("bob", "cat", "1", value)]
    rule = rf"row 2 \(line 3\): points must be a number .*, or empty if unknown, got '{value}'"
    with pytest.raises(SourceError, match=rule):
        read(tmp_path, goals)
    assert read(tmp_path, goals, on_error="skip")[0] == [("ann", "bob", 1.0, (3.0, 1.0))]
    assert len(read(tmp_path, [GOALS[0], ("bob", "cat", "-1e9", "1e9")])[0]) == 2


@pytest.mark.parametrize("option", ["fewer_wins", "points_may_disagree"])
def test_options_about_points__need_points(tmp_path: Path, option: str) -> None:
    rule = f"--{option.replace('_', '-')} needs the points of both players"
    with pytest.raises(SourceError, match=rule):
        read(tmp_path, GOALS, RESULTS, names=("a", "b"), **{option: True})
    pgn = tmp_path / "games.pgn"
    pgn.write_text('[White "a"]\n[Black "b"]\n[Result "1-0"]\n[Date "2024.01.01"]\n\n1-0\n')
    with pytest.raises(SourceError, match=rule):
        list(read_periods([str(pgn)], GamesOptions(**{option: True}), GamesReport()))


def test_winners__have_the_points_of_chosen_columns_only(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_text("winner,loser,time,home_score,away_score\nann,bob,2024-01-01,1,3\n")
    (period,) = read_periods([str(path)], GamesOptions(), GamesReport())
    assert period.games.points is None
    columns = {"points": "away_score", "opponent_points": "home_score"}
    (period,) = read_periods([str(path)], GamesOptions(columns=columns), GamesReport())
    assert period.games.points.tolist() == [3.0, 1.0]


def test_files_with_and_without_points__are_read_together(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("white,black,result,time\nann,bob,1-0,2024-01-01\n")
    (tmp_path / "b.csv").write_text("white,black,home_score,away_score,time\nann,bob,0,2,2024-01-01\n")
    (period,) = read_periods([str(tmp_path / "*.csv")], GamesOptions(), GamesReport())
    assert period.score.tolist() == [1.0, 0.0]
    assert np.array_equal(period.games.points, [np.nan, np.nan, 0.0, 2.0], equal_nan=True)
