"""The content of published tables: that of the run."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from helpers.lakes import contest, lake_of, rate_run
from helpers.publishing import CONTESTS, go_on
from helpers.tables import TABLES, assert_published, delta, folder, read

from ranklake.flows.publication.publish import publish
from ranklake.storage import Lake, LakeError, Run
from ranklake.storage.lake.schemas import PUBLISHED


def test_publish__tables_have_the_content_of_the_run(lake: Lake) -> None:
    report = publish(lake, "run")
    assert_published(lake)
    assert report.tables == (*TABLES, "latest.parquet")
    assert (report.rounds, report.kept) == (30, 0)
    assert report.added == Run.open(lake, "run").read_rounds().num_rows
    assert {name: delta(lake, name).version() for name in TABLES} == dict.fromkeys(TABLES, 1)


@pytest.mark.slow
def test_publish__deviations_change_the_display_ratings_in_all_tables(published: Lake) -> None:
    report = publish(published, "run", deviations=1.5)
    assert_published(published, deviations=1.5)
    assert report.kept == 0
    assert report.tables == ("ratings", "leaderboard", "latest.parquet")
    publish(published, "run")
    assert_published(published)


@pytest.mark.slow
@pytest.mark.parametrize("system", ["elo", "codeforces", "atcoder"])
def test_publish__supports_systems_without_performances_and_with_offsets(lake: Lake, system: str) -> None:
    rate_run(lake, run="other", system=system, max_rounds=20)
    publish(lake, "other")
    rate_run(lake, run="other", system=system)
    publish(lake, "other")
    assert_published(lake, "other")
    assert (pc.all(pc.is_null(read(lake, "ratings", run="other").column("perf"))).as_py()) == (system == "elo")


def test_publish__ratings_are_partitioned_by_year_and_columns_have_a_meaning_and_a_unit(published: Lake) -> None:
    table = delta(published, "ratings")
    assert table.metadata().partition_columns == ["year"]
    years = {path.name for path in folder(published, "ratings").glob("year=*")}
    assert years == {"year=1970", "year=1971", "year=1972"}
    assert set(read(published, "ratings").column("year").to_pylist()) == {1970, 1971, 1972}
    for name in TABLES:
        schema = pa.schema(delta(published, name).schema().to_arrow())
        assert sorted(schema.names) == sorted(PUBLISHED[name].names)
        assert all(field.metadata[b"meaning"] for field in schema)
    assert pa.schema(table.schema().to_arrow()).field("mu").metadata[b"unit"] == b"rating points"


def test_publish__contests_outside_the_calendar_have_no_year(tmp_path: Path) -> None:
    times = [-(10**14), -1, 0, 253_402_300_799, 253_402_300_800, 10**14]
    lake = lake_of(tmp_path, [contest(str(i), "ada", "bob", time_seconds=t) for i, t in enumerate(times)])
    rate_run(lake)
    publish(lake, "run")
    rows = read(lake, "ratings").to_pylist()
    assert [row["year"] for row in rows[::2]] == [None, 1969, 1970, 9999, None, None]
    assert [row["time_seconds"] for row in rows[::2]] == times


@pytest.mark.slow
def test_publish__supports_spaces_and_letters_in_the_path(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "Wettkämpfe 2024 (alle)", CONTESTS[:10])
    rate_run(lake)
    publish(lake, "run")
    go_on(lake, CONTESTS[:12])
    publish(lake, "run", maintain=True)
    assert_published(lake)


@pytest.mark.parametrize("name", ["#1", "100%20", "a?", "[x]"])
def test_publish__refuses_a_path_that_the_library_does_not_support(tmp_path: Path, name: str) -> None:
    lake = lake_of(tmp_path / name, CONTESTS[:5])
    rate_run(lake)
    with pytest.raises(LakeError, match=r"Delta tables cannot be written where a name has .*; move the lake"):
        publish(lake, "run")
    assert not folder(lake).exists()
