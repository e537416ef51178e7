"""A large table of contests is in shards that an ingest does not rewrite; small limits make it large here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.builders import Killed, WatchedLake, content, contest, expected, ingest, tree

from ranklake.storage import Contest, DamagedError, Dataset, Lake
from ranklake.storage.datasets.tables.shards import shards_of
from ranklake.storage.lake import limits as default_limits
from ranklake.storage.lake.layout import contests_file, dataset_folder
from ranklake.storage.lake.limits import Limits
from ranklake.storage.lake.parquet import decode, metadata_of
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.maintenance.compact import compact_dataset
from ranklake.storage.maintenance.verify import verify_dataset

ROOT = contests_file("games")
SMALL = Limits(shard_contests=(4, 12), shard_end="4")  # a shard may end after every fourth contest


def games(start: int, stop: int, prefix: str = "g") -> list[Contest]:
    return [contest(f"{prefix}{i:03d}", [f"p{i}", f"p{i + 1}"], time_seconds=60 * i) for i in range(start, stop)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default_limits, "DEFAULT", SMALL)


def shards(lake: Lake) -> list[str]:
    """File names of the shards, in rated order."""
    return shards_of(metadata_of(Dataset.open(lake, "games").contests.schema))


def sizes(lake: Lake) -> list[int]:
    """Contests of each shard, and of the root."""
    root = decode(lake.read_bytes(ROOT), "contests", ROOT)
    return [*(int(name.partition("-")[0]) for name in shards(lake)), root.num_rows]


@pytest.mark.slow
def test_shards__are_read_as_one_table_and_not_written_again(small: None, lake: Lake) -> None:
    def version() -> str:
        return metadata_of(Dataset.open(lake, "games").contests.schema)["format"]

    ingest(lake, games(0, 3))
    assert version() == "1"
    ingest(lake, games(3, 100))
    assert version() == "2"  # stops releases that read single files only
    assert content(lake) == expected(games(0, 100))
    assert sum(sizes(lake)) == 100
    assert all(4 <= size <= 12 for size in sizes(lake)[:-1])
    before = shards(lake)
    assert len(before) > 6
    assert set(lake.list("games/contests")) == {"contests.parquet", *before}
    assert list(verify_dataset(Dataset.open(lake, "games"))) == []
    ingest(watched := WatchedLake(lake), games(100, 101))
    assert shards(lake)[: len(before)] == before
    assert not {f"games/contests/{name}" for name in before} & set(watched.writes)
    ingest(watched := WatchedLake(lake), games(0, 101))
    assert watched.writes == []


@pytest.mark.slow
def test_shards__depend_on_the_contests_and_not_on_the_ingests(small: None, lake: Lake) -> None:
    ingest(lake, games(0, 100))
    at_once = sizes(lake)
    for start in (90, 0, 25):  # in parts, the last one first
        ingest(lake, games(start, start + 25)[: 100 - start], "parts")
    with Dataset.ingest(lake, "parts", order="time") as body:
        for one in games(0, 100):
            body.add(one)
    metadata = metadata_of(Dataset.open(lake, "parts").contests.schema)
    assert [int(name.partition("-")[0]) for name in shards_of(metadata)] == at_once[:-1]


@pytest.mark.slow
@pytest.mark.parametrize("late", [0, 37, 99])
def test_shards__a_late_contest_changes_few(small: None, lake: Lake, late: int) -> None:
    contests = games(0, 300)
    del contests[late]
    ingest(lake, contests)
    before = set(shards(lake))
    with Dataset.ingest(lake, "games", order="time") as body:
        body.add(games(late, late + 1)[0])
    assert content(lake) == expected(games(0, 300))
    assert len(set(shards(lake)) - before) <= 4
    assert len(before) > 25


def test_shards__take_over_a_single_file_at_the_next_write(lake: Lake) -> None:
    ingest(lake, games(0, 60))
    assert lake.list("games/contests") == ["contests.parquet"]
    lake.limits = SMALL
    assert content(lake) == expected(games(0, 60))
    ingest(lake, games(60, 61))
    assert content(lake) == expected(games(0, 61))
    assert len(shards(lake)) > 3


def changed() -> Iterator[Contest]:
    """A correction, a late contest and new ones."""
    yield contest("g020", ["p20", "p21", "x"], time_seconds=1200)
    yield contest("late", ["p3", "y"], time_seconds=1230)
    yield from games(60, 75)


@pytest.mark.slow
@pytest.mark.parametrize("done", [False, True])
def test_shards__an_ingest_killed_at_any_write_is_all_or_nothing(tmp_path: Path, small: None, done: bool) -> None:
    twin = Lake.open(tmp_path / "twin", create=True)
    ingest(twin, games(0, 60))
    before = content(twin)
    ingest(watched := WatchedLake(twin), changed())
    assert len([path for path in watched.writes if path.startswith("games/contests/")]) > 3
    for number in range(len(watched.writes)):
        lake = Lake.open(tmp_path / f"lake{number}", create=True)
        ingest(lake, games(0, 60))
        with pytest.raises(Killed):
            ingest(WatchedLake(lake, fail_at=number, done=done, error=Killed()), changed())
        committed = done and number == len(watched.writes) - 1
        assert content(lake) == (content(twin) if committed else before)
        ingest(lake, changed())
        assert tree(tmp_path / f"lake{number}") == tree(tmp_path / "twin")


def test_shards__replaced_ones_stay_for_readers_until_the_next_commit(small: None, lake: Lake) -> None:
    ingest(lake, games(0, 60))
    before = set(shards(lake))
    ingest(lake, changed())
    replaced = before - set(shards(lake))
    assert replaced
    assert replaced <= set(lake.list("games/contests"))
    assert Dataset.open(lake, "games").n_leftover() == 0
    ingest(lake, games(75, 76))
    assert not replaced & set(lake.list("games/contests"))


def test_shards__deleted_by_two_commits_are_read_from_the_new_root(
    small: None, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(lake, games(0, 60))
    read, old = Lake.read_versioned, lake.read_versioned(ROOT)
    ingest(lake, changed())
    ingest(lake, games(75, 76))
    answers = [old]
    monkeypatch.setattr(
        Lake, "read_versioned", lambda self, path: answers.pop() if path == ROOT and answers else read(self, path)
    )
    assert Dataset.open(lake, "games").contests.num_rows == 77
    assert not answers


def test_shards__a_missing_one_or_another_one_is_damage(small: None, lake: Lake, tmp_path: Path) -> None:
    ingest(lake, games(0, 60))
    first, second = (f"games/contests/{name}" for name in shards(lake)[:2])
    before, data = tree(tmp_path / "lake"), lake.read_bytes(second)
    with pytest.raises(KeyboardInterrupt):
        ingest(WatchedLake(lake, fail_at=3, error=KeyboardInterrupt()), changed())
    assert tree(tmp_path / "lake") == before
    lake.delete(second)
    before = tree(tmp_path / "lake")
    for attempt in (lambda: Dataset.open(lake, "games"), lambda: ingest(lake, games(0, 2))):
        with pytest.raises(DamagedError, match=rf"{second}: is missing, while {ROOT} names it; restore it, or `"):
            attempt()
    assert tree(tmp_path / "lake") == before
    lake.write_bytes(first, data)
    with pytest.raises(DamagedError, match=rf"{first}: does not match the digest in its name"):
        Dataset.open(lake, "games")


@pytest.mark.slow
def test_shards__compaction_changes_them_with_the_files_of_their_contests(small: None, lake: Lake) -> None:
    for start in range(0, 60, 20):
        ingest(lake, games(start, start + 20))
    before, cuts = content(lake), sizes(lake)
    with hold_lease(lake, dataset_folder("games"), "compact games") as lease:
        assert compact_dataset(lake, "games", lease) == (3, 1)
    assert (content(lake), sizes(lake)) == (before, cuts)
    assert list(verify_dataset(Dataset.open(lake, "games"))) == []
    assert Dataset.open(lake, "games").n_leftover() == 0
    ingest(lake, games(60, 61))
    assert set(lake.list("games/contests")) >= {"contests.parquet", *shards(lake)}
    assert content(lake) == expected(games(0, 61))


@pytest.mark.parametrize("predecessor", [-1, 7], ids=["disk", "tombstone"])
def test_shards__are_deleted_with_the_data_set(tmp_path: Path, small: None, predecessor: int) -> None:
    lake = Lake.open(tmp_path if predecessor < 0 else f"memory://{tmp_path}", create=True)
    ingest(lake, games(0, 60))
    with hold_lease(lake, dataset_folder("games"), "delete games") as lease:
        lease.predecessor = predecessor
        Dataset.delete(lake, "games", lease)
    assert lake.list("games/contests") == ([] if predecessor < 0 else ["contests.parquet"])
    assert Dataset.names(lake) == []
