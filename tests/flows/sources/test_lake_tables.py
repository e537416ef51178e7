"""Folders with the log of a table: deleted rows do not come back."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.delta_tables import delete_row, write_delta

from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.lake_tables import DeltaRows, is_delta, lake_table_of

MARKS = {
    "delta": "_delta_log/0.json",
    "hudi": ".hoodie/hoodie.properties",
    "spark": "_spark_metadata/0",
    "iceberg": "metadata/v1.metadata.json",
}


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def players(root: Path) -> list[str]:
    return [name for batch in DeltaRows(root, root.name).batches(["player"]) for name in batch["player"].to_pylist()]


@pytest.mark.parametrize("kind", MARKS)
def test_table__is_found_from_its_folder_its_parts_and_its_files(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "results"
    touch(root / MARKS[kind])
    part = touch(root / "year=2024" / "part.parquet")
    (tmp_path / "link.parquet").symlink_to(part)
    for path in (root, part.parent, part, tmp_path / "link.parquet"):
        assert lake_table_of(path) == (kind, root)
    for path in (tmp_path, touch(root / "notes.csv"), touch(tmp_path / "plain.parquet")):
        assert lake_table_of(path) is None


@pytest.mark.parametrize("kind", [kind for kind in MARKS if kind != "delta"])
def test_table__of_another_kind_is_refused_with_a_remedy(tmp_path: Path, kind: str) -> None:
    touch(tmp_path / "results" / MARKS[kind])
    with pytest.raises(SourceError, match=r"results: a.* table.*; export its newest version to one Parquet file"):
        is_delta(tmp_path / "results")


def test_delta__part_of_a_table_is_refused(tmp_path: Path) -> None:
    root = write_delta(tmp_path / "results", {"player": ["ann"], "day": ["1"]}, partition_by=["day"])
    for part in (root / "day=1", *root.glob("*/*.parquet")):
        with pytest.raises(SourceError, match=r"part of the Delta table results, .*; give the folder of the whole"):
            is_delta(part)
    assert is_delta(root)


def test_delta__rows_are_those_of_the_newest_version(tmp_path: Path) -> None:
    root = write_delta(tmp_path / "results", {"player": ["ann"], "day": ["1"]}, {"player": ["bob"], "day": ["2"]})
    assert players(root) == ["bob"]


def test_delta__rows_of_a_deletion_vector_are_deleted(tmp_path: Path) -> None:
    root = write_delta(tmp_path / "results", {"player": ["ann", "bob", "cyd"]})
    delete_row(root, 1)
    assert players(root) == ["ann", "cyd"]


def test_delta__columns_of_partitions_are_read_with_their_type(tmp_path: Path) -> None:
    columns = {"player": ["ann", "bob"], 'a "day"/1': [1, 2]}
    root = write_delta(tmp_path / "results", columns, partition_by=['a "day"/1'])
    rows = DeltaRows(root, "results")
    found = [row for batch in rows.batches(['a "day"/1', "player"]) for row in batch.to_pylist()]
    assert sorted(found, key=str) == [{'a "day"/1': 1, "player": "ann"}, {'a "day"/1': 2, "player": "bob"}]
    assert rows.n_files == 2


@pytest.mark.parametrize("damage", ["file", "log"])
def test_delta__damage_names_the_table(tmp_path: Path, damage: str) -> None:
    root = write_delta(tmp_path / "results", {"player": ["ann"]})
    if damage == "file":
        next(root.glob("*.parquet")).unlink()
    else:
        next(root.glob("_delta_log/*.json")).write_text("{")
    with pytest.raises(SourceError, match="results: the Delta table cannot be read: "):
        players(root)


def test_ranklake__files_of_a_data_set_are_refused(tmp_path: Path) -> None:
    touch(tmp_path / "lake" / "chess" / "contests" / "contests.parquet")
    part = touch(tmp_path / "lake" / "chess" / "standings" / "a.parquet")
    for path in (part, part.parent, part.parent.parent):
        with pytest.raises(SourceError, match="a lake of ranklake, whose own files are not read"):
            is_delta(path)


def test_delta__of_more_columns_than_allowed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_delta(tmp_path / "results", {"player": ["ann"], "a": ["1"], "b": ["1"]})
    monkeypatch.setattr("ranklake.flows.sources.limits.MAX_COLUMNS", 2)
    with pytest.raises(SourceError, match="results: the table has more than 2 columns, the limit"):
        DeltaRows(root, root.name)
