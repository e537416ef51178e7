"""Publishes into a database that fail or are killed leave the old state or the new one, and the error is plain."""

from __future__ import annotations

import multiprocessing
import signal
import sqlite3
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from helpers.database_tables import KEYS, assert_state, assert_stored, expected, publish_before, stored
from helpers.databases import Judge, end_connections, fill, login, publish_killed_at, small_judge, sqlite_judge
from helpers.lakes import synthetic
from helpers.tables import over_years
from helpers.timeouts import TIMEOUT

from ranklake.flows.databases.errors import DatabaseError
from ranklake.flows.publication.database import publish_to_database
from ranklake.flows.publication.database_tables import DatabaseTables
from ranklake.storage import Contest, Lake

KILLS = 20


def test_publish__that_fails_leaves_the_old_state(
    lake: Lake, judge: Judge, sixteen: list[Contest], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = publish_before(lake, judge, sixteen[:12])
    for step in ("append", "merge", "store", "index"):
        with monkeypatch.context() as patch:

            def fail(*arguments: object, **named: object) -> None:
                raise OSError("injected")

            patch.setattr(DatabaseTables, step, fail)
            with pytest.raises(OSError, match="injected"):
                publish_to_database(lake, "run", judge.url)
        assert_state(judge, old)
    publish_to_database(lake, "run", judge.url)
    assert_stored(judge, lake)


@pytest.mark.slow
def test_publish__killed_at_every_moment_loses_and_duplicates_nothing(
    lake: Lake, judge: Judge, sixteen: list[Contest]
) -> None:
    old = publish_before(lake, judge, sixteen)
    new, seen = expected(lake), []
    processes = multiprocessing.get_context("forkserver")  # imports once
    processes.set_forkserver_preload(["helpers.databases", "adbc_driver_postgresql.dbapi"])
    for moment in count(1):
        process = processes.Process(target=publish_killed_at, args=(moment, lake.url, judge.url))
        process.start()
        process.join(TIMEOUT)
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
        found = stored(judge)
        seen.append([all(found[name].equals(state[name]) for name in KEYS) for state in (old, new)])
    assert len(seen) >= KILLS
    assert seen == [[True, False]] * (len(seen) - 1) + [[False, True]]  # the last was killed after the commit
    assert_stored(judge, lake)


def test_sqlite__that_is_full_keeps_the_old_state_and_says_so(lake: Lake, tmp_path: Path) -> None:
    judge = sqlite_judge(tmp_path)
    old = publish_before(lake, judge, over_years(synthetic(48)))  # more than fits into the unused parts of pages
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
    assert_state(judge, old)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_server__with_a_full_disk_keeps_the_old_state_and_says_so(
    lake: Lake, kind: str, request: pytest.FixtureRequest
) -> None:
    with small_judge(request.getfixturevalue(kind)) as (judge, disk):
        old = publish_before(lake, judge, over_years(synthetic(300)))
        filler = fill(disk)
        with pytest.raises(DatabaseError, match=r"; the disk of the server is full; nothing was changed, free space"):
            publish_to_database(lake, "run", judge.url)
        assert_state(judge, old)
        filler.unlink()
        publish_to_database(lake, "run", judge.url)
        assert_stored(judge, lake)


@pytest.mark.slow
def test_server__that_loses_the_connection_keeps_the_old_state(
    lake: Lake, server_database: Judge, sixteen: list[Contest], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = publish_before(lake, server_database, sixteen)
    merge = DatabaseTables.merge

    def lose(self: DatabaseTables, *arguments: Any) -> None:
        end_connections(server_database)
        merge(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(DatabaseTables, "merge", lose)
        with pytest.raises(DatabaseError, match="the connection is lost; run again"):
            publish_to_database(lake, "run", server_database.url)
    assert_state(server_database, old)
    publish_to_database(lake, "run", server_database.url)
    assert_stored(server_database, lake)


@pytest.mark.slow
def test_server__refuses_a_user_without_the_privilege(lake: Lake, server_database: Judge) -> None:
    judge = server_database
    login(judge, "guest")
    judge.sql("create table other (a integer)", "grant select on other to guest")
    with pytest.raises(DatabaseError, match=r"denied .*; the user lacks a privilege: grant it") as raised:
        publish_to_database(lake, "run", judge.url.replace("ranklake@", "guest:S3cret-word@"))
    assert "S3cret" not in str(raised.value)


@pytest.mark.slow
def test_server__has_the_tables_in_another_schema(lake: Lake, server_database: Judge) -> None:
    judge = server_database
    judge.sql("create schema other_ratings")  # MariaDB: a database
    try:
        publish_to_database(lake, "run", judge.url, "other_ratings")
        assert stored(judge, schema="other_ratings")["ratings"].equals(expected(lake)["ratings"])
        with pytest.raises(DatabaseError, match=r"(schema \"nosuch\" does not exist|Unknown database 'nosuch')"):
            publish_to_database(lake, "run", judge.url, "nosuch")
    finally:
        judge.sql(f"drop schema other_ratings{' cascade' if judge.kind == 'postgresql' else ''}")
