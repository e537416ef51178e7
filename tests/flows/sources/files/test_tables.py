"""Tables of results: any order of rows, hostile names, times of many kinds, and an error for each broken rule."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklake.flows.sources.base import IngestReport, SourceError
from ranklake.flows.sources.column_names import Columns
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.options import ReadOptions
from ranklake.flows.sources.results import contests_from_results
from ranklake.rating_kernels.core.standings import places_from_ranks
from ranklake.storage.datasets.tables.contests import Contest

Table = dict[str, list[Any]]


def write_csv(path: Path, table: Table | pa.Table) -> Path:
    pacsv.write_csv(table if isinstance(table, pa.Table) else pa.table(table), path / "results.csv")
    return path / "results.csv"


def write_parquet(path: Path, table: Table | pa.Table) -> Path:
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), path / "results.parquet")
    return path / "results.parquet"


def text(path: Path, *lines: str) -> Path:
    (path / "results.csv").write_text("\n".join(lines) + "\n")
    return path / "results.csv"


WRITERS: dict[str, Callable[[Path, Any], Path]] = {"csv": write_csv, "parquet": write_parquet}
both = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())


def rows(contest: Contest) -> list[tuple[str, int, int]]:
    return list(zip(contest.handles.to_pylist(), contest.lo.tolist(), contest.hi.tolist(), strict=True))


def refusal(path: Path, **settings: Any) -> SourceError:
    with pytest.raises(SourceError) as caught:
        list(read_contests(path, ReadOptions(**settings)))
    assert str(caught.value).startswith(path.name)
    assert "\n" not in str(caught.value)
    return caught.value


@both
def test_rows_in_any_order_become_contests_in_order_of_appearance(tmp_path: Path, write: Any) -> None:
    table = {
        "contest": ["b", "a", "b", "b", "a"],
        "player": ["bob", "ann", "ann", "cy", "bob"],
        "rank": [2.5, 1, 2.5, 1, 1],
        "time_seconds": [-7, 20, -7, -7, 20],
        "weight": [0.5, 1, 0.5, 0.5, 1],
        "perf_ceiling": [2000.5, None, 2000.5, 2000.5, None],
        "contest_name": ["B", "A", "B", "", "A"],
        "url": ["u", None, "u", "u", None],
        "nationality": ["x"] * 5,
    }
    b, a = read_contests(write(tmp_path, table))
    assert (b.contest_id, b.name, b.url, b.time_seconds, b.weight, b.perf_ceiling) == ("b", "B", "u", -7, 0.5, 2000.5)
    assert (a.contest_id, a.name, a.url, a.time_seconds, a.weight, a.perf_ceiling) == ("a", "A", "", 20, 1, math.inf)
    assert rows(b) == [("cy", 0, 0), ("bob", 1, 2), ("ann", 1, 2)]
    assert rows(a) == [("ann", 0, 1), ("bob", 0, 1)]
    assert (b.lo.dtype, b.hi.dtype, b.handles.type) == ("int32", "int32", pa.string())


@both
def test_lo_and_hi_are_sorted_and_preferred_to_an_unnamed_rank(tmp_path: Path, write: Any) -> None:
    table = {"contest": ["a"] * 3, "player": ["x", "y", "z"], "lo": [1, 0, 1], "hi": [2, 0, 2], "rank": [1, 2, 3]}
    path = write(tmp_path, table)
    (places,) = read_contests(path)
    assert rows(places) == [("y", 0, 0), ("x", 1, 2), ("z", 1, 2)]
    (ranks,) = read_contests(path, ReadOptions(columns=Columns.parse(["rank=rank"])))
    assert rows(ranks) == [("x", 0, 0), ("y", 1, 1), ("z", 2, 2)]


@both
@pytest.mark.parametrize("order", ["given", "number", "time"])
def test_the_order_of_contests_can_be_chosen(tmp_path: Path, write: Any, order: Any) -> None:
    table = {"contest": [10, 9, 11], "player": [1, 1, 1], "rank": [1, 1, 1], "time_seconds": [3, 4, 3]}
    read = [(c.contest_id, c.time_seconds) for c in read_contests(write(tmp_path, table), ReadOptions(order=order))]
    expected = {"given": "10 9 11", "number": "9 10 11", "time": "10 11 9"}[order]
    assert " ".join(i for i, _ in read) == expected
    assert all(time == (4 if i == "9" else 3) for i, time in read)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_valid_results_are_read_back_from_csv_and_parquet(
    tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
    contests = data.draw(st.dictionaries(names, st.dictionaries(names, st.integers(-9, 9), min_size=1), min_size=1))
    entries = [(c, p, r) for c, field in contests.items() for p, r in field.items()]
    entries = data.draw(st.permutations(entries))
    table = dict(zip(("contest", "player", "rank"), map(list, zip(*entries, strict=True)), strict=True))
    expected: dict[str, list[tuple[str, int]]] = {}
    for c, p, r in entries:
        expected.setdefault(c, []).append((p, r))
    for write in WRITERS.values():
        read = list(read_contests(write(tmp_path_factory.mktemp("any"), table), ReadOptions(absent="none")))
        assert [c.contest_id for c in read] == list(expected)
        for contest in read:
            field = expected[contest.contest_id]
            order, lo, hi = places_from_ranks([rank for _, rank in field])
            assert rows(contest) == list(zip([field[i][0] for i in order], lo.tolist(), hi.tolist(), strict=True))


def test_many_contests_are_the_same_as_single_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ranklake.flows.sources.results.CHUNK_ROWS", 7)
    sizes = [1, 3, 20, 2, 2, 7, 8, 1]
    contest = [f"c{i}" for i, size in enumerate(sizes) for _ in range(size)]
    table = {"contest": contest, "player": list(range(44)), "rank": [1 + p % 5 for p in range(44)]}
    read = list(read_contests(write_parquet(tmp_path, table)))
    for one in read:
        alone = {
            key: [v for v, c in zip(column, contest, strict=True) if c == one.contest_id]
            for key, column in table.items()
        }
        (expected,) = contests_from_results(pa.table(alone), {key: key for key in alone})
        assert isinstance(expected, Contest)
        assert expected.content_digest == one.content_digest
    assert [len(c) for c in read] == sizes


# --- names, numbers and times -------------------------------------------------------------------------------------

NAMES = ["007", "7", "7.0", "NA", "null", "NaN", " ", "\u00a0", "ann", "Ann", " ann", "a,b", 'a"b', "a\nb", "true",
         "名"]  # fmt: skip


@both
def test_names_stay_as_they_are(tmp_path: Path, write: Any) -> None:
    table = {"contest": ["NA"] * len(NAMES), "player": NAMES, "rank": list(range(1, len(NAMES) + 1))}
    (read,) = read_contests(write(tmp_path, table))
    assert (read.contest_id, read.handles.to_pylist()) == ("NA", NAMES)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([2**53 + 1, 7], pa.int64()),
        pa.array([2**64 - 1, 7], pa.uint64()),
        pa.array([7.0, -3.0]),
        pa.array(["x", "7"]).dictionary_encode(),
        pa.array(["x", "7"], pa.large_string()),
        pa.array(["x", "7"], pa.string_view()),
    ],
    ids=lambda values: str(values.type),
)
def test_players_of_any_type_become_exact_strings(tmp_path: Path, values: pa.Array) -> None:
    table = pa.table({"contest": values, "player": values, "rank": [1, 1]})
    expected = [str(int(v)) if isinstance(v, float) else str(v) for v in values.to_pylist()]
    path = tmp_path / "memory.parquet"
    pq.write_table(table, path)
    read = list(read_contests(path))
    assert [c.contest_id for c in read] == expected
    assert [c.handles.to_pylist() for c in read] == [[name] for name in expected]


NOON = int(datetime(2021, 7, 25, 12, tzinfo=UTC).timestamp())
TIMES: dict[str, tuple[int, pa.Array]] = {
    "int32": (NOON, pa.array([NOON], pa.int32())),
    "float": (NOON, pa.array([float(NOON)])),
    "text": (NOON, pa.array([f" {NOON}"])),
    "text of a float": (NOON, pa.array([f"{NOON}.0"])),
    **{
        f"timestamp in {unit}, {zone}": (NOON, pa.array([datetime(2021, 7, 25, 12)], pa.timestamp(unit, zone)))
        for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC")
    },
    "another zone": (NOON, pa.array([datetime(2021, 7, 25, 12, tzinfo=UTC)], pa.timestamp("ms", "Asia/Tokyo"))),
    "timestamp with a fraction": (NOON, pa.array([datetime(2021, 7, 25, 12, 0, 0, 900)], pa.timestamp("us"))),
    "text with zone": (NOON, pa.array(["2021-07-25T14:00:00+02:00"])),
    "text without zone": (NOON, pa.array(["2021-07-25 12:00:00"])),
    "a date before 1970": (-86_400, pa.array([date(1969, 12, 31)])),
    "a time before 1970": (-1, pa.array([datetime(1969, 12, 31, 23, 59, 59, 5)])),
}  # fmt: skip


@pytest.mark.parametrize(("seconds", "times"), TIMES.values(), ids=TIMES.keys())
def test_times_of_many_kinds_become_utc_seconds(tmp_path: Path, seconds: int, times: pa.Array) -> None:
    table = pa.table({"contest": ["a"], "player": ["x"], "rank": [1], "time_seconds": times})
    (read,) = read_contests(write_parquet(tmp_path, table))
    assert read.time_seconds == seconds


@pytest.mark.parametrize(
    ("key", "values"), [("rank", pa.array([2**53 + 1, 2**53])), ("score", pa.array([2**63, 2**63 + 1], pa.uint64()))]
)
def test_large_integer_ranks_and_scores_stay_distinct(tmp_path: Path, key: str, values: pa.Array) -> None:
    table = pa.table({"contest": ["a", "a"], "player": ["x", "y"], key: values})
    (read,) = read_contests(write_parquet(tmp_path, table))
    assert rows(read) == [("y", 0, 0), ("x", 1, 1)]


# --- rules: each damages contest b, whose rows are 2 to 4, beside the good a and c --------------------------------

GOOD: Table = {
    "contest": ["a", "b", "b", "b", "c"],
    "player": ["x", "x", "y", "z", "x"],
    "rank": [1, 1, 2, 3, 1],
    "time_seconds": [0, 1, 1, 1, 2],
    "weight": [1.0, 1.0, 1.0, 1.0, 1.0],
    "perf_ceiling": [1e3, 1e3, 1e3, 1e3, 1e3],
}
PLACES: Table = {**{k: v for k, v in GOOD.items() if k != "rank"}, "lo": [0, 0, 1, 2, 0], "hi": [0, 0, 1, 2, 0]}
PLACES_B: Table = {**PLACES, "hi": [0, 1, 1, 2, 0]}
RULES: dict[str, tuple[Table, str, list[Any], str, list[int]]] = {
    "a player twice": (GOOD, "player", ["x", "z", "x"], "player 'x' is listed twice", [2, 4]),
    "a player without name": (GOOD, "player", ["x", "", "z"], "a player needs a name", [3]),
    "missing place": (GOOD, "rank", [1, 2, None], "a place must be a finite number, got rank = ", [4]),
    "NaN place": (GOOD, "rank", [1, math.nan, 3], "a place must be a finite number, got rank = ", [3]),
    "infinite place": (GOOD, "rank", [1, math.inf, 3], "a place must be a finite number, got rank = ", [3]),
    "fractional lo": (PLACES, "lo", [0, 1.5, 2], "a place must be a whole number that fits an int32, got lo", [3]),
    "lo beyond int32": (PLACES, "lo", [0, 2**32, 2], "a place must be a whole number that fits an int32", [3]),
    "missing hi": (PLACES, "hi", [0, None, 2], "a place must be a whole number that fits an int32, got hi", [3]),
    "unequal hi": (PLACES, "hi", [0, 2, 2], "1 tied rows have lo = 1, hi = 2", [3]),
    "a gap": (PLACES_B, "lo", [1, 1, 2], "the tie group at position 0 has lo = 1; places leave no gaps", [2, 3]),
    "lo behind hi": (PLACES, "lo", [0, 2, 2], "lo = 2 is behind hi = 1", [3]),
    "hi beyond the field": (PLACES, "hi", [0, 1, 3], "hi = 3 is outside the field, whose places are 0 to 2", [4]),
    "negative lo": (PLACES, "lo", [0, -1, 2], "lo = -1 is outside the field", [3]),
    "missing time": (GOOD, "time_seconds", [1, None, 1], "a time must be a whole number of UTC seconds", [3]),
    "fractional time": (GOOD, "time_seconds", [1.5, 1.5, 1.5], "a time must be a whole number of UTC seconds", [2]),
    "time beyond int64": (GOOD, "time_seconds", [1, 1e300, 1], "a time must be a whole number of UTC seconds", [3]),
    "two times": (GOOD, "time_seconds", [1, 1, 5], "time_seconds differs inside the contest: 1 and 5", [2, 4]),
    "zero weight": (GOOD, "weight", [0.0, 0.0, 0.0], "a weight must be within 1e-09..1e+09, got weight = ", [2]),
    "negative weight": (GOOD, "weight", [1, -1, 1], "a weight must be within 1e-09..1e+09", [3]),
    "NaN weight": (GOOD, "weight", [1, 1, math.nan], "a weight must be within 1e-09..1e+09", [4]),
    "missing weight": (GOOD, "weight", [1, 1, None], "a weight must be within 1e-09..1e+09", [4]),
    "infinite weight": (GOOD, "weight", [math.inf] * 3, "a weight must be within 1e-09..1e+09", [2]),
    "two weights": (GOOD, "weight", [1.0, 2.0, 1.0], "weight differs inside the contest: ", [2, 3]),
    "NaN ceiling": (GOOD, "perf_ceiling", [math.nan] * 3, "a ceiling must be within -1e+12..1e+12 rating", [2]),
    "two ceilings": (GOOD, "perf_ceiling", [1e3, None, 1e3], "perf_ceiling differs inside the contest", [2, 3]),
}


@pytest.mark.quick("*-parquet")
@both
@pytest.mark.parametrize(("table", "key", "values", "words", "at"), RULES.values(), ids=RULES.keys())
def test_a_fault_names_file_contest_and_rows_and_can_be_skipped(
    tmp_path: Path, write: Any, table: Table, key: str, values: list[Any], words: str, at: list[int]
) -> None:
    path = write(tmp_path, {**table, key: [table[key][0], *values, table[key][4]]})
    error = refusal(path)
    assert words in error.rule
    assert (error.source, error.contest, list(error.rows)) == (path.name, "b", at)
    report = IngestReport()
    assert [c.contest_id for c in read_contests(path, ReadOptions(on_error="skip"), report)] == ["a", "c"]
    assert [contest for contest, _ in report.left_out] == ["b"]
    assert report.lines()[0] == "read 2 contests, 2 participations; left out 1 contest, 3 participations"


@pytest.mark.parametrize("blank", [None, " ", "\u200b"])
def test_a_column_of_blank_times_is_an_error(tmp_path: Path, blank: str | None) -> None:
    times = pa.array([blank, blank], pa.string())
    table = pa.table({"contest": ["a", "a"], "player": ["p", "q"], "rank": [1, 2], "time": times})
    assert "time" in refusal(write_parquet(tmp_path, table), columns=Columns(time="time")).rule


def test_one_invalid_time_is_a_fault_of_its_contest_only(tmp_path: Path) -> None:
    path = text(tmp_path, "contest,player,rank,time", "a,x,1,2021-07-25T12:00:00Z", "b,x,1,noon", "c,x,1,1970-01-01")
    report = IngestReport()
    assert [c.time_seconds for c in read_contests(path, ReadOptions(on_error="skip"), report)] == [NOON, 0]
    assert report.left_out[0].reason.endswith("or a timestamp, got time = 'noon'")


@pytest.mark.parametrize(
    ("times", "shown"),
    [
        (["2020-01-01", "2020-01-02T05:00+02:00"], r"2020-01-01 and 2020-01-02T05:00\+02:00"),
        ([20200101, 20200102], "20200101 and 20200102"),
        ([1577836800, 1577836801], "1577836800 and 1577836801"),
        ([date(2020, 1, 1), date(2020, 1, 2)], "2020-01-01 and 2020-01-02"),
        ([datetime(2020, 1, 1, 5), datetime(2020, 1, 2)], "2020-01-01 05:00:00.* and 2020-01-02 00:00:00"),
    ],
)
def test_times_that_differ_are_shown_as_they_are_written(tmp_path: Path, times: list[Any], shown: str) -> None:
    table = pa.table({"contest": ["a", "a"], "player": ["x", "y"], "rank": [1, 2], "time": times})
    pq.write_table(table, tmp_path / "t.parquet")
    rule = refusal(tmp_path / "t.parquet").rule
    assert re.search(f"^time differs inside the contest: {shown}.*; --column time= leaves", rule), rule


def test_every_contest_with_a_fault_is_listed_with_its_rows(tmp_path: Path) -> None:
    table = {
        "contest": ["a", "b", "c", "d", "d"],
        "player": ["x"] * 4 + ["y"],
        "lo": [0, 1, 0, 1, 1],
        "hi": [0, 1, 5, 1, 1],
    }
    report = IngestReport()
    assert [
        c.contest_id for c in read_contests(write_parquet(tmp_path, table), ReadOptions(on_error="skip"), report)
    ] == ["a"]
    assert [reason.partition(":")[0] for _, reason in report.left_out] == [
        "results.parquet, contest b, row 2",
        "results.parquet, contest c, row 3",
        "results.parquet, contest d, rows 4 and 5",
    ]


def test_a_contest_id_that_is_no_number_has_no_place_in_the_order_by_number(tmp_path: Path) -> None:
    path = write_parquet(tmp_path, {"contest": ["2", "x", "1"], "player": ["p"] * 3, "rank": [1] * 3})
    assert refusal(path, order="number").contest == "x"
    assert [c.contest_id for c in read_contests(path, ReadOptions(order="number", on_error="skip"))] == ["1", "2"]


# --- faults of the whole table ------------------------------------------------------------------------------------


@both
def test_the_error_of_a_missing_column_lists_the_existing_ones(tmp_path: Path, write: Any) -> None:
    path = write(tmp_path, {"contest": ["a"], "player": ["x"], "place": [1], "hi": [0]})
    assert "no column lo among the columns 'contest', 'player', 'place', 'hi'" in refusal(path).rule
    assert "no column 'who' (player) among" in refusal(path, columns=Columns(player="who", rank="place")).rule
    assert "no column weight among" in refusal(path, columns=Columns.parse(["rank=place", "weight=weight"])).rule
    assert "no column rank (or lo and hi, or score) among" in refusal(path, columns=Columns(hi="")).rule
    assert len(list(read_contests(path, ReadOptions(columns=Columns.parse(["rank=place"]))))) == 1


def test_an_optional_column_can_be_left_unused(tmp_path: Path) -> None:
    path = text(tmp_path, "contest,player,rank,weight", "a,x,1,80.5", "a,y,2,75")
    assert "differs" in refusal(path).rule
    (read,) = read_contests(path, ReadOptions(columns=Columns.parse(["weight="])))
    assert read.weight == 1.0


@pytest.mark.parametrize("setting", ["contests=x", "contest", "=x", "named=x"])
def test_an_invalid_column_setting_is_wrong_use(setting: str) -> None:
    with pytest.raises(ValueError, match="expected KEY=COLUMN with KEY one of contest, player, rank, lo"):
        Columns.parse([setting])


WHOLE = {
    "no rows": (b"contest,player,rank\n", "the table has no rows", []),
    "empty": (b"", "the file is empty", []),
    "header only, no line end": (b"contest,player,rank", "the file is empty, or has a header alone", []),
    "a column twice": (b"contest,player,rank,rank\na,x,1,2\n", "the table has two columns 'rank'", []),
    "header not UTF-8": (b"contest,player,rank,\xff\na,x,1,2\n", "cannot be read", []),
    "UTF-16": ("contest,player,rank\na,x,1\n".encode("utf-16"), "UTF-16, not UTF-8", []),
}


@pytest.mark.parametrize(("raw", "words", "at"), WHOLE.values(), ids=WHOLE.keys())
def test_a_csv_without_a_table_of_results_always_stops(tmp_path: Path, raw: bytes, words: str, at: list[int]) -> None:
    (tmp_path / "results.csv").write_bytes(raw)
    error = refusal(tmp_path / "results.csv", on_error="skip")
    assert words in error.rule
    assert (error.contest, list(error.rows)) == ("", at)


ROWS = {
    # the error, the rule, the contest that is left out
    "without contest": (b",x,1", "the row names no contest", "the row names no contest", ""),
    "too short": (b"b,x", "header has 3 columns, the row 2", "header has 3 columns, the row 2", ""),
    "too long": (b"b,x,1,1", "header has 3 columns, the row 4", "header has 3 columns, the row 4", ""),
    "a player not UTF-8": (b"b,\xff,1", "is not UTF-8", "'player' is not UTF-8: b'\\xff', byte 0xff", "b"),
    "a contest not UTF-8": (b"\xff,x,1", "is not UTF-8", "'contest' is not UTF-8: b'\\xff', byte 0xff", ""),
}


@pytest.mark.parametrize(("row", "rule", "left_out", "contest"), ROWS.values(), ids=ROWS.keys())
def test_a_row_that_cannot_be_read_stops_or_is_left_out(
    tmp_path: Path, row: bytes, rule: str, left_out: str, contest: str
) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(b"contest,player,rank\na,x,1\n" + row + b"\na,y,2\nc,z,1\nc,w,best\n")
    error = refusal(path)
    assert rule in error.rule
    assert (list(error.rows), list(error.lines)) == ([2], [3])
    report = IngestReport()
    assert [(c.contest_id, len(c)) for c in read_contests(path, ReadOptions(on_error="skip"), report)] == [("a", 2)]
    by_contest = dict(report.left_out)
    assert by_contest.keys() == {contest, "c"}
    assert left_out in by_contest[contest]
    assert by_contest[contest].startswith("results.csv, ")
    assert "row 2 (line 3)" in by_contest[contest]
    assert "contest c, row 5 (line 6)" in by_contest["c"]  # row numbers include the row that is left out


def test_the_first_of_several_rows_without_a_contest_is_named(tmp_path: Path) -> None:
    error = refusal(text(tmp_path, "contest,player,rank", "a,x,1", ",y,1", ",z,2"))
    assert (list(error.rows), list(error.lines)) == ([2], [3])


COLUMNS_OF_PARQUET = {
    "missing contest": ({"contest": pa.array(["a", None, "c"])}, "the row names no contest", ""),
    "player not UTF-8": ({"player": pa.array([b"x", b"\xff", b"z"]).view(pa.string())}, "is not UTF-8", "b"),
    "time not UTF-8": ({"time": pa.array([b"1", b"\xff", b"3"]).view(pa.string())}, "is not UTF-8", "b"),
    "time not UTF-8, large": (
        {"time": pa.array([b"1", b"\xff", b"3"], pa.large_binary()).view(pa.large_string())},
        "is not UTF-8",
        "b",
    ),
}


@pytest.mark.parametrize(("changes", "rule", "contest"), COLUMNS_OF_PARQUET.values(), ids=COLUMNS_OF_PARQUET.keys())
def test_a_value_of_a_parquet_file_that_cannot_be_read_is_left_out_alone(
    tmp_path: Path, changes: Any, rule: str, contest: str
) -> None:
    table = pa.table({"contest": ["a", "b", "c"], "player": ["x", "y", "z"], "rank": [1, 1, 1], **changes})
    path = write_parquet(tmp_path, table)
    error = refusal(path)
    assert rule in error.rule
    assert list(error.rows) == [2]
    report = IngestReport()
    assert [c.contest_id for c in read_contests(path, ReadOptions(on_error="skip"), report)] == ["a", "c"]
    ((left_out, reason),) = report.left_out
    assert left_out == contest
    assert reason.startswith("results.parquet, ")
    assert "row 2" in reason


@pytest.mark.parametrize("cut", [0, 3, 100, -1])
def test_a_truncated_parquet_file_always_stops(tmp_path: Path, cut: int) -> None:
    path = write_parquet(tmp_path, GOOD)
    path.write_bytes(path.read_bytes()[:cut])
    assert "cannot be read" in refusal(path, on_error="skip").rule


TYPES = {
    "fractional player": ({"player": pa.array([1.0, 2.5])}, "player 2.5 is not a whole number", [2]),
    "player of bools": ({"player": pa.array([True, False])}, "the player column holds true and false", []),
    "contest of times": ({"contest": pa.array([datetime(2021, 1, 1)] * 2)}, "contest column holds dates or times", []),
    "rank of bools": ({"rank": pa.array([True, False])}, "the rank column holds true and false", []),
    "rank of times": ({"rank": pa.array([datetime(2021, 1, 1)] * 2)}, "the rank column holds dates or times", []),
    "time of bools": ({"time_seconds": pa.array([True, True])}, "the time column holds true and false", []),
}


@pytest.mark.parametrize(("changes", "words", "at"), TYPES.values(), ids=TYPES.keys())
def test_a_column_of_a_wrong_type_always_stops(tmp_path: Path, changes: Any, words: str, at: list[int]) -> None:
    table = pa.table({"contest": ["a", "a"], "player": ["x", "y"], "rank": [1, 2], **changes})
    error = refusal(write_parquet(tmp_path, table), on_error="skip")
    assert words in error.rule
    assert list(error.rows) == at


def test_order_by_time_needs_a_time(tmp_path: Path) -> None:
    path = write_csv(tmp_path, {"contest": ["a"], "player": ["x"], "rank": [1]})
    assert "no time column" in refusal(path, order="time").rule
