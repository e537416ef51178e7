"""Queries about a published run, compared with plain Python over all of its rounds."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from helpers.answers import leaderboard, leaderboard_at
from helpers.lakes import contest, ingest, lake_of, often, rate_run, synthetic
from helpers.tables import over_years

from ranklake.flows.answers import run as answers
from ranklake.flows.answers.distribution import distribution
from ranklake.flows.answers.handles import NoPlayerError
from ranklake.flows.answers.index_rows import IndexRows
from ranklake.flows.answers.leaderboard import BOTH_WAYS, BeyondEndError, kept_boards
from ranklake.flows.answers.run import PublishedRun, open_published
from ranklake.flows.publication.publish import publish
from ranklake.flows.publication.root import IndexFile, read_manifest
from ranklake.flows.results.components import with_large
from ranklake.flows.results.places import PlaceOptions
from ranklake.flows.results.ranks import active
from ranklake.storage import Dataset, Lake, MissingError, Run
from ranklake.storage.lake.limits import Limits

OFTEN = often(segment_rows=20)

CONTESTS = [*over_years(synthetic(40)), contest("últ", "player 1", ["Zoë", "player 2"], time_seconds=10**9)]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("published") / "lake", CONTESTS, limits=Limits(index_rows=64))
    with Dataset.ingest(lake, "games") as changing:
        changing.alias("old one", "player 1", None, "renamed")
    rate_run(lake, policy=OFTEN)
    publish(lake, "run")
    return lake


@pytest.fixture(scope="module")
def run(lake: Lake) -> PublishedRun:
    return open_published(lake, "run")


@pytest.fixture(scope="module")
def board(lake: Lake) -> list[dict[str, Any]]:
    return leaderboard(lake, "run").to_pylist()


@pytest.fixture(scope="module")
def rounds(lake: Lake) -> list[dict[str, Any]]:
    """All rated rows with handle and rating."""
    from ranklake.flows.publication.content import Content

    rows = Content(lake, "run").ratings(0)
    return [row for batch in rows for row in batch.to_pylist()]


def test_leaderboard__pages_make_the_whole(run: PublishedRun, board: list[dict[str, Any]]) -> None:
    rows: list[dict[str, Any]] = []
    start: int | None = 0
    while start is not None:
        page = run.leaderboard(start, 7)
        assert page.total == len(board)
        rows += page.rows.to_pylist()
        start = page.next
    assert rows == board
    with pytest.raises(BeyondEndError, match=f"the last page begins at {(len(board) - 1) // 7 * 7}"):
        run.leaderboard(len(board), 7)


def test_leaderboard__of_an_index_without_percentiles_and_components_has_percentiles(
    lake: Lake, board: list[dict[str, Any]]
) -> None:
    class EarlierRelease(IndexRows):
        def _table(self, file: IndexFile | None, *schema: pa.Schema) -> pa.Table:
            table = super()._table(file, *schema)
            return table.drop_columns(["percentile", "component"]) if "percentile" in table.column_names else table

    manifest = read_manifest(lake, "run")
    assert manifest is not None
    earlier = EarlierRelease(lake, "run", manifest)
    assert with_large(earlier.leaderboard_table).to_pylist() == board
    assert earlier.components is None


@pytest.mark.parametrize("order", BOTH_WAYS)
def test_leaderboard__order_and_filters(run: PublishedRun, board: list[dict[str, Any]], order: str) -> None:
    since = int(np.median([row["last_time_seconds"] for row in board]))
    page = run.leaderboard(0, 1000, order, active_since=since)
    expected = [row for row in board if row["last_time_seconds"] >= since]
    by_rating = [row["rating"] for row in expected]

    def value(row: dict[str, Any]) -> float:
        if order.removeprefix("-") != "change":
            known = float(row[order.removeprefix("-")])
        elif (known := run.history(row["handle"]).column("change")[-1].as_py()) is None:
            return np.inf
        return known if order.startswith("-") else -known

    assert page.rows.to_pylist() == (shown := sorted(expected, key=value))
    assert page.places == [by_rating.index(row["rating"]) + 1 for row in shown]
    assert run.leaderboard(0, 10, title="master").total == sum(row["title"] == "master" for row in board)


@pytest.mark.parametrize("share", [None, 0.4, 0.0])
def test_recent_ratings__and_changes_are_those_of_the_history(
    run: PublishedRun, board: list[dict[str, Any]], rounds: list[dict[str, Any]], share: float | None
) -> None:
    stop = None if share is None else round(share * run.manifest.n_rounds)
    found = run.last_changes(stop)
    assert len(run.parts) > 1
    for row in board:
        ratings = [one["rating"] for one in rounds if one["player"] == row["player"]
                   and (stop is None or one["round_index"] < stop)]  # fmt: skip
        for n in (1, 2, 20):
            assert run.recent_ratings(row["player"], n, stop) == ratings[-n:]
        change = found[row["player"]]
        assert np.isnan(change) if len(ratings) < 2 else change == ratings[-1] - ratings[-2]


def test_player__facts_and_percentile(
    run: PublishedRun, board: list[dict[str, Any]], rounds: list[dict[str, Any]]
) -> None:
    for row in board:
        player = run.player(row["handle"])
        assert {name: player[name] for name in row} == row
        lower = sum(other["rating"] < row["rating"] for other in board)
        assert player["percentile"] == pytest.approx(100 * lower / (len(board) - 1))
        of_player = [one["contest_id"] for one in rounds if one["handle"] == row["handle"]]
        assert (player["first_contest"]["contest_id"], player["last_contest"]["contest_id"]) == (
            of_player[0],
            of_player[-1],
        )


def test_player__old_names_and_unknown_names(run: PublishedRun) -> None:
    assert run.player("old one")["handle"] == "player 1"
    assert run.player("PLAYER 1")["handle"] == "player 1"
    with pytest.raises(NoPlayerError, match="no player 'Player-1'; did you mean 'player 1'"):
        run.player("Player-1")
    with pytest.raises(NoPlayerError) as error:
        run.player("player 1x")
    assert "player 1" in error.value.near


def test_history__changes_follow_the_ratings(
    run: PublishedRun, board: list[dict[str, Any]], rounds: list[dict[str, Any]]
) -> None:
    for handle in (row["handle"] for row in board):
        expected = [row for row in rounds if row["handle"] == handle]
        rows = run.history(handle).to_pylist()
        assert [row["contest_id"] for row in rows] == [row["contest_id"] for row in expected]
        ratings = [row["rating"] for row in expected]
        assert [row["rating"] for row in rows] == ratings
        assert [row["change"] for row in rows] == [None, *np.diff(ratings).tolist()]
    times = [row["time_seconds"] for row in run.history("player 1").to_pylist()]
    since = sorted(times)[len(times) // 2]
    assert run.history("player 1", since).num_rows == sum(time >= since for time in times)


def test_contest__standings_have_the_rating_before(run: PublishedRun, rounds: list[dict[str, Any]]) -> None:
    last: dict[str, float] = {}
    of_contest = defaultdict(list)
    for row in rounds:
        before = last.get(row["handle"])
        change = None if before is None else row["rating"] - before
        of_contest[row["contest_id"]].append((row["lo"] + 1, row["handle"], before, row["rating"], change))
        last[row["handle"]] = row["rating"]
    for one in CONTESTS:
        facts, page = run.contest(one.contest_id)
        names = ("place", "handle", "rating_before", "rating", "change")
        assert [tuple(row[name] for name in names) for row in page.rows.to_pylist()] == of_contest[one.contest_id]
        assert (facts["contest_id"], page.total, page.next) == (one.contest_id, page.rows.num_rows, None)
        start = 2 if page.total > 2 else 0
        part = run.contest(one.contest_id, start, 3)[1]
        assert part.rows.equals(page.rows.slice(start, 3))
        assert part.next == (start + 3 if page.total > start + 3 else None)
    with pytest.raises(KeyError):
        run.contest("none")


@pytest.mark.parametrize("places", [PlaceOptions(), PlaceOptions(min_rounds=4, max_sigma=200.0)])
def test_contest__places_around_it_are_those_of_the_leaderboards(
    lake: Lake, rounds: list[dict[str, Any]], places: PlaceOptions
) -> None:
    run = PublishedRun(lake, "run", msgspec.structs.replace(read_manifest(lake, "run"), places=places.to_json()))
    assert run.places == places
    assert len(run.parts) > 2
    states: dict[str, dict[str, Any]] = {}
    moved = unranked = 0
    for index, key in enumerate(run.contests_table.column("contest_id").to_pylist()):
        before = dict(states)
        states |= {row["handle"]: row for row in rounds if row["round_index"] == index}
        for row in run.contest(key)[1].rows.to_pylist():
            found = [row["leaderboard_place_before"], row["leaderboard_place"]]
            assert found == [_place(row["handle"], state, places) for state in (before, states)]
            unranked += None in found
            moved += None not in found and found[0] != found[1]
    assert moved > 30
    assert unranked > 20
    last = {row["handle"]: row["place"] for row in run.leaderboard(0, 1000).rows.to_pylist()}
    if places == PlaceOptions():
        assert all(last[row["handle"]] == row["leaderboard_place"] for row in run.contest("últ")[1].rows.to_pylist())


def _place(handle: str, states: dict[str, dict[str, Any]], places: PlaceOptions) -> int | None:
    ranked = {
        one: row["rating"]
        for one, row in states.items()
        if row["n_before"] + 1 >= places.min_rounds and row["sigma"] <= places.max_sigma
    }
    return 1 + sum(rating > ranked[handle] for rating in ranked.values()) if handle in ranked else None


def test_contests__are_found_by_name_and_time(run: PublishedRun) -> None:
    page = run.contests(0, 10)
    assert page.total == len(CONTESTS)
    assert page.rows.column("contest_id").to_pylist() == [one.contest_id for one in CONTESTS[:-11:-1]]
    assert run.contests(q="ULT").rows.column("contest_id").to_pylist() == ["últ"]
    since, until = CONTESTS[5].time_seconds, CONTESTS[9].time_seconds
    assert run.contests(since=since, until=until).total == 4


def test_compare__scores_are_those_of_the_common_rounds(run: PublishedRun) -> None:
    result = run.compare(["player 1", "player 2", "old one"])
    (pair,) = result["pairs"]
    wins = losses = draws = 0
    for one in CONTESTS:
        handles = one.handles.to_pylist()
        if {"player 1", "player 2"} <= set(handles) and run.contest(one.contest_id)[1].total:
            a, b = (one.lo[handles.index(name)] for name in ("player 1", "player 2"))
            wins, losses, draws = wins + (a < b), losses + (a > b), draws + (a == b)
    assert (pair["wins"], pair["losses"], pair["draws"]) == (wins, losses, draws)
    assert wins + losses + draws == len(result["contests"]) > 0


def test_distribution__bins_hold_everybody(run: PublishedRun, board: list[dict[str, Any]]) -> None:
    ratings = np.array([row["rating"] for row in board])
    result = run.distribution(width=50, handle="player 1")
    for one in result["bins"]:
        assert one["count"] == np.sum((ratings >= one["low"]) & (ratings < one["high"]))
    assert sum(one["count"] for one in result["bins"]) == len(board)
    assert result["quantiles"]["0.5"] == pytest.approx(np.median(ratings))
    bins = distribution(ratings)
    assert [one["count"] for one in run.distribution()["bins"]] == bins.counts
    assert run.count(low=1200.0) + run.count(high=1200.0) == run.count() == len(board)


@pytest.mark.parametrize("n", [2, 17])
def test_leaderboard__of_a_time_has_all_filters(run: PublishedRun, lake: Lake, n: int) -> None:
    at = CONTESTS[n].time_seconds - 1
    expected = leaderboard_at(lake, "run", at)
    assert run.leaderboard(0, 1000, at=at).rows.equals(expected)
    title = expected.column("title")[0].as_py()
    assert run.leaderboard(0, 1, "mu", title=title, at=at).total == expected.column("title").to_pylist().count(title)
    recent = run.leaderboard(0, 1000, at=at, active=700 * 86_400).rows.column("handle").to_pylist()
    assert recent == active(expected, 700 * 86_400, at).column("handle").to_pylist()
    found = run.distribution(width=50, handle="player 1", at=at)
    known = dict(zip(*(expected.column(name).to_pylist() for name in ("handle", "rating")), strict=True))
    assert found["n_players"] == expected.num_rows
    assert found["player"]["rating"] == known.get("player 1")
    with pytest.raises(ValueError, match="at must be"):
        run.leaderboard(at=10**17)


def test_leaderboard__before_the_first_contest_is_empty(run: PublishedRun, board: list[dict[str, Any]]) -> None:
    assert run.leaderboard(at=-(10**12)).total == run.distribution(at=-(10**12))["n_players"] == 0
    assert run.leaderboard(0, 1000, at=board_time(board)).rows.to_pylist() == board


def board_time(board: list[dict[str, Any]]) -> int:
    return max(row["last_time_seconds"] for row in board)


def test_search__equal_then_beginnings_then_parts_and_best_first(
    run: PublishedRun, board: list[dict[str, Any]]
) -> None:
    found = run.search("Player 1", 100).column("handle").to_pylist()
    names = [row["handle"] for row in board]
    begun = ["player 1", *(name for name in names if name.startswith("player 1") and name != "player 1")]
    assert found[: len(begun)] == begun
    assert run.search("YER 2", 3).column("handle").to_pylist() == [name for name in names if "yer 2" in name][:3]
    assert run.search("zoe").column("handle").to_pylist() == ["Zoë"]
    assert run.search("").num_rows == run.search("zzz").num_rows == 0


def test_facts__name_the_state(run: PublishedRun, lake: Lake) -> None:
    facts = run.facts
    assert facts["n_rounds"] == Run.open(lake, "run").segments().stop_round == len(CONTESTS)
    assert (facts["version"], facts["system"], facts["last_time_seconds"]) == (run.manifest.etag, "elo-mmr", 10**9)


def test_open__a_run_that_is_not_published_names_the_command(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", CONTESTS[:3])
    ingest(lake, CONTESTS[:3])
    with pytest.raises(MissingError, match="`ranklake publish --run run` publishes it"):
        open_published(lake, "run")


def test_leaderboards__of_earlier_times_are_kept_within_a_budget(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make, times = answers.leaderboard, [contest.time_seconds for contest in CONTESTS[1:4]]
    size = open_published(lake, "run")._leaderboard_at(times[-1]).nbytes + 2 * 4096

    def counted(rows: IndexRows, at: int) -> pa.Table:
        made.append(at)
        return make(rows, at)

    monkeypatch.setattr(answers, "leaderboard", counted)
    monkeypatch.setattr("ranklake.flows.answers.leaderboard.MOST_KEPT", 3 * size)
    kept = kept_boards()
    one, other = (open_published(lake, "run", kept) for _ in range(2))  # one budget for all runs
    for run in (one, one, other, other):
        run.leaderboard(0, 1, at=times[0])
    assert made == [times[0]] * 2
    for at in range(times[1], times[1] + 20):
        one.leaderboard(0, 1, at=at)
        assert kept.n_bytes <= 3 * size
    other.leaderboard(0, 1, at=times[0])
    assert made == [times[0]] * 2 + [*range(times[1], times[1] + 20), times[0]]


def test_leaderboard__rows_of_filters_are_kept_within_the_budget(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ranklake.flows.answers.leaderboard.MOST_KEPT", 50_000)
    kept = kept_boards()
    run = open_published(lake, "run", kept)
    expected = run.leaderboard(0, 10, "mu").rows
    for since in range(1, 30):
        run.leaderboard(0, 1, active_since=since)
        assert kept.n_bytes <= 50_000
    assert run.leaderboard(0, 10, "mu").rows == expected
