"""Answers to the golden vectors of Elo-MMS (system ``elo_mms``)."""

from __future__ import annotations

from typing import Any

from golden.contests import answers_of
from golden.runner import Answers, Vector, check_names
from helpers.margins import without_margins
from twins.elo_mms import Twin

from ranklake.flows.common.configuration.settings import recorded_settings
from ranklake.rating_kernels import SYSTEMS, EloMMS

SYSTEM = SYSTEMS["elo-mms"]


def params_of(vector: Vector) -> dict[str, Any]:
    """The vector's hyperparameters, without ``initial_state``; unknown names raise.

    Vectors older than ``duel`` and ``resolution`` have the values of before.
    """
    check_names(vector, {*EloMMS.__slots__, "initial_state"}, {"standings", "time", "weight", "perf_ceiling"})
    given = without_margins(recorded_settings(SYSTEM, vector["params"]))
    return {name: value for name, value in given.items() if name != "initial_state"}


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
    given = vector["params"].get("initial_state", {})
    state = {name: (belief["mu"], belief["sig"], belief["n"]) for name, belief in given.items()}
    return answers_of(SYSTEM, EloMMS(**params_of(vector)), vector, state, step_by_step, perf=True)
