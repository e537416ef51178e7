"""Beliefs as queues of past performances: append one, merge the oldest, find the mode.

Source: "Elo-R Competition Rating System" (2015, revised 2020). A belief is one normal factor of centre ``mu_0`` and
width ``tau_0`` and logistic ones, oldest first; the mode is the zero of

    (s - mu_0) / tau_0^2 + sum_k tanh((s - mu_k) / tau_k) / tau_k

A factor that leaves the queue is merged into the normal one with its weight at the mode, w = tanh(a / tau) / (a tau),
where a is its distance from the mode. The mode does not change, and 1 / sigma^2 = sum 1 / tau^2 falls by 1 / tau^2 - w.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ...core.beliefs import LINE, grow, make_room
from ...core.jit import exact, inner_exact
from ...core.numerics import exp, prefetch
from ...core.parts import keep_belief
from ...core.standings import Floats
from .product import mode

_GUESSES = 3  # Newton steps on the model of the first guess
_SMALL_SHARE = 2.0**-30  # of the weight: within 64 sigma such a factor is normal up to 1e-12 sigma of the mode
_SMALL_ANGLE = 2.0**-9  # a / tau of such a factor with its centre within these 64 sigma
_AHEAD = 4  # rows whose histories are prefetched


class QueueFactors(NamedTuple):
    """State columns of beliefs: centre and weight of the normal factor, and the slope at the mode (:func:`.mode`)."""

    normal_mu: Floats
    normal_weight: Floats
    slope: Floats


@exact
def absorb_rows(
    begin, end, player, time_seconds, max_len, claimed, prior, store, queue, history, outcome
):  # fmt: skip
    """Append performances of widths ``prior.beta`` to the beliefs of rows ``player[begin:end]``.

    ``claimed`` is the first pool place allocated for these rows (:func:`.beliefs.places_needed`). ``max_len`` is the
    maximum number of factors including the normal one, or 0: then a factor is merged when its pull equals that of a
    normal one.

    Returns int: -1, or the first index without a mode.
    """
    normal_mu, normal_weight, slope = queue
    start, length, capacity, pool, _ = history
    for i in range(begin, end):
        ahead = player[min(i + _AHEAD, end - 1)]
        for k in range(start[ahead], start[ahead] + length[ahead] + 1, LINE):
            prefetch(pool, k)
            prefetch(pool, k + capacity[ahead])
        row = player[i]
        before, shown, y = prior.mu[i], outcome.perf[i], 1.0 / prior.beta[i]
        if length[row] == capacity[row]:
            claimed = grow(row, claimed, history, 2)
        precision = 1.0 / (prior.sigma[i] * prior.sigma[i])
        merged = _shorten(row, before, precision, max_len, queue, history)
        perf, inverse_tau, n = start[row], start[row] + capacity[row], length[row]
        if merged and max_len > 0:
            precision = normal_weight[row]
            for k in range(inverse_tau, inverse_tau + n):
                precision += pool[k] * pool[k]
        precision += y * y
        pool[perf + n], pool[inverse_tau + n] = shown, y
        length[row] = n + 1
        x = before + (shown - before) * (y * y / precision)
        for _ in range(_GUESSES):  # models the old belief as a parabola with its slope
            e = exp((x - shown) * (-2.0 * y))
            t = (1.0 - e) / (1.0 + e)
            x -= ((x - before) * slope[row] + y * t) / (slope[row] + y * y * (1.0 - t * t))
        x, slope[row] = mode(
            x, min(before, shown), max(before, shown), normal_mu[row], normal_weight[row], 1.0,
            pool, perf, inverse_tau, inverse_tau, n + 1,
        )  # fmt: skip
        if math.isnan(x):
            return i
        keep_belief(i, row, x, 1.0 / math.sqrt(precision), time_seconds, store, outcome)
    return -1


@inner_exact
def _shorten(row, r, precision, max_len, queue, history):
    """Merge the factors that are due into the normal one, make room for one more; returns whether any were merged."""
    perf, n = history.start[row], history.length[row]
    inverse_tau, merged = perf + history.capacity[row], 0
    mean, weight = queue.normal_mu[row], queue.normal_weight[row]
    while merged < n:
        y = history.pool[inverse_tau + merged]
        u = abs(r - history.pool[perf + merged]) * y
        if max_len > 0:
            due = merged == 0 and n + 1 >= max_len
        else:
            due = y * y <= _SMALL_SHARE * precision and u <= _SMALL_ANGLE
        if not due:
            break
        w = y * y * (math.tanh(u) / u if u > 0.0 else 1.0)
        mean += (history.pool[perf + merged] - mean) * (w / (weight + w))
        weight += w
        merged += 1
    queue.normal_mu[row], queue.normal_weight[row] = mean, weight
    make_room(row, merged, history, 2)
    return merged > 0
