"""`follow` from a database to a database: what changed in one reaches the other, and nothing else is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.commands import Command
from helpers.databases import Judge

QUERY = "select contest, player, place as rank, time, changed from results"


@pytest.fixture
def judge(database: Judge) -> Judge:
    judge = database
    judge.sql("create table results (contest integer, player text, place integer, time bigint, changed integer)")
    for contest in range(1, 6):
        add(judge, contest, ("ada", "grace", "linus"))
    return judge


def add(judge: Judge, contest: int, players: tuple[str, ...]) -> None:
    for place, player in enumerate(players, 1):
        judge.sql(f"insert into results values ({contest}, '{player}', {place}, {1_700_000_000 + contest}, {contest})")


def test_follow__closes_the_loop(
    judge: Judge, invoke: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKLAKE_DATABASE_URL", judge.url)
    command = ("follow", "--source", "sql", "--query", QUERY, "--watermark", "changed", "--dataset", "judge")
    command += ("--system", "elo", "--run", "judge", "--to", judge.url, "--lake", tmp_path / "lake")
    first = invoke(*command)
    assert first.code == 0
    assert "5 new contests; 15 rows" in first.out
    assert "published 5 rounds" in first.out
    assert [row[0] for row in judge.sql("select handle from leaderboard order by place")] == ["ada", "grace", "linus"]
    add(judge, 6, ("linus", "grace", "ada", "new"))
    second = invoke(*command)
    assert "1 new, 5 unchanged contests; 7 rows new or changed" in second.out
    assert "published 6 rounds, 5 of them published before and unchanged, 4 ratings written" in second.out
    assert "published already: 6 rounds" in invoke(*command).out
    assert judge.sql("select count(*), count(distinct round_index) from ratings") == [(19, 6)]
    assert not (tmp_path / "lake" / "published").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--source", "sql", "--query", QUERY], "--source sql needs --url, the address of a database"),
        (["--source", "sql", "--url", "sqlite:///x.db"], "source sql needs a query"),
        (["--source", "sql", "--url", "sqlite:///x.db", "--query", QUERY], "sql needs a --dataset"),
        (["--source", "sql", "--url", "sqlite:///x.db", "--query", QUERY, "--path", "x"], "leave the others out"),
        (["--source", "codeforces", "--query", QUERY], "an option of sql, not of codeforces"),
        (["--source", "codeforces", "--schema", "x"], "--schema is for databases"),
        (["--source", "codeforces", "--to", "sqlite:///x.db", "--no-publish"], "--to publishes one run"),
        (["--source", "files", "--path", "x"], "--source files needs a --dataset"),
        (["--source", "files", "--dataset", "games"], "--source files needs --path: a folder"),
        (["--source", "codeforces", "--mirror"], "mirror: an option of files, not of codeforces"),
        (["--source", "codeforces", "--source", "ctftime", "--dataset", "x"], "need a single --source"),
        (["--source", "codeforces", "--every", "soon"], "must be a duration as 90s, 15m, 1h or 1d, got 'soon'"),
        (["--source", "codeforces", "--source", "chess"], "source must be one of codeforces"),
        (["--source", "codeforces", "--since", "once"], "must be a time as 2020-01-31"),
        (["--source", "codeforces", "--system", "chess"], "system must be one of"),
        (["--source", "codeforces", "--set", "rho"], "a setting is key=value, got 'rho'"),
        (["--source", "codeforces", "--dataset", "runs"], "a data set must not be called"),
        (["--source", "codeforces", "--run", "a/b"], "the name of a run must be"),
        (
            ["--source", "codeforces", "--scheduler", "tcp://a:1", "--workers", "2"],
            "give a scheduler or workers, not both",
        ),
    ],
)
def test_follow__refuses_options_that_do_not_fit(
    invoke: Command, tmp_path: Path, options: list[str], words: str
) -> None:
    message = invoke.refuses("follow", *options, "--lake", tmp_path / "lake", code=2)
    assert words in message
    assert not (tmp_path / "lake").exists()
