"""The skills of one player given skewed performances: Newton's method on the chain of rounds.

Source: this project, for the noise of :mod:`..inference.skewed`; the linearised cavities are those of Laplace's
approximation (Vehtari et al., Journal of Machine Learning Research 17, 2016).

The skills of a player are jointly normal before the results, and a performance p at skill s has the force
g(s - p), the derivative of the negative logarithm of its law. The mode of the skills given all performances satisfies

    Q (s - prior mean) + g(s - p) = 0

with the tridiagonal precision Q of the chain. A step of Newton replaces g by its tangent at the last s. That is a
normal observation of s - g / g' with precision g', and :func:`.recursion.smooth_player` solves for all skills in
O(rounds). The first step has the precision of the whole law instead. The logarithm of the posterior is concave; a step
that might lower it is replaced by one with the largest slope of g, which never does.

Variances do not depend on the results, as in Elo-MMS: each performance has the precision 1 / b2 of its whole law. The
cavity of a round is the belief from which the update of Elo-MMS with its performance leads to s:

    1/v_c as for normal performances,    m_c = s + v_c g(s - p)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.beliefs import NEVER
from ..core.jit import exact, inner_exact
from ..core.numerics import exp
from ..core.standings import Floats
from ..inference.skewed import RoundLaw, sides
from .recursion import Observations, Skills, include, smooth_player, step

SCRATCH = 7  # rows of work space
PULL = 3  # the one that has the forces of the performances at the skills afterwards
_STEPS = 200
_CONVERGED = 1e-9  # of beta and of the skill: the next error is about the square of the last step
_FLAT = 1e-9  # of the slope above the skill: least slope, so that s - g / g' is finite
_STEEPEST = math.pi**2 / 6.0  # slope of a logistic lower side at the skill, for skew 1


@inner_exact
def force(y, precision, linear, bounded, scale):
    """Derivative of the negative logarithm of the law at ``y`` = skill - performance, and its slope.

    The arguments are those of :func:`..inference.skewed.sides`.
    """
    if y <= 0.0:
        return precision * y, precision
    e = exp(-y / scale)
    pull, slope = bounded * (1.0 - e) / (1.0 + e) / scale, 2.0 * bounded * e / ((1.0 + e) * (1.0 + e) * scale * scale)
    return linear * y + pull, max(linear + slope, _FLAT * precision)


@exact
def smooth_chain(n, variance, shown, skewed, skew, sides, forward, work, cavity):
    """Write the cavities of ``n`` rounds of one player.

    ``variance``, ``shown``, ``forward``, ``cavity``: as for :func:`.recursion.smooth_player`, with the precision of the
    whole law.
    ``skewed``: if not, performances are normal, and one pass is enough.
    ``sides`` (float64[4, >= n]): those of each round (:func:`..inference.skewed.sides`).
    ``work`` (float64[SCRATCH, >= n]): overwritten; see :data:`PULL`.
    Returns bool: whether the mode was found.
    """
    perf, mean, cavity_variance = shown.perf, cavity.mean, cavity.variance
    seen, slope, skill, pull, move, centre, spread = work[0], work[1], work[2], work[PULL], work[4], work[5], work[6]
    tangent, found_now = Observations(seen, slope, shown.growth, shown.added, shown.scale), Skills(centre, spread)
    for k in range(n):
        seen[k], slope[k] = perf[k], shown.precision[k]
    steep = max(1.0, _STEEPEST / (skew * skew))
    first, safe, found = True, False, False
    for _ in range(_STEPS):
        smooth_player(n, variance, tangent, forward, found_now)
        if first:
            for k in range(n):
                mean[k], cavity_variance[k] = centre[k], spread[k]
                skill[k] = include(centre[k], spread[k], seen[k], slope[k])[0]
                pull[k] = slope[k] * (skill[k] - seen[k])
            if not skewed:
                return True
            first = False
        else:
            found, rise = not safe, 0.0
            for k in range(n):
                move[k] = include(centre[k], spread[k], seen[k], slope[k])[0] - skill[k]
                up, low, bound, scale = sides[0, k], sides[1, k], sides[2, k], sides[3, k]
                middle = force(skill[k] + 0.5 * move[k] - perf[k], up, low, bound, scale)[0]
                end = force(skill[k] + move[k] - perf[k], up, low, bound, scale)[0]
                # at most so much is added to minus the logarithm: g increases, so that a sum bounds its integral
                rise += move[k] * (0.5 * (middle + end) - pull[k] - slope[k] * move[k])
                if not abs(move[k]) <= _CONVERGED * (abs(skill[k]) + 1.0 / math.sqrt(up)):
                    found = False
            safe = not (found or safe or rise <= 0.0)
            if not safe:
                for k in range(n):
                    skill[k] += move[k]
        for k in range(n):
            up = sides[0, k]
            pull[k], slope[k] = force(skill[k] - perf[k], up, sides[1, k], sides[2, k], sides[3, k])
            if safe:
                slope[k] = steep * up
            seen[k] = skill[k] - pull[k] / slope[k]
        if found:
            break
    for k in range(n):
        mean[k] = skill[k] + cavity_variance[k] * pull[k]
    return found


class ShownWeights(NamedTuple):
    """The weight of each performance: one a round, or with ``members`` of teams one a row."""

    members: bool
    weight: Floats


@exact
def smooth_players(
    start, stop, rows, model, weights, drift, law, variance, ranked, shift, perf, cavities
):  # fmt: skip
    """Write the cavities of all participations of players ``start`` to ``stop - 1``.

    With a ``shift``, the means grow by those that all performances of a round r equal to ``shift[r]`` would give to
    skills without practice: for normal performances a cavity is linear in them, so this is its change if all of a round
    change alike. For skewed ones it is about that.
    ``ranked``: the variances of the cavities are given, and the means move towards those for these variances
    (:mod:`.resolution`).

    Returns int: -1, or the first player whose skills were not found.
    """
    starts, order, round_of = rows
    mean, cavity_variance = cavities
    longest = 0
    for i in range(start, stop):
        longest = max(longest, starts[i + 1] - starts[i])
    shown, precision, growth, added = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)
    forward, cavity = Skills(np.empty(longest), np.empty(longest)), Skills(np.empty(longest), np.empty(longest))
    scale = np.ones(longest if len(drift.resets.scale) > 0 else 0)
    observations = Observations(shown, precision, growth, added, scale)
    laws, work = np.empty((4, longest)), np.empty((SCRATCH, longest))
    common = len(shift) > 0
    skewed = (law.skew > 1.0 or not law.normal) and not common
    for i in range(start, stop):
        first, n = starts[i], starts[i + 1] - starts[i]
        last = np.int64(NEVER)
        for k in range(n):
            row = order[first + k]
            r = round_of[row]
            observed = weights.weight[row if weights.members else r]
            precision[k] = observed / model.spread[r]
            factor, growth[k], added[k] = step(k, r, row, last, model, drift)
            if len(scale) > 0:
                scale[k] = factor
            if common:
                growth[k] = 0.0
            if skewed:
                own = RoundLaw(law.beta, law.skew, law.normal, model.share[r], 0.0)
                laws[0, k], laws[1, k], laws[2, k], laws[3, k] = sides(observed, own)
            shown[k] = shift[r] if common else perf[row]
            last = max(last, model.time[r])
        if not smooth_chain(n, variance, observations, skewed, law.skew, laws, forward, work, cavity):
            return i
        for k in range(n):
            row = order[first + k]
            if common:
                mean[row] += cavity.mean[k]
            elif ranked:
                wider, own = cavity_variance[row] - cavity.variance[k], cavity.variance[k] * precision[k]
                move = cavity.mean[k] + wider * work[PULL, k] - mean[row]
                mean[row] += move / (1.0 + wider * precision[k] / (1.0 + own))
            else:
                mean[row], cavity_variance[row] = cavity.mean[k], cavity.variance[k]
    return -1
