"""Snapshots of beliefs, and damaged files: an older snapshot is used, and rounds are rated again or reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.lakes import (
    commit_often,
    files,
    ingest,
    lake_of,
    rate_run,
    rated,
    same_beliefs,
    same_tables,
    stamps,
    synthetic,
)
from helpers.rated_runs import CONTESTS_MADE, changed, folder, fresh, manifests, remove, tear

import ranklake.flows.rating.commits.commit_policy
import ranklake.flows.rating.rate
from ranklake.storage import DamagedError, Dataset, FormatError, Lake, LakeError, Run
from ranklake.storage.lake.access.lake import digest_of
from ranklake.storage.lake.parquet import encode


@pytest.fixture
def snapshots_often(monkeypatch: pytest.MonkeyPatch) -> None:
    commit_often(monkeypatch, snapshot_rows=100, max_snapshots=4)


def test_rate__the_end_of_a_run_has_a_snapshot(undisturbed: Lake) -> None:
    assert Run.open(undisturbed, "run").snapshots() == [59]
    columns, digest = Run.open(undisturbed, "run").read_snapshot(59)
    assert digest == Run.open(undisturbed, "run").segments().last_digest
    rows = rated(undisturbed).to_pylist()
    handles = Dataset.open(undisturbed, "games").handles().to_pylist()
    last = {row["player"]: row for row in rows}
    for player, handle in enumerate(handles):
        if handle in last:
            assert columns["mu"][player] == last[handle]["mu"]
            assert columns["n_rounds"][player] == last[handle]["n_before"] + 1


@pytest.mark.bound(
    "ranklake.flows.rating.commits.commit_policy.DEFAULT.snapshot_rows",
    "ranklake.flows.rating.commits.commit_policy.DEFAULT.max_snapshots",
)
@pytest.mark.usefixtures("snapshots_often")
def test_rate__takes_snapshots_and_prunes_old_ones(lake: Lake) -> None:
    rate_run(lake)
    found = Run.open(lake, "run").snapshots()
    assert len(found) == 4
    assert found[-1] == 59
    ends = np.cumsum(Dataset.open(lake, "games").contests.column("n_players").to_numpy())[found]
    assert all(100 <= rows <= 150 for rows in np.diff(ends, prepend=0)[:-1])
    assert {number + 1 for number in found} <= {s.stop_round for s in Run.open(lake, "run").segments().segments}
    assert sorted(path.name for path in folder(lake, "snapshots").iterdir()) == [f"{n:06d}" for n in found]


@pytest.mark.slow
@pytest.mark.usefixtures("snapshots_often")
def test_rate__a_growing_run_keeps_snapshots_over_its_history(lake: Lake) -> None:
    for stop in range(1, 61):
        rate_run(lake, max_rounds=stop)
    run = Run.open(lake, "run")
    *older, last_but_one, last = run.snapshots()
    assert (last_but_one, last) == (58, 59)
    assert len(older) == 2
    ends = np.cumsum(Dataset.open(lake, "games").contests.column("n_players").to_numpy())
    assert all(60 <= rows <= 240 for rows in np.diff(ends[[*older, last]], prepend=0))


def test_rate__a_slow_system_has_a_snapshot_every_few_seconds(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_often(monkeypatch, snapshot_seconds=5.0)
    monkeypatch.setattr(ranklake.flows.rating.commits.commit_policy, "_STOPS", 30_000)
    clock = iter(range(0, 10_000, 2))  # each reading of the clock is two seconds later
    monkeypatch.setattr(ranklake.flows.rating.rate.time, "perf_counter", lambda: float(next(clock)))
    rate_run(lake)
    assert len(Run.open(lake, "run").snapshots()) > 4


@pytest.mark.slow
@pytest.mark.usefixtures("snapshots_often")
@pytest.mark.parametrize("keep", [0, 1, 2, 3])
def test_rate__beliefs_from_a_snapshot_are_those_of_the_whole_history(tmp_path: Path, keep: int) -> None:
    contests = synthetic(80, seed=6)
    lake = lake_of(tmp_path / "lake", contests[:60])
    rate_run(lake, rho=0.3)
    Run.open(lake, "run").prune_snapshots(keep)
    ingest(lake, contests[57:])  # 57 to 59 are unchanged
    report = rate_run(lake, rho=0.3)
    assert (report.kept, report.replayed, report.rated) == (60, 0 if keep else 60, 20)
    assert same_tables(rated(lake), rated(fresh(tmp_path, contests, rho=0.3)))


@pytest.mark.slow
@pytest.mark.usefixtures("snapshots_often")
def test_rate__a_correction_resumes_from_the_newest_snapshot_before_it(tmp_path: Path, lake: Lake) -> None:
    rate_run(lake)
    *_, older, newer, _ = Run.open(lake, "run").snapshots()
    at = newer + 2
    corrected = changed(CONTESTS_MADE[at])["weight"]
    ingest(lake, [corrected])
    report = rate_run(lake)
    assert newer < report.kept <= at
    assert report.replayed == report.kept - newer - 1 < report.kept
    contests = [*CONTESTS_MADE[:at], corrected, *CONTESTS_MADE[at + 1 :]]
    assert same_tables(rated(lake), rated(fresh(tmp_path, contests)))
    assert older < newer


@pytest.mark.slow
@pytest.mark.usefixtures("snapshots_often")
def test_rate__a_snapshot_of_another_history_is_not_used(lake: Lake, undisturbed: Lake) -> None:
    rate_run(lake, max_rounds=30)
    run = Run.open(lake, "run")
    last = run.snapshots()[-1]
    columns, _ = run.read_snapshot(last)
    columns["mu"][:] = 0.0
    run.write_snapshot(last, columns, "0" * 32)
    assert rate_run(lake).replayed > 0
    assert same_tables(rated(lake), rated(undisturbed))


@pytest.mark.quick("manifest.json-tear")
@pytest.mark.parametrize("damage", [remove, tear])
@pytest.mark.parametrize("name", ["part-0000.arrow", "manifest.json"])
def test_rate__a_damaged_snapshot_is_reported_and_an_older_one_used(
    lake: Lake, undisturbed: Lake, name: str, damage: Any
) -> None:
    rate_run(lake, max_rounds=20)
    rate_run(lake, max_rounds=30)
    damage(folder(lake, "snapshots") / "000029" / name)
    report = rate_run(lake)
    assert report.replayed == 10
    if (name, damage) != ("manifest.json", remove):  # without its manifest, a snapshot is not committed
        assert report.line().endswith("; damaged snapshot removed, an older one used: runs/run/snapshots/000029")
    assert Run.open(lake, "run").snapshots() == [19, 59]
    assert same_tables(rated(lake), rated(undisturbed))


def test_rate__a_snapshot_of_a_newer_format_is_an_error(lake: Lake) -> None:
    rate_run(lake, max_rounds=30)
    path = folder(lake, "snapshots") / "000029" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 3}))
    with pytest.raises(FormatError, match=r"snapshots/000029/manifest\.json is format 3, .*; update ranklake"):
        rate_run(lake)


@pytest.mark.slow
def test_rate__snapshots_do_not_make_segments_depend_on_interruptions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # skipped rounds count for standings files and not for segments: these end at different rounds
    commit_often(monkeypatch, snapshot_rows=100)
    lake = lake_of(tmp_path / "lake", synthetic(80, seed=9))
    rate_run(lake)
    undisturbed = files(folder(lake))
    for last in range(1, 12):
        run = Run.open(lake, "run")
        run.truncate(run.segments().segments[last].first_round)
        rate_run(lake)
        assert files(folder(lake)) == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("where", ["first", "middle", "last"])
@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("damage", [remove, tear])
@pytest.mark.parametrize("snapshots", ["with", "without"])
def test_rate__a_damaged_segment_is_rated_again_with_all_after_it(
    lake: Lake, undisturbed: Lake, where: str, suffix: str, damage: Any, snapshots: str
) -> None:
    rate_run(lake)
    found = manifests(lake)
    path = found[{"first": 0, "middle": len(found) // 2, "last": -1}[where]]
    damage(path.with_suffix(suffix))
    if snapshots == "without":
        Run.open(lake, "run").prune_snapshots(0)
    report = rate_run(lake)
    assert report.kept == report.replayed == int(path.stem)
    assert report.rated == 60 - report.kept
    if not (damage is remove and suffix == ".json" and where == "last"):  # an uncommitted round
        assert report.why
    assert files(folder(lake)) == files(folder(undisturbed))
    assert Run.open(lake, "run").snapshots() == [59]
    assert same_beliefs(Run.open(lake, "run").read_snapshot(59)[0], Run.open(undisturbed, "run").read_snapshot(59)[0])


def test_rate__a_missing_segment_is_reported_with_its_place(lake: Lake) -> None:
    rate_run(lake)
    first, second, *_ = manifests(lake)[2:]
    first.unlink()
    report = rate_run(lake)
    assert report.kept == int(first.stem)
    assert report.why.count("\n") == 0
    assert second.name in report.why


def test_rate__removes_the_incomplete_files_of_a_crash(lake: Lake, undisturbed: Lake) -> None:
    rate_run(lake, max_rounds=20)
    stop = Run.open(lake, "run").segments().stop_round
    (folder(lake) / f"{stop:06d}.parquet").write_bytes(b"half a fi")
    (folder(lake) / ".tmp-0123456789abcdef").write_bytes(b"half a fi")
    orphan = folder(lake, "snapshots") / "000019"
    (orphan / "manifest.json").unlink()
    rate_run(lake)
    assert same_tables(rated(lake), rated(undisturbed))
    assert Run.open(lake, "run").snapshots() == [59]


def test_rate__adds_a_missing_last_snapshot(lake: Lake, undisturbed: Lake) -> None:
    rate_run(lake)
    Run.open(lake, "run").prune_snapshots(0)
    assert rate_run(lake).kept == 60
    assert files(folder(lake, "")) == files(folder(undisturbed, ""))


def tamper(lake: Lake, number: int, column: str) -> None:
    """Change the last bit of one stored value, and its digest in the manifest."""
    manifest = manifests(lake)[number]
    path = manifest.with_suffix(".parquet")
    table = lake.read_table(str(path.relative_to(lake.url)), "rounds")
    values = table.column(column).to_numpy().copy()
    values[3] = np.nextafter(values[3], np.inf)
    index = table.schema.get_field_index(column)
    data = encode(table.set_column(index, table.schema.field(index), pa.array(values)), "rounds")
    facts = json.loads(manifest.read_text())
    path.write_bytes(data)
    manifest.write_text(json.dumps({**facts, "file_size": data.size, "file_digest": digest_of(data)}))


@pytest.mark.parametrize("column", ["mu", "sigma"])
def test_rate__fails_if_replayed_rounds_have_other_ratings(tmp_path: Path, column: str) -> None:
    contests = synthetic(70)
    lake = lake_of(tmp_path / "lake", contests[:60])
    rate_run(lake)
    tamper(lake, 3, column)
    Run.open(lake, "run").prune_snapshots(0)
    ingest(lake, contests[60:])
    before = stamps(folder(lake))
    first, after = (int(path.stem) for path in manifests(lake)[3:5])
    problem = (
        rf"rounds/{first:06d}\.parquet: rounds {first}-{after - 1}, .* {column} than stored.*--from {first}` rates"
    )
    with pytest.raises(LakeError, match=problem):
        rate_run(lake)
    assert stamps(folder(lake)) == before


def test_rate__fails_for_an_unreadable_performance_with_its_place(lake: Lake) -> None:
    rate_run(lake, max_rounds=40)
    Run.open(lake, "run").prune_snapshots(0)
    path = manifests(lake)[1].with_suffix(".parquet")
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(DamagedError, match=path.name):
        rate_run(lake)
