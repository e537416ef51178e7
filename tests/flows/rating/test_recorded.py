"""Hyperparameters that a system got later: what was recorded before keeps the values of before, at every door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.lakes import contest, copy_of, ingest, lake_of, rate_run, rated, same_tables, synthetic

from ranklake import Ratings, predict, rate_history
from ranklake.flows.common.configuration.settings import SystemName, params_to_json, recorded_settings
from ranklake.flows.engines.serial import Serial
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.evaluation.tuning.record import TuningConfig, TuningRecord
from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.rate import rate
from ranklake.flows.rating.resolve import resolve_runs
from ranklake.flows.results.display import Display
from ranklake.rating_kernels import SYSTEMS, EloMMS, EloSRM
from ranklake.storage import Lake, LakeError, Run

BEFORE = {"duel": 1.0, "resolution": "exact"}
OLD = {
    "beta": 130.0, "skew": 1.4, "lower": "logistic", "gamma": 12.0, "drift_per_day": 12.0, "practice": 8.0,
    "practice_rounds": 20.0, "tie_mode": "full", "mu_init": 1500.0, "sigma_init": 350.0,
}  # fmt: skip
"""The hyperparameters in ``run.json`` of a run by ``elo-mms`` before ``duel`` and ``resolution``."""
SYSTEM = SYSTEMS["elo-mms"]
FRAME = pd.DataFrame({"contest": [1, 1, 2, 2, 2, 3, 3], "player": list("abbcaca"), "rank": [1, 2, 1, 2, 3, 1, 2]})


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A run as an older release left it, and one of this release."""
    lake = lake_of(tmp_path_factory.mktemp("recorded") / "lake", synthetic(20, size=40))
    rate_run(lake, system="elo-mms", run="old", **BEFORE)
    rate_run(lake, system="elo-mms", run="fresh")
    assert Run.open(lake, "old").config["params"] == OLD
    assert Run.open(lake, "fresh").config["params"] == OLD | {"duel": 2.0, "resolution": "rank"}
    return lake


def test_run_of_before__goes_on_with_the_values_of_before(lake: Lake, tmp_path: Path) -> None:
    lake = copy_of(lake, tmp_path / "copy")
    ingest(lake, [contest("later", "player 1", "player 2"), contest("last", "player 3", "player 1", "player 4")])
    for name in ("old", "fresh"):
        [config] = resolve_runs(lake, "games", names=[name], systems=["elo-mms"])
        report = rate(lake, config, Serial())
        assert (report.kept, report.rated) == (20, 2)
    rate_run(lake, system="elo-mms", run="whole", **BEFORE)
    assert same_tables(rated(lake, "old"), rated(lake, "whole"))
    assert not same_tables(rated(lake, "old"), rated(lake, "fresh"))


def test_run_of_before__is_shown_and_scored_with_them(lake: Lake) -> None:
    run = Run.open(lake, "old")
    assert RunConfig.of(run).params == Display.of(run).params == EloMMS(**BEFORE)
    assert Ratings.open(lake, "old").hyperparameters.items() >= BEFORE.items()
    assert Display.named("elo-mms", OLD, 3.0).params == EloMMS(**BEFORE)  # as of published tables
    scores = {name: evaluate(lake, name).filters["everyone"].mean("rank_information") for name in ("old", "fresh")}
    again = Ratings.open(lake, "old").evaluate()["rank_information"]["everyone"]
    assert scores["old"] == pytest.approx(again, rel=1e-9)
    assert scores["old"] != pytest.approx(scores["fresh"], rel=1e-4)


def test_run_of_before__names_both_values_of_each_difference(lake: Lake) -> None:
    words = "exists with duel 1.0, resolution exact; requested was duel 2.0, resolution rank"
    with pytest.raises(ValueError, match=words):
        resolve_runs(lake, "games", names=["old"], settings=["duel=2", "resolution=rank"])
    [kept] = resolve_runs(lake, "games", names=["old"], settings=["beta=130"])
    assert kept.params == EloMMS(**BEFORE)


def test_beliefs_and_files_of_before__keep_them(tmp_path: Path) -> None:
    ratings = Ratings.rate(FRAME, "elo-mms", **BEFORE)
    beliefs = ratings.beliefs
    assert beliefs.attrs["hyperparameters"] == OLD
    ratings.save(tmp_path / "old.parquet")
    assert Ratings.load(tmp_path / "old.parquet").hyperparameters.items() >= BEFORE.items()
    one = predict(beliefs, ["a", "b"]).chance("a", "b")
    assert one == ratings.predict(["a", "b"]).chance("a", "b")
    assert one != predict(Ratings.rate(FRAME, "elo-mms").beliefs, ["a", "b"]).chance("a", "b")
    assert (
        rate_history(FRAME, beliefs=beliefs).mu.tolist() == rate_history(FRAME, beliefs=beliefs, **BEFORE).mu.tolist()
    )
    with pytest.raises(ValueError, match=r"beliefs were computed with duel = 1\.0, not 2\.0"):
        rate_history(FRAME, beliefs=beliefs, duel=2.0)


def test_search_of_before__is_not_continued_with_other_defaults(tmp_path: Path) -> None:
    lake, config = Lake.open(tmp_path, create=True), TuningConfig("games", "elo-mms", ("beta=100,130",))
    TuningRecord.open(lake, config, "contests")
    path = tmp_path / "searches" / config.name / "search.json"
    text = path.read_text(encoding="utf-8")
    older = text.replace(',\n  "duel": 2.0,\n  "resolution": "rank"', "")
    assert older != text
    path.write_text(older, encoding="utf-8")
    with pytest.raises(LakeError, match="exists with another duel; choose another --name or delete"):
        TuningRecord.open(lake, config, "contests")


def test_run_with_use_weight__goes_on_as_alpha(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(12, size=20))
    older = {"preset": "K", "k": 65.0, "c": 0.0, "m": "inf", "b": 0.0, "n_inflation": 0.0, "mu_init": 1200.0}
    for alpha, recorded in (
        (0.0, {"use_weight": False}), (0.5, {"use_weight": True}), (0.25, {"use_weight": None, "alpha": 0.25}),
    ):  # fmt: skip
        rate_run(lake, system="elo-srm", run="srm", preset="K", alpha=alpha, replace=True)
        assert Run.open(lake, "srm").config["params"] == older | recorded
        [config] = resolve_runs(lake, "games", names=["srm"])
        assert config.params == EloSRM(preset="K", alpha=alpha)
        assert rate(lake, config, Serial()).rated == 0
        if (flag := recorded["use_weight"]) is not None:
            [again] = resolve_runs(lake, "games", names=["srm"], settings=[f"use_weight={str(flag).lower()}"])
            assert again.params == config.params
    with pytest.raises(ValueError, match=r"exists with alpha 0\.25; requested was alpha 1\.0"):
        resolve_runs(lake, "games", names=["srm"], settings=["alpha=1"])


@pytest.mark.parametrize(
    ("system", "settings"),
    [
        ("elo-srm", {"use_weight": False}),
        ("elo-srm", {"use_weight": True, "ties": "mid"}),
        ("elo-srm", {"alpha": 0.0}),
        ("elo", {"k_wins": 20.0}),
        ("elo", {"cdf": "linear", "certain_lead": 425.0}),
        ("elo-mmr", {"tie_loss": 0.2, "tie_win": 0.3}),
        ("elo-mmx", {"tie_mode": "split"}),
    ],
    ids=str,
)
def test_beliefs__accept_the_hyperparameters_that_they_were_computed_with(
    system: SystemName, settings: dict[str, Any]
) -> None:
    results = pd.DataFrame({"contest": list("xxyy"), "player": list("abba"), "rank": [1, 2, 1, 2]})
    _, beliefs = rate_history(results, system, return_beliefs=True, **settings)
    again = predict(beliefs, ["a", "b"], system, **settings)
    assert np.array_equal(again.chances(), predict(beliefs, ["a", "b"]).chances())


@pytest.mark.parametrize("system", SYSTEMS)
def test_recorded_settings__are_the_inverse_of_what_is_recorded(system: str) -> None:
    params = SYSTEMS[system].params()
    recorded = params_to_json(params)
    assert params_to_json(params, whole=True).items() >= recorded_settings(SYSTEMS[system], recorded).items()
    later = recorded_settings(SYSTEMS[system], {})
    assert not params_to_json(SYSTEMS[system].params(**later)).keys() & later.keys()
