"""`ranklake systems`: every hyperparameter has a default, a range and a text; values outside are refused."""

from __future__ import annotations

import dataclasses
import json
import math
import typing
from typing import Any

import pytest
from helpers.commands import Command

from ranklake.flows.common.configuration.hyperparameters import Parameter, describe, near_names
from ranklake.flows.common.configuration.settings import build_params, check_uncertainty
from ranklake.rating_kernels import SYSTEMS, System
from ranklake.rating_kernels.core.limits import Limits, limits_of

EVERY = [
    (name, field.name)
    for name, system in SYSTEMS.items()
    for field in dataclasses.fields(system.params)
    if limits_of(field).kind != "table"
]
# Other hyperparameters that must be set with one.
BESIDE: dict[tuple[str, str], dict[str, Any]] = {
    ("elo-mmr", "beta"): {"gamma": 30.0},
    ("elo-mmr", "gamma"): {"beta": 200.0},
    ("elo-mmx", "beta"): {"gamma": 30.0},
    ("elo-mmx", "gamma"): {"beta": 200.0},
    **{(name, "tie_loss"): {"tie_win": 0.5} for name in ("elo-mmr", "elo-mmx")},
    **{(name, "tie_win"): {"tie_loss": 0.5} for name in ("elo-mmr", "elo-mmx")},
    ("elo-r", "gamma"): {"sigma_star": 0.0},
    ("elo", "round_what"): {"round_digits": 2},
    ("elo", "certain_lead"): {"cdf": "linear"},
    ("trueskill", "convention"): {"model": "place"},
    ("trueskill", "eps"): {"model": "place"},
    ("bar", "gamma"): {"variant": "btfull"},
    ("glicko", "sigma_init"): {"max_rd": 1e10},
    ("codeforces", "initial"): {"arithmetic": "real"},
    ("elo-mmr", "sig_limit"): {"drift_per_day": 10.0},
    ("elo-mmx", "sig_limit"): {"drift_per_day": 10.0},
}


def outside(limits: Limits) -> list[Any]:
    """Values just outside a range, far outside, and of another type."""
    if limits.kind == "choice":
        return ["", "no such word"]
    if limits.kind == "names":
        return [""]
    below = limits.low - max(1.0, abs(limits.low))
    found = [math.nan, below, -1e308, -math.inf, 2.0 * limits.high, 1e308]
    return found if limits.infinite else [*found, math.inf]


def inside(limits: Limits) -> list[Any]:
    """Values at and near the ends of a range."""
    if limits.kind == "choice":
        return list(limits.choices)
    if limits.kind == "switch":
        return [True, False]
    if limits.kind == "names":
        return ["length", "first"]
    if limits.kind == "whole number":
        return [int(limits.low), int(min(limits.high, limits.low + 3)), int(limits.high)]
    found = [1500.0, 0.125, -40.0, 3.0, 250.0, limits.low, limits.high, *([math.inf] if limits.infinite else [])]
    return [value for value in found if limits.contains(value)]


def of(name: str, field: str) -> tuple[System, Limits]:
    system = SYSTEMS[name]
    return system, next(limits_of(one) for one in dataclasses.fields(system.params) if one.name == field)


@pytest.mark.parametrize("name", SYSTEMS)
def test_parameters__have_a_default_in_their_range_and_a_text(name: str) -> None:
    parameters = [one for one in describe(SYSTEMS[name]).parameters if (name, one.name) in EVERY]
    assert {one.name for one in parameters} == {field for system, field in EVERY if system == name}
    for one in parameters:
        assert len(one.text) >= 12, one
        assert "``" not in one.text, one
        assert ":" not in one.text[:1], one
        assert one.limits.text, one
        if one.default is None:
            assert one.optional, one
        elif one.limits.kind == "choice":
            assert one.default in one.limits.choices, one
        elif one.limits.kind == "switch":
            assert one.default in (True, False), one
        elif one.default != ():
            assert one.limits.contains(one.default), one
        json.dumps(one.to_json(), allow_nan=False)


@pytest.mark.parametrize("name", SYSTEMS)
def test_parameters__are_refused_outside_their_ranges_and_accepted_inside(name: str) -> None:
    for system, field in EVERY:
        if system == name:
            check_range(name, field)


def check_range(name: str, field: str) -> None:
    system, limits = of(name, field)
    beside = BESIDE.get((name, field), {})
    several = typing.get_origin(typing.get_type_hints(system.params)[field]) is tuple
    if limits.kind != "switch":
        for value in outside(limits):
            with pytest.raises(ValueError, match=field):
                build_params(system, beside | {field: (value,) if several else value})
    taken = 0
    for value in inside(limits):
        if (name, field, value) in NEVER_ALONE:
            continue
        read, as_read = READ_AS.get((name, field), (field, {}))
        built = getattr(build_params(system, beside | {field: (value,) if several else value}), read)
        assert built == ((value,) if several else as_read.get(value, value)), field
        taken += 1
    assert taken >= 1, field


# The hyperparameter that another one is read as, and its values.
READ_AS: dict[tuple[str, str], tuple[str, dict[Any, Any]]] = {
    ("elo-srm", "use_weight"): ("alpha", {True: 0.5, False: 0.0})
}

# Values refused by a rule for several hyperparameters.
NEVER_ALONE = {
    ("elo", "k_rule", "fide"),
    ("elo", "cdf", "linear"),
    ("elo", "cdf", "table"),
    ("fide", "mu_init", 3),
    ("elo-r", "sigma_star", 250.0),
    ("elo-r", "sigma_star", 1500.0),
    ("glicko", "max_rd", 0.125),
    ("glicko", "max_rd", 3.0),
    ("glicko", "max_rd", 250.0),
    ("glicko", "max_rd", 1e-9),
    ("elo-r", "sigma_star", 1e10),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_system__has_a_line_and_a_source(name: str) -> None:
    described = describe(SYSTEMS[name])
    assert 20 <= len(described.text) <= 110
    assert "\n" not in described.text + described.source
    assert len(described.source) >= 20
    assert not described.source.startswith("Source")
    assert isinstance(described.parameters[0], Parameter)


def test_command__lists_the_systems(invoke: Command) -> None:
    answer = invoke("systems")
    assert answer.code == 0
    assert all(f" {name} " in answer.out for name in SYSTEMS)
    result = json.loads(invoke("systems", "--format", "json").out)
    assert [one["name"] for one in result] == list(SYSTEMS)
    assert set(result[0]) == {"name", "description", "source", "ignores", "attributes"}


def test_command__lists_the_hyperparameters_of_one_system(invoke: Command) -> None:
    answer = invoke("systems", "elo-mmr")
    assert "arXiv:2101.00400" in answer.out
    assert "transfer rate" in answer.out.lower()
    result = json.loads(invoke("systems", "elo-mmr", "--format", "json").out)
    (rho,) = [one for one in result["parameters"] if one["name"] == "rho"]
    names = ("default", "range", "low", "high", "closed", "infinite", "kind", "optional")
    assert {name: rho[name] for name in names} == {
        "default": 1.0, "range": "0 to 1e+09, inf", "low": 0.0, "high": 1e9, "closed": "both", "infinite": True,
        "kind": "number", "optional": False,
    }  # fmt: skip


@pytest.mark.parametrize("given", ["elommr", "elo_mmr", "ELO-MMR"])
def test_command__suggests_similar_systems(invoke: Command, given: str) -> None:
    said = invoke.refuses("systems", given, code=2)
    assert "system must be one of elo-mmr, elo-mmx" in said
    assert "did you mean elo-mmr" in said
    assert "did you mean" not in invoke.refuses("systems", "chess", code=2)
    assert near_names("glicko3", SYSTEMS)[0] in ("glicko", "glicko2")


def test_uncertainty__refusal_lists_the_systems_that_have_it() -> None:
    check_uncertainty(SYSTEMS["glicko"], "--interval")
    with pytest.raises(ValueError, match=r"--interval needs .* which elo has not; elo-mmr, .* and bt have it"):
        check_uncertainty(SYSTEMS["elo"], "--interval")
