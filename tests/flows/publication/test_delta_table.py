"""Versions of a published table: which of them have the same rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.lake_tables import DeltaRows
from ranklake.storage import Lake, LakeError

pytest.importorskip("deltalake")

from ranklake.flows.publication.delta_table import PublishedTable

SCHEMA = pa.schema([pa.field("player", pa.int32(), nullable=False)])


def rows(*players: int) -> list[pa.RecordBatch]:
    return [pa.record_batch([pa.array(players, pa.int32())], schema=SCHEMA)]


def test_reads_as__holds_after_a_merge_of_files_and_ends_with_new_rows(lake: Lake) -> None:
    table = PublishedTable(lake, "published/run/players", SCHEMA)
    table.create()
    for player in range(3):
        table.append(rows(player), {"rows": player + 1})
    version = table.version
    assert table.merge_files() == 3
    merged = PublishedTable(lake, "published/run/players", SCHEMA)
    assert merged.version > version
    assert merged.reads_as(version)
    assert not merged.reads_as(version - 1)
    assert not merged.reads_as(merged.version + 1)
    merged.append(rows(3), {"rows": 4})
    assert not merged.reads_as(version)
    assert merged.read().num_rows == 4


@pytest.mark.bound("ranklake.flows.publication.delta_table._KEPT_HOURS")
def test_vacuum__keeps_the_files_of_versions_of_a_week(lake: Lake) -> None:
    table = PublishedTable(lake, "published/run/players", SCHEMA)
    table.create()
    table.append(rows(0), {"rows": 1})
    files = set(lake.list("published/run/players"))
    table.replace(rows(1), {"rows": 1})
    assert table.vacuum() == 0
    assert files <= set(lake.list("published/run/players"))


def test_write__with_a_clock_before_1970_is_an_error(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = PublishedTable(lake, "published/run/players", SCHEMA)
    monkeypatch.setattr("ranklake.flows.publication.delta_table.time.time", lambda: -100_000.0)
    with pytest.raises(LakeError, match=r"players: cannot write: the clock of this machine says 1969-12-30, .*set the"):
        table.create()


def test_panic__of_the_library_is_an_error_of_the_table(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        """As that of a package in Rust."""

    def panic(*_: object, **__: object) -> None:
        raise PanicException("called `Option::unwrap()` on a `None` value")

    table = PublishedTable(lake, "published/run/players", SCHEMA)
    table.create()
    monkeypatch.setattr("ranklake.flows.publication.delta_table.write_deltalake", panic)
    with pytest.raises(LakeError, match=r"players: cannot write: the library failed: called `Option::unwrap"):
        table.append(rows(0), {"rows": 1})
    monkeypatch.setattr("deltalake.DeltaTable.file_uris", panic)
    with pytest.raises(SourceError, match="Delta table cannot be read: the library failed: called `Opt"):
        DeltaRows(Path(lake.uri("published/run/players")), "players")
