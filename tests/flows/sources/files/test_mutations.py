"""Random mutations of valid tables: the same contests, or a report of what is left out, in numbers that add up."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.flows.sources.base import IngestReport, SourceError
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.options import ReadOptions

Row = tuple[str, str, int, str]  # contest, player, rank, day
Read = dict[str, tuple[int, list[tuple[str, int, int]]]]

NAMES = ("ann", "Ann", "007", "7", "NA", "null", " x", "x ", 'O\'Hara, "Al"', "\u00e9mile", "a;b", "a\tb", "=1+1",
         "two\nlines")  # fmt: skip
KEYS = ("contest", "player", "rank", "time")


@st.composite
def tables(draw: st.DrawFn) -> list[Row]:
    """Rows of one to four contests in order of time, with ties."""
    rows: list[Row] = []
    for number in range(draw(st.integers(1, 4))):
        players = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
        ranks = sorted(draw(st.lists(st.integers(1, 5), min_size=len(players), max_size=len(players))))
        rows += [
            (f"c{number}", player, rank, f"2024-01-0{number + 1}") for player, rank in zip(players, ranks, strict=True)
        ]
    return rows


def expected_of(rows: list[Row]) -> Read:
    contests: dict[str, list[Row]] = {}
    for row in rows:
        contests.setdefault(row[0], []).append(row)
    return {
        contest: (
            int(datetime.fromisoformat(own[0][3]).replace(tzinfo=UTC).timestamp()),
            [(p, sum(r < rank for *_, r, _ in own), sum(r <= rank for *_, r, _ in own) - 1) for _, p, rank, _ in own],
        )
        for contest, own in contests.items()
    }


def read(path: Path | str, **settings: Any) -> tuple[Read, IngestReport]:
    report = IngestReport()
    found = {}
    for c in read_contests(path, ReadOptions(**settings), report):
        places = zip(c.handles.to_pylist(), c.lo.tolist(), c.hi.tolist(), strict=True)
        found[c.contest_id] = (c.time_seconds, list(places))
    return found, report


@pytest.fixture(scope="module")
def folder() -> Any:
    """A folder that each example empties: fixtures of functions live for all examples of a test."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def emptied(folder: Path) -> Path:
    shutil.rmtree(folder / "t", ignore_errors=True)
    (folder / "t").mkdir()
    return folder / "t"


def csv_of(rows: list[Any], header: tuple[str, ...] = KEYS, **how: Any) -> str:
    out = io.StringIO()
    writer = csv.writer(out, **{"lineterminator": "\n", **how})
    writer.writerows([header, *rows])
    return out.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def check_same_csv(folder: Path, rows: list[Row], data: st.DataObject) -> None:
    """Another text of the same table is read as the same contests."""
    draw, place = data.draw, emptied(folder)
    delimiter = draw(st.sampled_from(",;\t|"))
    order = draw(st.permutations(range(5)))
    header = [draw(st.sampled_from((name, name.upper(), f" {name} "))) for name in KEYS] + ["more"]
    cells = [[*row, draw(st.sampled_from(("", "x", "-1", '"')))] for row in rows]
    how = {"delimiter": delimiter, "quoting": draw(st.sampled_from((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)))}
    cut = draw(st.integers(0, len(rows))) if draw(st.booleans()) else 0
    ending = draw(st.sampled_from(tuple(PACKED)))
    for number, part in enumerate([cells[:cut], cells[cut:]] if 0 < cut < len(rows) else [cells]):
        text = csv_of(
            [[row[i] for i in order] for row in part], tuple(header[i] for i in order), **how,
            lineterminator=draw(st.sampled_from(("\n", "\r\n"))),
        )  # fmt: skip
        text = draw(st.sampled_from(("", "\ufeff"))) + text
        text = text if draw(st.booleans()) else text.rstrip("\r\n")
        (place / f"{number}.csv{ending}").write_bytes(PACKED[ending](text.encode()))
    found, report = read(place)
    assert (found, report.left_out) == (expected_of(rows), [])


GARBAGE = ("", " ", "x", "\\N", "NaN", "inf", "-1", "0", "1.5", "1e400", "2=", "DNF", "99999999999999999999",
           "2024-02-30")  # fmt: skip


def check_damaged_csv(folder: Path, rows: list[Row], data: st.DataObject) -> None:
    """Contests without a damaged row are read; the others are read or named, and the rows add up."""
    draw, path = data.draw, emptied(folder) / "a.csv"
    cells: list[list[Any]] = [list(row) for row in rows]
    damaged: set[str] = set()
    short = 0
    for at in draw(st.sets(st.integers(0, len(rows) - 1), max_size=3)):
        damaged.add(rows[at][0])
        column = draw(st.integers(1, 4))
        if column == 4:
            cells[at] = cells[at][: draw(st.integers(1, 3))]
            short += 1
        else:
            cells[at][column] = draw(st.sampled_from(GARBAGE))
    path.write_text(csv_of(cells), "utf-8", newline="")
    try:
        found, report = read(path, on_error="skip")
    except SourceError:
        if damaged == {row[0] for row in rows}:  # nothing is left
            return
        raise
    expected = expected_of(rows)
    named = {contest for contest, _ in report.left_out if contest}
    for contest, content in expected.items():
        if contest not in damaged:
            assert found[contest] == content
    lines = [reason for contest, reason in report.left_out if not contest]
    assert len(lines) == short
    sizes = Counter(row[0] for row in cells if len(row) == 4)
    assert named | found.keys() == sizes.keys()
    assert not named & found.keys()
    assert sum(len(places) for _, places in found.values()) + sum(sizes[one] for one in named) + short == len(rows)
    assert report.participations == sum(len(places) for _, places in found.values())


TYPES: dict[str, list[Callable[[list[Any]], pa.Array]]] = {
    "contest": [
        lambda v: pa.array(v), lambda v: pa.array(v, pa.large_string()), lambda v: pa.array(v, pa.string_view()),
        lambda v: pa.array(v).dictionary_encode(),
    ],
    "rank": [
        *(lambda v, kind=kind: pa.array(v, kind) for kind in (pa.int8(), pa.uint64(), pa.int32(), pa.float32())),
        lambda v: pa.array(map(Decimal, v), pa.decimal128(9, 2)),
    ],
    "time": [
        lambda v: pa.array(map(date.fromisoformat, v)), lambda v: pa.array(map(date.fromisoformat, v), pa.date64()),
        *(lambda v, unit=unit, zone=zone: pa.array(map(datetime.fromisoformat, v), pa.timestamp(unit, zone))
          for unit in ("s", "us", "ns") for zone in (None, "UTC")),
    ],
    "more": [
        lambda v: pa.array([[1]] * len(v)), lambda v: pa.nulls(len(v)), lambda v: pa.array([{"a": 1}] * len(v)),
        lambda v: pa.array([b"\xff"] * len(v)),
    ],
}  # fmt: skip
TYPES["player"] = TYPES["contest"]


def check_same_parquet(folder: Path, rows: list[Row], data: st.DataObject) -> None:
    """Files of other types, in other pieces, are the same contests."""
    draw, place = data.draw, emptied(folder)
    form = draw(st.sampled_from(("files", "hive", "delta")))
    cuts = sorted(draw(st.sets(st.integers(0, len(rows)), max_size=2)) | {0, len(rows)})
    names = draw(st.permutations([*KEYS, "more"]))
    parts = [rows[a:b] for a, b in pairwise(cuts)]
    if form == "hive":
        parts = [[row for row in rows if row[0] == contest] for contest in dict.fromkeys(row[0] for row in rows)]
    for number, part in enumerate(parts):
        columns: dict[str, list[Any]] = dict(zip(KEYS, map(list, zip(*part, strict=True)), strict=True)) | {
            "more": [0] * len(part)
        }
        kept = [
            name
            for name in names
            if not (form == "hive" and name == "contest") and not (form == "delta" and name == "more")
        ]
        table = pa.table({name: draw(st.sampled_from(TYPES[name]))(columns[name]) for name in kept})
        if form == "delta":
            kinds = {"rank": pa.int64(), "time": pa.timestamp("us", "UTC")}
            plain = table.cast(pa.schema([(name, kinds.get(name, pa.string())) for name in kept]))
            deltalake.write_deltalake(str(place), plain.select(KEYS), mode="append")
            continue
        where = place / (f"contest={part[0][0]}" if form == "hive" else ".")
        where.mkdir(exist_ok=True)
        pq.write_table(table, where / f"{number}.parquet", row_group_size=draw(st.integers(1, 4)),
                       compression=draw(st.sampled_from(("none", "snappy", "zstd", "gzip"))))  # fmt: skip
    found, report = read(place)
    assert (found.keys(), report.left_out) == (expected_of(rows).keys(), [])
    assert {k: (t, sorted(p)) for k, (t, p) in found.items()} == {
        k: (t, sorted(p)) for k, (t, p) in expected_of(rows).items()
    }
    assert report.participations == len(rows)


def check_damaged_bytes(folder: Path, rows: list[Row], data: st.DataObject, form: str) -> None:
    """A file with damaged bytes is an error of one line, or no rows come from nowhere."""
    draw, path = data.draw, emptied(folder) / f"a.{form}"
    if form == "csv":
        content = bytearray(csv_of(rows).encode())
    else:
        sink = io.BytesIO()
        pq.write_table(pa.table(dict(zip(KEYS, map(list, zip(*rows, strict=True)), strict=True))), sink)
        content = bytearray(sink.getvalue())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(content) - 5, 0)))
        kind = draw(st.sampled_from(("replace", "insert", "delete", "cut")))
        value = draw(st.integers(0, 255))
        if kind == "replace":
            content[at : at + 1] = [value]
        elif kind == "insert":
            content.insert(at, value)
        else:
            del content[at : None if kind == "cut" else at + 1]
    path.write_bytes(content)
    for on_error in ("stop", "skip"):
        with suppress(SourceError):
            found, report = read(path, on_error=on_error)
            assert report.participations == sum(len(places) for _, places in found.values())
            assert report.participations <= len(rows) + 4  # line ends may be inserted
            assert on_error == "skip" or not report.left_out


CHECKS: dict[str, tuple[Callable[..., None], int, int]] = {
    # the check, and its examples: few, and many in the slow suite
    "a csv of another form has the same contests": (check_same_csv, 15, 200),
    "damaged rows of a csv are left out by name": (check_damaged_csv, 25, 300),
    "parquet of other types has the same contests": (check_same_parquet, 15, 100),
    "damage of a csv is an error of one line": (partial(check_damaged_bytes, form="csv"), 25, 300),
    "damage of a parquet is an error of one line": (partial(check_damaged_bytes, form="parquet"), 25, 300),
}


@pytest.mark.parametrize("many", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "many"])
@pytest.mark.parametrize("rule", CHECKS)
def test_tables__of_any_rows_keep_a_rule(folder: Path, rule: str, many: bool) -> None:
    check, *examples = CHECKS[rule]

    @repeatable(examples[many])
    @given(tables(), st.data())
    def any_table(rows: list[Row], data: st.DataObject) -> None:
        check(folder, rows, data)

    any_table()


def test_damage__of_the_name_of_a_column_is_an_error_of_one_line(folder: Path) -> None:
    path = emptied(folder) / "a.parquet"
    pq.write_table(pa.table({"contest": ["x"], "player": ["ann"], "rank": [1]}), path)
    path.write_bytes(path.read_bytes().replace(b"player", b"pla\xffer"))
    with pytest.raises(SourceError, match=r"a\.parquet: cannot be read: .*0xff"):
        read(path)
