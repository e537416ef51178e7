"""After the loss of workers at any call, the run continues, and the lake has the same content."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import lake_of, often, rate_run, rated, same_beliefs, same_tables, synthetic
from helpers.rated_runs import fresh

import ranklake.flows.frames.rating
import ranklake.flows.rating.plan_runner
from ranklake import rate_history
from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.protocols import EngineError
from ranklake.flows.engines.serial import Serial
from ranklake.storage import Lake, Run

OFTEN = often(segment_rows=30, snapshot_rows=60)

CONTESTS = synthetic(24, large=9)
SYSTEMS = ("elo-mmr", "codeforces", "trueskill")
MOMENTS = [(turn % 2 * 10**9, moment) for turn, moment in enumerate(range(1, 42, 4))]  # long and short in turn


@pytest.fixture(params=[0, 10**9], ids=["long", "short"])
def limits(request: pytest.FixtureRequest) -> ClusterLimits:
    """Rounds are divided, and long or short ones for the overlap."""
    return ClusterLimits(shared_summary_rows=1000, overlap_rows=request.param)


def last_beliefs(lake: Lake) -> dict[str, Any]:
    run = Run.open(lake, "run")
    return run.read_snapshot(run.snapshots()[-1])[0]


@pytest.fixture(scope="module", params=SYSTEMS)
def expected(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Lake, Any]:
    lake = lake_of(tmp_path_factory.mktemp("expected"), CONTESTS)
    report = rate_run(lake, engine=Serial(), system=request.param, policy=OFTEN)
    return request.param, lake, report


@pytest.mark.slow
@pytest.mark.parametrize(("limits", "moment"), MOMENTS, indirect=["limits"])
def test_rate__continues_when_a_worker_is_lost_at_any_call(
    limits: ClusterLimits, expected, tmp_path: Path, moment: int, caplog
) -> None:
    system, other, before = expected
    lake, engine = lake_of(tmp_path, CONTESTS), InProcessEngine(3, {moment}, then=[2], limits=limits)
    with caplog.at_level(logging.WARNING):
        report = rate_run(lake, engine=engine, system=system, policy=OFTEN)
    assert report.recoveries == len(caplog.messages) == (engine.started - 1)
    assert same_tables(rated(lake), rated(other))
    assert same_beliefs(last_beliefs(lake), last_beliefs(other))
    counts = [(one.kept, one.rated, one.rows, one.skipped, one.excluded, one.violations) for one in (report, before)]
    assert counts[0] == counts[1]


@pytest.mark.slow
def test_rate__continues_through_repeated_losses(limits: ClusterLimits, tmp_path: Path) -> None:
    contests = synthetic(150)
    lake, engine = lake_of(tmp_path, contests), InProcessEngine(3, range(20, 400, 20), then=[1, 4, 2, 3], limits=limits)
    report = rate_run(lake, engine=engine, policy=OFTEN)
    assert report.recoveries > ranklake.flows.rating.plan_runner.RECOVERIES  # new rounds were committed in between
    other = fresh(tmp_path, contests)
    assert same_tables(rated(lake), rated(other))


@pytest.mark.quick("*-short")
@pytest.mark.parametrize(
    ("losses", "then", "why"),
    [(range(30, 10_000), [], ".*5 times without a new round"), ({25}, [0], "the engine has no workers")],
    ids=["every group", "no worker"],
)
def test_rate__given_up_names_the_committed_rounds_and_leaves_a_valid_prefix(
    limits: ClusterLimits, tmp_path: Path, losses: Any, then: list[int], why: str
) -> None:
    lake = lake_of(tmp_path, CONTESTS)
    with pytest.raises(EngineError, match=rf"run run: {why}; \d+ rounds committed"):
        rate_run(lake, engine=InProcessEngine(2, losses, then, limits=limits), policy=OFTEN)
    assert rate_run(lake, engine=InProcessEngine(2, limits=limits), policy=OFTEN).kept > 0
    assert same_tables(rated(lake), rated(fresh(tmp_path, CONTESTS)))


def test_rate__reports_workers_that_were_left_out(limits: ClusterLimits, tmp_path: Path) -> None:
    lake, engine = lake_of(tmp_path, CONTESTS[:3]), InProcessEngine(2, then=[1], limits=limits)
    assert "left out" not in rate_run(lake, engine=engine, max_rounds=1, policy=OFTEN).line()
    engine.left_out = {f"tcp://host:{port}": "started no actor within 7 s" for port in range(7)}
    report = rate_run(lake, engine=engine, policy=OFTEN)
    assert report.left_out == engine.left_out
    named = "; ".join(f"tcp://host:{port} (started no actor within 7 s)" for port in range(5))
    assert f"; workers left out: {named}; and 2 others" in report.line()


@pytest.mark.slow
def test_rate__keeps_an_exclusion_through_a_recovery(limits: ClusterLimits, tmp_path: Path) -> None:
    lake, other = lake_of(tmp_path, CONTESTS), lake_of(tmp_path / "other", CONTESTS)
    out, back = CONTESTS[4].contest_id, ()
    for engine, where in ((InProcessEngine(2, {9, 30}, limits=limits), lake), (Serial(), other)):
        rate_run(where, engine=engine, exclude=(out,), policy=OFTEN)
    assert same_tables(rated(lake), rated(other))
    for engine, where in ((InProcessEngine(2, {5}, limits=limits), lake), (Serial(), other)):
        rate_run(where, engine=engine, exclude=back, include=(out,), policy=OFTEN)
    assert same_tables(rated(lake), rated(other))


def test_rate_history__starts_again_when_workers_are_lost(
    limits: ClusterLimits, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    results = pd.DataFrame({"contest": list("aaabbbccc"), "player": list("xyzzxyyzx"), "rank": [1, 2, 3] * 3})
    monkeypatch.setattr(
        ranklake.flows.frames.rating, "open_engine", lambda name, workers: InProcessEngine(2, {2, 5}, limits=limits)
    )
    history = rate_history(results, engine="dask")
    assert len(caplog.messages) == 2
    monkeypatch.setattr(ranklake.flows.frames.rating, "RECOVERIES", 1)
    with pytest.raises(EngineError):
        rate_history(results, engine="dask")
    pd.testing.assert_frame_equal(history, rate_history_here(results, monkeypatch))


def rate_history_here(results: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.undo()
    history = rate_history(results, engine="serial")
    assert isinstance(history, pd.DataFrame)
    return history
