"""Tables in a database: those of the lake to the bit, only what changed, whole after any stop, and nobody else's."""

from __future__ import annotations

import multiprocessing
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from helpers.commands import Command
from helpers.database_servers import PostgresServer
from helpers.databases import Judge, publish_killed_at, server_judge, sqlite_judge
from helpers.lakes import commit_often, contest, copy_of, ingest, lake_of, rate_run, synthetic
from helpers.tables import over_years

from ranklake.flows.databases.connection import connect
from ranklake.flows.databases.errors import DatabaseError
from ranklake.flows.publication.content import Content
from ranklake.flows.publication.database import publish_to_database
from ranklake.flows.publication.database_tables import DatabaseTables
from ranklake.storage import Lake
from ranklake.storage.lake.schemas import PUBLISHED

CONTESTS = over_years(synthetic(16))
ORDER = {
    "players": ["player"],
    "contests": ["round_index"],
    "ratings": ["round_index", "player"],
    "leaderboard": ["player"],
}
KILLS, TIMEOUT = 20, 60.0


@pytest.fixture(scope="module")
def rated_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Ten rounds of elo, in small segments."""
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=20)
        lake = lake_of(tmp_path_factory.mktemp("rated") / "lake", CONTESTS[:10])
        rate_run(lake, system="elo")
        yield lake


@pytest.fixture
def lake(rated_once: Lake, tmp_path: Path) -> Lake:
    return copy_of(rated_once, tmp_path / "lake")


@pytest.fixture
def judge(database: Judge) -> Judge:
    return database


def stored(judge: Judge, prefix: str = "", schema: str | None = None) -> dict[str, pa.Table]:
    """The published tables of a database, in order of their keys."""
    with closing(connect(judge.url, read_only=True)) as connection:
        tables = DatabaseTables(connection, schema, prefix)
        return {
            name: tables.rows(name).sort_by([(key, "ascending") for key in keys]).combine_chunks()
            for name, keys in ORDER.items()
        }


def expected(lake: Lake) -> dict[str, pa.Table]:
    content = Content(lake, "run")
    ratings = pa.Table.from_batches(content.ratings(0), PUBLISHED["ratings"])
    made = {
        "players": content.players,
        "contests": content.contests,
        "ratings": ratings,
        "leaderboard": content.leaderboard(),
    }
    return {
        name: made[name].sort_by([(key, "ascending") for key in keys]).combine_chunks() for name, keys in ORDER.items()
    }


def assert_published(judge: Judge, lake: Lake) -> None:
    found, wanted = stored(judge), expected(lake)
    for name in ORDER:
        assert found[name].equals(wanted[name]), name


def test_publish__is_the_run_to_the_bit_and_then_nothing(lake: Lake, judge: Judge) -> None:
    first = publish_to_database(lake, "run", judge.url)
    assert (first.rounds, first.kept, first.tables) == (10, 0, tuple(ORDER))
    assert_published(judge, lake)
    again = publish_to_database(lake, "run", judge.url)
    assert (again.kept, again.added, again.tables) == (10, 0, ())
    assert again.line().startswith("10 rounds are published already")


def test_publish__of_new_rounds_writes_them_alone(lake: Lake, judge: Judge) -> None:
    publish_to_database(lake, "run", judge.url)
    ingest(lake, CONTESTS[:12])
    rate_run(lake, system="elo")
    report = publish_to_database(lake, "run", judge.url)
    assert (report.rounds, report.kept) == (12, 10)
    assert report.added == sum(Content(lake, "run").rows_of_rounds[10:])
    assert_published(judge, lake)


def test_publish__of_a_correction_rewrites_from_there(lake: Lake, judge: Judge) -> None:
    publish_to_database(lake, "run", judge.url)
    turned = replace(CONTESTS[6], handles=CONTESTS[6].handles[::-1])
    renamed = replace(CONTESTS[1], name="a new title")
    ingest(lake, [CONTESTS[0], renamed, *CONTESTS[2:6], turned, *CONTESTS[7:10]])
    rate_run(lake, system="elo")
    report = publish_to_database(lake, "run", judge.url)
    assert (report.rounds, report.kept, report.tables) == (10, 6, ("contests", "ratings", "leaderboard"))
    assert_published(judge, lake)


def test_publish__stores_names_of_any_characters(tmp_path: Path, judge: Judge) -> None:
    names = ("o'brien", 'say "hi"', "back\\slash", "tab\t", "Ωμέγα 🏆", "'; drop table players; --")
    lake = lake_of(tmp_path / "lake", [contest("1", *names, time_seconds=5)])
    rate_run(lake, system="elo")
    publish_to_database(lake, "run", judge.url)
    assert_published(judge, lake)


def test_publish__refuses_the_table_of_somebody_else(lake: Lake, judge: Judge) -> None:
    judge.sql("create table contests (id integer, title text)", "insert into contests values (1, 'kept')")
    differs = r"the table contests exists and has id int(eger)?, and not round_index int(eger)?; give another"
    with pytest.raises(DatabaseError, match=differs):
        publish_to_database(lake, "run", judge.url)
    with pytest.raises(DatabaseError, match="the table contests exists"):
        publish_to_database(lake, "run", judge.url, rebuild=True)
    publish_to_database(lake, "run", judge.url, prefix="ranklake_")
    assert stored(judge, "ranklake_")["leaderboard"].equals(expected(lake)["leaderboard"])
    assert [tuple(row) for row in judge.sql("select id, title from contests")] == [(1, "kept")]


def test_publish__refuses_the_tables_of_another_run_unless_afresh(lake: Lake, judge: Judge) -> None:
    rate_run(lake, run="other", system="glicko")
    publish_to_database(lake, "other", judge.url)
    with pytest.raises(DatabaseError, match="the tables have the run other; give another --schema or --prefix"):
        publish_to_database(lake, "run", judge.url)
    publish_to_database(lake, "run", judge.url, rebuild=True)
    assert_published(judge, lake)


def test_publish__that_fails_leaves_the_old_state(lake: Lake, judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    publish_to_database(lake, "run", judge.url)
    before = stored(judge)
    ingest(lake, CONTESTS[:12])
    rate_run(lake, system="elo")
    for step in ("append", "merge", "store", "index"):
        with monkeypatch.context() as patch:

            def fail(*arguments: object, **named: object) -> None:
                raise OSError("injected")

            patch.setattr(DatabaseTables, step, fail)
            with pytest.raises(OSError, match="injected"):
                publish_to_database(lake, "run", judge.url)
        assert all(table.equals(before[name]) for name, table in stored(judge).items())
    publish_to_database(lake, "run", judge.url)
    assert_published(judge, lake)


def test_publish__reaches_a_reader_at_once(lake: Lake, judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    publish_to_database(lake, "run", judge.url)
    old = stored(judge)
    ingest(lake, CONTESTS[:12])
    rate_run(lake, system="elo")
    seen, store = [], DatabaseTables.store

    def look(self: DatabaseTables, states: dict[str, object]) -> None:
        store(self, states)  # all is written, and not committed
        seen.append(stored(judge))

    monkeypatch.setattr(DatabaseTables, "store", look)
    if judge.kind == "sqlite":  # readers and the writer see one file at the same time in this mode only
        judge.sql("pragma journal_mode = wal")
    publish_to_database(lake, "run", judge.url)
    assert all(table.equals(old[name]) for name, table in seen[0].items())
    assert_published(judge, lake)


def test_publish__waits_for_another_one(lake: Lake, judge: Judge) -> None:
    publish_to_database(lake, "run", judge.url)
    held = connect(judge.url)
    tables = DatabaseTables(held)
    done = threading.Event()

    def second() -> None:
        publish_to_database(lake, "run", judge.url)
        done.set()

    thread = threading.Thread(target=second)
    with closing(held), tables.publishing():
        thread.start()
        assert not done.wait(0.5)
    thread.join(TIMEOUT)
    assert done.is_set()


@pytest.mark.slow
def test_publish__killed_at_every_moment_loses_and_duplicates_nothing(lake: Lake, judge: Judge) -> None:
    publish_to_database(lake, "run", judge.url)
    old = stored(judge)
    ingest(lake, CONTESTS)
    rate_run(lake, system="elo")
    new, seen = expected(lake), []
    processes = multiprocessing.get_context("forkserver")  # imports once
    processes.set_forkserver_preload(["helpers.databases", "adbc_driver_sqlite.dbapi"])
    for moment in count(1):
        process = processes.Process(target=publish_killed_at, args=(moment, lake.url, judge.url))
        process.start()
        process.join(TIMEOUT)
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
        found = stored(judge)
        seen.append([all(found[name].equals(state[name]) for name in ORDER) for state in (old, new)])
    assert len(seen) >= KILLS
    assert seen == [[True, False]] * (len(seen) - 1) + [[False, True]]  # the last was killed after the commit
    assert_published(judge, lake)


def test_sqlite__that_is_full_keeps_the_old_state_and_says_so(lake: Lake, tmp_path: Path) -> None:
    judge = sqlite_judge(tmp_path)
    publish_to_database(lake, "run", judge.url)
    old = stored(judge)
    ingest(lake, over_years(synthetic(48)))  # more than fits into the unused parts of pages
    rate_run(lake, system="elo")
    connected = sqlite3.connect(tmp_path / "judge.db")
    (pages,) = connected.execute("pragma page_count").fetchone()
    connected.close()
    with pytest.MonkeyPatch.context() as patch:
        execute = DatabaseTables.lock

        def bounded(self: DatabaseTables) -> None:
            self._connection.execute(f"pragma max_page_count = {pages}")
            execute(self)

        patch.setattr(DatabaseTables, "lock", bounded)
        with pytest.raises(DatabaseError, match="disk is full; nothing was changed, free space and run again"):
            publish_to_database(lake, "run", judge.url)
    assert all(table.equals(old[name]) for name, table in stored(judge).items())


def test_sqlite__has_no_schemas(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="SQLite has no schemas"):
        publish_to_database(lake, "run", sqlite_judge(tmp_path).url, "ratings")


@pytest.mark.slow
def test_postgresql__schema_privileges_and_lost_connections(postgresql: PostgresServer, lake: Lake) -> None:
    with server_judge(postgresql) as judge:
        judge.sql("create schema ratings", "drop role if exists guest", "create role guest login")
        publish_to_database(lake, "run", judge.url, "ratings")
        assert stored(judge, schema="ratings")["ratings"].equals(expected(lake)["ratings"])
        guest = judge.url.replace("ranklake@", "guest@")
        with pytest.raises(DatabaseError, match=r"permission denied .*; the user lacks a privilege: grant it"):
            publish_to_database(lake, "run", guest)
        with pytest.raises(DatabaseError, match='schema "nosuch" does not exist'):
            publish_to_database(lake, "run", judge.url, "nosuch")
        with pytest.MonkeyPatch.context() as patch:
            merge = DatabaseTables.merge

            def lose(self: DatabaseTables, name: str, rows: pa.Table) -> None:
                judge.sql("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
                merge(self, name, rows)

            patch.setattr(DatabaseTables, "merge", lose)
            with pytest.raises(DatabaseError, match="the connection is lost; run again"):
                publish_to_database(lake, "run", judge.url)
        publish_to_database(lake, "run", judge.url)
        assert_published(judge, lake)


def test_command__publishes_and_refuses_in_one_line(
    lake: Lake, judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke = Command(monkeypatch, capsys)
    command = ("publish", "--run", "run", "--lake", lake.url)
    told = invoke(*command, "--to", judge.url, "--prefix", "r_")
    assert told.code == 0
    assert told.out.startswith("run run: published 10 rounds, ")
    assert "new versions of players, contests, ratings, leaderboard" in told.out
    assert invoke.refuses(*command, "--prefix", "r_", code=2).startswith("--prefix is for databases")
    assert "S3cret" not in invoke.refuses(*command, "--to", "postgresql://u:S3cret@x@y/z", code=2)
