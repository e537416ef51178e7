"""The reserve of a lake: on a full disk it gives space for the lease of a deletion."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from helpers.builders import contest, ingest, run_of, tree

from ranklake.storage import Dataset, Lake, LakeError, Run
from ranklake.storage.lake.access.space import free_space, is_full, text_means_full
from ranklake.storage.lake.errors import NoSpaceError
from ranklake.storage.leases.acquire import HEARTBEAT_SECONDS, hold_lease
from ranklake.storage.leases.holder import lease_holder
from ranklake.storage.leases.reserve import PART_BYTES, PARTS, RESERVE, affordable, refill_reserve, with_reserve
from ranklake.storage.maintenance.compact import compact_run

FOLDER = "runs/run"
SEGMENTS = [[3, 4], [5], [0, 2], [9], [1], [6, 6]]  # rows of each round
NO_SPACE = (errno.ENOSPC, errno.EDQUOT) if hasattr(errno, "EDQUOT") else (errno.ENOSPC,)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "lake", create=True)


@contextmanager
def full_disk(lake: Lake, number: int = errno.ENOSPC, parts: int = 1) -> Iterator[list[str]]:
    """No file can be created until ``parts`` parts of the reserve are removed; yields the refused paths."""
    refused: list[str] = []
    before = len(parts_of(lake))

    def opened(path: str, mode: str) -> IO[Any]:
        if mode == "xb" and before - len(parts_of(lake)) < parts:
            refused.append(path)
            raise OSError(number, os.strerror(number))
        return open(path, mode)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ranklake.storage.lake.access.disk.open", opened, raising=False)
        yield refused


def parts_of(lake: Lake) -> dict[str, int]:
    return lake.sizes(RESERVE)


def test_reserve__is_written_by_any_writer_and_completed(lake: Lake) -> None:
    whole = {f"part-{number}": PART_BYTES for number in range(PARTS)}
    assert parts_of(lake) == {}
    with hold_lease(lake, FOLDER, "rate"):
        assert parts_of(lake) == whole
    lake.write_bytes(f"{RESERVE}/part-3", b"half")
    lake.write_bytes(f"{RESERVE}/.tmp-1", b"left")
    lake.delete(f"{RESERVE}/part-0")
    refill_reserve(lake)
    assert parts_of(lake) == whole


@pytest.mark.parametrize("number", NO_SPACE)
@pytest.mark.parametrize("parts", [1, 3])
def test_hold__of_a_command_that_frees_space_takes_its_lease_on_a_full_disk(
    lake: Lake, number: int, parts: int
) -> None:
    refill_reserve(lake)
    with full_disk(lake, number, parts) as refused:
        with hold_lease(lake, FOLDER, "delete", frees_space=True):
            assert lease_holder(lake, FOLDER) is not None
            assert len(parts_of(lake)) == PARTS - parts
        assert refused
    with hold_lease(lake, FOLDER, "rate"):
        assert len(parts_of(lake)) == PARTS


@pytest.mark.parametrize("number", NO_SPACE)
def test_hold__of_any_other_command_does_not_use_the_reserve(lake: Lake, number: int) -> None:
    refill_reserve(lake)
    problem = r"runs/run/lease-000000\.json: cannot create: .* \([0-9,]+ of [0-9,]+ bytes free.*\); to free some: `rank"
    with full_disk(lake, number), pytest.raises(NoSpaceError, match=problem), hold_lease(lake, FOLDER, "rate"):
        pass
    assert len(parts_of(lake)) == PARTS
    assert lease_holder(lake, FOLDER) is None


def test_hold__on_a_full_disk_without_a_reserve_is_an_error(lake: Lake) -> None:
    for parts in (1, PARTS + 1):
        with (
            full_disk(lake, parts=parts),
            pytest.raises(NoSpaceError),
            hold_lease(lake, FOLDER, "delete", frees_space=True),
        ):
            pass
        assert parts_of(lake) == {}
        refill_reserve(lake)


def test_with_reserve__does_not_use_it_for_other_errors(lake: Lake) -> None:
    refill_reserve(lake)

    def fail() -> None:
        raise LakeError("unreadable")

    with pytest.raises(LakeError, match="unreadable"):
        with_reserve(lake, fail)
    assert len(parts_of(lake)) == PARTS


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true; the time limit of the test ends the wait."""
    done = threading.Event()
    while not condition():
        done.wait(0.005)


def test_lease__on_a_disk_that_fills_up_keeps_its_heartbeats_and_is_released(lake: Lake) -> None:
    with hold_lease(lake, FOLDER, "rate", heartbeat_seconds=0.01):
        for name in parts_of(lake):  # no reserve is left
            lake.delete(f"{RESERVE}/{name}")
        with full_disk(lake) as refused:
            wait_for(lambda: len(refused) > 1)
            first = lease_holder(lake, FOLDER)
            assert first is not None
            sizes = set()
            while (now := lease_holder(lake, FOLDER)) is None or now.heartbeats < first.heartbeats + 3:
                sizes.add(len(lake.read_bytes(f"{FOLDER}/lease-000000.json")))
            assert sizes == {512}
    assert lake.list(FOLDER) == ["lease-000000.json"]
    assert lease_holder(lake, FOLDER) is None


def test_lease__released_on_a_full_disk_is_free(lake: Lake) -> None:
    held = hold_lease(lake, FOLDER, "rate", heartbeat_seconds=HEARTBEAT_SECONDS)
    held.__enter__()
    with full_disk(lake, parts=PARTS + 1):
        held.__exit__(None, None, None)
        assert b'"released": true' in lake.read_bytes(f"{FOLDER}/lease-000000.json")
    with hold_lease(lake, FOLDER, "rate"):
        assert lake.list(FOLDER) == ["lease-000001.json", "writing-000001"]


def test_affordable__are_the_smallest_that_fit_beside_the_missing_reserve(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    refill_reserve(lake)
    monkeypatch.setattr("ranklake.storage.leases.reserve.free_bytes", lambda path: 100)
    assert affordable(lake, [61, 10, 30]) == [1, 2]
    assert affordable(lake, [60, 10, 20], also=10) == [0, 1, 2]
    assert affordable(lake, []) == []
    lake.delete(f"{RESERVE}/part-0")
    assert affordable(lake, [1]) == []


def test_compact__of_a_run_merges_the_groups_that_fit_and_reports_the_space_for_the_others(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(lake, SEGMENTS)
    rows, segments, before = run.read_rounds(), len(run.segments().segments), tree(Path(lake.url))
    free = "ranklake.storage.leases.reserve.free_bytes"
    monkeypatch.setattr(free, lambda path: 0)
    with pytest.raises(NoSpaceError, match=r"runs/.*: no space to merge more files, which takes [0-9,]+ bytes \("):
        compact_run(run, 100)
    assert tree(Path(lake.url)) == before
    half = sum(lake.sizes(f"runs/{run.name}/rounds").values()) // 2
    monkeypatch.setattr(free, lambda path: PARTS * PART_BYTES + half)
    with pytest.raises(NoSpaceError):
        compact_run(run, 12)
    assert 1 < len(run.segments().segments) < segments
    monkeypatch.undo()
    assert compact_run(run, 100)[1] == 1
    assert Run.open(lake, run.name).read_rounds(verify=True).equals(rows)


def test_is_full__of_space_inodes_and_quota_alone(tmp_path: Path) -> None:
    assert free_space(str(tmp_path / "a" / "b")).endswith("bytes free")  # of the disk of a missing folder
    assert [is_full(OSError(number, "")) for number in NO_SPACE] == [True] * len(NO_SPACE)
    assert not is_full(OSError(errno.EIO, ""))
    assert not is_full(ValueError())
    assert text_means_full("Unable to copy data to file: No space left on device (os error 28)")
    assert not text_means_full("Permission denied (os error 13)")


def test_dataset__cannot_have_the_name_of_the_reserve(lake: Lake) -> None:
    ingest(lake, [contest("a", ["x", "y"])])
    assert Dataset.names(lake) == ["games"]
    with pytest.raises(ValueError, match="not starting with"):
        ingest(lake, [], RESERVE)
