"""Databases whose certificate is right, wrong, expired or absent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from helpers.database_servers import MariaDbServer, PostgresServer

from ranklake.flows.databases.connection import connect
from ranklake.flows.databases.errors import DatabaseError

pytestmark = pytest.mark.slow
certificates = pytest.importorskip("helpers.certificates")


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> dict[str, certificates.Certificates]:
    folder = tmp_path_factory.mktemp("tls")
    ours, other = (certificates.Authority(folder / name) for name in ("ours", "other"))
    return {"right": ours.sign("127.0.0.1"), "expired": ours.sign("late", expired=True), "wrong": other.sign("other")}


def install(server: PostgresServer | MariaDbServer, made: certificates.Certificates) -> tuple[Path, Path]:
    """A certificate and its key, as the server may read them."""
    places = server.folder / "tls.pem", server.folder / "tls.key"
    for source, place in zip((made.certificate, made.key), places, strict=True):
        shutil.copy(source, place)
        shutil.chown(place, server.folder.owner(), server.folder.group())
        place.chmod(0o600)
    return places


def refused(url: str, words: str) -> None:
    with pytest.raises(DatabaseError, match=rf"(?i){words}") as raised, closing(connect(url, read_only=True)):
        pytest.fail(f"{url} is trusted")
    assert "\n" not in str(raised.value)


@pytest.fixture
def encrypted(postgresql: PostgresServer) -> Iterator[PostgresServer]:
    yield postgresql
    postgresql.sql("alter system reset all")
    postgresql.sql("select pg_reload_conf()")


def test_postgresql__only_a_right_certificate_is_trusted(
    encrypted: PostgresServer, authorities: dict[str, certificates.Certificates]
) -> None:
    url = encrypted.url_of("ranklake")
    verified = f"{url}?sslmode=verify-ca&sslrootcert={authorities['right'].ca}"
    refused(verified, "server does not support SSL.*; see the parameters for TLS")
    for name, words in (
        ("wrong", "certificate verify failed"),
        ("expired", "certificate (verify failed|has expired)"),
        ("right", ""),
    ):
        certificate, key = install(encrypted, authorities[name])
        encrypted.sql(f"alter system set ssl_cert_file = '{certificate}'", f"alter system set ssl_key_file = '{key}'")
        encrypted.sql("alter system set ssl = on")
        encrypted.stop()
        encrypted.start()
        if words:
            refused(verified, words)
        else:
            with closing(connect(verified)) as connection:
                connection.execute("select 1")


def test_mariadb__only_a_right_certificate_is_trusted(
    mysql: MariaDbServer, authorities: dict[str, certificates.Certificates]
) -> None:
    verified = f"{mysql.url_of('ranklake')}?ssl_ca={authorities['right'].ca}"
    before = list(mysql.options)
    try:
        for name, words in (
            ("absent", "SSL is required"),
            ("wrong", "certificate verify failed"),
            ("expired", "certificate has expired"),
            ("right", ""),
        ):
            mysql.stop()
            if name == "absent":
                mysql.options = [*before, "--skip-ssl"]
            else:
                certificate, key = install(mysql, authorities[name])
                mysql.options = [*before, f"--ssl-cert={certificate}", f"--ssl-key={key}"]
            mysql.start()
            if words:
                refused(verified, f"{words}.*; see the parameters for TLS")
            else:
                with closing(connect(verified)) as connection:
                    connection.execute("select 1")
                refused(f"{verified}&ssl_verify_identity=1", "certificate verify failed|doesn't match|mismatch")
    finally:
        mysql.stop()
        mysql.options = before
        mysql.start()
