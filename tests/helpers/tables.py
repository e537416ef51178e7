"""Published tables read back, and held against the run they were made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from helpers.answers import stored_board
from helpers.lakes import same_tables

from ranklake.flows.answers.run import open_published
from ranklake.flows.publication.content import published_board
from ranklake.flows.publication.root import read_published
from ranklake.flows.results.display import Display
from ranklake.storage import Contest, Dataset, Lake, Run

TABLES = ("players", "contests", "ratings", "leaderboard")
ORDER = {  # no order is promised; this one has no ties
    "players": ["player"],
    "contests": ["round_index"],
    "ratings": ["round_index", "player"],
    "leaderboard": ["place", "handle"],
    "attributes": ["attribute", "player"],
    "groups": ["attribute", "place", "value"],
    "problems": ["problem"],
    "results": ["round_index", "player", "problem"],
    "strengths": ["place", "handle"],
    "coefficients": ["name"],
    "pairs": ["a", "b"],
}
MONTH = 30 * 86_400


def over_years(contests: Sequence[Contest]) -> list[Contest]:
    """The same contests, one a month."""
    return [replace(one, time_seconds=i * MONTH) for i, one in enumerate(contests)]


def folder(lake: Lake, name: str = "", run: str = "run") -> Path:
    return Path(lake.uri(f"published/{run}"), name)


def delta(lake: Lake, name: str, version: int | None = None, run: str = "run") -> DeltaTable:
    return DeltaTable(folder(lake, name, run), version=version)


def versions(lake: Lake, run: str = "run") -> dict[str, int]:
    """The newest version of each table."""
    return {name: delta(lake, name, run=run).version() for name in TABLES}


def read(lake: Lake, name: str, version: int | None = None, run: str = "run") -> pa.Table:
    """A table in order."""
    table = delta(lake, name, version, run).to_pyarrow_table()
    return table.sort_by([(column, "ascending") for column in ORDER[name]])


def contents(lake: Lake, run: str = "run") -> dict[str, pa.Table]:
    """All that consumers of a run read; tables that are not there left out."""
    found = {
        name: read(lake, name, run=run) for name in TABLES if DeltaTable.is_deltatable(str(folder(lake, name, run)))
    }
    latest = folder(lake, "latest.parquet", run)
    return found | ({"latest": pq.read_table(latest)} if latest.exists() else {})


def rooted(lake: Lake, run: str = "run") -> dict[str, pa.Table]:
    """All that readers see who begin at the root, with the leaderboards of the index and in Parquet; empty without."""
    root = read_published(lake, run)
    if root is None or root.plain is None:
        return {}
    found = {name: read(lake, name, version, run) for name, version in root.tables.items()}
    found["latest"] = pq.read_table(folder(lake, root.plain.name, run))
    return found | ({"index": open_published(lake, run).leaderboard_table} if root.indexed else {})


def same_content(one: dict[str, pa.Table], other: dict[str, pa.Table]) -> bool:
    return one.keys() == other.keys() and all(same_tables(one[name], other[name]) for name in one)


def expected_ratings(lake: Lake, run: str = "run", deviations: float | None = None) -> pa.Table:
    """What the ratings of a run should be, made one value at a time."""
    opened = Run.open(lake, run)
    dataset, display = Dataset.open(lake, opened.config["dataset"]), Display.of(opened, deviations)
    handles = dataset.handles().to_pylist()
    times = dict(
        zip(*(dataset.contests.column(name).to_pylist() for name in ("contest_id", "time_seconds")), strict=True)
    )
    ids, team, points = dataset.contests.column("contest_id").to_pylist(), {}, {}
    for place, contest_id in enumerate(ids):
        for part in dataset.standings(place, place + 1):
            names = [None] * len(part.player) if part.teams is None else part.teams.name.to_pylist()
            team |= {(contest_id, player): name for player, name in zip(part.player.tolist(), names, strict=True)}
            if part.points is not None:
                known = zip(part.player.tolist(), part.points.tolist(), strict=True)
                points |= {(contest_id, player): value for player, value in known if value == value}
    rows: list[dict[str, Any]] = []
    for row in opened.read_rounds(verify=True).to_pylist():
        belief = np.float64(row["mu"]), np.float64(row["sigma"])
        rating = display.rating(*belief, np.int32(row["n_before"] + 1), row["round_index"])
        time = times.get(row["contest_id"])
        year = None if time is None else datetime.fromtimestamp(time, UTC).year
        facts = {"handle": handles[row["player"]], "rating": rating, "time_seconds": time, "year": year, "rated": True}
        key = row["contest_id"], row["player"]
        rows.append(row | facts | {"team": team.get(key), "points": points.get(key)})
    schema = delta(lake, "ratings", run=run).to_pyarrow_table().schema
    return pa.Table.from_pylist(rows, schema=schema).sort_by([(name, "ascending") for name in ORDER["ratings"]])


def assert_published(lake: Lake, run: str = "run", deviations: float | None = None) -> None:
    """What is published is the run as it stands, to the bit."""
    opened = Run.open(lake, run)
    dataset, segments = Dataset.open(lake, opened.config["dataset"]), opened.segments().segments
    assert same_tables(read(lake, "ratings", run=run), expected_ratings(lake, run, deviations))
    board = published_board(stored_board(lake, run, deviations))
    by_place = board.sort_by([(name, "ascending") for name in ORDER["leaderboard"]])  # places may be within components
    assert same_tables(read(lake, "leaderboard", run=run), by_place)
    assert same_tables(pq.read_table(folder(lake, "latest.parquet", run)), board)
    assert same_content(
        {name: table for name, table in rooted(lake, run).items() if name != "index"}, contents(lake, run)
    )
    players = read(lake, "players", run=run)
    assert players.column("handle").to_pylist() == dataset.handles().to_pylist()
    assert players.column("player").to_pylist() == list(range(dataset.n_players))
    rounds = read(lake, "contests", run=run)
    assert rounds.column("contest_id").to_pylist() == [one for segment in segments for one in segment.contest_ids]
    assert rounds.column("round_index").to_pylist() == list(range(rounds.num_rows))
    passed_over = [row["round_index"] for row in rounds.to_pylist() if row["skipped"]]
    assert passed_over == [index for segment in segments for index in segment.skipped]
