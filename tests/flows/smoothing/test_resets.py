"""A run is smoothed across its resets as its rounds and resets are by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.lakes import lake_of, rate_run, synthetic, to_rounds

from ranklake import Ratings
from ranklake.flows.engines.serial import Serial
from ranklake.flows.events.start import season_event
from ranklake.flows.execution.rater import mean_of_rated
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.smoothing.params import params_of
from ranklake.flows.smoothing.smooth import smooth_run
from ranklake.rating_kernels import SYSTEMS, EloMMR, Reset
from ranklake.rating_kernels.smoothing.sweeps import Smoother
from ranklake.rating_kernels.smoothing.transitions import RoundReset
from ranklake.storage import Dataset, Lake
from ranklake.storage.runs.smoothing import StoredSmoothing

CONTESTS = synthetic(40, spice=False)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A run with a reset before contest 10, one of some around the mean before contest 30, and a pending one."""
    lake = lake_of(tmp_path / "lake", CONTESTS)
    since = np.datetime64(CONTESTS[20].time_seconds, "s")
    with Dataset.ingest(lake, "games") as body:
        body.start_season(season_event("a", CONTESTS[10].time_seconds - 1, keep=0.75, widen=60.0, centre=1400.0))
        body.start_season(
            season_event("b", CONTESTS[30].time_seconds - 1, keep=0.5, centre="mean", who=f"active_since={since}")
        )
        body.start_season(season_event("c", CONTESTS[-1].time_seconds + 1, keep=0.0))
    rate_run(lake)
    return lake


def smoothed(lake: Lake) -> dict[str, np.ndarray]:
    smooth_run(lake, "run", Serial())
    stored = StoredSmoothing(lake, "run")
    manifest = stored.manifest("smoothed")
    assert manifest is not None
    table = stored.read("smoothed", manifest)
    return {name: table.column(name).to_numpy() for name in ("smooth_mu", "smooth_sigma", "cavity_mu", "log_gain")}


def test_smooth_run__goes_across_resets_as_by_hand(lake: Lake) -> None:
    rounds, names = to_rounds(CONTESTS)
    system, params, all_players = SYSTEMS["elo-mmr"], EloMMR(), np.arange(len(names))
    beliefs = system.newcomers(params, len(names))
    rate_rounds(system, params, beliefs, rounds.part(0, 10), Serial())
    first = Reset(1400.0, 0.75, 60.0)
    system.reset(params, beliefs, all_players, first)
    rate_rounds(system, params, beliefs, rounds.part(10, 30), Serial())
    second = Reset(mean_of_rated(beliefs.mu, beliefs.n_rounds), 0.5)
    since = beliefs.last_time >= CONTESTS[20].time_seconds
    smoother = Smoother(
        params_of(params, {}), rounds, len(names), resets=[RoundReset(10, None, first), RoundReset(30, since, second)]
    )
    while not smoother.converged:
        smoother.sweep()
    found, expected = smoothed(lake), smoother.result()
    for name, column in found.items():
        assert np.allclose(column, getattr(expected, name), rtol=1e-9), name


def test_smooth_run__is_made_again_when_a_season_is_removed(lake: Lake) -> None:
    before = smoothed(lake)
    with Dataset.ingest(lake, "games") as body:
        body.remove_season("b", "test")
    rate_run(lake)
    after = smoothed(lake)
    assert np.abs(after["smooth_mu"] - before["smooth_mu"]).max() > 1.0


def test_ratings__of_a_run_with_resets_are_smoothed_by_the_command(lake: Lake) -> None:
    with pytest.raises(ValueError, match="run run are reset between contests; `ranklake smooth --run run`"):
        Ratings.open(lake, "run").smooth()
