"""Answers to the golden vectors of teams: Elo-MMR, or Elo-MMchi for the variant gaussian; Elo-MMS; TrueSkill; BAR.

A row of the standings is ``[team, lo, hi, members]`` or ``[team, lo, hi, members, shares]``; places count teams.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from golden import answers_elo_mms
from golden.answers_elo_mmr import params_of
from golden.runner import Answers, Vector
from helpers.teams import team_rounds
from twins.bar import Twin as BARTwin
from twins.elo_mmr import Twin
from twins.elo_mms import Twin as MMSTwin
from twins.teams import level
from twins.trueskill import Twin as TrueSkillTwin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS

SUMS = {
    "trueskill_teams": ("trueskill", {}, TrueSkillTwin),
    "bar_teams": ("bar", {"variant": "btfull"}, BARTwin),
}  # system, settings and twin


def twin(vector: Vector) -> Answers:
    """The answers of the plain-Python twin."""
    known = Twin(**params_of(vector), variant=vector["params"].get("variant", "logistic"))
    answers = []
    for contest in vector["contests"]:
        how = {name: contest[name] for name in ("time", "weight", "perf_ceiling") if name in contest}
        outcomes, perf = known.rate_teams([_without_name(row) for row in contest["standings"]], **how)
        team = [name for name, _, _, members, *_ in contest["standings"] for _ in members]
        shown = [p for p, row in zip(perf, contest["standings"], strict=True) for _ in row[3]]
        answers.append(
            {
                row.player: {
                    "team": name,
                    "mu": row.mu,
                    "sig": row.sigma,
                    "team_performance": p,
                    "performance": row.performance,
                }
                for row, name, p in zip(outcomes, team, shown, strict=True)
            }
        )
    return answers


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """The answers of the package; with ``step_by_step`` as large rounds are rated."""
    if vector["system"] == "elo_mms_teams":
        system, chosen = SYSTEMS["elo-mms"], answers_elo_mms.params_of(vector)
    else:
        system = SYSTEMS[{"logistic": "elo-mmr", "gaussian": "elo-mmx"}[vector["params"].get("variant", "logistic")]]
        chosen = params_of(vector)
    system = replace(system, small=0) if step_by_step else system
    params = system.params(**chosen)
    names = sorted({name for c in vector["contests"] for row in c["standings"] for name in row[3]})
    rows = {name: row for row, name in enumerate(names)}
    beliefs = system.newcomers(params, len(names))
    answers = []
    for contest in vector["contests"]:
        standings = [_without_name(row) for row in contest["standings"]]
        how = contest.get("time", 0), contest.get("weight", 1.0), contest.get("perf_ceiling", math.inf)
        round = team_rounds([(standings, *how)], rows)
        outcome = rate_rounds(system, params, beliefs, round, Serial())
        answers.append(_answers(contest["standings"], params, outcome))
    return answers


def mms_twin(vector: Vector) -> Answers:
    """The answers of the twin of Elo-MMS."""
    known, answers = MMSTwin(**answers_elo_mms.params_of(vector)), []
    for contest in vector["contests"]:
        how = {name: contest[name] for name in ("time", "weight", "perf_ceiling") if name in contest}
        rated = known.rate_teams([_without_name(row) for row in contest["standings"]], **how)
        answers.append({row.player: {"mu": row.mu, "sig": row.sigma, "performance": row.performance} for row in rated})
    return answers


def sums_twin(vector: Vector) -> Answers:
    """The answers of the twins of TrueSkill and BAR."""
    _, settings, known = SUMS[vector["system"]]
    twin = known(**settings)
    rated = [twin.rate_teams([_without_name(row) for row in contest["standings"]]) for contest in vector["contests"]]
    return [{row.player: {"mu": row.mu, "sig": row.sigma} for row in rows} for rows in rated]


def sums_package(vector: Vector, step_by_step: bool = False) -> Answers:
    """The answers of the package for TrueSkill and BAR; with ``step_by_step`` as large rounds are rated."""
    name, settings, _ = SUMS[vector["system"]]
    system = replace(SYSTEMS[name], small=0) if step_by_step else SYSTEMS[name]
    params = system.params(**settings)
    names = sorted({name for c in vector["contests"] for row in c["standings"] for name in row[3]})
    rows, beliefs, answers = {name: row for row, name in enumerate(names)}, system.newcomers(params, len(names)), []
    for contest in vector["contests"]:
        standings = [_without_name(row) for row in contest["standings"]]
        outcome = rate_rounds(system, params, beliefs, team_rounds([(standings, 0, 1.0, math.inf)], rows), Serial())
        members = [name for row in contest["standings"] for name in row[3]]
        after = zip(members, outcome.mu, outcome.sigma, strict=True)
        answers.append({name: {"mu": mu, "sig": sigma} for name, mu, sigma in after})
    return answers


def _without_name(row: Any) -> Any:
    _, lo, hi, members, *shares = row
    return lo, hi, members, shares[0] if shares else None


def _answers(standings: Any, params: Any, outcome: Any) -> dict[Any, dict[str, Any]]:
    """Each member's belief and performance. A team's performance is p = M + w (q - mu) for any of its members."""
    answers, at = {}, 0
    for name, _, _, members, *shares in standings:
        part = slice(at, at + len(members))
        mu, perf = outcome.mu_prior[part], outcome.perf[part]
        if params.team == "best" and len(members) > 1:
            centre = level(mu.tolist())
            share = 1.0 / (1.0 + 10.0 ** ((centre - mu) / 400.0))
        else:
            share = np.array(shares[0] if shares else [1.0] * len(members))
            centre = mu @ share / share.sum()
        team_performance = float(centre + share[0] / share.sum() * (perf[0] - mu[0]))
        for member, after, sigma, shown in zip(members, outcome.mu[part], outcome.sigma[part], perf, strict=True):
            answers[member] = {
                "team": name, "mu": after, "sig": sigma, "team_performance": team_performance, "performance": shown,
            }  # fmt: skip
        at += len(members)
    return answers
