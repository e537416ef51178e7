"""Proposed matches at the service: their chances and even teams, by the beliefs of this moment."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

pytest.importorskip("starlette")
from helpers.api import TestClient
from helpers.live_service import RUN, duel, live_service

from ranklake.flows.live.engine import LiveOptions
from ranklake.flows.live.service.proposals import MOST_BALANCED

PLAYERS = ["a", "b", "c", "d", "e", "new"]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder, options = tmp_path_factory.mktemp("live"), LiveOptions(games=False)
    with live_service(folder, live=options, runs=("run", "other"), systems=("trueskill", "elo")) as client:
        for number, (one, other) in enumerate(combinations(PLAYERS[:-1], 2)):
            assert client.post(f"{RUN}/matches", json=duel(f"m{number}", one, other)).status_code == 201
        yield client


def ask(client: TestClient, what: str, status: int = 200, **sent: Any) -> Any:
    answer = client.post(f"{RUN}/{what}", json=sent)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_quality__is_by_the_beliefs_and_newcomers_are_new(client: TestClient) -> None:
    found = ask(client, "quality", teams=[["a", "new"], ["d", "e"]])
    assert found["chances"][0] > 0.5
    assert sum(found["chances"]) == pytest.approx(1.0)
    assert found["win"] + found["draw"] + found["loss"] == pytest.approx(1.0)
    assert 0.0 < found["quality"] < 1.0
    assert found["sequence"] == 10
    turned = ask(client, "quality", teams=[["d", "e"], ["a", "new"]])
    assert turned["chances"] == pytest.approx(found["chances"][::-1])
    three = ask(client, "quality", teams=[["a"], ["b"], ["new"]])
    assert sum(three["chances"]) == pytest.approx(1.0)
    assert three["draw"] is None


def test_balance__is_the_most_even_split_and_keeps_parties(client: TestClient) -> None:
    def distance(first: list[str]) -> float:
        others = [name for name in PLAYERS if name not in first]
        return abs(ask(client, "quality", teams=[first, others])["chances"][0] - 0.5)

    found = ask(client, "balance", parties=[["a", "b"], ["c"], ["d"], ["e"], ["new"]])
    assert found["exact"]
    assert found["teams"][0][:2] == ["a", "b"]
    splits = [["a", "b", name] for name in PLAYERS[2:]]
    assert abs(found["chances"][0] - 0.5) == pytest.approx(min(map(distance, splits)), abs=1e-12)
    assert ask(client, "quality", teams=found["teams"])["chances"] == pytest.approx(found["chances"], rel=1e-12)
    unequal = ask(client, "balance", parties=[["a"], ["c"], ["d"]], sizes=[1, 2])
    assert list(map(len, unequal["teams"])) == [1, 2]


@pytest.mark.bound("ranklake.flows.live.service.proposals.MOST_BALANCED")
def test_balance__says_what_is_wrong_with_a_request(client: TestClient) -> None:
    wrong = ask(client, "balance", 422, parties=[["a", "b", "c"], ["d"]])
    assert wrong["pointer"] == "/parties"
    assert "possible are teams of 1 and 3" in wrong["detail"]
    assert ask(client, "balance", 422, parties=[["a"], ["a"]])["pointer"] == "/parties/1/0"
    assert ask(client, "balance", 422, parties=[["a"], []])["pointer"] == "/parties/1"
    assert "add up to the 2 players" in ask(client, "balance", 422, parties=[["a"], ["b"]], sizes=[2, 1])["detail"]
    many = [[f"n{number}"] for number in range(MOST_BALANCED + 2)]
    assert f"at most {MOST_BALANCED} players" in ask(client, "balance", 422, parties=many)["detail"]
    assert not ask(client, "balance", parties=many[:-2])["exact"]


def test_quality__of_teams_needs_a_system_with_a_rule(client: TestClient) -> None:
    answer = client.post("/api/v1/runs/other/quality", json={"teams": [["a", "b"], ["c", "d"]]})
    assert (answer.status_code, answer.json()["pointer"]) == (422, "/teams")
    assert "no rule for rounds of teams" in answer.json()["detail"]
