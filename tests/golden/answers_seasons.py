"""Answers to the golden vectors of soft resets of Elo-MMR (system ``elo_mmr_seasons``): contests and resets in order.

A reset answers for all players, and each factor then has its width, too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from golden.answers_elo_mmr import answer, params_of
from golden.contests import contests_of, number_players, rate_contest, store_of
from golden.runner import Answers, Vector
from helpers.histories import C3, factors
from twins.elo_mmr import Twin

from ranklake.rating_kernels import SYSTEMS, Beliefs, Reset


def _without_resets(vector: Vector) -> dict[str, Any]:
    return dict(vector) | {"contests": [contest for contest in vector["contests"] if "reset" not in contest]}


def _reset_of(contest: dict[str, Any]) -> dict[str, Any]:
    given = dict(contest["reset"])
    forget = given.pop("history", "keep") == "forget"
    return given | {"forget": forget}


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """What the package answers."""
    contests = _without_resets(vector)
    system, rows = SYSTEMS["elo-mmr"], number_players(contests, {})
    params, rounds = system.params(**params_of(contests)), contests_of(contests, rows)
    beliefs, answers = store_of(system, params, rows, {}), list[Any]()
    for contest in vector["contests"]:
        if "reset" in contest:
            system.reset(params, beliefs, np.arange(len(rows)), Reset(**_reset_of(contest)))
            answers.append({name: _after_reset(beliefs, row) for name, row in rows.items()})
            continue
        shown = next(rounds)
        perf = rate_contest(system, params, beliefs, shown, step_by_step).perf
        answers.append({name: answer(beliefs, rows[name], float(p)) for name, p in zip(shown.names, perf, strict=True)})
    return answers


def _after_reset(beliefs: Beliefs, row: int) -> dict[str, Any]:
    assert beliefs.history is not None
    given = answer(beliefs, row, math.nan)
    widths = 0.5 * C3 / beliefs.history.ragged(np.array([row]))["inverse_width"].values
    shown = zip(factors(beliefs, row), widths.tolist(), strict=True)
    return given | {"factors": [[*factor, width] for factor, width in shown]}


def twin(vector: Vector) -> Answers:
    """What the plain-Python twin answers."""
    known, answers = Twin(**params_of(_without_resets(vector))), list[Any]()
    for contest in vector["contests"]:
        if "reset" in contest:
            known.reset(**_reset_of(contest))
            answers.append(
                {
                    name: _shown(player, [list(factor) for factor in player.factors])
                    for name, player in known.players.items()
                }
            )
            continue
        names = {name for name, *_ in contest.get("performances") or contest["standings"]}
        if "performances" in contest:
            outcomes = known.absorb(contest["performances"], contest["time"])
        else:
            outcomes = known.rate(contest["standings"], contest["time"])
        performances = {outcome.player: outcome.performance for outcome in outcomes}
        answers.append(
            {
                name: _shown(player, [factor[:2] for factor in player.factors]) | {"performance": performances[name]}
                for name, player in known.players.items()
                if name in names
            }
        )
    return answers


def _shown(player: Any, of_history: list[list[float]]) -> dict[str, Any]:
    weight = player.normal_weight
    return {
        "mu": player.mu,
        "sig": player.sigma,
        "normal_mu": player.normal_mu,
        "normal_sig": weight**-0.5,
        "factors": of_history,
    }
