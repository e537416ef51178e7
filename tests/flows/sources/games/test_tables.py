"""Tables of games as people have them: winners and losers, other delimiters and encodings, dates, archives."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from helpers.delta_tables import write_delta
from helpers.games import read_games

from ranklake.flows.sources.base import SourceError

DAY = 86_400
TENNIS = Path(__file__).parents[3] / "data" / "tennis-grand-slams-2015-2024.csv"
ANN = [("1970-01-11", [("ann", "bob", 1.0, 10 * DAY)])]
HEAD = "white,black,result,date\n"


def read(tmp_path: Path, text: str | bytes, name: str = "games.csv", **options: object):  # type: ignore[no-untyped-def]
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_games(path, **options)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_winners__and_losers_are_games(tmp_path: Path, ending: str) -> None:
    games = {"winner": ["ann", "bob"], "loser": ["bob", "cat"], "date": ["1970-01-11"] * 2, "draw": [False, True]}
    path = tmp_path / f"games{ending}"
    (pq.write_table if ending == ".parquet" else pacsv.write_csv)(pa.table(games), path)
    with_draws = [("1970-01-11", [("ann", "bob", 1.0, 10 * DAY), ("bob", "cat", 0.5, 10 * DAY)])]
    assert read_games(path)[0] == with_draws
    assert read_games(path, columns={"draw": ""})[0][0][1][1][2] == 1.0
    renamed = path.with_name(f"other{ending}")
    other = pa.table(games).rename_columns(["won", "lost", "date", "tie"])
    (pq.write_table if ending == ".parquet" else pacsv.write_csv)(other, renamed)
    assert read_games(renamed, columns={"winner": "won", "loser": "lost", "draw": "tie"})[0] == with_draws


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_folders__have_columns_in_their_names(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "date=1970-01-11" / f"games{ending}"
    path.parent.mkdir()
    games = pa.table({"white": ["ann"], "black": ["bob"], "result": ["1-0"]})
    write = pq.write_table if ending == ".parquet" else pacsv.write_csv
    write(games, path)
    assert read_games(path)[0] == ANN
    write(games.append_column("date", pa.array(["1970-01-12"])), path)
    with pytest.raises(SourceError, match=r"'date' is in the file and in the name of a folder \(date=1970-01-11\)"):
        read_games(path)


def test_winners__of_real_matches_are_all_read() -> None:
    found, report = read_games(TENNIS, columns={"time": "start"}, period="year")
    assert (report.games, report.lines()) == (270, [])
    assert found[0][1][0][:3] == ("Novak Djokovic", "Milos Raonic", 1.0)


@pytest.mark.parametrize("draw", ["", "0", "no", "False"])
def test_draws__are_flags_and_blank_is_none(tmp_path: Path, draw: str) -> None:
    text = f"winner,loser,date,draw\nann,bob,1970-01-11,{draw}\n"
    assert read(tmp_path, text)[0] == ANN
    with pytest.raises(SourceError, match=r"row 1 \(line 2\): draw must be true or false, got 'maybe'"):
        read(tmp_path, text.replace(f",{draw}\n", ",maybe\n"))


@pytest.mark.parametrize(
    ("text", "options", "rule"),
    [
        ("White,white,black,result,date\n", {},
         "the columns 'White' and 'white' differ in the case of their letters only; choose one with --column white=Wh"),
        ("winner,loser,date,advantage\nann,bob,1970-01-11,5\n", {}, "does not say who had the advantage"),
        ("winner,loser,date\nann,bob,1970-01-11\n", {"advantage": 5.0}, "does not say who had the advantage"),
        ("winner,loser,date\n", {"columns": {"winner": "winner", "white": "loser"}}, "exclude each other"),
        ("a,b\n", {}, "needs a column for white; it has 'a', 'b'; .*winners and losers with --column winner="),
        (HEAD + "ann,bob,1-0,01/02/1970\n", {}, "--time-format"),
        (HEAD + "ann,bob,1-0,1970-01-11\nann,bob,1-0,soon\n", {}, r"row 2 \(line 3\): a time must be"),
        (HEAD + "ann,bob,0.75,1970-01-11\n", {}, "--fractional takes the scores between them, which some systems rate"),
        ((HEAD + "Jörg,bob,1-0,1970-01-11\n").encode("utf-16"), {}, "UTF-16, not UTF-8; --encoding utf-16 reads it"),
        ((HEAD + "Jörg,bob,1-0,1970-01-11\n").encode("latin-1"), {}, "column 'white' is not UTF-8; name its"),
        ((HEAD + "Jörg,bob,1-0,1970-01-11\n").encode("latin-1"), {"encoding": "ascii"}, "text is not ascii: byte 0xf6"),
    ],
)  # fmt: skip
def test_faults__name_the_value_and_the_remedy(tmp_path: Path, text: str, options: dict, rule: str) -> None:
    with pytest.raises(SourceError, match=rule) as raised:
        read(tmp_path, text, **options)
    assert str(raised.value).startswith("games.csv")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters__are_found_in_the_header(tmp_path: Path, delimiter: str) -> None:
    text = (HEAD + "ann,bob,1-0,1970-01-11\n").replace(",", delimiter)
    assert read(tmp_path, text)[0] == ANN
    assert read(tmp_path, "\ufeff" + text)[0] == ANN
    assert read(tmp_path, f"sep={delimiter}\n{text}")[0] == ANN
    assert read(tmp_path, text, delimiter="tab" if delimiter == "\t" else delimiter)[0] == ANN


@pytest.mark.parametrize(
    ("date", "day"),
    [
        ("1970.01.11", 10), ("1970/1/11", 10), ("1970-01-11", 10), (" 1970.1.11 ", 10), ("1970.01.11 00:00:05", 10),
        ("1970-01-11T00:00:05", 10), ("1970.??.??", None), ("????.??.??", None), ("", None), ("-", None), ("?", None),
        ("1970.01.00", None), ("197?.01.01", None),
    ],
)  # fmt: skip
def test_dates__of_any_usual_form_are_read_and_unknown_ones_counted(tmp_path: Path, date: str, day: int | None) -> None:
    found, report = read(tmp_path, HEAD + f"ann,bob,1-0,{date}\ncat,dan,1-0,1970-01-12\n")
    assert [period for period, _ in found] == ["1970-01-11", "1970-01-12"][day is None :]
    lines = [] if day else ["left out: 1 game, without a full date (first: games.csv, row 1 (line 2))"]
    assert report.lines() == lines


def test_dates__of_one_form_are_read_in_every_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ranklake.flows.sources.games.tables._BATCH_ROWS", 1)
    games = {"white": ["ann"] * 3, "black": ["bob"] * 3, "result": ["1-0"] * 3, "date": ["1970.01.11", "", "1970/1/11"]}
    pq.write_table(pa.table(games), tmp_path / "games.parquet", row_group_size=1)
    found, report = read_games(tmp_path / "games.parquet")
    assert (found, report.n_left_out) == ([(ANN[0][0], ANN[0][1] * 2)], 1)


def test_files__without_a_game_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEAD + "ann,bob,1-0,1970-01-11\n")
    (tmp_path / "b.csv").write_text(HEAD)
    (tmp_path / "c.pgn").write_text("1. e4 e5 1-0\n")
    found, report = read_games(tmp_path / "*")
    assert (found, report.lines()) == (ANN, ["2 files without a game (first: b.csv)"])


def test_clocks__that_are_unknown_are_midnight(tmp_path: Path) -> None:
    head = "white,black,result,utcdate,utctime\n"
    rows = [f"ann,bob,1-0,1970.01.11,{clock}\n" for clock in ("??:??:??", "", "00:00:07")]
    found, _ = read(tmp_path, head + "".join(rows))
    assert [time - 10 * DAY for *_, time in found[0][1]] == [0, 0, 7]
    with pytest.raises(SourceError, match=r"row 1 \(line 2\): a clock must be a time of day .*, got '25:00'"):
        read(tmp_path, head + "ann,bob,1-0,1970.01.11,25:00\n")


def test_rows__keep_their_numbers_after_rows_that_are_skipped(tmp_path: Path) -> None:
    rows = [
        "ann,bob,1-0,1970-01-11",
        "short",
        "ann,bob,1-0,1970-01-11,long",
        "J\xf6rg,bob,1-0,1970-01-11",
        "ann,bob,x,1970-01-11",
    ]
    _, report = read(tmp_path, (HEAD + "\n".join(rows) + "\n").encode("latin-1"), on_error="skip")
    assert (report.games, report.n_left_out) == (1, 4)
    lines = "\n".join(report.lines())
    assert "2 games, with another number of fields than the header's 4 (first: games.csv, row 2)" in lines
    assert "is not UTF-8: b'J\\xf6rg', byte 0xf6; name its encoding, " in lines
    assert "cp1252 (first: games.csv, row 4 (line 5))" in lines
    assert "got 'x'; --value TEXT=SCORE says what a text means (first: games.csv, row 5 (line 6))" in lines


def test_fields__may_have_lines_and_delimiters(tmp_path: Path) -> None:
    text = 'white,black,result,date,moves\nann,bob,1-0,1970-01-11,"1. e4,\n\n1-0"\n'
    assert read(tmp_path, text)[0] == ANN


def test_zips__are_read_member_by_member(tmp_path: Path) -> None:
    path = tmp_path / "games.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/one.csv", HEAD + "ann,bob,1-0,1970-01-11\n")
        archive.writestr("two.pgn", '[White "cat"]\n[Black "dan"]\n[Date "1970.01.12"]\n[Result "*"]\n')
        archive.writestr("read.me", "no games")
        archive.writestr("__MACOSX/two.pgn", "no games")
    found, report = read_games(path)
    assert found == ANN
    assert report.lines() == [
        "left out: 1 game, unfinished (first: games.zip, two.pgn, line 1)",
        "1 other file in an archive not read (first: games.zip, read.me)",
    ]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../two.pgn", "")
    with pytest.raises(SourceError, match="leads out of the archive"):
        read_games(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("read.me", "no games")
    with pytest.raises(SourceError, match="an archive without files of games"):
        read_games(path)
    path.write_bytes(b"PK no zip")
    with pytest.raises(SourceError, match=r"games\.zip: damaged or truncated archive"):
        read_games(path)


def test_delta_tables__have_the_games_of_their_log(tmp_path: Path) -> None:
    old, new = (
        {"white": [name], "black": ["bob"], "result": ["1-0"], "date": ["1970-01-11"]} for name in ("old", "ann")
    )
    folder = write_delta(tmp_path / "games", old, new)
    assert read_games(folder)[0] == ANN
    with pytest.raises(SourceError, match=r"part of the Delta table games, which also keeps deleted rows in its files"):
        read_games(folder / "*.parquet")
    with pytest.raises(SourceError, match=r"games are read from .* give files, or a pattern"):
        read_games(tmp_path)


@pytest.mark.parametrize("seeds", [range(30), pytest.param(range(30, 1_500), marks=pytest.mark.slow)])
def test_damage__loses_no_row_in_silence(tmp_path: Path, seeds: range) -> None:
    text = HEAD.encode() + b"".join(b"ann,bob,1-0,1970-01-%02d\n" % day for day in range(1, 10))
    for seed in seeds:
        draw = np.random.default_rng(seed)
        at = int(draw.integers(len(HEAD), len(text)))
        byte = bytes([draw.choice(list(b',;\x80 \n\r1a-?"'))])
        broken = text[:at] + byte * int(draw.integers(2)) + text[at + int(draw.integers(2)) :]
        try:
            _, report = read(tmp_path, broken, on_error="skip")
        except SourceError as error:  # a quotation mark that is never closed
            if b'"' in broken or "time" in str(error):
                continue
            raise
        there = len([line for line in re.split(rb"\r\n|\r|\n", broken) if line]) - 1
        assert report.games + report.n_left_out == there or b'"' in broken, (seed, broken)


@pytest.mark.parametrize("numbers", [True, False])
def test_unix_times__with_fractions_are_rounded_down(tmp_path: Path, numbers: bool) -> None:
    times = [1682351591.75, 1682351600.0, 20210304.5]
    path, games = tmp_path / "games.parquet", {"white": ["a"] * 3, "black": ["b"] * 3, "result": ["1-0"] * 3}
    for n in (2, 3):
        time = pa.array(times[:n]) if numbers else pa.array(list(map(str, times[:n])))
        pq.write_table(pa.table({key: values[:n] for key, values in games.items()} | {"time": time}), path)
        if n == 2:
            assert [game[3] for _, period in read_games(path)[0] for game in period] == [1682351591, 1682351600]
            continue
        with pytest.raises(SourceError, match=r"games\.parquet, row 3: a time must be a whole number of UTC seconds"):
            read_games(path)  # a day and a fraction of it is no time
