"""Answers to the golden vectors of Glicko (system ``glicko``, ``variant`` allpairs_mean or none) and of ``glicko2``."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from golden.runner import ABOUT, Answers, Vector, known
from helpers.histories import four_steps, set_ratings
from twins.glicko import AllPairs, Glicko
from twins.glicko2 import Glicko2

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Rounds
from ranklake.rating_kernels.systems import glicko, glicko2

INNER = {"v", "delta"}  # what the games of a contest tell is not kept in small rounds

_COMMON = {"mu0": "mu_init", "sig0": "sigma_init"} | {name: name for name in ("mu_init", "sigma_init", "period_days")}
_NAMES = {
    "glicko": _COMMON | {name: name for name in ("sig_drift", "max_rd")},
    "glicko-allpairs": _COMMON | {name: name for name in ("sig_drift", "beta")},
    "glicko2": _COMMON | {"vol0": "vol_init"} | {name: name for name in ("tau", "scale", "vol_init")},
}
_TWINS = {"glicko": Glicko, "glicko-allpairs": AllPairs, "glicko2": Glicko2}


def _system(vector: Vector) -> str:
    variant = vector["params"].get("variant")
    if variant is None:
        return str(vector["system"])
    if (vector["system"], variant) != ("glicko", "allpairs_mean"):
        raise ValueError(f"unknown variant of {vector['system']}: {variant}")
    return "glicko-allpairs"


def _params(vector: Vector, names: dict[str, str]) -> dict[str, Any]:
    """The vector's hyperparameters in our spelling, without ``variant`` and ``initial_state``; unknown names raise."""
    known("key", vector, ABOUT)
    known("parameter", vector["params"], {*names, "variant", "initial_state"})
    for contest in vector["contests"]:
        known("contest key", contest, {"games", "idle"} if "games" in contest else {"standings", "time", "weight"})
    chosen = {names[name]: value for name, value in vector["params"].items() if name in names}
    if "scale" in chosen and chosen["scale"] != "exact":
        if chosen["scale"] not in ("printed", 173.7178):
            raise ValueError(f"unknown scale: {chosen['scale']}")
        chosen["scale"] = "printed"
    return chosen


def _state(vector: Vector) -> dict[str, tuple[Any, ...]]:
    """What is known of players beforehand: mu, sigma (and volatility), and whether a period has gone by since.

    Beliefs of a vector that names a drift are old; otherwise they are those with which the period begins.
    """
    n = 1 if "sig_drift" in vector["params"] else 0
    return {name: (*values, n) for name, values in vector["params"].get("initial_state", {}).items()}


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """What the package answers; with ``step_by_step`` contests go through the four steps and the table."""
    name = _system(vector)
    system = SYSTEMS[name]
    params, state = system.params(**_params(vector, _NAMES[name])), _state(vector)
    rows = {player: row for row, player in enumerate(sorted(_players(vector) | set(state)))}
    beliefs = system.newcomers(params, len(rows))
    for player, (mu, sigma, *vol, n) in state.items():
        set_ratings(system, params, beliefs, [rows[player]], mu, sigma, n)
        if vol:
            beliefs.state["vol"][rows[player]] = vol[0]
    of_games = {"glicko": glicko, "glicko2": glicko2}
    answers: Answers = []
    for contest in vector["contests"]:
        period: Any = None
        if "games" in contest:
            a, b, score = zip(*contest["games"], strict=True)
            period = of_games[name].rate_games(
                params, beliefs, [rows[one] for one in a], [rows[one] for one in b], score
            )
            rated = period.player.tolist()
            idle = [rows[player] for player in contest.get("idle", [])]
            of_games[name].sit_out(params, beliefs, np.array(idle, dtype=np.int64))
        else:
            who, lo, hi = zip(*contest["standings"], strict=True)
            rated, idle = [rows[player] for player in who], []
            at = [contest.get("time", 0)], [contest.get("weight", 1.0)]
            round = Rounds.from_columns([0, len(rated)], rated, lo, hi, *at)
            if step_by_step:
                summaries: list[Any] = []
                four_steps(_watched(system, summaries), params, beliefs, round)
                period = summaries[0]
            else:
                rate_rounds(system, params, beliefs, round, Serial())
        answer = {row: {"mu": float(beliefs.mu[row]), "sig": float(beliefs.sigma[row])} for row in rated + idle}
        for column, values in beliefs.state.items():
            for row in answer:
                answer[row][column] = float(values[row])
        if period is not None and name == "glicko2":
            for row, surprise, information in zip(rated, period.surprise, period.information, strict=True):
                answer[row] |= {"v": 1.0 / information, "delta": surprise / information}
        names = {row: player for player, row in rows.items()}
        answers.append({names[row]: values for row, values in answer.items()})
    return answers


def _watched(system: Any, summaries: list[Any]) -> Any:
    """The system, which also shows its summaries."""

    def summarise(*arguments: Any) -> Any:
        summaries.append(system.summarise(*arguments))
        return summaries[-1]

    return dataclasses.replace(system, summarise=summarise)


def _players(vector: Vector) -> set[str]:
    found: set[str] = set()
    for contest in vector["contests"]:
        for a, b, _ in contest.get("games", []):
            found |= {a, b}
        found |= {row[0] for row in contest.get("standings", [])} | set(contest.get("idle", []))
    return found


def twin(vector: Vector) -> Answers:
    """What the plain-Python twin answers."""
    name = _system(vector)
    known_twin = _TWINS[name](**_params(vector, _NAMES[name]), initial_state=_state(vector))
    answers: Answers = []
    for contest in vector["contests"]:
        if "games" in contest:
            outcomes = known_twin.rate_games([tuple(game) for game in contest["games"]])
        else:
            how = {key: contest[key] for key in ("time", "weight") if key in contest}
            outcomes = known_twin.rate([tuple(row) for row in contest["standings"]], **how)
        answer = {outcome.player: _answer(outcome) for outcome in outcomes}
        for player in contest.get("idle", []):
            answer[player] = _answer(known_twin.sit_out(player))
        answers.append(answer)
    return answers


def _answer(belief: Any) -> dict[str, Any]:
    found = {"mu": belief.mu, "sig": belief.sigma}
    return found | {name: getattr(belief, name) for name in ("vol", "v", "delta") if hasattr(belief, name)}
