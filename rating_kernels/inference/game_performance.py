"""Logistic performances of games of two: many roots side by side.

The equations of :mod:`.performance` for a field of two, without tables and lists of groups. The search for a root is a
chain of exponentials, each of which waits for the one before; the roots of games without a common player are
independent, and fill vector registers. A performance is that of :func:`.performance.solve_groups`, to rounding.

No one is above a winner, below a loser, or outside of a draw: the equation is the sum of both terms less the own ones.
An own term, seen from the other side, has the same exponential.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import exact, inner_exact, inner_strict
from ..core.numerics import C3, exp_in_registers, fused
from .performance import MARGIN, STEPS, TOLERANCE

GAMES = 8  # always complete, so that a game takes the vector path regardless of the others
_MU, _MU_OTHER, _OMEGA, _OMEGA_OTHER, _DRAWN, _LOW, _HIGH, _ROOT, _LOWER, _UPPER, _LAST, _FOUND, _ROWS = range(13)


@inner_exact
def end_of_games(r, offsets, player, team):
    """End of the consecutive games of two from round ``r`` on without a common player, at most :data:`GAMES`.

    ``r + 1`` if round ``r`` is no game of two. ``team`` are the offsets of the teams, two in a game.
    """
    stop, first = r, offsets[r]
    while stop < min(len(offsets) - 1, r + GAMES):
        if offsets[stop + 1] - offsets[stop] != 2 or team[stop + 1] - team[stop] != 2:
            return max(stop, r + 1)
        for k in range(offsets[stop], offsets[stop + 1]):
            for other in range(first, offsets[stop]):
                if player[k] == player[other]:
                    return stop
        stop += 1
    return stop


@exact
def solve_games(r, stop, rounds, mu, sigma, beta, ties, perf):
    """Write the performances of both players of rounds ``r`` to ``stop - 1``, at most :data:`GAMES` games.

    Returns int: -1, or the first game without a root, from 0; those before it have their performances.
    """
    n, begin, lo, ceiling = stop - r, rounds.offsets[r], rounds.lo, rounds.perf_ceiling
    games = np.ones((_ROWS, GAMES))  # one array: the compiler vectorises without checks whether many overlap
    for g in range(n):
        a, b = begin + 2 * g, begin + 2 * g + 1
        games[_MU, g], games[_MU_OTHER, g] = mu[a], mu[b]
        games[_OMEGA, g] = C3 / math.sqrt(sigma[a] ** 2 + beta[a] ** 2)
        games[_OMEGA_OTHER, g] = C3 / math.sqrt(sigma[b] ** 2 + beta[b] ** 2)
        games[_DRAWN, g] = 1.0 if lo[b] == 0 else 0.0
        games[_LOW, g], games[_HIGH, g] = _bracket(
            mu[a], mu[b], games[_OMEGA, g], games[_OMEGA_OTHER, g], lo[b] == 0, ties
        )  # fmt: skip
        games[_ROOT, g], games[_FOUND, g] = mu[a], 0.0
    failed = n
    _search(1.0, games, ties)
    for g in range(n):
        if games[_FOUND, g] == 0.0:
            failed = min(failed, g)
        perf[begin + 2 * g] = perf[begin + 2 * g + 1] = min(games[_ROOT, g], ceiling[r + g])
        games[_FOUND, g] = games[_DRAWN, g]
    _search(0.0, games, ties)
    for g in range(n):
        if games[_FOUND, g] == 0.0:
            failed = min(failed, g)
        perf[begin + 2 * g + 1] = min(games[_ROOT, g], ceiling[r + g])
    return failed if failed < n else -1


@inner_exact
def _bracket(mu, other, omega, omega_other, drawn, ties):
    """``low`` and ``high`` of :func:`.performance.bracket`."""
    total = omega + omega_other
    below, above = (0.0, 0.0) if drawn else (omega_other, omega)
    e = total - below
    reach_up = max(math.log((below + ties.win * e) / (ties.loss * e)), 0.0) + MARGIN
    e = total - above
    reach_down = max(math.log((above + ties.loss * e) / (ties.win * e)), 0.0) + MARGIN
    scale, scale_other = 1.0 / omega, 1.0 / omega_other
    low = min(mu - reach_down * scale, other - reach_down * scale_other)
    return low, max(mu + reach_up * scale, other + reach_up * scale_other)


@inner_strict
def _search(winner, games, ties):
    """Search the roots of winners and draws (``winner`` 1), or of losers (0), from ``_ROOT``, where ``_FOUND`` is 0."""
    side = 2.0 * winner - 1.0
    loss, win = (ties.loss, ties.win) if winner == 1.0 else (ties.win, ties.loss)  # as seen from this side
    for g in range(GAMES):
        low, high = games[_LOW, g], games[_HIGH, g]
        games[_LOWER, g], games[_UPPER, g], games[_LAST, g] = low, high, high - low
        games[_ROOT, g] = min(max(games[_ROOT, g], low), high)
    for _ in range(STEPS):
        missing = 0
        for g in range(GAMES):
            p, omega, omega_other, drawn = games[_ROOT, g], games[_OMEGA, g], games[_OMEGA_OTHER, g], games[_DRAWN, g]
            z, y = side * (p - games[_MU, g]) * omega, side * (p - games[_MU_OTHER, g]) * omega_other
            far, steep, inverse = _term(z, omega)
            far_other, steep_other, inverse_other = _term(y, omega_other)
            slope = fused(inverse_other, steep_other, inverse * steep)
            before, before_other = 1.0 if z < 0.0 else 0.0, 1.0 if y < 0.0 else 0.0
            value = omega * before + omega_other * before_other
            rest = far * (1.0 - 2.0 * before) + far_other * (1.0 - 2.0 * before_other)
            mine, yours = max(winner, drawn), max(1.0 - winner, drawn)  # 1: the term is an own one
            if loss + win == 1.0:
                own, own_rest, own_slope = loss * (mine * omega + yours * omega_other), 0.0, 0.0
            else:
                after, after_other = mine if z > 0.0 else 0.0, yours if y > 0.0 else 0.0
                own = loss * (omega * after + omega_other * after_other)
                own += (1.0 - win) * (mine * omega * before + yours * omega_other * before_other)
                own_rest = loss * (far * (mine - 2.0 * after) + far_other * (yours - 2.0 * after_other))
                own_rest += (1.0 - win) * (
                    mine * far * (1.0 - 2.0 * before) + yours * far_other * (1.0 - 2.0 * before_other)
                )
                own_slope = fused(yours * inverse_other, steep_other, mine * (inverse * steep))
                own_slope *= loss + win - 1.0
            q = side * ((value - own) + (rest - own_rest))
            fall = -slope - own_slope
            lower, upper = p if q > 0.0 else games[_LOWER, g], games[_UPPER, g] if q > 0.0 else p
            step = -q / fall if fall < 0.0 else math.inf
            newton = (lower <= p + step) & (p + step <= upper) & (abs(step) <= 0.5 * games[_LAST, g])
            step = step if newton else 0.5 * (lower + upper) - p
            rate = max(omega, omega_other)
            sought = games[_FOUND, g] == 0.0
            found = (not sought) | (abs(step) * rate <= (TOLERANCE if newton else 1e-13))
            games[_ROOT, g] = p + step if sought else p
            games[_LOWER, g], games[_UPPER, g], games[_LAST, g] = lower, upper, abs(step)
            games[_FOUND, g] = 1.0 if found else 0.0
            missing += 0 if found else 1
        if missing == 0:
            return


@inner_strict
def _term(z, omega):
    """One participant's deviation from the limit, and two factors of its slope: :func:`..fields.direct.direct_sum`."""
    e = exp_in_registers(-abs(z))
    inverse = 1.0 / (1.0 + e)
    far = e * omega * inverse
    return far, far * omega, inverse
