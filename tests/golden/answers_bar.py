"""Answers to the golden vectors of BAR (system ``bar``)."""

from __future__ import annotations

from typing import Any

from golden.runner import ABOUT, Answers, Vector, known
from helpers.histories import four_steps, set_ratings
from twins.bar import Twin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import BAR, SYSTEMS, Rounds

SYSTEM = SYSTEMS["bar"]
INNER: set[str] = set()
_PARAMS = {"mu0": "mu_init", "sig0": "sigma_init"} | {
    name: name for name in ("variant", "beta", "sig_drift", "kappa", "gamma", "mu_init", "sigma_init")
}


def params_of(vector: Vector) -> dict[str, Any]:
    """The vector's hyperparameters in our spelling; where it names no variant it means the paper's."""
    known("key", vector, ABOUT)
    known("parameter", vector["params"], {*_PARAMS, "initial_state"})
    for contest in vector["contests"]:
        known("contest key", contest, {"standings", "time", "weight"})
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
    params, given = BAR(**params_of(vector)), vector["params"].get("initial_state", {})
    names = {row[0] for contest in vector["contests"] for row in contest["standings"]}
    rows = {name: row for row, name in enumerate(sorted(names | set(given)))}
    beliefs = SYSTEM.newcomers(params, max(len(rows), 2))
    for name, (mu, sigma, n) in given.items():
        set_ratings(SYSTEM, params, beliefs, [rows[name]], mu, sigma, n)
    answers = []
    for contest in vector["contests"]:
        names, lo, hi = zip(*contest["standings"], strict=True)
        when, weight = [contest.get("time", 0)], [contest.get("weight", 1.0)]
        round = Rounds.from_columns([0, len(names)], [rows[name] for name in names], lo, hi, when, weight)
        if step_by_step:
            outcome = four_steps(SYSTEM, params, beliefs, round)
        else:
            outcome = rate_rounds(SYSTEM, params, beliefs, round, Serial())
        shown = zip(names, outcome.mu.tolist(), outcome.sigma.tolist(), strict=True)
        answers.append({name: {"mu": mu, "sig": sigma} for name, mu, sigma in shown})
    return answers
