"""The parameters of the Prefect flows: what is refused before anything is done, and no password in a message."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic")
from ranklake.flows.ingestion.source_update import SourceRequest
from ranklake.flows.scheduling.parameters import check_target, open_lake, source_request

QUERY = "select contest, player, place as rank, time from results"
JUDGE = {"url": "postgresql://ratings@db.example/judge", "query": QUERY, "watermark": "time"}


def request(source: str = "sql", **given: Any) -> SourceRequest:
    names = ("dataset", "since", "base_url", "path", "file_options", "database")
    return source_request(source, **(dict.fromkeys(names) | given))


def test_source__has_the_options_of_its_kind(tmp_path: Path) -> None:
    assert request(database=JUDGE).database == JUDGE
    assert not request("files", path=str(tmp_path / "results.csv")).database


@pytest.mark.parametrize(
    ("database", "message"),
    [
        (JUDGE | {"url": "sqlite:///judge.db"}, "an absolute path as sqlite:////srv/judge.db, got sqlite:///judge.db"),
        ({"url": "sqlite:////srv/judge.db"}, "source sql needs a query"),
        ({"query": QUERY}, "the address of a database must be"),
        (JUDGE | {"host": "db"}, "database has url, query, watermark, got 'host'"),
    ],
)
def test_source__refuses_a_wrong_database(database: dict[str, str | None], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        request(database=database)


def test_source__refuses_a_database_for_files_and_a_relative_path(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="an option of sql, not of files"):
        request("files", path=str(tmp_path), database=JUDGE)
    with pytest.raises(ValueError, match="must be an absolute path on the worker's machine, got 'results'"):
        request("files", path="results")


@pytest.mark.parametrize(
    ("to", "how", "message"),
    [
        ({"path": "x"}, {}, "to has url, schema, prefix, got 'path'"),
        ({"prefix": "x"}, {}, "the address of a database must be"),
        ({"url": "sqlite:///a.db"}, {}, "must be an absolute path"),
        ({"url": "sqlite:////srv/a.db"}, {"runs": ["a", "b"]}, "to publishes one run, got a, b"),
        ({"url": "sqlite:////srv/a.db"}, {"maintain": True}, "maintain is for the tables of the lake"),
        ({"url": "sqlite:////srv/a.db"}, {"publish": False}, "to is where runs are published"),
    ],
)
def test_target__refuses_what_it_cannot_take(to: dict[str, str], how: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        check_target(to, **({"maintain": False} | how))


def test_target__is_optional_and_may_be_any_database() -> None:
    check_target(None, maintain=True, publish=False, runs=["a", "b"])
    for url in (JUDGE["url"], "mariadb://ratings@db.example/judge", "sqlite:////srv/judge.db"):
        check_target({"url": url, "schema": "ratings", "prefix": "x_"}, maintain=False, runs=["a"])


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:sesame@db.example/judge",
        "mariadb://db.example/judge?password=sesame",
        "postgresql://me@db.example/judge?sslpassword=sesame",
        "postgresql://me:open/sesame@db.example/judge",
    ],
)
def test_addresses__with_a_password_are_refused_and_not_repeated(url: str) -> None:
    for refuse in (lambda: request(database=JUDGE | {"url": url}), lambda: check_target({"url": url}, maintain=False)):
        with pytest.raises(ValueError, match=r"must not have a password; set it in the worker|is invalid") as raised:
            refuse()
        assert "sesame" not in str(raised.value)
    with pytest.raises(ValueError, match="must not have a password") as raised:
        open_lake("sftp://me:sesame@example.invalid/lake")
    assert "sesame" not in str(raised.value)
