import os
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.builders import Killed, content, contest, expected, ingest, rounds, run_of, tree

from ranklake.storage import DamagedError, FormatError, Lake, LakeError, MissingError


def test_open__error_of_a_missing_folder_has_a_remedy(tmp_path):
    with pytest.raises(LakeError, match=r"no lake at .*nowhere; `ranklake ingest` makes one"):
        Lake.open(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_open__takes_paths_and_addresses(tmp_path):
    Lake.open(tmp_path / "a b" / "lake", create=True).write_bytes("x/y", b"1")
    for url in (tmp_path / "a b" / "lake", f"{tmp_path}/a b/lake/", f"file://{tmp_path}/a b/lake"):
        assert Lake.open(url).read_bytes("x/y") == b"1"


def test_create__of_a_file_in_memory_by_concurrent_threads_succeeds_once(tmp_path):
    lake = Lake.open(f"memory://{tmp_path}", create=True)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for number in range(200):
                made = pool.map(
                    lambda thread, path=f"folder/{number}": lake.create_bytes(path, b"%d" % thread), range(4)
                )
                listed = pool.submit(lake.list, "folder")
                lake.delete(f"folder/{number - 1}")
                assert sum(made) == 1
                assert set(listed.result()) <= {f"{number - 1}", f"{number}"}
    finally:
        sys.setswitchinterval(interval)


def test_write__makes_parents_and_replaces(lake, tmp_path):
    lake.write_bytes("a/b/c", b"old")
    lake.write_bytes("a/b/c", pa.py_buffer(b"new"))
    assert tree(tmp_path / "lake") == {"a/b/c": b"new"}


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), Killed()])
def test_write__failing_before_the_rename_leaves_the_old_file_alone(lake, tmp_path, monkeypatch, error):
    lake.write_bytes("a/b", b"old")

    def fail(source, target):
        assert not source.endswith(".parquet")
        assert os.path.dirname(source) == os.path.dirname(target)
        raise error

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(LakeError if isinstance(error, OSError) else type(error)) as caught:
        lake.write_bytes("a/b", b"new")
    if isinstance(error, OSError):
        assert str(caught.value).startswith("a/b: cannot write: No space left on device (")
        assert "bytes free); to free some: `ranklake publish --run RUN --maintain`" in str(caught.value)
        assert caught.value.path == "a/b"
    with pytest.raises(TypeError):  # while the bytes go out
        lake.write_bytes("a/b", "not bytes")
    assert tree(tmp_path / "lake") == {"a/b": b"old"}


def test_read__error_of_a_missing_file_names_it(lake):
    with pytest.raises(MissingError, match=r"^a/b\.parquet: there is no such file") as caught:
        lake.read_table("a/b.parquet", "rounds")
    assert caught.value.path == "a/b.parquet"
    assert not lake.exists("a/b.parquet")


def test_read__a_file_where_a_folder_should_be_is_a_lake_error(lake):
    lake.write_bytes("a", b"")
    for action in (lambda: lake.read_bytes("a/b"), lambda: lake.write_bytes("a/b", b"")):
        with pytest.raises(LakeError, match="a/b"):
            action()


HARM = [*(lambda data, cut=cut: data[:cut] for cut in (0, 3, 100, -1)), lambda data: data[:4] + bytes(396) + data[400:]]


@pytest.mark.parametrize("harm", HARM)
def test_read__a_torn_or_overwritten_table_is_damage(lake, harm):
    lake.write_table("r.parquet", rounds(0, [50])[0], "rounds")
    lake.write_bytes("r.parquet", harm(lake.read_bytes("r.parquet")))
    with pytest.raises(DamagedError, match=r"^r\.parquet: not a readable Parquet file"):
        lake.read_table("r.parquet", "rounds")


def test_read__another_table_or_a_foreign_file_is_damage(lake, tmp_path):
    lake.write_table("p.parquet", pa.table({"player": pa.array([0], pa.int32()), "handle": ["a"]}), "players")
    with pytest.raises(DamagedError, match=r"p\.parquet: holds players, expected rounds"):
        lake.read_table("p.parquet", "rounds")
    with pytest.raises(DamagedError, match=r"p\.parquet: has no column mu"):
        lake.read_table("p.parquet", "players", ["player", "mu"])
    pq.write_table(pa.table({"a": [1]}), tmp_path / "lake" / "s.parquet")
    with pytest.raises(DamagedError, match=r"s\.parquet: has format 'none'"):
        lake.read_table("s.parquet", "rounds")


def test_list__names_are_sorted_and_no_folder_is_empty(lake):
    for name in ("b", "a", ".tmp-1", "c/d"):
        lake.write_bytes(f"f/{name}", b"12")
    assert lake.list("f") == [".tmp-1", "a", "b", "c"]
    assert lake.sizes("f")["a"] == 2
    assert lake.list("nowhere") == []


def test_delete__of_a_missing_file_does_nothing(lake):
    lake.write_bytes("f/a", b"")
    for _ in range(2):
        lake.delete("f/a")
    lake.write_bytes("g/a/b", b"")
    for _ in range(2):
        lake.delete_folder("g")
    assert lake.list("") == ["f"]


def test_lake__and_its_errors_can_be_pickled(lake):
    error = pickle.loads(pickle.dumps(FormatError("r is format 3", path="r", found=3)))
    assert (str(error), error.path, error.found) == ("r is format 3", "r", 3)
    lake.write_bytes("a", b"1")
    assert pickle.loads(pickle.dumps(lake)).read_bytes("a") == b"1"


def test_lake__works_in_an_object_store(request):
    lake = Lake.open("memory://ranklake-tests/lake", create=True)
    request.addfinalizer(lambda: lake._filesystem.rm("/ranklake-tests", recursive=True))
    games = [contest("a", ["x", "y"]), contest("b", ["y", "z"])]
    ingest(lake, games)
    ingest(lake, [contest("c", ["x"] + [f"n{i}" for i in range(2100)])])
    assert content(lake)[:2] == expected(games)
    run = run_of(lake, [[3, 2], [4]])
    run.write_snapshot(2, {"mu": np.arange(3.0)}, "ab")
    assert run.read_rounds(1).num_rows == 6
    assert run.snapshots() == [2]
    assert run.truncate(2).stop_round == 2
    assert run.snapshots() == []
    assert lake.list("runs/run/rounds") == ["000000.json", "000000.parquet"]


def test_read_many__asks_a_store_for_some_files_at_a_time(tmp_path, monkeypatch):
    store, asked, most = Lake.open(f"memory://{tmp_path}", create=True), [], []
    paths = [f"x/{number}" for number in range(20)]
    for path in paths:
        store.write_bytes(path, path.encode())
    read = Lake._read_or_error

    def counted(lake, path):
        asked.append(path)
        most.append(len(asked))
        data = read(lake, path)
        asked.remove(path)
        return data

    monkeypatch.setattr(Lake, "_read_or_error", counted)
    monkeypatch.setattr("ranklake.storage.lake.access.lake._AT_ONCE", 3)
    assert list(store.read_many(paths)) == [path.encode() for path in paths]
    assert max(most) <= 3
