"""Merging, deleting and verifying: at any moment a reader finds the whole run or no run; damage is named."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
import pytest
from helpers.builders import Killed, WatchedLake, contest, digest, field, ingest, rounds, run_of

from ranklake.storage import DamagedError, Dataset, Lake, LakeError, MissingError, Run
from ranklake.storage.lake.layout import dataset_folder
from ranklake.storage.lake.parquet import metadata_of
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.maintenance.compact import compact_dataset, compact_run
from ranklake.storage.maintenance.verify import verify_dataset

SEGMENTS = [[3, 4], [5], [0, 2], [9], [1], [6, 6]]  # rows of each round
ROUNDS = "runs/run/rounds"


def facts(run: Run) -> list[tuple]:
    """The rounds of a run, whatever files they are in."""
    rounds = []
    for segment in run.segments().segments:
        indices = range(segment.first_round, segment.stop_round)
        skipped = [index in segment.skipped for index in indices]
        rounds += zip(indices, segment.contest_ids, segment.rows, segment.digests, skipped, strict=True)
    return rounds


def test_compact__merges_neighbours_and_the_run_reads_the_same(lake):
    run = run_of(lake, SEGMENTS)
    before, rows = facts(run), run.read_rounds()
    assert compact_run(run, rows=12) == (6, 3)
    assert [(s.first_round, s.n_rows) for s in run.segments().segments] == [(0, 12), (3, 12), (7, 12)]
    assert facts(run) == before
    assert run.read_rounds(verify=True).equals(rows)
    assert run.segments().rest == ()
    assert compact_run(run, rows=12) == (3, 3)
    manifests = ["000000.json", "000003.json", "000007.json"]
    data = ["000000-000002.parquet", "000003-000006.parquet", "000007.parquet"]
    assert lake.list(ROUNDS) == sorted([*manifests, *data])


def test_compact__keeps_the_files_of_running_readers(lake):
    run = run_of(lake, SEGMENTS)
    reading = Run.open(lake, "run").iter_segments()
    tables = [next(reading)[1]]
    compact_run(run)
    tables += [table for _, table in reading]
    assert sum(table.num_rows for table in tables) == 36


def test_compact__merged_runs_can_grow_and_be_truncated_inside_a_merged_segment(lake):
    run = run_of(lake, SEGMENTS)
    compact_run(run, rows=12)
    run.append(*rounds(9, [2]))
    assert run.segments().stop_round == 10
    assert run.truncate(4).stop_round == 3
    assert [name for name in lake.list(ROUNDS) if name > "000003"] == []
    run.append(*rounds(3, [7]))
    assert run.segments().last_digest == digest(3)


@pytest.mark.quick("dead-not done", "refused-done")
@pytest.mark.parametrize("done", [False, True], ids=["not done", "done"])
@pytest.mark.parametrize("error", [Killed(), LakeError("disk full")], ids=["dead", "refused"])
def test_compact__stopped_at_any_of_its_writes_leaves_the_run_as_it_was(lake, done, error):
    whole = run_of(lake, SEGMENTS)
    before, rows = facts(whole), whole.read_rounds()
    for write in range(4):
        run = Run.open(WatchedLake(lake, fail_at=write, done=done, error=error), "run")
        with pytest.raises(type(error)):
            compact_run(run, rows=12)
        assert facts(whole) == before
        assert whole.read_rounds(verify=True).equals(rows)
        whole.delete()
        whole = run_of(lake, SEGMENTS)


def test_compact__stops_at_a_damaged_file_and_names_it(lake):
    run = run_of(lake, SEGMENTS)
    with pytest.raises(ValueError, match="rows must be >= 1, got 0"):
        compact_run(run, rows=0)
    data = bytearray(lake.read_bytes(f"{ROUNDS}/000002.parquet"))
    data[50] ^= 1
    lake.write_bytes(f"{ROUNDS}/000002.parquet", bytes(data))
    with pytest.raises(DamagedError, match=r"rounds/000002\.parquet: does not match its manifest"):
        compact_run(run)
    assert len(run.segments().segments) == 6


def test_delete__interrupted_at_any_step_leaves_no_run(lake):
    run = run_of(lake, SEGMENTS)
    run.write_snapshot(3, {"mu": rounds(0, [3])[0].column("mu").to_numpy()}, digest(3))
    watched = WatchedLake(lake)
    Run.open(watched, "run").delete()
    assert lake.list("runs/run") == []
    for stop in range(1, len(watched.deletions)):
        run_of(lake, SEGMENTS)
        left = iter(range(stop))
        broken = WatchedLake(lake)
        delete = broken.delete

        def dies(path, left=left, delete=delete):
            if next(left, None) is None:
                raise Killed
            delete(path)

        broken.delete = dies
        with suppress(Killed):
            Run.open(broken, "run").delete()
        with pytest.raises(MissingError, match="no run 'run'"):
            Run.open(lake, "run")
        again = Run.create(lake, "run", {})
        assert again.segments().stop_round == 0
        assert again.segments().rest == ()
        again.delete()


# Data sets


@pytest.mark.parametrize("wrong", ["a", "b", "c"])
def test_verify__names_each_contest_with_another_digest_after_corrections(lake: Lake, wrong: str) -> None:
    ingest(lake, [contest(name, ["x", "y", "z"]) for name in "abc"])
    with Dataset.ingest(lake, "games") as body:
        body.alias("y", "w", why="renamed")
    assert list(verify_dataset(Dataset.open(lake, "games"))) == []
    table = Dataset.open(lake, "games").contests
    digests = ["0" * 32 if row["contest_id"] == wrong else row["content_digest"] for row in table.to_pylist()]
    at = table.column_names.index("content_digest")
    table = table.set_column(at, table.schema.field(at), pa.array(digests, table.schema.field(at).type))
    lake.write_table("games/contests/contests.parquet", table, "contests", metadata=metadata_of(table.schema))
    (problem,) = verify_dataset(Dataset.open(lake, "games"))
    assert f"contest {wrong} does not match its digest after corrections" in problem


def test_compact__names_a_file_that_is_too_short(lake: Lake) -> None:
    for name in "ab":
        ingest(lake, [contest(name, field("p", 4))])
    files = Dataset.open(lake, "games").contests.column("file").to_pylist()
    path = f"games/standings/{files[0]}"
    lake.write_table(path, lake.read_table(path, "standings").slice(0, 3), "standings")
    with (
        hold_lease(lake, dataset_folder("games"), "compact games") as lease,
        pytest.raises(DamagedError, match=rf"{path}: has 3 rows, contest a needs more"),
    ):
        compact_dataset(lake, "games", lease)
