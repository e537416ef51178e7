"""Searches by expectation-maximisation: steps from one point, and what cannot be estimated."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import Command
from helpers.frames import frame_of
from helpers.lakes import contest, lake_of
from helpers.teams import rosters

from ranklake.flows.common.configuration.settings import build_params
from ranklake.flows.engines.task_pool import open_task_pool
from ranklake.flows.evaluation.tuning.record import TuningConfig
from ranklake.flows.evaluation.tuning.trials import load_history
from ranklake.flows.evaluation.tuning.tune import TuningReport, tune
from ranklake.flows.ratings.choices import tune as tune_frame
from ranklake.flows.smoothing.params import estimated_of, params_of, settings_of
from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.smoothing.estimation import ESTIMATED
from ranklake.rating_kernels.smoothing.sweeps import Smoother
from ranklake.storage import Dataset, Lake


def contests(n: int = 16, sizes: tuple[int, int] = (30, 45)) -> list[Any]:
    """Contests among sixty players whose skills drift."""
    draw = np.random.default_rng(9)
    skill, found = draw.normal(0.0, 350.0, 60), []
    for at in range(n):
        present = draw.permutation(60)[: draw.integers(*sizes)]
        ordered = present[np.argsort(-skill[present] - draw.normal(0.0, 150.0, len(present)))]
        found.append(contest(f"c{at:02}", *(f"p{player}" for player in ordered), time_seconds=500_000 * at))
        skill += draw.normal(0.0, 30.0, 60)
    return found


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return lake_of(tmp_path / "lake", contests())


def tuned(lake: Lake, **changes: Any) -> TuningReport:
    options = {"dataset": "games", "system": "elo-mms", "method": "em", "train_share": 0.75, "name": "s"} | changes
    config = TuningConfig(**options)
    with open_task_pool(1) as opened:
        return tune(lake, config, opened, config.proposals())


@pytest.mark.parametrize("system", ["elo-mms", "elo-mmr"])
def test_tune__each_proposal_is_the_estimate_of_a_smoothing_with_the_one_before_it(lake: Lake, system: str) -> None:
    trials = tuned(lake, system=system, trials=3).trials
    params = SYSTEMS[system].params()
    assert build_params(SYSTEMS[system], trials[0].settings) == params
    history, first = load_history(Dataset.open(lake, "games"), 12)
    train = history.first(first)
    for trial in trials[1:]:
        smoother = Smoother(params_of(params, {}).with_normal_noise(), train.rounds, train.n_players)
        while not smoother.converged:
            smoother.sweep()
        expected = smoother.estimate(estimated_of(params))
        params = build_params(SYSTEMS[system], trial.settings)
        got = params_of(params, {}).with_normal_noise()
        for name in ESTIMATED:
            assert getattr(got, name) == pytest.approx(getattr(expected, name), rel=2e-5, abs=0.1), name
    assert trials[1].settings != trials[2].settings


def test_tune__begins_at_the_values_of_the_space_and_keeps_the_others(lake: Lake) -> None:
    report = tuned(lake, space=("skew=1", "gamma=50"), trials=2)
    first, second = (build_params(SYSTEMS["elo-mms"], trial.settings) for trial in report.trials)
    assert (first.skew, first.gamma, first.beta) == (1.0, 50.0, 130.0)
    assert second.skew == 1.0
    assert second.gamma != 50.0


def test_tune__continues_with_the_same_proposals(lake: Lake) -> None:
    whole = tuned(lake, name="whole", trials=3)
    tuned(lake, trials=1)
    resumed = tuned(lake, trials=3)
    assert (resumed.n_new, repr(resumed.trials), resumed.best) == (2, repr(whole.trials), whole.best)


def test_tune_of_a_frame__takes_the_same_steps(lake: Lake) -> None:
    expected = tuned(lake, trials=2)
    frame = tune_frame(frame_of(contests()), "elo-mms", method="em", trials=2, train_share=0.75)
    assert len(frame) == 2
    for trial in expected.trials:
        params = build_params(SYSTEMS["elo-mms"], trial.settings)
        [row] = frame[frame["beta"] == params.beta].to_dict("records")
        assert all(row[name] == getattr(params, name) for name in ESTIMATED)
        assert row["train_pair_inversion"] == trial.scores["pair_inversion"]


@pytest.mark.parametrize(
    ("system", "settings"),
    [
        ("elo-mmr", {}),
        ("elo-mmr", {"weight_limit": 0.05, "sig_limit": 30.0, "drift_per_day": 12.0}),
        ("elo-mmx", {"sig_limit": 0.0, "drift_per_day": 9.0}),
        ("elo-mms", {"beta": 90.0, "skew": 2.0, "practice": 0.0, "gamma": 0.0}),
    ],
)
def test_settings__are_the_reverse_of_params(system: str, settings: dict[str, float]) -> None:
    params = SYSTEMS[system].params(**settings)
    found = settings_of(params, params_of(params, {}))
    for name, value in found.items():
        assert value == pytest.approx(getattr(params, name), rel=1e-5, abs=0.3), name


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--system", "elo"), "only the hyperparameters of elo-mmr, elo-mmx and elo-mms can be estimated"),
        (("--space", "rho=0.5,1"), "an em search begins at one point; give one value for rho, as rho=VALUE"),
        (("--space", "sig_limit=40:90"), "an em search begins at one point; give one value for sig_limit"),
        (("--space", "beta=200", "--space", "gamma=30"), "estimates are for weight_limit, sig_limit and drift_per_day"),
    ],
)
def test_command__refuses_what_cannot_be_estimated(
    monkeypatch, capsys, lake: Lake, arguments: tuple[str, ...], says: str
) -> None:
    invoke = Command(monkeypatch, capsys)
    words = ("tune", "--dataset", "games", "--method", "em", *arguments)
    assert says in invoke.refuses(*words, "--lake", lake.url, code=2)


def test_command__refuses_duels(monkeypatch, capsys, tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "duels", contests(30, (2, 3)))
    words = ("tune", "--dataset", "games", "--method", "em", "--train-share", "0.9", "--filter", "everyone")
    said = Command(monkeypatch, capsys).refuses(*words, "--lake", lake.url)
    assert "an em search needs contests of at least 30 participants for training, the largest has 2" in said


def test_command__refuses_contests_of_teams(monkeypatch, capsys, tmp_path: Path) -> None:
    teams = [rosters(f"r{at:02}", *([None, f"p{k}"] for k in range(30)), ("ours", "a", "b")) for at in range(4)]
    lake = lake_of(tmp_path / "teams", teams)
    words = ("tune", "--dataset", "games", "--method", "em", "--train-share", "0.5", "--filter", "everyone")
    said = Command(monkeypatch, capsys).refuses(*words, "--lake", lake.url)
    assert "an em search cannot use contests of teams; use another method" in said


def test_command__prints_a_rate_command(monkeypatch, capsys, lake: Lake) -> None:
    invoke = Command(monkeypatch, capsys)
    words = ("--method", "em", "--train-share", "0.75", "--trials", "2", "--system", "elo-mms")
    answer = invoke("tune", "--dataset", "games", *words, "--lake", lake.url)
    assert answer.code == 0, answer.err
    last = answer.out.strip().splitlines()[-1]
    assert re.match(r"ranklake rate .* --set beta=[\d.]+ --set gamma=[\d.]+ --set drift_per_day=", last)
    assert invoke(*shlex.split(last)[1:]).code == 0
