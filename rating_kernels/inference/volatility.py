"""New volatilities of Glicko-2: many roots side by side.

Source: Glickman, "Example of the Glicko-2 system" (2012, glicko.net/glicko/glicko2.pdf), step 5. The unknown is
t = x - a, the change of ln s^2, so that e^x = s^2 e^t requires no logarithm. The search for a root is a chain of
exponentials and divisions, each of which waits for the one before; the roots of different rows are independent, and
fill vector registers.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import exact, inner_exact
from ..core.numerics import exp, exp_in_registers

ROWS = 16  # always complete, so that a row takes the vector path regardless of the others

_PRECISION = 1e-12  # of ln s'^2: after a last step of this size the error is below 1e-15 or rounding
_STEPS = 200
_LEAST = 1e-20  # information, far below that of a real game: keeps ln(v) in range
_OLD, _K, _SURPRISE, _INFORMATION, _CHANGE, _LOWER, _UPPER, _BEND, _LAST, _FOUND, _NUMBERS = range(11)


@exact
def new_volatilities(n, vol, f2, surprise, information, tau, changed):
    """Write the new volatilities of ``n`` rows, at most :data:`ROWS`; NaN where the search does not converge.

    If F(a) < 0, there is one zero, at most tau^2 / 2 below a, as the first term of F is above -1/2. Otherwise all zeros
    are between a and ln(Delta^2 - f^2 - v), and a great upset may have three. The zero nearest to the old volatility is
    found, as by the paper's procedure: F is convex from a to ``bend``, so Newton's steps skip no zero there; if there
    is none before ``bend``, there is one beyond. A volatility of 0 stays 0.

    ``vol``, ``f2``, ``surprise``, ``information``: one entry a row: s, f^2, and the sums of :mod:`.pairwise`.
    """
    rows = np.ones((_NUMBERS, ROWS))  # one array: the compiler vectorises without checks whether many overlap
    half_tau2 = 0.5 * tau * tau
    for i in range(n):
        squared, power = surprise[i] * surprise[i], max(information[i], _LEAST)
        old, k = vol[i] * vol[i], power * f2[i] + 1.0
        lower, upper, bend = -half_tau2, 0.0, -math.inf
        excess = squared - power * k
        if excess > power * power * old and old > 0.0:
            root = math.sqrt(3.0 * squared * squared + k * k * power * power)
            lower, upper = 0.0, math.log(excess) - 2.0 * math.log(power) - math.log(old)
            bend = math.log(k * excess / (2.0 * squared + root)) - math.log(power) - math.log(old)
        rows[_OLD, i], rows[_K, i], rows[_SURPRISE, i], rows[_INFORMATION, i] = old, k, squared, power
        rows[_LOWER, i], rows[_UPPER, i], rows[_BEND, i] = lower, upper, bend
        rows[_FOUND, i] = 0.0
    _search(rows, half_tau2)
    for i in range(n):
        found = rows[_FOUND, i] == 1.0
        changed[i] = abs(vol[i]) * exp(0.5 * rows[_CHANGE, i]) if found else math.nan


@inner_exact
def _search(rows, half_tau2):
    """Search the roots t of tau^2 F from 0 on, where ``_FOUND`` is 0."""
    for i in range(ROWS):
        rows[_CHANGE, i], rows[_LAST, i] = 0.0, rows[_UPPER, i] - rows[_LOWER, i]
    for _ in range(_STEPS):
        missing = 0
        for i in range(ROWS):
            t, lower, upper, bend = rows[_CHANGE, i], rows[_LOWER, i], rows[_UPPER, i], rows[_BEND, i]
            value, slope = _pull(t, rows[_OLD, i], half_tau2, rows[_SURPRISE, i], rows[_INFORMATION, i], rows[_K, i])
            above = value > 0.0
            lower, upper, bend = t if above else lower, upper if above else t, bend if above else -math.inf
            step = -value / slope if slope < 0.0 else math.inf
            jumps = (t < bend) & (bend < t + step)
            newton = (t < bend) | ((lower <= t + step) & (t + step <= upper) & (abs(step) <= 0.5 * rows[_LAST, i]))
            step = step if newton else 0.5 * (lower + upper) - t
            moved = bend if jumps else t + step
            sought = rows[_FOUND, i] == 0.0
            found = (not sought) | ((not jumps) & (abs(step) <= _PRECISION * max(1.0, abs(moved))))
            rows[_CHANGE, i] = moved if sought else t
            rows[_LOWER, i], rows[_UPPER, i], rows[_BEND, i] = lower, upper, bend
            rows[_LAST, i] = rows[_LAST, i] if jumps else abs(step)
            rows[_FOUND, i] = 1.0 if found else 0.0
            missing += 0 if found else 1
        if missing == 0:
            return


@inner_exact
def _pull(t, old, half_tau2, squared, information, k):
    """tau^2 F of step 5 and its slope, without v, which may be infinite; f^2 + v is ``k`` / ``information``."""
    y = old * exp_in_registers(t)
    over = k + information * y
    inverse = 1.0 / over
    share = half_tau2 * y * inverse * inverse
    return (
        share * (squared - information * over) - t,
        share * (squared * (k - information * y) * inverse - information * k) - 1.0,
    )
