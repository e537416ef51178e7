"""Contests from queries of real databases: the same as from a file, only what changed with a watermark, no secrets."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.commands import Command
from helpers.database_servers import MariaDbServer, PostgresServer
from helpers.databases import Judge, login, server_judge

from ranklake.flows.databases.address import DatabaseAddress
from ranklake.flows.databases.errors import DatabaseError
from ranklake.flows.ingestion.databases import ingest_sql
from ranklake.flows.ingestion.files import ingest_files
from ranklake.flows.sources.base import SourceError
from ranklake.storage import Dataset, Lake

QUERY = "select contest, player, score, held as time, changed from results  -- of all contests"
DAY = 86_400
EARLY = 1_700_000_000 - DAY
CONTESTS, PLAYERS = 12, 6


@pytest.fixture
def judge(database: Judge) -> Judge:
    """A judge with twelve contests, two a day, whose rows are stored in an unhelpful order."""
    filled(database)
    return database


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(str(tmp_path / "lake"), create=True)


def filled(judge: Judge) -> None:
    judge.sql(
        "create table results (contest integer, player text, score numeric, held bigint, changed integer)",
        "insert into results values " + ", ".join(map(str, reversed(rows()))),
    )


def rows() -> list[tuple[int, str, int, int, int]]:
    """Contest, player, score, time and change; scores tie."""
    return [
        (contest, f"player {player}", contest * player % 4, 1_700_000_000 + contest // 2 * DAY, contest)
        for contest in range(1, CONTESTS + 1)
        for player in range(PLAYERS)
    ]


def digests(lake: Lake, dataset: str) -> list[tuple[str, str]]:
    contests = Dataset.open(lake, dataset).contests
    return list(zip(*(contests.column(name).to_pylist() for name in ("contest_id", "content_digest")), strict=True))


def test_ingest_sql__has_the_contests_of_the_same_table_in_a_file(judge: Judge, lake: Lake, tmp_path: Path) -> None:
    names = ("contest", "player", "score", "time", "changed")
    columns = dict(zip(names, zip(*rows(), strict=True), strict=True))
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), tmp_path / "results.parquet")
    ingest_files(lake, tmp_path / "results.parquet", "file", {"order": "time"})
    report = ingest_sql(lake, judge.url, QUERY, "judge")
    assert (report.new, report.read.participations) == (CONTESTS, CONTESTS * PLAYERS)
    assert digests(lake, "judge") == digests(lake, "file")


def test_ingest_sql__does_not_depend_on_the_order_of_the_rows(judge: Judge, lake: Lake) -> None:
    ingest_sql(lake, judge.url, QUERY, "judge")
    for order in ("score", "player desc", "changed, score desc"):
        report = ingest_sql(lake, judge.url, f"{QUERY}\norder by {order};", "judge")
        assert (report.unchanged, report.changed) == (CONTESTS, False)


def test_watermark__asks_for_contests_with_new_and_changed_rows_only(judge: Judge, lake: Lake) -> None:
    first = ingest_sql(lake, judge.url, QUERY, "judge", watermark="changed")
    assert (first.new, first.partial) == (CONTESTS, False)
    again = ingest_sql(lake, judge.url, QUERY, "judge", watermark="changed")  # rows with the last value may be new
    assert (again.unchanged, again.read.contests, again.partial, again.changed) == (CONTESTS, 1, True, False)
    judge.sql(
        "update results set score = 9, changed = 13 where contest = 4 and player = 'player 1'",
        "delete from results where contest = 7 and player = 'player 5'",
        "update results set changed = 14 where contest = 7 and player = 'player 0'",
        f"insert into results values (13, 'new', 2, {EARLY}, 14), (13, 'player 0', 1, {EARLY}, 14)",
    )
    report = ingest_sql(lake, judge.url, QUERY, "judge", watermark="changed")
    assert (report.new, report.corrected, report.read.participations) == (1, 2, 3 * PLAYERS - 1 + 2)
    ingest_sql(lake, judge.url, QUERY, "all")
    assert digests(lake, "judge") == digests(lake, "all")
    assert digests(lake, "judge")[0][0] == "13"  # the late contest is the earliest


def test_watermark__of_another_query_starts_from_the_beginning(judge: Judge, lake: Lake) -> None:
    ingest_sql(lake, judge.url, QUERY, "judge", watermark="changed")
    report = ingest_sql(lake, judge.url, f"select * from ({QUERY}\n) as r", "judge", watermark="changed")
    assert (report.partial, report.unchanged) == (False, CONTESTS)


def test_watermark__without_a_value_is_always_asked_for(judge: Judge, lake: Lake) -> None:
    judge.sql("update results set changed = null where contest = 2 and player = 'player 3'")
    ingest_sql(lake, judge.url, QUERY, "judge", watermark="changed")
    judge.sql("update results set score = 8 where contest = 2 and player = 'player 2'")
    assert ingest_sql(lake, judge.url, QUERY, "judge", watermark="changed").corrected == 1


def test_mirror__removes_the_contests_that_the_judge_does_not_have(judge: Judge, lake: Lake) -> None:
    ingest_sql(lake, judge.url, QUERY, "judge")
    judge.sql("delete from results where contest = 3")
    assert ingest_sql(lake, judge.url, QUERY, "judge").removed == 0
    assert ingest_sql(lake, judge.url, QUERY, "judge", options={"mirror": True}).removed == 1


def test_fault__names_the_contest_and_the_player(judge: Judge, lake: Lake) -> None:
    judge.sql("update results set held = 5 where contest = 6 and player = 'player 4'")
    with pytest.raises(SourceError, match=r"contest 6: time differs inside the contest.*\(players .*'player 4'"):
        ingest_sql(lake, judge.url, QUERY, "judge")
    report = ingest_sql(lake, judge.url, QUERY, "judge", options={"on_error": "skip"})
    assert (report.new, [left.contest for left in report.read.left_out]) == (CONTESTS - 1, ["6"])


@pytest.mark.parametrize(
    ("query", "words"),
    [("select * from nosuch", "nosuch"), ("selec", "syntax"), ("delete from results", "the query must not write")],
)
def test_query__that_fails_is_one_line_with_the_address(judge: Judge, lake: Lake, query: str, words: str) -> None:
    with pytest.raises(DatabaseError) as raised:
        ingest_sql(lake, judge.url, query, "judge")
    assert words in str(raised.value)
    assert str(raised.value).startswith(f"{judge.url}: ")
    assert "\n" not in str(raised.value)
    assert len(judge.sql("select * from results")) == CONTESTS * PLAYERS


def test_command__ingests_and_refuses_in_one_line(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke = Command(monkeypatch, capsys)
    (tmp_path / "results.sql").write_text(QUERY)
    command = ("ingest", "sql", "--dataset", "judge", "--lake", tmp_path / "lake")
    monkeypatch.setenv("RANKLAKE_DATABASE_URL", judge.url)
    told = invoke(*command, "--query", f"@{tmp_path / 'results.sql'}", "--watermark", "changed")
    assert told.code == 0
    assert told.out.startswith("data set judge: 12 new contests; 72 rows, in ")
    assert "columns used: contest, player, score, time" in told.err
    assert "expected" not in invoke.refuses(*command, "--query", "select 1 as contest")
    assert invoke.refuses(*command, code=2).startswith("source sql needs a query")
    mirror = invoke.refuses(*command, "--query", QUERY, "--watermark", "changed", "--mirror", code=2)
    assert mirror == "a mirror needs all rows: leave the watermark out"
    missing = invoke.refuses(*command, "--query", QUERY, "--url", f"sqlite:///{tmp_path}/no.db")
    assert missing == f"sqlite:///{tmp_path}/no.db: no such file"


@pytest.mark.slow
def test_postgresql__times_with_zones_and_uuids_are_read(postgresql: PostgresServer, lake: Lake) -> None:
    with server_judge(postgresql) as judge:
        judge.sql(
            "create table results (contest uuid, player bigint, score numeric, held timestamptz, changed timestamptz)",
            "insert into results select md5((g / 3)::text)::uuid, g % 3, g * 0.125, "
            "timestamptz '2024-01-31 23:30:00-02' + interval '1 day' * (g / 3), "
            "timestamptz '2024-06-01' + interval '1 hour' * g "
            "from generate_series(0, 29) g",
        )
        query = "select contest, player, score, held as time, changed from results"
        assert ingest_sql(lake, judge.url, query, "judge", watermark="changed").new == 10
        contests = Dataset.open(lake, "judge").contests
        assert contests.column("time_seconds")[0].as_py() == 1_706_751_000
        assert contests.column("contest_id")[0].as_py() == "cfcd2084-95d5-65ef-66e7-dff9f98764da"
        judge.sql("update results set score = 0, changed = '2024-06-02 04:59:30Z' where held = '2024-02-02 01:30Z'")
        late = ingest_sql(lake, judge.url, query, "judge", watermark="changed")  # half a minute before the watermark
        assert (late.corrected, late.read.contests) == (1, 2)


@pytest.mark.slow
def test_mariadb__types_are_read(mysql: MariaDbServer, lake: Lake) -> None:
    with server_judge(mysql) as judge:
        judge.sql(
            "create table results (contest bigint unsigned, player varchar(20) charset latin1, score decimal(9, 3), "
            "held datetime, changed timestamp(6) not null default current_timestamp(6), weight double, rated boolean, "
            "flag bit(1))",
            "insert into results select seq div 3, concat('Zoë ', seq mod 3), seq * 0.125, "
            "timestamp '2024-02-01 01:30:00' + interval seq div 3 day, "
            "timestamp '2024-06-01 00:00:00.25' + interval seq hour, 0.1, true, b'1' from seq_0_to_29",
        )
        query = "select contest, player, score, held as time, changed, weight from results where rated and flag = 1"
        assert ingest_sql(lake, judge.url, query, "judge", watermark="changed").new == 10
        dataset = Dataset.open(lake, "judge")
        assert dataset.contests.column("time_seconds")[0].as_py() == 1_706_751_000
        assert dataset.contests.column("weight")[0].as_py() == 0.1
        assert dataset.handles().to_pylist() == ["Zoë 2", "Zoë 1", "Zoë 0"]
        judge.sql("update results set score = 0, changed = '2024-06-02 04:59:30' where held = '2024-02-02 01:30'")
        late = ingest_sql(lake, judge.url, query, "judge", watermark="changed")  # half a minute before the watermark
        assert (late.corrected, late.read.contests) == (1, 2)
        with pytest.raises(DatabaseError, match="the statement must be one query, and the query must not write"):
            ingest_sql(lake, judge.url, "set @a = 1", "judge")
        with pytest.raises(DatabaseError, match=r"the column time of the query: .*0000-00-00.*; cast it in the query"):
            ingest_sql(lake, judge.url, query.replace("held", "timestamp(0)"), "other")


@pytest.mark.slow
def test_mariadb__password_is_in_the_environment_or_a_file(
    mysql: MariaDbServer, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with server_judge(mysql) as judge:
        filled(judge)
        judge.sql("drop user if exists reader", "create user reader identified by 'S3cret-wörd'")
        judge.sql("grant select on results to reader")
        url = judge.url.replace("ranklake@", "reader@")
        with pytest.raises(DatabaseError, match=r"Access denied .*; give the password by MYSQL_PWD or ~/\.my\.cnf"):
            ingest_sql(lake, url, QUERY, "judge")
        (tmp_path / ".my.cnf").write_text("[client]\npassword=S3cret-wörd\n", "utf-8")
        assert ingest_sql(lake, url, QUERY, "judge").new == CONTESTS
        (tmp_path / ".my.cnf").write_text("password=S3cret-wörd\n", "utf-8")
        with pytest.raises(DatabaseError, match="contains no section headers"):
            ingest_sql(lake, url, QUERY, "judge")
        (tmp_path / ".my.cnf").unlink()
        monkeypatch.setenv("MYSQL_PWD", "S3cret-wörd")
        assert ingest_sql(lake, url, QUERY, "judge").unchanged == CONTESTS
        with pytest.raises(ValueError, match="unknown parameter charset; known are unix_socket"):
            ingest_sql(lake, f"{url}?charset=latin1", QUERY, "judge")


@pytest.mark.slow
def test_server__refuses_a_user_without_the_privilege(server_database: Judge, lake: Lake) -> None:
    judge = server_database
    filled(judge)
    login(judge, "guest")
    judge.sql("create table other (a integer)", "grant select on other to guest")
    with pytest.raises(DatabaseError, match=r"denied .*table .*results.*; the user lacks a privilege") as raised:
        ingest_sql(lake, judge.url.replace("ranklake@", "guest:S3cret-word@"), QUERY, "judge")
    assert "S3cret" not in str(raised.value)
    port = DatabaseAddress.parse(judge.url).port
    with pytest.raises(DatabaseError, match=r"127\.0\.0\.1.*Connection refused"):
        ingest_sql(lake, judge.url.replace(f":{port}/", ":1/"), QUERY, "judge")
    with pytest.raises(DatabaseError, match=r"(role \"nobody\" does not exist|Access denied for user 'nobody')"):
        ingest_sql(lake, judge.url.replace("ranklake@", "nobody@"), QUERY, "judge")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "wait", "find", "end"),
    [
        (
            "postgresql",
            "pg_sleep(30)::text",
            "select pid from pg_stat_activity where query like '%pg_sleep(30)%' and pid <> pg_backend_pid()",
            "select pg_terminate_backend({})",
        ),
        (
            "mysql",
            "sleep(30)",
            "select id from information_schema.processlist where info like 'select contest%sleep(30)%'",
            "kill {}",
        ),
    ],
    ids=["postgresql", "mysql"],
)
def test_connection__that_stops_during_a_query_leaves_the_data_set(
    request: pytest.FixtureRequest, lake: Lake, kind: str, wait: str, find: str, end: str
) -> None:
    with server_judge(request.getfixturevalue(kind)) as judge:
        filled(judge)
        ingest_sql(lake, judge.url, QUERY, "judge")
        before = digests(lake, "judge")

        def stop() -> None:
            while not (rows := judge.sql(find)):
                pass
            judge.sql(end.format(rows[0][0]))

        ending = threading.Thread(target=stop)
        ending.start()
        with pytest.raises(DatabaseError, match="the connection is lost; run again"):
            ingest_sql(lake, judge.url, f"select contest, player, score, time, {wait} from ({QUERY}\n) r", "judge")
        ending.join()
        assert digests(lake, "judge") == before


def test_record__has_neither_the_query_nor_the_password(judge: Judge, lake: Lake, tmp_path: Path) -> None:
    url = judge.url.replace("ranklake@", "owner:S3cret-word@")
    if url != judge.url:
        login(judge, "owner")
        judge.sql("grant select on results to owner")
    ingest_sql(lake, url, QUERY, "judge", watermark="changed")
    stored = [path.read_bytes() for path in (tmp_path / "lake").rglob("*") if path.is_file()]
    assert any(b'"watermark":{' in data for data in stored)
    assert not any(b"S3cret" in data or b"select" in data for data in stored)


def test_query__of_more_columns_than_allowed_is_refused(
    judge: Judge, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ranklake.flows.sources.limits.MAX_COLUMNS", 4)
    with pytest.raises(SourceError, match="the table has more than 4 columns, the limit"):
        ingest_sql(lake, judge.url, QUERY, "d")
