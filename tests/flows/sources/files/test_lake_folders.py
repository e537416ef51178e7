"""Folders as tables: Delta tables, folders whose names hold columns, leftovers of other programs, lakes below."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.commands import Command
from helpers.delta_tables import delete_row, write_delta

from ranklake.flows.common.extras import MissingExtraError
from ranklake.flows.ingestion.file_changes import watch
from ranklake.flows.sources.base import IngestReport, SourceError
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.lake_tables import DeltaRows, is_delta, lake_table_of
from ranklake.flows.sources.options import ReadOptions
from ranklake.storage import Lake

DAYS = [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3, 4)]


def results(contest: str, *players: str, **more: Any) -> dict[str, Any]:
    return {"contest": [contest] * len(players), "player": players, "rank": range(1, len(players) + 1)} | {
        name: value if isinstance(value, list | pa.Array) else [value] * len(players) for name, value in more.items()
    }


def read(path: Path | str | list[str], *columns: str, **settings: Any) -> dict[str, list[str]]:
    """The players of each contest, best first, in rated order."""
    found = read_contests(path, ReadOptions.parse(columns, **settings))
    return {contest.contest_id: contest.handles.to_pylist() for contest in found}


def refusal(path: Path | str | list[str], *columns: str, **settings: Any) -> str:
    with pytest.raises(SourceError) as caught:
        read(path, *columns, **settings)
    return str(caught.value)


def write(path: Path, columns: dict[str, Any] | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(columns, str):
        path.write_text(columns, "utf-8")
    else:
        pq.write_table(pa.table(columns), path)
    return path


# --- The log -------------------------------------------------------------------------------------------------------

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


# --- Delta --------------------------------------------------------------------------------------------------------


def append(folder: Path, *commits: dict[str, Any], **how: Any) -> Path:
    import deltalake

    for columns in commits:
        deltalake.write_deltalake(str(folder), pa.table(columns), mode="append", **how)
    return folder


def test_delta__replaced_rows_do_not_come_back(tmp_path: Path) -> None:
    root = write_delta(tmp_path / "results", results("x", "ann", "bob"), results("y", "bob", "ann"))
    assert read(root) == {"y": ["bob", "ann"]}
    assert "part of the Delta table results" in refusal(f"{root}/*.parquet")
    assert "part of the Delta table results" in refusal([str(file) for file in root.glob("*.parquet")])


def test_delta__rows_of_a_deletion_vector_do_not_come_back(tmp_path: Path) -> None:
    root = write_delta(tmp_path / "results", results("x", "ann", "bob", "cyd"))
    delete_row(root, 1)
    assert read(root) == {"x": ["ann", "cyd"]}


@pytest.mark.parametrize("partition_by", [None, ["contest"], ["time"]])
def test_delta__contests_are_in_order_of_time(tmp_path: Path, partition_by: list[str] | None) -> None:
    commits = [results(name, "ann", "bob", time=day) for name, day in zip("bcad", DAYS, strict=True)]
    root = append(tmp_path / "results", *commits, partition_by=partition_by)
    assert list(read(root)) == ["b", "c", "a", "d"]
    assert "the contest id is no number" in refusal(root, order="number")  # an explicit order is taken


def test_delta__without_times_the_order_must_be_said(tmp_path: Path) -> None:
    root = append(tmp_path / "results", results("2", "ann", "bob"), results("1", "bob", "ann"))
    assert "results: the order of the contests is unknown: a Delta table has no order" in refusal(root)
    assert list(read(root, order="number")) == ["1", "2"]


def test_delta__is_one_of_several_tables(tmp_path: Path) -> None:
    write_delta(tmp_path / "all" / "a", results("x", "ann", "bob"), results("y", "bob", "ann"))
    write(tmp_path / "all" / "b.parquet", results("z", "ann", "cyd"))
    expected = {"y": ["bob", "ann"], "z": ["ann", "cyd"]}
    assert read(tmp_path / "all") == expected
    assert read(f"{tmp_path}/all/*") == expected
    assert read([f"{tmp_path}/all/a", f"{tmp_path}/all/b.parquet"]) == expected


def test_delta__limits_and_settings_are_checked(tmp_path: Path) -> None:
    root = write_delta(tmp_path / "results", results("x", "ann", "bob", more=[[1], [2]]))
    assert "results: 2 rows, at most 1 are read as one table" in refusal(root, limits=["rows=1"])
    assert "holds list<" in refusal(root, "score=more")
    with pytest.raises(ValueError, match="an encoding applies to text only; results is delta"):
        read(root, encoding="latin-1")


def test_delta__without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_delta(tmp_path / "results", results("x", "ann", "bob"))
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(MissingExtraError, match=r"results is a Delta table: reading it needs .*\[publish\]"):
        read(root)


@pytest.mark.slow
def test_delta__of_a_run_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    invoke, place = Command(monkeypatch, capsys), ("--lake", tmp_path / "lake")
    for table in (
        "contest,player,rank\nx,ann,1\nx,bob,2\n",
        "contest,player,rank\nx,bob,1\nx,cyd,2\ny,bob,1\ny,ann,2\n",
    ):
        file = write(tmp_path / "results.csv", table)
        invoke("ingest", "files", file, "--dataset", "d", *place)
        invoke("rate", "--dataset", "d", "--system", "elo-mmr", *place)
        assert invoke("publish", "--run", "d-elo-mmr", *place).code == 0
    published = tmp_path / "lake" / "published" / "d-elo-mmr" / "ratings"
    columns = ("contest=contest_id", "player=handle")
    assert read(published, *columns) == {"x": ["bob", "cyd"], "y": ["bob", "ann"]}
    assert "a lake of ranklake, whose own files are not read" in invoke.refuses(
        "ingest", "files", tmp_path / "lake" / "d", "--dataset", "f", *place
    )


def test_delta__attributes_of_players_are_read_by_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke, place = Command(monkeypatch, capsys), ("--dataset", "d", "--lake", tmp_path / "lake")
    invoke("ingest", "files", write(tmp_path / "a.csv", "contest,player,rank\nx,ann,1\nx,bob,2\n"), *place)
    root = write_delta(tmp_path / "people", {"handle": ["bob"], "team": ["a"]}, {"handle": ["ann"], "team": ["b"]})
    assert "team of 1 player" in invoke("attributes", root, *place).out
    assert "part of the Delta table people" in invoke.refuses("attributes", next(root.glob("*.parquet")), *place)


def test_delta__changes_of_the_log_alone_are_seen(tmp_path: Path) -> None:
    import deltalake

    root = append(tmp_path / "all" / "results", results("x", "ann", "bob"), results("y", "bob", "ann"))
    lake = Lake.open(tmp_path / "lake", create=True)
    for path in (root, f"{tmp_path}/all/*"):
        watch(lake, "d", path, sleep=lambda _: None).keep()
        assert not watch(lake, "d", path, sleep=lambda _: None).changed
        deltalake.DeltaTable(str(root)).delete("contest = 'x'")
        assert watch(lake, "d", path, sleep=lambda _: None).changed
        append(root, results("x", "ann", "bob"))


# --- Folders whose names hold columns -----------------------------------------------------------------------------


def test_hive__names_of_folders_are_columns(tmp_path: Path) -> None:
    for day, contest in ((2, "a%2Fb%20c"), (1, "z")):
        rows = {"player": ["ann", "bob"], "rank": [1, 2]}
        write(tmp_path / "hive" / f"time=2024-01-0{day}" / f"contest={contest}" / "part.parquet", rows)
    expected = {"z": ["ann", "bob"], "a/b c": ["ann", "bob"]}
    assert read(tmp_path / "hive", order="time") == expected
    assert read(f"{tmp_path}/hive/*/*/part.*", order="time") == expected
    report = IngestReport()
    (contest,) = read_contests(f"{tmp_path}/hive/time=2024-01-01/contest=z/part.parquet", report=report)
    assert (contest.contest_id, contest.time_seconds) == ("z", int(DAYS[0].timestamp()))
    assert report.notes[0] == "columns used: contest, player, rank, time"
    write(tmp_path / "text" / "contest=csv" / "part.csv", "player,rank\nbob,1\nann,2\n")
    write(tmp_path / "text" / "contest=json" / "part.jsonl", '{"player": "ann", "rank": 1}\n')
    assert read(tmp_path / "text") == {"csv": ["bob", "ann"], "json": ["ann"]}


def test_hive__other_columns_are_named_as_ignored(tmp_path: Path) -> None:
    path = write(tmp_path / "region=eu" / "a.csv", "contest,player,rank\nx,ann,1\n")
    report = IngestReport()
    list(read_contests(path, report=report))
    assert report.notes[0] == "columns used: contest, player, rank; ignored: region"


def test_hive__the_default_partition_is_null(tmp_path: Path) -> None:
    write(tmp_path / "hive" / "contest=__HIVE_DEFAULT_PARTITION__" / "a.csv", "player,rank\nann,1\n")
    assert "a.csv, row 1" in refusal(tmp_path / "hive")
    assert "the row names no contest" in refusal(tmp_path / "hive")


@pytest.mark.parametrize("column", ["contest", "Contest"])
def test_hive__a_column_in_the_file_and_in_the_folder_is_a_conflict(tmp_path: Path, column: str) -> None:
    write(tmp_path / "hive" / "contest=x" / "a.csv", f"{column},player,rank\ny,ann,1\n")
    message = refusal(tmp_path / "hive")
    assert "the column 'contest' is in the file and in the name of a folder (contest=x)" in message


# --- Types --------------------------------------------------------------------------------------------------------

NAMES = ["ann", "bob"]
EQUIVALENT = {
    "text": ("player", [pa.array(NAMES), pa.array(NAMES, pa.string_view()), pa.array(NAMES, pa.large_string()),
                        pa.array(NAMES).dictionary_encode(), pa.array(NAMES, pa.large_string()).dictionary_encode()]),
    "whole numbers": ("rank", [pa.array([1, 2], kind) for kind in (pa.int32(), pa.int64(), pa.uint8(), pa.uint64(),
                                                                  pa.float32(), pa.decimal128(9, 2))]),
    "times": ("time", [pa.array([date(2024, 1, 1)] * 2, pa.date32()), pa.array([date(2024, 1, 1)] * 2, pa.date64()),
                       *(pa.array([datetime(2024, 1, 1)] * 2, pa.timestamp(unit, zone))
                         for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC")),
                       pa.array([DAYS[0]] * 2, pa.timestamp("us", "Asia/Tokyo"))]),
}  # fmt: skip


@pytest.mark.parametrize("kind", EQUIVALENT)
def test_types__equivalent_ones_of_several_files_are_one(tmp_path: Path, kind: str) -> None:
    column, values = EQUIVALENT[kind]
    order = [*range(len(values)), *reversed(range(len(values)))]  # each type before and after each other
    for number, value in enumerate(order):
        rows = results(f"c{number:02}", "ann", "bob", time=DAYS[0].date()) | {column: values[value]}
        write(tmp_path / "all" / f"{number:02}.parquet", rows)
    contests = list(read_contests(tmp_path / "all"))
    assert [contest.handles.to_pylist() for contest in contests] == [NAMES] * len(order)
    assert {contest.time_seconds for contest in contests} == {int(DAYS[0].timestamp())}


def test_types__of_several_kinds_name_both_files(tmp_path: Path) -> None:
    write(tmp_path / "all" / "a.parquet", results("x", "ann", "bob"))
    write(tmp_path / "all" / "b.parquet", results("y", "ann", "bob") | {"player": [1, 2]})
    assert refusal(tmp_path / "all") == (
        "b.parquet: the column 'player' holds string in a.parquet, int64 here; files of one table need equivalent types"
    )


def test_types__a_value_beyond_the_common_type_is_named(tmp_path: Path) -> None:
    write(tmp_path / "all" / "a.parquet", results("x", "ann", time=pa.array([date(9999, 1, 1)])))
    write(tmp_path / "all" / "b.parquet", results("y", "ann", time=pa.array([DAYS[0]], pa.timestamp("ns"))))
    assert "a.parquet: the column 'time' holds a value that is no timestamp[ns, tz=UTC]" in refusal(tmp_path / "all")


# --- Leftovers and lakes ------------------------------------------------------------------------------------------

LEFTOVERS = ["~$a.csv", ".~lock.a.csv#", "._a.csv", ".#a.csv", "#a.csv#", "a.csv~", ".a.csv.swp", ".DS_Store",
             "Thumbs.db", "desktop.ini"]  # fmt: skip


def test_leftovers__of_other_programs_are_no_results(tmp_path: Path) -> None:
    table = write(tmp_path / "all" / "a.csv", "contest,player,rank\nx,ann,1\nx,bob,2\n")
    lake = Lake.open(tmp_path / "lake", create=True)
    watch(lake, "d", tmp_path / "all", sleep=lambda _: None).keep()
    others = [write(tmp_path / "all" / name, "ann    ") for name in LEFTOVERS]
    expected = {"x": ["ann", "bob"]}
    report = IngestReport()
    list(read_contests(tmp_path / "all", report=report))
    assert report.other_files == len(LEFTOVERS)
    assert read(tmp_path / "all") == read(tmp_path / "all", input_format="csv") == expected
    assert read(f"{tmp_path}/all/*.csv*") == read([str(table), *map(str, others)]) == expected
    assert not watch(lake, "d", tmp_path / "all", sleep=lambda _: None).changed
    assert "left by another program, and no other file is given" in refusal([str(others[0]), str(others[1])])


@pytest.mark.parametrize("lake", ["lake", "."])
def test_lake__below_a_folder_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lake: str
) -> None:
    monkeypatch.chdir(tmp_path)
    invoke, ingest = Command(monkeypatch, capsys), ("ingest", "files", ".", "--dataset", "d", "--lake", lake)
    write(tmp_path / "a.csv", "contest,player,rank\nx,ann,1\nx,bob,2\n")
    assert invoke(*ingest).code == 0
    assert invoke("rate", "--dataset", "d", "--lake", lake).code == 0
    write(tmp_path / "b.csv", "contest,player,rank\ny,ann,1\ny,bob,2\n")
    answer = invoke(*ingest)
    assert (answer.code, "read 2 contests, 4 participations" in answer.out) == (0, True)
    assert f"not read: the lake of ranklake in {lake}" in answer.out
    for file in ("a.csv", "b.csv"):
        Path(file).unlink()
    assert "no contests" in invoke.refuses(*ingest)
    write(tmp_path / "1.json", '{"name": "1", "time_seconds": 0, "standings": [["ann", 0, 0]]}')
    assert "read 1 contest, 1 participation" in invoke(*ingest).out
