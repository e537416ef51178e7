"""The real data sets are read completely, with exactly their known faults."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from helpers.data import sample, shared

from ranklake.flows.sources.base import Duplicate, IngestReport
from ranklake.flows.sources.column_names import Columns
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.options import ReadOptions


@pytest.mark.slow
def test_codeforces_has_its_known_size_and_three_rounds_recorded_twice() -> None:
    report, handles = IngestReport(), []
    for contest in read_contests(shared("elo-datasets/codeforces.tar.xz"), report=report):
        handles.append(contest.handles)
    assert (report.contests, report.participations, report.time_goes_back) == (1194, 4_259_857, 2)
    assert pc.count_distinct(pa.chunked_array(handles)).as_py() == 358_554
    assert (report.left_out, report.notes, report.other_files) == ([], [], 0)


@pytest.mark.slow
def test_codeforces_without_duplicates_lacks_exactly_three() -> None:
    report = IngestReport()
    for _ in read_contests(shared("elo-datasets/codeforces.tar.xz"), ReadOptions(dedupe=True), report):
        pass
    assert report.duplicates == [Duplicate("1161", "1160"), Duplicate("1175", "1171"), Duplicate("1176", "1172")]
    assert report.contests == 1191


@pytest.mark.slow
def test_ctf_has_distinct_unusual_names() -> None:
    report, names = IngestReport(), set()
    for contest in read_contests(shared("elo-datasets/ctf.tar.xz"), ReadOptions(dedupe=True), report):
        names.update(contest.handles.to_pylist())
    assert (report.contests, report.participations, len(names)) == (990, 347_299, 138_260)
    assert {"\u00a0", "Unknown", "unknown\t"} <= names


@pytest.mark.slow
def test_reddit_has_one_empty_contest() -> None:
    path, report = shared("elo-datasets/reddit.tar.xz"), IngestReport()
    assert len(list(read_contests(path, report=report))) == report.contests == 999
    (left_out,) = report.left_out
    assert (left_out.contest, "contest 858 (reddit/858.json): the standings are empty" in left_out.reason) == (
        "858",
        True,
    )


@pytest.mark.slow
def test_tennis_has_three_matches_of_a_player_against_himself() -> None:
    columns = Columns.parse(["contest=contest_id", "player=player_id", "time=time"])
    report = IngestReport()
    first, *_ = read_contests(shared("tennis_atp.parquet"), ReadOptions(columns=columns, on_error="skip"), report)
    assert (first.contest_id, first.name, first.time_seconds) == ("1968-T101-101", "Bombay QF", -63_504_000)
    assert first.handles.to_pylist() == ["100092", "100113"]
    assert (report.contests, report.participations) == (194_993, 389_986)
    assert [contest for contest, _ in report.left_out] == ["1969-425-245", "1969-425-247", "1974-720-278"]


def test_formula_one_has_forty_races_that_list_a_driver_twice() -> None:
    columns, report = Columns.parse(["contest=contest_id", "time=time"]), IngestReport()
    read = list(read_contests(shared("f1_races.parquet"), ReadOptions(columns=columns, on_error="skip"), report))
    assert len(read) == 1120
    assert len(report.left_out) == 40
    assert all("is listed twice" in reason for _, reason in report.left_out)


def test_formula_one__shared_cars_are_left_out_and_named() -> None:
    columns, report = Columns.parse(["contest=contest_id", "time=time"]), IngestReport()
    path = sample("formula-one-1950-1957.parquet")
    races = list(read_contests(path, ReadOptions(columns=columns, on_error="skip"), report))
    assert (len(races), len(report.left_out)) == (30, 34)
    assert all("is listed twice" in reason for _, reason in report.left_out)
    assert (races[0].name, races[0].time_seconds) == ("1950 RAC British Grand Prix", -619_747_200)  # 13 May 1950
