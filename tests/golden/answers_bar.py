"""Answers to the golden vectors of BAR (system ``bar``)."""

from __future__ import annotations

from typing import Any

from golden.contests import answers_of
from golden.runner import Answers, Vector, check_names
from twins.bar import Twin

from ranklake.rating_kernels import BAR, SYSTEMS

SYSTEM = SYSTEMS["bar"]
INNER: set[str] = set()
_PARAMS = {"mu0": "mu_init", "sig0": "sigma_init"} | {
    name: name for name in ("variant", "beta", "sig_drift", "kappa", "gamma", "mu_init", "sigma_init")
}


def params_of(vector: Vector) -> dict[str, Any]:
    """The vector's hyperparameters in our spelling; where it names no variant it means the paper's."""
    check_names(vector, {*_PARAMS, "initial_state"}, {"standings", "time", "weight"})
    chosen = {_PARAMS[name]: value for name, value in vector["params"].items() if name in _PARAMS}
    return {"variant": "btfull"} | chosen


def twin(vector: Vector) -> Answers:
    """What the plain-Python twin answers."""
    slow = Twin(**params_of(vector), initial_state=vector["params"].get("initial_state", {}))
    answers = []
    for contest in vector["contests"]:
        standings = [(name, lo, hi) for name, lo, hi in contest["standings"]]
        outcomes = slow.rate(standings, contest.get("time", 0), contest.get("weight", 1.0))
        answers.append({one.player: {"mu": one.mu, "sig": one.sigma} for one in outcomes})
    return answers


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """What the package answers; with ``step_by_step`` as large rounds are rated."""
    params, state = BAR(**params_of(vector)), vector["params"].get("initial_state", {})
    return answers_of(SYSTEM, params, vector, state, step_by_step, perf=False)
