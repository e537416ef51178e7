"""Files of games are read as periods: tables, PGN, any order, any block size; faults name file and row."""

from __future__ import annotations

import datetime
import gzip
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from helpers.games import read_games as read

from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.files.inputs import Input
from ranklake.flows.sources.files.text_tables import BLOCK_BYTES
from ranklake.flows.sources.games.batch import GamesReport
from ranklake.flows.sources.games.options import GamesOptions, parse_columns
from ranklake.flows.sources.games.periods import number_of_period, period_name
from ranklake.flows.sources.games.reading import read_periods
from ranklake.flows.sources.games.tables import read_table

DAY = 86_400
ROWS = [
    ("ann", "bob", "1-0", 10 * DAY + 5), ("bob", "cat", "1/2-1/2", 10 * DAY + 9), ("cat", "ann", "0-1", 11 * DAY),
    ("ann", "dan", "*", 11 * DAY + 1), ("dan", "bob", "0-1", 11 * DAY + 2),
]  # fmt: skip
PERIODS = [
    ("1970-01-11", [("ann", "bob", 1.0, 10 * DAY + 5), ("bob", "cat", 0.5, 10 * DAY + 9)]),
    ("1970-01-12", [("cat", "ann", 0.0, 11 * DAY), ("dan", "bob", 0.0, 11 * DAY + 2)]),
]


def table(rows: list[tuple[str, str, str, int]] = ROWS) -> pa.Table:
    return pa.table(dict(zip(("white", "black", "result", "time"), map(list, zip(*rows, strict=True)), strict=True)))


@pytest.mark.parametrize("batch_rows", [1, 3, 5, 100])
def test_parquet__gives_the_same_games_for_every_size_of_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_rows: int
) -> None:
    monkeypatch.setattr("ranklake.flows.sources.games.tables._BATCH_ROWS", batch_rows)
    path = tmp_path / "games.parquet"
    with pq.ParquetWriter(path, table().schema) as writer:
        for rows in (ROWS[:2], ROWS[2:2], ROWS[2:3], ROWS[3:]):
            writer.write_table(table(rows) if rows else table()[:0])
    assert read(path)[0] == PERIODS


def test_parquet__memory_does_not_hold_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n, groups, held = 1_000, 60, []
    monkeypatch.setattr("ranklake.flows.sources.games.tables._BATCH_ROWS", n)
    path, draw = tmp_path / "games.parquet", np.random.default_rng(4)
    with pq.ParquetWriter(path, table().schema) as writer:
        for _ in range(groups):
            white, black = (pa.array(draw.integers(0, 10**12, n)).cast(pa.string()) for _ in range(2))
            games = {"white": white, "black": black, "result": ["1-0"] * n, "time": draw.integers(0, DAY, n)}
            writer.write_table(pa.table(games, schema=table().schema))
    before = pa.total_allocated_bytes()
    for _ in read_table(Input(path, path.name, "parquet"), GamesOptions(), GamesReport()):
        held.append(pa.total_allocated_bytes() - before)
    assert len(held) == groups
    assert max(held) < path.stat().st_size / 2


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".csv.zst"])
def test_tables__are_read_in_every_form(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"games{ending}"
    if ending == ".parquet":
        pq.write_table(table(), path, row_group_size=2)
    else:
        delimiter = "\t" if ending == ".tsv" else ","
        with (
            pa.CompressedOutputStream(str(path), "zstd")
            if ending.endswith("zst")
            else pa.OSFile(str(path), "wb") as out
        ):
            pacsv.write_csv(table(), out, pacsv.WriteOptions(delimiter=delimiter))
    found, report = read(path)
    assert found == PERIODS
    place = "row 4" if ending == ".parquet" else "row 4 (line 5)"
    assert (report.games, report.lines()) == (4, [f"left out: 1 game, unfinished (first: {path.name}, {place})"])


def test_files__are_read_together_in_any_order(tmp_path: Path) -> None:
    pacsv.write_csv(table(ROWS[3:]), tmp_path / "a.csv")
    pacsv.write_csv(table(ROWS[:3][::-1]), tmp_path / "b.csv")
    assert read(tmp_path / "*.csv")[0] == PERIODS


def test_periods__are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ranklake.flows.sources.games.periods.MAX_PERIODS", 1)
    pacsv.write_csv(table(), tmp_path / "games.csv")
    with pytest.raises(SourceError, match="games of more than 1 periods; choose a longer --period"):
        read(tmp_path / "games.csv")
    assert len(read(tmp_path / "games.csv", period="month")[0]) == 1


def test_columns__are_found_by_their_names_or_given(tmp_path: Path) -> None:
    times = [datetime.datetime.fromtimestamp(row[3], datetime.UTC) for row in ROWS]
    lichess = pa.table(
        {
            "Event": ["Rated"] * 5, "White": [row[0] for row in ROWS], "Black": [row[1] for row in ROWS],
            "Result": pa.array([row[2] for row in ROWS]).dictionary_encode(),
            "UTCDate": [time.date() for time in times], "UTCTime": [time.time() for time in times],
        }
    )  # fmt: skip
    pq.write_table(lichess, tmp_path / "games.parquet")
    assert read(tmp_path / "games.parquet")[0] == PERIODS
    other = table().rename_columns(["one", "two", "score", "when"])
    pacsv.write_csv(other, tmp_path / "other.csv")
    columns = parse_columns(["white=one", "black=two", "time=when"])
    assert read(tmp_path / "other.csv", columns=columns)[0] == PERIODS
    missing = r"other\.csv: needs a column for white; it has 'one', 'two', 'score', 'when'"
    with pytest.raises(SourceError, match=missing):
        read(tmp_path / "other.csv")


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        (("ann", "x" * 2000, "1-0", 5), "at most 1024 characters"),
        (("ann", "bob", "2-0", 5), "a result must be 1-0, .* got '2-0'"),
    ],
)
def test_faults__name_the_file_and_the_row(tmp_path: Path, row: tuple[str, str, str, int], rule: str) -> None:
    pacsv.write_csv(table([*ROWS[:2], row]), tmp_path / "games.csv")
    with pytest.raises(SourceError, match=rule) as raised:
        read(tmp_path / "games.csv")
    assert list(raised.value.rows) == [3]
    assert raised.value.source == "games.csv"


HOME = [35.0, None, -20.5, 12.0, 0.0]
FAVOURED = [("1970-01-11", [35.0, 0.0]), ("1970-01-12", [-20.5, 0.0])]


def advantages(*paths: Path, **options: object) -> list[tuple[str, list[float]]]:
    """The advantages of the games of each period."""
    chosen = GamesOptions(**options)  # type: ignore[arg-type]
    periods = read_periods([str(path) for path in paths], chosen, GamesReport())
    return [(period.contest_id, period.games.advantage.tolist()) for period in periods]


def home_table(values: list[float | None] = HOME, name: str = "home") -> pa.Table:
    return table().append_column(name, pa.array(values, pa.float64()))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_advantages__are_those_of_a_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, batch_rows: int
) -> None:
    monkeypatch.setattr("ranklake.flows.sources.games.tables._BATCH_ROWS", batch_rows)
    path, write = tmp_path / f"games{ending}", pq.write_table if ending == ".parquet" else pacsv.write_csv
    write(home_table(), path)
    assert advantages(path, columns={"advantage": "home"}) == FAVOURED
    assert advantages(path) == [("1970-01-11", []), ("1970-01-12", [])]
    write(home_table(name="Advantage"), path)
    assert advantages(path) == FAVOURED
    assert advantages(path, columns={"advantage": ""}) == [("1970-01-11", []), ("1970-01-12", [])]
    assert read(path)[0] == PERIODS


def test_advantages__stay_with_their_games_in_any_order(tmp_path: Path) -> None:
    favoured = home_table(name="advantage")
    pacsv.write_csv(favoured.take([4, 2]), tmp_path / "a.csv")
    pacsv.write_csv(favoured.take([1, 0, 3]), tmp_path / "b.csv")
    assert advantages(tmp_path / "*.csv") == FAVOURED
    pacsv.write_csv(table(ROWS[1:2]), tmp_path / "b.csv")  # without the column
    pacsv.write_csv(favoured.take([0, 3]), tmp_path / "c.csv")
    assert advantages(tmp_path / "*.csv") == FAVOURED


def test_advantage__is_one_for_all_games_of_any_file(tmp_path: Path) -> None:
    pacsv.write_csv(table(ROWS[:3]), tmp_path / "games.csv")
    (tmp_path / "games.pgn").write_bytes(PGN)
    found = advantages(tmp_path / "games.*", advantage=35)
    assert found == [("1970-01-11", [35.0] * 2), ("1970-01-12", [35.0]), ("2024-01-01", [35.0] * 20)]


@pytest.mark.parametrize(
    ("value", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf"), (20_000.5, "20000.5"), ("much", "much")]
)
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_advantages__that_are_no_number_in_the_range_are_faults(
    tmp_path: Path, ending: str, value: float | str, shown: str
) -> None:
    path, write = tmp_path / f"games{ending}", pq.write_table if ending == ".parquet" else pacsv.write_csv
    values = [None, "20000", value] if isinstance(value, str) else [None, 20_000.0, value]
    write(table(ROWS[:3]).append_column("advantage", pa.array(values)), path)
    rule = f"an advantage must be a number within -20000..20000 rating points, or empty for none, got '{shown}'; "
    with pytest.raises(SourceError, match=re.escape(rule)) as raised:
        read(path)
    assert (list(raised.value.rows), raised.value.source) == ([3], path.name)


def test_advantages__of_another_type_are_refused(tmp_path: Path) -> None:
    pq.write_table(table().append_column("advantage", pa.array([True] * 5)), tmp_path / "games.parquet")
    with pytest.raises(SourceError, match="advantage column holds true and false; it must hold numbers"):
        read(tmp_path / "games.parquet")


@pytest.mark.bound("ranklake.flows.sources.games.options.GAME_ADVANTAGE.high")
@pytest.mark.parametrize("value", [np.nan, np.inf, 20_001.0, -1e9])
def test_advantage__for_all_games_is_in_the_range(value: float) -> None:
    with pytest.raises(ValueError, match=r"^advantage must be within -20000\.\.20000 rating points, got "):
        GamesOptions(advantage=value)


def test_advantage__for_all_games_excludes_a_column(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^--advantage 35 is for all games and --column advantage=home has one for"):
        GamesOptions(columns={"advantage": "home"}, advantage=35.0)
    pacsv.write_csv(home_table(name="advantage"), tmp_path / "games.csv")
    with pytest.raises(SourceError, match=r"games\.csv: has a column advantage, and --advantage is 35; .*advantage=$"):
        read(tmp_path / "games.csv", advantage=35.0)
    found = advantages(tmp_path / "games.csv", advantage=35.0, columns={"advantage": ""})
    assert found == [("1970-01-11", [35.0] * 2), ("1970-01-12", [35.0] * 2)]


JUNK = bytes(np.random.default_rng(0).integers(0, 256, 5000, dtype=np.uint8))
PGN = b'[White "ann"]\n[Black "bob"]\n[Result "1-0"]\n[Date "2024.01.01"]\n\n1-0\n\n' * 20
HEAD, GAME = b"white,black,result,time\n", b"ann,bob,1-0,2024-01-01\n"
LINE = b"x" * (2 * BLOCK_BYTES + 2)


@pytest.mark.parametrize(
    ("name", "data", "rule"),
    [
        ("games.pgn", b"", "the file is empty"),
        ("games.csv", b"", "the file is empty"),
        ("games.pgn", JUNK, "no PGN text: a line has the control character 0x01"),
        ("games.pgn", PGN + LINE, "a line is longer than 16 MiB"),
        ("games.csv", HEAD + GAME + LINE, "a row of more than 16 MiB, the limit"),
        ("games.csv", JUNK, "cannot be read"),
        ("games.parquet", JUNK, "cannot be read"),
        ("games.pgn.zst", JUNK, "cannot be read"),
        ("games.pgn.zst", pa.compress(PGN, "zstd", asbytes=True)[:-9], "cannot be read: Truncated"),
        ("games.pgn.gz", gzip.compress(PGN, mtime=0)[:-9], "cannot be read"),
        ("games.csv", HEAD + GAME + b"ann,bob,1-0\n", "the header has 4 columns, the row 3"),
        ("games.csv", HEAD + b"ann,bob,1-0,2024-02-30\n", "a time must be"),
        ("games.csv", b"white,white,black,result,time\na,b,c,1-0,2024-01-01\n", "there are two columns 'white'"),
        (
            "games.csv",
            HEAD + "änn,bob,1-0,2024-01-01\n".encode("latin-1"),
            "the text in column 'white' is not UTF-8; name its encoding, for example with --encoding latin-1",
        ),
    ],
)
def test_damage__is_one_line_with_the_name_of_the_file(tmp_path: Path, name: str, data: bytes, rule: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SourceError, match=rule) as raised:
        read(tmp_path / name)
    assert raised.value.source == name
    assert "\n" not in str(raised.value)


def test_games__of_any_zone_are_in_periods_of_utc(tmp_path: Path) -> None:
    rows = [b"ann,bob,1-0,2024-01-01T00:30:00+02:00\n", b"bob,ann,1-0,2024-01-01T00:00:00Z\n"]
    (tmp_path / "games.csv").write_bytes(HEAD + b"".join(rows))
    assert [(name, len(games)) for name, games in read(tmp_path / "games.csv")[0]] == [
        ("2023-12-31", 1),
        ("2024-01-01", 1),
    ]


def test_games__that_are_equal_count_each(tmp_path: Path) -> None:
    (tmp_path / "games.csv").write_bytes(HEAD + 3 * GAME)
    ((_, games),) = read(tmp_path / "games.csv")[0]
    assert len(games) == 3


@pytest.mark.parametrize(
    ("period", "name"),
    [("hour", "2024-01-01T23"), ("day", "2024-01-01"), ("week", "2024-W01"), ("month", "2024-01"), ("year", "2024")],
)
def test_periods__are_named_by_their_time(period: str, name: str) -> None:
    time = np.array([1_704_151_799])  # 2024-01-01 23:29:59
    assert period_name(int(number_of_period(time, period)[0]), period) == name


def test_weeks__begin_on_monday() -> None:
    times = np.array(["1969-12-28T23:59:59", "1969-12-29", "1970-01-04T23:59:59", "1970-01-05"], "datetime64[s]")
    assert number_of_period(times.astype(np.int64), "week").tolist() == [-2, -1, -1, 0]


def test_weeks__are_those_of_the_calendar_of_python() -> None:
    days = [datetime.date(1999, 12, 20) + datetime.timedelta(days=7 * week) for week in range(1500)]
    numbers = number_of_period(np.array(days, "datetime64[s]").astype(np.int64), "week").tolist()
    expected = ["{}-W{:02d}".format(*day.isocalendar()[:2]) for day in days]
    assert [period_name(number, "week") for number in numbers] == expected


def test_options__are_checked() -> None:
    with pytest.raises(ValueError, match="period must be one of hour, day, week, month, year, got 'decade'"):
        GamesOptions(period="decade")
    with pytest.raises(ValueError, match="expected KEY=COLUMN"):
        parse_columns(["whites=a"])
