"""The judge in the documents: its query is ingested, corrections are found, and its page shows the ratings."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.answers import leaderboard
from helpers.databases import Judge, sqlite_judge
from helpers.documents import ROOT, blocks_of
from helpers.lakes import rate_run

from ranklake.flows.ingestion.databases import ingest_sql
from ranklake.flows.publication.database import publish_to_database
from ranklake.storage import Dataset, Lake

PAGE = ROOT / "docs" / "databases.md"


@pytest.fixture
def sql() -> list[str]:
    return blocks_of(PAGE.read_text(encoding="utf-8"), "sql")


def filled(judge: Judge, sql: list[str]) -> Judge:
    """The judge of the page with three rated contests that are over, one that is not rated, and one that runs."""
    old = "'2024-01-01 00:00:00'"
    judge.sql(
        *filter(str.strip, sql[0].split(";")),
        *(f"insert into users values ({user}, 'user {user}', {old})" for user in range(1, 9)),
        *(f"insert into contests values ({n}, 'Round {n}', '2024-02-0{n} 12:00:00', true, {old})" for n in (1, 2, 3)),
        f"insert into contests values (4, 'unrated', '2024-02-04 12:00:00', false, {old})",
        f"insert into contests values (5, 'running', '2037-02-04 12:00:00', true, {old})",
        *(
            f"insert into participations values ({n}, {user}, {n * user % 5}, false, '2024-01-0{n} 00:00:00')"
            for n in range(1, 6)
            for user in range(1, 9)
        ),
    )
    return judge


def test_judge__is_ingested_and_a_disqualification_is_found(database: Judge, sql: list[str], tmp_path: Path) -> None:
    _, query, disqualify = sql
    lake = Lake.open(str(tmp_path / "lake"), create=True)
    judge = filled(database, sql)
    assert ingest_sql(lake, judge.url, query, "judge", watermark="changed").new == 3
    judge.sql(*filter(str.strip, disqualify.split(";")))
    report = ingest_sql(lake, judge.url, query, "judge", watermark="changed")
    assert (report.corrected, report.read.contests) == (1, 2)  # 3 has the watermark itself
    contests = Dataset.open(lake, "judge").contests
    assert contests.column("n_players").to_pylist() == [8, 7, 8]
    assert contests.column("name").to_pylist() == ["Round 1", "Round 2", "Round 3"]


def test_page__has_the_current_names_and_the_published_ratings(
    sql: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (page,) = blocks_of(PAGE.read_text(encoding="utf-8"), "python")
    judge, lake = filled(sqlite_judge(tmp_path), sql), Lake.open(str(tmp_path / "lake"), create=True)
    ingest_sql(lake, judge.url, sql[1], "judge")
    rate_run(lake, dataset="judge", run="judge-elo-mmr", system="elo")
    publish_to_database(lake, "judge-elo-mmr", judge.url, prefix="ranklake_")
    judge.sql("update users set name = 'renamed' where id = 4")
    board = leaderboard(lake, "judge-elo-mmr").to_pylist()
    wanted = sorted((row["place"], "renamed" if row["handle"] == "4" else f"user {row['handle']}") for row in board)
    monkeypatch.chdir(tmp_path)
    routes: dict[str, Callable[[], list[dict[str, object]]]] = {}

    class Flask:
        """As much of Flask as the page uses."""

        def __init__(self, name: str) -> None:
            self.get = lambda path: lambda view: routes.setdefault(path, view)

    monkeypatch.setitem(sys.modules, "flask", SimpleNamespace(Flask=Flask, jsonify=list))
    exec(compile(page, str(PAGE), "exec"), {"__name__": "ratings"})
    rows = routes["/ratings"]()
    assert [(row["place"], row["name"]) for row in rows] == wanted
    assert len(rows) == 8
