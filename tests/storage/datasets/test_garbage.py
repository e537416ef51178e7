"""Files of a data set are deleted only by the holder of its lease."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.builders import contest, ingest

from ranklake.storage import Lake
from ranklake.storage.datasets.garbage import collect_garbage, discard
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.leases.acquire import hold_lease

LOST = pytest.raises(LeaseHeldError, match="took over")


@pytest.fixture(params=["disk", "memory"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    """A lake with the data set ``games``; a store in memory has no fences."""
    opened = Lake.open(tmp_path if request.param == "disk" else f"memory://{tmp_path}", create=True)
    ingest(opened, [contest("a", ["x", "y"])])
    return opened


def written(lake: Lake) -> str:
    """A standings file without a reference, as a writer leaves it before its commit."""
    path = "games/standings/999999.parquet"
    lake.write_bytes(path, b"1")
    return path


def test_discard__deletes_the_files_that_are_not_committed(lake: Lake) -> None:
    path, (committed,) = written(lake), set(lake.list("games/standings")) - {"999999.parquet"}
    with hold_lease(lake, "games", "ingest into games") as lease:
        discard(lease.lake, "games", [f"games/standings/{committed}", path])
    assert lake.list("games/standings") == [committed]


def test_discard__after_a_lost_lease_deletes_nothing(lake: Lake) -> None:
    with LOST, hold_lease(lake, "games", "ingest into games") as lease:
        path = written(lake)
        with hold_lease(lake, "games", "ingest again", steal=True):
            discard(lease.lake, "games", [path])
            assert lake.exists(path)


def test_collect_garbage__after_a_lost_lease_deletes_nothing(lake: Lake) -> None:
    with LOST, hold_lease(lake, "games", "ingest into games") as lease:
        path = written(lake)
        with hold_lease(lake, "games", "ingest again", steal=True):
            collect_garbage(lease.lake, "games", set())
            assert lake.exists(path)


@pytest.mark.parametrize("lake", ["disk"], indirect=True)
@pytest.mark.parametrize("delete", [discard, collect_garbage])
def test_deletion__is_fenced_if_the_lease_is_lost_after_its_check(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, delete: object
) -> None:
    with LOST, hold_lease(lake, "games", "ingest into games") as lease:
        path = written(lake)
        with hold_lease(lake, "games", "ingest again", steal=True):
            monkeypatch.setattr(lease, "check", lambda: None)
            if delete is discard:
                discard(lease.lake, "games", [path])
            else:
                collect_garbage(lease.lake, "games", set())
            assert lake.exists(path)
        monkeypatch.undo()
