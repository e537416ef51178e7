"""Exports: the published columns in every format, complete files, and closed pipes."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import stat
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from helpers.commands import Command
from helpers.lakes import contest, lake_of, often, rate_run, same_tables, start, synthetic
from helpers.timeouts import TIMEOUT

import ranklake.flows.publication.export
from ranklake.flows.publication.content import Content
from ranklake.flows.publication.export import atomic_file, export_rows, write_export
from ranklake.storage import Lake
from ranklake.storage.lake.schemas import PUBLISHED

OFTEN = often(segment_rows=20)

STRANGE = ['a,"b",c', "line\nbreak\r\n", "选手 \U0001f98a", "\x00\x1b[31m\x7f", "\\", " ", "null", "=1+1"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A run of many small segments, with unusual names and contests without a time."""
    lake = lake_of(tmp_path_factory.mktemp("lake"), [contest("first", *STRANGE), *synthetic(40)])
    rate_run(lake, policy=OFTEN)
    rate_run(lake, run="elo", system="elo", policy=OFTEN)
    return lake


def published(lake: Lake, what: str, run: str = "run") -> pa.Table:
    content = Content(lake, run)
    return content.leaderboard() if what == "leaderboard" else pa.Table.from_batches(content.ratings(0))


def from_json(text: str, what: str) -> pa.Table:
    rows = [json.loads(line, parse_constant=pytest.fail) for line in text.split("\n")[:-1]]
    schema = PUBLISHED[what]
    assert all(list(row) == schema.names for row in rows)
    return pa.Table.from_pylist(rows, schema=schema)


def from_csv(text: str, what: str) -> pa.Table:
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    schema = PUBLISHED[what]
    made = {pa.float64(): float, pa.int32(): int, pa.int64(): int, pa.string(): str, pa.bool_(): "true".__eq__}
    columns = {
        field.name: [None if row[field.name] == "" else made[field.type](row[field.name]) for row in rows]
        for field in schema
    }
    return pa.table(columns, schema=schema)


def nulled(table: pa.Table) -> list[dict[str, object]]:
    return [{key: None if value == "" else value for key, value in row.items()} for row in table.to_pylist()]


@pytest.mark.slow
def test_export__leaves_out_and_counts_provisional_players(invoke: Command, lake: Lake, tmp_path: Path) -> None:
    at = ("export", "--run", "run", "--what", "leaderboard", "--min-rounds", 3, "--lake", lake.url)
    board = Content(lake, "run", places={"min_rounds": 3}).leaderboard()
    few = board.filter(board.column("provisional"))
    assert 0 < few.num_rows < board.num_rows
    said = f"({few.num_rows} provisional players not shown)\n"
    written = invoke(*at, "-o", tmp_path / "board.parquet")
    assert written.out.endswith(said)
    assert same_tables(pq.read_table(tmp_path / "board.parquet"), board.filter(pc.invert(board.column("provisional"))))
    for choice, rows in (("show", board), ("only", few)):
        answer = invoke(*at, "--provisional", choice, "-o", tmp_path / f"{choice}.parquet")
        assert "not shown" not in answer.out
        assert same_tables(pq.read_table(tmp_path / f"{choice}.parquet"), rows)
    of_run = ("export", "--run", "run", "--what", "ratings", "--min-rounds", 3, "--lake", lake.url)
    assert invoke.refuses(*of_run, code=2).startswith("places and provisional players are in --what leaderboard")
    elo = ("export", "--run", "elo", "--what", "leaderboard", "--interval", 0.9, "--lake", lake.url)
    assert invoke.refuses(*elo, code=2).startswith("--interval needs the uncertainty of skills, which elo has not")


@pytest.mark.quick("run-*")
@pytest.mark.parametrize("what", ["ratings", "leaderboard"])
@pytest.mark.parametrize("run", ["run", "elo"])
def test_export__has_the_rows_of_the_published_table_to_the_bit(
    invoke: Command, lake: Lake, tmp_path: Path, what: str, run: str
) -> None:
    expected = published(lake, what, run)
    at = ("export", "--run", run, "--what", what, "--lake", lake.url)
    for form in ("csv", "parquet", "jsonl"):
        path = tmp_path / f"rows.{form}"
        answer = invoke(*at, "--output", path)
        assert (answer.code, answer.err) == (0, "")
        assert f"{expected.num_rows:,} rows" in answer.out
        if form == "parquet":
            assert same_tables(pq.read_table(path), expected)
            continue
        text = path.read_bytes().decode()
        found = from_csv(text, what) if form == "csv" else from_json(text, what)
        assert nulled(found) == nulled(expected)
        assert invoke(*at, "--format", form).out.encode() == text.encode()
    assert len(os.listdir(tmp_path)) == 3


def test_export__uses_the_requested_titles_and_deviations(invoke: Command, lake: Lake) -> None:
    at = ("export", "--run", "run", "--what", "leaderboard", "--format", "jsonl", "--lake", lake.url)
    plain = from_json(invoke(*at).out, "leaderboard")
    assert plain.column("title").null_count == plain.num_rows
    titled = from_json(invoke(*at, "--titles", "codeforces", "--deviations", 0).out, "leaderboard")
    assert titled.column("title").null_count == 0
    assert titled.column("rating").to_pylist() == titled.column("mu").to_pylist()


def test_export__json_has_null_for_nan_and_infinity() -> None:
    schema = PUBLISHED["leaderboard"]
    odd = {field.name: [None] * 4 for field in schema} | {"rating": [np.nan, np.inf, -np.inf, -0.0]}
    sink = io.BytesIO()
    assert write_export(pa.table(odd, schema=schema).to_batches(), "leaderboard", "jsonl", sink) == 4
    rows = [json.loads(line, parse_constant=pytest.fail) for line in sink.getvalue().splitlines()]
    assert [row["rating"] for row in rows] == [None, None, None, 0.0]


def test_export__reads_small_segments_and_writes_large_chunks(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    n = published(lake, "ratings").num_rows
    assert [batch.num_rows for batch in export_rows(lake, "run", "ratings")] == [n]
    monkeypatch.setattr(ranklake.flows.publication.export, "_CHUNK_ROWS", 50)
    sizes = [batch.num_rows for batch in export_rows(lake, "run", "ratings")]
    assert (sum(sizes), max(sizes)) == (n, 50)


# Complete files


def test_file__appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("before")
    with atomic_file(path) as file:
        file.write(b"after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"

    def fail(error: BaseException) -> None:
        with atomic_file(path) as file:
            file.write(b"half")
            raise error

    for error in (KeyboardInterrupt(), RuntimeError()):
        with pytest.raises(type(error)):
            fail(error)
    with pytest.raises(OSError, match=r"No space left on device \(.* free\); nothing was written to .*rows\.csv"):
        fail(OSError(28, "No space left on device"))
    assert path.read_text() == "after"
    assert os.listdir(tmp_path) == ["rows.csv"]


def test_file__follows_links_and_writes_to_pipes(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with atomic_file(tmp_path / "link") as file:
        file.write(b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"x"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with atomic_file(tmp_path / "pipe") as file:
        file.write(b"y")
    assert os.read(reader, 9) == b"y"
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.slow
def test_command__interrupted_leaves_no_file(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    stop = (
        "import os, signal, ranklake.flows.publication.export as e\n"
        "chunks = e._chunks\n"
        "def stopped(batches):\n"
        "    yield from chunks(batches)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    yield from chunks(batches)\n"
        "e._chunks = stopped\n"
    )
    arguments = ("export", "--run", "run", "--what", "ratings", "--output", str(path), "--lake", lake.url)
    with start(*arguments, before=stop) as process:
        _, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 1
    assert b"interrupted" in err
    assert b"Traceback" not in err
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full")
def test_command__reports_a_full_disk_in_one_line(invoke: Command, lake: Lake) -> None:
    says = invoke.refuses("export", "--run", "run", "--what", "ratings", "-o", "/dev/full", "--lake", lake.url)
    assert "No space left on device" in says
    assert Path("/dev/full").is_char_device()


@pytest.mark.slow
@pytest.mark.parametrize(
    "form", ["csv", pytest.param("jsonl", marks=pytest.mark.slow), pytest.param("parquet", marks=pytest.mark.slow)]
)
def test_command__a_closed_pipe_is_no_failure(lake: Lake, form: str) -> None:
    read, write = os.pipe()
    os.close(read)
    default = "import signal; signal.signal(signal.SIGPIPE, signal.SIG_IGN)"
    arguments = ("export", "--run", "run", "--what", "ratings", "--format", form, "--lake", lake.url)
    with start(*arguments, before=default, stdout=write) as process:
        os.close(write)
        _, err = process.communicate(timeout=TIMEOUT)
    assert err == b""
    assert process.returncode in (0, -signal.SIGPIPE)


@pytest.mark.slow
def test_command__writes_parquet_to_a_pipe(lake: Lake) -> None:
    arguments = ("export", "--run", "run", "--what", "leaderboard", "--format", "parquet", "--lake", lake.url)
    with start(*arguments, stdout=subprocess.PIPE) as process:
        out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, err) == (0, b"")
    assert same_tables(pq.read_table(io.BytesIO(out)), published(lake, "leaderboard"))


def test_command__refuses_parquet_on_a_terminal(invoke: Command, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(type(sys.stdout), "isatty", lambda stream: stream is sys.stdout, raising=False)
    at = ("export", "--run", "run", "--what", "ratings", "--lake", lake.url)
    assert "cannot write Parquet to a terminal" in invoke.refuses(*at, "--format", "parquet", code=2)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--what", "ratings", "--run", "nobody"), 1, "no run 'nobody'"),
        (("--what", "ratings", "--run", "../x"), 2, "the name of a run must be"),
        (("--what", "players", "--run", "run"), 2, "'players' is not one of 'ratings', 'leaderboard'"),
        (("--what", "ratings", "--run", "run", "--output", "/nowhere/x.csv"), 2, "there is no folder /nowhere"),
        (("--what", "ratings", "--run", "run", "--output", "/tmp"), 2, "is a folder; name a file in it"),
        (("--what", "ratings", "--run", "run", "--output", "x.xlsx"), 2, "the extension must be one of .csv, .parquet"),
        (("--what", "ratings", "--run", "run", "--output", "x.csv.gz"), 2, "or give the --format of the file"),
    ],
)  # fmt: skip
def test_command__reports_wrong_use_in_one_line(
    invoke: Command, lake: Lake, arguments: tuple[str, ...], code: int, says: str
) -> None:
    assert says in invoke.refuses("export", *arguments, "--lake", lake.url, code=code)
