"""Limits of the rating in tables, contest files and databases: read, checked, and part of the digest."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pyarrow as pa
import pytest
from helpers.lakes import contest

from ranklake.flows.sources.base import IngestReport, SourceError
from ranklake.flows.sources.column_names import Columns
from ranklake.flows.sources.databases.query import QueryResult
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.files.reference import parse_reference
from ranklake.flows.sources.options import ReadOptions
from ranklake.storage import Contest, Dataset, Lake
from ranklake.storage.maintenance.verify import verify_dataset

REFERENCE = {"name": "x", "time_seconds": 5, "standings": [["a", 0, 0], ["b", 1, 1]]}


def from_table(tmp_path: Path, text: str, *columns: str) -> list[Contest]:
    path = tmp_path / "results.csv"
    path.write_text(text)
    return list(read_contests(path, ReadOptions.parse(columns)))


def limits_of(one: Contest) -> tuple[float, float]:
    return one.rated_above, one.rated_below


def test_table__has_limits_of_each_contest(tmp_path: Path) -> None:
    text = "contest,player,rank,rated_above,rated_below\n1,a,1,,2100\n1,b,2,,2100\n2,a,1,1900,\n3,a,1,,\n"
    found = [limits_of(one) for one in from_table(tmp_path, text)]
    assert found == [(-math.inf, 2100.0), (1900.0, math.inf), (-math.inf, math.inf)]
    named = "contest,player,rank,ceiling\n1,a,1,1200\n1,b,2,1200\n"
    assert [limits_of(one) for one in from_table(tmp_path, named, "rated_below=ceiling")] == [(-math.inf, 1200.0)]


def test_query__has_limits_of_each_contest() -> None:
    rows = {"contest": [1, 1], "player": [7, 8], "rank": [1, 2], "time": [5, 5], "rated_above": [1000, 1000]}
    table = pa.table(rows)
    result = QueryResult(table, Columns().find(table.column_names), None, True, {})
    found = list(result.contests(ReadOptions(), IngestReport(), "database"))
    assert [limits_of(one) for one in found] == [(1000.0, math.inf)]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("rated_below\n1,a,1,high\n", r"row 1.*: a limit must be within -1e\+12..1e\+12 .*, got rated_below = 'high'"),
        ("rated_above\n1,a,1,1200\n1,b,2,1300\n", "rated_above differs inside the contest: 1200 and 1300"),
        ("rated_above\n1,a,1,-2e12\n", "a limit must be within"),
        (
            "rated_above,rated_below\n1,a,1,1900,1200\n",
            "rated_above = 1900 is not less than rated_below = 1200: no rating",
        ),
        (
            "rated_above,rated_below\n1,a,1,1200,1200\n",
            "rated_above = 1200 is not less than rated_below = 1200: no rating",
        ),
    ],
)
def test_table__with_wrong_limits_names_the_value(tmp_path: Path, text: str, rule: str) -> None:
    with pytest.raises(SourceError, match=rule):
        from_table(tmp_path, f"contest,player,rank,{text}")


def test_teams__with_limits_are_a_fault(tmp_path: Path) -> None:
    text = "contest,player,rank,crew,rated_below\n1,a,1,red,1500\n1,b,1,red,1500\n1,c,2,,1500\n"
    with pytest.raises(SourceError, match="contest 1: a contest of teams has rated_above or rated_below"):
        from_table(tmp_path, text, "team=crew")


def test_reference__has_limits() -> None:
    read = parse_reference(json.dumps(REFERENCE | {"rated_above": 1200, "rated_below": 1900.5}).encode(), "1")
    assert limits_of(read) == (1200.0, 1900.5)
    assert limits_of(parse_reference(json.dumps(REFERENCE).encode(), "1")) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("limits", "rule"),
    [
        ({"rated_below": "2100"}, "not the reference format: .*rated_below"),
        ({"rated_above": 2e12}, r"rated_above must be within .*, got 2000000000000.0"),
        ({"rated_above": 1500, "rated_below": 1499}, "rated_above = 1500 is not less than rated_below = 1499"),
    ],
)
def test_reference__with_wrong_limits_names_the_value(limits: dict[str, object], rule: str) -> None:
    with pytest.raises(SourceError, match=rule):
        parse_reference(json.dumps(REFERENCE | limits).encode(), "1")


def test_digest__changes_with_limits_alone() -> None:
    plain = contest("1", "a", "b")
    assert plain.content_digest == "af314464df022f8faa5766d9c6084b74"  # of releases without limits
    limits = [{"rated_above": 1.0}, {"rated_below": 1.0}, {"rated_above": 0.0, "rated_below": 1.0}]
    some = [dataclasses.replace(plain, **one) for one in limits]
    some += [dataclasses.replace(one, field_includes_unrated=True) for one in some]
    assert len({one.content_digest for one in (plain, *some)}) == 7


def test_data_set__keeps_limits_through_corrections(lake: Lake) -> None:
    one = contest("1", "a", "b", "c", rated_above=1200.0, rated_below=1900.0)
    with Dataset.ingest(lake, "games") as adding:
        adding.add(one)
        adding.add(contest("2", "a", "b"))
    with Dataset.ingest(lake, "games") as adding:
        adding.disqualify("1", "b")
    dataset = Dataset.open(lake, "games")
    assert dataset.contests.select(["rated_above", "rated_below"]).to_pylist() == [
        {"rated_above": 1200.0, "rated_below": 1900.0},
        {"rated_above": None, "rated_below": None},
    ]
    assert (
        dataset.contests["content_digest"][0].as_py()
        == dataclasses.replace(contest("1", "a", "c"), rated_above=1200.0, rated_below=1900.0).content_digest
    )
    assert list(verify_dataset(dataset)) == []
