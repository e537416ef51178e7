"""Sums over games at one point: the log-likelihood, its gradient and its curvature, or products of scores.

With eta = theta_a - theta_b + x' gamma + offset, p = 1 / (1 + e^-eta), q = 1 - p, a game of score y has

    log-likelihood  y ln p + (1 - y) ln q        score by eta  y q - (1 - y) p        curvature  p q

Davidson's model has the chances e^(eta / 2), nu and e^(-eta / 2), divided by their sum, for a win, a tie and a loss,
and a score by ln nu too. With t = 1, 0, -1 and m = win - loss:

    scores  (t - m) / 2, 1[tie] - tie      curvature  tie (win + loss) / 4 + win loss, -m tie / 2, tie (win + loss)

Rows are summed in fixed blocks. Inside a block the sums of adjacent rows of one pair are kept apart, because all of
them belong to the same two players. All partial sums are added in the order of rows.

Source: Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments" (Journal
of the American Statistical Association 65, 1970).
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from ..core.beliefs import Map, serial_map
from ..core.jit import exact, inner_kernel, kernel
from ..core.numerics import exp_in_registers, log1p
from ..core.standings import Floats, Ints, Longs
from ..fields.blocks import block_starts
from .comparisons import Comparisons

_ROWS = 256  # rows at a time: copies of their columns fit in the fastest cache


class Point(NamedTuple):
    """Parameters: strengths (float64[n]), coefficients (float64[c]), and ln nu, or NaN in the model without ties."""

    theta: Floats
    gamma: Floats
    ln_nu: float

    @property
    def davidson(self) -> bool:
        return not math.isnan(self.ln_nu)

    def moved(self, step: Floats) -> Point:
        """The point after a step in all parameters, in the order theta, gamma, ln nu."""
        n, c = len(self.theta), len(self.gamma)
        ln_nu = self.ln_nu + float(step[n + c]) if self.davidson else self.ln_nu
        return Point(self.theta + step[:n], self.gamma + step[n : n + c], ln_nu)


class Runs(NamedTuple):
    """Adjacent rows of one pair inside of one block: where the rows begin (int64[s + 1]), and the players (int32[s]).

    ``of_block`` (int64[blocks + 1]): the first run of each block, and their number.
    """

    start: Longs
    first: Ints
    second: Ints
    of_block: Longs

    @classmethod
    def of(cls, rows: Comparisons) -> Self:
        m = len(rows.first)
        blocks = block_starts(m)
        begins = np.zeros(m, np.bool_)
        begins[:1] = True
        begins[1:] = (rows.first[1:] != rows.first[:-1]) | (rows.second[1:] != rows.second[:-1])
        begins[blocks[:-1]] = True
        at = np.flatnonzero(begins)
        return cls(np.append(at, m), rows.first[at], rows.second[at], np.searchsorted(at, blocks))


class Sums(NamedTuple):
    """Sums of games; k = c + 1 with ln nu, otherwise c, is the number of parameters after the strengths.

    ``value``: the log-likelihood.
    ``score`` (float64[n + k]): the gradient.
    ``runs`` (float64[s, 1 + k]): the curvature of each run by eta twice, and by eta and each other parameter.
    ``rest`` (float64[k, k]): the curvature by the other parameters.
    """

    value: float
    score: Floats
    runs: Floats
    rest: Floats


def sums(rows: Comparisons, runs: Runs, at: Point, map: Map = serial_map, squares: bool = False) -> Sums:
    """The sums at a point; with ``squares`` products of the scores of games in place of the curvature."""
    c = len(at.gamma)
    k = c + at.davidson
    blocks = len(runs.of_block) - 1
    of_runs = np.zeros((len(runs.first), 2 + k))
    of_blocks = np.zeros((blocks, 1 + k + k * k))

    def work(start: int, stop: int) -> None:
        _sum_blocks(start, stop, rows, runs, at, math.exp(at.ln_nu), squares, of_runs, of_blocks)

    map(work, blocks)
    n = len(at.theta)
    score = np.zeros(n + k)
    _add_scores(runs.first, runs.second, of_runs, score)
    total = np.zeros(1 + k + k * k)
    for block in of_blocks:
        total += block
    score[n:] = total[1 : 1 + k]
    return Sums(float(total[0]), score, of_runs[:, 1:], total[1 + k :].reshape(k, k))


def scores(rows: Comparisons, at: Point) -> Floats:
    """The score of each row by eta, and by ln nu where it is a parameter: float64[m, 1 or 2]."""
    found = np.empty((len(rows.first), 1 + at.davidson))
    _scores(rows, at, math.exp(at.ln_nu), found)
    return found


def matrix_of(found: Sums, runs: Runs, n: int) -> Floats:
    """The upper triangle of the matrix [n + k, n + k] of curvatures, or of products."""
    k = len(found.rest)
    whole = np.zeros((n + k, n + k))
    _fill(runs.first, runs.second, found.runs, whole)
    whole[n:, n:] = found.rest
    return whole


@exact
def _add_scores(first, second, of_runs, score):
    for s in range(len(first)):
        score[first[s]] += of_runs[s, 0]
        score[second[s]] -= of_runs[s, 0]


@exact
def _fill(first, second, of_runs, whole):
    k = of_runs.shape[1] - 1
    n = len(whole) - k
    for s in range(len(first)):
        a, b, value = first[s], second[s], of_runs[s, 0]
        whole[a, a] += value
        whole[b, b] += value
        whole[min(a, b), max(a, b)] -= value
        for j in range(k):
            whole[a, n + j] += of_runs[s, 1 + j]
            whole[b, n + j] -= of_runs[s, 1 + j]


@inner_kernel
def _logistic(n, eta, y, times, weight, squares, value, score, curvature):
    """Log-likelihood, score and curvature of some rows, by the logistic model."""
    for i in range(n):
        z = eta[i]
        tail = exp_in_registers(-abs(z))
        over = 1.0 / (1.0 + tail)
        under = tail * over
        p, q = (over, under) if z >= 0.0 else (under, over)
        surprise = y[i] * q - (1.0 - y[i]) * p
        value[i] = times[i] * (y[i] * z - max(z, 0.0) - log1p(tail))
        score[i] = times[i] * surprise
        curvature[i] = times[i] * weight[i] * surprise * surprise if squares else times[i] * p * q


@inner_kernel
def _davidson(n, eta, y, times, weight, nu, ln_nu, squares, value, score, curvature, tie_score, mixed, tie_curvature):
    """The same by Davidson's model, with the score by ln nu, the mixed curvature and that by ln nu."""
    for i in range(n):
        z = abs(eta[i])
        x = exp_in_registers(-0.5 * z)
        over = 1.0 / (x * (x + nu) + 1.0)
        under, tie = x * x * over, nu * x * over
        ahead = eta[i] >= 0.0
        win, loss = (over, under) if ahead else (under, over)
        won, lost = y[i] > 0.75, y[i] < 0.25
        tied = 0.0 if won or lost else 1.0
        less = ln_nu - 0.5 * z if tied == 1.0 else 0.0 if won == ahead else -z
        one = 0.5 * tie + loss if won else -0.5 * tie - win if lost else -0.5 * (win - loss)
        other = tied - tie
        value[i] = times[i] * (less - log1p(x * (x + nu)))
        score[i], tie_score[i] = times[i] * one, times[i] * other
        w = times[i] * weight[i]
        if squares:
            curvature[i], mixed[i], tie_curvature[i] = w * one * one, w * one * other, w * other * other
        else:
            curvature[i] = times[i] * (0.25 * tie * (win + loss) + win * loss)
            mixed[i] = -0.5 * times[i] * (win - loss) * tie
            tie_curvature[i] = times[i] * tie * (win + loss)


@inner_kernel
def _sum(start, stop, values):
    total = 0.0
    for i in range(start, stop):
        total += values[i]
    return total


@inner_kernel
def _dot(start, stop, one, other):
    total = 0.0
    for i in range(start, stop):
        total += one[i] * other[i]
    return total


@kernel
def _scores(rows, at, nu, found):
    """Write the scores of all rows."""
    eta, y, times, space = np.empty(1), np.empty(1), np.empty(1), np.empty((5, 1))
    one = np.ones(1)
    for i in range(len(found)):
        eta[0] = at.theta[rows.first[i]] - at.theta[rows.second[i]] + rows.offset[i]
        for j in range(rows.x.shape[1]):
            eta[0] += at.gamma[j] * rows.x[i, j]
        y[0], times[0] = rows.result[i], rows.weight[i] * rows.count[i]
        if found.shape[1] > 1:
            _davidson(
                1, eta, y, times, one, nu, at.ln_nu, False, space[0], found[i], space[1], space[2], space[3], space[4]
            )
            found[i, 1] = space[2, 0]
        else:
            _logistic(1, eta, y, times, one, False, space[0], found[i], space[1])


@kernel
def _sum_blocks(start, stop, rows, runs, at, nu, squares, of_runs, of_blocks):
    """Write the sums of each run, and the rest of the sums of each block."""
    c = rows.x.shape[1]
    davidson = not math.isnan(at.ln_nu)
    k = c + 1 if davidson else c
    eta, y, times, weight = np.empty(_ROWS), np.empty(_ROWS), np.empty(_ROWS), np.empty(_ROWS)
    value, score, curvature = np.empty(_ROWS), np.empty(_ROWS), np.empty(_ROWS)
    tie_score, mixed, tie_curvature = np.empty(_ROWS), np.empty(_ROWS), np.empty(_ROWS)
    x, curved = np.empty((c, _ROWS)), np.empty((c, _ROWS))
    for block in range(start, stop):
        total, run = of_blocks[block], runs.of_block[block]
        for begin in range(runs.start[run], runs.start[runs.of_block[block + 1]], _ROWS):
            n = min(_ROWS, runs.start[runs.of_block[block + 1]] - begin)
            for i in range(n):
                row = begin + i
                eta[i] = at.theta[rows.first[row]] - at.theta[rows.second[row]] + rows.offset[row]
            for i in range(n):
                y[i], weight[i] = rows.result[begin + i], rows.weight[begin + i]
                times[i] = weight[i] * rows.count[begin + i]
            for i in range(n):
                for j in range(c):
                    x[j, i] = rows.x[begin + i, j]
            for j in range(c):
                for i in range(n):
                    eta[i] += at.gamma[j] * x[j, i]
            if davidson:
                _davidson(
                    n, eta, y, times, weight, nu, at.ln_nu, squares, value, score, curvature, tie_score, mixed,
                    tie_curvature,
                )  # fmt: skip
            else:
                _logistic(n, eta, y, times, weight, squares, value, score, curvature)
            for j in range(c):
                for i in range(n):
                    curved[j, i] = curvature[i] * x[j, i]
            total[0] += _sum(0, n, value)
            for j in range(c):
                total[1 + j] += _dot(0, n, score, x[j])
                for i in range(j, c):
                    total[1 + k + j * k + i] += _dot(0, n, curved[j], x[i])
            if davidson:
                total[1 + c] += _sum(0, n, tie_score)
                for j in range(c):
                    total[1 + k + j * k + c] += _dot(0, n, mixed, x[j])
                total[1 + k + c * k + c] += _sum(0, n, tie_curvature)
            while run < runs.of_block[block + 1] and runs.start[run] < begin + n:
                low, high = max(runs.start[run] - begin, 0), min(runs.start[run + 1] - begin, n)
                of_runs[run, 0] += _sum(low, high, score)
                of_runs[run, 1] += _sum(low, high, curvature)
                for j in range(c):
                    of_runs[run, 2 + j] += _sum(low, high, curved[j])
                if davidson:
                    of_runs[run, 2 + c] += _sum(low, high, mixed)
                if runs.start[run + 1] > begin + n:
                    break
                run += 1
