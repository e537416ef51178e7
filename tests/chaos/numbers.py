"""Random hyperparameters, weights, ceilings and times, legal and illegal, for ratings of small histories.

:func:`check_numbers` is one trial. A value out of its range must be refused with its name, the range and the value;
legal values must give finite ratings, or an error that names the contest. Warnings and arithmetic errors violate this.
"""

from __future__ import annotations

import dataclasses
import json
import math
import typing
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ranklake import rate_history
from ranklake.flows.common.configuration.settings import build_params
from ranklake.flows.frames.predict import predict
from ranklake.flows.rating.config import RunConfig
from ranklake.rating_kernels import SYSTEMS, ConvergenceError, System
from ranklake.rating_kernels.core.limits import LARGEST, PERF_CEILING, TIME_SECONDS, WEIGHT, Limits, limits_of
from ranklake.rating_kernels.registry import of_contests

_USUAL = (1e-3, 0.2, 1.0, 25.0, 350.0, 1500.0, 1e6)
_DAY = 86_400
_OVER = (1e308, -1e308, 1e200, 1e-320, 0.0, -1.0, math.nan, math.inf, -math.inf)
_PLAYERS = 6
_TABULATED = 120  # participants from which some systems sum over tables


def check_numbers(seed: int, systems: Sequence[str] = tuple(of_contests())) -> str | None:
    """One random trial, the same for the same seed; returns a description of the violation, or None."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(systems)))
    system, illegal = SYSTEMS[name], rng.random() < 0.3
    settings, wrong = draw_settings(system, rng, illegal)
    results, faults = _history(rng, illegal)
    case = f"seed {seed}: {name} with {settings}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", f"{name} ignores |no contest was rated")
        try:
            params = build_params(system, settings)
        except ValueError as error:
            named = not wrong or any(one in str(error) for one in wrong)
            return None if named else f"{case}: names not {wrong}: {error}"
        except Exception as error:
            return f"{case}: not refused with a message, but with {error!r}"
        if wrong:
            return f"{case}: {wrong} out of range, and not refused"
        try:
            json.dumps(RunConfig("games", "run", name, params).to_json(), allow_nan=False)
            return _rated(case, system, settings, params, results, faults)
        except Exception as error:
            return f"{case}: {error!r}"


def draw_settings(system: System, rng: np.random.Generator, illegal: bool) -> tuple[dict[str, Any], list[str]]:
    """Some hyperparameters, at or near the ends of their ranges or usual; and the names of those out of range."""
    settings: dict[str, Any] = {}
    wrong = []
    share = rng.choice([0.15, 0.5])
    hints = typing.get_type_hints(system.params)
    for field in dataclasses.fields(system.params):
        # a history of contests has no periods of games, and these have no points
        limits = limits_of(field)
        if rng.random() > share or field.name in ("games", "margin") or limits.kind == "table":
            continue
        if illegal and limits.kind == "number" and rng.random() < 0.3:
            value = float(rng.choice([one for one in _OVER if not limits.contains(one)]))
            wrong.append(field.name)
        else:
            value = _legal(limits, rng)
        settings[field.name] = (value,) if typing.get_origin(hints[field.name]) is tuple else value
    return settings, wrong


def _legal(limits: Limits, rng: np.random.Generator) -> Any:
    if limits.kind == "choice":
        return str(rng.choice(limits.choices))
    if limits.kind == "switch":
        return bool(rng.integers(2))
    if limits.kind == "whole number":
        return int(rng.choice([limits.low, min(limits.low + 3, limits.high), limits.high]))
    ends = [limits.low, limits.high, *([math.inf] if limits.infinite else [])]
    return float(rng.choice(ends + [one for one in _USUAL if limits.contains(one)]))


def _history(rng: np.random.Generator, illegal: bool) -> tuple[pd.DataFrame, list[str]]:
    """Results of a few contests, some with ties, two players or one; and the columns with a value out of range."""
    step = int(rng.choice([0, 60, _DAY, 1_000_000 * 365 * _DAY]))
    time = int(rng.choice([-(10**12), 0, 10**9]))
    weights = [1.0] if rng.random() < 0.5 else [WEIGHT.low, 1.0, WEIGHT.high]
    ceilings = [math.nan] if rng.random() < 0.5 else [math.nan, PERF_CEILING.low, 0.0, PERF_CEILING.high]
    large = _TABULATED + 10 if rng.random() < 0.1 else 0
    frames = []
    for contest in range(int(rng.integers(1, 8))):
        n = large or int(rng.integers(1, _PLAYERS + 1))
        players = rng.permutation(max(_PLAYERS, n))[:n]
        places = np.sort(rng.integers(0, int(rng.choice([1, 2, n])), n)) if rng.random() < 0.5 else np.arange(n)
        facts = {
            "weight": float(rng.choice(weights)),
            "perf_ceiling": float(rng.choice(ceilings)),
            "time_seconds": time,
        }
        frames.append(pd.DataFrame({"contest": f"c{contest}", "player": players, "rank": places + 1, **facts}))
        time = min(time + step, int(TIME_SECONDS.high))
    results = pd.concat(frames, ignore_index=True)
    faults = []
    if illegal and rng.random() < 0.5:
        column, limits = ("weight", WEIGHT) if rng.random() < 0.5 else ("perf_ceiling", PERF_CEILING)
        value = float(rng.choice([one for one in _OVER if not limits.contains(one) and not math.isnan(one)]))
        results.loc[results["contest"] == "c0", column] = value
        faults.append(column if column == "weight" else "ceiling")
    return results, faults


def _rated(
    case: str, system: System, settings: dict[str, Any], params: Any, results: pd.DataFrame, faults: list[str]
) -> str | None:
    try:
        history, beliefs = rate_history(results, system.name, engine="serial", return_beliefs=True, **settings)
    except ConvergenceError as error:
        named = "contest c" in str(error) and system.name in str(error)
        return None if named else f"{case}: names no contest: {error}"
    except ValueError as error:
        named = "c0" in str(error) and "within" in str(error) and any(one in str(error) for one in faults)
        untimed = not results["time_seconds"].any() and "counts the days between contests" in str(error)
        return None if named or untimed else f"{case}: {error}"
    if faults:
        return f"{case}: {faults} out of range, and rated"
    columns = ["mu_prior", "sigma_prior", "mu", "sigma", *(["perf"] if system.performs else [])]
    bad = [name for name in columns if not (history[name].abs() <= LARGEST).all()]
    bad += ["sigma"] if params.sigma_init > 0.0 and not (history["sigma"] > 0.0).all() else []
    if bad:
        return f"{case}: {bad} hold no ratings"
    if system.name == "codeforces" or len(beliefs) < 2:  # whole ratings may have been given as others
        return None
    chances = predict(beliefs, list(beliefs.index[:_PLAYERS]), system.name, **settings).chances()
    return None if ((chances >= 0.0) & (chances <= 1.0)).all() else f"{case}: chances {chances.min()}, {chances.max()}"
