"""The log-likelihood of results of games, and its derivatives by the advantage h and by theta = ln nu.

With t = 1, 0 and -1 for a win, a draw and a loss, m = 2 E - 1, V = win + loss - m^2 and e = d logit(E) / dh, the model
that keeps the expected score has for one game

    d/dh      (t - m) a e,    a = 2 E F / V
    d/dtheta  1[draw] - draw + (t - m) draw m / V

and the information a^2 V e^2 of h and q = 4 win draw loss / V of theta; the two are orthogonal. V = draw (win + loss)
+ 4 win loss, which has no cancellation. Davidson's model has logit(E) / 2 in place of ln x, and t - (win - loss).

Games are summed in fixed blocks, whose sums are added in order. The loop over a block reads copies of its columns: a
compiler guards a vectorised loop by the places of its arrays in memory, and columns of games may lie anywhere, so that
the order of a sum would depend on them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.jit import inner_kernel, kernel
from ..core.numerics import exp_in_registers
from ..core.standings import Floats
from .three_way import LEAST

Results = npt.NDArray[np.int8]  # 1: the first entrant won, 0: a draw, -1: it lost
_BLOCK = 1024
_FACTORS = 8  # chances multiplied before a logarithm is taken: none is below 1e-36


class Sums(NamedTuple):
    """Log-likelihood, gradient, Hessian and Fisher information: of ``h``, the advantage, and ``t``, ln nu."""

    value: float
    h: float
    t: float
    hh: float
    ht: float
    tt: float
    fisher_hh: float
    fisher_ht: float
    fisher_tt: float

    def __add__(self, other: Sums) -> Sums:  # type: ignore[override]
        return Sums(*map(float.__add__, self, other))


def sums_of_leads(
    lead: Floats, rate: Floats, result: Results, holds: Floats, weight: Floats, h: float, nu: float, davidson: bool
) -> Sums:
    """The sums where the expected score is logistic: ``rate`` natural units a point, of each game or of all (one).

    ``lead``: strength of the first entrant beyond the other, rating points.
    ``holds``: 1 for games to which the advantage adds, 0 for others; empty if it does for all.
    ``weight``: of each game; empty if all count once.
    """
    total = np.zeros(len(Sums._fields))
    _sum_leads(lead, rate, result, holds, weight, h, nu, davidson, total)
    return Sums(*total.tolist())


def sums_of_scores(
    expected: Floats, other: Floats, slope: Floats, bend: Floats, result: Results, weight: Floats, nu: float,
    davidson: bool,
) -> Sums:  # fmt: skip
    """The sums at given expected scores of both entrants, and first and second derivative of logit(E) by h."""
    total = np.zeros(len(Sums._fields))
    _sum_scores(expected, other, slope, bend, result, weight, nu, davidson, total)
    return Sums(*total.tolist())


@kernel
def _sum_leads(lead, rate, result, holds, weight, h, nu, davidson, total):
    expected, other, slope, bend = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK), np.zeros(_BLOCK)
    outcome, counts, chance = np.empty(_BLOCK), np.ones(_BLOCK), np.empty(_BLOCK)
    for begin in range(0, len(lead), _BLOCK):
        n = min(_BLOCK, len(lead) - begin)
        if len(rate) > 1:
            for i in range(n):
                slope[i] = rate[begin + i]
        else:
            for i in range(n):
                slope[i] = rate[0]
        for i in range(n):
            expected[i] = slope[i] * lead[begin + i]
        if len(holds) > 0:
            for i in range(n):
                slope[i] *= holds[begin + i]
        for i in range(n):
            x = expected[i] + slope[i] * h
            tail = exp_in_registers(-abs(x))
            over = 1.0 / (1.0 + tail)
            under = tail * over
            expected[i], other[i] = (over, under) if x >= 0.0 else (under, over)
        _read_results(begin, n, result, weight, outcome, counts)
        _add_block(n, expected, other, slope, bend, outcome, counts, len(weight) > 0, nu, davidson, chance, total)


@kernel
def _sum_scores(expected, other, slope, bend, result, weight, nu, davidson, total):
    one, two, first, second = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    outcome, counts, chance = np.empty(_BLOCK), np.ones(_BLOCK), np.empty(_BLOCK)
    for begin in range(0, len(expected), _BLOCK):
        n = min(_BLOCK, len(expected) - begin)
        for i in range(n):
            one[i], two[i] = expected[begin + i], other[begin + i]
        for i in range(n):
            first[i], second[i] = slope[begin + i], bend[begin + i]
        _read_results(begin, n, result, weight, outcome, counts)
        _add_block(n, one, two, first, second, outcome, counts, len(weight) > 0, nu, davidson, chance, total)


@inner_kernel
def _read_results(begin, n, result, weight, outcome, counts):
    """Copy the results of a block, and its weights if there are some."""
    for i in range(n):
        outcome[i] = result[begin + i]
    if len(weight) > 0:
        for i in range(n):
            counts[i] = weight[begin + i]


@inner_kernel
def _add_block(n, expected, other, slope, bend, outcome, counts, weighted, nu, davidson, chance, total):
    """Add the ``n`` games of a block; ``chance``: space for one number a game."""
    h, t, hh, ht, tt, fisher_hh, fisher_ht, fisher_tt = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        e, f = max(expected[i], LEAST), max(other[i], LEAST)
        low, high = min(e, f), max(e, f)
        both, half = low * high, 0.25 * nu * (high - low)
        x = math.sqrt(low / high) if davidson else low / (half + math.sqrt(half * half + both))
        over = 1.0 / (x * (x + nu) + 1.0)
        under, draw = x * x * over, nu * x * over
        win, loss = (under, over) if e <= f else (over, under)
        won, lost = outcome[i] > 0.0, outcome[i] < 0.0
        drawn = 0.0 if won or lost else 1.0
        # without draws in the model, a draw counts as half a win and half a loss
        half_each = math.sqrt(under * over) if nu == 0.0 else draw
        chance[i] = win if won else loss if lost else half_each
        v = draw * (under + over) + 4.0 * under * over
        # a clipped score does not change with the advantage
        inverse, moves = 1.0 / v, 1.0 if min(expected[i], other[i]) >= LEAST else 0.0
        first, second = moves * slope[i], moves * bend[i]
        w = counts[i]
        if davidson:
            m = win - loss
            surprise = draw + 2.0 * loss if won else -draw - 2.0 * win if lost else -m
            h += w * (0.5 * surprise * first)
            t += w * (drawn - draw)
            hh += w * (0.5 * surprise * second - 0.25 * v * first * first)
            ht += w * (0.5 * draw * m * first)
            tt -= w * (draw * (under + over))
            fisher_hh += w * (0.25 * v * first * first)
            fisher_ht -= w * (0.5 * draw * m * first)
            fisher_tt += w * (draw * (under + over))
        else:
            m = e - f
            surprise = 2.0 * f if won else -2.0 * e if lost else -m
            a, q = 2.0 * both * inverse, 4.0 * under * draw * over * inverse
            information = a * a * v * first * first
            turn = m * first * first * (1.0 + a * (draw - 2.0 * v) * inverse) - second
            h += w * (surprise * a * first)
            t += w * (drawn - draw + surprise * draw * m * inverse)
            hh -= w * (information + surprise * a * turn)
            ht += w * (surprise * first * a * q * inverse)
            tt -= w * (q * (1.0 - surprise * m * 4.0 * both * inverse * inverse))
            fisher_hh += w * information
            fisher_tt += w * q
    total[0] += _sum_logarithms(n, counts, weighted, chance)
    total[1] += h
    total[2] += t
    total[3] += hh
    total[4] += ht
    total[5] += tt
    total[6] += fisher_hh
    total[7] += fisher_ht
    total[8] += fisher_tt


@inner_kernel
def _sum_logarithms(n, counts, weighted, chance):
    """The sum of the logarithms of ``n`` chances, each times its weight."""
    total, stop = 0.0, 0
    if weighted:
        for i in range(n):
            total += counts[i] * math.log(chance[i])
        return total
    while stop + _FACTORS <= n:
        product = 1.0
        for i in range(_FACTORS):
            product *= chance[stop + i]
        total += math.log(product)
        stop += _FACTORS
    for i in range(stop, n):
        total += math.log(chance[i])
    return total
