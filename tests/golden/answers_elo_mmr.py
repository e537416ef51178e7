"""Answers to the golden vectors of Elo-MMR and Elo-MMchi (system ``elo_mmr``, ``variant`` logistic or gaussian)."""

from __future__ import annotations

import math
from typing import Any

from golden.contests import contests_of, number_players, rate_contest, store_of
from golden.runner import Answers, Vector, check_names
from helpers.histories import factors
from twins.elo_mmr import Twin

from ranklake.rating_kernels import SYSTEMS, Beliefs

_ELO_MMR = {"mu0": "mu_init", "sig0": "sigma_init"} | {
    name: name
    for name in (
        *("rho", "tie_mode", "weight_limit", "sig_limit", "beta", "gamma", "noob_delay", "drift_per_day"),
        *("history_len", "mu_init", "sigma_init", "ceiling_gaussian", "team", "team_noise", "credit"),
        *("tie_loss", "tie_win"),
    )
}


_FACTS = ("time", "weight", "perf_ceiling", "precision")


def params_of(vector: Vector) -> dict[str, Any]:
    """The vector's hyperparameters in our spelling, without ``variant`` and ``initial_state``; unknown names raise."""
    check_names(vector, {*_ELO_MMR, "variant", "initial_state"}, {"standings", "performances", *_FACTS})
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
        how = {name: contest[name] for name in _FACTS if name in contest}
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
    rows, answers = number_players(vector, state), []
    ratings = {name: (known["mu"], known["sig"], known["n"]) for name, known in state.items()}
    beliefs = store_of(system, params, rows, ratings)
    for contest in contests_of(vector, rows):
        perf = rate_contest(system, params, beliefs, contest, step_by_step).perf
        named = zip(contest.names, perf, strict=True)
        answers.append({name: answer(beliefs, rows[name], float(p)) for name, p in named})
    return answers


def answer(beliefs: Beliefs, row: int, performance: float) -> dict[str, Any]:
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
