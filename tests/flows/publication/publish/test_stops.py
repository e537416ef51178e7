"""A publish that stops at any step, is killed, or has no space: complete tables, and the next one completes."""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.builders import Killed
from helpers.lakes import contest, files, ingest, lake_of, rate_run, same_tables
from helpers.life import corrected
from helpers.mounts import file_size_limit
from helpers.publishing import CONTESTS, go_on, publishing
from helpers.tables import TABLES, assert_published, contents, folder, read, rooted, same_content, versions
from helpers.timeouts import TIMEOUT

import ranklake.flows.publication.delta_table
from ranklake.flows.maintenance.verify import Verifier
from ranklake.flows.publication.delta_table import PublishedTable
from ranklake.flows.publication.publish import publish
from ranklake.flows.publication.root import LATEST, index_path, read_manifest, read_published
from ranklake.storage import DamagedError, Lake, LakeError, Run
from ranklake.storage.lake.layout import TEMPORARY_PREFIX


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

    def write_bytes(self: Lake, path: str, data: Any, **how: Any) -> None:
        if "/lease-" in path or path.endswith("/.reserve"):
            write(self, path, data, **how)
        else:
            step(path, lambda: write(self, path, data, **how))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranklake.flows.publication.delta_table, "write_deltalake", write_deltalake)
        patch.setattr(Lake, "write_bytes", write_bytes)
        yield steps


TABLE_STEPS = 6  # four tables, the plain leaderboard of the root, and its copy
INDEX_STEPS = 5  # rounds, leaderboard, contests, aliases and the root


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
    index_before, root_before = "", dict[str, pa.Table]()
    if change != "first":
        publish(lake, "run")
        before, index_before, root_before = contents(lake), index_content(lake), rooted(lake)
        new = contest("new", "nobody knew", "player 1", time_seconds=10**8)
        ingest(lake, [*CONTESTS[:29], corrected(CONTESTS[29]), new] if change == "corrected" else [*CONTESTS[:30], new])
        rate_run(lake)
    saved = files(folder(lake)) if before else {}
    with dying(-1, False, error) as steps:
        publish(lake, "run")
    assert len(steps) == TABLE_STEPS + INDEX_STEPS - (change != "first")  # the aliases stay
    whole, index_whole, root_whole = contents(lake), index_content(lake), rooted(lake)
    before = before or {name: table.slice(0, 0) for name, table in whole.items()}  # a new table is empty at first
    for at in range(len(steps)):
        restore(lake, saved)
        with dying(at, done, error), pytest.raises((Killed, LakeError, OSError)):
            publish(lake, "run")
        assert index_content(lake) in (index_before, index_whole)
        assert any(same_content(rooted(lake), state) for state in (root_before, root_whole))
        for name, table in contents(lake).items():
            assert any(same_tables(table, known[name]) for known in (before, whole) if name in known)
        publish(lake, "run")
        assert same_content(contents(lake), whole)
        assert index_content(lake) == index_whole
    assert_published(lake)


def plain_of(lake: Lake) -> str:
    """The name of the plain leaderboard that the root names."""
    root = read_published(lake, "run")
    assert root is not None
    assert root.plain is not None
    return root.plain.name


def restore(lake: Lake, saved: dict[str, bytes]) -> None:
    lake.delete_folder("published/run")
    for path, data in saved.items():
        full = folder(lake, path)
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(data)


@pytest.mark.slow
def test_publish__stopped_before_an_undone_correction_restores_the_tables(published: Lake) -> None:
    whole = contents(published)
    for at in range(TABLE_STEPS - 1):  # the players do not change
        for done in (False, True):
            ingest(published, [corrected(CONTESTS[7])])
            rate_run(published)
            with dying(at, done, Killed()), pytest.raises(Killed):
                publish(published, "run")
            go_on(published, [CONTESTS[7]])
            assert same_content(contents(published), whole)


def cut_off(lake: Lake, stops: str, n_contests: int = 31) -> None:
    """Go on with more contests, and die before the first file of a name is written."""
    ingest(lake, CONTESTS[:n_contests])
    rate_run(lake)
    write = Lake.write_bytes

    def write_bytes(self: Lake, path: str, data: Any, **how: Any) -> None:
        if stops in path:
            raise Killed
        write(self, path, data, **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lake, "write_bytes", write_bytes)
        with pytest.raises(Killed):
            publish(lake, "run")


def tear(lake: Lake) -> None:
    """Cut the newest entry of the log of the ratings, as a power cut does."""
    *_, newest = sorted(folder(lake, "ratings/_delta_log").glob("*.json"))
    newest.write_bytes(newest.read_bytes()[:20])


@pytest.mark.slow
def test_publish__a_version_that_a_power_cut_damaged_is_made_again(
    lake: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    cut_off(lake, "index.json")  # the first publish
    tear(lake)
    publish(lake, "run")
    assert "its last publish was cut off, and the tables are made again" in caplog.text
    assert_published(lake)
    before = rooted(lake)
    cut_off(lake, "index.json", 32)
    assert versions(lake)["ratings"] == 2
    tear(lake)
    assert same_content(rooted(lake), before)
    assert list(Verifier(lake).everything()) == []
    publish(lake, "run")
    assert "its last publish was cut off, and changes of ratings are made again" in caplog.text
    assert versions(lake)["ratings"] == 2
    assert read(lake, "players", 1).num_rows
    assert_published(lake)


@pytest.mark.slow
def test_maintain__removes_no_file_of_the_root_after_a_publish_that_was_cut_off(
    published: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off(published, "latest-")
    seen, vacuum = [], PublishedTable.vacuum

    def vacuumed(self: PublishedTable) -> int:
        root = read_published(published, "run")
        assert root is not None
        seen.append(self.version == root.tables.get(self._folder.rpartition("/")[2], self.version))
        return vacuum(self)

    monkeypatch.setattr(PublishedTable, "vacuum", vacuumed)
    publish(published, "run", maintain=True)
    assert seen
    assert all(seen)
    assert_published(published)


def test_publish__removes_the_incomplete_files_of_a_kill(published: Lake) -> None:
    folder(published, f"{TEMPORARY_PREFIX}0123456789abcdef").write_bytes(b"half")
    assert publish(published, "run").tables == ()
    assert sorted(path.name for path in folder(published).iterdir()) == sorted(
        [*TABLES, LATEST, plain_of(published), "index", "index.json"]
    )


def test_publish__a_damaged_segment_is_reported_and_nothing_is_committed(published: Lake) -> None:
    ingest(published, CONTESTS[:36])
    rate_run(published)
    before = versions(published)
    last = Run.open(published, "run").segments().segments[-1]
    path = Path(published.uri(f"runs/run/rounds/{last.file}"))
    path.write_bytes(b"x" * last.file_size)
    with pytest.raises(DamagedError, match=f"rounds/{last.file}: not a readable Parquet file"):
        publish(published, "run")
    assert versions(published)["ratings"] == before["ratings"]


READY = """
import sys
import ranklake.flows.publication.delta_table
print("ready", file=sys.stderr, flush=True)
"""


@pytest.mark.slow
def test_publish__killed_at_any_time_leaves_complete_tables_and_the_next_completes(lake: Lake) -> None:
    dice = random.Random(20_240_229)
    publish(lake, "run")
    known, roots, killed = [contents(lake)], [rooted(lake)], 0
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
        left, seen = contents(lake), rooted(lake)
        publish(lake, "run")
        known.append(contents(lake))
        roots.append(rooted(lake))
        assert any(same_content(seen, then) for then in roots)
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
def test_publish__a_full_disk_is_reported_in_one_line_and_a_later_publish_completes(published: Lake) -> None:
    before = contents(published)
    ingest(published, CONTESTS[:40])
    rate_run(published)
    with publishing(published, before=file_size_limit(3000)) as process:
        out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, out) == (1, b"")
    line = err.decode().splitlines()[-1]  # threads of the library may write lines before
    assert line.startswith("Error: published/run/contests: cannot write: ")
    assert "File too large" in line
    assert line.endswith("; correct the cause and publish again, or delete the folder first")
    assert same_content(contents(published), before)
    publish(published, "run")
    assert_published(published)


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
