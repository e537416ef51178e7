"""Statements that write are refused by every database before they begin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from helpers.database_servers import MariaDbServer, PostgresServer
from helpers.databases import Judge, server_judge, sqlite_judge

from ranklake.flows.databases.connection import connect
from ranklake.flows.databases.errors import DatabaseError

QUERIES = (
    "select a from t order by a",
    "select a from t -- of all",
    "select a from (select a from t) as r order by a limit 5",
    "with r as (select a from t) select a from r",
    "with recursive n(a) as (select 1 union all select a + 1 from n where a < 2) select a from n",
    "values (1), (2)",
)
ANYWHERE = (
    "delete from t",
    "delete from t returning a",
    "insert into t values (3) returning a",
    "update t set a = 5",
    "create table other (a integer)",
    "create temporary table other (a integer)",
    "create view v as select 1 as a",
    "drop table t",
    "alter table t add column b integer",
    "select 1; delete from t",
    "begin",
    "",
    "-- nothing",
)
SQLITE = (
    "attach '{folder}/other.db' as other",
    "vacuum into '{folder}/other.db'",
    "vacuum",
    "pragma user_version = 7",
    "pragma journal_mode = wal",
    "pragma query_only = 0",
    "pragma writable_schema = 1",
    "pragma wal_checkpoint",
    "select load_extension('{folder}/other.so')",
    "with r as (select 1 as a) insert into t select a from r returning a",
    "create virtual table v using fts5(a)",
    "replace into t values (3)",
    "reindex",
    "analyze",
    "detach main",
    "savepoint one",
    "explain query plan select a from t; delete from t",
)
POSTGRESQL = (
    "with gone as (delete from t returning a) select a from gone",
    "select nextval('s')",
    "select setval('s', 5)",
    "select adds()",
    "select a into other from t",
    "select a from t for update",
    "copy t to program 'touch {folder}/other'",
    "copy t to '{folder}/other'",
    "select lo_export(lo_from_bytea(0, 'x'), '{folder}/other')",
    "select lo_import('/etc/hostname')",
    "select dblink_exec('host=127.0.0.1 user=ranklake port={port} dbname={name}', 'insert into t values (9)')",
    "vacuum",
    "set transaction read write",
    "begin read write",
    "reset all",
    "alter system set work_mem = '1MB'",
    "do $$ begin perform 1; end $$",
    "notify other",
    "load 'plpgsql'",
    "explain analyze select 1",
    "call does()",
    "select set_config('transaction_read_only', 'off', false)",
)
MARIADB = (
    "select a from t into outfile '{folder}/other'",
    "select 'x' into dumpfile '{folder}/other'",
    "select 1 into @x",
    "select nextval(s)",
    "select adds()",
    "select a from t for update",
    "set global max_connections = 99",
    "set session transaction read write",
    "start transaction read write",
    "flush tables",
    "call does()",
    "execute immediate 'delete from t'",
    "analyze table t",
    "load data infile '/etc/hostname' into table t",
    "lock tables t write",
    "handler t open",
    "truncate t",
    "kill query 1",
    "replace into t values (3)",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder into which a server may write."""
    for place in (tmp_path, *tmp_path.parents[:2]):
        place.chmod(0o777)
    return tmp_path


def refused(judge: Judge, statements: tuple[str, ...], **names: object) -> Iterator[str]:
    """The messages; nothing is written, not even the next value of a sequence."""
    judge.sql("create table t (a integer)", "insert into t values (1), (2)")
    for query in QUERIES:
        with closing(connect(judge.url, read_only=True)) as connection, connection.read(query) as (schema, batches):
            assert sum(map(len, batches)) == 2, query
            assert len(schema) == 1
    for statement in (*ANYWHERE, *statements):
        with closing(connect(judge.url, read_only=True)) as connection:
            with pytest.raises(DatabaseError) as raised, connection.read(statement.format(**names)) as (_, batches):
                pytest.fail(f"{statement}: {list(batches)}")
            yield raised.value.reason
    assert sorted(judge.sql("select * from t")) == [(1,), (2,)]


def test_sqlite__refuses_statements_that_write(folder: Path) -> None:
    judge = sqlite_judge(folder)
    for reason in refused(judge, SQLITE, folder=folder):
        assert "the query must not write" in reason
    assert [path.name for path in folder.iterdir()] == ["judge.db"]
    assert judge.sql("pragma user_version", "pragma journal_mode") == [("delete",)]


def test_sqlite__reads_the_columns_of_tables_and_virtual_tables(tmp_path: Path) -> None:
    judge = sqlite_judge(tmp_path)
    judge.sql("create virtual table texts using fts5(body)", "insert into texts values ('one two'), ('three')")
    judge.sql("create virtual table boxes using rtree(id, low, high)", "insert into boxes values (1, 0, 1)")
    with closing(connect(judge.url, read_only=True)) as connection:
        for query in (
            "select name from pragma_table_info('texts')",
            "select body from texts('two')",
            "select id from boxes",
        ):
            with connection.read(query) as (_, batches):
                assert sum(map(len, batches)) == 1


@pytest.mark.slow
def test_postgresql__refuses_statements_that_write(postgresql: PostgresServer, folder: Path) -> None:
    with server_judge(postgresql) as judge:
        judge.sql(
            "create sequence s",
            "create schema ranklake",  # of the user's name: unqualified names mean its tables
            "set check_function_bodies = off",
            "create function adds() returns int language sql as 'insert into t values (9) returning a'",
            "create procedure does() language sql as 'insert into t values (9)'",
        )
        if judge.sql("select * from pg_available_extensions where name = 'dblink'"):
            judge.sql("create extension dblink")
        list(refused(judge, POSTGRESQL, folder=folder, port=postgresql.port, name=judge.url.rpartition("/")[2]))
        assert judge.sql("select nextval('s')") == [(1,)]
        assert judge.sql("select count(*) from pg_largeobject_metadata") == [(0,)]
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_postgresql__undoes_what_a_function_has_written(postgresql: PostgresServer) -> None:
    with server_judge(postgresql) as judge, closing(connect(judge.url, read_only=True)) as connection:
        with connection.read("select lo_from_bytea(0, 'x')"):  # a release before 16 does not refuse it
            pass
        assert judge.sql("select count(*) from pg_largeobject_metadata") == [(0,)]


@pytest.mark.slow
def test_postgresql__a_superuser_sees_all_rows_or_an_error(postgresql: PostgresServer) -> None:
    with server_judge(postgresql) as judge, closing(connect(judge.url, read_only=True)) as connection:
        judge.sql("create table t (a integer)", "insert into t values (1)", "alter table t enable row level security")
        with pytest.raises(DatabaseError, match="row-level security"), connection.read("select a from t"):
            pytest.fail("rows are hidden")
        judge.sql("alter table t disable row level security")
        with connection.read("select a from t") as (_, batches):
            assert sum(map(len, batches)) == 1


@pytest.mark.slow
def test_mariadb__refuses_statements_that_write(mysql: MariaDbServer, folder: Path) -> None:
    connections = mysql.sql("select @@global.max_connections")
    with server_judge(mysql) as judge:
        judge.sql(
            "create sequence s",
            "create function adds() returns int begin insert into t values (9); return 1; end",
            "create procedure does() insert into t values (9)",
        )
        for reason in refused(judge, MARIADB, folder=folder):
            assert "the query must not write" in reason
        assert judge.sql("select nextval(s)") == [(1,)]
    assert mysql.sql("select @@global.max_connections") == connections
    assert list(folder.iterdir()) == []
