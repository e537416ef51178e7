"""The plan of a rating names the reason why rounds are rated again."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.lakes import commit_often, lake_of, rate_run, synthetic

from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.plan import Plan
from ranklake.storage import Dataset, Lake, Run


@pytest.fixture
def rated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A lake with a rated run of several segments."""
    commit_often(monkeypatch, segment_rows=20, snapshot_rows=10**9)
    lake = lake_of(tmp_path / "lake", synthetic(20, n_players=12))
    rate_run(lake, system="elo")
    return lake


def test_plan__of_a_damaged_chain_has_its_reason(rated: Lake) -> None:
    config, dataset = RunConfig.of(Run.open(rated, "run")), Dataset.open(rated, "games")
    whole = Plan.of(rated, config, dataset)
    assert (whole.kept, whole.why) == (20, "")
    manifests = sorted(Path(rated.url, "runs", "run", "rounds").glob("*.json"))
    manifests[1].unlink()
    plan = Plan.of(rated, config, dataset)
    assert plan.kept == int(manifests[1].stem)
    assert f"{manifests[1].name}: is missing" in plan.why
