"""Published tables in a database, and those of the run they were made of."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import pyarrow as pa
from helpers.databases import Judge
from helpers.lakes import ingest, rate_run

from ranklake.flows.databases.connection import connect
from ranklake.flows.publication.content import Content
from ranklake.flows.publication.database import publish_to_database
from ranklake.flows.publication.database_tables import DatabaseTables
from ranklake.storage import Contest, Lake
from ranklake.storage.lake.schemas import PUBLISHED

KEYS = {
    "players": ["player"],
    "contests": ["round_index"],
    "ratings": ["round_index", "player"],
    "leaderboard": ["player"],
}


def stored(judge: Judge, prefix: str = "", schema: str | None = None) -> dict[str, pa.Table]:
    """The published tables of a database, in order of their keys."""
    with closing(connect(judge.url, read_only=True)) as connection:
        tables = DatabaseTables(connection, schema, prefix)
        return {
            name: tables.rows(name).sort_by([(key, "ascending") for key in keys]).combine_chunks()
            for name, keys in KEYS.items()
        }


def expected(lake: Lake) -> dict[str, pa.Table]:
    """The tables of the run ``run``, in order of their keys."""
    content = Content(lake, "run")
    ratings = pa.Table.from_batches(content.ratings(0), PUBLISHED["ratings"])
    made = {
        "players": content.players,
        "contests": content.contests,
        "ratings": ratings,
        "leaderboard": content.leaderboard(),
    }
    return {
        name: made[name].sort_by([(key, "ascending") for key in keys]).combine_chunks() for name, keys in KEYS.items()
    }


def assert_state(judge: Judge, state: dict[str, pa.Table]) -> None:
    """The tables of a database are those of a state."""
    found = stored(judge)
    for name in KEYS:
        assert found[name].equals(state[name]), name


def assert_stored(judge: Judge, lake: Lake) -> None:
    """The tables of a database are those of the run ``run``."""
    assert_state(judge, expected(lake))


def is_state(judge: Judge, *states: dict[str, pa.Table]) -> bool:
    """Whether the tables of a database are all of one state; that of a commit whose answer is lost is unknown."""
    found = stored(judge)
    return any(all(found[name].equals(state[name]) for name in KEYS) for state in states)


def publish_before(lake: Lake, judge: Judge, contests: Sequence[Contest]) -> dict[str, pa.Table]:
    """Publish the run ``run``, then replace its contests and rate them by elo; returns what is published."""
    publish_to_database(lake, "run", judge.url)
    state = stored(judge)
    ingest(lake, contests)
    rate_run(lake, system="elo")
    return state
