"""Answers to the golden vectors of Elo-MMR and Elo-MMchi (system ``elo_mmr``, ``variant`` logistic or gaussian)."""

from __future__ import annotations

import math
from typing import Any

from golden.runner import ABOUT, Answers, Vector, known
from helpers.histories import factors, four_steps, set_ratings
from twins.elo_mmr import Twin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Rounds

_ELO_MMR = {"mu0": "mu_init", "sig0": "sigma_init"} | {
    name: name
    for name in (
        *("rho", "tie_mode", "weight_limit", "sig_limit", "beta", "gamma", "noob_delay", "drift_per_day"),
        *("history_len", "mu_init", "sigma_init", "ceiling_gaussian", "team", "team_noise", "credit"),
    )
}


def params_of(vector: Vector) -> dict[str, Any]:
    """The vector's hyperparameters in our spelling, without ``variant`` and ``initial_state``; unknown names raise."""
    known("key", vector, ABOUT)
    known("parameter", vector["params"], {*_ELO_MMR, "variant", "initial_state"})
    for contest in vector["contests"]:
        known("contest key", contest, {"standings", "performances", "time", "weight", "perf_ceiling"})
    params = {_ELO_MMR[name]: value for name, value in vector["params"].items() if name in _ELO_MMR}
    if "noob_delay" in params:
        params["noob_delay"] = tuple(params["noob_delay"])
    if params.get("rho") == "inf":
        params["rho"] = math.inf
    return params


def twin(vector: Vector) -> Answers:
    """What the plain-Python twin answers."""
    extra = {name: vector["params"][name] for name in ("variant", "initial_state") if name in vector["params"]}
    known_twin = Twin(**params_of(vector), **extra)
    answers = []
    for contest in vector["contests"]:
        how = {name: contest[name] for name in ("time", "weight", "perf_ceiling") if name in contest}
        if "performances" in contest:
            outcomes = known_twin.absorb([(name, p) for name, p in contest["performances"]], **how)
        else:
            outcomes = known_twin.rate([(name, lo, hi) for name, lo, hi in contest["standings"]], **how)
        answers.append(
            {
                outcome.player: {
                    "mu": outcome.mu,
                    "sig": outcome.sigma,
                    "performance": outcome.performance,
                    "normal_mu": outcome.normal_mu,
                    "normal_sig": outcome.normal_sigma,
                    "factors": outcome.factors,
                }
                for outcome in outcomes
            }
        )
    return answers


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """What the package answers: ``SYSTEMS["elo-mmr"]``, or ``SYSTEMS["elo-mmx"]`` for the Gaussian variant.

    With ``step_by_step`` each round, small as it is, goes through the four steps and the table that large ones need.
    """
    chosen, given = params_of(vector), vector["params"]
    system = SYSTEMS[{"logistic": "elo-mmr", "gaussian": "elo-mmx"}[given.get("variant", "logistic")]]
    params, state = system.params(**chosen), given.get("initial_state", {})
    rows = {name: row for row, name in enumerate(sorted(_names(vector) | set(state)))}
    beliefs = system.newcomers(params, len(rows))
    for name, known_as in state.items():
        set_ratings(system, params, beliefs, [rows[name]], *(known_as[key] for key in ("mu", "sig", "n")))
    answers = []
    for contest in vector["contests"]:
        shown = "performances" in contest
        standings = [(n, i, i) for i, (n, _) in enumerate(contest["performances"])] if shown else contest["standings"]
        names, lo, hi = zip(*standings, strict=True)
        round = Rounds.from_columns(
            [0, len(names)],
            [rows[name] for name in names],
            lo,
            hi,
            [contest.get("time", 0)],
            [contest.get("weight", 1.0)],
            [contest.get("perf_ceiling", math.inf)],
        )
        if shown or step_by_step:
            performances = [p for _, p in contest["performances"]] if shown else None
            outcome = four_steps(system, params, beliefs, round, performances)
        else:
            outcome = rate_rounds(system, params, beliefs, round, Serial())
        answers.append(
            {name: _answer(beliefs, rows[name], float(p)) for name, p in zip(names, outcome.perf, strict=True)}
        )
    return answers


def _names(vector: Vector) -> set[str]:
    return {row[0] for c in vector["contests"] for row in c.get("performances") or c["standings"]}


def _answer(beliefs: Beliefs, row: int, performance: float) -> dict[str, Any]:
    """A player's belief as vectors spell it; a Gaussian one is its normal factor."""
    normal_mu = beliefs.state.get("normal_mu", beliefs.mu)
    normal_weight = beliefs.state.get("normal_weight", beliefs.sigma**-2.0)
    return {
        "mu": float(beliefs.mu[row]),
        "sig": float(beliefs.sigma[row]),
        "performance": performance,
        "normal_mu": float(normal_mu[row]),
        "normal_sig": float(normal_weight[row]) ** -0.5,
        "factors": factors(beliefs, row),
    }
