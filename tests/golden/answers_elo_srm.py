"""Answers to the golden vectors of EloSRM; a contest is one event, of one division or several.

Those of the system ``elo_srm_variants`` have the hyperparameters ``VARIANT`` unless they say otherwise.
"""

from __future__ import annotations

from typing import Any

from golden.runner import Answers, Vector, check_names
from helpers.histories import four_steps, set_ratings
from twins.elo_srm import Twin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Outcome, Rounds
from ranklake.rating_kernels.systems.elo_srm import K0, EloSRM, newcomer

SYSTEM = SYSTEMS["elo-srm"]
INNER = {"expected_rank", "actual_rank", "p", "p_prime"}
VARIANT = {"k": 600.0, "c": 4.0}  # without bound, bonus and growth
_ELO_SRM = {"initial": "mu_init"} | {
    name: name for name in ("preset", "k", "c", "m", "b", "n_inflation", "use_weight", "mu_init", "alpha", "ties")
}


def params_of(vector: Vector) -> dict[str, Any]:
    """The vector's hyperparameters in our spelling, without ``initial_state``; unknown names raise."""
    check_names(vector, {*_ELO_SRM, "initial_state"}, {"standings", "divisions", "time", "weight"})
    given = {_ELO_SRM[name]: value for name, value in vector["params"].items() if name in _ELO_SRM}
    params = VARIANT | given if vector["system"] == "elo_srm_variants" else given
    if params.get("k") == "K0":
        params["k"] = K0
    return params


def twin(vector: Vector) -> Answers:
    """What the plain-Python twin answers."""
    params = EloSRM(**params_of(vector))
    one = Twin(
        *(getattr(params, name) for name in ("k", "c", "m", "b", "n_inflation", "alpha", "mu_init")),
        vector["params"].get("initial_state", {}),
        params.ties,
    )
    return [
        {
            outcome.player: {
                name: getattr(outcome, name)
                for name in ("expected_rank", "actual_rank", "p", "p_prime", "delta", "mu", "next_initial")
            }
            for outcome in one.rate(_divisions(contest))
        }
        for contest in vector["contests"]
    ]


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """What the package answers; with ``step_by_step`` each division goes through the steps of a large round."""
    params, state = SYSTEM.params(**params_of(vector)), vector["params"].get("initial_state", {})
    names = {row[0] for contest in vector["contests"] for division in _divisions(contest) for row in division}
    rows = {name: row for row, name in enumerate(sorted(names | set(state)))}
    beliefs = SYSTEM.newcomers(params, len(rows))
    for name, (mu, n_rounds) in state.items():
        set_ratings(SYSTEM, params, beliefs, [rows[name]], mu, 0.0, n_rounds)
    answers: Answers = []
    for event, contest in enumerate(vector["contests"]):
        answers.append({})
        for division in _divisions(contest):
            players, lo, hi = zip(*division, strict=True)
            round = Rounds.from_columns([0, len(lo)], [rows[name] for name in players], lo, hi, event=[event])
            inner: dict[str, Any] = {}
            if step_by_step:
                before = Outcome.empty(len(lo)).prior
                SYSTEM.prior(params, beliefs, round, 0, len(lo), before)
                summary = SYSTEM.summarise(params, before, round, Serial().map)
                inner = {name: getattr(summary, name) for name in INNER}
                outcome = four_steps(SYSTEM, params, beliefs, round)
            else:
                outcome = rate_rounds(SYSTEM, params, beliefs, round, Serial())
            for i, name in enumerate(players):
                answers[-1][name] = {key: float(values[i]) for key, values in inner.items()} | {
                    "mu": float(outcome.mu[i]),
                    "delta": float(outcome.mu[i] - outcome.mu_prior[i]),
                    "next_initial": newcomer(params, event + 1),
                }
    return answers


def _divisions(contest: Vector) -> list[Any]:
    return contest["divisions"] if "divisions" in contest else [contest["standings"]]
