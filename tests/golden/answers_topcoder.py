"""Answers to the golden vectors of TopCoder's system (system ``topcoder``)."""

from __future__ import annotations

from typing import Any

from golden.contests import answers_of, contests_of, number_players, store_of
from golden.runner import Answers, Vector, check_names
from twins.topcoder import Twin

from ranklake.flows.engines.serial import Serial
from ranklake.rating_kernels import SYSTEMS, Beliefs, Outcome, Rounds, TopCoder
from ranklake.rating_kernels.systems.topcoder import VETERANS, Field, step_size

SYSTEM = SYSTEMS["topcoder"]
INNER = {"expected_rank", "weight", "cap", "competition_factor"}
_PARAMS = {"mu0": "mu_init", "sig0": "sigma_init"} | {
    name: name
    for name in (
        *("weight_noob", "weight_limit", "weight_multiplier"),
        *("vol_after_cap", "two_phase", "published_constants", "mu_init", "sigma_init"),
    )
}


def params_of(vector: Vector) -> dict[str, Any]:
    """The vector's hyperparameters in our spelling, without ``initial_state``; unknown names raise."""
    check_names(vector, {*_PARAMS, "initial_state"}, {"standings", "time", "weight", "perf_ceiling"})
    return {_PARAMS[name]: value for name, value in vector["params"].items() if name in _PARAMS}


def twin(vector: Vector) -> Answers:
    """What the plain-Python twin answers."""
    slow = Twin(**params_of(vector), initial_state=vector["params"].get("initial_state", {}))
    answers = []
    for contest in vector["contests"]:
        how = {name: contest[name] for name in ("time", "weight", "perf_ceiling") if name in contest}
        outcomes = slow.rate([(name, lo, hi) for name, lo, hi in contest["standings"]], **how)
        inner = [{name: getattr(one, name) for name in (*INNER, "performance", "mu")} for one in outcomes]
        answers.append({one.player: fields | {"sig": one.sigma} for one, fields in zip(outcomes, inner, strict=True)})
    return answers


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """What the package answers; with ``step_by_step`` as large rounds are rated, and then with all inner numbers."""
    params, state = TopCoder(**params_of(vector)), vector["params"].get("initial_state", {})
    if not step_by_step:
        return answers_of(SYSTEM, params, vector, state, step_by_step, perf=True)
    rows = number_players(vector, state)
    beliefs, answers = store_of(SYSTEM, params, rows, state), []
    for names, round, _ in contests_of(vector, rows):
        outcome, inner = _steps(params, beliefs, round)
        shown = zip(outcome.perf.tolist(), outcome.mu.tolist(), outcome.sigma.tolist(), strict=True)
        fields = [{"performance": p, "mu": m, "sig": s} for p, m, s in shown]
        answers.append({name: fields[i] | inner[i] for i, name in enumerate(names)})
    return answers


def _steps(params: TopCoder, beliefs: Beliefs, round: Rounds) -> tuple[Outcome, list[dict[str, float]]]:
    """The four steps, and what the summary says of every participant."""
    n = round.n_rows
    outcome = Outcome.empty(n)
    prior = outcome.prior
    SYSTEM.prior(params, beliefs, round, 0, n, prior)
    summary: Field = SYSTEM.summarise(params, prior, round, Serial().map)
    SYSTEM.perform(params, summary, 0, len(summary.first) - 1, outcome.perf)
    SYSTEM.absorb(params, beliefs, round, prior, summary, 0, n, outcome)
    inner = []
    for i in range(n):
        field = VETERANS if summary.apart and prior.n_before[i] else 1 - VETERANS
        constants = params.weight_noob, params.weight_limit, params.weight_multiplier, params.published_constants
        weight, cap = step_size(prior.mu[i], prior.n_before[i], round.weight[0], *constants)
        inner.append(
            {
                "expected_rank": 0.5 + summary.better[i],
                "weight": weight,
                "cap": cap,
                "competition_factor": summary.factor[field],
            }
        )
    return outcome, inner
