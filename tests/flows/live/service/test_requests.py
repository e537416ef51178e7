"""Requests about matches and players: their answers, their statuses, and what is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
from helpers.api import TestClient
from helpers.live_matches import MemoryLog
from helpers.live_service import NOW, RUN, Clock, HeldLog, duel, live_service

from ranklake.flows.live.engine import LiveOptions
from ranklake.flows.live.service.handlers import MOST_BODY, MOST_HANDLES, MOST_ROWS
from ranklake.flows.live.service.routes import LONGEST_ADDRESS
from ranklake.storage import Dataset, Lake, Run


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with live_service(tmp_path_factory.mktemp("live"), runs=("run", "other")) as client:
        yield client


def test_match__is_rated_in_the_answer(client: TestClient) -> None:
    answer = client.post(f"{RUN}/matches", json=duel("first", "ada", "bo"))
    assert answer.status_code == 201
    found = answer.json()
    assert (found["id"], found["expected"]) == ("first", [0.5, 0.5])
    assert [(row["player"], row["mu"], row["change"], row["n_rounds"]) for row in found["players"]] == [
        ("ada", 1516.0, 16.0, 1), ("bo", 1484.0, -16.0, 1)]  # fmt: skip
    assert list(found["runs"]) == ["run", "other"]
    assert found["runs"]["other"]["players"][0]["sigma"] > 0.0
    player = client.get(f"{RUN}/players/ada").json()
    assert (player["mu"], player["n_rounds"], player["last_match"]) == (1516.0, 1, int(NOW))
    assert player["sequence"] == found["sequence"]


def test_match__sent_again_has_the_first_answer_word_for_word(client: TestClient) -> None:
    first = client.post(f"{RUN}/matches", json=duel("again", "cy", "dee", time=int(NOW) - 5))
    client.post(f"{RUN}/matches", json=duel("again later", "cy", "dee"))
    second = client.post(f"{RUN}/matches", json=duel("again", "cy", "dee", time=int(NOW) - 5))
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.content == second.content
    other = client.post(f"{RUN}/matches", json=duel("again", "cy", "dee", weight=2, time=int(NOW) - 5))
    assert (other.status_code, other.json()["pointer"]) == (409, "/weight")


def test_match__of_any_id_and_handle_is_found_by_its_address(client: TestClient) -> None:
    name, handle = "a/b?c#%2F", "é / ü%"
    assert client.post(f"{RUN}/matches", json=duel(name, handle)).status_code == 201
    found = client.get(f"{RUN}/matches/a%2Fb%3Fc%23%252F")
    assert found.json()["match"]["id"] == name
    assert found.json()["result"]["players"][0]["player"] == handle
    assert client.get(f"{RUN}/players/%C3%A9%20%2F%20%C3%BC%25").json()["player"] == handle


def test_list__has_an_entry_for_each_match(client: TestClient) -> None:
    client.post(f"{RUN}/matches", json=duel("known"))
    sent = [duel("new"), duel("known"), duel("known", score=0), duel("wrong", "x", "x"), {"id": "new"}, duel("new")]
    answer = client.post(f"{RUN}/matches", json={"matches": sent})
    assert answer.status_code == 207
    results = answer.json()["results"]
    assert [one["status"] for one in results] == [201, 200, 409, 422, 422, 200]
    assert results[3]["error"]["pointer"] == "/matches/3/b"
    assert results[5]["result"] == results[0]["result"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b"", ""), (b"{", ""), (b"[]", ""), (b"1", ""), (b'{"id":"x"}', ""), (b"\xff", ""),
        (json.dumps(duel("x", "a", "a")).encode(), "/b"), (json.dumps(duel("x", score=2)).encode(), "/score"),
        (json.dumps(duel("x", more=1)).encode(), ""), (json.dumps(duel("")).encode(), "/id"),
        (json.dumps(duel("x", weight=0)).encode(), "/weight"), (json.dumps(duel("x", "a\x00")).encode(), "/a"),
        (json.dumps(duel("x", time=int(NOW) + 301)).encode(), "/time"),
        (json.dumps(duel("x", x={"home": 1})).encode(), "/x/home"), (b'{"matches":[]}', "/matches"),
        (json.dumps({"matches": [duel("x")] * 1_001}).encode(), "/matches"), (b"[" * 100_000, ""),
        (b'{"id":"x","a":"a","b":"b","score":NaN}', ""), (b'{"matches":1}', ""),
    ],
)  # fmt: skip
def test_match__that_breaks_a_rule_is_refused_with_its_place(client: TestClient, body: bytes, pointer: str) -> None:
    before = client.app_state["service"].writer.opened().log.last
    answer = client.post(f"{RUN}/matches", content=body)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["pointer"].startswith(pointer)
    assert client.app_state["service"].writer.opened().log.last == before


def test_players__of_one_state(client: TestClient) -> None:
    client.post(f"{RUN}/matches", json=duel("of one state"))
    found = client.post(f"{RUN}/players", json={"handles": ["bo", "nobody", "ada"]}).json()
    assert [one["player"] for one in found["players"]] == ["bo", "ada"]
    assert found["missing"] == ["nobody"]
    for handles in ([], ["x"] * (MOST_HANDLES + 1)):
        assert client.post(f"{RUN}/players", json={"handles": handles}).status_code == 422
    assert client.post(f"{RUN}/players", content=b"[]").status_code == 422
    assert client.get(f"{RUN}/players/nobody").status_code == 404


def test_leaderboard__has_its_rows_and_its_sequence_number(tmp_path: Path) -> None:
    with live_service(tmp_path) as client:
        assert client.get(f"{RUN}/leaderboard").json() == {
            "run": "run", "sequence": 0, "stale": False, "total": 0, "start": 0, "rows": []}  # fmt: skip
    with live_service(tmp_path, MemoryLog()) as client:
        client.post(f"{RUN}/matches", json={"matches": [duel("1"), duel("2", "cy", "bo")]})
        found = client.get(f"{RUN}/leaderboard?start=1&limit=1").json()
        assert (found["sequence"], found["total"], [row["player"] for row in found["rows"]]) == (2, 3, ["cy"])
        assert client.get(f"{RUN}/leaderboard?limit={MOST_ROWS + 1}").status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/runs/absent/players/ada", 404), ("POST", "/api/v1/runs/absent/matches", 404),
        ("GET", f"{RUN}/matches/absent", 404), ("GET", "/absent", 404), ("GET", f"{RUN}/matches", 405),
        ("PUT", f"{RUN}/leaderboard", 405), ("GET", f"{RUN}/players/%FF", 404),
        ("GET", "/" + "x" * LONGEST_ADDRESS, 404),
        ("GET", f"{RUN}/leaderboard?limit=0", 400), ("GET", f"{RUN}/leaderboard?other=1", 400),
        ("GET", "/api/v1/events?since=999999", 400), ("GET", "/healthz", 200), ("GET", "/readyz", 200),
        ("HEAD", "/healthz", 200), ("HEAD", "/api/v1/events", 200), ("GET", "/api/v1/runs", 200),
    ],
)  # fmt: skip
def test_address__has_its_status(client: TestClient, method: str, path: str, status: int) -> None:
    assert client.request(method, path).status_code == status


def test_body__has_limits(client: TestClient) -> None:
    assert client.post(f"{RUN}/matches", content=b" " * (MOST_BODY + 1)).status_code == 413
    assert client.post(f"{RUN}/matches", content=b"{}", headers={"content-encoding": "gzip"}).status_code == 415


def test_players__may_have_to_be_known_or_be_few(tmp_path: Path) -> None:
    with live_service(tmp_path / "known", live=LiveOptions(known_players_only=True)) as client:
        answer = client.post(f"{RUN}/matches", json=duel("x"))
        assert (answer.status_code, answer.json()["pointer"]) == (422, "/sides/0/players/0")
    clock = Clock()
    with live_service(tmp_path / "few", clock=clock, live=LiveOptions(new_players=2)) as client:
        assert client.post(f"{RUN}/matches", json=duel("1")).status_code == 201
        assert client.post(f"{RUN}/matches", json=duel("2", "cy")).status_code == 422
        clock.now += 60
        assert client.post(f"{RUN}/matches", json=duel("2", "cy")).status_code == 201


def test_log__that_takes_nothing_is_503_and_nothing_is_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = MemoryLog()
    with live_service(tmp_path, log) as client:
        client.post(f"{RUN}/matches", json=duel("1"))
        log.full = True
        answer = client.post(f"{RUN}/matches", json=duel("2"))
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert client.post(f"{RUN}/matches", json={"matches": [duel("3")]}).status_code == 503
        assert client.get(f"{RUN}/players/ada").json()["n_rounds"] == 1  # reading goes on
        assert "the log is full" not in answer.text  # the reason may name files, or a database
        assert caplog.text.count("the log is full") == 1
        log.full = False
        assert client.post(f"{RUN}/matches", json=duel("2")).json()["sequence"] == 2


def test_queue__that_is_full_is_429_at_once(tmp_path: Path) -> None:
    log = HeldLog()
    with live_service(tmp_path, log, queue=10) as client, ThreadPoolExecutor(2) as pool:
        log.free.clear()
        waiting = [pool.submit(client.post, f"{RUN}/matches", json=duel("1"))]
        assert log.begun.acquire(timeout=60)
        sent = {"matches": [duel(f"of list {at}") for at in range(9)]}
        waiting.append(pool.submit(client.post, f"{RUN}/matches", json=sent))
        while client.app_state["service"].writer.waiting < 10:
            client.get("/healthz")
        answer = client.post(f"{RUN}/matches", json=duel("too many"))
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        assert client.get(f"{RUN}/leaderboard").json()["total"] == 0  # reading goes on
        log.free.set()
        assert [one.result().status_code for one in waiting] == [201, 207]
        assert client.post(f"{RUN}/matches", json=duel("too many")).status_code == 201
        assert len({record.id for record in log.records}) == 11


def test_log__that_waits_refuses_further_matches_with_503(tmp_path: Path) -> None:
    log = HeldLog()
    with live_service(tmp_path, log) as client, ThreadPoolExecutor(2) as pool:
        log.free.clear()
        log.available = False
        waiting = [pool.submit(client.post, f"{RUN}/matches", json=duel("1"))]
        assert log.begun.acquire(timeout=60)
        waiting.append(pool.submit(client.post, f"{RUN}/matches", json=duel("2")))
        assert waiting[1].result().status_code == 503  # after a second
        assert client.post(f"{RUN}/matches", json=duel("3")).status_code == 503
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
        log.available = True
        log.free.set()
        assert waiting[0].result().status_code == 201
        assert client.post(f"{RUN}/matches", json=duel("2")).json()["sequence"] == 2


def test_duplicates__of_many_clients_have_one_effect(tmp_path: Path) -> None:
    log = MemoryLog()
    with live_service(tmp_path, log) as client, ThreadPoolExecutor(8) as pool:
        sent: list[Any] = [duel(f"{at % 5}", "ada", f"p{at % 5}") for at in range(60)]
        found = list(pool.map(lambda one: client.post(f"{RUN}/matches", json=one), sent))
        assert sorted({one.status_code for one in found}) == [200, 201]
        assert sum(one.status_code == 201 for one in found) == 5 == len(log.records)
        for name in range(5):
            assert len({one.content for one in found if one.json()["id"] == str(name)}) == 1
        assert client.get(f"{RUN}/players/ada").json()["n_rounds"] == 5


@pytest.mark.parametrize("jump", [86_400.0, -86_400.0])
def test_clock__that_jumps_by_a_day_loses_nothing(tmp_path: Path, jump: float) -> None:
    clock, log = Clock(), MemoryLog()
    with live_service(tmp_path, log, clock=clock, live=LiveOptions(period="hour")) as client:
        answers = [client.post(f"{RUN}/matches", json=duel("1"))]
        clock.now += jump
        answers.append(client.post(f"{RUN}/matches", json=duel("2")))
        late = client.post(f"{RUN}/matches", json=duel("3", time=int(NOW + jump - 86_401)))
        again = client.post(f"{RUN}/matches", json=duel("1"))
    assert [one.status_code for one in (*answers, late, again)] == [201, 201, 422, 200]
    assert again.content == answers[0].content
    received = [record.received for record in log.records]
    assert received == sorted(received)


def test_ban__refuses_matches_from_now_on(tmp_path: Path) -> None:
    log = MemoryLog()
    with live_service(tmp_path, log) as client:
        client.post(f"{RUN}/matches", json=duel("1"))
        banned = client.put(f"{RUN}/players/ada/ban?why=cheating")
        assert (banned.status_code, banned.json()) == (202, {"sequence": 2})
        assert client.post(f"{RUN}/matches", json=duel("2")).json()["pointer"] == "/sides/0/players/0"
        assert client.post(f"{RUN}/matches", json=duel("1")).status_code == 200  # the history stays
        assert client.get(f"{RUN}/players/ada").json()["n_rounds"] == 1
        assert client.delete(f"{RUN}/players/ada/ban").status_code == 202
        assert client.post(f"{RUN}/matches", json=duel("2")).json()["sequence"] == 4
        assert client.put(f"{RUN}/players/{'x' * 129}/ban").status_code == 422
        assert [record.kind for record in log.records] == ["match", "ban", "unban", "match"]
        assert b"cheating" in log.records[1].body
        log.full = True
        assert client.put(f"{RUN}/players/ada/ban").status_code == 503


def test_removed_match__is_in_no_rating_after_the_correction(tmp_path: Path) -> None:
    with live_service(tmp_path) as client:
        client.post(f"{RUN}/matches", json={"matches": [duel("1"), duel("2", "bo", "cy"), duel("3", "cy", "ada")]})
        assert client.delete(f"{RUN}/matches/2?why=wrong").json() == {"sequence": 4}
        again = client.delete(f"{RUN}/matches/2")
        assert again.status_code in (202, 409)
        assert client.delete(f"{RUN}/matches/absent").status_code == 404
        while client.get(f"{RUN}/players/ada").json()["stale"]:
            client.post(f"{RUN}/matches", json=duel("1"))
        with live_service(tmp_path / "other") as other:
            other.post(f"{RUN}/matches", json={"matches": [duel("1"), duel("3", "cy", "ada")]})
            shown = [one.get(f"{RUN}/leaderboard").json()["rows"] for one in (client, other)]
        assert shown[0] == shown[1]


def test_period__becomes_a_part_of_the_data_set_while_matches_go_on(tmp_path: Path) -> None:
    clock, log = Clock(), MemoryLog()
    with live_service(tmp_path, log, clock=clock, live=LiveOptions(period="hour", check=True)) as client:
        first = client.post(f"{RUN}/matches", json=duel("1"))
        clock.now += 3_600
        at, answers = 1, [first]
        while "commit_age_seconds" not in client.get("/metrics").text:
            at += 1
            answers.append(client.post(f"{RUN}/matches", json=duel(f"{at}", f"p{at % 9}")))
        assert {one.status_code for one in answers} == {201}
        assert client.post(f"{RUN}/matches", json=duel("1")).content == first.content  # of a period in the data set
        metrics = client.get("/metrics").text
        assert "ranklake_rated_replay_mismatch 0.0" in metrics
        assert f"ranklake_rated_unsaved_records {at - 1}.0" in metrics
    lake = Lake.open(str(tmp_path / "lake"))
    assert Dataset.open(lake, "games").contests.num_rows == 1
    assert Run.names(lake) == ["run"]
