"""Stops: after a kill, an interrupt or an error of the disk at any moment, a run continues as if undisturbed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.builders import Killed, WatchedLake
from helpers.lakes import (
    commit_often,
    files,
    lake_of,
    rate_run,
    rated_in_memory,
    same_beliefs,
    small_files,
    start,
    synthetic,
)
from helpers.timeouts import TIMEOUT

from ranklake.storage import Lake, LakeError, Run
from ranklake.storage.lake.layout import TEMPORARY_PREFIX

RATE = ("rate", "--dataset", "games", "--run", "run", "--lake")

# A few rounds a segment and some snapshots; by size only, as a slow machine would end segments by time.
SETTINGS = """
import faulthandler
faulthandler.enable()  # a crash of a library shows its thread
from ranklake.flows.rating.commits import commit_policy
commit_policy.DEFAULT = commit_policy.CommitPolicy(
    segment_rows=20, segment_seconds=float("inf"), snapshot_rows=600
)
"""

# The process is interrupted after one write, counted from 0.
INTERRUPT = """
import itertools, os, signal
import ranklake.storage.lake.access.lake
whole, writes = ranklake.storage.lake.access.lake.Lake.write_bytes, itertools.count()
def write_bytes(self, path, data, **how):
    whole(self, path, data, **how)
    if "/lease-" not in path and next(writes) == {write}:  # heartbeats come by time
        os.kill(os.getpid(), signal.SIGINT)
ranklake.storage.lake.access.lake.Lake.write_bytes = write_bytes
"""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake rated without a stop, with kernels that are compiled already: slow processes print their progress."""
    rated_in_memory(synthetic(30))
    path = tmp_path_factory.mktemp("undisturbed") / "lake"
    lake_of(path, synthetic(400, n_players=60))
    assert rate_to_the_end(path).startswith("run run: rated 400 rounds")
    return path


@pytest.fixture
def lake(tmp_path: Path, undisturbed: Path) -> Path:
    """A lake with the same contests, not rated."""
    lake_of(tmp_path / "lake", synthetic(400, n_players=60))
    return tmp_path / "lake"


@contextmanager
def rating(lake: Path, *, before: str = "", engine: str = "threads") -> Iterator[subprocess.Popen[bytes]]:
    """``ranklake rate`` in a process of its own, which ends with the block."""
    with start(*RATE, str(lake), "--engine", engine, before=SETTINGS + before) as process:
        try:
            yield process
        finally:
            process.kill()


def rate_to_the_end(lake: Path) -> str:
    with rating(lake) as process:
        out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, err) == (0, b"")
    return out.decode()


def committed(lake: Path) -> int:
    """Number of manifests, valid or not."""
    folder = lake / "runs" / "run" / "rounds"
    return sum(name.endswith(".json") for name in os.listdir(folder)) if folder.is_dir() else 0


def wait_for(process: subprocess.Popen[bytes], lake: Path, n: int) -> None:
    """Wait until ``n`` segments are committed, or the process has ended."""
    give_up = time.monotonic() + TIMEOUT
    while committed(lake) < n and process.poll() is None:
        assert time.monotonic() < give_up, f"segment {n} was not committed in {TIMEOUT} s"
        time.sleep(0.0005)  # leaves the core to the observed process


def rounds(lake: Path) -> dict[str, bytes]:
    """Segments and manifests, without temporary files of a killed process."""
    contents = files(lake / "runs" / "run" / "rounds")
    contents = {name: data for name, data in contents.items() if not name.startswith(TEMPORARY_PREFIX)}
    assert {name.rpartition(".")[2] for name in contents} <= {"json", "parquet"}
    return contents


def assert_valid_prefix(lake: Path, undisturbed: Path) -> int:
    """Check that the valid segments are the beginning of the undisturbed run; returns their number."""
    whole = rounds(undisturbed)
    if not (lake / "runs" / "run" / "run.json").exists():
        return 0
    run = Run.open(Lake.open(lake), "run")
    chain = run.segments()
    assert chain.rest == ()
    run.read_rounds(verify=True)
    found = rounds(lake)
    for segment in chain.segments:
        for name in (f"{segment.first_round:06d}.json", f"{segment.first_round:06d}.parquet"):
            assert found[name] == whole[name]
    return len(chain.segments)


def assert_as_undisturbed(lake: Path, undisturbed: Path) -> None:
    assert rounds(lake) == rounds(undisturbed)
    one, other = (Run.open(Lake.open(path), "run") for path in (lake, undisturbed))
    assert one.snapshots()[-1:] == other.snapshots()[-1:] == [399]
    assert same_beliefs(one.read_snapshot(399)[0], other.read_snapshot(399)[0])


@pytest.mark.slow
def test_rate__killed_repeatedly_ends_as_if_undisturbed(lake: Path, undisturbed: Path) -> None:
    dice = random.Random(20_210_725)
    killed = 0
    for _ in range(5):
        before = assert_valid_prefix(lake, undisturbed)
        with rating(lake, engine=dice.choice(["serial", "threads"])) as process:
            wait_for(process, lake, before + dice.randint(1, 6))
            process.kill()
            process.communicate(timeout=TIMEOUT)
        killed += process.returncode == -signal.SIGKILL
        assert assert_valid_prefix(lake, undisturbed) >= before
    assert killed >= 3
    rate_to_the_end(lake)
    assert_as_undisturbed(lake, undisturbed)


@pytest.mark.slow
def test_rate__interrupted_keeps_committed_rounds_and_reports_it(lake: Path, undisturbed: Path) -> None:
    for write in (1, 30, 41):
        with rating(lake, before=INTERRUPT.format(write=write)) as process:
            out, err = process.communicate(timeout=TIMEOUT)
        words = "interrupted; committed data stay, and the same command continues"
        assert (process.returncode, out, err.decode().strip()) == (1, b"", words)
        assert assert_valid_prefix(lake, undisturbed) > 0
        assert list((lake / "runs").rglob(".tmp-*")) == []
    kept = Run.open(Lake.open(lake), "run").segments().stop_round
    assert rate_to_the_end(lake).startswith(f"run run: kept {kept} rounds rated before, ")
    assert_as_undisturbed(lake, undisturbed)


# Every write, in this process


@pytest.fixture
def many_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    commit_often(monkeypatch, segment_rows=15, snapshot_rows=30, max_snapshots=3)
    small_files(monkeypatch, file_rows=15)


@pytest.mark.slow
@pytest.mark.usefixtures("many_small_files")
@pytest.mark.parametrize("done", [False, True], ids=["not done", "done"])
@pytest.mark.parametrize("error", [Killed(), LakeError("disk full")], ids=["dead", "refused"])
def test_rate__stopped_at_any_of_its_writes_ends_as_if_undisturbed(
    tmp_path: Path, done: bool, error: BaseException
) -> None:
    def rate_it(lake: Lake) -> None:
        for stop in (8, 12, 21):  # so that snapshots are pruned
            rate_run(lake, max_rounds=stop)

    contests = synthetic(21, n_players=10, size=8, spice=False)
    watched = WatchedLake(lake_of(tmp_path / "whole", contests))
    rate_it(watched)
    assert len(watched.writes) > 12
    assert watched.deletions  # snapshots were pruned
    whole = files(tmp_path / "whole" / "runs")
    for write in range(len(watched.writes)):
        path = tmp_path / str(write)
        lake = lake_of(path, contests)
        with pytest.raises(type(error)):
            rate_it(WatchedLake(lake, fail_at=write, done=done, error=error))
        if (path / "runs" / "run" / "run.json").exists():
            assert Run.open(lake, "run").segments().rest == ()
        rate_it(lake)
        assert rounds(path) == rounds(tmp_path / "whole")
        run = Run.open(lake, "run")
        if run.snapshots()[-1:] == [20]:  # the last one is missing if the run was complete except for it
            assert {k: v for k, v in files(path / "runs").items() if "/000020/" in k}.items() <= whole.items()
