"""Results of problems beside the standings of a data set."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from helpers.builders import contest, ingest

from ranklake.storage import DamagedError, Dataset, Lake
from ranklake.storage.datasets.results import NewResults, StoredResults
from ranklake.storage.lake.layout import dataset_folder
from ranklake.storage.lake.limits import Limits
from ranklake.storage.lake.schemas import RESULTS
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.maintenance.verify import verify_dataset


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake.open(tmp_path / "lake", create=True, limits=Limits(file_games=3))
    ingest(lake, [contest(f"c{k}", ["ann", "bob", "cid"]) for k in range(4)])
    return lake


def results(contest_id: str, *rows: tuple[int, str, float]) -> NewResults:
    player, problem, share = zip(*rows, strict=True)
    n, schema = len(rows), pa.schema(list(RESULTS)[1:])
    columns = [pa.array(player, pa.int32()), pa.array(problem).dictionary_encode(), pa.array(share)]
    columns += [pa.nulls(n, pa.float64()), pa.nulls(n, pa.int32())]
    names = pa.array(["ann", "bob", "cid"]).take(pa.array(player))
    return NewResults(contest_id, pa.table(columns, schema=schema), names)


def put(lake: Lake, *new: NewResults) -> tuple[int, int, int]:
    with hold_lease(lake, dataset_folder("games"), "test") as lease:
        return StoredResults.open(lake, "games").replace(lease, new, None)


def read(lake: Lake) -> dict[str, list[tuple]]:
    stored = StoredResults.open(lake, "games")
    ids, found = stored.contests.column("contest_id").to_pylist(), {}
    for rows, offsets, table in stored.parts():
        for at, row in enumerate(rows):
            own = table.slice(int(offsets[at]), int(offsets[at + 1] - offsets[at]))
            found[ids[row]] = [(one["player"], one["problem"], one["share"]) for one in own.to_pylist()]
    return found


C0, C1 = [(0, "A", 1.0), (1, "A", 0.0)], [(2, "B", 1.0), (2, "C", 0.5)]


def test_results__replace_those_of_their_contests_alone(lake: Lake) -> None:
    assert read(lake) == {}
    assert put(lake, results("c0", *C0), results("c1", *C1)) == (2, 0, 0)
    assert put(lake, results("c1", *C1), results("c2", *C0)) == (1, 0, 1)
    assert put(lake, results("c0", *C1)) == (0, 1, 0)
    assert read(lake) == {"c0": C1, "c1": C1, "c2": C0}
    assert list(verify_dataset(Dataset.open(lake, "games"))) == []


def test_results__change_no_other_file(lake: Lake) -> None:
    folder = Path(lake.url) / "games"
    before = {path: path.read_bytes() for path in folder.rglob("*.parquet")}
    put(lake, results("c0", *C0))
    after = {path: path.read_bytes() for path in folder.rglob("*.parquet") if path.parent.name != "results"}
    assert after == before


def test_files__that_no_reader_needs_are_deleted(lake: Lake) -> None:
    put(lake, results("c0", *C0))
    opened = StoredResults.open(lake, "games")
    put(lake, results("c0", *C1))
    assert len(list(opened.parts())) == 1  # a reader of the state before
    put(lake, results("c1", *C1))
    names = {f"games/results/{name}" for name in lake.list("games/results")}
    assert names == StoredResults.open(lake, "games").files()


def test_damaged_results__are_found_by_verify(lake: Lake) -> None:
    put(lake, results("c0", *C0))
    (file,) = [path for path in StoredResults.open(lake, "games").files() if "results.parquet" not in path]
    (Path(lake.url) / file).write_bytes(b"PAR1")
    assert any("ingest results" in problem for problem in verify_dataset(Dataset.open(lake, "games")))
    with pytest.raises(DamagedError):
        read(lake)


def test_deletion__deletes_results(lake: Lake) -> None:
    put(lake, results("c0", *C0))
    with hold_lease(lake, dataset_folder("games"), "test") as lease:
        Dataset.delete(lake, "games", lease)
    assert lake.list("games/results") == []
