"""Versions of a published table: of before, removed after a cut, and cleaned up."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.lake_tables import DeltaRows
from ranklake.storage import Lake, LakeError
from ranklake.storage.leases.acquire import hold_lease

pytest.importorskip("deltalake")

from ranklake.flows.publication.delta_store import roll_back
from ranklake.flows.publication.delta_table import PublishedTable

SCHEMA = pa.schema([pa.field("player", pa.int32(), nullable=False)])


FOLDER = "published/run/players"


@pytest.fixture
def table(lake: Lake) -> PublishedTable:
    """An empty table."""
    made = PublishedTable(lake, FOLDER, SCHEMA)
    made.create()
    return made


def fill(table: PublishedTable, n_players: int) -> None:
    """Append players, one a version."""
    for player in range(n_players):
        table.append(rows(player), {"rows": player + 1})


def rows(*players: int) -> list[pa.RecordBatch]:
    return [pa.record_batch([pa.array(players, pa.int32())], schema=SCHEMA)]


def test_version__of_before_is_read_after_a_merge_of_files_and_after_new_rows(
    lake: Lake, table: PublishedTable
) -> None:
    fill(table, 3)
    version = table.version
    assert table.merge_files() == 3
    table.append(rows(3), {"rows": 4})
    assert table.read().num_rows == 4
    before = PublishedTable(lake, FOLDER, SCHEMA, version=version)
    assert (before.version, before.state, before.read().num_rows) == (version, {"rows": 3}, 3)


@pytest.mark.slow
def test_roll_back__ends_at_a_version_and_at_none(lake: Lake, table: PublishedTable) -> None:
    fill(table, 102)  # the log has a checkpoint
    newest = lake.list(f"{FOLDER}/_delta_log")[-2]
    lake.write_bytes(f"{FOLDER}/_delta_log/{newest}", b"torn")
    with hold_lease(lake, "runs/run", "test") as lease:
        for version in (101, 99, -1):
            assert roll_back(lake, FOLDER, version, lease)
            assert not roll_back(lake, FOLDER, version, lease)
            left = PublishedTable(lake, FOLDER, SCHEMA, lease=lease)
            assert (left.version, left.state) == (version, {"rows": version} if version > 0 else None)


@pytest.mark.slow
def test_clean_log__keeps_the_version_of_a_root_until_it_is_called(lake: Lake, table: PublishedTable) -> None:
    """The entries of the log are older than the library keeps them."""
    fill(table, 98)
    log = Path(lake.uri(f"{FOLDER}/_delta_log"))
    for entry in log.iterdir():
        os.utime(entry, (0, 0))
    table = PublishedTable(lake, FOLDER, SCHEMA)
    for player in (98, 99):  # the second one writes a checkpoint
        table.append(rows(player), {"rows": player + 1})
    assert PublishedTable(lake, FOLDER, SCHEMA, version=98).read().num_rows == 98
    table.clean_log()
    assert not (log / f"{97:020}.json").exists()
    assert PublishedTable(lake, FOLDER, SCHEMA).read().num_rows == 100


@pytest.mark.bound("ranklake.flows.publication.delta_table._KEPT_HOURS")
def test_vacuum__keeps_the_files_of_versions_of_a_week(lake: Lake, table: PublishedTable) -> None:
    table.append(rows(0), {"rows": 1})
    files = set(lake.list(FOLDER))
    table.replace(rows(1), {"rows": 1})
    assert table.vacuum() == 0
    assert files <= set(lake.list(FOLDER))


def test_write__with_a_clock_before_1970_is_an_error(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = PublishedTable(lake, FOLDER, SCHEMA)
    monkeypatch.setattr("ranklake.flows.publication.delta_store.time.time", lambda: -100_000.0)
    with pytest.raises(LakeError, match=r"players: cannot write: the clock of this machine says 1969-12-30, .*set the"):
        table.create()


def test_panic__of_the_library_is_an_error_of_the_table(
    lake: Lake, table: PublishedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicException(BaseException):
        """As that of a package in Rust."""

    def panic(*_: object, **__: object) -> None:
        raise PanicException("called `Option::unwrap()` on a `None` value")

    monkeypatch.setattr("ranklake.flows.publication.delta_table.write_deltalake", panic)
    with pytest.raises(LakeError, match=r"players: cannot write: the library failed: called `Option::unwrap"):
        table.append(rows(0), {"rows": 1})
    monkeypatch.setattr("deltalake.DeltaTable.file_uris", panic)
    with pytest.raises(SourceError, match="Delta table cannot be read: the library failed: called `Opt"):
        DeltaRows(Path(lake.uri(FOLDER)), "players")
