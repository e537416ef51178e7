"""Tables in common forms: names of columns, formats of times, delimiters, encodings and file formats."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.commands import Command

from ranklake import rate_history
from ranklake.flows.sources.base import IngestReport, SourceError
from ranklake.flows.sources.column_names import MAX_LISTED, Columns
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.files.text_head import MARKING, has_marks
from ranklake.flows.sources.options import ReadOptions
from ranklake.storage import Dataset, Lake
from ranklake.storage.datasets.tables.contests import Contest

DAY = 1_705_276_800  # 2024-01-15


def write(path: Path, *lines: str, name: str = "results.csv", encoding: str = "utf-8") -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / name).write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return path / name


def read(path: Path | str, *columns: str, **settings: Any) -> tuple[list[Contest], list[str]]:
    """The contests and the notes of the report."""
    report = IngestReport()
    return list(read_contests(path, ReadOptions.parse(columns, **settings), report)), report.notes


def refusal(path: Path | str, *columns: str, **settings: Any) -> str:
    with pytest.raises(SourceError) as caught:
        read(path, *columns, **settings)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def rows(contest: Contest) -> list[tuple[str, int, int]]:
    return list(zip(contest.handles.to_pylist(), contest.lo.tolist(), contest.hi.tolist(), strict=True))


# --- columns ------------------------------------------------------------------------------------------------------


def test_columns_named_as_their_keys_are_used_and_the_others_listed(tmp_path: Path) -> None:
    path = write(tmp_path, "contest,player,rank,time,name,weight,url,perf_ceiling,country,score",
                 "1,ann,1,2024-01-15,Spring,0.5,http://x,2000,DE,9")  # fmt: skip
    (contest,), notes = read(path)
    assert (contest.time_seconds, contest.name, contest.weight) == (DAY, "Spring", 0.5)
    assert (contest.url, contest.perf_ceiling) == ("http://x", 2000.0)
    assert notes[0] == (
        "columns used: contest, player, rank, score, time, weight, perf_ceiling, name, url; ignored: country"
    )
    assert notes[1] == "column time: dates or times as ISO 8601, 2024-01-15 to 2024-01-15"


def test_time_seconds_takes_precedence_over_time_and_is_a_key_too(tmp_path: Path) -> None:
    path = write(tmp_path, "contest,player,rank,time,time_seconds", "1,ann,1,2024-01-15,7")
    assert read(path)[0][0].time_seconds == 7
    assert read(path, "time_seconds=time")[0][0].time_seconds == DAY


NEAR = {
    ("contest_id", "username", "place", "date"): "contest=contest_id --column player=username --column rank=place?",
    ("event", "Handle", "points", "when"): "contest=event --column player=Handle --column score=points?",
    ("contests", "player", "position"): "contest=contests --column rank=position?",
    ("race id", "driver", "rank"): "'contest=race id' --column player=driver?",
    ("who", "match", "pos"): "contest=match --column rank=pos --column player=...?",
}


@pytest.mark.parametrize(("header", "offered"), NEAR.items(), ids=lambda value: str(value)[:30])
def test_similar_names_are_suggested_and_the_suggestion_works(
    tmp_path: Path, header: tuple[str, ...], offered: str
) -> None:
    path = write(tmp_path, ",".join(header), ",".join("1" for _ in header))
    message = refusal(path)
    assert message.endswith(f"; add --column {offered}")
    settings = [part.strip("'? ") for part in offered.replace("...", "who").split("--column ")]
    assert len(read(path, *settings)[0]) == 1


@pytest.mark.parametrize("name", ["p\1" * 300, "player" + "-" * 3_000], ids=["unreadable", "long"])
def test_a_very_long_or_unprintable_name_is_not_suggested(tmp_path: Path, name: str) -> None:
    message = refusal(write(tmp_path, f"contest,{name},rank", "1,ann,1"))
    assert "there is no column player" in message
    assert "--column player=...?" in message or message.endswith("name it with --column player=...")
    assert len(message) < 400


def test_a_column_that_may_be_the_time_is_suggested(tmp_path: Path) -> None:
    _, notes = read(write(tmp_path, "contest,player,rank,Date,title", "1,ann,1,2024-01-15,x"))
    assert "ignored: Date, title; to use Date as time: --column time=Date; to use title as name: " in notes[0]
    assert notes[1] == "column time: there is none, every contest is dated 1970-01-01"


def test_upper_case_is_accepted_if_only_one_column_matches(tmp_path: Path) -> None:
    (contest,), notes = read(write(tmp_path, "Contest, Player,RANK", "1,ann,1"))
    assert rows(contest) == [("ann", 0, 0)]
    assert notes[0] == "columns used: contest=Contest, player=' Player', rank=RANK"
    assert "'Player', 'PLAYER' have similar names" in refusal(write(tmp_path, "contest,Player,PLAYER,rank", "1,a,b,1"))
    assert read(write(tmp_path, "contest,player,PLAYER,rank", "1,a,b,1"))[0][0].handles.to_pylist() == ["a"]


def test_a_name_that_differs_inside_a_contest_is_the_players(tmp_path: Path) -> None:
    path = write(tmp_path, "contest,player,rank,name", "1,p1,1,Ann", "1,p2,2,Bob")
    (contest,), notes = read(path)
    assert contest.name == ""
    assert any(note.startswith("column name: ignored, it differs inside contest '1'") for note in notes)
    assert read(path, "name=name")[0][0].name == "Ann"


def test_scores_become_ranks_and_a_missing_score_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, "contest,player,score", "1,a,3", "1,b,10", "1,c,3.0", "2,a,-1", "2,b,-2")
    first, second = read(path)[0]
    assert rows(first) == [("b", 0, 0), ("a", 1, 2), ("c", 1, 2)]
    assert rows(second) == [("a", 0, 0), ("b", 1, 1)]
    for bad in ("", "DNF", "nan", "10,5"):
        words = refusal(write(tmp_path, "contest;player;score", "1;a;3", f"1;b;{bad}"))
        assert words.startswith("results.csv, contest 1, row 2 (line 3): a score must be a finite number, got score = ")
    assert words.endswith("a decimal comma must be a point")


def test_rank_takes_precedence_over_score_unless_score_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "contest,player,rank,score", "1,a,1,5", "1,b,2,7")
    assert rows(read(path)[0][0])[0][0] == "a"
    assert rows(read(path, "score=score")[0][0])[0][0] == "b"
    assert rows(read(path, "rank=rank", "score=score")[0][0])[0][0] == "a"


def points(contest: Contest) -> list[float | None] | None:
    return None if contest.points is None else [None if value != value else value for value in contest.points.tolist()]


def test_scores_are_kept_as_points_beside_places_and_for_them(tmp_path: Path) -> None:
    lines = "1,a,2,5,0,0", "1,b,1,-7.5,1,1", "1,c,3,,2,2", "2,a,1,,0,1", "2,b,1,,0,1"
    path = write(tmp_path, "contest,player,rank,score,lo,hi", *lines)
    for columns, expected in (("lo=", "hi="), [-7.5, 5.0, None]), ((), [5.0, -7.5, None]):
        (scored, without), notes = read(path, *columns)
        assert (points(scored), points(without)) == (expected, [None, None])
        assert "score" in notes[0].partition("ignored")[0]
        (plain, other), _ = read(path, *columns, "score=")
        assert plain.points is None
        assert (plain.content_digest == scored.content_digest, other.content_digest == without.content_digest) == (
            False, True,
        )  # fmt: skip
    path = write(tmp_path, "contest,player,score", "1,a,5", "1,b,7", "1,c,5")
    assert points(read(path)[0][0]) == [7.0, 5.0, 5.0]


def test_scores_that_cannot_be_points_are_noted_or_refused_if_the_column_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "contest,player,rank,score", "1,a,1,2e9", "1,b,2,DNF", "1,c,3,4")
    (contest,), notes = read(path)
    assert points(contest) == [None, None, 4.0]
    assert "column score: 2 values not kept as points" in notes
    refused = refusal(path, "rank=rank", "score=score")
    assert refused.startswith(
        "results.csv, contest 1, row 1 (line 2): points must be a number within -1e+09..1e+09 points"
    )
    assert refused.endswith("; --column score= leaves the column out")
    path = write(tmp_path, "contest,player,score", "1,a,2e12", "1,b,4")
    (contest,), notes = read(path, "score=score")
    assert (rows(contest), points(contest)) == ([("a", 0, 0), ("b", 1, 1)], [None, 4.0])
    assert "column score: 1 value not kept as points" in notes
    path = write(tmp_path, "contest,player,rank,score", "1,a,1,2024-01-01", "1,b,2,2024-01-02")
    assert read(path)[0][0].points is None


def test_points_of_a_team_are_those_of_its_first_row(tmp_path: Path) -> None:
    path = write(tmp_path, "contest,player,team,rank,score", "1,a,x,2,3", "1,b,y,1,5", "1,c,x,2,", "1,d,,3,1")
    (contest,), _ = read(path, "team=team")
    assert dict(zip(contest.handles.to_pylist(), points(contest), strict=True)) == {"b": 5, "a": 3, "c": 3, "d": 1}


def test_repeated_players_can_be_dropped(tmp_path: Path) -> None:
    path = write(tmp_path, "contest,player,rank", "1,a,2", "1,b,3", "1,a,1", "1,b,9", "2,a,1")
    assert "player 'a' is listed twice; --duplicates best or last keeps one row" in refusal(path)
    best, other = read(path, duplicates="best")[0]
    assert (rows(best), rows(other)) == ([("a", 0, 0), ("b", 1, 1)], [("a", 0, 0)])
    path = write(tmp_path, "contest,player,score", "1,a,2", "1,b,1", "1,a,0")
    (last,), notes = read(path, duplicates="last")
    assert rows(last) == [("b", 0, 0), ("a", 1, 1)]
    assert notes[-1] == "duplicates: kept the last row of each player; rows dropped: 1, contests concerned: 1"
    path = write(tmp_path, "contest,player,lo,hi", "1,a,0,0", "1,a,1,1")
    assert refusal(path, duplicates="best").endswith("player 'a' is listed twice")


def test_names_that_may_be_errors_are_kept_and_noted(tmp_path: Path) -> None:
    (contest,), notes = read(write(tmp_path, "contest,player,rank", "1, ann,1", "1,nan,2"))
    assert contest.handles.to_pylist() == [" ann", "nan"]
    assert notes[2:] == [
        "column player: names with white space around them are kept as they are: 1",
        "column player: kept 'nan' as a name; is it a missing value?",
    ]
    _, notes = read(write(tmp_path, "contest,player,rank", "1,12.0,1", "1,13.0,2"))
    assert notes[-1].startswith("column player: all names are as '12.0'")


def test_dates_can_be_contest_ids(tmp_path: Path) -> None:
    pq.write_table(pa.table({"contest": [date(2024, 1, 15)], "player": [1], "rank": [1]}), tmp_path / "t.parquet")
    (contest,), _ = read(tmp_path / "t.parquet", "time=contest")
    assert (contest.contest_id, contest.time_seconds) == ("2024-01-15", DAY)


# --- times --------------------------------------------------------------------------------------------------------

NOON = DAY + 43_200
READ: dict[str, tuple[list[Any], str, int, str]] = {
    "YYYYMMDD": ([20240115, 20240229], "auto", DAY, "dates YYYYMMDD"),
    "seconds": ([NOON, -5], "auto", NOON, "Unix seconds"),
    "milliseconds": ([NOON * 1000, NOON * 1000 + 999], "auto", NOON, "Unix milliseconds"),
    "microseconds": ([NOON * 10**6], "auto", NOON, "Unix microseconds"),
    "nanoseconds": ([NOON * 10**9], "auto", NOON, "Unix nanoseconds"),
    "milliseconds by name": ([5000], "unix-ms", 5, "Unix milliseconds"),
    "any seconds by name": ([-(10**11)], "unix", -(10**11), "Unix seconds"),
    "YYYYMMDD by name": ([20240115], "yyyymmdd", DAY, "dates YYYYMMDD"),
    "years": ([2024], "%Y", DAY - 14 * 86_400, "times as %Y"),
    "day first": (["15/01/2024"], "%d/%m/%Y", DAY, "times as %d/%m/%Y"),
    "with zone": (["2024-01-15T14:00:00+02:00", "2024-01-15"], "auto", NOON, "dates or times as ISO 8601"),
    "nanoseconds in text": (["2024-01-15 12:00:00.123456789Z"], "iso", NOON, "dates or times as ISO 8601"),
    "timestamps": ([datetime(2024, 1, 15, 12)], "auto", NOON, "timestamps"),
    "dates": ([date(2024, 1, 15)], "auto", DAY, "dates"),
}


@pytest.mark.parametrize(("values", "form", "expected", "kind"), READ.values(), ids=READ.keys())
def test_the_format_of_times_is_detected_for_the_column_and_reported(
    tmp_path: Path, values: list[Any], form: str, expected: int, kind: str
) -> None:
    n = range(len(values))
    frame = pd.DataFrame({"contest": n, "player": 1, "rank": 1, "time": values})
    frame.to_parquet(tmp_path / "t.parquet")
    contests, notes = read(tmp_path / "t.parquet", time_format=form)
    assert contests[0].time_seconds == expected
    assert notes[1].startswith(f"column time: {kind}, ")
    if kind not in ("timestamps", "dates"):
        frame.to_csv(tmp_path / "t.csv", index=False)
        assert read(tmp_path / "t.csv", time_format=form)[0][0].time_seconds == expected


REFUSED: dict[str, tuple[str, list[str], str, str]] = {
    "dates as seconds": ("time_seconds", ["20240115"], "auto", "row 1 (line 2): time_seconds = 20240115 could be "
                         "2024-01-15 (--time-format yyyymmdd) or the second 20,240,115 after the start of 1970"),
    "years": ("time", ["2023", "2024"], "auto", "could be the year 2023 (--time-format '%Y') or the second 2,023"),
    "months": ("time", ["202311"], "auto", "could be 2023-11 (--time-format '%Y%m') or the second 202,311"),
    "months of the first and the last year": ("time", ["210012", "190001"], "auto",
                                              "could be 2100-12 (--time-format '%Y%m') or the second 210,012"),
    "day or month": ("time", ["01/02/2024"], "auto", "the time '01/02/2024' could be 2024-02-01 (--time-format "
                     "'%d/%m/%Y') or 2024-01-02 (--time-format '%m/%d/%Y')"),
    "day first": ("time", ["01/02/2024", "13/02/2024"], "auto", "is it 2024-02-01 (--time-format '%d/%m/%Y')"),
    "fourteen digits": ("time", ["20240115120000"], "auto", "is no Unix time of the years 1 to 2199 in any unit"),
    "two units": ("time", ["1705881600", "1705881601", "1705881600000"], "auto", "row 3 (line 4): most times are Unix "
                  "seconds of the years 1 to 2199 (--time-format unix takes any), got time = '1705881600000'"),
    "a bad day": ("time", [*map(str, range(20240101, 20240120)), "20240132"], "auto",
                  "row 20 (line 21): a time must be a date of the calendar as YYYYMMDD, got time = '20240132'"),
    "numbers and dates": ("time", ["2024-01-15", "7", "2024-01-15"], "auto", "row 2 (line 3): the column mixes numbers "
                          "and dates; most of its times are dates, got time = '7'"),
    "dates and numbers": ("time", ["8", "7", "2024-01-15"], "auto", "row 3 (line 4): the column mixes numbers "
                          "and dates; most of its times are numbers, got time = '2024-01-15'"),
    "another pattern": ("time", ["2024-01-15"], "%d/%m/%Y", "row 1 (line 2): a time must match --time-format %d/%m/%Y"),
    "empty": ("time", ["7", ""], "auto", "row 2 (line 3): a time must be a whole number of UTC seconds"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "values", "form", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_times_that_fit_two_formats_are_refused_with_both(
    tmp_path: Path, name: str, values: list[str], form: str, words: str
) -> None:
    lines = [f"{i},p,1,{value}" for i, value in enumerate(values)]
    assert words in refusal(write(tmp_path, f"contest,player,rank,{name}", *lines), time_format=form)


# --- formats ------------------------------------------------------------------------------------------------------

LINES = ("contest,player,rank,time", "1,ann,1,2024-01-15", "1,bob,2,2024-01-15", "2,ann,1,2024-01-16")
ROWS = [dict(zip(LINES[0].split(","), line.split(","), strict=True)) for line in LINES[1:]]
WHOLE = ("\n".join(LINES) + "\n").encode()
FORMS: dict[str, bytes] = {
    "t.csv": WHOLE,
    "t.txt": WHOLE.replace(b",", b"|"),
    "t.CSV": b"\xef\xbb\xbf" + WHOLE.replace(b",", b";").replace(b"\n", b"\r\n\r\n"),
    "excel.csv": b"sep=;\n" + WHOLE.replace(b",", b";"),
    "t.tsv": WHOLE.replace(b",", b"\t"),
    "t.csv.gz": gzip.compress(WHOLE),
    "t.csv.bz2": bz2.compress(WHOLE),
    "t.csv.xz": lzma.compress(WHOLE),
    "t.tsv.zst": pa.compress(WHOLE.replace(b",", b"\t"), "zstd", asbytes=True),
    "t.jsonl": b"\n\n".join(json.dumps(row).encode() for row in ROWS),
    "t.ndjson.gz": gzip.compress(b"\n".join(json.dumps({**row, "rank": float(row["rank"])}).encode() for row in ROWS)),
    "t.json": json.dumps(ROWS).encode(),
}


def test_every_fault_of_many_has_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, "contest,player,rank", *(f"{i},a,{'' if i % 3 else 1}" for i in range(40)))
    report = IngestReport()
    list(read_contests(path, ReadOptions(on_error="skip"), report))
    assert [f"contest {i}, row {i + 1} (line {i + 2}):" in report.left_out[n].reason
            for n, i in enumerate(i for i in range(40) if i % 3)] == [True] * 26  # fmt: skip


@pytest.mark.parametrize(("name", "raw"), FORMS.items(), ids=FORMS.keys())
def test_each_format_gives_the_same_contests(tmp_path: Path, name: str, raw: bytes) -> None:
    (tmp_path / name).write_bytes(raw)
    (tmp_path / "plain.csv").write_bytes(WHOLE)
    expected = [contest.content_digest for contest in read(tmp_path / "plain.csv")[0]]
    assert [contest.content_digest for contest in read(tmp_path / name)[0]] == expected
    pd.DataFrame(ROWS).to_parquet(tmp_path / "t.parquet")
    assert [contest.content_digest for contest in read(tmp_path / "t.parquet")[0]] == expected


def test_latin_1_and_utf_16_are_read_if_the_encoding_is_given(tmp_path: Path) -> None:
    lines = ("contest,player,rank", "1,Jérôme,1")
    path = write(tmp_path, *lines, encoding="latin-1")
    message = refusal(path)
    assert message.startswith(
        "results.csv, row 1 (line 2): cannot be read: the text in column 'player' is not UTF-8; name"
    )
    assert read(path, encoding="latin-1")[0][0].handles.to_pylist() == ["Jérôme"]
    path = write(tmp_path, *lines, encoding="utf-16")
    assert refusal(path).endswith("UTF-16, not UTF-8; --encoding utf-16 reads it")
    assert read(path, encoding="utf-16")[0][0].handles.to_pylist() == ["Jérôme"]
    path = write(tmp_path, '{"contest": 1, "player": "Jérôme", "rank": 1}', name="results.jsonl", encoding="latin-1")
    assert refusal(path).startswith("results.jsonl, line 1: ")
    assert read(path, encoding="latin-1")[0][0].handles.to_pylist() == ["Jérôme"]


def test_a_line_is_that_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "contest,player,rank", "", '1,"a', 'b",1', "1,c,x")
    assert refusal(path).startswith("results.csv, contest 1, row 2 (line 5): a place must be")
    path = write(tmp_path, '{"contest":1,"player":"a","rank":1}', "", '{"contest":1,"player":"b"}', name="t.jsonl")
    assert refusal(path).startswith("t.jsonl, contest 1, row 2 (line 3): a place must be a finite number, got rank = e")
    path = write(tmp_path, '{"contest":1,"player":true,"rank":1}', name="t.jsonl")
    assert refusal(path) == "t.jsonl, line 1: column 'player' must be text or a number, got True"
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"contest,player,rank\n1,a,1\n\n1,b,x\n"))
    assert refusal(tmp_path / "t.csv.gz").startswith("t.csv.gz, contest 1, row 2 (line 4): ")
    path = write(tmp_path, '{"contest":1}', "x", name="t.jsonl")
    assert refusal(path).startswith("t.jsonl, line 2: not JSON")


def test_json_may_hold_contests_of_the_reference_format(tmp_path: Path) -> None:
    one = {"name": "A", "time_seconds": 5, "standings": [["ann", 0, 0], ["bob", 1, 1]]}
    lines = [json.dumps(one), "", json.dumps({**one, "contest_id": "x", "time_seconds": 4})]
    path = write(tmp_path, *lines, name="t.jsonl")
    assert [contest.contest_id for contest in read(path)[0]] == ["1", "x"]
    assert [contest.contest_id for contest in read(path, order="time")[0]] == ["x", "1"]
    path = write(tmp_path, json.dumps([one, {**one, "id": 9}]), name="t.json")
    assert [contest.contest_id for contest in read(path)[0]] == ["1", "9"]
    path = write(tmp_path, json.dumps(one), name="7.json")
    assert [contest.contest_id for contest in read(path)[0]] == ["7"]
    bad = write(tmp_path, lines[0], json.dumps({**one, "standings": [["ann", 0, 1]]}), name="t.jsonl")
    assert refusal(bad).startswith("t.jsonl, contest 2 (line 2), row 0: ")
    with pytest.raises(ValueError, match="the setting time_format applies to tables only"):
        read(path, time_format="unix")


def test_several_paths_are_one_table_in_the_given_order(invoke: Command, tmp_path: Path) -> None:
    """As a shell expands a pattern without quotes."""
    for name, contest in (("b.csv", "first"), ("a.csv", "second")):
        (tmp_path / name).write_text(f"contest,player,rank\n{contest},ada,1\n{contest},grace,2\n", encoding="utf-8")
    where = ("--dataset", "games", "--lake", tmp_path / "lake")
    result = invoke("ingest", "files", tmp_path / "b.csv", tmp_path / "a.csv", *where)
    assert (result.code, result.out) == (0, "read 2 contests, 4 participations\ndata set games: 2 new contests\n")
    contests = Dataset.open(Lake.open(tmp_path / "lake"), "games").contests
    assert contests.column("contest_id").to_pylist() == ["first", "second"]
    (tmp_path / "folder").mkdir()
    message = invoke.refuses("ingest", "files", tmp_path / "a.csv", tmp_path / "folder", *where)
    assert "several paths must all be tables" in message
    assert "Missing argument" in invoke.refuses("ingest", "files", *where, code=2)


def test_a_folder_or_a_pattern_of_tables_is_one_table(tmp_path: Path) -> None:
    write(tmp_path / "t", "contest,player,rank", "1,ann,1", "1,bob,2", name="a.csv")
    write(tmp_path / "t", "Player;contest;rank", "ann;2;1", "bob;2;x", name="b.csv")
    for path in (tmp_path / "t", str(tmp_path / "t" / "*.csv")):
        contests, notes = read(path, on_error="skip")
        assert [contest.contest_id for contest in contests] == ["1"]
        assert notes[1].startswith("columns of 2 files: ")
    assert refusal(tmp_path / "t").startswith("b.csv, contest 2, row 2 (line 3): a place must be a finite number")
    write(tmp_path / "t", "contest,player,rank,time", "3,ann,1,5", name="c.csv")
    assert refusal(tmp_path / "t").startswith("c.csv: c.csv has a column for time, a.csv has none; --column time= ")
    assert len(read(tmp_path / "t", "time=", on_error="skip")[0]) == 2
    write(tmp_path / "t", "{}", name="1.json")
    assert refusal(tmp_path / "t").startswith("t: holds contests and tables, '1.json' beside the table 'a.csv'")
    assert refusal(str(tmp_path / "no*.csv")).endswith("no file matches this pattern")


def test_a_contest_in_two_files_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "t", "contest,player,rank", "1,ann,1", name="a.csv")
    write(tmp_path / "t", "contest,player,rank", "1,bob,2", name="b.csv")
    (contest,), notes = read(tmp_path / "t")
    assert len(contest) == 2
    assert "contests with rows in more than one file: 1" in notes
    write(tmp_path / "t", "contest,player,rank", "1,ann,2", name="b.csv")
    assert refusal(tmp_path / "t") == (
        "b.csv, contest 1, row 1 (line 2): player 'ann' is listed twice; --duplicates best or last keeps one row "
        "(the contest begins in a.csv, row 1)"
    )


class _Stdin(io.TextIOWrapper):
    def __init__(self, raw: bytes, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(raw))
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def test_standard_input_is_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pd.DataFrame(ROWS).to_parquet(tmp_path / "t.parquet")
    inputs = {
        None: WHOLE.replace(b",", b";"),
        "jsonl": FORMS["t.jsonl"],
        "parquet": (tmp_path / "t.parquet").read_bytes(),
    }
    for form, raw in inputs.items():
        monkeypatch.setattr(sys, "stdin", _Stdin(raw))
        assert [len(contest) for contest in read("-", input_format=form)[0]] == [2, 1]
    monkeypatch.setattr(sys, "stdin", _Stdin(b"contest,player,rank\n1,a,x\n"))
    assert refusal("-").startswith("standard input, contest 1, row 1 (line 2): ")
    monkeypatch.setattr(sys, "stdin", _Stdin(b"", terminal=True))
    with pytest.raises(ValueError, match="which is a terminal"):
        read("-")


ADDRESSES = {
    "postgresql://me:secret@host/db": "psql -c",
    "https://host/t.csv?key=secret": "curl -sL",
    "s3://secret/t.csv": "aws s3 cp",
    "file:///secret": "without file://",
    "sftp://secret/x": "copy it here first",
}


@pytest.mark.parametrize(("address", "words"), ADDRESSES.items(), ids=ADDRESSES.keys())
def test_the_error_of_an_address_has_only_its_scheme(address: str, words: str) -> None:
    with pytest.raises(ValueError, match="must be a file or folder on this machine, got an address") as caught:
        read(address)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_error_of_a_file_that_is_no_table_has_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "t.xlsx").touch()
    assert refusal(tmp_path / "t.xlsx").endswith(
        "a workbook is not read; save the sheet with the results as CSV (UTF-8)"
    )
    (tmp_path / "t.dat").write_bytes(WHOLE)
    assert refusal(tmp_path / "t.dat").endswith("give its format with --input-format")
    assert len(read(tmp_path / "t.dat", input_format="csv")[0]) == 2
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(WHOLE)[:-12])
    assert refusal(tmp_path / "t.csv.gz").startswith("t.csv.gz: cannot be read: ")
    path = write(tmp_path, "contest;player;rank", "1;a;1")
    assert refusal(path, delimiter=",").endswith("--delimiter ';'?")
    with pytest.raises(ValueError, match="a delimiter applies to CSV and TSV only"):
        read(write(tmp_path, "[]", name="t.json"), delimiter=",")
    assert refusal(write(tmp_path, '{"a": 1}', name="t.json")).startswith("t.json: must be an array of objects")
    for name, text in (("t.json", "[]"), ("t.jsonl", ""), ("t.csv", "contest,player,rank")):
        assert refusal(write(tmp_path, text, name=name)) == f"{name}: no contests: the table has no rows"


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"delimiter": ";;"}, "one character"), ({"encoding": "klingon"}, "unknown encoding"),
     ({"duplicates": "first"}, "duplicates must be one of"), ({"input_format": "xml"}, "input_format must be one of"),
     ({"order": "random"}, "order must be one of"), ({"on_error": "ignore"}, "on_error must be one of"),
     ({"absent": "first"}, "absent must be one of error, last, drop, none, got 'first'"),
     *(({"time_format": form}, "time format must be one of auto, unix, unix-ms")
       for form in ("nonsense", "%q", "%", "%d/%d", ""))],
)  # fmt: skip
def test_an_invalid_setting_is_wrong_use(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ReadOptions(**settings)


# --- commands and data frames -------------------------------------------------------------------------------------


def test_the_command_lists_the_columns_and_refuses_an_address(invoke: Command, tmp_path: Path) -> None:
    path, where = write(tmp_path, *LINES), ("--dataset", "games", "--lake", tmp_path / "lake")
    result = invoke("ingest", "files", path, *where)
    assert (result.code, result.out) == (0, "read 2 contests, 3 participations\ndata set games: 2 new contests\n")
    assert result.err.splitlines()[0] == "columns used: contest, player, rank, time"
    assert "got an address postgresql://...;" in invoke.refuses("ingest", "files", "postgresql://h/d", *where, code=2)
    assert "got 'soon'" in invoke.refuses("ingest", "files", path, "--time-format", "soon", *where, code=2)


def test_the_help_of_the_command_fits_a_narrow_terminal(invoke: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = invoke("ingest", "files", "--help").out
    assert max(map(len, text.splitlines())) <= 80
    for option in ("--column", "--time-format", "--duplicates", "--input-format", "--delimiter", "--encoding"):
        assert option in text


def test_an_experiment_reads_a_table_with_the_same_options(invoke: Command, tmp_path: Path) -> None:
    from ranklake.flows.experiments.data import from_file, name_of

    path = write(tmp_path, "event;player;points;time", "1;ann;1;15/01/2024", "1;bob;2;15/01/2024", name="club.csv.txt")
    options = ReadOptions.parse(["contest=event", "score=points"], time_format="%d/%m/%Y")
    history = from_file(path, options)
    assert (history.rounds.time_seconds.tolist(), history.handles.to_pylist()) == ([DAY], ["bob", "ann"])
    assert name_of(path) == "club"
    for ending in ("tsv", "CSV", "tar.xz", "tgz", "ndjson.zst", "json.gz", "tab", "pq", "zip"):
        assert name_of(tmp_path / f"club.2024.{ending}") == "club.2024"
    message = invoke.refuses("experiment", "robustness", "--data", path, "--time-format", "soon", code=2)
    assert "time format must be one of" in message


FRAMES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "time as datetimes": lambda frame: frame.rename(columns={"time_seconds": "time"}).assign(
        time=lambda f: pd.to_datetime(f["time"], unit="s", utc=True)
    ),
    "time as seconds": lambda frame: frame.rename(columns={"time_seconds": "time"}),
    "date as datetimes": lambda frame: frame.rename(columns={"time_seconds": "date"}).assign(
        date=lambda f: pd.to_datetime(f["date"], unit="s")
    ),
    "score": lambda frame: frame.rename(columns={"rank": "score"}).assign(score=lambda f: -f["score"]),
}


@pytest.mark.parametrize("change", FRAMES.values(), ids=FRAMES.keys())
def test_rate_history_takes_the_same_columns(change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    seconds = [DAY] * 2 + [DAY + 90 * 86_400] * 2
    frame = pd.DataFrame(
        {"contest": [1, 1, 2, 2], "player": list("abba"), "rank": [1, 2, 1, 2], "time_seconds": seconds}
    )
    expected = rate_history(frame, "glicko", engine="serial", period_days=30.0)
    assert rate_history(change(frame), "glicko", engine="serial", period_days=30.0).equals(expected)
    with pytest.raises(ValueError, match="period_days = 30 counts the days between contests"):
        rate_history(frame.drop(columns="time_seconds"), "glicko", engine="serial", period_days=30.0)


def test_rate_history_refuses_times_in_other_units_and_suggests_names() -> None:
    frame = pd.DataFrame({"contest": [1], "player": ["a"], "rank": [1], "time": [NOON * 1000]})
    with pytest.raises(ValueError, match=r"time holds Unix milliseconds; .*pandas.to_datetime"):
        rate_history(frame)
    with pytest.raises(ValueError, match=r"columns=\{'contest': 'event'\}"):
        rate_history(frame.rename(columns={"contest": "event"}))


@pytest.mark.parametrize("above", ["", "sep=,\n"])
def test_rows__have_their_lines_below_a_line_with_the_delimiter(tmp_path: Path, above: str) -> None:
    path = tmp_path / "s.csv"
    path.write_text(f"{above}contest,player,rank\n1,ada,1\n1,ben\n1,cyd,x\n")
    line = 3 + bool(above)
    with pytest.raises(SourceError) as raised:
        list(read_contests([str(path)], ReadOptions(), IngestReport()))
    assert str(raised.value).startswith(f"s.csv, row 2 (line {line}): cannot be read: the header has 3 columns")
    report = IngestReport()
    with pytest.raises(SourceError, match=r"none can be read|no contest|every contest|all"):
        list(read_contests([str(path)], ReadOptions(on_error="skip"), report))
    assert [reason[: reason.index(":")] for _, reason in report.left_out] == [
        f"s.csv, row 2 (line {line})",
        f"s.csv, contest 1, row 3 (line {line + 1})",
    ]


@pytest.mark.parametrize("n", [1, MAX_LISTED, MAX_LISTED + 1, 40])
def test_notes__list_some_of_the_ignored_columns_and_count_all(n: int) -> None:
    others = [f"x{i}" for i in range(n)]
    used = {"contest": "contest", "player": "player", "rank": "rank"}
    text = Columns().notes(used, [*used, *others])
    listed = ", ".join(others[:MAX_LISTED]) + (f", ... ({n} in all)" if n > MAX_LISTED else "")
    assert text == f"columns used: contest, player, rank; ignored: {listed}"


def test_marking__keeps_valid_text_and_marks_other_bytes() -> None:
    text = (b"name,\xc3\xa4\n" + b"caf\xe9\n").decode("utf-8", MARKING)
    assert text.startswith("name,ä\ncaf")
    assert [has_marks(line) for line in text.splitlines()] == [False, True]
