"""Tables in a database: those of the lake to the bit, only what changed, at once, and nobody else's."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from helpers.commands import Command
from helpers.database_tables import KEYS, assert_stored, expected, publish_before, stored
from helpers.databases import Judge, sqlite_judge
from helpers.lakes import contest, ingest, lake_of, rate_run
from helpers.timeouts import TIMEOUT

from ranklake.flows.databases.connection import connect
from ranklake.flows.databases.errors import DatabaseError
from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.flows.publication.content import Content
from ranklake.flows.publication.database import publish_to_database
from ranklake.flows.publication.database_tables import DatabaseTables
from ranklake.storage import Contest, Dataset, Lake
from ranklake.storage.lake.schemas import PUBLISHED


def test_publish__is_the_run_to_the_bit_and_then_new_rounds_alone(
    lake: Lake, judge: Judge, sixteen: list[Contest]
) -> None:
    first = publish_to_database(lake, "run", judge.url)
    assert (first.rounds, first.kept, first.tables) == (10, 0, tuple(KEYS))
    assert_stored(judge, lake)
    again = publish_to_database(lake, "run", judge.url)
    assert (again.kept, again.added, again.tables) == (10, 0, ())
    assert again.line().startswith("published already: 10 rounds")
    ingest(lake, sixteen[:12])
    rate_run(lake, system="elo")
    report = publish_to_database(lake, "run", judge.url)
    assert (report.rounds, report.kept) == (12, 10)
    assert report.added == sum(Content(lake, "run").rows_of_rounds[10:])
    assert_stored(judge, lake)


def test_publish__of_a_correction_rewrites_from_there(lake: Lake, judge: Judge, sixteen: list[Contest]) -> None:
    publish_to_database(lake, "run", judge.url)
    turned = replace(sixteen[6], handles=sixteen[6].handles[::-1])
    renamed = replace(sixteen[1], name="a new title")
    ingest(lake, [sixteen[0], renamed, *sixteen[2:6], turned, *sixteen[7:10]])
    rate_run(lake, system="elo")
    report = publish_to_database(lake, "run", judge.url)
    assert (report.rounds, report.kept, report.tables) == (10, 6, ("contests", "ratings", "leaderboard"))
    assert_stored(judge, lake)


def test_merge__writes_only_rows_that_differ_unless_most_do(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    def board(ratings: dict[int, float]) -> pa.Table:
        rows = [{"player": player, "handle": f"p{player}", "rating": rating} for player, rating in ratings.items()]
        return pa.Table.from_pylist(rows, schema=PUBLISHED["leaderboard"])  # the other columns are null

    written: list[int] = []
    append = DatabaseTables.append

    def counted(self: DatabaseTables, name: str, batches: Iterable[pa.RecordBatch]) -> int:
        written.append(append(self, name, batches))
        return written[-1]

    monkeypatch.setattr(DatabaseTables, "append", counted)
    first = {player: 1500.0 + player for player in range(10)}
    few = {**first, 3: 1500.0, 4: 1504.0 + 2**-42, 10: 7.0}
    del few[5]
    states = [first, first, few, dict.fromkeys(range(8), 0.1), {1: 0.1}, {}]
    with closing(connect(judge.url)) as connection:
        tables = DatabaseTables(connection)
        with tables.publishing():
            tables.store({"leaderboard": {}})  # or its rows would be somebody else's
        written.clear()
        for state in states:
            with tables.publishing():
                tables.merge("leaderboard", board(state))
            assert tables.rows("leaderboard").sort_by("player").equals(board(state).sort_by("player"))
    assert written == [10, 0, 3, 8, 0, 0]


def test_merge__updates_rows_that_differ_in_places_only(judge: Judge) -> None:
    def board(places: list[int | None], of_two: float = 1500.0) -> pa.Table:
        rows = [
            {"player": player, "place": place, "percentile": None if place is None else place / 3.0, "rating": 1500.0}
            for player, place in enumerate(places)
        ]
        rows[2]["rating"] = of_two
        return pa.Table.from_pylist(rows, schema=PUBLISHED["leaderboard"])

    def updates() -> list[int]:
        """Rows of the open transaction that were updated; of them those that no index was written for."""
        query = "select n_tup_upd, n_tup_hot_upd from pg_stat_xact_user_tables where relname = 'leaderboard'"
        with connection.read(query) as (_, batches):
            return list(pa.Table.from_batches(batches).to_pylist()[0].values())

    with closing(connect(judge.url)) as connection:
        tables = DatabaseTables(connection)
        with tables.publishing():
            tables.merge("leaderboard", board([1, 2, 3, None]))
            tables.store({"leaderboard": {}})
        for state, n in ((board([2, 1, 4, 3], 1400.0), 3), (board([2, None, 4, 3], 1400.0), 1)):
            with tables.publishing():
                before = updates() if judge.kind == "postgresql" else []
                tables.merge("leaderboard", state)
                assert judge.kind != "postgresql" or updates() == [count + n for count in before]
            assert tables.rows("leaderboard").sort_by("player").equals(state)


def test_publish__stores_names_of_any_characters(tmp_path: Path, judge: Judge) -> None:
    names = ("o'brien", 'say "hi"', "back\\slash", "tab\t", "Ωμέγα 🏆", "'; drop table players; --")
    lake = lake_of(tmp_path / "lake", [contest("1", *names, time_seconds=5)])
    rate_run(lake, system="elo")
    publish_to_database(lake, "run", judge.url)
    assert_stored(judge, lake)


def test_publish__refuses_the_table_of_somebody_else(lake: Lake, judge: Judge) -> None:
    judge.sql("create table contests (id integer, title text)", "insert into contests values (1, 'kept')")
    differs = r"the table contests exists and has id int(eger)?, and has no round_index int(eger)?; no table is in"
    judge.sql("create table ranklake_groups (id integer)")
    with pytest.raises(DatabaseError, match=f"{differs} the way of `--prefix ranklake2_`"):
        publish_to_database(lake, "run", judge.url)
    judge.sql("drop table ranklake_groups")
    with pytest.raises(DatabaseError, match="the table contests exists"):
        publish_to_database(lake, "run", judge.url, rebuild=True)
    publish_to_database(lake, "run", judge.url, prefix="ranklake_")
    assert stored(judge, "ranklake_")["leaderboard"].equals(expected(lake)["leaderboard"])
    assert [tuple(row) for row in judge.sql("select id, title from contests")] == [(1, "kept")]


def test_publish__never_adds_to_rows_of_somebody_else(lake: Lake, judge: Judge) -> None:
    publish_to_database(lake, "run", judge.url)
    judge.sql("drop table ranklake_state", "delete from players where player > 0")
    for rebuild in (False, True):
        with pytest.raises(DatabaseError, match="players exists and has rows that no publish wrote; no table"):
            publish_to_database(lake, "run", judge.url, rebuild=rebuild)
    judge.sql(*(f"delete from {name}" for name in ("players", "contests", "ratings", "leaderboard")))
    publish_to_database(lake, "run", judge.url)  # as after an interrupted publish
    assert_stored(judge, lake)


def test_publish__afresh_keeps_a_table_that_is_not_of_the_run(lake: Lake, judge: Judge, tmp_path: Path) -> None:
    publish_to_database(lake, "run", judge.url)
    names = "groups" if judge.kind != "mariadb" else "`groups`"
    judge.sql(f"create table {names} (id integer)", f"insert into {names} values (7)")
    handle = Dataset.open(lake, "games").handles()[0].as_py()
    (tmp_path / "people.csv").write_text(f"handle,country\n{handle},FR\n", encoding="utf-8")
    record_attributes(lake, "games", str(tmp_path / "people.csv"))
    with pytest.raises(DatabaseError, match="the table groups exists and has id int"):
        publish_to_database(lake, "run", judge.url, rebuild=True)
    assert [tuple(row) for row in judge.sql(f"select id from {names}")] == [(7,)]
    assert_stored(judge, lake)


def test_publish__refuses_the_tables_of_an_earlier_release_or_another_run_unless_afresh(
    lake: Lake, judge: Judge
) -> None:
    publish_to_database(lake, "run", judge.url)
    judge.sql("alter table ratings drop column perf")
    missing = r"the table ratings exists and has no perf double.*; --afresh replaces tables of an earlier release"
    with pytest.raises(DatabaseError, match=missing if judge.kind != "sqlite" else "has no perf real"):
        publish_to_database(lake, "run", judge.url)
    rate_run(lake, run="other", system="glicko")
    publish_to_database(lake, "other", judge.url, rebuild=True)
    with pytest.raises(DatabaseError, match="have the run other; no table is in the way of `--prefix ranklake_`"):
        publish_to_database(lake, "run", judge.url)
    publish_to_database(lake, "run", judge.url, rebuild=True)
    assert_stored(judge, lake)


def test_publish__adds_the_last_columns_to_tables_of_an_earlier_release(
    lake: Lake, judge: Judge, sixteen: list[Contest]
) -> None:
    publish_to_database(lake, "run", judge.url)
    judge.sql("alter table ratings drop column points", "alter table ratings drop column rated")
    ingest(lake, sixteen[:12])
    rate_run(lake, system="elo")
    assert publish_to_database(lake, "run", judge.url).kept == 10
    rows, whole = (tables["ratings"] for tables in (stored(judge), expected(lake)))
    later = pc.greater_equal(rows["round_index"], 10)
    assert rows.filter(later).equals(whole.filter(later))
    assert rows.drop_columns(["rated", "points"]).equals(whole.drop_columns(["rated", "points"]))
    assert rows["rated"].filter(pc.invert(later)).null_count == sum(Content(lake, "run").rows_of_rounds[:10])


def test_publish__reaches_a_reader_at_once(
    lake: Lake, judge: Judge, sixteen: list[Contest], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = publish_before(lake, judge, sixteen[:12])
    seen, store = [], DatabaseTables.store

    def look(self: DatabaseTables, states: dict[str, object]) -> None:
        store(self, states)  # all is written, and not committed
        seen.append(stored(judge))

    monkeypatch.setattr(DatabaseTables, "store", look)
    if judge.kind == "sqlite":  # readers and the writer see one file at the same time in this mode only
        judge.sql("pragma journal_mode = wal")
    publish_to_database(lake, "run", judge.url)
    assert all(table.equals(old[name]) for name, table in seen[0].items())
    assert_stored(judge, lake)


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


def test_sqlite__has_no_schemas(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="SQLite has no schemas"):
        publish_to_database(lake, "run", sqlite_judge(tmp_path).url, "ratings")


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
