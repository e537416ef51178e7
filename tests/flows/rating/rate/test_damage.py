"""Damaged segments: rated again, or reported with their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.lakes import files, ingest, lake_of, rate_run, rated, same_beliefs, same_tables, stamps, synthetic
from helpers.rated_runs import folder, manifests, remove, tear

from ranklake.storage import DamagedError, Lake, LakeError, Run
from ranklake.storage.lake.access.lake import digest_of
from ranklake.storage.lake.parquet import encode


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
