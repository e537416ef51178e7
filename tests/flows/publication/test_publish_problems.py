"""Problems and their results: published beside the other tables, and again if results or ratings change."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from helpers.databases import Judge
from helpers.lakes import contest, copy_of, ingest, lake_of, rate_run
from helpers.problems import solve
from helpers.tables import delta, folder, read
from helpers.teams import rosters

from ranklake.flows.databases.connection import connect
from ranklake.flows.problems.columns import COLUMNS, OF_PROBLEMS
from ranklake.flows.problems.difficulties import RunProblems
from ranklake.flows.problems.options import ProblemOptions
from ranklake.flows.publication.database import publish_to_database
from ranklake.flows.publication.database_tables import DatabaseTables
from ranklake.flows.publication.publish import publish
from ranklake.flows.publication.verification import verify_published
from ranklake.storage import Dataset, Lake
from ranklake.storage.lake.schemas import PUBLISHED

SPRING = [("spring", "ann", "A", 1, 60), ("spring", "ann", "B", 0, ""), ("spring", "bob", "A", 1, 90)]
AUTUMN = [("autumn", "bob", "A", 0, ""), ("autumn", "eva", "C", 1, 300)]
PROBLEMS = [("A", "Apples", 1, "dp;greedy", "https://example.org/a"), ("B", "Beans", 2, "", "")]
NEW = ("problems", "results")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    contests = [
        contest("winter", "ann", "bob", "cid", "dan", time_seconds=1_000_000),
        contest("spring", "ann", "bob", ["cid", "dan"], time_seconds=2_000_000),
        contest("autumn", "eva", "bob", "ann", time_seconds=3_000_000),
    ]
    lake = lake_of(tmp_path_factory.mktemp("problems") / "lake", contests)
    rate_run(lake, system="glicko")
    return lake


@pytest.fixture
def lake(made: Lake, tmp_path: Path) -> Lake:
    return copy_of(made, tmp_path / "lake")


def results(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    names = ("round_index", "contest_id", "handle", "problem", "share", "after")
    return sorted(tuple(row[name] for name in names) for row in rows)


EXPECTED = [
    (1, "spring", "ann", "A", 1.0, 60.0),
    (1, "spring", "ann", "B", 0.0, None),
    (1, "spring", "bob", "A", 1.0, 90.0),
    (2, "autumn", "bob", "A", 0.0, None),
    (2, "autumn", "eva", "C", 1.0, 300.0),
]


def test_publish__has_problems_and_results_if_there_are_any(lake: Lake) -> None:
    assert publish(lake, "run").tables == (*PUBLISHED, "latest.parquet")
    assert not any(folder(lake, name).exists() for name in OF_PROBLEMS)
    versions = {name: delta(lake, name).version() for name in PUBLISHED}
    solve(lake, SPRING + AUTUMN, PROBLEMS)
    notes: list[str] = []
    assert list(verify_published(lake, "run", notes)) == []
    assert "has an earlier state of the run" in notes.pop()
    assert publish(lake, "run").tables == NEW
    assert {name: delta(lake, name).version() for name in PUBLISHED} == versions
    assert publish(lake, "run").tables == ()
    assert list(verify_published(lake, "run", notes)) == notes == []
    assert results(read(lake, "results").to_pylist()) == EXPECTED
    rows = sorted(read(lake, "problems").to_pylist(), key=lambda row: row["problem"])
    found = RunProblems(lake, "run", ProblemOptions()).table().rows.sort_by("problem").to_pylist()
    assert [{name: row[name] for name in COLUMNS.names} for row in rows] == found
    assert [(row["url"], row["tags"]) for row in rows] == [
        ("https://example.org/a", "dp;greedy"),
        (None, None),
        (None, None),
    ]


@pytest.mark.slow
def test_results__of_later_rounds_are_added_and_those_before_stay(lake: Lake) -> None:
    solve(lake, SPRING, PROBLEMS)
    publish(lake, "run")
    before = {path.name for path in folder(lake, "results").glob("*.parquet")}
    ingest(lake, [contest("late", "dan", "eva", time_seconds=4_000_000)])
    rate_run(lake, system="glicko")
    assert not {*NEW} & {*publish(lake, "run").tables}  # a round without results
    solve(lake, AUTUMN, PROBLEMS)
    assert publish(lake, "run").tables == NEW
    live = set(delta(lake, "results").file_uris())
    assert before < {Path(uri).name for uri in live}
    assert results(read(lake, "results").to_pylist()) == EXPECTED
    solve(lake, [("spring", "cid", "A", 1, 5)], PROBLEMS)
    assert publish(lake, "run").tables == NEW
    assert results(read(lake, "results").to_pylist()) == [(1, "spring", "cid", "A", 1.0, 5.0), *EXPECTED[3:]]
    assert publish(lake, "run", rebuild=True).tables[-2:] == NEW


@pytest.mark.slow
def test_results__follow_corrections_and_equal_problems(lake: Lake, tmp_path: Path) -> None:
    solve(lake, SPRING + AUTUMN, PROBLEMS)
    publish(lake, "run")
    with Dataset.ingest(lake, "games") as changing:
        changing.disqualify("spring", "bob", "cheated")
        changing.alias("ann", "anna", None, "renamed")
    rate_run(lake, system="glicko")
    assert {*NEW} <= {*publish(lake, "run").tables}
    assert results(read(lake, "results").to_pylist()) == [
        (1, "spring", "anna", "A", 1.0, 60.0), (1, "spring", "anna", "B", 0.0, None), *EXPECTED[3:],
    ]  # fmt: skip
    rate_run(lake, system="glicko", exclude=("spring", "autumn"))
    publish(lake, "run")
    assert read(lake, "results").num_rows == read(lake, "problems").num_rows == 0


def test_teams__have_a_row_for_each_member(tmp_path: Path) -> None:
    teams = rosters("x", ("red", "ann", "bob"), (None, "cid"))
    lake = lake_of(tmp_path / "lake", [teams])
    rate_run(lake)
    solve(lake, [("x", "ann", "A", 1, 5), ("x", "bob", "A", 1, 5), ("x", "cid", "A", 0, "")])
    publish(lake, "run")
    assert [row[2] for row in results(read(lake, "results").to_pylist())] == ["ann", "bob", "cid"]
    (problem,) = read(lake, "problems").to_pylist()
    assert (problem["counted"], problem["solved"]) == (2.0, 1.0)


def test_export__has_the_rows_of_the_tables(invoke: Any, lake: Lake) -> None:
    words = ("export", "--run", "run", "--format", "jsonl", "--lake", lake.url, "--what")
    assert "data set games has no results of problems" in invoke.refuses(*words, "results")
    solve(lake, SPRING + AUTUMN, PROBLEMS)
    rows = {name: [json.loads(line) for line in invoke(*words, name).out.splitlines()] for name in NEW}
    assert results(rows["results"]) == EXPECTED
    assert [list(row) for row in rows["problems"]] == [OF_PROBLEMS["problems"].names] * 3


def test_database__has_the_tables_of_the_lake(lake: Lake, database: Judge) -> None:
    def stored(name: str) -> list[dict[str, Any]]:
        with closing(connect(database.url, read_only=True)) as connection:
            return list(DatabaseTables(connection).rows(name).to_pylist())

    publish_to_database(lake, "run", database.url)
    solve(lake, SPRING, PROBLEMS)
    assert publish_to_database(lake, "run", database.url).tables == NEW
    assert results(stored("results")) == EXPECTED[:3]
    solve(lake, AUTUMN, PROBLEMS)
    assert publish_to_database(lake, "run", database.url).tables == NEW
    assert publish_to_database(lake, "run", database.url).tables == ()
    publish(lake, "run")
    for name in NEW:
        keys = [key for key in ("round_index", "player", "problem") if key in OF_PROBLEMS[name].names]
        rows = [
            sorted(of, key=lambda row: [row[key] for key in keys])
            for of in (stored(name), read(lake, name).to_pylist())
        ]
        assert rows[0] == rows[1]
    publish_to_database(lake, "run", database.url, rebuild=True)
    assert results(stored("results")) == EXPECTED
