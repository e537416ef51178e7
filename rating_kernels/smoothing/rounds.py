"""Performances of many rounds against the beliefs of their participants, and the filter that starts a smoothing.

A performance is the zero of the field's sum (:mod:`..inference.performance`); participant j performs logistically
around m_j - shift with variance v_j + noise, those of the law of performances in the round. The shift is
common to a round: performances are found around m_j and moved afterwards. Duels have a
solver of their own (:mod:`.duels`); other rounds of up to ``DIRECT`` participants are summed term by term, larger ones
through the table. Means are relative to the mean skill of newcomers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.beliefs import NEVER
from ..core.jit import exact
from ..core.numerics import C3
from ..core.standings import Floats
from ..fields.advantages import perform_in_rating, restore_ratings, to_strengths
from ..inference.logistic_field import solve_round
from ..inference.performance import FULL, SPLIT
from ..inference.skewed import RoundLaw, change_of_mean, sides
from .duels import DUELS, add_duel, duel_space, solve_duels
from .recursion import include, step


class RoundNoise(NamedTuple):
    """Of the performances of each round.

    ``variance``.
    ``shift``: distance of the mean below the skill.
    ``weight``: of a large round in which performances spread as much.
    ``hidden``: the share of a performance that places do not show (:mod:`.resolution`).
    """

    variance: Floats
    shift: Floats
    weight: Floats
    hidden: Floats


@exact
def _solve_round(mean, variance, noise, shift, lo, split, ceiling, perf):
    """Write the performances of one round; returns -1, or the tie group that has no root."""
    n = len(mean)
    omega = np.empty(n)
    for i in range(n):
        omega[i] = C3 / math.sqrt(variance[i] + noise)
    failed = solve_round(mean, omega, lo, SPLIT if split else FULL, ceiling + shift, perf)
    for i in range(n):
        perf[i] -= shift
    return failed


@exact
def solve_rounds(start, stop, offsets, lo, noise, ceiling, split, mean, variance, perf):
    """Write the performances of rounds ``start`` to ``stop - 1``; returns -1, or a round without a root."""
    space, held, duels = duel_space(), 0, np.empty(DUELS, dtype=np.int64)
    rows, top, down = np.empty(DUELS, dtype=np.int64), np.empty(DUELS), np.empty(DUELS)
    for r in range(start, stop):
        i, j = offsets[r], offsets[r + 1]
        if j - i == 2:
            add_duel(space, held, mean[i:j], variance[i:j], noise.variance[r], lo[i + 1] == 0, split)
            duels[held], rows[held], top[held], down[held] = r, i, ceiling[r], noise.shift[r]
            held += 1
        else:
            failed = _solve_round(
                mean[i:j], variance[i:j], noise.variance[r], noise.shift[r], lo[i:j], split, ceiling[r], perf[i:j]
            )  # fmt: skip
            if failed >= 0:
                return r
        if held == DUELS or (held > 0 and r == stop - 1):
            failed = solve_duels(space, held, top, down, rows, perf)
            if failed >= 0:
                return duels[failed]
            held = 0
    return -1


@exact
def update_means(start, stop, offsets, weight, share, law, cavities, perf, smooth):
    """Write the mean of each cavity of rounds ``start`` to ``stop - 1`` after its own performance, a skewed one.

    Returns int: -1, or the first round without a mean.
    """
    for r in range(start, stop):
        of_round = sides(weight[r], RoundLaw(law.beta, law.skew, law.normal, share[r], 0.0))
        for row in range(offsets[r], offsets[r + 1]):
            mean = cavities.mean[row]
            smooth[row] = mean + change_of_mean(perf[row] - mean, cavities.variance[row], *of_round)
            if not math.isfinite(smooth[row]):
                return r
    return -1


@exact
def filter_rounds(
    rounds, noise, ceiling, split, n_players, model, drift, law, variance, cavities, perf
):  # fmt: skip
    """Rate all rounds in order: the belief of each participant given the earlier rounds, and its performance.

    Returns int: -1, or the first round without a root.
    """
    offsets, player, lo, advantage = rounds.offsets, rounds.player, rounds.lo, rounds.advantage
    mean, cavity_variance = cavities
    m, v = np.zeros(n_players), np.full(n_players, variance)
    k, last = np.zeros(n_players, dtype=np.int64), np.full(n_players, NEVER)
    skewed = law.skew > 1.0 or not law.normal
    space, first, rating = duel_space(), np.zeros(1, dtype=np.int64), np.empty(len(advantage))
    for r in range(len(offsets) - 1):
        i, j = offsets[r], offsets[r + 1]
        for row in range(i, j):
            p = player[row]
            scale, growth, added = step(k[p], r, row, last[p], model, drift)
            mean[row], cavity_variance[row] = scale * m[p] + growth, scale * scale * v[p] + added
        if len(advantage) > 0:
            to_strengths(i, j, advantage, mean, rating)
        if j - i == 2:
            add_duel(space, 0, mean[i:j], cavity_variance[i:j], noise.variance[r], lo[i + 1] == 0, split)
            failed = solve_duels(space, 1, ceiling[r : r + 1], noise.shift[r : r + 1], first, perf[i:j])
        else:
            failed = _solve_round(
                mean[i:j], cavity_variance[i:j], noise.variance[r], noise.shift[r], lo[i:j], split, ceiling[r],
                perf[i:j],
            )  # fmt: skip
        if failed >= 0:
            return r
        if len(advantage) > 0:
            restore_ratings(i, j, rating, mean)
            perform_in_rating(i, j, advantage, perf)
        of_round = sides(noise.weight[r], RoundLaw(law.beta, law.skew, law.normal, model.share[r], 0.0))
        for row in range(i, j):
            p = player[row]
            m[p], v[p] = include(mean[row], cavity_variance[row], perf[row], 1.0 / noise.variance[r])
            v[p] *= 1.0 + noise.hidden[r] * cavity_variance[row] / noise.variance[r]
            if skewed:
                m[p] = mean[row] + change_of_mean(perf[row] - mean[row], cavity_variance[row], *of_round)
            k[p] += 1
            last[p] = max(last[p], model.time[r])
    return -1


@exact
def measure_moves(start, stop, offsets, before, after, mean_move, spread):
    """Write, of rounds ``start`` to ``stop - 1``, the mean of ``after - before``, and its largest less its smallest."""
    for r in range(start, stop):
        total, least, most = 0.0, math.inf, -math.inf
        for row in range(offsets[r], offsets[r + 1]):
            move = after[row] - before[row]
            total += move
            least, most = min(least, move), max(most, move)
        mean_move[r] = total / (offsets[r + 1] - offsets[r])
        spread[r] = most - least
