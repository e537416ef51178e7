"""Queries without an end: rows, bytes and values are counted as they come, and Ctrl-C ends each of them."""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.databases import Judge, sqlite_judge
from helpers.timeouts import TIMEOUT

from ranklake.flows.databases import row_batches, sqlite
from ranklake.flows.databases.connection import connect
from ranklake.flows.databases.errors import DatabaseError
from ranklake.flows.ingestion.databases import ingest_sql
from ranklake.flows.sources.base import SourceError
from ranklake.storage import Lake

NUMBERS = "with recursive n(i) as (select 1 union all select i + 1 from n)"
ENDLESS = f"{NUMBERS} select i as contest, i as player, 1 as score{{}} from n"
MARIADB = "select a.seq as contest, b.seq as player, 1 as score{} from seq_1_to_1000000 a join seq_1_to_1000000 b"
WIDE = 500
MEMORY = 400 * 2**20


def endless(judge: Judge, more: str = "") -> str:
    return (MARIADB if judge.kind == "mysql" else ENDLESS).format(more)


@pytest.mark.parametrize(
    ("n_columns", "value", "n_rows"),
    [(3, 7, row_batches.ROWS), (2**10, 7, row_batches.VALUES >> 10), (2, bytes(2**20), row_batches.BYTES >> 20)],
)
def test_bounded__parts_have_few_rows_values_and_bytes(n_columns: int, value: Any, n_rows: int) -> None:
    row = (value, *(None for _ in range(n_columns - 1)))
    parts = row_batches.bounded(iter(lambda: row, None), n_columns)
    assert [{len(column) for column in next(parts)} for _ in range(2)] == [{n_rows}] * 2
    assert list(row_batches.bounded([row] * 3, n_columns)) == [[[each] * 3 for each in row]]
    assert list(row_batches.bounded([], n_columns)) == [[[]] * n_columns]


def test_united__has_the_widest_type_of_each_column() -> None:
    parts: Sequence[Sequence[Any]] = ([None, None, 1, None], [1, 2, 0.5, "é"], [2, "x", None, b"\xff"])
    batches = [pa.RecordBatch.from_arrays([pa.array([one]) for one in part], names=list("abcd")) for part in parts]
    table = row_batches.united(batches[0].schema, batches)
    assert table.schema.types == [pa.int64(), pa.string(), pa.float64(), pa.binary()]
    assert table["b"].to_pylist() == [None, "2", "x"]
    with pytest.raises(pa.ArrowInvalid, match="9007199254740993"):
        row_batches.united(
            batches[0].schema, [batches[1], pa.record_batch([[1], [1], [2**53 + 1], [None]], list("abcd"))]
        )


def test_sqlite__a_column_takes_the_types_of_all_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_batches, "ROWS", 2)
    judge, lake = sqlite_judge(tmp_path), Lake.open(str(tmp_path / "lake"), create=True)
    judge.sql("create table t (contest, player, score)")
    rows = [(1, f"'p{n}'" if n % 5 else n, n + 0.5 if n == 6 else n) for n in range(8)]
    judge.sql("insert into t values " + ", ".join(f"({a}, {b}, {c})" for a, b, c in rows))
    assert ingest_sql(lake, judge.url, "select * from t", "judge").read.participations == 8
    judge.sql("insert into t values (2, 'q', 0.5), (2, 0.5, 1)")
    with pytest.raises(
        DatabaseError, match="the column player of the query has texts and numbers; cast it to one type"
    ):
        ingest_sql(lake, judge.url, "select * from t order by contest", "other")


def test_sqlite__refuses_a_value_that_is_too_large(tmp_path: Path) -> None:
    judge = sqlite_judge(tmp_path)
    with closing(connect(judge.url, read_only=True)) as connection:
        with connection.read(f"select zeroblob({sqlite.MAX_VALUE}) as a") as (_, batches):
            assert next(batches)["a"].nbytes > sqlite.MAX_VALUE
        rule = "too big; a value or a row has more than 64 MiB: leave it out"
        query = f"select zeroblob({sqlite.MAX_VALUE + 1}) as a"
        with pytest.raises(DatabaseError, match=rule), connection.read(query):
            pytest.fail("it is read")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "more", "words"),
    [
        ("rows=100_000", "", "rows, at most 100,000 are read as one table"),
        pytest.param("table=10MB", "", "take more than 9.54 MiB of memory", marks=pytest.mark.slow),
        pytest.param("table=10MB", ", '" + "x" * 100_000 + "' as name", "MiB of memory", marks=pytest.mark.slow),
        pytest.param("rows=1000", ", 1 as a{}" * WIDE, "rows, at most 1,000", marks=pytest.mark.slow),
    ],
    ids=["rows", "bytes", "long", "wide"],
)
def test_query__without_an_end_stops_at_a_limit_in_little_memory(
    database: Judge, limit: str, more: str, words: str
) -> None:
    query = endless(database, more.format(*range(WIDE)))
    processes = multiprocessing.get_context("spawn")
    ours, theirs = processes.Pipe()
    process = processes.Process(target=ingested, args=(theirs, database.url, query, limit))
    process.start()
    theirs.close()
    assert ours.poll(TIMEOUT)
    message, grown = ours.recv()
    process.join(TIMEOUT)
    assert words in message
    assert grown < MEMORY


def ingested(answer: Any, url: str, query: str, limit: str) -> None:
    """Send the error of an ingestion, and the memory that it took."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        ingest_sql(Lake.open("memory://lake", create=True), url, query, "judge", options={"limits": [limit]})
    except (SourceError, DatabaseError) as error:
        answer.send((str(error), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024))


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No garbage collection: an interrupt in a callback of it, as other libraries have, is dropped."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("silent", [False, True], ids=["rows", "silent"])
def test_query__without_an_end_is_ended_by_an_interrupt(database: Judge, silent: bool) -> None:
    query = endless(database)
    query = f"select max(contest) as contest from (\n{query}\n) r" if silent else query
    signal.siginterrupt(signal.SIGINT, True)  # polars, which a driver imports, has replaced the handler
    with closing(connect(database.url, read_only=True)) as connection:
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt), connection.read(query) as (_, batches):
            for _ in batches:
                pass
        timer.join()
