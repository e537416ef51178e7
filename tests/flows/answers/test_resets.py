"""Changes of ratings after a reset are those by the round alone; the witness is a walk over all rows."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import Command
from helpers.games import as_periods, ingest_periods, league
from helpers.lakes import lake_of, rate_run, synthetic

from ranklake import Ratings
from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.answers.run import PublishedRun, open_published
from ranklake.flows.events.start import season_event
from ranklake.flows.publication.publish import publish
from ranklake.storage import Dataset, Lake
from ranklake.storage.lake.limits import Limits


def published(lake: Lake, dataset: str, rounds: tuple[int, ...], system: str) -> PublishedRun:
    """A run with hard resets before some rounds."""
    ends = Dataset.open(lake, dataset).contests.column("time_seconds").to_pylist()
    with Dataset.ingest(lake, dataset) as body:
        for number, index in enumerate(rounds):
            body.start_season(season_event(f"s{number}", ends[index - 1] + 1, keep=0.25, widen=10.0))
    rate_run(lake, dataset=dataset, system=system)
    publish(lake, "run")
    return open_published(lake, "run")


@pytest.fixture(params=["contests", "games"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> PublishedRun:
    if request.param == "contests":
        contests = synthetic(12, n_players=14, size=8, spice=False)
        lake_of(tmp_path / "lake", contests)
        lake = Lake.open(str(tmp_path / "lake"), limits=Limits(index_rows=25))  # several parts
        return published(lake, "games", (4, 8, 9), "elo-mmr")
    lake = Lake.open(str(tmp_path / "lake"), create=True, limits=Limits(index_rows=40))
    ingest_periods(lake, as_periods(league(60, n_players=6)))
    return published(lake, "league", (1, 2), "glicko")


def counted(run: PublishedRun, resets: list[int]) -> dict[str, list[tuple[int, float, float | None]]]:
    """Round, rating and change of all rows of each player."""
    found: dict[str, list[tuple[int, float, float | None]]] = {}
    rows = Ratings.open(run._lake.url, "run").history
    for row in rows.to_dict("records"):
        earlier = found.setdefault(row["player"], [])
        rating = row["rating"]
        if not earlier:
            change = None
        elif any(earlier[-1][0] < index <= row["round_index"] for index in resets):
            change = rating - float(run.display.of_belief(row["mu_prior"], row["sigma_prior"]))
        else:
            change = rating - earlier[-1][1]
        earlier.append((row["round_index"], rating, change))
    return found


def equal(one: Any, other: Any) -> bool:
    return one is other if one is None or other is None else one == pytest.approx(other, abs=1e-9)


def test_changes__leave_resets_out_everywhere(run: PublishedRun, invoke: Command) -> None:
    resets = run.reset_rounds.tolist()
    expected = counted(run, resets)
    jumps = 0
    last = run.last_changes()
    table = dict(zip(*(run.leaderboard_table.column(name).to_pylist() for name in ("handle", "player")), strict=True))
    for handle, rows in expected.items():
        history = run.history(handle).column("change").to_pylist()
        assert all(map(equal, history, [change for _, _, change in rows])), handle
        jumps += sum(any(one[0] < index <= two[0] for index in resets) for one, two in pairwise(rows))
        first = [change for index, _, change in rows if index == rows[-1][0]]
        by_round = None if first[0] is None else sum(change or 0.0 for change in first)
        assert equal(run.player(handle)["change"], by_round)
        assert np.isnan(last[table[handle]]) if by_round is None else equal(float(last[table[handle]]), by_round)
    assert jumps > 5
    for contest_id, index in zip(run.contests_table.column("contest_id").to_pylist(), range(100), strict=False):
        for row in run.contest(contest_id)[1].rows.to_pylist():
            changes = [change for at, _, change in expected[row["handle"]] if at == index]
            assert any(equal(row["change"], change) for change in changes), (contest_id, row["handle"])
    handle = max(expected, key=lambda name: len(expected[name]))
    rated = RatedRun(run._lake, "run")
    assert rated.player(handle).rows.column("change").to_pylist() == run.history(handle).column("change").to_pylist()
    rows = json.loads(invoke("player", handle, "--run", "run", "--lake", run._lake.url, "--format", "json").out)
    assert all(equal(row["change"], change) for row, (_, _, change) in zip(rows, expected[handle], strict=True))


def test_peak__is_a_rating_after_a_round(run: PublishedRun) -> None:
    for handle, rows in counted(run, []).items():
        assert run.player(handle)["peak"]["rating"] == max(rating for _, rating, _ in rows)
        assert run.player(handle)["max_rating"] == max(rating for _, rating, _ in rows)
