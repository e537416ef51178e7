"""Participants without a place never win: each door refuses them, ties them behind all others, or leaves them out."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklake import Ratings, preview, rate_history, smooth_history, tune
from ranklake.flows.cli.main import cli
from ranklake.flows.ingestion.databases import ingest_sql
from ranklake.flows.preview.standings import standings_from_file
from ranklake.flows.sources.absences import as_places
from ranklake.flows.sources.base import IngestReport, SourceError
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.options import ReadOptions
from ranklake.storage import Contest, Dataset, Lake

COMMAND = "; --absent last ties such participants behind all others, --absent drop leaves them out"
PYTHON = "; absent='last' ties such participants behind all others, absent='drop' leaves them out"


def table(*contests: Sequence[object], key: str = "rank") -> pd.DataFrame:
    """Contests with the players a, b, c, ... in this order, and their values."""
    rows = [("xyz"[at], "abcdefghi"[i], value) for at, values in enumerate(contests) for i, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["contest", "player", key]).astype({key: object})


def as_csv(folder: Path, frame: pd.DataFrame) -> Path:
    folder.mkdir(exist_ok=True)
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def as_json(folder: Path, frame: pd.DataFrame) -> Path:
    rows = [{key: None if value != value else value for key, value in row.items()} for row in frame.to_dict("records")]
    (folder / "t.json").write_text(json.dumps(rows))
    return folder / "t.json"


def as_parquet(folder: Path, frame: pd.DataFrame) -> Path:
    key = frame.columns[2]
    if any(isinstance(value, str) for value in frame[key]):
        frame = frame.assign(**{key: frame[key].map(lambda value: None if value is None else str(value))})
    pq.write_table(pa.Table.from_pandas(frame), folder / "t.parquet")
    return folder / "t.parquet"


def places(contest: Contest) -> dict[str, tuple[int, int]]:
    both = zip(contest.lo.tolist(), contest.hi.tolist(), strict=True)
    return dict(zip(contest.handles.to_pylist(), both, strict=True))


def read(path: Path, report: IngestReport | None = None, columns: Sequence[str] = (), **options: Any) -> list[Any]:
    return [places(one) for one in read_contests(path, ReadOptions.parse(columns, **options), report)]


@pytest.mark.parametrize("write", [as_csv, as_json, as_parquet])
@pytest.mark.parametrize(
    ("absent", "got", "numbers"),
    [((0, 0), "0", True), ((-1, -2), "-1, -2", True), (("DNF", "dsq"), "'DNF', 'dsq'", False),
     ((None, None), "empty", False), (("\\N", "-"), "'\\\\N', '-'", False), ((-1, "NC"), "-1, 'NC'", False),
     (("D.N.F.", "."), "'D.N.F.', '.'", False)],
)  # fmt: skip
def test_files__refuse_absences_or_read_them(
    tmp_path: Path, write: Any, absent: tuple[Any, Any], got: str, numbers: bool
) -> None:
    path = write(tmp_path, table((1, 2, 2, *absent), (2, 1)))
    with pytest.raises(SourceError) as refused:
        read(path)
    assert (refused.value.contest, list(refused.value.rows)) == ("x", [4, 5])
    rule = f"a place must be a {'number from 1' if numbers or -1 in absent else 'finite number'}, got rank = {got}"
    every = ", --absent none takes every number as a place" if numbers else ""
    assert refused.value.rule == f"{rule}{COMMAND}{every}"
    report = IngestReport()
    won = {"a": (0, 0), "b": (1, 2), "c": (1, 2)}
    other = {"a": (1, 1), "b": (0, 0)}
    assert read(path, report, absent="last") == [won | {"d": (3, 4), "e": (3, 4)}, other]
    assert report.notes[-1].startswith("column rank: no place in 2 rows of 1 contest (")
    assert report.notes[-1].endswith("), tied behind all others")
    assert read(path, report, absent="drop") == [won, other]
    assert report.notes[-1].endswith("), left out")


def test_texts__of_places_are_read_and_others_are_not_guessed(tmp_path: Path) -> None:
    texts = ["1st", "T2", "2=", "=2", "t-2", " 2 ", "#7", "8.", "9)", "10th", "3rd", "4e", "1er", "2ème", "3º", "11th="]
    values, absent, bad = as_places(pa.chunked_array([texts]), "rank", "t")
    assert values.tolist() == [1, 2, 2, 2, 2, 2, 7, 8, 9, 10, 3, 4, 1, 2, 3, 11]
    assert not (absent | bad).any()
    odd = ["1-2", "2nd place", "one", "=", "1,5", "T", "DNF 3", "1e", "1e2", "inf", "R", "2.5"]
    values, absent, bad = as_places(pa.chunked_array([odd]), "rank", "t")
    assert np.flatnonzero(~bad).tolist() == [7, 8, 10, 11]
    assert (values[[7, 8, 11]].tolist(), np.flatnonzero(absent).tolist()) == ([1, 100, 2.5], [10])
    assert as_places(pa.chunked_array([["2=", "R"]]), "score", "t")[2].all()
    exact, *_ = as_places(pa.chunked_array([[str(2**53 + 1), "DNF"]]), "score", "t")
    assert exact[0] == 2**53 + 1
    (only,) = read(as_csv(tmp_path, table(("1st", "T2", "2=", "4th"))))
    assert only == {"a": (0, 0), "b": (1, 2), "c": (1, 2), "d": (3, 3)}


def test_scores__below_zero_count_and_a_missing_one_is_an_absence(tmp_path: Path) -> None:
    path = as_csv(tmp_path, table((-1, 0, 3, "DNF", None), key="score"))
    with pytest.raises(SourceError, match="a score must be a finite number, got score = 'DNF', empty; --absent last"):
        read(path)
    assert read(path, absent="last") == [{"c": (0, 0), "b": (1, 1), "a": (2, 2), "d": (3, 4), "e": (3, 4)}]
    assert read(path, absent="drop") == [{"c": (0, 0), "b": (1, 1), "a": (2, 2)}]


ORDINAL = {"a": (0, 0), "b": (1, 1), "c": (2, 2)}


@pytest.mark.parametrize(
    ("contests", "read_as_places"),
    [
        (((0, 1, 2), (1, 0)), True),
        (((0, 0, 2), (2, 0, 1)), True),
        (((0, 1, 2), (0,)), True),
        (((0, 1, 2),), False),  # two places and an absence?
        (((0, 1), (1, 0)), False),  # winners have 1?
        (((0, 1, 2), (1, 2)), False),
        (((0, 0, 1), (0, 1, 2)), False),
        (((0, 1, 2), (0, 1, -1)), False),
        (((0, 2, 3), (0, 1, 2)), False),
        (((0, 0, 0), (0, 1, 2)), False),
    ],
)
def test_ranks__from_zero_in_every_contest_are_places(
    tmp_path: Path, contests: tuple[tuple[int, ...], ...], read_as_places: bool
) -> None:
    path, report = as_csv(tmp_path, table(*contests)), IngestReport()
    if not read_as_places:
        with pytest.raises(SourceError, match=r"from 1, got rank = .* none takes every number as a place$"):
            read(path)
        with pytest.raises(ValueError, match="absent='none' takes every number"):
            rate_history(table(*contests))
    else:
        by_note = read(path, report)
        assert report.notes[-1].startswith("column rank: places from 0, because every contest has 0")
        assert by_note == read(path, absent="none")
        with pytest.warns(UserWarning, match="rank: places from 0"):
            rate_history(table(*contests))
    assert read(path, absent="none")[0]["a"][0] == 0
    assert read(path, absent="none", on_error="skip")[0].keys() == set("abcdefghi"[: len(contests[0])])


def test_ranks__from_zero_beside_words_stay_places(tmp_path: Path) -> None:
    path = as_csv(tmp_path, table((0, 1, 2, "DNF"), (1, 0, 2, None)))
    with pytest.raises(SourceError, match=f"finite number, got rank = 'DNF' .2 rows of 2 contests in all.{COMMAND}$"):
        read(path)
    assert read(path, absent="drop") == [ORDINAL, {"b": (0, 0), "a": (1, 1), "c": (2, 2)}]
    assert read(as_csv(tmp_path, table((0, 1, 2), (2, 1, 0))), absent="drop")[0] == {"b": (0, 0), "c": (1, 1)}


def test_none__takes_any_number_and_refuses_words(tmp_path: Path) -> None:
    assert read(as_csv(tmp_path, table((3, -2.5, 0))), absent="none") == [{"b": (0, 0), "c": (1, 1), "a": (2, 2)}]
    with pytest.raises(SourceError, match=r"a place must be a finite number, got rank = 'DNF'$"):
        read(as_csv(tmp_path, table((1, "DNF"))), absent="none")


def test_contest__in_which_nobody_has_a_place_is_a_fault(tmp_path: Path) -> None:
    path, report = as_csv(tmp_path, table((None, "DNS"), (1, 2, "DNF"))), IngestReport()
    for absent in ("last", "drop"):
        with pytest.raises(SourceError, match=r"contest x, rows 1 and 2 .*nobody has a place: rank = empty, 'DNS'"):
            read(path, absent=absent)
        assert len(read(path, report, absent=absent, on_error="skip")) == 1
    with pytest.warns(UserWarning, match="left out 1 contest, 2 participations"):
        history = rate_history(table((None, "DNS"), (1, 2, "DNF")), absent="drop", on_error="skip")
    assert history["player"].tolist() == ["a", "b"]


def test_skip__leaves_out_the_contest_names_it_and_counts_its_rows(tmp_path: Path) -> None:
    path, report = as_csv(tmp_path, table((1, 2, 3, "DNF"), (1, 2))), IngestReport()
    assert len(read(path, report, on_error="skip")) == 1
    lines = report.lines()
    assert lines[0] == "read 1 contest, 2 participations; left out 1 contest, 4 participations"
    assert lines[-1].startswith("left out: t.csv, contest x, row 4 (line 5): ")
    assert lines[-1].endswith("; the contest has 4 participations")
    assert len(read(path, on_error="skip", absent="last")[0]) == 4


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    fields=st.lists(st.lists(st.sampled_from([1, 2, 3, "T3", "DNF", None, 0, -1]), min_size=1, max_size=6), max_size=4)
)
def test_any_table__counts_each_row_once(tmp_path_factory: pytest.TempPathFactory, fields: list[list[Any]]) -> None:
    """Those with a place are as without the others, which are behind, left out, or reported with their contest."""
    fields = [[1, 3, "DNF"], [1, 2], *fields]  # so that no table looks as if it began at 0, and one contest is whole
    frame = pd.DataFrame(
        [(f"c{at}", f"p{i}", value) for at, field in enumerate(fields) for i, value in enumerate(field)],
        columns=["contest", "player", "rank"],
    ).astype({"rank": object})  # fmt: skip
    path = as_csv(tmp_path_factory.mktemp("any"), frame)
    placed = frame[frame["rank"].isin([1, 2, 3, "T3"])]
    alone = read(as_csv(path.parent / "placed", placed))
    report = IngestReport()
    dropped = read(path, report, absent="drop", on_error="skip")
    assert dropped == alone
    empty = len(frame) - frame["contest"].isin(placed["contest"]).sum()
    assert (report.participations, sum(report.not_read.values())) == (len(placed), empty)
    last = read(path, absent="last", on_error="skip")
    assert sum(map(len, last)) == len(frame) - empty
    for finishers, everybody in zip(alone, last, strict=True):
        n, m = len(finishers), len(everybody)
        assert everybody == finishers | dict.fromkeys(everybody.keys() - finishers.keys(), (n, m - 1))
    report = IngestReport()
    read(path, report, on_error="skip")
    assert report.participations + sum(report.not_read.values()) == len(frame)


def test_duplicates__count_the_rows_with_a_place(tmp_path: Path) -> None:
    frame = table((1, 2, "DNF")).assign(player=["a", "b", "a"])
    path = as_csv(tmp_path, frame)
    assert read(path, absent="drop") == [{"a": (0, 0), "b": (1, 1)}]
    assert read(path, absent="last", duplicates="best") == [{"a": (0, 0), "b": (1, 1)}]
    assert read(path, absent="last", duplicates="last") == [{"b": (0, 0), "a": (1, 1)}]
    with pytest.raises(SourceError, match="listed twice"):
        read(path, absent="last")


def test_teams__are_absent_as_a_whole(tmp_path: Path) -> None:
    frame = table((1, 1, "DNF", "DNF", 2, 0)).assign(team=["r", "r", "s", "s", None, None])
    path = as_csv(tmp_path, frame)
    red = {"a": (0, 0), "b": (0, 0), "e": (1, 1)}
    assert read(path, columns=["team=team"], absent="drop") == [red]
    assert read(path, columns=["team=team"], absent="last") == [red | {"c": (2, 3), "d": (2, 3), "f": (2, 3)}]
    frame.loc[3, "rank"] = 3
    with pytest.raises(SourceError, match="rank differs inside team 's'"):
        read(as_csv(tmp_path, frame), columns=["team=team"], absent="last")
    of_teams = table((0, 0, 1, 2), (0, 1, 2)).assign(team=["r", "r", None, None, *"uvw"])
    assert read(as_csv(tmp_path, of_teams), columns=["team=team"])[0]["c"] == (1, 1)


@pytest.mark.parametrize("value", [-1, None])
def test_places__given_as_lo_and_hi_say_what_an_absence_needs(tmp_path: Path, value: int | None) -> None:
    frame = table((0, value), key="lo").assign(hi=[0, value])
    with pytest.raises(SourceError, match="a participant without a place shares the last places, or has no row"):
        read(as_csv(tmp_path, frame))
    (tmp_path / "0.json").write_text('{"name": "x", "time_seconds": 1, "standings": [["a", 0, 0], ["b", -1, -1]]}')
    with pytest.raises(SourceError, match=r"lo = -1 is outside .* shares the last places, or has no row"):
        read(tmp_path / "0.json")


def test_query__has_the_option(tmp_path: Path) -> None:
    """A column of SQLite has values of several types."""
    with sqlite3.connect(tmp_path / "judge.db") as judge:
        judge.execute("create table r (contest, player, rank)")
        judge.executemany("insert into r values (1, ?, ?)", [("a", 2), ("b", 1), ("c", "DNF"), ("d", None), ("e", 0)])
    judge.close()
    url, lake = f"sqlite:///{tmp_path}/judge.db", Lake.open(str(tmp_path / "lake"), create=True)
    with pytest.raises(SourceError, match=r"got rank = 'DNF', empty, 0; --absent last .*\(players 'c', 'd', 'e'\)"):
        ingest_sql(lake, url, "select * from r", "d")
    ingest_sql(lake, url, "select * from r", "d", options={"absent": "last"})
    (part,) = Dataset.open(lake, "d").standings()
    assert (part.lo.tolist(), part.hi.tolist()) == ([0, 1, 2, 2, 2], [0, 1, 4, 4, 4])


@pytest.mark.slow
def test_commands__have_the_option(tmp_path: Path) -> None:
    path, lake = as_csv(tmp_path, table((1, 2, "DNF"), (2, 1))), str(tmp_path / "lake")
    for arguments in (
        ("ingest", "files", str(path), "--dataset", "d"),
        ("follow", "--source", "files", "--path", str(path), "--dataset", "d", "--run", "d", "--no-publish"),
        ("preview", str(as_csv(tmp_path / "next", table((1, 2, "DNF")))), "--run", "d"),
    ):
        refused = CliRunner().invoke(cli, [*arguments, "--lake", lake])
        assert (refused.exit_code, str(refused.exception).endswith(COMMAND)) == (1, True)
        done = CliRunner().invoke(cli, [*arguments, "--lake", lake, "--absent", "last"], catch_exceptions=False)
        assert done.exit_code == 0, done.output


# --- notebook -------------------------------------------------------------------------------------------------------

RACES = table((1, 2, 3, "DNF", "DSQ"), ("2=", "1st", "T2", "", None))
TIED = RACES.assign(rank=[1, 2, 3, 4, 4, 2, 1, 2, 4, 4])
KINDS = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame.assign(rank=frame["rank"].map(str))),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_frames__take_the_option_by_its_name(kind: Any) -> None:
    refusal = f"contest x, rows 4 and 5.*finite number, got rank = 'DNF', 'DSQ' .4 rows of 2 contests in all.{PYTHON}$"
    for reader in (rate_history, Ratings.rate, smooth_history, tune):
        with pytest.raises(ValueError, match=refusal):
            reader(kind(RACES))
    history, tied = rate_history(kind(RACES), absent="last"), rate_history(TIED)
    assert history.drop(columns="round_index").equals(tied.drop(columns="round_index"))
    assert (history.attrs["absent"], tied.attrs["absent"]) == (4, 0)
    dropped = rate_history(kind(RACES), absent="drop")
    assert dropped.equals(rate_history(TIED[TIED["rank"] < 4]))
    assert dropped.attrs["absent"] == 4
    smooth = smooth_history(kind(RACES), absent="last")
    assert smooth.equals(smooth_history(TIED))


def test_update__reads_absences_as_before_or_as_asked() -> None:
    ratings = Ratings.rate(RACES, absent="last")
    more = table((1, 2, "DNF")).assign(contest="z")
    assert len(ratings.update(more).history) == 13
    assert len(ratings.update(more, absent="drop").history) == 12
    with pytest.raises(ValueError, match="absent='last' ties"):
        Ratings.rate(TIED).update(more)
    with pytest.warns(UserWarning, match="places from 0"):
        from_zero = Ratings.rate(table((0, 1, 2), (2, 1, 0)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        later = from_zero.update(table((1, 0)).assign(contest="z"))
    assert later.history["player"].tolist()[-2:] == ["b", "a"]


def test_preview__of_absences_is_refused_or_as_asked(tmp_path: Path) -> None:
    frame = table((1, 0, "DNF")).drop(columns="contest")
    with pytest.raises(ValueError, match=f"number from 1, got rank = 0, 'DNF'{PYTHON}$"):
        preview(None, frame)
    assert preview(None, frame, absent="last")["place"].tolist() == [1, 2, 2]
    ratings = Ratings.rate(TIED)
    assert ratings.preview(frame, absent="last", entrants=["z"])["player"].tolist() == ["a", "b", "c", "z"]
    path = as_csv(tmp_path, frame)
    with pytest.raises(SourceError, match=f"number from 1, got rank = 0, 'DNF'{COMMAND}$"):
        standings_from_file(path)
    assert standings_from_file(path, ReadOptions(absent="last")).lo.tolist() == [0, 1, 1]
