"""Epochs of an object store: a holder whose predecessor may come back changes names and roots."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers.builders import content, contest, ingest, run_of
from msgspec.structs import replace

from ranklake.storage import Dataset, Lake, Run
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.lake.parquet import metadata_of
from ranklake.storage.lake.schemas import ENTRY
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.holder import LeaseHolder, encode_lease, lease_file, lease_numbers
from ranklake.storage.leases.lease import Lease
from ranklake.storage.leases.roots import delete_root, epoch_of, has_root, read_root
from ranklake.storage.maintenance.compact import compact_dataset
from ranklake.storage.runs.chances import StoredChances, read_chances, write_chances

RUN = "runs/run"
ROOT = f"{RUN}/run.json"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(f"memory://{tmp_path}", create=True)


@contextmanager
def taken_over(lake: Lake, folder: str) -> Iterator[Lease]:
    """A lease that was taken from a writer on another machine."""
    other = replace(LeaseHolder.this_process("rate run", time.time()), machine="elsewhere")
    number = max(lease_numbers(lake, folder), default=-1) + 1
    assert lake.create_bytes(lease_file(folder, number), encode_lease(other))
    with hold_lease(lake, folder, "rate again", steal=True) as lease:
        assert (lease.number, lease.predecessor) == (number + 1, number)
        yield lease


@pytest.mark.bound("ranklake.storage.leases.roots._TOMBSTONE_BYTES")
def test_delete_root__leaves_a_tombstone_only_if_a_writer_may_come_back(lake: Lake) -> None:
    for at in (hold_lease(lake, "runs/other", "delete"), taken_over(lake, RUN)):
        with at as lease:
            path = f"{lease._folder}/run.json"
            lake.write_bytes(path, b"{}")
            delete_root(lake, path, lease)
            assert (has_root(lake, path), read_root(lake, path)) == (False, (None, ""))
            assert lake.exists(path) == (lease.predecessor == 0)


def test_delete_root__deletes_only_the_version_that_it_has_read(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a store with versions."""
    deleted = []
    monkeypatch.setattr(Lake, "read_versioned", lambda lake, path: (lake.read_bytes(path), "7"))
    monkeypatch.setattr(Lake, "delete_version", lambda lake, path, version: deleted.append((path, version)))
    lake.write_bytes(ROOT, b"{}")
    with hold_lease(lake, RUN, "delete") as lease:
        delete_root(lake, ROOT, lease)
    assert deleted == [(ROOT, "7")]


def test_take_over__copies_rounds_ratings_at_entry_and_the_newest_snapshot_into_an_epoch(lake: Lake) -> None:
    run = run_of(lake, [[3, 2], [4]])
    run.write_snapshot(2, {"mu": np.arange(3.0)}, "ab")
    run.record_entry_ratings([pa.table([["c0"], ["ann"], [1400.0]], schema=ENTRY)])
    learnt = StoredChances({"draws": "preserving"}, 2, "ab", [])
    write_chances(run, lake, learnt)
    before = run.read_rounds()
    with taken_over(lake, RUN) as lease:
        Run.take_over(lake, "run", lease)
        assert set(lake.list(RUN)) >= {"rounds-000001", "snapshots-000001", "entry-000001"}
        assert not {"rounds", "snapshots", "entry"} & set(lake.list(RUN))
    now = Run.open(lake, "run")
    assert now.read_rounds(verify=True) == before
    assert {now.path_of(segment).split("/")[2] for segment in now.segments().segments} == {"rounds-000001"}
    assert now.snapshots() == [2]
    assert now.entry_ratings().of("c0", pa.array(["ann"])).tolist() == [1400.0]
    assert read_chances(now) == learnt


def test_take_over__under_a_lost_lease_changes_no_root(lake: Lake) -> None:
    run_of(lake, [])
    before = lake.read_bytes(ROOT)
    lost, late = pytest.raises(LeaseHeldError), pytest.raises(LeaseHeldError)
    with lost, taken_over(lake, RUN) as lease, hold_lease(lake, RUN, "faster", steal=True):
        with late:
            Run.take_over(lake, "run", lease)
        assert lake.read_bytes(ROOT) == before


def test_compact_dataset__after_a_takeover_begins_an_epoch(lake: Lake) -> None:
    for name in ("a", "b"):
        ingest(lake, [contest(name, ["ann", "bob"])])
    before = content(lake)
    with taken_over(lake, "games") as lease:
        assert compact_dataset(lake, "games", lease) == (2, 1)
    assert content(lake) == before
    contests = Dataset.open(lake, "games").contests
    assert epoch_of(metadata_of(contests.schema)) == lease.number == 3
    assert all(file.endswith("-000003.parquet") for file in contests.column("file").to_pylist())
