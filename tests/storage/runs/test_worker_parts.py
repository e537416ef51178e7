"""Parts of a snapshot that several processes write under one lease: read as one, fenced, deleted if incomplete."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ranklake.storage import DamagedError, FormatError, Lake, Run
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.lake.json_files import decode
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.lease import Delegate, Lease
from ranklake.storage.runs import worker_parts
from ranklake.storage.runs.snapshots import Part
from ranklake.storage.runs.worker_parts import PartWriter

FOLDER = "runs/run"
SNAPSHOT = f"{FOLDER}/snapshots/000007"
Players = npt.NDArray[np.int64]


@pytest.fixture(params=["disk", "memory"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "lake" if request.param == "disk" else f"memory://{tmp_path}", create=True)


@pytest.fixture
def run(lake: Lake) -> Iterator[Run]:
    Run.create(lake, "run", {})
    with suppress(LeaseHeldError), hold_lease(lake, FOLDER, "rate run") as lease:
        opened = Run.open(lake, "run")
        opened.lease = lease
        yield opened


def beliefs(n: int) -> dict[str, Any]:
    draw = np.random.default_rng(n)
    offsets = np.concatenate([[0], np.cumsum(draw.integers(0, 5, n))])
    return {"mu": draw.normal(size=n), "rounds": draw.integers(0, 9, n).astype(np.int32),
            "history": (offsets, draw.normal(size=offsets[-1]))}  # fmt: skip


def rows_of(columns: Mapping[str, Any], players: Players) -> dict[str, Any]:
    taken: dict[str, Any] = {}
    for name, column in columns.items():
        if isinstance(column, tuple):
            offsets, values = column
            lists = [values[offsets[player] : offsets[player + 1]] for player in players]
            lengths = np.cumsum([0, *map(len, lists)])
            taken[name] = lengths, np.concatenate([*lists, np.empty(0)])
        else:
            taken[name] = column[players]
    return taken


def written_by(
    columns: Mapping[str, Any], holders: Sequence[Players]
) -> Callable[[PartWriter], list[list[Part] | str]]:
    """Each holder writes its players, with a writer as it arrives in another process."""

    def write(writer: PartWriter) -> list[list[Part] | str]:
        return [pickle.loads(pickle.dumps(writer))(players, rows_of(columns, players)) for players in holders]

    return write


def commit(run: Run, results: Sequence[list[Part] | str], digest: str = "ab") -> None:
    run.commit_parts(7, [part for result in results if not isinstance(result, str) for part in result], digest)


def files(run: Run) -> list[str]:
    """The files of the run, without those of the lease."""
    found = [path for path in run.lake.sizes_below(FOLDER) if not path.startswith("lease-")]
    return sorted(found)


def same(actual: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    flat = [[array for column in columns.values() for array in (column if isinstance(column, tuple) else [column])]
            for columns in (actual, expected)]  # fmt: skip
    return list(actual) == list(expected) and all(
        one.dtype == other.dtype and one.tobytes() == other.tobytes() for one, other in zip(*flat, strict=True)
    )


@pytest.mark.parametrize("holders", [1, 2, 3, 40])
def test_parts__read_as_a_snapshot_of_one_process(run: Run, monkeypatch: pytest.MonkeyPatch, holders: int) -> None:
    monkeypatch.setattr(worker_parts, "PART_PLAYERS", 8)
    columns = beliefs(30)
    results = run.write_parts(7, written_by(columns, [np.arange(at, 30, holders) for at in range(holders)]))
    assert run.snapshots() == []
    commit(run, results)
    assert run.snapshots() == [7]
    found, digest = run.read_snapshot(7)
    assert digest == run.snapshot_digest(7) == "ab"
    assert same(found, columns)
    some = np.array([0, 3, 8, 9, 29, 30, 99])
    assert same(run.read_snapshot(7, some)[0], rows_of(columns, some[:5]))
    assert same(run.read_snapshot(7, some[:0])[0], rows_of(columns, some[:0]))


def test_parts__replace_a_snapshot_and_are_replaced_by_one(run: Run) -> None:
    run.write_snapshot(7, beliefs(20), "old")
    for digest in ("first", "second"):
        commit(run, run.write_parts(7, written_by(beliefs(9), [np.arange(9)])), digest)
        assert len(run.lake.list(SNAPSHOT)) == 2
        assert run.read_snapshot(7)[1] == digest
    run.write_snapshot(7, beliefs(20), "new")
    assert same(run.read_snapshot(7)[0], beliefs(20))


def test_parts__are_deleted_if_one_process_cannot_write_or_is_lost(run: Run) -> None:
    columns, before = beliefs(10), files(run)

    def refused(writer: PartWriter) -> list[list[Part] | str]:
        return [writer(np.arange(5), rows_of(columns, np.arange(5))), "read-only file system"]

    def lost(writer: PartWriter) -> list[list[Part] | str]:
        writer(np.arange(5), rows_of(columns, np.arange(5)))
        raise OSError("lost")

    results = run.write_parts(7, refused)
    assert isinstance(results[0], list)
    assert results[1] == "read-only file system"
    assert files(run) == before
    with pytest.raises(OSError, match="lost"):
        run.write_parts(7, lost)
    assert files(run) == before
    assert run.write_parts(7, lambda writer: [[Part(3, 100, "a" * 32)]]) == ["its files are not in the lake"]
    assert run.lake.list(SNAPSHOT) == []
    run.write_parts(7, written_by(columns, [np.arange(10)]))  # and not committed, as after a crash
    assert len(run.lake.list(SNAPSHOT)) == 1
    run.truncate(0)
    assert run.lake.list(SNAPSHOT) == []


def test_parts__of_a_process_that_comes_back_late_change_nothing(run: Run) -> None:
    late: list[PartWriter] = []

    def write(writer: PartWriter) -> list[list[Part] | str]:
        late.append(writer)
        return written_by(beliefs(10), [np.arange(10)])(writer)

    commit(run, run.write_parts(7, write))
    before = files(run)
    result = late[0](np.arange(4), rows_of(beliefs(99), np.arange(4)))
    if run.lake.local:
        assert isinstance(result, str)
        assert "is gone" in result
        assert files(run) == before
    assert same(run.read_snapshot(7)[0], beliefs(10))
    run.remove_snapshot(7)
    late[0](np.arange(4), rows_of(beliefs(99), np.arange(4)))
    assert run.snapshots() == []
    run.truncate(0)
    assert run.lake.list(SNAPSHOT) == []


@pytest.mark.parametrize("moment", ["before", "while they write", "after"])
def test_parts__of_a_writer_that_lost_its_lease_are_not_committed(lake: Lake, moment: str) -> None:
    Run.create(lake, "run", {})
    columns, successors, stack = beliefs(10), list[Lease](), ExitStack()

    def steal() -> None:
        successors.append(stack.enter_context(hold_lease(lake, FOLDER, "rate run", steal=True)))

    def write(writer: PartWriter) -> list[list[Part] | str]:
        if moment == "while they write":
            steal()
        return written_by(columns, [np.arange(5), np.arange(5, 10)])(writer)

    def snapshot(run: Run) -> None:
        if moment == "before":
            steal()
        results = run.write_parts(7, write)
        if moment == "after":
            steal()
        commit(run, results)

    run = Run.open(lake, "run")
    with stack:
        with pytest.raises(LeaseHeldError), hold_lease(lake, FOLDER, "rate run") as run.lease:
            snapshot(run)
        assert Run.open(lake, "run").snapshots() == []
        (run.lease,) = successors
        run.truncate(0)
        assert lake.list(SNAPSHOT) == []


@pytest.mark.parametrize("holders", [[range(5), range(6, 10)], [range(6), range(5, 10)], [range(5), range(6, 11)]])
def test_parts__without_each_player_once_are_damage(run: Run, holders: list[range]) -> None:
    write = written_by(beliefs(12), [np.array(players) for players in holders])
    commit(run, run.write_parts(7, write))
    with pytest.raises(DamagedError, match="do not have each player once"):
        run.read_snapshot(7)


def test_parts__stop_earlier_releases_and_another_byte_is_damage(run: Run) -> None:
    commit(run, run.write_parts(7, written_by(beliefs(10), [np.arange(10)])))
    data = run.lake.read_bytes(f"{SNAPSHOT}/manifest.json")
    assert json.loads(data)["format"] == 2  # releases before it would read the players in order
    with pytest.raises(FormatError, match="is format 2, this code reads 1; update ranklake"):
        decode(dict[str, Any], data, f"{SNAPSHOT}/manifest.json")
    name = next(name for name in run.lake.list(SNAPSHOT) if name.startswith("part-"))
    part = bytearray(run.lake.read_bytes(f"{SNAPSHOT}/{name}"))
    part[len(part) // 2] ^= 1
    run.lake.write_bytes(f"{SNAPSHOT}/{name}", bytes(part))
    with pytest.raises(DamagedError, match=f"{name} does not match its manifest"):
        run.read_snapshot(7)


def test_writer__names_a_lake_that_is_another_one_here_or_none(lake: Lake, run: Run, tmp_path: Path) -> None:
    results: list[list[Part] | str] = []

    def write(writer: PartWriter) -> list[list[Part] | str]:
        lease = lake.read_bytes(f"{FOLDER}/lease-000000.json").replace(b'"token": "', b'"token": "0')
        Lake.open(tmp_path / "other", create=True).write_bytes(f"{FOLDER}/lease-000000.json", lease)
        for address in (str(tmp_path / "other"), str(tmp_path / "none"), "s4://bucket/lake"):
            own = writer.delegate
            delegate = Delegate(address, own.folder, own.lease, own.token, own.fence)
            results.append(PartWriter(writer.folder, delegate)(np.arange(3), beliefs(3)))
        return results

    assert run.write_parts(7, write) == results
    assert "another lake has this address here" in str(results[0])
    assert "no lake at" in str(results[1])
    assert "s4" in str(results[2])


def test_writer__waits_for_an_unreachable_lake_for_a_limited_time(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = threading.Event()
    monkeypatch.setattr(worker_parts, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(Delegate, "open", lambda self: answer.wait() and run.lake)
    try:
        results = run.write_parts(7, written_by(beliefs(3), [np.arange(3)]))
    finally:
        answer.set()
    assert results == ["the lake does not answer within 0 s"]
