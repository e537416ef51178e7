"""Elo and EloSRM: settings as text, a K for each player, divisions of one event."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest

from ranklake import rate_history
from ranklake.flows.common.configuration.settings import build_params, find_system
from ranklake.flows.rating.config import RunConfig
from ranklake.rating_kernels import Elo, EloSRM

GAMES = pd.DataFrame({"contest": [1, 1, 2, 2], "player": ["ann", "bob", "ann", "bob"], "rank": [1, 2, 1, 2]})


@pytest.mark.parametrize(
    ("system", "settings", "expected"),
    [
        ("elo-srm", {"preset": "B"}, EloSRM(preset="B")),
        ("elo-srm", {"preset": "Elo2", "m": "inf", "use_weight": "false"}, EloSRM(m=math.inf, use_weight=False)),
        ("elo-srm", {"k": "65", "use_weight": "false"}, EloSRM(k=65.0, alpha=0.0)),
        ("elo-srm", {"preset": "K", "alpha": "0.25"}, EloSRM(preset="K", alpha=0.25)),
        ("elo", {"k_rule": "fide", "cdf": "normal"}, Elo(k_rule="fide", cdf="normal")),
        (
            "elo",
            {"k": "40", "round_digits": "0", "round_what": "change"},
            Elo(k=40, round_digits=0, round_what="change"),
        ),
    ],
)
def test_settings__of_a_run_have_the_same_values_after_reading(system, settings, expected) -> None:
    found = find_system(system)
    params = build_params(found, settings)
    assert params == expected
    result = json.loads(json.dumps(RunConfig("d", "r", system, params).to_json()))
    assert build_params(found, result["params"]) == params


def test_history__accepts_a_k_for_each_player() -> None:
    known = pd.DataFrame({"mu": [1500.0, 1500.0], "k": [10.0, math.nan]}, index=["ann", "bob"])
    history, beliefs = rate_history(GAMES, "elo", beliefs=known, return_beliefs=True, k=40)
    assert history.mu.tolist()[:2] == [1505.0, 1480.0]
    assert beliefs.loc["ann", ["k", "games", "peak"]].tolist() == [10.0, 2.0, beliefs.mu["ann"]]
    whole = rate_history(pd.concat([GAMES, GAMES.assign(contest=GAMES.contest + 2)]), "elo", beliefs=known, k=40)
    again = rate_history(GAMES, "elo", beliefs=beliefs, k=40)
    assert again.mu.tolist() == whole.mu.tolist()[4:]


def test_history__accepts_a_k_for_each_contest() -> None:
    history = rate_history(GAMES.assign(weight=[60, 60, 20, 20]), "elo", k=1)
    assert history.mu.tolist()[:2] == [1530.0, 1470.0]
    assert history.mu_prior.tolist()[2] == 1530.0


def test_history__divisions_of_one_event_have_one_initial_rating() -> None:
    frame = pd.DataFrame(
        {
            "contest": ["one"] * 2 + ["div 1"] * 2 + ["div 2"] * 2,
            "player": list("abcdef"),
            "rank": [1, 2] * 3,
            "time_seconds": [100] * 2 + [200] * 4,
        }
    )
    assert rate_history(frame, "elo-srm").mu_prior.tolist() == pytest.approx([1200.0] * 2 + [1200.63] * 4)
