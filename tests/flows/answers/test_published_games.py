"""Queries about a published run over periods of games: opponents, comparisons, and pages and answers of a period."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pyarrow as pa
import pytest
from helpers.answers import player_history as of_rounds
from helpers.games import DAY, as_periods, ingest_periods, league
from helpers.lakes import often, rate_run

from ranklake.flows.answers import contests
from ranklake.flows.answers.contests import winners
from ranklake.flows.answers.leaderboard import BeyondEndError
from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.answers.run import PublishedRun, open_published
from ranklake.flows.pages.links import ServerLinks
from ranklake.flows.pages.views import contest_list, periods, players, rounds
from ranklake.flows.publication.publish import publish
from ranklake.flows.results.rating_format import RatingFormat
from ranklake.storage import Lake
from ranklake.storage.lake.limits import Limits

OFTEN = often(segment_rows=60)

SHOWN = {1.0: ("win", "1–0"), 0.5: ("draw", "½–½"), 0.0: ("loss", "0–1")}
LINKS = ServerLinks("", "run")
GAMES = league(200, n_players=12)
PERIODS = as_periods(GAMES)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> PublishedRun:
    lake = Lake.open(tmp_path_factory.mktemp("games") / "lake", create=True, limits=Limits(index_rows=100))
    ingest_periods(lake, PERIODS)
    rate_run(lake, run="run", dataset="league", system="elo", policy=OFTEN)
    publish(lake, "run")
    published = open_published(lake, "run")
    assert len(published.parts) > 2
    return published


def test_history__has_the_opponent_of_each_game(run: PublishedRun) -> None:
    expected = defaultdict(list)
    for game in GAMES:
        for player, opponent, score in ((*game[:2], game.score), (*game[1::-1], 1.0 - game.score)):
            expected[player].append((f"period-{game.time_seconds // DAY}", opponent, score))
    for player, games in expected.items():
        tables = [
            run.history(player),
            of_rounds(run._lake, "run", player).rows,
            RatedRun(run._lake, "run").player(player).rows,
        ]
        for rows in (table.to_pylist() for table in tables):
            scores = [0.5 if row["lo"] < row["hi"] else 1.0 - row["lo"] for row in rows]
            assert [(r["contest_id"], r["opponent"], s) for r, s in zip(rows, scores, strict=True)] == games
        assert tables[1].to_pylist() == tables[2].to_pylist()


def test_recent_ratings__are_one_a_period(run: PublishedRun) -> None:
    changes, several = run.last_changes(), False
    for row in run.leaderboard(0, 100).rows.to_pylist():
        history = run.history(row["handle"]).to_pylist()
        by_period = {one["contest_id"]: one["rating"] for one in history}  # the last game of each
        several |= len(by_period) < len(history)
        ratings = list(by_period.values())
        assert run.recent_ratings(row["player"], 20) == ratings[-20:]
        assert changes[row["player"]] == ratings[-1] - ratings[-2]
    assert several
    assert winners(run, [0, 1]) == {}


def test_list_of_contests__counts_the_games_and_players_of_periods(run: PublishedRun) -> None:
    shown = contest_list.contests(run, ServerLinks("", "run"))
    rows = [row for _, section in shown["sections"] for row in section]
    expected = {}
    for day in sorted({game.time_seconds // DAY for game in GAMES}):
        games = [game for game in GAMES if game.time_seconds // DAY == day]
        expected[f"period-{day}"] = (len(games), len({name for game in games for name in game[:2]}))
    assert {row["address"].rpartition("/")[2]: (row["n_games"], row["n_players"]) for row in rows} == expected


def test_contest__is_a_page_of_a_period(run: PublishedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    last: dict[str, float] = {}
    for period in PERIODS:
        facts, whole = run.contest(period.contest_id)
        assert (facts["contest_id"], whole.total, whole.next) == (period.contest_id, 2 * len(period), None)
        assert (facts["n_games"], facts["n_players"]) == (len(period), len(period.handles))
        for row in whole.rows.to_pylist():
            assert row["rating_before"] == last.get(row["handle"])
            last[row["handle"]] = row["rating"]
        pages = [run.contest(period.contest_id, start, 7)[1] for start in range(0, whole.total, 7)]
        assert pa.concat_tables(page.rows for page in pages).equals(whole.rows)
        assert [page.next for page in pages] == [*range(7, whole.total, 7), None]
        with monkeypatch.context() as patch:
            patch.setattr(contests, "MOST_GAME_ROWS", 4)
            assert run.contest(period.contest_id)[1].rows.equals(whole.rows.slice(0, 4))


def test_period__is_a_row_a_game_with_the_changes_of_both(run: PublishedRun) -> None:
    for period in PERIODS:
        shown = periods.period(run, LINKS, period.contest_id)
        rows, about = shown["rows"], shown["period"]
        games = [game for game in GAMES if f"period-{game.time_seconds // DAY}" == period.contest_id]
        expected = [
            (*((game.black, game.white) if game.score == 0 else game[:2]), 1 if game.score == 0.5 else 2)
            for game in games
        ]
        names, places = rows["handle"], rows["place"]
        assert list(zip(names[::2], names[1::2], places[1::2], strict=True)) == expected
        assert (about["n_games"], about["n_players"]) == (len(games), len(set(names)))
        assert (shown["previous"] is None, shown["next"] is None) == (period is PERIODS[0], period is PERIODS[-1])


def test_period__has_the_gains_of_players_over_all_games(run: PublishedRun) -> None:
    found, last = 0, dict[str, float]()
    for period in PERIODS:
        shown = periods.period(run, LINKS, period.contest_id)
        before = dict(last)
        last |= {row["handle"]: row["rating"] for row in run.contest(period.contest_id)[1].rows.to_pylist()}
        moved = {name: last[name] - before[name] for name in period.handles.to_pylist() if name in before}
        ordered = sorted(moved, key=moved.__getitem__)
        for of, names in (("gains", ordered[::-1]), ("losses", ordered)):
            assert [one["handle"] for one in shown[of]] == names[: len(shown[of])]
            for one in shown[of]:
                assert (one["before"], one["rating"]) == pytest.approx((before[one["handle"]], last[one["handle"]]))
                found += 1
        assert shown["period"]["n_new"] == len(period.handles) - len(moved)
    assert found > 20


def test_period__is_searched_for_either_player(run: PublishedRun) -> None:
    key = PERIODS[1].contest_id
    rows = periods.period(run, LINKS, key)["rows"]["handle"]
    pairs = list(zip(rows[::2], rows[1::2], strict=True))
    one, other = pairs[5]
    for q in (one.upper(), f"{other} {one}"):
        shown = periods.period(run, LINKS, key, q=q)
        wanted = [pair for pair in pairs if all(any(word in name for name in pair) for word in q.lower().split())]
        assert pairs[5] in wanted
        assert list(zip(shown["rows"]["handle"][::2], shown["rows"]["handle"][1::2], strict=True)) == wanted
        assert (shown["n_found"], shown["gains"], shown["losses"]) == (len(wanted), [], [])


def test_games__are_the_same_on_all_pages() -> None:
    n = 2 * periods.PAGE_GAMES + 30
    rows = {
        "place": [1, 2] * n, "handle": [f"p{i % 97}" for i in range(2 * n)], "rating": [1500.0] * 2 * n,
        "change": [1.0, -1.0] * n,
    }  # fmt: skip
    about = {"contest_id": "week", "name": None, "url": None, "time_seconds": None}
    found = [periods.games(about, rows, page) for page in range(3)]
    assert [one["first"] for one in found] == [0, 200, 400]
    for name, values in rows.items():
        assert [value for one in found for value in one["rows"][name]] == values
    with pytest.raises(BeyondEndError):
        periods.games(about, rows, 3)


def test_compare__counts_the_games_against_each_other(run: PublishedRun) -> None:
    handles = [f"p{number}" for number in range(6)]
    found = run.compare(handles)
    common = [game for game in GAMES if {game.white, game.black} <= set(handles)]
    assert len(common) > 30
    assert [contest["contest_id"] for contest in found["contests"]] == [
        f"period-{game.time_seconds // DAY}" for game in common
    ]
    for pair, (one, other) in zip(found["pairs"], combinations(handles, 2), strict=True):
        scores = [game.score if game.white == one else 1 - game.score for game in common if {one, other} <= set(game)]
        counts = [scores.count(score) for score in (1.0, 0.0, 0.5)]
        assert [pair["wins"], pair["losses"], pair["draws"]] == counts


def test_joined__changes_are_those_of_the_ratings_and_of_all_games(run: PublishedRun) -> None:
    form = RatingFormat(run.titles, run.manifest.decimals)
    for handle in ("p0", "p5"):
        games = rounds.rounds_of(run, handle)
        rows = rounds.joined(games, form)
        assert sum(row["n_games"] for row in rows) == len(games) > len(rows)
        assert [one["opponent"] for row in rows for one in row["games"]] == [row["opponent"] for row in games]
        for i, row in enumerate(rows):
            expected = form.difference(rows[i - 1]["rating"], row["rating"]) if i else None
            assert row["change"] == expected
        page = players.player(run, LINKS, handle)
        assert [row["rating"] for row in page["rounds"]] == [row["rating"] for row in rows]


def test_record__has_the_best_win_and_as_many_wins_as_losses_of_all(run: PublishedRun) -> None:
    wins = defaultdict(list)
    for period in PERIODS:
        rows = run.contest(period.contest_id)[1].rows.to_pylist()
        for one, other in zip(rows[::2], rows[1::2], strict=True):
            if other["place"] == 2 and other["rating_before"] is not None:
                wins[one["handle"]].append((other["rating_before"], other["handle"], period.contest_id))
    totals = Counter[str]()
    for name in {name for game in GAMES for name in game[:2]}:
        found = rounds.record_of(rounds.rounds_of(run, name))
        assert found is not None
        totals.update({key: found[key] for key in ("wins", "draws", "losses")})
        assert tuple(found["best"][key] for key in ("rating", "opponent", "contest_id")) == max(wins[name])
    assert totals["wins"] == totals["losses"] == sum(game.score != 0.5 for game in GAMES)
    assert totals["draws"] == 2 * sum(game.score == 0.5 for game in GAMES)


# The server


@pytest.fixture
def client(run: PublishedRun, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    pytest.importorskip("starlette")
    from helpers.api import client_of

    monkeypatch.setattr(contests, "MOST_GAME_ROWS", 10)
    with client_of(run._lake) as client:
        yield client


def test_period__is_answered_in_pages(client: Any) -> None:
    name, total = PERIODS[0].contest_id, 2 * len(PERIODS[0])
    address = f"/api/v1/runs/run/contests/{name}"
    first = client.get(address).json()
    assert (len(first["rows"]), first["total"], first["start"], first["next"]) == (10, total, 0, 10)
    rest = client.get(address, params={"start": 10, "limit": 1000}).json()
    assert (len(rest["rows"]), rest["next"]) == (total - 10, None)
    assert client.get(address, params={"limit": 1001}).status_code == 400


def test_pages__of_a_period_and_a_player(client: Any) -> None:
    name, period = PERIODS[0].contest_id, PERIODS[0]
    page = client.get(f"/run/c/{name}").text
    assert f"{len(period)} games · {len(period.handles)} players · {len(period.handles)} for the first time" in page
    assert page.count('<a href="/run/p/') == 2 * len(period)
    assert re.search(r"<tr><td><a href=\"/run/p/p\d+\">p\d+</a><td>–<td>new<td>(1–0|½–½)<td><a", page)
    assert f'content="{name}, 1972-09-27: {len(period)} games of {len(period.handles)} players."' in page
    assert client.get(f"/run/c/{name}?page=1").status_code == 404
    text = client.get("/run/p/p1").text
    rows = re.findall(r'<tr><td>[-0-9]+<td><a href="/run/c/([^"]*)">[^<]*</a><td>(.*?)<td class', text)
    played: dict[str, list[tuple[str, str, str]]] = {}
    for game in (game for game in GAMES if "p1" in game[:2]):
        result = SHOWN[game.score if game.white == "p1" else 1 - game.score]
        (other,) = {*game[:2]} - {"p1"}
        played.setdefault(f"period-{game.time_seconds // DAY}", []).append((*result, other))
    one_game = re.compile(r'<span class="(.*?)">(.*?)</span> <a href="/run/p/(.*?)">')
    assert [(key, one_game.findall(games)) for key, games in rows] == [*played.items()][::-1]
    results = [game.score if game.white == "p1" else 1 - game.score for game in GAMES if "p1" in game[:2]]
    counts = " · ".join(f"{results.count(score)}" for score in (1.0, 0.5, 0.0))
    assert f"<dt>Won, drawn, lost</dt><dd>{counts} <small>" in text
    assert "p1" in client.get("/run/compare", params={"h": "p1,p2"}).text
