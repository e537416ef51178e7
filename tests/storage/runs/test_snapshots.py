import json

import numpy as np
import pyarrow as pa
import pytest
from helpers.builders import WatchedLake, tree
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from ranklake.storage import DamagedError, FormatError, LakeError, MissingError, Run
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.runs import snapshot_columns, snapshots
from ranklake.storage.runs.snapshot_columns import encode, to_table

FOLDER = "runs/run/snapshots/000007"


@pytest.fixture
def run(lake):
    return Run.create(lake, "run", {})


def beliefs(n, seed=1):
    """Flat and ragged columns of ``n`` players."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 5, n))])
    return {
        "mu": rng.normal(1500, 300, n),
        "last_time": rng.integers(0, 2**40, n),
        "rounds": rng.integers(0, 99, n).astype(np.int32),
        "active": rng.integers(0, 2, n).astype(bool),
        "weights": (offsets, rng.normal(size=offsets[-1])),
        "systems": (offsets, rng.integers(0, 9, offsets[-1]).astype(np.uint8)),
    }


def assert_same(actual, expected):
    assert list(actual) == list(expected)
    for name, column in expected.items():
        if isinstance(column, tuple):
            offsets, values = column
            assert actual[name][0].dtype == np.int64
            assert np.array_equal(actual[name][0], offsets - offsets[0])
            pair = (actual[name][1], values[offsets[0] : offsets[-1]])
        else:
            pair = (actual[name], column)
        assert pair[0].dtype == pair[1].dtype
        assert pair[0].tobytes() == pair[1].tobytes()
        assert pair[0].flags.writeable


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 16, 100])
def test_snapshot__any_number_of_players_reads_back(run, monkeypatch, n):
    monkeypatch.setattr(snapshots, "PART_PLAYERS", 8)
    columns = beliefs(n)
    run.write_snapshot(7, columns, "ab" * 16)
    columns_read, digest = Run.open(run.lake, "run").read_snapshot(7)
    assert digest == "ab" * 16
    assert_same(columns_read, columns)
    parts = max(1, -(-n // 8))
    assert run.lake.list(FOLDER) == ["manifest.json", *(f"part-{part:04d}.arrow" for part in range(parts))]


@pytest.mark.parametrize("n", [0, 1, 1000, 30_000])
def test_snapshot__part_has_the_bytes_of_a_growing_buffer(n):
    draw = np.random.default_rng(n)
    columns = beliefs(n) | {f"random {i}": draw.integers(-(2**63), 2**63 - 1, n) for i in range(20)}  # LZ4 packs none
    table = to_table(columns, 0, n)
    sink = pa.BufferOutputStream()
    codec = pa.Codec("lz4", compression_level=snapshot_columns._LZ4_LEVEL)
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(table)
    assert encode(table).equals(sink.getvalue())


def test_snapshot__of_the_default_level_reads_back(run, monkeypatch):
    """Parts of other releases."""
    monkeypatch.setattr(snapshot_columns, "_LZ4_LEVEL", 1)
    run.write_snapshot(7, beliefs(1000), "ab" * 16)
    monkeypatch.undo()
    assert_same(run.read_snapshot(7)[0], beliefs(1000))


@pytest.mark.parametrize("players", [[], [0], [3, 7, 8, 20], [15, 16, 40, 99]], ids=str)
def test_snapshot__reads_some_players(run, monkeypatch, players):
    """Players of several files, of none, and players that the snapshot does not have."""
    monkeypatch.setattr(snapshots, "PART_PLAYERS", 8)
    columns = beliefs(30)
    run.write_snapshot(7, columns, "ab" * 16)
    found, digest = run.read_snapshot(7, np.array(players, dtype=np.int64))
    assert digest == "ab" * 16
    known = [player for player in players if player < 30]
    for name, column in columns.items():
        if isinstance(column, tuple):
            offsets, values = column
            lists = [values[offsets[i] : offsets[i + 1]] for i in known]
            assert np.diff(found[name][0]).tolist() == [len(one) for one in lists]
            assert found[name][1].tobytes() == b"".join(one.tobytes() for one in lists)
        else:
            assert found[name].tobytes() == column[known].tobytes()


# Among any bits: a quiet NaN with a payload, minus infinity, a signalling NaN.
bits = st.integers(0, 2**64 - 1) | st.sampled_from(
    [0x7FF8_0000_0000_BEEF, 0xFFF0_0000_0000_0000, 0x7FF0_0000_0000_0001]
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lengths=st.lists(st.integers(0, 6), max_size=40),
    dtype=st.sampled_from([np.int32, np.int64]),
    lead=st.integers(0, 3),
    data=st.data(),
)
def test_snapshot__ragged_columns_keep_every_bit(run, lengths, dtype, lead, data):
    offsets = np.cumsum([lead, *lengths]).astype(dtype)
    values = data.draw(npst.arrays(np.uint64, int(offsets[-1]) + 2, elements=bits)).view(np.float64)
    flat = data.draw(npst.arrays(np.uint64, len(lengths), elements=bits)).view(np.float64)
    columns = {"ragged": (offsets, values), "flat": flat, "every_other": np.repeat(flat, 2)[::2]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshots, "PART_PLAYERS", 16)
        run.write_snapshot(7, columns, "")
    assert_same(run.read_snapshot(7)[0], columns)


def test_snapshot__columns_of_several_lengths_or_none_are_refused(run):
    offsets = np.array([0, 1, 2])
    for columns in ({}, {"a": np.zeros(2), "b": np.zeros(3)}, {"a": np.zeros(3), "b": (offsets, np.zeros(2))}):
        with pytest.raises(ValueError, match="columns of one length"):
            run.write_snapshot(7, columns, "")
    assert run.snapshots() == []


def test_snapshot__manifest_is_written_last_and_a_snapshot_without_one_does_not_exist(lake, run):
    watched = WatchedLake(lake)
    Run.open(watched, "run").write_snapshot(7, beliefs(3), "")
    assert watched.writes == [f"{FOLDER}/part-0000.arrow", f"{FOLDER}/manifest.json"]
    for number in range(2):
        torn = Run.open(WatchedLake(lake, fail_at=number), "run")
        with pytest.raises(LakeError, match="disk full"):
            torn.write_snapshot(9, beliefs(3), "")
        assert run.snapshots() == [7]
    with pytest.raises(MissingError, match="000009"):
        run.read_snapshot(9)


def test_snapshot__a_second_one_replaces_the_first_in_full(lake, run, monkeypatch):
    monkeypatch.setattr(snapshots, "PART_PLAYERS", 8)
    run.write_snapshot(7, beliefs(30), "a")
    run.write_snapshot(7, beliefs(10, seed=2), "b")
    columns_read, digest = run.read_snapshot(7)
    assert digest == "b"
    assert_same(columns_read, beliefs(10, seed=2))
    assert len(run.lake.list(FOLDER)) == 3
    with pytest.raises(LakeError, match="disk full"):  # a torn replacement is not read as the old one
        Run.open(WatchedLake(lake, fail_at=0, done=True), "run").write_snapshot(7, beliefs(3, seed=3), "c")
    assert run.snapshots() == []


def _flip(data):
    return data[:99] + bytes([data[99] ^ 1]) + data[100:]


@pytest.mark.parametrize("change", [_flip, lambda data: data[:-1], lambda data: b"", lambda data: None])
def test_snapshot__damaged_part_is_named(lake, run, change):
    run.write_snapshot(7, beliefs(50), "")
    path = f"{FOLDER}/part-0000.arrow"
    changed = change(lake.read_bytes(path))
    lake.delete(path) if changed is None else lake.write_bytes(path, changed)
    with pytest.raises(
        DamagedError, match=rf"^{FOLDER}: damaged snapshot, part-0000\.arrow .*ranklake compact --run run"
    ):
        run.read_snapshot(7)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"format": 1}', '{"format":1,"last_round":7,"digest":"","n_players":0,"parts":[]}']
)
def test_snapshot__damaged_manifest_is_named(lake, run, text):
    run.write_snapshot(7, beliefs(5), "")
    lake.write_bytes(f"{FOLDER}/manifest.json", text.encode())
    with pytest.raises(DamagedError, match=rf"^{FOLDER}/manifest\.json: .*ranklake compact --run run"):
        run.read_snapshot(7)


def test_snapshot__of_another_round_is_damage_and_a_newer_format_stops(lake, run):
    run.write_snapshot(7, beliefs(5), "")
    for name in lake.list(FOLDER):
        lake.write_bytes(f"runs/run/snapshots/000008/{name}", lake.read_bytes(f"{FOLDER}/{name}"))
    with pytest.raises(DamagedError, match="000008: damaged"):
        run.read_snapshot(8)
    facts = json.loads(lake.read_bytes(f"{FOLDER}/manifest.json"))
    lake.write_bytes(f"{FOLDER}/manifest.json", json.dumps({**facts, "format": 3}).encode())
    with pytest.raises(FormatError, match=rf"{FOLDER}/manifest\.json is format 3, this code reads 2"):
        run.read_snapshot(7)


def test_snapshot__of_a_writer_that_loses_its_lease_after_the_check_is_not_written(lake, monkeypatch):
    lost = pytest.raises(LeaseHeldError, match="rate again")
    with lost, hold_lease(lake, "runs/run", "rate run") as lease:
        run = Run.create(lake, "run", {}, lease)
        run.write_snapshot(7, beliefs(2), "")
        with hold_lease(lake, "runs/run", "rate again", steal=True):
            monkeypatch.setattr(lease, "check", lambda: None)
            with pytest.raises(LeaseHeldError, match=r"rate again.* took over from this process"):
                run.write_snapshot(9, beliefs(2), "")
        monkeypatch.undo()
    assert Run.open(lake, "run").snapshots() == [7]


def test_prune__keeps_the_newest(lake, run, tmp_path):
    for last_round in (5, 999_999, 1_000_000, 40):
        run.write_snapshot(last_round, beliefs(2), "")
    run.prune_snapshots(3)
    assert run.snapshots() == [40, 999_999, 1_000_000]
    run.prune_snapshots(9)
    run.prune_snapshots(1)
    assert run.snapshots() == [1_000_000]
    assert {path.rsplit("/", 1)[0] for path in tree(tmp_path / "lake" / "runs" / "run" / "snapshots")} == {"1000000"}
    with pytest.raises(ValueError, match="keep must be >= 0"):
        run.prune_snapshots(-1)


def test_prune__does_not_read_rows_of_a_successor_that_took_over_during_the_listing(lake, monkeypatch):
    list_names, lost = lake.list, pytest.raises(LeaseHeldError, match=r"rate again.* took over from this process")
    with lost, hold_lease(lake, "runs/run", "rate run") as lease:
        run = Run.create(lake, "run", {}, lease)
        run.write_snapshot(0, beliefs(2), "")

        def list_after_takeover(folder):
            monkeypatch.undo()
            with hold_lease(lake, "runs/run", "rate again", steal=True) as successor:
                Run(lake, "run", {}, lease=successor).write_snapshot(9, beliefs(2), "")
            return list_names(folder)

        monkeypatch.setattr(lake, "list", list_after_takeover)
        run.prune_snapshots(3, rows=[5])
    assert Run.open(lake, "run").snapshots() == [0, 9]
