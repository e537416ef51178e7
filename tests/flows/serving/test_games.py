"""Real tennis and the sample league in periods of a week: pages and API of a server."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from helpers.api import TestClient, client_of
from helpers.documents import ROOT
from helpers.lakes import rate_run

from ranklake.flows.ingestion.games import ingest_games
from ranklake.flows.pages.links import ServerLinks
from ranklake.flows.pages.views import periods
from ranklake.flows.publication.publish import publish
from ranklake.flows.sources.games.options import GamesOptions
from ranklake.storage import Lake

LEAGUE = ROOT / "docs" / "_static" / "league.csv"
TENNIS = ROOT / "tests" / "data" / "tennis-grand-slams-2015-2024.csv"
GAME = re.compile(r'<tr><td[^>]*><a href="[^"]*">([^<]*)</a><td>.*?<td>(.–.)<td[^>]*><a href="[^"]*">([^<]*)</a>')


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    lake = Lake.open(tmp_path_factory.mktemp("games") / "lake", create=True)
    ingest_games(lake, [str(TENNIS)], "tennis", GamesOptions(columns={"time": "start"}, period="week"))
    ingest_games(lake, [str(LEAGUE)], "league", GamesOptions(columns={"white": "home", "black": "away"}, period="week"))
    for dataset in ("tennis", "league"):
        rate_run(lake, run=dataset, dataset=dataset, system="elo")
        publish(lake, dataset)
    with client_of(lake) as client:
        yield client


@pytest.mark.parametrize("run", [pytest.param("tennis", marks=pytest.mark.slow), "league"])
def test_periods__on_pages_are_those_of_the_api(client: TestClient, run: str) -> None:
    listed_periods = client.get(f"/api/v1/runs/{run}/contests?limit=1000").json()["rows"]
    listed = client.get(f"/{run}/contests").text
    for period in listed_periods[:: max(len(listed_periods) // 5, 1)]:
        name = period["contest_id"]
        rows = client.get(f"/api/v1/runs/{run}/contests/{name}?limit=1000").json()["rows"]
        players = {row["handle"] for row in rows}
        assert (period["n_games"], period["n_players"]) == (len(rows) // 2, len(players))
        assert f"{name}</a><td>{len(rows) // 2:,}<td>{len(players):,}\n" in listed
        page = client.get(f"/{run}/c/{name}").text
        found = GAME.findall(page)
        expected = [
            (one["handle"], "½–½" if other["place"] == 1 else "1–0", other["handle"])
            for one, other in zip(rows[::2], rows[1::2], strict=True)
        ]
        assert found == expected[:200]
        assert 'class="wide">Performance' not in page


def test_filter__finds_all_games_of_a_player(client: TestClient) -> None:
    page = client.get("/tennis/c/2024-W27?q=djokovic").text
    games = GAME.findall(page)
    assert 0 < len(games) < 8
    assert all("Djokovic" in one + other for one, _, other in games)
    assert GAME.findall(client.get("/tennis/c/2024-W27?q=DJOKOVIC+alcaraz").text) in ([], games[-1:])


@pytest.mark.slow
def test_wins__of_all_players_are_their_losses(client: TestClient) -> None:
    totals = Counter[str]()
    for row in client.get("/api/v1/runs/league/leaderboard").json()["rows"]:
        page = client.get(f"/league/p/{row['handle']}").text
        counts = re.search(r"<dt>Won, drawn, lost</dt><dd>(\d+) · (\d+) · (\d+)", page)
        assert counts is not None
        totals.update(dict(zip(("won", "drawn", "lost"), map(int, counts.groups()), strict=True)))
        assert "<dt>Best win</dt>" in page
        history = client.get(f"/api/v1/runs/league/players/{row['handle']}/history").json()["rows"]
        assert sum(map(int, counts.groups())) == len(history)
    assert totals["won"] == totals["lost"]
    assert totals["won"] + totals["lost"] + totals["drawn"] == 2 * 1_200


def test_compare__of_two_shows_the_three_chances(client: TestClient) -> None:
    one, other = (row["handle"] for row in client.get("/api/v1/runs/league/leaderboard?limit=2").json()["rows"])
    (pair,) = client.get(f"/api/v1/runs/league/compare?handles={one},{other}").json()["pairs"]
    assert pair["win"] + pair["draw"] + pair["loss"] == pytest.approx(1.0)
    page = client.get(f"/league/compare?h={one}&h={other}").text
    pairs = page.partition('<details class="pairs" data-skills open>')[2].partition("</details>")[0]
    shown = [float(text) for text in re.findall(r"<td>([\d.]+) %", pairs)[:3]]
    assert shown == pytest.approx([100 * pair[name] for name in ("win", "draw", "loss")], abs=0.051)


def test_feed__of_a_player_has_the_results(client: TestClient) -> None:
    text = client.get("/league/p/player-000016/feed.atom").text
    assert re.search(r"(1–0|½–½|0–1) player-\d+, rating \d+ \([+-]?\d+\)", text)


def test_card__of_a_period_has_its_largest_gains(client: TestClient) -> None:
    run = client.app.state.served.runs["tennis"]  # type: ignore[attr-defined]
    period, gains = periods.period(run, ServerLinks("", "tennis"), "2024-W27"), periods.gains_of(run, "2024-W27")
    assert [one[1] for one in gains] == [one["handle"] for one in period["gains"]]
    assert all(change > 0 for _, _, _, change in gains)
    pytest.importorskip("PIL")
    assert client.get("/tennis/c/2024-W27/card.png").content[:8] == b"\x89PNG\r\n\x1a\n"
