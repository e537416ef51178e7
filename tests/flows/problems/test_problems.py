"""Results of problems by the commands: their ingestion, and the difficulties that follow."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import twins.problems as slow
from helpers.lakes import contest, copy_of, lake_of, rate_run

from ranklake import Ratings
from ranklake.flows.problems.difficulties import COLUMNS
from ranklake.storage import Lake, Run

SPRING = "contest,player,problem,solved,time\n"
SPRING += "spring,ann,A,1,60\nspring,ann,B,1,600\nspring,bob,A,1,90\nspring,cid,B,0,30\nautumn,bob,A,0,10\n"
SPRING += "autumn,eva,C,1,300\n"
PROBLEMS = "problem,name,position,tags,max_score\nA,Apples,1,dp; greedy,100\nB,Beans,2,,50\nC,,3,,\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("problems")
    contests = [
        contest("winter", "ann", "bob", "cid", "dan", time_seconds=1_000_000),
        contest("spring", "ann", "bob", ["cid", "dan"], time_seconds=2_000_000),
        contest("autumn", "eva", "bob", "ann", time_seconds=3_000_000),
    ]
    lake = lake_of(folder / "lake", contests)
    rate_run(lake, system="glicko")
    return lake


@pytest.fixture
def lake(made: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.chdir(tmp_path)
    Path("solves.csv").write_text(SPRING, "utf-8")
    Path("problems.csv").write_text(PROBLEMS, "utf-8")
    return copy_of(made, tmp_path / "lake")


def put(invoke: Any, lake: Lake, *more: str, file: str = "solves.csv") -> Any:
    return invoke("ingest", "results", file, *more, "--dataset", "games", "--lake", lake.url)


def shown(invoke: Any, lake: Lake, *options: str) -> dict[str, dict[str, Any]]:
    answer = invoke("problems", "--run", "run", *options, "--format", "json", "--lake", lake.url)
    return {row["problem"]: row for row in json.loads(answer.out)}


def test_problems__have_the_difficulties_of_the_equation(invoke: Any, lake: Lake) -> None:
    out = put(invoke, lake, "--problems", "problems.csv").out
    assert out == "data set games: 6 results of 3 problems; 2 new contests\n"
    prior = {}
    for row in Run.open(lake, "run").read_rounds().to_pylist():
        prior.setdefault(row["contest_id"], []).append(row["mu_prior"])
    found = shown(invoke, lake, "--certain")
    both = prior["spring"] + prior["autumn"]
    cases = {"A": (both, 2), "B": (prior["spring"], 1), "C": (prior["autumn"], 1)}
    for problem, (ratings, solved) in cases.items():
        expected = slow.difficulty(ratings, [1.0] * solved + [0.0] * (len(ratings) - solved), [1.0] * len(ratings))
        row = found[problem]
        assert (row["difficulty"], row["deviation"]) == pytest.approx(expected, abs=1e-9)
        assert (row["counted"], row["solved"]) == (len(ratings), solved)
        assert row["rating_80"] == pytest.approx(row["difficulty"] + 240.8239965, abs=1e-6)
    assert list(found["A"]) == COLUMNS.names
    about = {key: found["A"][key] for key in ("name", "contest", "contests", "first_solved", "first_solver", "bound")}
    assert list(about.values()) == ["Apples", "spring", 2, 60.0, "ann", None]


def test_counts__are_of_those_who_had_the_problem_before_them(invoke: Any, lake: Lake) -> None:
    put(invoke, lake, "--problems", "problems.csv")
    counted = {
        rule: {problem: row["counted"] for problem, row in shown(invoke, lake, "--count", rule).items()}
        for rule in ("all", "submitted", "reached", "attempted")
    }
    assert counted == {
        "all": {"A": 7, "B": 4, "C": 3},
        "submitted": {"A": 5, "B": 3, "C": 2},
        "reached": {"A": 5, "B": 2, "C": 1},
        "attempted": {"A": 3, "B": 2, "C": 1},
    }
    late = shown(invoke, lake, "--time-limit", "2m")
    assert (late["A"]["solved"], late["B"]["solved"], late["B"]["bound"]) == (2, 0, "above")
    assert shown(invoke, lake, "--count", "attempted")["C"]["bound"] == "below"
    assert list(shown(invoke, lake, "--contest", "autumn")) == [p for p in shown(invoke, lake) if p in "AC"]


def test_corrections__apply_to_results(invoke: Any, lake: Lake) -> None:
    put(invoke, lake)
    there = ("--dataset", "games", "--lake", lake.url)
    invoke("amend", "spring", "--remove", "ann", *there)
    invoke("alias", "bob", "robert", *there)
    rate_run(lake, system="glicko")
    found = shown(invoke, lake)
    assert (found["A"]["counted"], found["A"]["solved"], found["A"]["first_solver"]) == (6, 1, "robert")
    assert found["B"]["solved"] == 0
    rate_run(lake, system="glicko", exclude=("autumn",))
    answer = invoke("problems", "--run", "run", "--lake", lake.url)
    assert "1 contest with results left out" in answer.err
    assert "C" not in shown(invoke, lake)
    invoke("remove", "spring", *there)
    invoke("ingest", "results", "solves.csv", *there)


def test_results__change_no_rating_and_no_digest(invoke: Any, lake: Lake) -> None:
    folder = Path(lake.url)
    before = {path: path.read_bytes() for path in folder.rglob("*.parquet")}
    put(invoke, lake, "--problems", "problems.csv")
    shown(invoke, lake, "--fit-scale", "--count", "submitted")
    assert {path: path.read_bytes() for path in before} == before
    rated = invoke("rate", "--dataset", "games", "--run", "run", "--lake", lake.url).out
    assert "kept 3 rounds rated before, rated 0 rounds" in rated
    assert "no problems" in invoke("verify", "--lake", lake.url).out


def test_scores__are_shares_of_their_maximum(invoke: Any, lake: Lake) -> None:
    Path("scores.csv").write_text("Contest,handle,problem_id,score\nspring,ann,A,40\nspring,bob,B,50\n", "utf-8")
    put(invoke, lake, "--problems", "problems.csv", file="scores.csv")
    found = shown(invoke, lake)
    assert (found["A"]["solved"], found["B"]["solved"]) == (0.4, 1.0)


def test_two_rows__of_a_player_and_problem_are_the_better_one(invoke: Any, lake: Lake) -> None:
    Path("solves.csv").write_text(SPRING + "spring,cid,B,1,700\nspring,cid,B,1,650\n", "utf-8")
    assert "2 further rows" in put(invoke, lake).err
    assert shown(invoke, lake)["B"]["solved"] == 2
    Path("same.csv").write_text("problem,same_as\nB,A\n", "utf-8")
    put(invoke, lake, "--problems", "same.csv")
    assert shown(invoke, lake)["A"]["solved"] == 3  # ann solved both


def test_virtual_participants__are_left_out_if_asked(invoke: Any, lake: Lake) -> None:
    Path("solves.csv").write_text(SPRING + "spring,eva,A,1,5\nspring,zoe,A,1,5\n", "utf-8")
    error = invoke.refuses("ingest", "results", "solves.csv", "--dataset", "games", "--lake", lake.url)
    assert "solves.csv, contest spring, row 7 (line 8): player 'eva' is not in the standings" in error
    assert "--skip-strangers" in error
    assert "2 rows of players who were not in the contest left out" in put(invoke, lake, "--skip-strangers").err
    assert shown(invoke, lake)["A"]["first_solved"] == 60.0


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        ("summer,ann,A,1,60", "row 1 (line 2): data set games has no contest 'summer'"),
        ("spring,ann,A,maybe,60", "row 1 (line 2): solved must be true or false, got 'maybe'"),
        ("spring,ann,A,1,-60", "row 1 (line 2): a time must be seconds from the start of the contest, 0 or more"),
        ("spring,ann,A,1,nan", "a time must be seconds from the start"),
        ("spring,ann,,1,6", "row 1 (line 2): the problem is empty"),
    ],
)
def test_invalid_rows__are_refused_and_nothing_is_ingested(invoke: Any, lake: Lake, rows: str, rule: str) -> None:
    Path("solves.csv").write_text(SPRING.splitlines()[0] + "\n" + rows + "\n", "utf-8")
    error = invoke.refuses("ingest", "results", "solves.csv", "--dataset", "games", "--lake", lake.url)
    assert rule in error
    assert lake.list("games/results") == []


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        ("contest,player,problem,score,max_score\nspring,ann,A,5,0\n", "a max_score must be > 0, got '0'"),
        (
            "contest,player,problem,score,max_score\nspring,ann,A,5,4\n",
            "a score must be at most the max_score 4, got 5",
        ),
        ("contest,player,problem,score\nspring,ann,A,5\n", "the maximum score of problem 'A' is unknown"),
        ("contest,player,problem,score,solved\nspring,ann,A,5,1\n", "leave one out with --column solved="),
        ("contest,player,problem\nspring,ann,A\n", "needs a column solved or score"),
        ("contest,player,solved\nspring,ann,1\n", "needs a column for problem"),
    ],
)
def test_invalid_tables__are_refused(invoke: Any, lake: Lake, table: str, rule: str) -> None:
    Path("scores.csv").write_text(table, "utf-8")
    assert rule in invoke.refuses("ingest", "results", "scores.csv", "--dataset", "games", "--lake", lake.url)


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        ("problem,name\nA,one\nA,two\n", "row 2 (line 3): problem 'A' is in row 1, too"),
        ("problem,max_score\nA,-1\n", "max_score must be > 0, or empty, got -1"),
        ("problem,same_as\nA,B\nB,A\n", "'A' -> 'B' -> 'A' is a circle of same_as"),
    ],
)
def test_invalid_problems__are_refused(invoke: Any, lake: Lake, table: str, rule: str) -> None:
    Path("wrong.csv").write_text(table, "utf-8")
    words = ("solves.csv", "--problems", "wrong.csv", "--dataset", "games", "--lake", lake.url)
    assert rule in invoke.refuses("ingest", "results", *words)


def test_missing_facts__are_refused_with_the_contest(invoke: Any, lake: Lake) -> None:
    words = ("problems", "--run", "run", "--lake", lake.url)
    assert "data set games has no results of problems" in invoke.refuses(*words)
    Path("solves.csv").write_text(SPRING.replace(",60\n", ",\n"), "utf-8")
    put(invoke, lake)
    assert "contest spring of data set games has a solve without a time" in invoke.refuses(*words, "--time-limit", "1h")
    assert "the order of its problems is unknown" in invoke.refuses(*words, "--count", "reached")
    assert "no contest 'sprng' with results of problems; did you mean 'spring'?" in invoke.refuses(
        *words, "--contest", "sprng"
    )
    assert "exclude each other" in invoke.refuses(*words, "--scale", "300", "--fit-scale", code=2)
    assert "name it with --contest" in invoke.refuses(*words, "--players", code=2)
    assert "scale must be from" in invoke.refuses(*words, "--scale", "1", code=2)


def test_players__have_a_rating_from_problems(invoke: Any, lake: Lake) -> None:
    put(invoke, lake)
    words = ("problems", "--run", "run", "--contest", "spring", "--players", "--lake", lake.url)
    rows = list(csv.DictReader(io.StringIO(invoke(*words, "--format", "csv").out)))
    level = {row["handle"]: float(row["problem_rating"]) - float(row["mu_prior"]) for row in rows}
    assert rows[0]["handle"] == "ann"
    assert level["ann"] > 0.0 > level["dan"]
    assert level["cid"] == pytest.approx(level["dan"], abs=200.0)
    assert "4 of 4 players" in invoke(*words).out


def test_joint__estimates_players_and_problems_together(
    invoke: Any, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(invoke, lake)
    found = shown(invoke, lake, "--joint")
    assert found["A"]["counted"] == 7
    frame = Ratings.open(lake, "run").problems(joint=True)
    assert dict(zip(frame["problem"], frame["difficulty"], strict=True)) == {p: found[p]["difficulty"] for p in found}
    alone = shown(invoke, lake, "--joint", "--contest", "spring")
    assert {p: row["counted"] for p, row in alone.items()} == {"A": 4, "B": 4}
    assert alone["B"]["difficulty"] > alone["A"]["difficulty"]
    words = ("problems", "--run", "run", "--joint", "--players", "--lake", lake.url)
    rows = json.loads(invoke(*words, "--format", "json").out)
    assert {row["handle"]: (row["problems"], row["solved"]) for row in rows} == {
        "ann": (4, 2), "bob": (4, 1), "cid": (2, 0), "dan": (2, 0), "eva": (2, 1)
    }  # fmt: skip
    monkeypatch.setattr("ranklake.rating_kernels.problems.joint.SWEEPS", 1)
    error = invoke.refuses(*words)
    assert "run run has no joint estimate of players and problems: places still move by" in error
    assert "; estimate one contest alone" in error
    assert "alone" not in invoke.refuses(*words, "--contest", "spring")
    monkeypatch.setattr("ranklake.flows.problems.joint.TOGETHER", 2)
    assert "run run has 3 problems, a joint estimate at most 2; estimate one contest alone" in invoke.refuses(*words)
    assert "--joint and --fit-scale exclude each other" in invoke.refuses(*words, "--fit-scale", code=2)
    with pytest.raises(ValueError, match="a joint estimate needs a scale"):
        Ratings.open(lake, "run").problems(joint=True, scale="fit")


def test_ratings__have_the_problems_of_their_run(invoke: Any, lake: Lake) -> None:
    put(invoke, lake)
    ratings = Ratings.open(lake, "run")
    frame = ratings.problems(count="submitted", scale=300.0, contest="spring")
    assert list(frame.columns) == COLUMNS.names
    words = ("--count", "submitted", "--scale", "300", "--contest", "spring")
    assert dict(zip(frame["problem"], frame["difficulty"], strict=True)) == {
        problem: row["difficulty"] for problem, row in shown(invoke, lake, *words).items()
    }
    with pytest.raises(ValueError, match="problems are those of a run in a lake"):
        Ratings.rate(pd.DataFrame({"contest": [1, 1], "player": ["a", "b"], "rank": [1, 2]}), "elo").problems()


def test_teams__count_once(invoke: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "contest,player,rank,crew\nx,ann,1,red\nx,bob,1,red\nx,cid,2,\nx,dan,3,blue\nx,eva,3,blue\n"
    Path("teams.csv").write_text(rows, "utf-8")
    where = ("--dataset", "games", "--lake", str(tmp_path / "lake"))
    invoke("ingest", "files", "teams.csv", "--column", "team=crew", *where)
    lake = Lake.open(tmp_path / "lake")
    rate_run(lake)
    Path("solves.csv").write_text(
        "contest,player,problem,solved\nx,ann,A,1\nx,bob,A,1\nx,dan,A,0\nx,cid,A,0\n", "utf-8"
    )
    put(invoke, lake)
    found = shown(invoke, lake)
    assert (found["A"]["counted"], found["A"]["solved"]) == (3, 1)
    words = ("problems", "--run", "run", "--contest", "x", "--players", "--format", "json", "--lake", lake.url)
    rows = json.loads(invoke(*words).out)
    assert [row["handle"] for row in rows] == ["ann+bob", "dan+eva", "cid"]
    assert [row["solved"] for row in rows] == [1, 0, 0]
    together = json.loads(invoke(*words, "--joint").out)
    assert [row["handle"] for row in together] == ["ann+bob", "dan+eva", "cid"]


def test_systems_without_uncertainty__are_certain(invoke: Any, lake: Lake) -> None:
    put(invoke, lake)
    rate_run(lake, run="plain", system="codeforces")
    words = ("problems", "--run", "plain", "--lake", lake.url)
    assert invoke(*words).code == 0
    for option in ("--uncertain", "--joint"):
        assert "needs the uncertainty of skills" in invoke.refuses(*words, option, code=2)
