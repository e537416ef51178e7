"""Who may ask: tokens, this machine alone without them, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

pytest.importorskip("starlette")
from helpers.api import TestClient
from helpers.live_service import RUN, Clock, duel, live_service

from ranklake.flows.http.server.problems import Problem
from ranklake.flows.live.periods.logged import match_of
from ranklake.flows.live.service.running import ServiceOptions
from ranklake.flows.live.service.tokens import MOST_TOKENS, Access, read_tokens

TOKEN = "a secret of game 1"


def line(name: str, token: str) -> str:
    return f"{name}:{sha256(token.encode()).hexdigest()}\n"


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokens") / "tokens"
    path.write_text("# games\n\n" + line("game-1", TOKEN) + line("game-2", "other"), encoding="utf-8", newline="")
    return path


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, tokens: Path) -> Iterator[TestClient]:
    with live_service(tmp_path_factory.mktemp("live"), access=Access(tokens, public_read=True)) as client:
        yield client


@pytest.mark.parametrize("headers", [{}, bearer("wrong"), bearer(""), {"authorization": TOKEN},
                                     {"authorization": f"Basic {TOKEN}"}])  # fmt: skip
def test_write__needs_a_token(client: TestClient, headers: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    answer = client.post(f"{RUN}/matches", json=duel("x"), headers=headers)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    for method, path in (("PUT", "players/ada/ban"), ("DELETE", "players/ada/ban"), ("DELETE", "matches/x")):
        assert client.request(method, f"{RUN}/{path}", headers=headers).status_code == 401
    metrics = client.get("/metrics").text
    assert 'ranklake_rated_refused_total{reason="forbidden"} 0.0' not in metrics
    assert TOKEN not in metrics + answer.text + caplog.text


def test_write__with_a_token_has_its_name_in_the_log(client: TestClient) -> None:
    assert client.post(f"{RUN}/matches", json=duel("x"), headers=bearer(TOKEN)).status_code == 201
    log = client.app_state["service"].writer.opened().log
    (record,) = log.find(["x"])
    assert b'"by":"game-1"' in record.body
    assert TOKEN.encode() not in record.body
    assert match_of(record).id == "x"


def test_read__may_be_public(client: TestClient, tmp_path: Path, tokens: Path) -> None:
    assert client.get(f"{RUN}/leaderboard").status_code == 200
    assert client.get(f"{RUN}/leaderboard", headers=bearer("wrong")).status_code == 401
    assert client.get("/healthz", headers={"host": "ratings.example"}).status_code == 200
    with live_service(tmp_path, access=Access(tokens)) as private:
        assert private.get(f"{RUN}/leaderboard").status_code == 401
        assert private.get(f"{RUN}/leaderboard", headers=bearer("other")).status_code == 200
        assert private.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [{"host": "evil.example"}, {"host": "localhost.evil.example"}, {"host": "127.0.0.1.evil.example:80"},
     {"origin": "https://evil.example"}, {"origin": "null"}],
)  # fmt: skip
def test_process_without_tokens__answers_this_machine_alone(tmp_path: Path, headers: dict[str, str]) -> None:
    with live_service(tmp_path) as client:
        for asked in (client.post(f"{RUN}/matches", json=duel("x"), headers=headers),
                      client.get(f"{RUN}/leaderboard", headers=headers)):  # fmt: skip
            assert asked.status_code == 403
        for host in ("localhost:8090", "127.0.0.1", "[::1]:8090"):
            assert client.get(f"{RUN}/leaderboard", headers={"host": host}).status_code == 200


def test_options__refuse_other_hosts_without_tokens(tokens: Path) -> None:
    with pytest.raises(ValueError, match="give --tokens FILE"):
        ServiceOptions("0.0.0.0")
    with pytest.raises(ValueError, match="--public-read is for --tokens"):
        Access(None, public_read=True)
    assert ServiceOptions("0.0.0.0", access=Access(tokens)).host == "0.0.0.0"


def test_token__has_a_number_of_requests_a_second(tokens: Path) -> None:
    clock = Clock()
    access = Access(tokens, requests_per_second=2.0, clock=clock)
    headers = {b"authorization": f"bearer {TOKEN}".encode()}
    assert [access.check(headers, True) for _ in range(2)] == ["game-1", "game-1"]
    with pytest.raises(Problem, match="at most 2 requests a second") as caught:
        access.check(headers, True)
    assert caught.value.status == 429
    assert access.check({b"authorization": b"Bearer other"}, True) == "game-2"
    clock.now += 0.5
    assert access.check(headers, True) == "game-1"


def test_tokens__are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(line("one", "first"), encoding="utf-8", newline="")
    access = Access(path)
    path.write_text(line("two", "second"), encoding="utf-8", newline="")
    assert access.reload() == 1
    assert access.check({b"authorization": b"Bearer second"}, True) == "two"
    with pytest.raises(Problem):
        access.check({b"authorization": b"Bearer first"}, True)
    path.write_text("a secret\n", encoding="utf-8", newline="")
    with pytest.raises(ValueError, match="line 1: a line is") as caught:
        access.reload()
    assert "secret" not in str(caught.value)
    assert access.check({b"authorization": b"Bearer second"}, True) == "two"


def test_tokens__have_rules(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    for text, rule in [
        ("", "no token"), ("x:12\n", "line 1"), (line("a b", "t"), "line 1"), (line("a", "t") * 2, "line 2"),
        ("".join(line(f"n{at}", "t") for at in range(MOST_TOKENS + 1)), "more than 1,000"),
    ]:  # fmt: skip
        path.write_text(text, encoding="utf-8", newline="")
        with pytest.raises(ValueError, match=rule):
            read_tokens(path)
