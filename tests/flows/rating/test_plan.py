"""The plan of a rating names the reason why rounds are rated again."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.lakes import lake_of, often, rate_run, synthetic

from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.plan import Plan
from ranklake.storage import Dataset, Lake, Run

OFTEN = often(segment_rows=20, snapshot_rows=10**9)


@pytest.fixture
def rated(tmp_path: Path) -> Lake:
    """A lake with a rated run of several segments."""
    lake = lake_of(tmp_path / "lake", synthetic(20, n_players=12))
    rate_run(lake, system="elo", policy=OFTEN)
    return lake


def test_plan__of_a_damaged_chain_has_its_reason(rated: Lake) -> None:
    config, dataset = RunConfig.of(Run.open(rated, "run")), Dataset.open(rated, "games")
    whole = Plan.of(config, dataset)
    assert (whole.kept, whole.why) == (20, "")
    manifests = sorted(Path(rated.url, "runs", "run", "rounds").glob("*.json"))
    manifests[1].unlink()
    plan = Plan.of(config, dataset)
    assert plan.kept == int(manifests[1].stem)
    assert f"{manifests[1].name}: is missing" in plan.why
