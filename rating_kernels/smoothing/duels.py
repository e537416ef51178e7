"""Performances in duels, several duels at a time.

A duel has at most two roots of :mod:`..inference.performance`. With rates w, the laws F of both performances and
t = 1 - 2 F, the performance of the winner a against b, and that of both after a tie, are the zeros of

    w_a t_a + w_b / 2 (1 + t_b)            ties full: the winner alone is a tie group
    w_a t_a / 2 + w_b / 2 (1 + t_b)        ties split
    w_a t_a + w_b t_b                      a tie, of either kind

The loser's is the winner's in a mirror. For equal rates the first two are quadratic equations in e^(w p), which give
the first guess; Halley's method does the rest, in an interval around the root. All lanes take the same steps, so that
the compiler vectorises them, and a lane that is done no longer moves: its bits do not depend on the others.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import exact, inner_exact
from ..core.numerics import C3, exp, log1p

DUELS = 8  # solved at a time
_LANES = 2 * DUELS  # roots
_ROWS = 12
# The place of each row of lanes in the work space. Constants: the compiler knows that rows do not overlap.
_OWN, _RATE, _OTHER, _OTHER_RATE, _SHARE, _OTHER_SHARE, _FIXED, _LOWER, _UPPER, _AT, _LAST, _OPEN = (
    _LANES * row for row in range(_ROWS)
)
_CONVERGED = 1e-5  # of a scale: Halley's next error is about the cube of its last step
_BISECTED = 1e-13
_STEPS = 200


@exact
def duel_space():
    """Work space for :data:`DUELS` duels."""
    return np.ones(_ROWS * _LANES)


@exact
def add_duel(space, duel, mean, variance, noise, tied, split):
    """Put a duel into two lanes: means and variances of both beliefs, the winner first, and the noise."""
    rate, other = C3 / math.sqrt(variance[0] + noise), C3 / math.sqrt(variance[1] + noise)
    _add_root(space, 2 * duel, mean[0], rate, mean[1], other, tied, split)
    if tied:
        _add_root(space, 2 * duel + 1, mean[0], rate, mean[1], other, tied, split)
    else:
        _add_root(space, 2 * duel + 1, -mean[1], other, -mean[0], rate, tied, split)


@inner_exact
def _add_root(space, i, own, rate, other, other_rate, tied, split):
    share = 0.5 * rate if split else rate
    space[_OWN + i], space[_RATE + i] = own, rate
    space[_OTHER + i], space[_OTHER_RATE + i] = other, other_rate
    space[_SHARE + i], space[_OTHER_SHARE + i] = rate if tied else share, other_rate if tied else 0.5 * other_rate
    space[_FIXED + i] = 0.0 if tied else 0.5 * other_rate
    # a winner's root is above its mean, and below all quantiles of the odds 1 + reach, of which ln is at most reach
    reach = 0.0 if tied else other_rate / share
    margin = 0.01 / rate
    space[_LOWER + i] = (min(own, other) if tied else own) - margin
    space[_UPPER + i] = max(own + reach / rate, other + reach / other_rate) + margin


@exact
def solve_duels(space, duels, ceiling, shift, rows, perf):
    """Write the performances of the first ``duels`` duels of the work space.

    ``ceiling``, ``shift`` (float64[DUELS]): the highest performance of each duel, and what is subtracted from its
    roots.
    ``rows`` (int64[DUELS]): the winner's row; the loser's is the next one.
    Returns int: -1, or the first duel without a root.
    """
    for i in range(_LANES):
        rate = 0.5 * (space[_RATE + i] + space[_OTHER_RATE + i])
        odds = exp(rate * (space[_OTHER + i] - space[_OWN + i]))
        s = space[_SHARE + i] / space[_RATE + i]
        b = s + (1.0 - s) * odds
        guess = (
            space[_OWN + i] + log1p((b - 2.0 * s + math.sqrt(b * b + 4.0 * s * (1.0 + s) * odds)) / (2.0 * s)) / rate
        )
        lower, upper = space[_LOWER + i], space[_UPPER + i]
        middle = 0.5 * (lower + upper)
        space[_AT + i] = guess if space[_FIXED + i] > 0.0 and lower < guess < upper else middle
        space[_LAST + i] = upper - lower
        space[_OPEN + i] = 1.0 if i < 2 * duels else 0.0
    for _ in range(_STEPS):
        for i in range(_LANES):
            p, rate, other_rate = space[_AT + i], space[_RATE + i], space[_OTHER_RATE + i]
            z, other_z = (p - space[_OWN + i]) * rate, (p - space[_OTHER + i]) * other_rate
            e, other_e = exp(-abs(z)), exp(-abs(other_z))
            far, other_far = e / (1.0 + e), other_e / (1.0 + other_e)
            share = space[_SHARE + i] if z >= 0.0 else -space[_SHARE + i]
            other_share = space[_OTHER_SHARE + i] if other_z >= 0.0 else -space[_OTHER_SHARE + i]
            # limits first: in a gap between both they may cancel, and the rest is decisive
            q = (space[_FIXED + i] - share - other_share) + 2.0 * (share * far + other_share * other_far)
            steep, other_steep = rate * far / (1.0 + e), other_rate * other_far / (1.0 + other_e)
            slope = -2.0 * (abs(share) * steep + abs(other_share) * other_steep)
            bend = 2.0 * (
                share * rate * steep * (1.0 - 2.0 * far)
                + other_share * other_rate * other_steep * (1.0 - 2.0 * other_far)
            )
            lower = p if q > 0.0 else space[_LOWER + i]
            upper = space[_UPPER + i] if q > 0.0 else p
            step = -2.0 * q * slope / (2.0 * slope * slope - q * bend)
            halley = lower <= p + step and p + step <= upper and abs(step) <= 0.5 * space[_LAST + i]
            step = step if halley else 0.5 * (lower + upper) - p
            step = step if space[_OPEN + i] > 0.0 else 0.0
            enough = _CONVERGED if halley else _BISECTED
            space[_LOWER + i], space[_UPPER + i] = lower, upper
            space[_AT + i], space[_LAST + i] = p + step, abs(step)
            space[_OPEN + i] = 0.0 if abs(step) * max(rate, other_rate) <= enough else space[_OPEN + i]
        left = 0.0
        for i in range(_LANES):
            left += space[_OPEN + i]
        if left == 0.0:
            break
    for d in range(duels):
        if space[_OPEN + 2 * d] + space[_OPEN + 2 * d + 1] > 0.0:
            return d
        tied = space[_FIXED + 2 * d] == 0.0
        second = space[_AT + 2 * d + 1]
        perf[rows[d]] = min(space[_AT + 2 * d], ceiling[d] + shift[d]) - shift[d]
        perf[rows[d] + 1] = min(second if tied else -second, ceiling[d] + shift[d]) - shift[d]
    return -1
