"""Answers to the vectors of the systems ``codeforces`` and ``cfsys``."""

from __future__ import annotations

from typing import Any

import numpy as np
from golden.contests import contests_of, number_players, store_of
from golden.runner import Answers, Vector, check_names
from twins.codeforces import CFTwin, CodeforcesTwin, Outcome

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Rounds, System
from ranklake.rating_kernels import Outcome as Rated
from ranklake.rating_kernels.inference.needed_rating import TIE_SHARE

INNER = {
    "codeforces": {"rank", "seed", "mid_rank", "raw_delta"},
    "cfsys": {"actual_rank", "expected_rank"},
}  # what a round of few participants does not tell
NAMES = {"codeforces": "codeforces", "cfsys": "cf-general"}
PARAMS = {
    "codeforces": {"rule", "arithmetic", "tie_rank", "need_excludes_self", "initial", "display_2020"},
    "cfsys": {"beta", "weight", "mu_init", "sigma_init", "mu0", "sig0"},
}
CONTEST = {"codeforces": {"standings", "time"}, "cfsys": {"standings", "time", "weight", "perf_ceiling"}}
SPELLED = {"mu0": "mu_init", "sig0": "sigma_init"}
LITERAL = {"codeforces": {"lone_player": "literal"}, "cfsys": {}}  # vectors take the rules at their word


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """What ``SYSTEMS`` answers; with ``step_by_step`` every round goes through the four steps of a large one."""
    system = SYSTEMS[NAMES[vector["system"]]]
    params, ratings = system.params(**_params(vector)), vector["params"].get("initial_ratings", {})
    state = {name: (mu, params.sigma_init, 0) for name, mu in ratings.items()}
    rows, answer = number_players(vector, state), _in_four_steps if step_by_step else _at_once
    beliefs = store_of(system, params, rows, state)
    return [
        dict(zip(names, answer(system, params, beliefs, round), strict=True))
        for names, round, _ in contests_of(vector, rows)
    ]


def twin(vector: Vector) -> Answers:
    """What the plain-Python twin answers."""
    kind = {"codeforces": CodeforcesTwin, "cfsys": CFTwin}[vector["system"]]
    rater = kind(**_params(vector), initial_ratings=vector["params"].get("initial_ratings", {}))
    answers = []
    for contest in vector["contests"]:
        how = {name: contest[name] for name in ("weight", "perf_ceiling") if name in contest}
        rows = rater.rate([(name, lo, hi) for name, lo, hi in contest["standings"]], **how)
        answers.append({row.player: _spell(rater, row) for row in rows})
    return answers


def _params(vector: Vector) -> dict[str, Any]:
    """The vector's hyperparameters without ``initial_ratings``; unknown names raise."""
    system = vector["system"]
    check_names(vector, PARAMS[system] | {"initial_ratings"}, CONTEST[system])
    params = {SPELLED.get(name, name): value for name, value in vector["params"].items() if name != "initial_ratings"}
    return params | LITERAL[system]


def _spell(rater: CodeforcesTwin | CFTwin, row: Outcome) -> dict[str, float]:
    if isinstance(rater, CFTwin):
        shown = {"performance": row.need, "actual_rank": row.rank, "expected_rank": row.seed}
        return {"mu": row.mu, "sig": rater.sigma_init} | shown
    shown = {"need_rating": row.need, "raw_delta": row.raw_delta, "delta": row.delta, "displayed": row.displayed}
    return {"mu": row.mu, "rank": row.rank, "seed": row.seed, "mid_rank": row.mid_rank} | shown


def _at_once(system: System, params: Any, beliefs: Beliefs, round: Rounds) -> list[dict[str, float]]:
    return _rows(system, params, rate_rounds(system, params, beliefs, round, Serial()))


def _in_four_steps(system: System, params: Any, beliefs: Beliefs, round: Rounds) -> list[dict[str, float]]:
    n = round.n_rows
    outcome = Rated.empty(n)
    system.prior(params, beliefs, round, 0, n, outcome.prior)
    summary = system.summarise(params, outcome.prior, round, Serial().map)
    system.perform(params, summary, 0, len(summary.first) - 1, outcome.perf)
    system.absorb(params, beliefs, round, outcome.prior, summary, 0, n, outcome)
    rows = _rows(system, params, outcome)
    if system.name == "cf-general":
        place = 1 + (round.lo + round.hi) / 2
        inner = {"actual_rank": place, "expected_rank": summary.seed}
    else:
        place = 1 + round.lo + TIE_SHARE[params.tie_rank] * (round.hi - round.lo)
        raw = (summary.need - outcome.mu_prior) / 2
        raw = np.trunc(raw) if params.whole else raw
        inner = {"rank": place, "seed": summary.seed, "mid_rank": np.sqrt(place * summary.seed), "raw_delta": raw}
    return [row | {name: float(column[i]) for name, column in inner.items()} for i, row in enumerate(rows)]


def _rows(system: System, params: Any, outcome: Rated) -> list[dict[str, float]]:
    if system.name == "cf-general":
        columns = {"mu": outcome.mu, "sig": outcome.sigma, "performance": outcome.perf}
    else:
        assert system.offset is not None
        columns = {"mu": outcome.mu, "need_rating": outcome.perf, "delta": outcome.mu - outcome.mu_prior}
        columns["displayed"] = outcome.mu + system.offset(params, outcome.mu, outcome.n_before + np.int32(1))
    return [{name: float(column[i]) for name, column in columns.items()} for i in range(len(outcome.mu))]
