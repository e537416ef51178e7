"""Verification and compaction of data sets name the contests and files that are damaged."""

from __future__ import annotations

import pyarrow as pa
import pytest
from helpers.builders import contest, field, ingest

from ranklake.storage import DamagedError, Dataset, Lake
from ranklake.storage.lake.layout import dataset_folder
from ranklake.storage.lake.parquet import metadata_of
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.maintenance.compact import compact_dataset
from ranklake.storage.maintenance.verify import verify_dataset


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
