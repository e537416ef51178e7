"""Answers to the golden vectors of the Bradley-Terry model (system ``bt``)."""

from __future__ import annotations

from typing import Any

import numpy as np
import twins.bradley_terry as slow
import twins.places
from golden.runner import Answers, Vector, check_names

from ranklake.rating_kernels.bradley_terry.comparisons import Comparisons, merged
from ranklake.rating_kernels.bradley_terry.covariance import covariance
from ranklake.rating_kernels.bradley_terry.fit import fit
from ranklake.rating_kernels.bradley_terry.params import UNIT, BradleyTerry

_PARAMS = ("mu_init", "ties", "covariates", "covariate_sd")


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """The fit of each set of games; with ``step_by_step`` of rows that are not merged."""
    params, answers = _params(vector), []
    for names, games in _cases(vector):
        number = {name: i for i, name in enumerate(names)}
        first, second = (np.array([number[game[side]] for game in games], np.int32) for side in (0, 1))
        result, weight, count = (np.array([game[at] for game in games], np.float64) for at in (2, 3, 4))
        x = np.array([game[5] for game in games], np.float64).reshape(len(games), -1)
        rows = Comparisons.of(first, second, result, x, weight, count=count)
        rows = rows if step_by_step else merged(rows)
        found = fit(rows, len(names), params)
        spread = covariance(found, rows, params)
        columns = {
            "mu": params.mu_init + UNIT * found.theta, "sigma": spread.sigma, "sigma_sandwich": spread.sandwich,
            "sigma_model": spread.model, "extreme": spread.extreme.tolist(), "component": found.component,
        }  # fmt: skip
        a, b = slow.pairs(found.component)
        differences = dict(zip(zip(a, b, strict=True), spread.of_differences(np.array(a), np.array(b)), strict=True))
        errors = [*zip(found.gamma, spread.coefficient_errors, strict=True)]
        answers.append(_answer(names, columns, errors, differences, found.nu, params))
    return answers


def twin(vector: Vector) -> Answers:
    """The same by a general method, term by term."""
    params, answers = _params(vector), []
    for names, games in _cases(vector):
        columns, errors, differences, nu = slow.fit(games, names, params)
        answers.append(_answer(names, columns, errors, differences, nu, params))
    return answers


def _params(vector: Vector) -> BradleyTerry:
    check_names(vector, _PARAMS, {"games"})
    given = dict(vector["params"])
    return BradleyTerry(**given | {"covariates": tuple(given.get("covariates", ()))})


def _cases(vector: Vector) -> list[tuple[list[str], list[Any]]]:
    """The players and the games of each case, with the weight, the count and the covariates of all games."""
    usual = (1.0, 1.0, [])
    games = [[[*game, *usual[len(game) - 3 :]] for game in case["games"]] for case in vector["contests"]]
    return [(sorted({name for game in one for name in game[:2]}), one) for one in games]


def _answer(
    names: list[str], columns: Any, errors: list[tuple[float, float]], differences: Any, nu: float | None, params: Any
) -> dict[Any, dict[str, Any]]:
    """The row of an answer. Places are those of the twin: within each component."""
    rows = [{"player": name, **{key: of[i] for key, of in columns.items()}} for i, name in enumerate(names)]
    for number in {row["component"] for row in rows}:
        group = [row for row in rows if row["component"] == number]
        found = [(row["player"], row["mu"], row["sigma"], 1) for row in group]
        for row, one in zip(group, found, strict=True):
            row["place_high"], row["place_low"] = twins.places.interval(found, one, 1.96, "separated")
    coefficients = [
        {"name": name, "value": value, "se": error}
        for name, (value, error) in zip(params.covariates, errors, strict=True)
    ]
    apart = [{"a": names[a], "b": names[b], "deviation": found} for (a, b), found in differences.items()]
    return {"player": {"players": rows, "coefficients": coefficients, "nu": nu, "differences": apart}}
