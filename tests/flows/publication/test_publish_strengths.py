"""The published tables of a run that explains all games at once."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from helpers.databases import Judge
from helpers.games import as_periods, ingest_periods, league, with_covariates
from helpers.lakes import rate_run

from ranklake.flows.databases.connection import connect
from ranklake.flows.publication.database import publish_to_database
from ranklake.flows.publication.database_tables import DatabaseTables
from ranklake.flows.publication.export import export_rows
from ranklake.flows.publication.publish import publish
from ranklake.flows.publication.root import read_manifest
from ranklake.flows.results.rated_rounds import RatedRounds
from ranklake.flows.site.publish import publish_site
from ranklake.flows.strengths.strengths import RunStrengths
from ranklake.storage import Lake
from ranklake.storage.lake.schemas import OF_STRENGTHS

GAMES = with_covariates(league(200, n_players=6, days=8))
rate_votes = partial(rate_run, system="bt", dataset="league", covariates=("length",))


@pytest.fixture
def votes(lake: Lake) -> Lake:
    """A rated lake with a part of the votes."""
    ingest_periods(lake, as_periods(GAMES[:150]))
    rate_votes(lake)
    return lake


def read(lake: Lake, name: str) -> pa.Table:
    return DeltaTable(str(Path(lake.uri(f"published/run/{name}")))).to_pyarrow_table()


def expected(lake: Lake) -> dict[str, pa.Table]:
    strengths = RunStrengths(RatedRounds(lake, "run"))
    return {"strengths": strengths.table(), "coefficients": strengths.coefficients(), "pairs": strengths.pairs()}


def test_publish__writes_the_strengths_and_only_what_has_changed(votes: Lake) -> None:
    assert set(OF_STRENGTHS) <= set(publish(votes, "run").tables)
    for name, table in expected(votes).items():
        assert read(votes, name).to_pylist() == table.to_pylist()
    assert publish(votes, "run").tables == ()
    ingest_periods(votes, as_periods(GAMES))
    rate_votes(votes)
    assert set(OF_STRENGTHS) <= set(publish(votes, "run").tables)
    for name, table in expected(votes).items():
        assert read(votes, name).to_pylist() == table.to_pylist()


def test_pages__draw_no_curve_of_a_strength(votes: Lake, tmp_path: Path) -> None:
    rate_run(votes, run="elo", system="elo", dataset="league")
    for run in ("run", "elo"):
        publish(votes, run)
        publish_site(votes, run, str(tmp_path / run))
        text = (tmp_path / run / "player.html").read_text("utf-8")
        assert ("there is no curve of a skill" in text) == ('class="undrawn"' in text) == (run == "run")
        assert read_manifest(votes, run).static == (run == "run")  # type: ignore[union-attr]


def test_export__has_the_same_rows(votes: Lake) -> None:
    for name, table in expected(votes).items():
        rows = pa.Table.from_batches(export_rows(votes, "run", name))
        assert rows.to_pylist() == table.to_pylist()
    rate_run(votes, run="elo", system="elo", dataset="league")
    with pytest.raises(ValueError, match="run elo is rated by elo, game after game"):
        export_rows(votes, "elo", "strengths")


def test_database__has_the_same_rows(votes: Lake, database: Judge) -> None:
    """Also the ratings: of games, a player has several rows in a round."""
    publish(votes, "run")
    publish_to_database(votes, "run", database.url)
    for name in ("ratings", *OF_STRENGTHS):
        with closing(connect(database.url, read_only=True)) as connection:
            found = DatabaseTables(connection).rows(name).to_pylist()
        assert sorted(map(str, found)) == sorted(map(str, read(votes, name).to_pylist()))
    assert len(found) == 15
    assert publish_to_database(votes, "run", database.url).tables == ()
    ingest_periods(votes, as_periods(GAMES))
    rate_votes(votes)
    assert set(publish_to_database(votes, "run", database.url).tables) >= {"ratings", *OF_STRENGTHS}
