"""Smoothed skills in the published ratings: those of the current smoothing or none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from helpers.commands import Command
from helpers.lakes import ingest, lake_of, often, rate_run, same_tables, synthetic
from helpers.tables import assert_published, delta, folder, over_years, read, versions

from ranklake.flows.engines.serial import Serial
from ranklake.flows.maintenance.verify import Verifier
from ranklake.flows.publication.export import export_rows
from ranklake.flows.publication.publish import publish
from ranklake.flows.smoothing.smooth import smooth_run
from ranklake.storage import Lake

OFTEN = often(segment_rows=20)

SKILLS = ["smooth_mu", "smooth_sigma", "cavity_mu", "cavity_sigma"]
CONTESTS = over_years(synthetic(24))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake with a run of twenty contests in several segments."""
    lake = lake_of(tmp_path / "lake", CONTESTS[:20])
    rate_run(lake, policy=OFTEN)
    return lake


def stored(lake: Lake) -> pa.Table:
    """The file of the smoothing, read without this package."""
    [file] = Path(lake.uri("runs/run/smoothing")).glob("smoothed-*.parquet")
    return pq.read_table(file).sort_by([("round_index", "ascending"), ("player", "ascending")])


def has_skills(table: pa.Table) -> bool:
    """Whether all rows have them; fails if only some have."""
    counts = {table.column(name).null_count for name in SKILLS}
    assert counts in ({0}, {table.num_rows})
    return counts == {0}


def test_publish__has_the_smoothed_skills_to_the_bit_or_null_columns(lake: Lake) -> None:
    assert "smoothing" not in publish(lake, "run").line()
    assert not has_skills(read(lake, "ratings"))
    assert_published(lake)
    smooth_run(lake, "run", Serial())
    report = publish(lake, "run")
    assert "smoothing" not in report.line()
    rows, expected = read(lake, "ratings"), stored(lake)
    assert rows.schema.names[-7:-3] == SKILLS
    for name in ("round_index", "player", "lo", *SKILLS):
        assert rows.column(name).to_numpy().tobytes() == expected.column(name).to_numpy().tobytes()
    assert publish(lake, "run").tables == ()
    assert list(Verifier(lake).everything()) == []
    exported = pa.Table.from_batches(export_rows(lake, "run", "ratings"))
    order = [("round_index", "ascending"), ("player", "ascending")]
    for name in SKILLS:
        assert exported.sort_by(order).column(name).equals(expected.column(name))


@pytest.mark.slow
def test_publish__a_new_smoothing_replaces_the_ratings_alone(lake: Lake) -> None:
    publish(lake, "run")
    before = versions(lake)
    smooth_run(lake, "run", Serial())
    assert publish(lake, "run").tables == ("ratings",)
    first = read(lake, "ratings")
    assert has_skills(first)
    smooth_run(lake, "run", Serial(), {"beta": "300"})
    verifier = Verifier(lake)
    assert list(verifier.everything()) == []
    assert any("has an earlier state of the run" in note for note in verifier.notes)
    report = publish(lake, "run")
    assert (report.tables, report.kept) == (("ratings",), 0)
    rows = read(lake, "ratings")
    assert not np.array_equal(rows.column("smooth_mu").to_numpy(), first.column("smooth_mu").to_numpy())
    assert same_tables(rows.drop_columns(SKILLS), first.drop_columns(SKILLS))
    assert versions(lake) == before | {"ratings": before["ratings"] + 2}


@pytest.mark.slow
def test_publish__a_smoothing_of_earlier_rounds_is_not_published_and_the_report_says_so(lake: Lake) -> None:
    smooth_run(lake, "run", Serial())
    publish(lake, "run")
    ingest(lake, CONTESTS)
    rate_run(lake, policy=OFTEN)
    report = publish(lake, "run")
    assert (
        "its smoothing is of earlier rounds and not published, `ranklake smooth --run run` renews it" in report.line()
    )
    assert not has_skills(read(lake, "ratings"))
    assert_published(lake)
    assert report.line().count("smoothing") == publish(lake, "run").line().count("smoothing") == 1
    smooth_run(lake, "run", Serial())
    assert "smoothing" not in publish(lake, "run").line()
    assert has_skills(read(lake, "ratings"))


@pytest.mark.slow
def test_publish__rounds_after_a_publish_without_smoothing_are_appended(lake: Lake) -> None:
    publish(lake, "run")
    ingest(lake, CONTESTS)
    rate_run(lake, policy=OFTEN)
    assert publish(lake, "run").kept == 20
    assert_published(lake)


@pytest.mark.slow
def test_publish__tables_of_an_earlier_release_get_the_columns_with_new_rounds(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier_release(monkeypatch)
    publish(lake, "run")
    assert not set(SKILLS) & set(read(lake, "ratings").column_names)
    monkeypatch.undo()
    assert publish(lake, "run").tables == ()
    ingest(lake, CONTESTS)
    rate_run(lake, policy=OFTEN)
    assert publish(lake, "run").kept == 20
    assert not has_skills(read(lake, "ratings"))
    assert_published(lake)
    smooth_run(lake, "run", Serial())
    publish(lake, "run")
    assert has_skills(read(lake, "ratings"))
    assert not set(SKILLS) & set(read(lake, "ratings", 1).column_names)


def earlier_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ratings without the columns, and no smoothing in the state of the table."""
    from ranklake.flows.publication.states import VersionedContent
    from ranklake.storage.lake.schemas import PUBLISHED

    now, state = PUBLISHED["ratings"], VersionedContent.state
    names = [name for name in now.names if name not in SKILLS]
    monkeypatch.setitem(PUBLISHED, "ratings", pa.schema([now.field(name) for name in names]))

    def without(self: VersionedContent, name: str) -> dict[str, object]:
        return {key: value for key, value in state(self, name).items() if key != "smoothing"}

    monkeypatch.setattr(VersionedContent, "state", without)


@pytest.mark.slow
def test_publish__a_damaged_smoothing_is_an_error_with_its_remedy(lake: Lake, monkeypatch, capsys) -> None:
    smooth_run(lake, "run", Serial())
    [file] = Path(lake.uri("runs/run/smoothing")).glob("smoothed-*.parquet")
    file.write_bytes(file.read_bytes()[:-9] + b"x" * 9)
    command = Command(monkeypatch, capsys)
    words = command.refuses("publish", "--run", "run", "--lake", lake.url)
    assert "`ranklake smooth --run run` makes it again" in words
    assert delta(lake, "contests").version() == 1
    smooth_run(lake, "run", Serial())
    publish(lake, "run")
    assert has_skills(read(lake, "ratings"))
    assert pc.min(read(lake, "ratings").column("smooth_sigma")).as_py() > 0.0
    assert folder(lake, "latest.parquet").exists()
