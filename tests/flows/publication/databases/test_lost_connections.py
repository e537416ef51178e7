"""Connections that are reset at any byte: the command ends with words, nothing is half done, and it works again."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.database_tables import assert_stored, expected, is_state, publish_before
from helpers.databases import Judge
from helpers.sockets import relay

from ranklake.flows.databases.address import DatabaseAddress
from ranklake.flows.databases.errors import DatabaseError
from ranklake.flows.ingestion.databases import ingest_sql
from ranklake.flows.publication.database import publish_to_database
from ranklake.flows.publication.database_tables import DatabaseTables
from ranklake.storage import Contest, Dataset, Lake

pytestmark = pytest.mark.slow
QUERY = "select contest, player, score, contest * 86400 as time, contest as changed from results"
CUTS = 12


def cuts(judge: Judge, command: Callable[[str], object]) -> Iterator[None]:
    """Run a command at a relay that resets each connection after a random number of bytes, until one is enough."""
    real, dice, words = port(judge), random.Random(6), []
    for cut in (0, 60, *sorted(dice.randrange(2**14) for _ in range(CUTS))):
        with relay(real, lost_after=cut) as opened:
            try:
                command(judge.url.replace(f":{real}/", f":{opened.port}/"))
            except DatabaseError as error:
                words.append(str(error))
                yield
            else:
                break
    assert len(words) > 2
    assert [one for one in words if not one.endswith("; the connection is lost; run again")] == []
    assert [one for one in words if "\n" in one or "query '" in one] == []


def port(judge: Judge) -> int:
    number = DatabaseAddress.parse(judge.url).port
    assert number is not None
    return number


def test_ingest__whose_connection_is_reset_leaves_the_lake_as_it_was(server_database: Judge, tmp_path: Path) -> None:
    judge = server_database
    rows = [(contest, f"p{player}", contest * player % 7) for contest in range(100) for player in range(30)]
    judge.sql("create table results (contest integer, player text, score integer)")
    judge.sql("insert into results values " + ", ".join(map(str, rows)))
    lake, twin = (Lake.open(str(tmp_path / name), create=True) for name in ("lake", "twin"))
    ingest_sql(twin, judge.url, QUERY, "judge", watermark="changed")
    before = sorted(tmp_path.glob("lake/**/*"))
    for _ in cuts(judge, lambda url: ingest_sql(lake, url, QUERY, "judge", watermark="changed")):
        assert sorted(tmp_path.glob("lake/**/*")) == before
    ingest_sql(lake, judge.url, QUERY, "judge", watermark="changed")
    names = ["contest_id", "content_digest"]
    one, other = (Dataset.open(which, "judge").contests.select(names) for which in (lake, twin))
    assert one.equals(other)


def test_publish__whose_connection_is_reset_leaves_the_old_state(
    lake: Lake, server_database: Judge, sixteen: list[Contest]
) -> None:
    old = publish_before(lake, server_database, sixteen)
    for _ in cuts(server_database, lambda url: publish_to_database(lake, "run", url)):
        assert is_state(server_database, old, expected(lake))
    publish_to_database(lake, "run", server_database.url)
    assert_stored(server_database, lake)


def test_publish__into_a_server_that_stops_leaves_the_old_state(
    lake: Lake, request: pytest.FixtureRequest, server_database: Judge, sixteen: list[Contest]
) -> None:
    old = publish_before(lake, server_database, sixteen)
    server = request.getfixturevalue(server_database.kind)
    with pytest.MonkeyPatch.context() as patch:
        merge = DatabaseTables.merge

        def stopped(self: DatabaseTables, *arguments: Any) -> None:
            server.stop()
            merge(self, *arguments)

        patch.setattr(DatabaseTables, "merge", stopped)
        try:
            with pytest.raises(DatabaseError, match="the connection is lost; run again"):
                publish_to_database(lake, "run", server_database.url)
            with pytest.raises(DatabaseError, match=r"onnection refused.*; no server listens there"):
                publish_to_database(lake, "run", server_database.url)
        finally:
            server.start()
    assert is_state(server_database, old)
    publish_to_database(lake, "run", server_database.url)
    assert_stored(server_database, lake)


def test_publish__that_the_server_ends_for_another_transaction_can_be_repeated(
    lake: Lake, server_database: Judge, sixteen: list[Contest]
) -> None:
    judge, old = server_database, publish_before(lake, server_database, sixteen)
    for code in ("40001", "40P01" if judge.kind == "postgresql" else "HY000", "53100", "57014"):
        if judge.kind == "postgresql":
            judge.sql(
                "create or replace function fails() returns trigger language plpgsql as "
                f"$$ begin raise exception 'injected' using errcode = '{code}'; end $$",
                "create trigger fails before insert on leaderboard execute function fails()",
            )
        else:
            signal = f"signal sqlstate '{code}' set message_text = 'injected'"
            judge.sql(f"create trigger fails before insert on leaderboard for each row {signal}")
        with pytest.raises(DatabaseError, match="injected"):
            publish_to_database(lake, "run", judge.url)
        judge.sql("drop trigger fails" + (" on leaderboard" if judge.kind == "postgresql" else ""))
        assert is_state(judge, old)
    publish_to_database(lake, "run", judge.url)
    assert_stored(judge, lake)


def test_publish__into_a_server_that_is_read_only_says_so(lake: Lake, server_database: Judge) -> None:
    judge, kind = server_database, server_database.kind
    if kind == "postgresql":
        name = judge.url.rpartition("/")[2]
        judge.sql(f"alter database {name} set default_transaction_read_only = on")
    else:
        judge.sql("create or replace user follower", "grant all on *.* to follower")
        judge.sql("revoke read only admin, super on *.* from follower", "set global read_only = 1")
    url = judge.url if kind == "postgresql" else judge.url.replace("ranklake@", "follower@")
    try:
        with pytest.raises(DatabaseError, match="the database is read-only: give the address of one"):
            publish_to_database(lake, "run", url)
    finally:
        if kind == "mysql":
            judge.sql("set global read_only = 0", "drop user follower")
