"""Addresses of databases: every part is found, and no message has the password."""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklake.flows.databases import postgresql
from ranklake.flows.databases.address import DatabaseAddress
from ranklake.flows.databases.connection import connect
from ranklake.flows.databases.dialects import WAIT_SECONDS, quote
from ranklake.flows.databases.errors import DatabaseError, database_error

SECRET = "S3cr:t/p@ss?w#rd"


@pytest.mark.parametrize(
    ("url", "kind", "shown", "path"),
    [
        ("postgresql://judge@db:5433/site?sslmode=require", "postgresql", "postgresql://judge@db:5433/site", "site"),
        ("postgres://db/site", "postgresql", "postgres://db/site", "site"),
        ("postgresql://a,b:5433/site", "postgresql", "postgresql://a,b:5433/site", "site"),
        ("postgresql://[::1]:5432/site", "postgresql", "postgresql://[::1]:5432/site", "site"),
        ("postgresql:///site?host=/run/postgresql", "postgresql", "postgresql:///site", "site"),
        ("mysql://root@db/ctfd", "mariadb", "mysql://root@db/ctfd", "ctfd"),
        ("sqlite:///judge.db", "sqlite", "sqlite:///judge.db", "judge.db"),
        ("sqlite:////srv/judge.db", "sqlite", "sqlite:////srv/judge.db", "/srv/judge.db"),
    ],
)
def test_address__has_kind_place_and_a_form_for_messages(url: str, kind: str, shown: str, path: str) -> None:
    address = DatabaseAddress.parse(url)
    assert (address.kind, address.shown, address.path) == (kind, shown, path)


def test_address__with_a_password_never_shows_it() -> None:
    address = DatabaseAddress.parse("postgresql://judge:p%40ss@db/site?sslpassword=hidden")
    assert address.shown == "postgresql://judge@db/site"
    assert (address.user, address.password, address.host) == ("judge", "p@ss", "db")
    assert "p@ss" not in repr(address)
    assert "p%40ss" not in repr(address)
    text = 'connection to "db" failed: wrong "p@ss", not p%40ss, nor hidden'
    error = str(database_error(address.shown, address.secrets, text))
    assert error == (
        'postgresql://judge@db/site: connection to "db" failed: wrong "[password]", not [password], nor [password]'
    )


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://judge:{SECRET}@db/site",
        "postgresql://judge:S3cret/x@db/site",
        "postgresql://judge:12/S3cret@db/site",
        "postgresql://judge:5?S3cret@db/site",
        "postgresql://judge:S3cret#x@db/site",
        "S3cret@db/site",
        "oracle://judge:S3cret@db/site",
        "postgresql://judge:S3cret@db:port/site",
    ],
)
def test_address__that_cannot_be_read_is_not_repeated(url: str) -> None:
    with pytest.raises(ValueError, match=r"address of (a|the) database") as raised:
        DatabaseAddress.parse(url)
    assert "S3c" not in str(raised.value)
    assert "judge" not in str(raised.value)


@given(st.text(max_size=20), st.sampled_from(["postgresql", "sqlite", "mariadb"]))
def test_quote__doubles_its_own_mark(name: str, kind: str) -> None:
    quoted = quote(name, kind)  # type: ignore[arg-type]
    mark = quoted[0]
    assert quoted[-1] == mark
    assert quoted[1:-1].replace(mark * 2, "").count(mark) == 0
    assert quoted[1:-1].replace(mark * 2, mark) == name


def test_sqlite__waits_for_another_writer(tmp_path: Path) -> None:
    with (
        closing(connect(f"sqlite:///{tmp_path}/judge.db")) as connection,
        connection.read("PRAGMA busy_timeout") as (_, batches),
    ):
        assert [batch.column(0).to_pylist() for batch in batches] == [[WAIT_SECONDS * 1000]]


@pytest.mark.slow
@pytest.mark.parametrize("parameters", ["", "?application_name=a", "?connect_timeout=2"])
def test_server__that_never_answers_is_an_error(parameters: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        postgresql, "CONNECT_SECONDS", 600 if "timeout" in parameters else 2
    )  # libpq has no shorter one
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://judge@127.0.0.1:{silent.getsockname()[1]}/site{parameters}"
        with pytest.raises(DatabaseError, match="timeout expired"):
            connect(url)
