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


def rows(*players: int) -> list[pa.RecordBatch]:
    return [pa.record_batch([pa.array(players, pa.int32())], schema=SCHEMA)]


def test_version__of_before_is_read_after_a_merge_of_files_and_after_new_rows(lake: Lake) -> None:
    table = PublishedTable(lake, "published/run/players", SCHEMA)
    table.create()
    for player in range(3):
        table.append(rows(player), {"rows": player + 1})
    version = table.version
    assert table.merge_files() == 3
    table.append(rows(3), {"rows": 4})
    assert table.read().num_rows == 4
    before = PublishedTable(lake, "published/run/players", SCHEMA, version=version)
    assert (before.version, before.state, before.read().num_rows) == (version, {"rows": 3}, 3)


def test_roll_back__ends_at_a_version_and_at_none(lake: Lake) -> None:
    table = PublishedTable(lake, "published/run/players", SCHEMA)
    table.create()
    for player in range(102):  # the log has a checkpoint
        table.append(rows(player), {"rows": player + 1})
    newest = lake.list("published/run/players/_delta_log")[-2]
    lake.write_bytes(f"published/run/players/_delta_log/{newest}", b"torn")
    with hold_lease(lake, "runs/run", "test") as lease:
        for version in (101, 99, -1):
            assert roll_back(lake, "published/run/players", version, lease)
            assert not roll_back(lake, "published/run/players", version, lease)
            left = PublishedTable(lake, "published/run/players", SCHEMA, lease=lease)
            assert (left.version, left.state) == (version, {"rows": version} if version > 0 else None)


def test_clean_log__keeps_the_version_of_a_root_until_it_is_called(lake: Lake) -> None:
    """The entries of the log are older than the library keeps them."""
    table = PublishedTable(lake, "published/run/players", SCHEMA)
    table.create()
    for player in range(98):
        table.append(rows(player), {"rows": player + 1})
    log = Path(lake.uri("published/run/players/_delta_log"))
    for entry in log.iterdir():
        os.utime(entry, (0, 0))
    table = PublishedTable(lake, "published/run/players", SCHEMA)
    for player in (98, 99):  # the second one writes a checkpoint
        table.append(rows(player), {"rows": player + 1})
    assert PublishedTable(lake, "published/run/players", SCHEMA, version=98).read().num_rows == 98
    table.clean_log()
    assert not (log / f"{97:020}.json").exists()
    assert PublishedTable(lake, "published/run/players", SCHEMA).read().num_rows == 100


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
    monkeypatch.setattr("ranklake.flows.publication.delta_store.time.time", lambda: -100_000.0)
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
