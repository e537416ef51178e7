"""Ratings at entry: found by contest and current name, whatever files they are in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from helpers.builders import run_of

from ranklake.storage import DamagedError, Lake, Run
from ranklake.storage.lake.schemas import ENTRY
from ranklake.storage.runs.entry_ratings import EntryRatings, entry_files, read_entry_file


def rows(**ratings: dict[str, float]) -> pa.Table:
    """Ratings by contest and name."""
    flat = [(contest, name, rating) for contest, one in ratings.items() for name, rating in one.items()]
    columns = list(zip(*flat, strict=True))
    return pa.table([pa.array(columns[0]), pa.array(columns[1]), pa.array(columns[2], pa.float64())], schema=ENTRY)


def found(record: EntryRatings, contest: str, *names: str, **aliases: str) -> list[float]:
    current = (lambda name: aliases.get(name, name)) if aliases else None
    return [round(rating, 1) for rating in record.of(contest, pa.array(names), current).tolist()]


FIRST, SECOND = rows(a={"ann": 1500.5, "bob": 1400.0}, b={"ann": 1510.0}), rows(a={"cid": -3.0}, c={"": 7.0})


def test_ratings__are_found_by_contest_and_current_name() -> None:
    record = EntryRatings([FIRST, SECOND])
    assert found(record, "a", "cid", "bob", "ann") == [-3.0, 1400.0, 1500.5]
    assert found(record, "c", "") == [7.0]
    for one, *asked in ((record, "b", "bob", "cid"), (record, "d", "ann"), (EntryRatings(), "a", "ann")):
        assert np.isnan(found(one, *asked)).all()
    assert found(record, "a", "anna", "bob", ann="anna") == [1500.5, 1400.0]
    assert found(record, "a", "ann", "robert", bob="robert") == [1500.5, 1400.0]


def test_record__is_the_union_of_its_files_and_of_their_merge(lake: Lake) -> None:
    run = run_of(lake, [])
    for tables in ([FIRST], [SECOND], [FIRST]):
        run.record_entry_ratings(tables)
    assert len(entry_files(lake, run.entry_folder)) == 2  # the same rows have the same name
    assert len(run.entry_ratings()) == 5
    run.merge_entry_ratings()
    (name,) = entry_files(lake, run.entry_folder)
    run.merge_entry_ratings()
    assert entry_files(lake, run.entry_folder) == [name]
    assert found(run.entry_ratings(), "a", "cid", "bob") == [-3.0, 1400.0]
    run.record_entry_ratings([FIRST])  # as after an interrupted merge
    assert found(run.entry_ratings(), "a", "cid", "bob") == [-3.0, 1400.0]
    run.remove_entry_ratings()
    assert (len(run.entry_ratings()), lake.list(run.entry_folder)) == (0, [])


@pytest.mark.parametrize("left", [0, 1, 2])
def test_record__has_one_file_of_the_same_bytes_after_an_interrupted_merge(lake: Lake, left: int) -> None:
    """Stopped before it deleted the ``left`` last of the files that it had merged."""
    run = run_of(lake, [])
    for tables in ([FIRST], [SECOND]):
        run.record_entry_ratings(tables)
    before = {name: lake.read_bytes(f"{run.entry_folder}/{name}") for name in entry_files(lake, run.entry_folder)}
    run.merge_entry_ratings()
    (merged,) = entry_files(lake, run.entry_folder)
    for name in list(before)[2 - left :]:
        lake.write_bytes(f"{run.entry_folder}/{name}", before[name])
    run.merge_entry_ratings()
    assert entry_files(lake, run.entry_folder) == [merged]
    assert len(run.entry_ratings()) == 5


def test_record__survives_a_truncation_and_not_a_deletion_and_damage_is_named(lake: Lake) -> None:
    run = run_of(lake, [[3], [2]])
    run.record_entry_ratings([FIRST])
    run.truncate(0)
    assert len(run.entry_ratings()) == 3
    (name,) = entry_files(lake, run.entry_folder)
    path = f"{run.entry_folder}/{name}"
    lake.write_bytes(path, lake.read_bytes(path)[:-1])
    with pytest.raises(DamagedError, match=f"{name}: does not match the digest in its name; restore it"):
        read_entry_file(lake, run.entry_folder, name)
    run.delete()
    assert len(Run.create(lake, "run", {"system": "elo"}).entry_ratings()) == 0
