"""What is published of a run with a preset: ratings by the preset's rule, written again if the rule changes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow.compute as pc
import pytest
from helpers.lakes import lake_of, rate_run, synthetic
from helpers.tables import assert_published, read

from ranklake.flows.common.configuration.settings import PRESETS
from ranklake.flows.engines.serial import Serial
from ranklake.flows.publication.publish import publish
from ranklake.flows.rating.rate import rate
from ranklake.flows.rating.resolve import resolve_runs
from ranklake.flows.site.publish import publish_site
from ranklake.storage import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A run with the hyperparameters of the preset, and the display rating of its system."""
    lake = lake_of(tmp_path / "lake", synthetic(20))
    rate_run(lake, **PRESETS["dmoj"].settings)
    return lake


def choose_preset(lake: Lake) -> None:
    (config,) = resolve_runs(lake, None, ["run"], preset="dmoj")
    assert rate(lake, config, Serial()).rated == 0


def choose_minimum(lake: Lake, minimum: float) -> None:
    path = Path(lake.url) / "runs/run/run.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"display": config["display"] | {"minimum": minimum}}))


def shown_on(site: Path) -> list[set[int]]:
    """The ratings of each leaderboard that the site has had."""
    pages = sorted((site / "data/leaderboard").glob("*.json.gz"), key=lambda path: path.stat().st_mtime_ns)
    return [set(json.loads(gzip.decompress(path.read_bytes()))["rating"]) for path in pages]


@pytest.mark.slow
def test_publish__tables_follow_the_display_of_a_preset(lake: Lake) -> None:
    publish(lake, "run")
    choose_preset(lake)
    assert "leaderboard" in publish(lake, "run").tables
    assert_published(lake)
    choose_minimum(lake, 1300.0)
    assert "leaderboard" in publish(lake, "run").tables
    assert_published(lake)
    assert pc.min(read(lake, "ratings").column("rating")).as_py() == 1300.0


@pytest.mark.slow
def test_site__follows_the_display_of_a_preset(lake: Lake, tmp_path: Path) -> None:
    site = tmp_path / "site"
    choose_preset(lake)
    publish_site(lake, "run", str(site))
    choose_minimum(lake, 1300.0)
    assert publish_site(lake, "run", str(site)).written > 0
    before, after = shown_on(site)
    assert min(before) < 1300 == min(after)
    assert max(before) == max(after)
