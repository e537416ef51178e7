"""Answers to the golden vectors of TrueSkill."""

from __future__ import annotations

from typing import Any

from golden.runner import ABOUT, Answers, Vector, known
from helpers.histories import four_steps, set_ratings
from twins.trueskill import Twin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Rounds

_TRUESKILL = {"mu0": "mu_init", "sig0": "sigma_init"} | {
    name: name for name in ("model", "convention", "mu_init", "sigma_init", "beta", "tau", "p_draw", "eps")
}


def params_of(vector: Vector) -> dict[str, Any]:
    """The vector's hyperparameters in our spelling, without ``initial_state``; unknown names raise."""
    known("key", vector, ABOUT)
    known("parameter", vector["params"], {*_TRUESKILL, "initial_state"})
    for contest in vector["contests"]:
        known("contest key", contest, {"standings", "time", "weight"})
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
    params, state = system.params(**params_of(vector)), _state(vector)
    names = {row[0] for contest in vector["contests"] for row in contest["standings"]}
    rows = {name: row for row, name in enumerate(sorted(names | set(state)))}
    beliefs = system.newcomers(params, len(rows))
    for name, belief in state.items():
        set_ratings(system, params, beliefs, [rows[name]], belief["mu"], belief["sig"], 0)
    answers: Answers = []
    for contest in vector["contests"]:
        players, lo, hi = zip(*contest["standings"], strict=True)
        how = _how(contest)
        round = Rounds.from_columns(
            [0, len(players)], [rows[name] for name in players], lo, hi, [how["time"]], [how["weight"]]
        )
        if step_by_step:
            outcome = four_steps(system, params, beliefs, round)
        else:
            outcome = rate_rounds(system, params, beliefs, round, Serial())
        answers.append(
            {
                name: {"mu": float(mu), "sig": float(sigma)}
                for name, mu, sigma in zip(players, outcome.mu, outcome.sigma, strict=True)
            }
        )
    return answers


def _how(contest: dict[str, Any]) -> dict[str, Any]:
    return {"time": contest.get("time", 0), "weight": contest.get("weight", 1.0)}
