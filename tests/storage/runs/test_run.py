import json
import math

import pyarrow as pa
import pytest
from helpers.builders import Killed, WatchedLake, digest, rounds, run_of, tree

from ranklake.storage import DamagedError, FormatError, LakeError, MissingError, Run

ROUNDS = "runs/run/rounds"


def test_run__config_reads_back_and_can_be_replaced(lake):
    config = {"system": "elo-mmr", "rho": "inf", "weights": [1, 2.5], "note": "é", "nested": {"a": None}}
    created = Run.create(lake, "other", config)
    assert created.config == Run.open(lake, "other").config == config
    assert json.loads(lake.read_bytes("runs/other/run.json"))["format"] == 1
    run = run_of(lake, [[2]])
    run.configure({"system": "glicko"})
    assert Run.open(lake, "run").config == run.config == {"system": "glicko"}
    assert run.segments().stop_round == 1


def test_run__is_created_once_and_opened_by_name(lake):
    with pytest.raises(MissingError, match=r"no run 'run' in .*`ranklake rate` makes one"):
        Run.open(lake, "run")
    for name in ("b", "a"):
        Run.create(lake, name, {})
    lake.write_bytes("runs/torn/rounds/000000.parquet", b"")
    assert Run.names(lake) == ["a", "b"]
    with pytest.raises(LakeError, match="run 'a' exists already") as caught:
        Run.create(lake, "a", {})
    assert caught.value.path == "runs/a/run.json"
    with pytest.raises(MissingError, match=r"there are: a, b$"):
        Run.open(lake, "c")


def test_run__unwritable_configs_are_refused(lake):
    for config in ({"rho": math.inf}, {"format": 1}):
        with pytest.raises(ValueError, match=r"JSON|format"):
            Run.create(lake, "run", config)
    assert Run.names(lake) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "x"}', "\xff", '{"format": 2, "system": "elo"}'])
def test_run__torn_or_newer_config_stops(lake, text):
    lake.write_bytes("runs/run/run.json", text.encode("latin-1"))
    newer, damage = r"run\.json is format 2, this code reads 1; update ranklake", r"runs/run/run\.json"
    with pytest.raises(FormatError if "2" in text else DamagedError, match=newer if "2" in text else damage):
        Run.open(lake, "run")


def test_newest_segment__is_the_last_one_or_none(lake):
    run = Run.create(lake, "run", {"system": "elo"})
    assert run.newest_segment() is None
    for first in (0, 2, 4):
        run.append(*rounds(first, [3, 2]))
        assert run.newest_segment() == run.segments().segments[-1]


def test_append__segments_read_back_as_written(lake):
    run = Run.create(lake, "run", {})
    written = [run.append(*rounds(0, [3, 0, 2])), run.append(*rounds(3, [4])), run.append(*rounds(4, [0, 0]))]
    chain = Run.open(lake, "run").segments()
    assert chain.segments == tuple(written)
    assert (chain.rest, chain.reason, chain.stop_round, chain.last_digest) == ((), "", 6, digest(5))
    first, second, empty = chain.segments
    assert (first.rows, first.skipped, first.parent, first.stop_round) == ((3, 0, 2), (1,), "", 3)
    assert (second.contest_ids, second.digests, second.parent) == (("c3",), (digest(3),), digest(2))
    assert (empty.n_rows, empty.skipped) == (0, (4, 5))
    assert lake.list(ROUNDS) == [f"00000{n}.{end}" for n in (0, 3, 4) for end in ("json", "parquet")]
    facts = json.loads(lake.read_bytes(f"{ROUNDS}/000000.json"))
    assert (facts["format"], facts["first_round"], facts["n_rows"], facts["rows"]) == (1, 0, 5, [3, 0, 2])
    assert (facts["contest_ids"], facts["digests"]) == (["c0", "c1", "c2"], [digest(0), digest(1), digest(2)])
    assert (facts["parent"], facts["file_size"]) == ("", len(lake.read_bytes(f"{ROUNDS}/000000.parquet")))


def test_append__writes_data_first_and_the_manifest_last(lake):
    watched = WatchedLake(lake)
    run_of(watched, [[3]])
    assert watched.writes == ["runs/run/run.json", f"{ROUNDS}/000000.parquet", f"{ROUNDS}/000000.json"]


@pytest.mark.parametrize("error", [LakeError("disk full"), Killed()])
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("done", [False, True])
def test_append__torn_write_leaves_the_old_run(lake, number, done, error):
    before = run_of(lake, [[3], [2]]).segments()
    torn = Run.open(WatchedLake(lake, fail_at=number, done=done, error=error), "run")
    with pytest.raises(type(error)):
        torn.append(*rounds(2, [4]))
    run = Run.open(lake, "run")
    committed = done and number == 1
    assert run.segments().stop_round == 2 + committed
    assert run.segments().segments[:2] == before.segments
    run.truncate(2)
    run.append(*rounds(2, [4]))
    assert run.read_rounds().num_rows == 9


def test_append__refuses_rounds_that_do_not_fit_their_rows(lake):
    run = Run.create(lake, "run", {})
    table, entries, parent = rounds(0, [3, 2])
    with pytest.raises(ValueError, match="at least one round"):
        run.append(table, [], parent)
    with pytest.raises(ValueError, match="must follow each other"):
        run.append(table, [entries[0], entries[0]], parent)
    for wrong in (table.slice(1), table.take([4, 3, 2, 1, 0])):
        with pytest.raises(ValueError, match="round_index"):
            run.append(wrong, entries, parent)
    assert lake.list(ROUNDS) == []


def test_segments__a_gap_ends_the_run(lake):
    run = run_of(lake, [[1], [1], [1], [1]])
    lake.delete(f"{ROUNDS}/000001.json")
    chain = run.segments()
    assert (chain.stop_round, chain.rest) == (1, (2, 3))
    missing = f"{ROUNDS}/000001.json: is missing, while {ROUNDS}/000002.json is there; "
    assert chain.reason == f"{missing}`ranklake rate --run run --from 1` rates it again"
    lake.delete(f"{ROUNDS}/000000.json")
    chain = run.segments()
    assert (chain.segments, chain.rest, chain.stop_round, chain.last_digest) == ((), (2, 3), 0, "")


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: b"",
        lambda data: b"\xff" + data,
        lambda data: b"[]",
        lambda data: b"{}",
        lambda data: data.replace(b'"rows":[1]', b'"rows":[2]'),
        lambda data: data.replace(b'"rows":[1]', b'"rows":[1,0]'),
        lambda data: data.replace(b'"rows":[1]', b'"rows":["1"]'),
        lambda data: data.replace(b'"rows":[1]', b'"rows":1'),
        lambda data: data.replace(b'"first_round":1', b'"first_round":2'),
        lambda data: data.replace(digest(0).encode(), digest(7).encode()),
        lambda data: data.replace(b'"file_size":', b'"file_size":1'),
        lambda data: data.replace(b'"format":1', b'"format":null'),
    ],
)
def test_segments__a_torn_or_foreign_manifest_ends_the_run(lake, change):
    run = run_of(lake, [[1], [1], [1]])
    path = f"{ROUNDS}/000001.json"
    changed = change(lake.read_bytes(path))
    assert changed != lake.read_bytes(path)
    lake.write_bytes(path, changed)
    assert_ends(run, "000001")


def assert_ends(run, name):
    """The run ends after its first round, for a reason in one line that names a file."""
    lake, chain = run.lake, run.segments()
    assert (chain.stop_round, chain.rest) == (1, (1, 2))
    assert name in chain.reason
    assert "\n" not in chain.reason
    assert run.truncate(chain.stop_round).stop_round == 1
    assert lake.list(ROUNDS) == ["000000.json", "000000.parquet"]


@pytest.mark.parametrize("data", [None, b"", b"x" * 10])
def test_segments__missing_or_cut_data_end_the_run(lake, data):
    run, path = run_of(lake, [[1], [1], [1]]), f"{ROUNDS}/000001.parquet"
    lake.delete(path) if data is None else lake.write_bytes(path, data)
    assert_ends(run, path)


def test_segments__a_newer_format_stops_and_nothing_is_removed(lake, tmp_path):
    run = run_of(lake, [[1], [1]])
    path = f"{ROUNDS}/000001.json"
    lake.write_bytes(path, lake.read_bytes(path).replace(b'"format":1', b'"format":2'))
    before = tree(tmp_path / "lake")
    for action in (run.segments, lambda: run.truncate(0), run.read_rounds):
        with pytest.raises(FormatError, match=rf"{path} is format 2"):
            action()
    assert tree(tmp_path / "lake") == before


def test_segments__are_in_the_order_of_their_numbers(lake):
    run = run_of(lake, [[1]])
    for number in (1_000_000, 999_999, 12):
        lake.write_bytes(f"{ROUNDS}/{number:06d}.json", b"")
    assert run.segments().rest == (12, 999_999, 1_000_000)


def test_truncate__removes_newest_first_and_each_manifest_before_its_data(lake):
    run = run_of(lake, [[2], [2, 2], [2], [2]])
    for last_round in (0, 2, 4):
        run.write_snapshot(last_round, {"mu": pa.array([1.0]).to_numpy()}, digest(last_round))
    watched = WatchedLake(lake)
    chain = Run.open(watched, "run").truncate(2)  # inside the second segment
    assert chain == run.segments()
    assert chain.stop_round == 1
    assert run.snapshots() == [0]
    assert watched.deletions == [
        "runs/run/snapshots/000004/manifest.json",
        "runs/run/snapshots/000004",
        "runs/run/snapshots/000002/manifest.json",
        "runs/run/snapshots/000002",
        *(f"{ROUNDS}/00000{n}.{end}" for n in (4, 3, 1) for end in ("json", "parquet")),
    ]


def test_truncate__with_known_segments_reads_no_manifest(lake, monkeypatch):
    run = run_of(lake, [[2], [2, 2], [2], [2]])
    lake.write_bytes(f"{ROUNDS}/.tmp-12", b"torn")
    known = run.segments()
    with monkeypatch.context() as patch:
        patch.setattr(lake, "read_many_or_errors", None)
        chain = run.truncate(2, known)
    assert chain == run.segments()
    assert chain.segments == known.segments[:1]
    assert lake.list(ROUNDS) == ["000000.json", "000000.parquet"]


def test_truncate__stopped_anywhere_leaves_a_valid_prefix(lake, monkeypatch):
    run = run_of(lake, [[2], [2, 2], [2], [2]])
    for last_round in (0, 2, 4):
        run.write_snapshot(last_round, {"mu": pa.array([1.0]).to_numpy()}, digest(last_round))
    original, budget = lake.delete, 0

    def one_more(path):
        nonlocal budget
        budget -= 1
        if budget < 0:
            raise Killed
        original(path)

    monkeypatch.setattr(lake, "delete", one_more)
    for _ in range(20):
        budget = 1
        try:
            run.truncate(0)
        except Killed:
            chain = run.segments()
            assert chain.rest == ()
            assert all(last_round < chain.stop_round for last_round in run.snapshots())
        else:
            break
    assert lake.list(ROUNDS) == []


def test_truncate__beyond_the_end_deletes_only_leftover_files(lake):
    run = run_of(lake, [[2], [1]])
    lake.write_bytes(f"{ROUNDS}/000002.parquet", b"data without manifest")
    lake.write_bytes(f"{ROUNDS}/.tmp-12", b"torn")
    lake.write_bytes(f"{ROUNDS}/notes.txt", b"not ours")
    lake.write_bytes("runs/run/snapshots/000001/part-0000.arrow", b"no manifest")
    assert run.truncate(99).stop_round == 2
    assert lake.list(ROUNDS) == [*(f"00000{n}.{end}" for n in (0, 1) for end in ("json", "parquet")), "notes.txt"]
    assert lake.list("runs/run/snapshots") == []


def test_read__any_range_gives_whole_rounds(lake):
    run = run_of(lake, [[3, 0, 2], [4], [0, 0], [1, 5]])
    whole = run.read_rounds()
    assert whole.column("round_index").to_pylist() == [0] * 3 + [2] * 2 + [3] * 4 + [6] + [7] * 5
    index = whole.column("round_index").to_numpy()
    for start in range(9):
        for stop in [*range(10), None]:
            wanted = (index >= start) & (index < (99 if stop is None else stop))
            assert run.read_rounds(start, stop).equals(whole.filter(pa.array(wanted)))
    assert [segment.first_round for segment, _ in run.iter_segments(1, 5)] == [0, 3, 4]


def test_read__values_columns_and_an_empty_run(lake):
    run = Run.create(lake, "run", {})
    assert run.read_rounds().num_rows == 0
    assert run.read_rounds(columns=["mu", "player"]).column_names == ["mu", "player"]
    table, entries, parent = rounds(0, [7])
    run.append(table, entries, parent)
    assert run.read_rounds().to_pydict() == table.to_pydict()
    assert run.read_rounds(columns=["mu", "player"]).to_pydict() == table.select(["mu", "player"]).to_pydict()


def test_read__with_verify_compares_the_bytes(lake):
    run = run_of(lake, [[5], [5]])
    assert run.read_rounds(verify=True).num_rows == 10
    path = f"{ROUNDS}/000001.parquet"
    data = bytearray(lake.read_bytes(path))
    data[len(data) // 4] ^= 1
    lake.write_bytes(path, bytes(data))
    with pytest.raises(DamagedError, match=rf"{path}: does not match its manifest"):
        run.read_rounds(verify=True)
    assert run.read_rounds(0, 1, verify=True).num_rows == 5
