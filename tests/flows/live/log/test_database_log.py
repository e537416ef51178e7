"""A log in PostgreSQL: one writer, exact bytes, a database that goes away, and commits without an answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from helpers.database_servers import Server
from helpers.databases import Judge, end_connections, server_judge

from ranklake.flows.databases.errors import DatabaseError
from ranklake.flows.live.log import database as module
from ranklake.flows.live.log.database import DatabaseLog
from ranklake.flows.live.log.opening import open_log
from ranklake.flows.live.log.records import Entry, Log, LogUnavailableError, Record
from ranklake.storage.lake.errors import DamagedError, LeaseHeldError

pytestmark = pytest.mark.slow
NOW = 1_790_000_000.25


@pytest.fixture
def judge(postgresql: Server) -> Iterator[Judge]:
    with server_judge(postgresql) as opened:
        yield opened


def match(name: str) -> Entry:
    return Entry("match", name, f'{{"id":  "{name}", "time": 1.50e9, "x": "it\'s \\\\ 1.10"}}'.encode())


def at(sequence: int, entry: Entry) -> Record:
    return Record(sequence, entry.kind, entry.id, NOW, entry.body)


def append_when_possible(log: Log, entry: Entry) -> int:
    while True:
        try:
            return log.append([entry], NOW)
        except LogUnavailableError as error:
            threading.Event().wait(min(error.retry_after, 5.0))


def test_log__keeps_bytes_and_ids(judge: Judge) -> None:
    entries = [match("m-1"), Entry("season", "m-1", b"{}"), match("it's é")]
    with closing(open_log(judge.url, "league")) as log, closing(open_log(judge.url, "other")) as other:
        assert (log.last, list(log.read()), log.find([])) == (0, [], [])
        assert log.append(entries, NOW) == 1
        assert other.append(entries[:1], NOW) == 1  # another data set has its own numbers and ids
        assert list(log.read()) == [at(number, entry) for number, entry in enumerate(entries, 1)]
    with closing(open_log(judge.url, "league")) as log:
        assert log.last == 3
        assert log.append([match("m-4")], NOW) == 4
        assert [record.sequence for record in log.read(3)] == [3, 4]
        assert log.find(["it's é", "none", "m-1"]) == [at(3, entries[2]), None, at(1, entries[0])]
        log.release(3)
        assert log.find(["m-1"]) == [at(1, entries[0])._replace(body=b"")]
        assert log.find(["m-4"]) == [at(4, match("m-4"))]
    assert judge.sql("select time from ranklake_log where dataset = 'league' order by sequence") == [
        (1.5e9,), (None,), (1.5e9,), (1.5e9,)
    ]  # fmt: skip


def test_empty_log__goes_on_after_the_records_of_another_one(judge: Judge) -> None:
    with closing(open_log(judge.url, "league")) as log:
        log.begin_after(40)
        end_connections(judge)
        with pytest.raises(LogUnavailableError):
            log.append([match("m-41")], NOW)
        assert append_when_possible(log, match("m-41")) == 41
        with pytest.raises(DamagedError, match="ends with the record 41, and the data set has the records to 42"):
            log.begin_after(42)


def test_second_process__is_told_who_writes(judge: Judge) -> None:
    waited: list[str] = []
    with (
        closing(open_log(judge.url, "league")),
        pytest.raises(LeaseHeldError, match=r"ranklake rated, .*, connection \d+ writes the log league; wait for it"),
    ):
        open_log(judge.url, "league", wait_seconds=0.3, on_wait=waited.append)
    assert len(waited) == 1
    open_log(judge.url, "league").close()


def test_lost_connection__is_made_again(judge: Judge, postgresql: Server) -> None:
    with closing(DatabaseLog(judge.url, "league")) as log:
        log.append([match("m-1")], NOW)
        end_connections(judge)
        with pytest.raises(LogUnavailableError, match="the log league cannot be written"):
            log.append([match("m-2")], NOW)
        assert append_when_possible(log, match("m-2")) == 2
        log.find(["m-1"])
        postgresql.stop()
        try:
            for _ in range(2):  # the second one does not even try
                with pytest.raises(LogUnavailableError):
                    log.append([match("m-3")], NOW)
            with pytest.raises(LogUnavailableError):
                log.find(["m-1"])
        finally:
            postgresql.start()
        assert append_when_possible(log, match("m-3")) == 3
        assert log.find(["m-1", "m-3"]) == [at(1, match("m-1")), at(3, match("m-3"))]
        assert list(log.read()) == [at(number, match(f"m-{number}")) for number in (1, 2, 3)]


@pytest.mark.parametrize("stored", [True, False])
def test_commit__without_an_answer_is_looked_up(judge: Judge, monkeypatch: pytest.MonkeyPatch, stored: bool) -> None:
    from ranklake.flows.databases.postgresql import PostgresConnection

    execute, lost, seen = PostgresConnection.execute, [True], []

    def without_answer(self: Any, sql: str) -> None:
        if sql == "COMMIT" and lost:
            lost.clear()
            execute(self, "COMMIT" if stored else "ROLLBACK")
            end_connections(judge)
            raise DatabaseError("postgresql", "injected", "08006")
        execute(self, sql)

    connect = module.connect

    def late(*arguments: Any, **how: Any) -> Any:
        if not lost and not seen:
            seen.append(log.available)
            raise DatabaseError("postgresql", "still away", "08001")
        return connect(*arguments, **how)

    with closing(DatabaseLog(judge.url, "league")) as log:
        log.append([match("m-1")], NOW)
        monkeypatch.setattr(PostgresConnection, "execute", without_answer)
        monkeypatch.setattr(module, "connect", late)
        if stored:
            assert log.append([match("m-2"), match("m-3")], NOW) == 2
        else:
            with pytest.raises(LogUnavailableError, match="the group was not committed"):
                log.append([match("m-2"), match("m-3")], NOW)
            assert append_when_possible(log, match("m-2")) == 2
        assert (seen, log.available) == ([False], True)
        assert [record.id for record in log.read()] == ["m-1", "m-2", "m-3"][: log.last]
        assert log.last == (3 if stored else 2)


def test_records__of_another_program_stop_the_process(judge: Judge) -> None:
    foreign = "insert into ranklake_log values ('league', {}, 'match', '{}', null, '{{}}', 0)"
    with closing(DatabaseLog(judge.url, "league")) as log:
        log.append([match("m-1")], NOW)
        judge.sql(foreign.format(2, "x"))
        with pytest.raises(DamagedError, match="another program has written records"):
            log.append([match("m-2")], NOW)
        with pytest.raises(DamagedError, match="ends with the record 2, and this process has written 1: another"):
            append_when_possible(log, match("m-2"))
    with closing(DatabaseLog(judge.url, "league")) as log:
        judge.sql("delete from ranklake_log where sequence = 1")
        with pytest.raises(DamagedError, match="the record 1 of the log league is missing"):
            list(log.read())


def test_refused_body__leaves_the_log_as_it_was(judge: Judge) -> None:
    with closing(DatabaseLog(judge.url, "league")) as log:
        with pytest.raises(LogUnavailableError, match="invalid input syntax for type json"):
            log.append([match("m-1"), Entry("match", "m-2", b"{")], NOW)
        assert append_when_possible(log, match("m-1")) == 1


def test_database__of_another_encoding_is_refused(postgresql: Server) -> None:
    postgresql.sql("create database latin encoding 'LATIN1' locale 'C' template template0")
    try:
        with pytest.raises(DatabaseError, match="the encoding of the database must be UTF8, is LATIN1"):
            DatabaseLog(postgresql.url_of("ranklake", "latin"), "league")
    finally:
        postgresql.sql("drop database latin with (force)")
