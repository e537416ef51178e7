"""Levels of players and difficulties of problems together, from who solved what: the Rasch model.

Player i solves problem p with chance 1 / (1 + 10^((D_p - r_i) / scale)), and both r and D are unknown. Two concave
problems are solved in turn:

    D_p   the difficulty for participants of levels r_i, with the virtual pair (:mod:`.difficulty`)
    r_i   the level with the greatest probability for problems of these difficulties, given the prior (:mod:`.players`)

and after each sweep the levels are moved together, so that their mean, weighted by 1 / sigma^2, is that of the priors,
and the difficulties follow: results do not say where the scale is.

A level is uncertain. If each D_p is the difficulty for levels r_i with their standard deviations, this is the EM
algorithm for the greatest *marginal* likelihood of the difficulties, with the normal approximation of levels and
Glicko's approximation of a chance; the estimate tends to the truth as players are added. If levels count as certain,
it is the *joint* maximum. With few problems a player that one is biased, also with very many players: difficulties are
too far apart without a prior, too near with one.

Deviations are those of the curvature, all unknowns together: with A and C the curvature of the levels and of the
difficulties, both diagonal, and -B that between them,

    covariance of D = (C - B' A^-1 B)^-1,    variance of r_i = 1 / A_i + (B (covariance of D) B')_ii / A_i^2

Sources: Rasch, "Probabilistic models for some intelligence and attainment tests" (1960); Wright and Panchapakesan, "A
procedure for sample-free item analysis" (1969), joint; Bock and Aitkin, "Marginal maximum likelihood estimation of
item parameters" (1981), marginal.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.jit import exact
from ..core.ragged import Ragged
from ..core.standings import Floats, Longs
from ..core.system import ConvergenceError
from .difficulty import SCALE, Entrants, difficulties
from .players import problem_ratings

SWEEPS = 100
TOLERANCE = 0.01  # rating points: the greatest change of a level or a difficulty by the last sweep


class Answers(NamedTuple):
    """Who had which problem, sorted by player. Each player and each problem has at least one answer.

    ``player``, ``problem`` (int64[answers]): numbers from 0. ``share`` (float64[answers]): solved, in [0, 1].
    """

    player: Longs
    problem: Longs
    share: Floats


class Joint(NamedTuple):
    """Levels and difficulties with their standard deviations, rating points, and the number of sweeps.

    ``level``, ``spread`` (float64[players]); ``difficulty``, ``deviation`` (float64[problems]).
    """

    level: Floats
    spread: Floats
    difficulty: Floats
    deviation: Floats
    sweeps: int


class _Field(NamedTuple):
    """Problems with the same players, both by number, and the sum of shares of each problem."""

    players: Longs
    problems: Longs
    solved: Floats


def estimate_jointly(
    mu: Floats, sigma: Floats, answers: Answers, scale: float = SCALE, pairs: float = 1.0, uncertain: bool = True
) -> Joint:
    """The levels of the players and the difficulties of the problems.

    ``mu``, ``sigma`` (float64[players]): the prior of a level; ``sigma`` > 0.
    ``scale``, ``pairs``: as for :func:`.difficulty.difficulties`.
    ``uncertain``: marginal; else the joint maximum.

    Raises ConvergenceError: after :data:`SWEEPS` sweeps a place still moved by :data:`TOLERANCE` points or more.

    A sweep takes O(answers) time, the deviations O(answers x problems of a player + problems^3) and 8 bytes a pair of
    problems.
    """
    fields, n_problems = _fields(answers), int(answers.problem.max()) + 1
    share = Ragged.from_lengths(np.bincount(answers.player, minlength=len(mu)), answers.share)
    given, precision = np.zeros(len(answers.problem)), 1.0 / np.square(sigma)
    level, spread, difficulty = mu, sigma, np.full(n_problems, np.nan)
    sweeps, change = 0, math.inf
    while change >= TOLERANCE:
        if sweeps == SWEEPS:
            raise ConvergenceError(f"places still move by {change:.2g} rating points a sweep after {SWEEPS} sweeps")
        found = np.empty(n_problems)
        for field in fields:
            entrants = Entrants.of(level[field.players], spread[field.players] if uncertain else None)
            found[field.problems] = difficulties(entrants, field.solved, scale, pairs).difficulty
        raised, spread = problem_ratings(mu, sigma, share, found[answers.problem], given, scale)
        off = float(np.average(mu - raised, weights=precision))
        moved = np.append(found - difficulty, raised + off - level)
        level, difficulty = raised + off, found
        sweeps, change = sweeps + 1, float(np.nanmax(np.abs(moved)))  # the first sweep has no difficulties before it
    base = math.log(10.0) / scale
    information = _information(base, level[answers.player] - difficulty[answers.problem])
    own = np.empty(n_problems)
    for field in fields:
        own[field.problems] = _information(base, np.mean(level[field.players]) - difficulty[field.problems])
    own *= 2.0 * pairs
    matrix = np.diag(own)
    if pairs:
        matrix -= np.outer(own, own) / np.sum(own)  # pairs say nothing about the place of the scale
    curvature = precision.copy()
    _curve(share.offsets, answers.problem, information, curvature, matrix)
    covariance = np.linalg.inv(matrix)
    _spread(share.offsets, answers.problem, information, curvature, covariance, spread)
    return Joint(level, spread, difficulty, np.sqrt(np.diag(covariance)), sweeps)


def _fields(answers: Answers) -> list[_Field]:
    order = np.argsort(answers.problem, kind="stable")
    players, ends = answers.player[order], np.cumsum(np.bincount(answers.problem))
    solved = np.bincount(answers.problem, answers.share).astype(np.float64)
    groups: dict[bytes, list[int]] = {}
    for problem, own in enumerate(np.split(players, ends[:-1])):
        groups.setdefault(own.tobytes(), []).append(problem)
    return [
        _Field(np.frombuffer(own, players.dtype), np.array(problems), solved[problems])
        for own, problems in groups.items()
    ]


def _information(base: float, lead: Floats) -> Floats:
    """The curvature of the log-likelihood of an answer by a player who is ``lead`` points above the difficulty."""
    e = np.exp(-np.abs(base * lead))
    curvature: Floats = base * base * e / np.square(1.0 + e)
    return curvature


@exact
def _curve(offsets, problem, information, curvature, matrix):
    """Add the answers to the curvature of the levels, and to that of the difficulties with the levels at their best."""
    for i in range(len(curvature)):
        for k in range(offsets[i], offsets[i + 1]):
            curvature[i] += information[k]
        for k in range(offsets[i], offsets[i + 1]):
            a, part = problem[k], information[k] / curvature[i]
            matrix[a, a] += information[k]
            for j in range(offsets[i], offsets[i + 1]):
                matrix[a, problem[j]] -= part * information[j]


@exact
def _spread(offsets, problem, information, curvature, covariance, spread):
    """Write the standard deviations of the levels."""
    for i in range(len(curvature)):
        variance = 0.0
        for k in range(offsets[i], offsets[i + 1]):
            for j in range(offsets[i], offsets[i + 1]):
                variance += information[k] * covariance[problem[k], problem[j]] * information[j]
        spread[i] = math.sqrt((1.0 + variance / curvature[i]) / curvature[i])
