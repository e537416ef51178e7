"""The judge's schema in the documents: its query is ingested, and a disqualification is picked up by the watermark."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.databases import sqlite_judge
from helpers.documents import ROOT, blocks_of

from ranklake.flows.ingestion.databases import ingest_sql
from ranklake.storage import Dataset, Lake

PAGE = ROOT / "docs" / "databases.md"


@pytest.fixture
def sql() -> list[str]:
    return blocks_of(PAGE.read_text(encoding="utf-8"), "sql")


def test_judge__is_ingested_and_a_disqualification_is_found(sql: list[str], tmp_path: Path) -> None:
    schema, query, disqualify = sql
    judge, lake = sqlite_judge(tmp_path), Lake.open(str(tmp_path / "lake"), create=True)
    old = "'2024-01-01 00:00:00'"
    judge.sql(
        *filter(str.strip, schema.split(";")),
        *(f"insert into users values ({user}, 'user {user}', {old})" for user in range(1, 9)),
        *(f"insert into contests values ({n}, 'Round {n}', '2024-02-0{n} 12:00:00', 1, {old})" for n in (1, 2, 3)),
        f"insert into contests values (4, 'unrated', '2024-02-04 12:00:00', 0, {old})",
        f"insert into contests values (5, 'running', '2999-02-04 12:00:00', 1, {old})",
        *(
            f"insert into participations values ({n}, {user}, {n * user % 5}, 0, '2024-01-0{n} 00:00:00')"
            for n in range(1, 6)
            for user in range(1, 9)
        ),
    )
    assert ingest_sql(lake, judge.url, query, "judge", watermark="changed").new == 3
    judge.sql(*filter(str.strip, disqualify.split(";")))
    report = ingest_sql(lake, judge.url, query, "judge", watermark="changed")
    assert (report.corrected, report.read.contests) == (1, 2)  # 3 has the watermark itself
    contests = Dataset.open(lake, "judge").contests
    assert contests.column("n_players").to_pylist() == [8, 7, 8]
    assert contests.column("name").to_pylist() == ["Round 1", "Round 2", "Round 3"]
