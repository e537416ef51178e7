"""Answers to the golden vectors of TrueSkill."""

from __future__ import annotations

from typing import Any

from golden.contests import answers_of
from golden.runner import Answers, Vector, check_names
from twins.trueskill import Twin

from ranklake.rating_kernels import SYSTEMS

_TRUESKILL = {"mu0": "mu_init", "sig0": "sigma_init"} | {
    name: name for name in ("model", "convention", "mu_init", "sigma_init", "beta", "tau", "p_draw", "eps")
}


def params_of(vector: Vector) -> dict[str, Any]:
    """The vector's hyperparameters in our spelling, without ``initial_state``; unknown names raise."""
    check_names(vector, {*_TRUESKILL, "initial_state"}, {"standings", "time", "weight"})
    return {_TRUESKILL[name]: value for name, value in vector["params"].items() if name in _TRUESKILL}


def _state(vector: Vector) -> dict[str, dict[str, float]]:
    """What is known of players beforehand; vectors write a pair, [mu, sigma]."""
    given = vector["params"].get("initial_state", {})
    return {name: {"mu": pair[0], "sig": pair[1]} for name, pair in given.items()}


def twin(vector: Vector) -> Answers:
    """What the plain-Python twin answers."""
    known_twin = Twin(**params_of(vector), initial_state=_state(vector))
    answers: Answers = []
    for contest in vector["contests"]:
        outcomes = known_twin.rate([(name, lo, hi) for name, lo, hi in contest["standings"]], **_how(contest))
        answers.append({outcome.player: {"mu": outcome.mu, "sig": outcome.sigma} for outcome in outcomes})
    return answers


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """What the package answers; with ``step_by_step`` each round goes through the four steps of a large one."""
    system = SYSTEMS["trueskill"]
    state = {name: (known["mu"], known["sig"], 0) for name, known in _state(vector).items()}
    return answers_of(system, system.params(**params_of(vector)), vector, state, step_by_step, perf=False)


def _how(contest: dict[str, Any]) -> dict[str, Any]:
    return {"time": contest.get("time", 0), "weight": contest.get("weight", 1.0)}
