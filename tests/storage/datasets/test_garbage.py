"""Files of a data set are deleted only by the holder of its lease."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.builders import contest, ingest

from ranklake.storage import Lake
from ranklake.storage.datasets.garbage import collect_garbage, discard
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.leases.acquire import hold_lease

WRITTEN = "games/standings/999999.parquet"  # without a reference, as a writer leaves it before its commit
LOST = pytest.raises(LeaseHeldError, match="took over")


@pytest.fixture(params=["disk", "memory"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    """A lake with the data set ``games``; a store in memory has no fences."""
    opened = Lake.open(tmp_path if request.param == "disk" else f"memory://{tmp_path}", create=True)
    ingest(opened, [contest("a", ["x", "y"])])
    return opened


def test_discard__deletes_the_files_that_are_not_committed(lake: Lake) -> None:
    (committed,) = lake.list("games/standings")
    lake.write_bytes(WRITTEN, b"1")
    with hold_lease(lake, "games", "ingest into games") as lease:
        discard(lease.lake, "games", [f"games/standings/{committed}", WRITTEN])
    assert lake.list("games/standings") == [committed]


def discard_written(lake: Lake) -> None:
    discard(lake, "games", [WRITTEN])


def collect_all(lake: Lake) -> None:
    collect_garbage(lake, "games", set())


@pytest.mark.parametrize("delete", [discard_written, collect_all])
def test_deletion__after_a_lost_lease_deletes_nothing(lake: Lake, delete: Callable[[Lake], None]) -> None:
    with LOST, hold_lease(lake, "games", "ingest into games") as lease:
        lake.write_bytes(WRITTEN, b"1")
        with hold_lease(lake, "games", "ingest again", steal=True):
            delete(lease.lake)
            assert lake.exists(WRITTEN)


@pytest.mark.parametrize("lake", ["disk"], indirect=True)
@pytest.mark.parametrize("delete", [discard_written, collect_all])
def test_deletion__is_fenced_if_the_lease_is_lost_after_its_check(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, delete: Callable[[Lake], None]
) -> None:
    with LOST, hold_lease(lake, "games", "ingest into games") as lease:
        lake.write_bytes(WRITTEN, b"1")
        with hold_lease(lake, "games", "ingest again", steal=True):
            monkeypatch.setattr(lease, "check", lambda: None)
            delete(lease.lake)
            assert lake.exists(WRITTEN)
        monkeypatch.undo()
