"""Beliefs as a normal factor times logistic factors: diffusion, absorption of performances, modes.

Source: Ebtekar and Liu, arXiv:2101.00400: diffusion section 4 (Algorithm 4), posterior section 3.2 (Algorithm 3, with
the bars over beta that are missing in print). Kernels process rows of a store in chunks: operations that vectorise
across players are computed for the whole chunk first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...core.beliefs import LANES, LINE, grow, make_room, prefetch_records
from ...core.jit import exact, inner_exact, inner_kernel
from ...core.numerics import C3, bits_of_float, exp, exp_in_registers, float_of_bits, log1p, one_minus_exp, prefetch
from ...core.parts import keep_belief, read_belief
from ...core.standings import Floats
from ..diffusion import elapsed_days

CHUNK = 16  # rows: always complete, so that each row takes the vector path regardless of the block
_NEGLIGIBLE = 2.0**-53  # share of the total weight below which an old factor is lost in rounding
_SMALL_SHRINK = 1e-100  # the common factor is multiplied into the history before it underflows
_GUESSES = 3  # Newton steps on the model of the first guess
_ORDER = 7  # of the Taylor series of the pull around the first guess
_POLISH = 2  # Newton steps on that polynomial
_SETTLED = 3e-7  # widths: Newton's next error is at most the square of its last step
_REACH = 0.02  # widths up to which the remainder of the series is below 1e-13 of a width
_CONVERGED = 3e-5  # widths: Halley's next error is at most 5/3 of the cube of its last step, 5e-14 of a width
_STEPS = 200


class Factors(NamedTuple):
    """State columns of beliefs with a history: the normal factor, and what all logistic factors share.

    ``normal_mu``, ``normal_weight`` (float64[n]): centre of the normal factor; its weight 1 / variance.
    ``slope`` (float64[n]): slope, at the mode, of the function whose zero is the mode (:func:`mode`).
    ``shrink`` (float64[n]): common factor of the forces of a player's logistic factors; see :class:`.beliefs.History`.
    """

    normal_mu: Floats
    normal_weight: Floats
    slope: Floats
    shrink: Floats


@inner_exact
def drift(row, r, rounds, rates, store):
    """gamma^2 = c w + d days, and beta with beta^2 = (a + b / w) / precision, of one player in round ``r``.

    w is the contest's weight times the player's delay factor (:class:`.elo_mm.Rates`).
    """
    n, weight = store.n_rounds[row], rounds.weight[r]
    w = weight * rates.delay[n] if n < len(rates.delay) else weight
    gamma2 = rates.c * w + rates.d * elapsed_days(rounds.time_seconds[r], store.last_time[row])
    return gamma2, math.sqrt((rates.a + rates.b / w) / rounds.precision[r])


@exact
def diffuse_rows(begin, end, r, rounds, rates, rho, store, factors, history, prior):
    """Diffuse the beliefs about the players in rows ``begin`` to ``end - 1``, and write ``prior``.

    The rows are some of round ``r``, or all of several equally large rounds from ``r`` on without a common player.

    Variance grows by gamma^2 (:func:`drift`); a share 1 - kappa^rho of every factor becomes normal at the mode (section
    4).
    """
    player, mu, sigma = rounds.player, store.mu, store.sigma
    normal_mu, normal_weight, slope, shrink = factors
    start, length, capacity, pool, _ = history
    per_round = rounds.offsets[r + 1] - rounds.offsets[r]
    gamma2, variance = np.zeros(CHUNK), np.ones(CHUNK)
    kappa, kept, lost = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    forgets = rho == math.inf
    exponent = 0.0 if forgets else rho
    for chunk in range(begin, end, CHUNK):
        size = min(CHUNK, end - chunk)
        prefetch_records(chunk + CHUNK, min(chunk + 2 * CHUNK, end), player, mu, capacity)
        for i in range(size):
            row, at = player[chunk + i], r + (chunk + i - begin) // per_round
            gamma2[i], prior.beta[chunk + i] = drift(row, at, rounds, rates, store)
            variance[i] = sigma[row] * sigma[row]
        for i in range(CHUNK):
            ratio = gamma2[i] / variance[i]
            kappa[i] = 1.0 / (1.0 + ratio)
            y = exponent * log1p(ratio)
            kept[i] = exp(-y)
            lost[i] = one_minus_exp(y)
        for i in range(size):
            row = player[chunk + i]
            if forgets or kept[i] * kappa[i] < 1e-300:  # no history remains: one normal factor
                normal_mu[row] = mu[row]
                normal_weight[row] = 1.0 / (variance[i] + gamma2[i])
                slope[row] = normal_weight[row]
                shrink[row] = 1.0
                _clear(row, history)
            else:
                stays = kept[i] * normal_weight[row]
                comes = lost[i] / variance[i]
                normal_mu[row] += (mu[row] - normal_mu[row]) * (comes / (stays + comes))
                normal_weight[row] = kappa[i] * (stays + comes)
                slope[row] = kappa[i] * (kept[i] * slope[row] + comes)
                shrink[row] *= kappa[i] * kept[i]
                if shrink[row] < _SMALL_SHRINK:
                    for k in range(start[row] + capacity[row], start[row] + capacity[row] + length[row]):
                        pool[k] *= shrink[row]
                    shrink[row] = 1.0
            sigma[row] = math.sqrt(variance[i] + gamma2[i])
            read_belief(chunk + i, row, store, prior)


@exact
def absorb_rows(begin, end, r, rounds, history_len, claimed, prior, store, factors, history, outcome):
    """Multiply the performances of rows ``begin`` to ``end - 1`` into the beliefs; rounds as in :func:`diffuse_rows`.

    ``claimed`` is the first pool place allocated for these rows (:func:`.beliefs.places_needed`). ``history_len`` is
    the maximum number of logistic factors, or 0: then a factor is merged into the normal one when its weight is below
    the rounding of the total.

    Returns int: -1, or the first index without a mode.
    """
    player, mu, capacity = rounds.player, store.mu, history.capacity
    start, length, pool = history.start, history.length, history.pool
    normal_mu, normal_weight, slope, shrink = factors
    per_round = rounds.offsets[r + 1] - rounds.offsets[r]
    guess, deviation = np.zeros(CHUNK), np.ones(CHUNK)
    before, spread = np.zeros(CHUNK), np.ones(CHUNK)
    noise, shown, steep = np.ones(CHUNK), np.zeros(CHUNK), np.ones(CHUNK)
    series, rate = np.ones((_ORDER + 1, CHUNK)), np.zeros(CHUNK)
    step, last = np.zeros(CHUNK), np.zeros(CHUNK)
    moved = np.zeros(CHUNK, dtype=np.bool_)
    for chunk in range(begin, end, CHUNK):
        size = min(CHUNK, end - chunk)
        prefetch_records(chunk + 2 * CHUNK, min(chunk + 3 * CHUNK, end), player, mu, capacity)
        prefetch_histories(chunk + CHUNK, min(chunk + 2 * CHUNK, end), player, history)
        for i in range(size):
            steep[i] = slope[player[chunk + i]]
            before[i], spread[i] = prior.mu[chunk + i], prior.sigma[chunk + i]
            noise[i], shown[i] = prior.beta[chunk + i], outcome.perf[chunk + i]
        for i in range(CHUNK):
            precision = 1.0 / (spread[i] * spread[i]) + 1.0 / (noise[i] * noise[i])
            deviation[i] = 1.0 / math.sqrt(precision)
            q = 0.5 * C3 / noise[i]
            x = before[i] + (shown[i] - before[i]) / (noise[i] * noise[i] * precision)
            for _ in range(_GUESSES):  # models the old belief as a parabola with its slope
                e = exp((x - shown[i]) * (-2.0 * q))
                t = (1.0 - e) / (1.0 + e)
                x -= ((x - before[i]) * steep[i] + 2.0 * q * t) / (steep[i] + 2.0 * q * q * (1.0 - t * t))
            guess[i] = x
        for i in range(size):
            row = player[chunk + i]
            if length[row] == capacity[row]:
                claimed = grow(row, claimed, history, 3)
            moved[i] = _push(row, shown[i], noise[i], history_len, deviation[i], factors, history)
            f0, f1, f2, f3, f4, f5, f6, f7, rate[i] = _pull(
                guess[i], pool, start[row], start[row] + capacity[row], start[row] + 2 * capacity[row], length[row]
            )
            series[0, i] = normal_weight[row] * (guess[i] - normal_mu[row]) + shrink[row] * f0
            series[1, i] = normal_weight[row] + shrink[row] * f1
            series[2, i], series[3, i], series[4, i] = shrink[row] * f2, shrink[row] * f3, shrink[row] * f4
            series[5, i], series[6, i], series[7, i] = shrink[row] * f5, shrink[row] * f6, shrink[row] * f7
        for i in range(CHUNK):
            step[i] = -series[0, i] / series[1, i]
        for _ in range(_POLISH):
            for i in range(CHUNK):
                h = step[i]
                value, rise = series[_ORDER, i], 0.0
                for order in range(_ORDER - 1, -1, -1):
                    rise = rise * h + value
                    value = value * h + series[order, i]
                last[i] = value / rise
                step[i] = h - last[i]
                steep[i] = rise
        for i in range(size):
            row = player[chunk + i]
            x = guess[i] + step[i]
            if moved[i] or not (abs(step[i]) * rate[i] <= _REACH and abs(last[i]) * rate[i] <= _SETTLED):
                lower, upper = min(before[i], shown[i]), max(before[i], shown[i])
                if moved[i]:
                    lower, upper = min(lower, normal_mu[row]), max(upper, normal_mu[row])
                    for k in range(start[row], start[row] + length[row]):
                        lower, upper = min(lower, pool[k]), max(upper, pool[k])
                x, steep[i] = mode(
                    x, lower, upper, normal_mu[row], normal_weight[row], shrink[row],
                    pool, start[row], start[row] + capacity[row], start[row] + 2 * capacity[row], length[row],
                )  # fmt: skip
                if math.isnan(x):
                    return chunk + i
            slope[row] = steep[i]
            time_seconds = rounds.time_seconds[r + (chunk + i - begin) // per_round]
            keep_belief(chunk + i, row, x, deviation[i], time_seconds, store, outcome)
    return -1


@inner_exact
def prefetch_histories(begin, end, player, history):
    """Prefetch the logistic factors of rows ``player[begin:end]``, and the place of the next one."""
    start = history.start
    for i in range(begin, end):
        row = player[i]
        for k in range(start[row] - start[row] % LINE, start[row] + history.length[row] + 1, LINE):
            for part in range(3):
                prefetch(history.pool, k + part * history.capacity[row])


@inner_exact
def _clear(row, history):
    """Delete a row's logistic factors."""
    for part in range(3):
        first = history.start[row] + part * history.capacity[row]
        for k in range(first, first + history.length[row]):
            history.pool[k] = 0.0
    history.length[row] = 0


@inner_exact
def _push(row, p, beta, history_len, deviation, factors, history):
    """Append a factor, after merging the oldest ones that are due into the normal one by weight.

    Returns bool: whether a merge may have moved the mode.
    """
    start, room, shrink = history.start[row], history.capacity[row], factors.shrink[row]
    mean, weight = factors.normal_mu[row], factors.normal_weight[row]
    n, merged = history.length[row], 0
    while merged < n:
        # w = omega / beta^2, from force = w beta^2 / b and inverse_width = 1 / 2b
        at = start + merged
        w = shrink * history.pool[at + room] * history.pool[at + 2 * room] * (2.0 / (C3 * C3))
        if n - merged < history_len or (history_len == 0 and w * deviation * deviation > _NEGLIGIBLE):
            break
        mean += (history.pool[at] - mean) * (w / (weight + w))
        weight += w
        merged += 1
    factors.normal_mu[row], factors.normal_weight[row] = mean, weight
    make_room(row, merged, history, 3)
    n = history.length[row]
    end = history.start[row] + n
    history.pool[end] = p
    history.pool[end + room] = C3 / beta / shrink
    history.pool[end + 2 * room] = 0.5 * C3 / beta
    history.length[row] = n + 1
    return merged > 0 and history_len > 0


@inner_exact
def mode(x, lower, upper, normal_mu, normal_weight, shrink, pool, perf, force, inverse_width, length):
    """The zero of w_0 (x - p_0) + sum_k w_k beta_k^2 / b_k tanh((x - p_k) / 2 b_k) between two bounds, and the slope.

    The search starts at ``x``; returns NaN if it fails. ``perf``, ``force`` and ``inverse_width`` are the first pool
    places of the factors' performances, forces and inverse widths. Safeguarded Halley's method: f' and f'' are
    available, so cubic convergence costs no more than quadratic.
    """
    x = min(max(x, lower), upper)
    width = upper - lower
    rise = normal_weight
    for _ in range(_STEPS):
        f0, f1, f2, _, _, _, _, _, rate = _pull(x, pool, perf, force, inverse_width, length)
        value = normal_weight * (x - normal_mu) + shrink * f0
        rise = normal_weight + shrink * f1
        bend = 2.0 * shrink * f2
        if value < 0.0:
            lower = x
        else:
            upper = x
        step = -2.0 * value * rise / (2.0 * rise * rise - value * bend)
        halley = lower <= x + step <= upper and abs(step) <= 0.5 * width
        if not halley:
            step = 0.5 * (lower + upper) - x
        x += step
        width = abs(step)
        if width * rate <= (_CONVERGED if halley else 1e-13):
            return x, rise
    return math.nan, rise


@inner_kernel
def _pull(x, pool, perf, force, inverse_width, length):
    """Taylor series of the factors' pull, sum of force tanh((x - perf) inverse_width), and the largest inverse width.

    The derivatives of tanh are polynomials in t = tanh: T_1 = 1 - t^2, T_(n+1) = T_n' T_1; coefficient n is T_n / n!.
    The factors are given as places in the pool: reference counting of slices would cost more than the sum. Places are
    unsigned: a signed one may count from the end of the pool, and such loads do not vectorise.
    """
    perf, force, inverse_width = np.uint64(perf), np.uint64(force), np.uint64(inverse_width)
    f0 = f1 = f2 = f3 = f4 = f5 = f6 = f7 = 0.0
    widest = np.int64(0)
    for k in range(np.uint64((length + LANES - 1) // LANES * LANES)):
        q = pool[inverse_width + k]
        e = exp_in_registers(-2.0 * (x - pool[perf + k]) * q)
        t = (1.0 - e) / (1.0 + e)
        z = t * t
        f0 += pool[force + k] * t
        g = pool[force + k] * q * (1.0 - z)
        f1 += g
        g *= q
        f2 -= g * t
        g *= q
        f3 += g * (z - 1 / 3.0)
        g *= q
        f4 += g * t * (2 / 3.0 - z)
        g *= q
        f5 += g * (2 / 15.0 + z * (z - 1.0))
        g *= q
        f6 += g * t * (-17 / 45.0 + z * (4 / 3.0 - z))
        g *= q
        f7 += g * (-17 / 315.0 + z * (11 / 15.0 + z * (z - 5 / 3.0)))
        widest = max(widest, bits_of_float(q))  # positive numbers are ordered as their bits, which vectorises
    return f0, f1, f2, f3, f4, f5, f6, f7, float_of_bits(widest)
