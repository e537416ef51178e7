"""The problems of a published run: lists, one problem, those for a player; and when they are made again."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from helpers.lakes import contest, lake_of, rate_run
from helpers.problems import STRANGE, solve
from helpers.teams import rosters
from twins.problems import RATE, chance

from ranklake.flows.answers.problems.chances import solve_chances
from ranklake.flows.answers.problems.published import NoProblemError, PublishedProblems
from ranklake.flows.answers.run import PublishedRun, open_published
from ranklake.flows.publication.publish import publish
from ranklake.flows.publication.verification import verify_published
from ranklake.storage import Dataset, Lake, Run

SPRING = [("spring", player, "A", 1, 60) for player in ("ann", "bob", "cid")]
SPRING += [("spring", "ann", "B", 1, 600), ("spring", "dan", "B", 0, ""), ("spring", "ann", "C", 0, "")]
AUTUMN = [("autumn", "bob", "A", 0, ""), ("autumn", "eva", STRANGE, 1, 5)]
PROBLEMS = [("A", "Äpfel", 2, "dp;greedy", ""), ("B", "Beans", 1, "dp", ""), ("unused", "No", 1, "other", "")]


def made(path: Path, system: str = "glicko") -> Lake:
    contests = [
        contest("winter", "ann", "bob", "cid", "dan", time_seconds=1_000_000),
        contest("spring", "ann", "bob", ["cid", "dan"], time_seconds=2_000_000),
        contest("autumn", "eva", "bob", "ann", time_seconds=3_000_000),
    ]
    lake = lake_of(path, contests)
    rate_run(lake, system=system)
    solve(lake, SPRING + AUTUMN, PROBLEMS)
    publish(lake, "run")
    return lake


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> PublishedRun:
    return open_published(made(tmp_path_factory.mktemp("problems") / "lake"), "run")


@pytest.fixture(scope="module")
def problems(run: PublishedRun) -> PublishedProblems:
    assert run.problems is not None
    return run.problems


def names(run: PublishedRun, **filters: object) -> list[str]:
    found: list[str] = run.problem_page(**filters).rows.column("problem").to_pylist()
    return found


def test_filters__choose_problems(run: PublishedRun, problems: PublishedProblems) -> None:
    everything = names(run)
    assert sorted(everything) == sorted(["A", "B", "C", STRANGE])
    difficulty = dict(zip(everything, problems.table.column("difficulty").to_pylist(), strict=True))
    assert names(run, order="-difficulty") == everything[::-1]
    assert [name for name in names(run, contest="autumn") if name != STRANGE] == ["A"]
    assert names(run, low=difficulty["B"], high=difficulty["C"]) == [
        name for name in everything if difficulty["B"] <= difficulty[name] < difficulty["C"]
    ]
    assert sorted(names(run, tag="dp")) == ["A", "B"]
    assert names(run, q="APFEL") == ["A"]
    assert names(run, contest="none") == []
    assert names(run, order="solved")[0] == "A"
    assert run.problem_page(start=1, limit=2).next == 3
    assert problems.tags == ["dp", "greedy"]
    assert problems.of_contest("spring").column("problem").to_pylist() == ["B", "A", "C"]


def test_problem__has_its_curve_and_its_bands(problems: PublishedProblems) -> None:
    found = problems.problem("A")
    assert (found["contest_ids"], found["tags"]) == (["spring", "autumn"], ["dp", "greedy"])
    ratings = [point["rating"] for point in found["curve"]]
    assert len(ratings) == 21
    assert np.diff(ratings) == pytest.approx([80.0] * 20)
    for point in found["curve"]:
        assert point["chance"] == pytest.approx(chance(RATE, point["rating"] - found["difficulty"]), rel=1e-12)
    chances = {round(point["rating"] - found["difficulty"]): point["chance"] for point in found["curve"]}
    assert (chances[0], chances[400]) == pytest.approx((0.5, 10 / 11))
    assert sum(band["counted"] for band in found["bands"]) == found["counted"] == 7
    assert sum(band["solved"] for band in found["bands"]) == found["solved"] == 3
    assert all(band["high"] == band["low"] + 100.0 for band in found["bands"])
    with pytest.raises(NoProblemError) as error:
        problems.problem("a")
    assert error.value.near[0] == "A"


def test_bands__hold_the_ratings_at_entry(tmp_path: Path) -> None:
    lake = made(tmp_path / "lake", "elo")
    found = open_published(lake, "run").problems
    assert found is not None
    entries = [row for row in Run.open(lake, "run").read_rounds().to_pylist() if row["contest_id"] == "spring"]
    solved = {0: {"ann"}, 1: {"ann", "bob", "cid"}}
    handles = Dataset.open(lake, "games").handles().to_pylist()
    for problem, who in zip("BA", solved.values(), strict=True):
        rows = entries if problem == "B" else entries + [
            row for row in Run.open(lake, "run").read_rounds().to_pylist() if row["contest_id"] == "autumn"
        ]  # fmt: skip
        for band in found.problem(problem)["bands"]:
            inside = [row for row in rows if band["low"] <= row["mu_prior"] < band["high"]]
            assert band["counted"] == len(inside)
            good = [row for row in inside if handles[row["player"]] in who and row["contest_id"] == "spring"]
            assert band["solved"] == len(good)
            assert band["share"] == (len(good) / len(inside) if inside else None)


def test_player__has_problems_of_a_chance(run: PublishedRun, problems: PublishedProblems) -> None:
    board = {row["handle"]: row for row in run.leaderboard_table.to_pylist()}
    ann = board["ann"]
    found = run.problems_for("ann", chance=0.5, width=0.5).rows.to_pylist()
    assert [row["problem"] for row in found] == names(run)
    assert {row["problem"] for row in found if row["unsolved"]} == {"C", STRANGE}
    for row in found:
        variance = ann["sigma"] ** 2 + row["deviation"] ** 2
        flatter = 1.0 / math.sqrt(1.0 + 3.0 * variance * (math.log(10) / 400 / math.pi) ** 2)
        exponent = flatter * (row["difficulty"] - ann["mu"]) / 400
        assert row["chance"] == pytest.approx(1.0 / (1.0 + 10.0**exponent), rel=1e-12)
    one = found[1]
    assert [row["problem"] for row in run.problems_for("ann", chance=one["chance"], width=1e-9).rows.to_pylist()] == [
        one["problem"]
    ]
    left = run.problems_for("ann", chance=0.5, width=0.5, unsolved=True).rows
    assert set(left.column("problem").to_pylist()) == {"C", STRANGE}


def test_chance__of_a_certain_player_and_problem_is_that_of_the_equation() -> None:
    assert solve_chances(1500.0, 1500.0, 400.0) == 0.5
    assert solve_chances(1900.0, 1500.0, 400.0) == pytest.approx(10 / 11)
    assert solve_chances([1e9, -1e9], 0.0, 400.0).tolist() == [1.0, 0.0]


def test_members__of_a_team_have_all_solved(tmp_path: Path) -> None:
    teams = rosters("x", ("red", "ada", "bob"), ("blue", "cyd", "dan"), time_seconds=100_000)
    lake = lake_of(tmp_path / "lake", [teams])
    rate_run(lake)
    solve(lake, [("x", "bob", "A", 1, 5), ("x", "cyd", "A", 0, 5)])
    publish(lake, "run")
    run = open_published(lake, "run")
    left = {handle: run.problems_for(handle, chance=0.5, width=0.5).rows for handle in ("ada", "bob", "cyd", "dan")}
    unsolved = {handle: rows.column("unsolved").to_pylist() for handle, rows in left.items()}
    assert unsolved == {"ada": [False], "bob": [False], "cyd": [True], "dan": [True]}
    assert run.problems is not None
    assert run.problems.problem("A")["counted"] == 2


def test_publish__makes_problems_again_when_results_or_ratings_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ranklake.flows.problems import published

    lake, times = made(tmp_path / "lake"), []
    make = published.problem_tables
    monkeypatch.setattr(published, "problem_tables", lambda problems: [times.append(1), make(problems)][1])

    def state() -> tuple[int, str, list[str]]:
        notes: list[str] = []
        assert list(verify_published(lake, "run", notes)) == []
        publish(lake, "run")
        manifest = open_published(lake, "run").manifest
        return len(times), manifest.etag, notes

    n, etag, notes = state()
    assert (n, notes) == (0, [])
    solve(lake, [("spring", "dan", "B", 1, 60)])
    n, changed, notes = state()
    assert (n, len(notes)) == (1, 1)
    assert "has an earlier state" in notes[0]
    assert changed != etag
    assert state() == (1, changed, [])
    with Dataset.ingest(lake, "games") as changing:
        changing.remove("autumn", "wrong")
    rate_run(lake, system="glicko")
    publish(lake, "run")
    assert len(times) == 2
    assert STRANGE not in names(open_published(lake, "run"))
    assert list(verify_published(lake, "run", notes)) == []


def test_run__without_results_has_no_problems(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", [contest("one", "ann", "bob")])
    rate_run(lake)
    publish(lake, "run")
    run = open_published(lake, "run")
    assert (run.problems, run.manifest.problems, run.facts["n_problems"]) == (None, None, 0)
