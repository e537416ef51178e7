"""Answers to the golden vectors of Elo-MMS (system ``elo_mms``)."""

from __future__ import annotations

import math
from typing import Any

from golden.runner import ABOUT, Answers, Vector, known
from helpers.histories import four_steps, set_ratings
from twins.elo_mms import Twin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, EloMMS, Rounds

SYSTEM = SYSTEMS["elo-mms"]


def params_of(vector: Vector) -> dict[str, Any]:
    """The vector's hyperparameters, without ``initial_state``; unknown names raise."""
    known("key", vector, ABOUT)
    known("parameter", vector["params"], {*EloMMS.__slots__, "initial_state"})
    for contest in vector["contests"]:
        known("contest key", contest, {"standings", "time", "weight", "perf_ceiling"})
    return {name: value for name, value in vector["params"].items() if name != "initial_state"}


def twin(vector: Vector) -> Answers:
    """The answers of the plain-Python twin."""
    one = Twin(**params_of(vector), initial_state=vector["params"].get("initial_state", {}))
    answers: Answers = []
    for contest in vector["contests"]:
        how = {name: contest[name] for name in ("time", "weight", "perf_ceiling") if name in contest}
        rated = one.rate([(name, lo, hi) for name, lo, hi in contest["standings"]], **how)
        answers.append({row.player: {"mu": row.mu, "sig": row.sigma, "performance": row.performance} for row in rated})
    return answers


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """The answers of ``SYSTEMS["elo-mms"]``; with ``step_by_step`` each round takes the four steps of a large one."""
    params, state = EloMMS(**params_of(vector)), vector["params"].get("initial_state", {})
    names = {name for contest in vector["contests"] for name, _, _ in contest["standings"]}
    rows = {name: row for row, name in enumerate(sorted(names | set(state)))}
    beliefs = SYSTEM.newcomers(params, len(rows))
    for name, belief in state.items():
        set_ratings(SYSTEM, params, beliefs, [rows[name]], *(belief[key] for key in ("mu", "sig", "n")))
    answers: Answers = []
    for contest in vector["contests"]:
        present, lo, hi = zip(*contest["standings"], strict=True)
        round = Rounds.from_columns(
            [0, len(present)], [rows[name] for name in present], lo, hi, [contest.get("time", 0)],
            [contest.get("weight", 1.0)], [contest.get("perf_ceiling", math.inf)],
        )  # fmt: skip
        if step_by_step:
            outcome = four_steps(SYSTEM, params, beliefs, round)
        else:
            outcome = rate_rounds(SYSTEM, params, beliefs, round, Serial())
        columns = zip(present, outcome.mu, outcome.sigma, outcome.perf, strict=True)
        answers.append({name: {"mu": mu, "sig": sigma, "performance": perf} for name, mu, sigma, perf in columns})
    return answers
