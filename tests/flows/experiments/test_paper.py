"""Table 2 of the Elo-MMR paper: its rows are complete, and ours are what rating with their hyperparameters gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.lakes import lake_of, rate_run, synthetic

from ranklake.flows.common.configuration.settings import build_params, find_system
from ranklake.flows.engines.serial import Serial
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.evaluation.tuning.trials import held_out_scores, load_history
from ranklake.flows.experiments.published import PRINTED, TUNED
from ranklake.storage import Dataset

SYSTEMS = {"cf-general", "topcoder", "trueskill", "elo-mmx", "elo-mmr"}


@pytest.mark.parametrize("dataset", list(PRINTED))
def test_table__has_every_system(dataset: str) -> None:
    assert set(PRINTED[dataset]) == set(TUNED[dataset]) == SYSTEMS
    for inversion, deviation in PRINTED[dataset].values():
        assert 60 < inversion < 82
        assert 12 < deviation < 28


@pytest.mark.parametrize("dataset", list(TUNED))
def test_tuned__systems_take_their_hyperparameters(dataset: str) -> None:
    assert set(TUNED[dataset]) == SYSTEMS
    for system, settings in TUNED[dataset].items():
        for one in settings:
            params = build_params(find_system(system), one)
            assert all(getattr(params, name) == value for name, value in one.items())


def test_held_out_scores__are_after_the_first_tenth(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(40))
    history, first_round = load_history(Dataset.open(lake, "games"), 4)
    for system, tuned in TUNED["reddit"].items():
        for metric, settings in zip(("pair_inversion", "rank_deviation"), tuned, strict=True):
            found = held_out_scores(history, first_round, system, settings, Serial())
            run = f"{system}-{metric}"
            rate_run(lake, run=run, system=system, skip_uninformative=True, **settings)
            expected = evaluate(lake, run, 4).filters["experienced"].mean(metric)
            assert found[metric] == pytest.approx(expected, rel=1e-13)
