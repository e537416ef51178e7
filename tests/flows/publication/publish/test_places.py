"""Places in published tables: one rule a publish, other options write the leaderboard alone, earlier releases go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from helpers.commands import Command
from helpers.database_tables import assert_stored
from helpers.databases import Judge, sqlite_judge
from helpers.lakes import ingest, rate_run, same_tables
from helpers.publishing import CONTESTS, go_on
from helpers.tables import assert_published, read, versions

from ranklake.flows.answers.run import open_published
from ranklake.flows.publication import content, database_tables
from ranklake.flows.publication.content import Content, published_board
from ranklake.flows.publication.database import publish_to_database
from ranklake.flows.publication.publish import publish
from ranklake.flows.publication.root import read_published
from ranklake.flows.publication.states import VersionedContent
from ranklake.flows.publication.verification import verify_published
from ranklake.flows.results.places import PlaceOptions
from ranklake.flows.results.ranks import ranked
from ranklake.storage import Lake
from ranklake.storage.lake.schemas import LEADERBOARD, PUBLISHED

CHOSEN = {"interval": 0.5, "rule": "own", "min_rounds": 7}


def board(lake: Lake, places: dict[str, Any]) -> pa.Table:
    """The leaderboard with the places of some options, best first."""
    made = Content(lake, "run", places=places)
    return published_board(ranked(made.leaderboard(), PlaceOptions(**places), 1.0))


def best_first(table: pa.Table) -> pa.Table:
    return table.sort_by([("rating", "descending"), ("handle", "ascending")])


@pytest.mark.slow
def test_publish__other_places_are_a_new_leaderboard_and_nothing_else(published: Lake) -> None:
    before = versions(published)
    report = publish(published, "run", places=CHOSEN)
    assert (report.tables, report.kept, report.added) == (("leaderboard", "latest.parquet"), 30, 0)
    assert versions(published) == before | {"leaderboard": before["leaderboard"] + 1}
    expected = board(published, CHOSEN)
    assert same_tables(best_first(read(published, "leaderboard")), expected)
    run = open_published(published, "run")
    assert same_tables(run.leaderboard_table, expected)
    assert run.places == PlaceOptions(**CHOSEN)
    assert 0 < run.facts["n_provisional"] < expected.num_rows
    assert publish(published, "run", places=CHOSEN).tables == ()
    notes: list[str] = []
    assert list(verify_published(published, "run", notes)) == notes == []
    ingest(published, CONTESTS[:31])
    rate_run(published)
    assert list(verify_published(published, "run", notes)) == []
    (note,) = notes
    assert "publish --run run --interval 0.5 --places own --min-rounds 7" in note
    assert publish(published, "run", places=CHOSEN).kept == 30
    assert same_tables(best_first(read(published, "leaderboard")), board(published, CHOSEN))


@contextmanager
def earlier_release() -> Iterator[None]:
    """A publish knows no columns of places and no components."""
    base = pa.schema([field.with_nullable(True) for field in LEADERBOARD if field.name != "component"])
    state, facts = VersionedContent.state, Content.facts
    with pytest.MonkeyPatch.context() as patch:
        for schemas in (PUBLISHED, database_tables._SCHEMAS):
            patch.setitem(schemas, "leaderboard", base)
        patch.setattr(content, "published_board", lambda board: board.select(base.names).cast(base))
        patch.setattr(VersionedContent, "state", lambda *given: _without(state(*given), "places"))
        patch.setattr(Content, "facts", lambda self: facts(self) | {"places": {}, "uncertainty": None})
        patch.setattr(VersionedContent, "is_current", lambda self, name, known, titles=True: known == self.state(name))
        yield


def _without(facts: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if key != name}


@pytest.mark.slow
def test_publish__of_an_earlier_release_is_read_and_continued(lake: Lake) -> None:
    with earlier_release():
        publish(lake, "run")
    assert "tier" not in read(lake, "leaderboard").column_names
    run, expected = open_published(lake, "run"), board(lake, {}).drop_columns(["component"])
    assert same_tables(run.leaderboard_table.drop_columns(["component"]), expected)
    assert run.player("player 1")["tier"] >= 1
    assert run.facts["n_provisional"] == 0
    before = versions(lake)
    report = go_on(lake, CONTESTS[:32])
    assert (report.kept, report.tables[-1]) == (30, "latest.parquet")
    assert versions(lake) == {name: version + (name != "players") for name, version in before.items()}
    assert_published(lake)
    root = read_published(lake, "run")
    assert root is not None
    assert (root.places, root.uncertainty) == ({}, 1.0)


@pytest.mark.slow
def test_publish__into_a_database_of_an_earlier_release_goes_on(lake: Lake, tmp_path: Any) -> None:
    judge: Judge = sqlite_judge(tmp_path)
    with earlier_release():
        publish_to_database(lake, "run", judge.url)
    report = publish_to_database(lake, "run", judge.url)
    assert (report.kept, report.added, report.tables) == (30, 0, ("leaderboard",))
    assert_stored(judge, lake)
    assert publish_to_database(lake, "run", judge.url).tables == ()


def test_publish__takes_the_options_of_places(published: Lake, invoke: Command) -> None:
    command = ("publish", "--run", "run", "--lake", published.url)
    assert invoke(*command, "--interval", 0.5, "--places", "own", "--min-rounds", 7).code == 0
    root = read_published(published, "run")
    assert root is not None
    assert root.places == CHOSEN
    said = invoke.refuses(*command, "--interval", 95, code=2)
    assert "--interval must be > 0 and < 1, got 95" in said
    assert read_published(published, "run") == root
    rate_run(published, run="elo", system="elo")
    said = invoke.refuses("publish", "--run", "elo", "--lake", published.url, "--interval", 0.9, code=2)
    assert "--interval needs the uncertainty of skills, which elo has not" in said
    assert read_published(published, "elo") is None
