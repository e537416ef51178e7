"""Ranges of hyperparameters and of the numbers of contests, for ratings on different scales."""

from __future__ import annotations

import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest

from ranklake.flows.execution.outcomes import RoundError
from ranklake.rating_kernels import SYSTEMS, Elo, EloMMR, Rounds
from ranklake.rating_kernels.core.limits import (
    POINTS,
    TIME_SECONDS,
    WEIGHT,
    Limits,
    choice,
    limits_of,
    positive,
    switch,
    whole,
)
from ranklake.rating_kernels.core.system import ConvergenceError


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Elo(k=1e308), r"k must be within 0\.\.1e\+10 rating points, got 1e\+308"),
        (lambda: EloMMR(beta=1e308, gamma=1.0), r"beta must be within 1e-09\.\.1e\+10 rating points, got 1e\+308"),
        (lambda: EloMMR(rho=1e300), r"rho must be within 0\.\.1e\+09 or inf, got 1e\+300"),
        (lambda: EloMMR(drift_per_day=1e200), r"within 0\.\.1e\+20 squared rating points a day, got 1e\+200"),
        (lambda: EloMMR(weight_limit=10**5000), "weight_limit must be within .*, got a number of more than 18 digits"),
        (lambda: EloMMR(history_len=10**30), "history_len must be a whole number within .*, got a number of more than"),
        (lambda: EloMMR(history_len=2.5), "history_len must be a whole number within"),
        (lambda: EloMMR(sigma_init="350"), "sigma_init must be within .*, got '350'"),
    ],
)
def test_hyperparameter__out_of_its_range_is_refused_with_range_and_value(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("scale", [1e-3, 1e6])
def test_hyperparameter__is_allowed_on_scales_from_a_thousandth_to_a_million(name: str, scale: float) -> None:
    """All parameters in rating points or their squares, for ratings of about 1 and of about 10^9."""
    system = SYSTEMS[name]
    usual = system.params()
    settings = {}
    for field in dataclasses.fields(system.params):
        unit, value = limits_of(field).unit, getattr(usual, field.name)
        if value is not None and unit == "squared rating points a day":
            settings[field.name] = value * scale**2
        elif value is not None and "rating point" in unit:
            settings[field.name] = value * scale
    if name == "elo-srm":
        settings |= {"preset": "Elo2"}
    if name == "codeforces":
        settings = {"initial": 1500.0 * scale, "arithmetic": "real"}
    assert system.params(**settings).mu_init == pytest.approx(usual.mu_init * scale)


@pytest.mark.bound(
    "ranklake.rating_kernels.core.limits.WEIGHT.low",
    "ranklake.rating_kernels.core.limits.WEIGHT.high",
    "ranklake.rating_kernels.core.limits.PERF_CEILING.high",
    "ranklake.rating_kernels.core.limits.TIME_SECONDS.high",
)
@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("weight", 1e308, r"round 1: weight must be within 1e-09\.\.1e\+09, got 1e\+308"),
        ("perf_ceiling", -1e308, r"round 1: perf_ceiling must be within -1e\+12\.\.1e\+12 rating points or inf"),
        ("time_seconds", 10**18, r"round 1: time_seconds must be a whole number within -1e\+14\.\.1e\+14 seconds"),
    ],
)
def test_rounds__refuse_numbers_out_of_range(column: str, value: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Rounds.from_columns([0, 2, 4], [0, 1, 0, 1], [0, 1, 0, 1], [0, 1, 0, 1], **{column: [1, value]})


def test_limits__hold_their_ends_and_no_nan() -> None:
    points = positive(POINTS, infinite=True)["limits"]
    values = np.array([points.low, points.high, math.inf, 0.0, -1.0, math.nan, -math.inf])
    assert points.mask(values).tolist() == [points.contains(value) for value in values.tolist()]
    assert points.mask(values).tolist() == [True, True, True, False, False, False, False]
    assert not WEIGHT.contains(0.0)
    assert TIME_SECONDS.contains(-62_135_596_800)  # the year 1


def test_convergence_error__survives_the_way_to_another_process() -> None:
    error = pickle.loads(pickle.dumps(ConvergenceError("no rating found", 3)))
    assert (str(error), error.row) == ("no rating found", 3)
    error = pickle.loads(pickle.dumps(RoundError("gets mu = inf", 3, 5, 17)))
    assert (error.rule, error.row, error.round, error.player) == ("gets mu = inf", 3, 5, 17)


@pytest.mark.parametrize(
    ("limits", "text", "rule"),
    [
        (choice("full", "split")["limits"], "full, split", "one of full, split"),
        (switch()["limits"], "true, false", "true or false"),
        (whole(2, 9, "factors")["limits"], "2 to 9", "a whole number within 2..9 factors"),
        (Limits("number", "points", 0.0, 1.0), "> 0, < 1", "> 0 and < 1 points"),
        (Limits("number", "", 0.0, 1.0, "both", infinite=True), "0 to 1, inf", "within 0..1 or inf"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.kind,
)
def test_limits__of_each_kind_are_described(limits: Limits, text: str, rule: str) -> None:
    assert (limits.text, limits.rule) == (text, rule)
