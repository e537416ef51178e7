"""Answers to the golden vectors of difficulties of problems (systems ``problems`` and ``problems_player``)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import twins.problems as slow
from golden.runner import Answers, Vector, check_names

from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.problems.difficulty import DIRECT, Entrants, difficulties
from ranklake.rating_kernels.problems.players import problem_ratings


def difficulty(vector: Vector, step_by_step: bool = False) -> Answers:
    """The difficulty of each problem; with ``step_by_step`` from the table of its field."""
    answers: Answers = []
    for rows in _rows(vector, 1.0):
        rating, share, weight = np.array(rows, np.float64).reshape(-1, 3).T.copy()
        solved = np.array([np.sum(weight * share)])
        found = difficulties(Entrants.of(rating, weight=weight), solved, direct=0 if step_by_step else DIRECT)
        numbers = found.difficulty[0], found.deviation[0]
        answers.append(_answer(rows, numbers if len(rows) else (None, None)))
    return answers


def difficulty_twin(vector: Vector) -> Answers:
    """The same by bisection."""
    return [
        _answer(rows, slow.difficulty(*zip(*rows, strict=True)) if rows else (None, None))
        for rows in _rows(vector, 1.0)
    ]


def player(vector: Vector, step_by_step: bool = False) -> Answers:
    """The rating of each player from problems."""
    answers: Answers = []
    for rows, case in zip(_rows(vector, 0.0), vector["contests"], strict=True):
        level, share, deviation = np.array(rows, np.float64).reshape(-1, 3).T.copy()
        prior = np.array([case["mu0"]]), np.array([case["sig0"]])
        mu, sigma = problem_ratings(*prior, Ragged(np.array([0, len(rows)]), share), level, deviation)
        answers.append({"player": {"mu": mu[0], "sigma": sigma[0]}})
    return answers


def player_twin(vector: Vector) -> Answers:
    """The same by bisection."""
    found = [
        slow.player(case["mu0"], case["sig0"], rows)
        for rows, case in zip(_rows(vector, 0.0), vector["contests"], strict=True)
    ]
    return [{"player": {"mu": mu, "sigma": sigma}} for mu, sigma in found]


def _rows(vector: Vector, usual: float) -> list[list[tuple[float, float, float]]]:
    """The rows of each case, the third number of each ``usual`` if it is missing."""
    check_names(vector, (), {"rows", "mu0", "sig0"})
    return [
        [(a, b, next((c for c in rest if c is not None), usual)) for a, b, *rest in case["rows"]]
        for case in vector["contests"]
    ]


def _answer(rows: list[tuple[float, float, float]], found: tuple[Any, Any]) -> dict[Any, dict[str, Any]]:
    weight = sum(w for *_, w in rows)
    facts = {"difficulty": found[0], "deviation": found[1], "attempts": len(rows)}
    facts["solved"] = sum(w * share for _, share, w in rows)
    if rows:
        facts["field_mean"] = sum(w * rating for rating, _, w in rows) / weight
        facts["rating_for_80_percent"] = found[0] + slow.DECADE * math.log10(4.0)
    return {"player": facts}
