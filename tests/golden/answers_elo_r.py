"""Answers to the golden vectors of Elo-R (system ``elo_r``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from golden.contests import contests_of, number_players, rate_contest
from golden.runner import Answers, Vector, check_names
from twins.elo_r import Factor, Player, Twin

from ranklake.rating_kernels import SYSTEMS, Beliefs, Outcome, Rounds
from ranklake.rating_kernels.core.ragged import Ragged

SYSTEM = SYSTEMS["elo-r"]
_ELO_R = {"mu0": "mu_init", "sig0": "sigma_init", "sig_star": "sigma_star"} | {
    name: name
    for name in ("gamma", "sigma_star", "noise", "tie_mode", "max_len", "mu_init", "sigma_init", "drift_per_day")
}


def params_of(vector: Vector) -> dict[str, Any]:
    """The vector's hyperparameters in our spelling, without ``initial_state``; unknown names raise."""
    check_names(vector, {*_ELO_R, "initial_state"}, {"standings", "performances", "time", "weight", "perf_ceiling"})
    return {_ELO_R[name]: value for name, value in vector["params"].items() if name in _ELO_R}


def twin(vector: Vector) -> Answers:
    """What the plain-Python twin answers."""
    known_twin = Twin(**params_of(vector), initial_state=vector["params"].get("initial_state", {}))
    answers = []
    for contest in vector["contests"]:
        how = {name: contest[name] for name in ("weight", "perf_ceiling", "time") if name in contest}
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
                    "public": outcome.public,
                    "kappa2": outcome.kappa2,
                    "factors": [list(factor) for factor in outcome.factors],
                }
                for outcome in outcomes
            }
        )
    return answers


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """What ``SYSTEMS["elo-r"]`` answers.

    With ``step_by_step`` each round, small as it is, goes through the four steps and the table that large ones need.
    """
    params = SYSTEM.params(**params_of(vector))
    limit = SYSTEM.sigma_limit(params)
    people = Twin(initial_state=vector["params"].get("initial_state", {})).players
    rows, answers = number_players(vector, people), []
    beliefs = SYSTEM.newcomers(params, len(rows))
    remember(beliefs, {rows[name]: player for name, player in people.items()})
    for contest in contests_of(vector, rows):
        kappa2 = _kappa2(params, beliefs, contest.round)
        outcome = rate_contest(SYSTEM, params, beliefs, contest, step_by_step)
        answers.append(
            {
                name: {
                    "mu": float(outcome.mu[i]),
                    "sig": float(outcome.sigma[i]),
                    "performance": float(outcome.perf[i]),
                    "public": float(outcome.mu[i] - SYSTEM.deviations * (outcome.sigma[i] - limit)),
                    "kappa2": float(kappa2[i]),
                    "factors": [list(factor) for factor in queue(beliefs, rows[name])],
                }
                for i, name in enumerate(contest.names)
            }
        )
    return answers


def _kappa2(params: Any, beliefs: Beliefs, round: Rounds) -> Any:
    """The effect of the round's noise on all normal factors: kappa^2 is the same for all factors of a belief."""
    copy = SYSTEM.newcomers(params, len(beliefs))
    copy.restore(beliefs.columns())
    SYSTEM.prior(params, copy, round, 0, round.n_rows, Outcome.empty(round.n_rows).prior)
    return beliefs.state["normal_weight"][round.player] / copy.state["normal_weight"][round.player]


def remember(beliefs: Beliefs, people: Mapping[int, Player]) -> None:
    """Set the beliefs of these rows to their queues; all other rows are newcomers."""
    columns: dict[str, Any] = beliefs.columns()
    queues: list[Sequence[Factor]] = [people[row].queue[1:] if row in people else [] for row in range(len(beliefs))]
    for row, player in people.items():
        normal_mu, normal_tau = player.queue[0]
        state = {"mu": player.r, "sigma": player.sigma, "n_rounds": player.n}
        for name, value in (state | {"normal_mu": normal_mu, "normal_weight": normal_tau**-2}).items():
            columns[name][row] = value
    lengths = np.array([len(factors) for factors in queues])
    perf = np.array([mu for factors in queues for mu, _ in factors], dtype=float)
    inverse_tau = np.array([1 / tau for factors in queues for _, tau in factors], dtype=float)
    columns["history_perf"] = Ragged.from_lengths(lengths, perf)
    columns["history_inverse_tau"] = Ragged.from_lengths(lengths, inverse_tau)
    beliefs.restore(columns)


def queue(beliefs: Beliefs, row: int = 0) -> list[Factor]:
    """A player's factors, oldest first: centre and width, the first one normal."""
    parts = beliefs.history.ragged()
    span = slice(*parts["perf"][0][row : row + 2])
    normal = float(beliefs.state["normal_mu"][row]), float(beliefs.state["normal_weight"][row]) ** -0.5
    return [normal, *zip(parts["perf"][1][span].tolist(), (1 / parts["inverse_tau"][1][span]).tolist(), strict=True)]
