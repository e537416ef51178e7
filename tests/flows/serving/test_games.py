"""The server over a run of periods of games: no page and no answer has all games of a period."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.games import as_periods, ingest_periods, league
from helpers.lakes import rate_run

from ranklake.flows.publication.publish import publish
from ranklake.storage import Lake

pytest.importorskip("starlette")
from helpers.api import TestClient, client_of

from ranklake.flows.answers import contests

PERIODS = as_periods(league(200, n_players=12))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    lake = Lake.open(tmp_path_factory.mktemp("games") / "lake", create=True)
    ingest_periods(lake, PERIODS)
    rate_run(lake, run="run", dataset="league", system="elo")
    publish(lake, "run")
    with pytest.MonkeyPatch.context() as patch, client_of(lake) as client:
        patch.setattr(contests, "MOST_GAME_ROWS", 10)
        yield client


def test_period__is_answered_in_pages(client: TestClient) -> None:
    name, total = PERIODS[0].contest_id, 2 * len(PERIODS[0])
    address = f"/api/v1/runs/run/contests/{name}"
    first = client.get(address).json()
    assert (len(first["rows"]), first["total"], first["start"], first["next"]) == (10, total, 0, 10)
    rest = client.get(address, params={"start": 10, "limit": 1000}).json()
    assert (len(rest["rows"]), rest["next"]) == (total - 10, None)
    assert client.get(address, params={"limit": 1001}).status_code == 400


def test_pages__of_a_period_and_a_player(client: TestClient) -> None:
    name, total = PERIODS[0].contest_id, 2 * len(PERIODS[0])
    page = client.get(f"/run/c/{name}").text
    assert f"The first 10 of {total} participations, two a game." in page
    assert f'href="/api/v1/runs/run/contests/{name}"' in page
    assert f"{name}, p" in client.get("/run/p/p1").text  # the opponent
    assert "p1" in client.get("/run/compare", params={"h": "p1,p2"}).text
