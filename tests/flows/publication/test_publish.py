"""Published tables: complete, of one state of the run, and not written again without a change."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from click.testing import CliRunner
from deltalake import write_deltalake
from helpers.builders import Killed
from helpers.lakes import (
    commit_often,
    contest,
    copy_of,
    files,
    ingest,
    lake_of,
    rate_run,
    same_tables,
    stamps,
    start,
    synthetic,
)
from helpers.mounts import file_size_limit
from helpers.strategies import repeatable
from helpers.tables import (
    TABLES,
    assert_published,
    contents,
    delta,
    folder,
    over_years,
    read,
    same_content,
    versions,
)
from hypothesis import given
from hypothesis import strategies as st

import ranklake.flows.publication.content
import ranklake.flows.publication.delta_table
from ranklake.flows.cli.main import cli
from ranklake.flows.common.extras import MissingExtraError
from ranklake.flows.publication.content import Content
from ranklake.flows.publication.delta_table import PublishedTable
from ranklake.flows.publication.files import LATEST
from ranklake.flows.publication.index_manifest import index_path, read_manifest
from ranklake.flows.publication.publish import PublishReport, publish
from ranklake.storage import Contest, DamagedError, Dataset, Lake, LakeError, Run
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.lake.layout import TEMPORARY_PREFIX
from ranklake.storage.lake.schemas import PUBLISHED
from ranklake.storage.leases.acquire import hold_lease

TIMEOUT = 120.0  # seconds; timeout of a process
CONTESTS = over_years(synthetic(40))


@pytest.fixture(scope="module", autouse=True)
def _small_segments() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=20)
        yield


@pytest.fixture(scope="module")
def rated_once(tmp_path_factory: pytest.TempPathFactory, _small_segments: None) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("rated") / "lake", CONTESTS[:30])
    rate_run(lake)
    return lake


@pytest.fixture
def lake(tmp_path: Path, rated_once: Lake) -> Lake:
    """A lake with a run of the first 30 contests, not published."""
    return copy_of(rated_once, tmp_path / "lake")


def go_on(lake: Lake, contests: Sequence[Contest]) -> PublishReport:
    """Ingest, rate, publish."""
    ingest(lake, contests)
    rate_run(lake)
    return publish(lake, "run")


def corrected(one: Contest) -> Contest:
    """The same contest in reverse order, without ties."""
    n = len(one.handles)
    places = np.arange(n, dtype=np.int32)
    return replace(one, handles=pa.array(one.handles.to_pylist()[::-1]), lo=places, hi=places)


# Content


def test_publish__tables_have_the_content_of_the_run(lake: Lake) -> None:
    report = publish(lake, "run")
    assert_published(lake)
    assert report.tables == (*TABLES, "latest.parquet")
    assert (report.rounds, report.kept) == (30, 0)
    assert report.added == Run.open(lake, "run").read_rounds().num_rows
    assert {name: delta(lake, name).version() for name in TABLES} == dict.fromkeys(TABLES, 1)


def test_publish__deviations_change_the_display_ratings_in_all_tables(lake: Lake) -> None:
    publish(lake, "run")
    report = publish(lake, "run", deviations=1.5)
    assert_published(lake, deviations=1.5)
    assert report.kept == 0
    assert report.tables == ("ratings", "leaderboard", "latest.parquet")
    publish(lake, "run")
    assert_published(lake)


@pytest.mark.parametrize("system", ["elo", "codeforces"])
def test_publish__supports_systems_without_performances_and_with_offsets(lake: Lake, system: str) -> None:
    rate_run(lake, run="other", system=system, max_rounds=20)
    publish(lake, "other")
    rate_run(lake, run="other", system=system)
    publish(lake, "other")
    assert_published(lake, "other")
    assert (pc.all(pc.is_null(read(lake, "ratings", run="other").column("perf"))).as_py()) == (system == "elo")


def test_publish__ratings_are_partitioned_by_year(lake: Lake) -> None:
    publish(lake, "run")
    table = delta(lake, "ratings")
    assert table.metadata().partition_columns == ["year"]
    assert {path.name for path in folder(lake, "ratings").glob("year=*")} == {"year=1970", "year=1971", "year=1972"}
    assert set(read(lake, "ratings").column("year").to_pylist()) == {1970, 1971, 1972}


def test_publish__contests_outside_the_calendar_have_no_year(tmp_path: Path) -> None:
    times = [-(10**14), -1, 0, 253_402_300_799, 253_402_300_800, 10**14]
    lake = lake_of(tmp_path, [contest(str(i), "ada", "bob", time_seconds=t) for i, t in enumerate(times)])
    rate_run(lake)
    publish(lake, "run")
    rows = read(lake, "ratings").to_pylist()
    assert [row["year"] for row in rows[::2]] == [None, 1969, 1970, 9999, None, None]
    assert [row["time_seconds"] for row in rows[::2]] == times


def test_publish__columns_have_a_meaning_and_a_unit(lake: Lake) -> None:
    publish(lake, "run")
    for name in TABLES:
        schema = pa.schema(delta(lake, name).schema().to_arrow())
        assert sorted(schema.names) == sorted(PUBLISHED[name].names)
        assert all(field.metadata[b"meaning"] for field in schema)
    assert pa.schema(delta(lake, "ratings").schema().to_arrow()).field("mu").metadata[b"unit"] == b"rating points"


def test_publish__supports_spaces_and_letters_in_the_path(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "Wettkämpfe 2024 (alle)", CONTESTS[:10])
    rate_run(lake)
    publish(lake, "run")
    go_on(lake, CONTESTS[:12])
    publish(lake, "run", maintain=True)
    assert_published(lake)


@pytest.mark.parametrize("name", ["#1", "100%20", "a?", "[x]"])
def test_publish__refuses_a_path_that_the_library_does_not_support(tmp_path: Path, name: str) -> None:
    lake = lake_of(tmp_path / name, CONTESTS[:5])
    rate_run(lake)
    with pytest.raises(LakeError, match=r"Delta tables cannot be written where a name has .*; move the lake"):
        publish(lake, "run")
    assert not folder(lake).exists()


# Incremental publishing


def test_publish__only_new_rounds_are_added(lake: Lake) -> None:
    publish(lake, "run")
    before = stamps(folder(lake, "ratings"))
    report = go_on(lake, CONTESTS[:31])
    assert_published(lake)
    assert (report.rounds, report.kept, report.added) == (31, 30, len(CONTESTS[30].handles))
    assert versions(lake) == {"players": 1, "contests": 2, "ratings": 2, "leaderboard": 2}
    after = stamps(folder(lake, "ratings"))
    assert before.items() <= after.items()
    added = [name for name in after.keys() - before.keys() if name.endswith(".parquet")]
    assert [name.partition("/")[0] for name in added] == ["year=1972"]
    assert len(delta(lake, "leaderboard").history()) == 3


def test_publish__new_players_are_added(lake: Lake) -> None:
    publish(lake, "run")
    before = stamps(folder(lake, "players"))
    report = go_on(lake, [*CONTESTS[:30], contest("new", "nobody knew", "player 1", time_seconds=10**8)])
    assert "players" in report.tables
    assert before.items() <= stamps(folder(lake, "players")).items()
    assert read(lake, "players").column("handle").to_pylist()[-1] == "nobody knew"
    assert_published(lake)


def test_publish__without_a_change_writes_nothing(lake: Lake) -> None:
    publish(lake, "run")
    before = stamps(folder(lake))
    report = publish(lake, "run", maintain=True)
    assert stamps(folder(lake)) == before
    assert (report.rounds, report.kept, report.added, report.tables) == (30, 30, 0, ())


def test_publish__after_a_correction_replaces_later_rows_in_one_commit(lake: Lake) -> None:
    publish(lake, "run")
    before = stamps(folder(lake, "ratings"))
    report = go_on(lake, [*CONTESTS[:27], corrected(CONTESTS[27]), *CONTESTS[28:30]])
    assert_published(lake)
    assert (report.rounds, report.kept) == (30, 27)
    assert report.added == Run.open(lake, "run").read_rounds(27).num_rows
    assert versions(lake) == {"players": 1, "contests": 2, "ratings": 2, "leaderboard": 2}
    (commit,) = delta(lake, "ratings").history(1)
    assert commit["operationParameters"]["predicate"] == "round_index >= 27"
    files_now = {str(Path(uri).relative_to(folder(lake, "ratings"))) for uri in delta(lake, "ratings").file_uris()}
    untouched = {name for name in before if name.startswith(("year=1970", "year=1971"))}
    assert untouched <= files_now
    assert before.items() <= stamps(folder(lake, "ratings")).items()  # the earlier version is readable


def test_publish__an_undone_unpublished_correction_is_no_change(lake: Lake) -> None:
    publish(lake, "run")
    ingest(lake, [corrected(CONTESTS[3])])
    rate_run(lake)
    before = stamps(folder(lake))
    report = go_on(lake, CONTESTS[:30])
    assert (report.kept, report.tables) == (30, ())
    assert stamps(folder(lake)) == before


def test_publish__an_undone_correction_restores_the_tables(lake: Lake) -> None:
    publish(lake, "run")
    whole = contents(lake)
    assert go_on(lake, [corrected(CONTESTS[21])]).kept == 21
    assert not same_content(contents(lake), whole)
    assert go_on(lake, [CONTESTS[21]]).kept == 21
    assert same_content(contents(lake), whole)
    assert_published(lake)


def test_publish__removed_rounds_are_removed_from_the_tables(lake: Lake) -> None:
    publish(lake, "run")
    kept = Run.open(lake, "run").truncate(15).stop_round
    report = publish(lake, "run")
    assert (report.rounds, report.kept, report.added) == (kept, kept, 0)
    assert_published(lake)


def test_publish__earlier_versions_can_be_read(lake: Lake) -> None:
    result = []
    for stop in (30, 33, 36):
        go_on(lake, CONTESTS[:stop])
        result.append(contents(lake))
    for version, then in enumerate(result, 1):
        for name in ("contests", "ratings", "leaderboard"):
            assert same_tables(read(lake, name, version), then[name])
    assert len({table["ratings"].num_rows for table in result}) == 3


def test_publish__a_changed_time_is_published_before_the_next_rating(lake: Lake) -> None:
    publish(lake, "run")
    ingest(lake, [replace(CONTESTS[28], time_seconds=CONTESTS[28].time_seconds + 400 * 86_400)])
    assert publish(lake, "run").kept == 28
    assert_published(lake)
    ingest(lake, [CONTESTS[28]])
    assert publish(lake, "run").kept == 28
    assert_published(lake)


def test_publish__inserted_and_removed_contests_are_not_confused_with_rated_ones(lake: Lake) -> None:
    publish(lake, "run")
    before = contents(lake)
    ingest(lake, [CONTESTS[0], contest("between", "ada", "bob", time_seconds=1), *CONTESTS[1:30]])
    assert publish(lake, "run").tables == ("players",)
    assert same_tables(read(lake, "ratings"), before["ratings"])
    with Dataset.ingest(lake, "games") as changing:
        changing.remove(CONTESTS[9].contest_id)
    assert publish(lake, "run").kept == 9
    assert_published(lake)
    gone = [row for row in read(lake, "ratings").to_pylist() if row["round_index"] == 9]
    assert {(row["contest_id"], row["time_seconds"], row["year"]) for row in gone} == {("9", None, None)}
    assert read(lake, "contests").to_pylist()[9]["name"] is None
    rate_run(lake)
    publish(lake, "run")
    assert_published(lake)
    assert "9" not in read(lake, "contests").column("contest_id").to_pylist()


def test_publish__a_new_name_of_a_contest_is_a_new_version_of_contests_only(lake: Lake) -> None:
    publish(lake, "run")
    assert go_on(lake, [replace(CONTESTS[2], name="Spring Cup")]).tables == ("contests",)
    assert read(lake, "contests").column("name").to_pylist()[2] == "Spring Cup"
    assert_published(lake)


def test_publish__other_numbers_of_players_replace_all_tables(tmp_path: Path) -> None:
    contests = [contest("0", "ada", "bob", "cyd"), contest("1", "bob", "ada", "cyd", time_seconds=1)]
    lake = lake_of(tmp_path, contests)
    rate_run(lake)
    publish(lake, "run")
    lake.delete_folder("games")
    Run.open(lake, "run").delete()
    ingest(lake, [contest("x", "cyd", "bob", "ada"), *contests])
    with Dataset.ingest(lake, "games") as changing:
        changing.remove("x")
    rate_run(lake)
    assert publish(lake, "run").kept == 0
    assert_published(lake)


@pytest.mark.slow
@repeatable(12)
@given(data=st.data())
def test_publish__after_any_changes_has_the_current_state(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lake = lake_of(tmp_path_factory.mktemp("lake"), CONTESTS[:4])
    now = CONTESTS[:4]
    moves = st.sampled_from(["add", "correct", "undo", "shorten", "publish", "publish", "maintain"])
    for move in [*data.draw(st.lists(moves, max_size=9)), "publish"]:
        if move == "add":
            now = now + CONTESTS[len(now) : len(now) + data.draw(st.integers(1, 4))]
        elif move in ("correct", "undo"):
            at = data.draw(st.integers(0, len(now) - 1))
            now = [*now[:at], corrected(CONTESTS[at]) if move == "correct" else CONTESTS[at], *now[at + 1 :]]
        elif move == "shorten":  # as after a crash of the next rating
            rate_run(lake)
            Run.open(lake, "run").truncate(data.draw(st.integers(1, len(now))))
            if Run.open(lake, "run").read_rounds().num_rows:
                publish(lake, "run")
                assert_published(lake)
        else:
            ingest(lake, now)
            rate_run(lake)
            publish(lake, "run", maintain=move == "maintain")
            assert_published(lake)


# Another release


@pytest.mark.parametrize("corrections", [[], [CONTESTS[20]]], ids=["added", "corrected"])
def test_publish__a_column_of_a_later_release_is_null_in_earlier_rows(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, corrections: list[Contest]
) -> None:
    publish(lake, "run")
    old = read(lake, "ratings")
    later_release(monkeypatch)
    report = go_on(lake, [*CONTESTS[:20], *map(corrected, corrections), *CONTESTS[20 + len(corrections) : 33]])
    assert report.kept == (20 if corrections else 30)
    rows = read(lake, "ratings")
    kept = rows.filter(pc.less(rows.column("round_index"), report.kept)).select(old.column_names)
    assert same_tables(kept, old.filter(pc.less(old.column("round_index"), report.kept)))
    assert all((row["surprise"] is None) == (row["round_index"] < report.kept) for row in rows.to_pylist())
    assert same_tables(read(lake, "ratings", 1), old)
    assert publish(lake, "run", maintain=True).tables == ()
    assert same_tables(read(lake, "ratings"), rows)


def later_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ratings have an additional column from now on."""
    today, now = PUBLISHED["ratings"], ranklake.flows.publication.content.Content.ratings
    schema = today.append(pa.field("surprise", pa.float64(), metadata={"meaning": "how odd it was"}))

    def ratings(self: Content, begin: int) -> Iterator[pa.RecordBatch]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(PUBLISHED, "ratings", today)
            batches = list(now(self, begin))
        for batch in batches:
            surprise = pc.subtract(batch.column("perf"), batch.column("mu_prior"))
            yield pa.record_batch([*batch.columns, surprise], schema=schema)

    monkeypatch.setitem(PUBLISHED, "ratings", schema)
    monkeypatch.setattr(ranklake.flows.publication.content.Content, "ratings", ratings)


def test_publish__tables_of_a_release_with_other_rows_are_replaced(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(lake, "run")
    monkeypatch.setattr(ranklake.flows.publication.content, "_MEANING", 2)
    assert publish(lake, "run").kept == 0
    assert publish(lake, "run").tables == ()
    assert_published(lake)


def test_publish__a_table_changed_by_another_program_is_replaced(lake: Lake) -> None:
    publish(lake, "run")
    for name in TABLES:
        write_deltalake(delta(lake, name), delta(lake, name).to_pyarrow_table().slice(0, 1), mode="append")
    assert publish(lake, "run").tables == (*TABLES, "latest.parquet")
    assert_published(lake)


def test_publish__a_table_compacted_by_another_program_is_kept(lake: Lake) -> None:
    publish(lake, "run")
    go_on(lake, CONTESTS[:31])
    delta(lake, "ratings").optimize.compact()
    delta(lake, "ratings").vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert publish(lake, "run").tables == ()
    assert go_on(lake, CONTESTS[:32]).kept == 31
    assert_published(lake)


# Maintenance


def test_maintain__merges_small_files_and_changes_nothing_for_readers(lake: Lake) -> None:
    for stop in (30, 31, 32, 33):
        go_on(lake, CONTESTS[:stop])
    before, n_files = contents(lake), len(delta(lake, "ratings").file_uris())
    report = publish(lake, "run", maintain=True)
    assert report.merged > 0
    assert f"{report.merged} small files merged" in report.line()
    assert len(delta(lake, "ratings").file_uris()) == 3 < n_files
    assert same_content(contents(lake), before)
    assert same_tables(read(lake, "ratings", 4), before["ratings"])  # versions of the last week stay
    stamped = stamps(folder(lake))
    report = publish(lake, "run", maintain=True)
    assert (report.merged, report.removed, report.tables) == (0, 0, ())
    assert stamps(folder(lake)) == stamped
    assert go_on(lake, CONTESTS[:34]).kept == 33
    assert_published(lake)


def test_maintain__removes_unreferenced_files_after_a_week(lake: Lake) -> None:
    publish(lake, "run")
    left = folder(lake, "ratings") / "year=1971"
    for age_days in (6, 8):
        path = left / f"part-00000-left-by-a-crash-{age_days}.parquet"
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age_days * 86_400,) * 2)
    report = publish(lake, "run", maintain=True)
    assert report.removed == 1
    assert report.line().endswith("; 1 old files removed")
    assert [path.name for path in left.glob("*crash*")] == ["part-00000-left-by-a-crash-6.parquet"]
    assert publish(lake, "run").tables == ()
    assert_published(lake)


# Stops


@contextmanager
def dying(at: int, done: bool, error: BaseException) -> Iterator[list[str]]:
    """Fail before or after one of the commits and files of a publish, counted from 0; returns their names."""
    commit, write, steps = ranklake.flows.publication.delta_table.write_deltalake, Lake.write_bytes, []

    def step(name: str, do: Callable[[], None]) -> None:
        steps.append(name)
        if len(steps) - 1 != at:
            do()
            return
        if done:
            do()
        raise error

    def write_deltalake(table: Any, rows: Any, **how: Any) -> None:
        step(how["mode"], lambda: commit(table, rows, **how))

    def write_bytes(self: Lake, path: str, data: Any, **how: str) -> None:
        if "/lease-" in path:
            write(self, path, data, **how)
        else:
            step(path, lambda: write(self, path, data, **how))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranklake.flows.publication.delta_table, "write_deltalake", write_deltalake)
        patch.setattr(Lake, "write_bytes", write_bytes)
        yield steps


TABLE_STEPS = 6  # four tables, the plain file, and the file with its version
INDEX_STEPS = 5  # rounds, leaderboard, contests, aliases and the manifest


def index_content(lake: Lake) -> str:
    """The digest of all content of the index; empty if there is no index."""
    return read_manifest(lake, "run").content if lake.exists(index_path("run")) else ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "done"),
    [(Killed(), False), (Killed(), True), (OSError(28, "No space left on device"), False)],
    ids=["dead-before", "dead-after", "refused"],
)
@pytest.mark.parametrize("change", ["first", "added", "corrected"])
def test_publish__stopped_at_any_step_leaves_complete_tables_and_the_next_completes(
    lake: Lake, change: str, error: BaseException, done: bool
) -> None:
    before: dict[str, pa.Table] = {}
    index_before = ""
    if change != "first":
        publish(lake, "run")
        before, index_before = contents(lake), index_content(lake)
        new = contest("new", "nobody knew", "player 1", time_seconds=10**8)
        ingest(lake, [*CONTESTS[:29], corrected(CONTESTS[29]), new] if change == "corrected" else [*CONTESTS[:30], new])
        rate_run(lake)
    saved = files(folder(lake)) if before else {}
    with dying(-1, False, error) as steps:
        publish(lake, "run")
    assert len(steps) == TABLE_STEPS + INDEX_STEPS - (change != "first")  # the aliases stay
    whole, index_whole = contents(lake), index_content(lake)
    before = before or {name: table.slice(0, 0) for name, table in whole.items()}  # a new table is empty at first
    for at in range(len(steps)):
        restore(lake, saved)
        with dying(at, done, error), pytest.raises((Killed, LakeError, OSError)):
            publish(lake, "run")
        assert index_content(lake) in (index_before, index_whole)
        for name, table in contents(lake).items():
            assert any(same_tables(table, known[name]) for known in (before, whole) if name in known)
        publish(lake, "run")
        assert same_content(contents(lake), whole)
        assert index_content(lake) == index_whole
    assert_published(lake)


def restore(lake: Lake, saved: dict[str, bytes]) -> None:
    lake.delete_folder("published/run")
    for path, data in saved.items():
        full = folder(lake, path)
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(data)


@pytest.mark.slow
def test_publish__stopped_before_an_undone_correction_restores_the_tables(lake: Lake) -> None:
    publish(lake, "run")
    whole = contents(lake)
    for at in range(TABLE_STEPS - 1):  # the players do not change
        for done in (False, True):
            ingest(lake, [corrected(CONTESTS[7])])
            rate_run(lake)
            with dying(at, done, Killed()), pytest.raises(Killed):
                publish(lake, "run")
            go_on(lake, [CONTESTS[7]])
            assert same_content(contents(lake), whole)


def test_publish__removes_the_incomplete_files_of_a_kill(lake: Lake) -> None:
    publish(lake, "run")
    folder(lake, f"{TEMPORARY_PREFIX}0123456789abcdef").write_bytes(b"half")
    assert publish(lake, "run").tables == ()
    assert sorted(path.name for path in folder(lake).iterdir()) == sorted(
        [*TABLES, LATEST, "latest.json", "index", "index.json"]
    )


def test_publish__a_damaged_segment_is_reported_and_nothing_is_committed(lake: Lake) -> None:
    publish(lake, "run")
    ingest(lake, CONTESTS[:36])
    rate_run(lake)
    before = versions(lake)
    last = Run.open(lake, "run").segments().segments[-1]
    path = Path(lake.uri(f"runs/run/rounds/{last.file}"))
    path.write_bytes(b"x" * last.file_size)
    with pytest.raises(DamagedError, match=f"rounds/{last.file}: not a readable Parquet file"):
        publish(lake, "run")
    assert versions(lake)["ratings"] == before["ratings"]


READY = """
import sys
import ranklake.flows.publication.delta_table
print("ready", file=sys.stderr, flush=True)
"""


@contextmanager
def publishing(lake: Lake, *, before: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """``ranklake publish`` in a process that ends with the block."""
    with start("publish", "--run", "run", "--lake", lake.url, before=before) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_publish__killed_at_any_time_leaves_complete_tables_and_the_next_completes(lake: Lake) -> None:
    dice = random.Random(20_240_229)
    publish(lake, "run")
    known, killed = [contents(lake)], 0
    for round_ in range(5):
        at = 3 * round_
        ingest(lake, [*CONTESTS[:at], corrected(CONTESTS[at]), *CONTESTS[at + 1 : 31 + round_]])
        rate_run(lake)
        with publishing(lake, before=READY) as process:
            assert process.stderr is not None
            assert process.stderr.readline() == b"ready\n"
            try:
                process.wait(timeout=dice.uniform(0.02, 0.25))
            except subprocess.TimeoutExpired:
                process.kill()
            process.communicate(timeout=TIMEOUT)
        killed += process.returncode == -signal.SIGKILL
        left = contents(lake)
        publish(lake, "run")
        known.append(contents(lake))
        for name, table in left.items():
            assert any(same_tables(table, then[name]) for then in known)
        assert_published(lake)
        undisturbed = lake_of(Path(lake.url).with_name(f"undisturbed {round_}"), [])
        undisturbed = lake_like(lake, undisturbed)
        assert same_content(contents(undisturbed), known[-1])
    assert killed >= 2
    assert list(folder(lake).glob(".tmp-*")) == []


def lake_like(lake: Lake, empty: Lake) -> Lake:
    """A lake with the same data set and run, published once."""
    for part in ("games", "runs"):
        for path, data in files(Path(lake.uri(part))).items():
            empty.write_bytes(f"{part}/{path}", data)
    publish(empty, "run")
    return empty


@pytest.mark.slow
def test_publish__a_full_disk_is_reported_in_one_line_and_a_later_publish_completes(lake: Lake) -> None:
    publish(lake, "run")
    before = contents(lake)
    ingest(lake, CONTESTS[:40])
    rate_run(lake)
    with publishing(lake, before=file_size_limit(3000)) as process:
        out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, out) == (1, b"")
    line = err.decode().splitlines()[-1]  # threads of the library may write lines before
    assert line.startswith("Error: published/run/contests: cannot write: ")
    assert "File too large" in line
    assert line.endswith("; correct the cause and publish again, or delete the folder first")
    assert same_content(contents(lake), before)
    publish(lake, "run")
    assert_published(lake)


def test_publish__a_multiline_error_of_the_library_becomes_one_line(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_deltalake(*_: Any, **__: Any) -> None:
        raise OSError(
            "Store error\n          \x1b[31m↳\x1b[0m Cannot copy\n           \x1b[31m↳\x1b[0m No space left\n"
        )

    monkeypatch.setattr(ranklake.flows.publication.delta_table, "write_deltalake", write_deltalake)
    with pytest.raises(LakeError, match="cannot write: Store error: Cannot copy: No space left; correct"):
        publish(lake, "run")


# Concurrent writers


def test_publish__does_not_wait_for_a_rating(lake: Lake) -> None:
    with hold_lease(lake, "runs/run", "rate run"), pytest.raises(LeaseHeldError, match="rate run"):
        publish(lake, "run")
    assert not folder(lake).exists()
    publish(lake, "run")
    with pytest.raises(LeaseHeldError, match="took over"), hold_lease(lake, "runs/run", "rate run"):
        publish(lake, "run", steal=True)


def test_publish__stops_after_the_loss_of_its_lease(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = ranklake.flows.publication.delta_table.write_deltalake

    def write_deltalake(table: Any, rows: Any, **how: Any) -> None:
        monkeypatch.setattr(ranklake.flows.publication.delta_table, "write_deltalake", commit)
        commit(table, rows, **how)
        publish(lake, "run", steal=True)

    monkeypatch.setattr(ranklake.flows.publication.delta_table, "write_deltalake", write_deltalake)
    with pytest.raises(LeaseHeldError, match="took over"):
        publish(lake, "run")
    assert versions(lake) == dict.fromkeys(TABLES, 1)
    assert_published(lake)


def test_publish__one_of_two_concurrent_appends_fails(lake: Lake) -> None:
    publish(lake, "run")
    one, other = (PublishedTable(lake, "published/run/players", PUBLISHED["players"]) for _ in range(2))
    rows = pa.table({"player": pa.array([99], pa.int32()), "handle": ["late"]}, schema=PUBLISHED["players"])
    one.append(rows.to_batches(), {"rows": 0})
    with pytest.raises(LakeError, match=r"published/run/players: cannot write: .*transaction"):
        other.append(rows.to_batches(), {"rows": 0})


# Damage and wrong use


def damage(lake: Lake, name: str, how: str) -> None:
    log = folder(lake, name) / "_delta_log" / f"{0:020}.json"
    data = Path(delta(lake, name).file_uris()[0])
    if how == "torn log":
        log.write_bytes(log.read_bytes()[:100])
    elif how == "empty log":
        log.write_bytes(b"")
    elif how == "no data":
        data.unlink()
    elif how == "torn data":
        data.write_bytes(data.read_bytes()[:50])
    else:
        data.write_bytes(b"x" * data.stat().st_size)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("players", "torn log"),
        ("contests", "empty log"),
        ("ratings", "no data"),
        ("ratings", "torn log"),
        ("leaderboard", "torn data"),
    ],
)
def test_publish__a_damaged_table_is_reported_with_the_remedy(lake: Lake, name: str, how: str) -> None:
    publish(lake, "run")
    damage(lake, name, how)
    before = files(folder(lake))
    with pytest.raises(LakeError) as caught:
        publish(lake, "run")
    message = str(caught.value)
    assert message.startswith(f"published/run/{name}: damaged table, ")
    assert message.endswith("; `ranklake publish --run run --afresh` makes it again")
    assert "\n" not in message
    assert files(folder(lake)) == before
    publish(lake, "run", rebuild=True)
    assert_published(lake)


def test_publish__a_leaderboard_with_other_bytes_is_reported(lake: Lake) -> None:
    publish(lake, "run")
    damage(lake, "leaderboard", "other data")
    with pytest.raises(DamagedError, match=r"published/run/leaderboard: damaged table, .*--afresh`"):
        go_on(lake, CONTESTS[:31])


@pytest.mark.parametrize("how", ["removed", "torn", "of another version", "unknown"])
def test_publish__an_outdated_plain_leaderboard_is_written_again(lake: Lake, how: str) -> None:
    publish(lake, "run")
    latest, result = folder(lake, "latest.parquet"), folder(lake, "latest.json")
    before = latest.read_bytes()
    if how == "removed":
        latest.unlink()
    elif how == "torn":
        latest.write_bytes(latest.read_bytes()[:-7])
    elif how == "of another version":
        result.write_text(json.dumps({"version": 7, "size": latest.stat().st_size}))
    else:
        result.write_bytes(b"{")
    assert publish(lake, "run").tables == ("latest.parquet",)
    assert latest.read_bytes() == before
    assert_published(lake)
    assert publish(lake, "run").tables == ()


def test_publish__a_run_without_rounds_is_refused(lake: Lake) -> None:
    rate_run(lake, run="empty", max_rounds=0)
    with pytest.raises(LakeError, match=r"run empty has no rated rounds yet; `ranklake rate --run empty` makes them"):
        publish(lake, "empty")
    with pytest.raises(LakeError, match="no run 'nobody'"):
        publish(lake, "nobody")
    assert not Path(lake.uri("runs/nobody")).exists()


def test_publish__without_the_package_names_it(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(MissingExtraError) as caught:
        publish(lake, "run")
    assert str(caught.value) == "publishing needs the package deltalake: pip install 'ranklake[publish]'"


def test_publish_command__without_the_package_ends_with_one_line(lake: Lake) -> None:
    with publishing(lake, before="sys.modules['deltalake'] = None") as process:
        out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, out) == (1, b"")
    assert err == b"Error: publishing needs the package deltalake: pip install 'ranklake[publish]'\n"


def test_publish_command__reports_in_one_line(lake: Lake) -> None:
    def said(*more: str) -> str:
        done = CliRunner().invoke(cli, ["publish", "--run", "run", "--lake", lake.url, *more], catch_exceptions=False)
        assert done.exit_code == 0
        return done.output

    assert said().startswith("run run: published 30 rounds, ")
    assert said() == "run run: 30 rounds are published already\n"
    ingest(lake, CONTESTS[:31])
    rate_run(lake)
    line = said("--maintain")
    assert line.startswith("run run: published 31 rounds, 30 of them published before and unchanged, ")
    assert line.count("\n") == 1
    assert "; new versions of contests, ratings, leaderboard, latest.parquet; " in line
    assert " small files merged" in line
    said("--deviations", "0")
    assert_published(lake, deviations=0.0)


def test_publish_command__needs_a_valid_name_of_a_run(lake: Lake) -> None:
    done = CliRunner().invoke(cli, ["publish", "--run", "../x", "--lake", lake.url], standalone_mode=True)
    assert done.exit_code == 2


def test_import__delta_is_imported_only_for_publishing() -> None:
    code = "import sys, ranklake.flows.cli.main, ranklake.flows.publication.publish; print('deltalake' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
