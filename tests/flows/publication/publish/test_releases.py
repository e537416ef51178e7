"""Tables of other releases and programs, and maintenance."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import write_deltalake
from helpers.lakes import same_tables, stamps
from helpers.life import corrected
from helpers.publishing import CONTESTS, go_on
from helpers.tables import TABLES, assert_published, contents, delta, folder, read, same_content

import ranklake.flows.publication.content
import ranklake.flows.publication.states
from ranklake.flows.publication.content import Content
from ranklake.flows.publication.publish import publish
from ranklake.storage import Contest, Lake
from ranklake.storage.lake.schemas import PUBLISHED


@pytest.mark.slow
@pytest.mark.parametrize("corrections", [[], [CONTESTS[20]]], ids=["added", "corrected"])
def test_publish__a_column_of_a_later_release_is_null_in_earlier_rows(
    published: Lake, monkeypatch: pytest.MonkeyPatch, corrections: list[Contest]
) -> None:
    old = read(published, "ratings")
    later_release(monkeypatch)
    report = go_on(published, [*CONTESTS[:20], *map(corrected, corrections), *CONTESTS[20 + len(corrections) : 33]])
    assert report.kept == (20 if corrections else 30)
    rows = read(published, "ratings")
    kept = rows.filter(pc.less(rows.column("round_index"), report.kept)).select(old.column_names)
    assert same_tables(kept, old.filter(pc.less(old.column("round_index"), report.kept)))
    assert all((row["surprise"] is None) == (row["round_index"] < report.kept) for row in rows.to_pylist())
    assert same_tables(read(published, "ratings", 1), old)
    assert publish(published, "run", maintain=True).tables == ()
    assert same_tables(read(published, "ratings"), rows)


def later_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ratings have an additional column from now on."""
    today, now = PUBLISHED["ratings"], ranklake.flows.publication.content.Content.ratings
    schema = today.append(pa.field("surprise", pa.float64(), metadata={"meaning": "how odd it was"}))

    def ratings(self: Content, begin: int) -> Iterator[pa.RecordBatch]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(PUBLISHED, "ratings", today)
            batches = list(now(self, begin))
        for batch in batches:
            surprise = pc.subtract(batch.column("perf"), batch.column("mu_prior"))
            yield pa.record_batch([*batch.columns, surprise], schema=schema)

    monkeypatch.setitem(PUBLISHED, "ratings", schema)
    monkeypatch.setattr(ranklake.flows.publication.content.Content, "ratings", ratings)


def test_publish__tables_of_a_release_with_other_rows_are_replaced(
    published: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranklake.flows.publication.states, "_MEANING", 2)
    assert publish(published, "run").kept == 0
    assert publish(published, "run").tables == ()
    assert_published(published)


def test_publish__a_table_changed_by_another_program_is_replaced(published: Lake) -> None:
    for name in TABLES:
        write_deltalake(delta(published, name), delta(published, name).to_pyarrow_table().slice(0, 1), mode="append")
    assert publish(published, "run").tables == (*TABLES, "latest.parquet")
    assert_published(published)


@pytest.mark.slow
def test_publish__a_table_compacted_by_another_program_is_kept(published: Lake) -> None:
    go_on(published, CONTESTS[:31])
    delta(published, "ratings").optimize.compact()
    delta(published, "ratings").vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert publish(published, "run").tables == ()
    assert go_on(published, CONTESTS[:32]).kept == 31
    assert_published(published)


# Maintenance


@pytest.mark.slow
def test_maintain__merges_small_files_and_changes_nothing_for_readers(lake: Lake) -> None:
    for stop in (30, 31, 32, 33):
        go_on(lake, CONTESTS[:stop])
    before, n_files = contents(lake), len(delta(lake, "ratings").file_uris())
    report = publish(lake, "run", maintain=True)
    assert report.merged > 0
    assert f"{report.merged} small files merged" in report.line()
    assert len(delta(lake, "ratings").file_uris()) == 3 < n_files
    assert same_content(contents(lake), before)
    assert same_tables(read(lake, "ratings", 4), before["ratings"])  # versions of the last week stay
    stamped = stamps(folder(lake))
    report = publish(lake, "run", maintain=True)
    assert (report.merged, report.removed, report.tables) == (0, 0, ())
    assert stamps(folder(lake)) == stamped
    assert go_on(lake, CONTESTS[:34]).kept == 33
    assert_published(lake)


@pytest.mark.slow
def test_maintain__removes_unreferenced_files_after_a_week(published: Lake) -> None:
    left = folder(published, "ratings") / "year=1971"
    for age_days in (6, 8):
        path = left / f"part-00000-left-by-a-crash-{age_days}.parquet"
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age_days * 86_400,) * 2)
    report = publish(published, "run", maintain=True)
    assert report.removed == 1
    assert report.line().endswith("; 1 old file removed")
    assert [path.name for path in left.glob("*crash*")] == ["part-00000-left-by-a-crash-6.parquet"]
    assert publish(published, "run").tables == ()
    assert_published(published)
