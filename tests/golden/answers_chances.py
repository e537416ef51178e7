"""Answers to the golden vectors of chances of games (systems ``chances`` and ``chances_fit``)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import twins.chances as slow
from golden.runner import Answers, Vector, check_names

from ranklake.rating_kernels import SYSTEMS, Prior
from ranklake.rating_kernels.chances.fit import ASSUMED, Assumed, Played, fit
from ranklake.rating_kernels.chances.games import Leads, Pairings
from ranklake.rating_kernels.chances.three_way import PRESERVING, three_way
from ranklake.rating_kernels.core.standings import Conditions
from ranklake.rating_kernels.systems.elo import Elo

_CASE = {"E", "nu", "model", "mu_a", "mu_b", "h"}
_DIVISOR = 400.0


def chances(vector: Vector, step_by_step: bool = False) -> Answers:
    """The three chances at an expected score, or of a game of ``elo`` with an advantage."""
    check_names(vector, (), _CASE)
    return [{"player": _chances(case)} for case in vector["contests"]]


def _chances(case: dict[str, Any]) -> dict[str, float]:
    model = case.get("model", PRESERVING)
    if "E" in case:
        expected, found = case["E"], three_way(case["E"], 1.0 - case["E"], case["nu"], model)
    else:
        one, other = (
            Prior(np.float64(mu), *([np.float64(0.0)] * 2), np.int32(0)) for mu in (case["mu_a"], case["mu_b"])
        )
        games = Pairings(SYSTEMS["elo"], Elo(), Conditions(), 2, one, other)
        expected = float(games.ahead(case["h"]).expected()[0])
        found = games.three_way(case["nu"], case["h"], model)
    return {"expected_score": expected} | {name: float(chance) for name, chance in found._asdict().items()}


def chances_twin(vector: Vector) -> Answers:
    """The same in decimals."""
    check_names(vector, (), _CASE)
    answers: Answers = []
    for case in vector["contests"]:
        expected = case["E"] if "E" in case else slow.expected(case["mu_a"] - case["mu_b"] + case["h"], _DIVISOR)
        win, draw, loss = slow.three_way(expected, case["nu"], case.get("model", PRESERVING))
        row = {"expected_score": expected, "win": win, "draw": draw, "loss": loss}
        answers.append({"player": {name: float(value) for name, value in row.items()}})
    return answers


def fits(vector: Vector, step_by_step: bool = False) -> Answers:
    """The parameters learnt from games of ``elo``; with ``step_by_step`` by differences of the system's own curve."""
    answers: Answers = []
    for case, assumed in _cases(vector):
        lead, score, holds = np.array(case["games"]).reshape(-1, 3).T
        games: Leads | Pairings = Leads(lead.copy(), np.full(1, math.log(10.0) / _DIVISOR))
        if step_by_step:
            nothing, rounds = np.zeros(len(lead)), np.zeros(len(lead), np.int32)
            one, other = (Prior(mu, nothing, nothing, rounds) for mu in (lead, nothing))
            elo = replace(SYSTEMS["elo"], logistic_rate=lambda *given: None)
            games = Pairings(elo, Elo(), Conditions(), 2, one, other)
        played = Played(games, np.sign(score - 0.5).astype(np.int8), holds > 0.0)
        found = fit(played, vector["params"]["model"], assumed=Assumed(*assumed))
        errors = (found.ln_nu_error, found.advantage_error)
        answers.append(_row(found.nu, found.advantage, *errors, found.log_likelihood))
    return answers


def fits_twin(vector: Vector) -> Answers:
    """The same by differences of the log-likelihood in decimals."""
    model = vector["params"]["model"]
    return [_row(*slow.fit(case["games"], model, _DIVISOR, *assumed)) for case, assumed in _cases(vector)]


def _cases(vector: Vector) -> list[tuple[dict[str, Any], list[float]]]:
    """Each case, and what is believed before its games."""
    names = ("nu0", "nu_sd", "h_sd")
    check_names(vector, ("model",), {"games", *names})
    return [(case, [case.get(*pair) for pair in zip(names, ASSUMED, strict=True)]) for case in vector["contests"]]


def _row(*numbers: float) -> dict[Any, dict[str, Any]]:
    return {"player": dict(zip(("nu", "h", "ln_nu_se", "h_se", "log_likelihood"), numbers, strict=True))}
