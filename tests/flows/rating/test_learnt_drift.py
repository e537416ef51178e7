"""The state that all players share, the learnt drift of Elo-MMS, through commits, corrections, losses and damage."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.histories import same_bits
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import copy_of, ingest, lake_of, often, rate_run, rated, same_beliefs, same_tables, synthetic
from helpers.rated_runs import problems

from ranklake import Ratings, rate_history
from ranklake.flows.common.configuration.settings import params_to_json
from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.serial import Serial
from ranklake.flows.maintenance.verify import replay
from ranklake.rating_kernels import EloMMS
from ranklake.storage import DamagedError, Lake, Run

CONTESTS = synthetic(36, large=20)
TABLE = ("learnt_drift", "learnt_memory", "learnt_weight")
rate = partial(rate_run, system="elo-mms", policy=often(segment_rows=30, snapshot_rows=60), learnt_drift=True)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("undisturbed") / "lake", CONTESTS)
    rate(lake)
    return lake


@pytest.fixture
def lake(tmp_path: Path, undisturbed: Lake) -> Lake:
    return copy_of(undisturbed, tmp_path / "lake")


def state(lake: Lake) -> dict[str, Any]:
    """The beliefs after the last round, with the table."""
    run = Run.open(lake, "run")
    return run.read_snapshot(run.snapshots()[-1])[0]


def check_same(lake: Lake, expected: Lake) -> None:
    assert same_tables(rated(lake), rated(expected))
    assert same_beliefs(state(lake), state(expected))


@pytest.mark.slow
def test_snapshot__has_the_table(undisturbed: Lake) -> None:
    found = state(undisturbed)
    assert found.keys() == {"mu", "sigma", "last_time", "n_rounds", *TABLE}
    drift, memory, weight = (found[name][0] for name in TABLE)
    assert drift.shape == (100,)
    assert np.any(drift != 0.0)
    taught = [one for one in rated(undisturbed).to_pylist() if one["n_before"]]
    sizes = pd.Series([row["round_index"] for row in rated(undisturbed).to_pylist()]).value_counts()
    assert weight.sum() == sum(sizes[row["round_index"]] > 2 for row in taught)
    assert np.array_equal(memory, weight)


def test_run__without_it_has_the_configuration_and_the_snapshots_of_before(tmp_path: Path) -> None:
    assert "learnt_drift" not in params_to_json(EloMMS())
    lake = lake_of(tmp_path, CONTESTS[:5])
    rate(lake, learnt_drift=False)
    run = Run.open(lake, "run")
    assert "learnt_drift" not in run.config["params"]
    assert state(lake).keys() == {"mu", "sigma", "last_time", "n_rounds"}


@pytest.mark.slow
def test_run__in_several_steps_equals_one_without_interruption(tmp_path: Path, undisturbed: Lake) -> None:
    lake = lake_of(tmp_path, CONTESTS)
    for stop in range(5, len(CONTESTS) + 5, 5):
        rate(lake, max_rounds=stop)
    check_same(lake, undisturbed)


@pytest.mark.quick("20")
@pytest.mark.parametrize("at", [1, 20, 30])
def test_run__after_a_correction_equals_one_of_the_corrected_history(lake: Lake, tmp_path: Path, at: int) -> None:
    before, contests = state(lake), synthetic(36, large=20)
    contests[at] = synthetic(36, seed=2, large=20)[at]
    ingest(lake, [contests[at]])
    assert rate(lake).kept >= at - 9  # the table is that of a snapshot shortly before
    expected = lake_of(tmp_path / "expected", contests)
    rate(expected)
    assert same_tables(rated(lake), rated(expected))
    after, wanted = ({name: state(one)[name] for name in TABLE} for one in (lake, expected))
    assert same_beliefs(after, wanted)  # players may have other numbers
    assert not same_beliefs(after, {name: before[name] for name in TABLE})


@pytest.mark.slow
@pytest.mark.parametrize("wide", [10, 10**9])
def test_run__that_loses_workers_equals_one_in_a_process(tmp_path: Path, undisturbed: Lake, wide: int) -> None:
    """Workers write the snapshots, in which the table is that of the driver."""
    limits = ClusterLimits(shared_summary_rows=wide, overlap_rows=1000)
    lake, engine = lake_of(tmp_path, CONTESTS), InProcessEngine(3, {14, 30}, then=[2], limits=limits)
    report = rate(lake, engine=engine, policy=often(segment_rows=30, snapshot_rows=60, worker_snapshot_players=0))
    assert report.recoveries == 2
    check_same(lake, undisturbed)
    assert problems(lake) == []


@pytest.mark.slow
def test_damaged_table__is_found_and_replaced_by_an_older_one(lake: Lake, undisturbed: Lake) -> None:
    run = Run.open(lake, "run")
    *_, last = run.snapshots()
    [name] = [name for name in lake.list(run.path_of_snapshot(last)) if name.startswith("part-")]
    path = Path(lake.url) / run.path_of_snapshot(last) / name
    data = path.read_bytes()
    numbers = state(lake)["learnt_drift"][0].tobytes().hex().encode()
    path.write_bytes(data.replace(numbers, numbers[::-1]))
    with pytest.raises(DamagedError):
        state(lake)
    assert any(path.parent.name in problem for problem in problems(lake, again=False))
    ingest(lake, [synthetic(37)[36]])
    rate(lake)
    run = Run.open(lake, "run")
    expected = rated(undisturbed)
    assert same_tables(rated(lake).slice(0, expected.num_rows), expected)


def test_table_of_another_history__is_found_when_rounds_are_rated_again(lake: Lake) -> None:
    """A whole snapshot with the right digest and a wrong table, which no checksum finds."""
    run = Run.open(lake, "run")
    last = run.snapshots()[-2]
    columns, digest = run.read_snapshot(last)
    run.write_snapshot(last, columns | {"learnt_drift": (columns["learnt_drift"][0] + np.eye(10).ravel(),)}, digest)
    assert problems(lake, again=False) == []
    found = list(replay(lake, "run", last + 1, 35, Serial(), []))
    assert any("have another mu_prior" in line for line in found)


def test_parts__that_differ_in_the_table_are_damaged(tmp_path: Path, undisturbed: Lake) -> None:
    from ranklake.storage.runs.snapshots import encode_part

    lake = copy_of(undisturbed, tmp_path / "lake")
    run, columns = Run.open(lake, "run"), state(lake)
    other = columns | {"learnt_drift": (columns["learnt_drift"][0] + 1.0,)}
    parts = [encode_part(columns, 0, 7), encode_part(other, 7, len(columns["mu"]))]
    run.write_encoded(35, parts, "ab" * 16)
    with pytest.raises(DamagedError, match="differ in what all players share"):
        run.read_snapshot(35)


def results(contests: range) -> pd.DataFrame:
    rows = [
        {"contest": one.contest_id, "player": player, "rank": place + 1, "time": one.time_seconds}
        for one in (CONTESTS[at] for at in contests if at % 7 < 4)
        for player, place in zip(one.handles.to_pylist(), one.lo.tolist(), strict=True)
    ]
    return pd.DataFrame(rows)


def test_ratings__updated_saved_and_loaded_equal_those_of_the_whole_history(tmp_path: Path) -> None:
    whole = Ratings.rate(results(range(36)), "elo-mms", learnt_drift=True)
    grown = Ratings.rate(results(range(10)), "elo-mms", learnt_drift=True)
    for first in range(10, 36, 5):
        grown.save(tmp_path / "ratings.parquet")
        grown = Ratings.load(tmp_path / "ratings.parquet").update(results(range(first, min(first + 5, 36))))
    for name in ("mu_prior", "mu", "sigma"):
        assert same_bits(grown.history[name].to_numpy(), whole.history[name].to_numpy())


def test_beliefs__in_a_frame_carry_the_table() -> None:
    whole, _ = rate_history(results(range(36)), "elo-mms", learnt_drift=True, return_beliefs=True)
    first, beliefs = rate_history(results(range(20)), "elo-mms", learnt_drift=True, return_beliefs=True)
    later = rate_history(results(range(20, 36)), beliefs=beliefs)
    assert same_bits(np.concatenate([first["mu"], later["mu"]]), whole["mu"].to_numpy())
