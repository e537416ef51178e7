"""A run over games with advantages, smoothed in its lake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.games import as_periods, ingest_periods, league
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import rate_run

from ranklake.flows.common.adapters import ContestFacts, concat_rounds
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.smoothing.params import params_of
from ranklake.flows.smoothing.smooth import smooth_run
from ranklake.rating_kernels import SYSTEMS, Rounds
from ranklake.rating_kernels.smoothing.sweeps import Smoother
from ranklake.storage import Dataset, Lake
from ranklake.storage.runs.smoothing import StoredSmoothing

NUMBERS = ("perf", "smooth_mu", "smooth_sigma", "cavity_mu", "cavity_sigma")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A rated run of 300 games, of which those of even periods favour White."""
    lake = Lake.open(tmp_path_factory.mktemp("games") / "lake", create=True)
    games = as_periods(league(300, n_players=12))
    for each, period in enumerate(games[::2]):
        ahead = np.full(len(period), 60.0 + each)
        games[2 * each] = replace(period, games=replace(period.games, advantage=ahead))
    ingest_periods(lake, games)
    rate_run(lake, run="run", dataset="league", system="elo-mmr")
    return lake


def rounds_of(lake: Lake) -> tuple[Rounds, int]:
    dataset = Dataset.open(lake, "league")
    facts = ContestFacts.of(dataset.contests, np.ones(dataset.contests.num_rows, dtype=bool))
    return concat_rounds([facts.rounds(part) for part in dataset.standings()]), dataset.n_players


@pytest.mark.parametrize("engine", [Serial, lambda: Threads(2), lambda: InProcessEngine(2)])
def test_run__of_games_is_smoothed_in_the_field_of_strengths(lake: Lake, engine: Callable[[], Any]) -> None:
    rounds, n_players = rounds_of(lake)
    assert 0 < np.count_nonzero(rounds.advantage) < rounds.n_rows
    smoother = Smoother(params_of(SYSTEMS["elo-mmr"].params(), {}), rounds, n_players)
    while not smoother.converged:
        smoother.sweep()
    with engine() as opened:
        smooth_run(lake, "run", opened)
    stored = StoredSmoothing(lake, "run")
    manifest = stored.manifest("smoothed")
    assert manifest is not None
    table, expected = stored.read("smoothed", manifest), smoother.result()
    for name in NUMBERS:
        assert table.column(name).to_numpy().tobytes() == getattr(expected, name).tobytes()
    (Path(lake.url.removeprefix("file://")) / "runs/run/smoothing/smoothed.json").unlink()
