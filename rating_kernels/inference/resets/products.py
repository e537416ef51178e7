"""Soft resets of beliefs that are products of a normal factor and logistic ones.

Source: this project. A belief is exp(-w_0 (x - p_0)^2 / 2) prod_k sech^(2 omega_k)((x - p_k) / 2 b_k), with
b_k = sqrt(3) beta_k / pi, weights w_k = omega_k / beta_k^2 that add up to 1 / sigma^2, and its mode at ``mu``. A map of
the centres ``p_k`` alone would not map the mode: tanh is not homogeneous. So the whole density is mapped, and then
widened to the variance T without a change of its shape:

    p_k' = m + c (p_k - m)        beta_k' = c beta_k        w_k' = w_k sigma^2 / T

With x = m + c (y - m) every pull at x is c sigma^2 / T times the old one at y. Hence the mode moves to m + c (mu - m),
and the weights add up to 1 / T. Elo-R widens by its own noise instead (:mod:`..factors.noise`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.beliefs import LINE, Beliefs
from ...core.jit import exact
from ...core.numerics import C3, prefetch
from ...core.standings import Floats, Longs
from ...core.system import ConvergenceError, Reset
from ..factors.noise import widen_rows
from ..factors.queues import QueueFactors

NARROWEST = 1e-9  # rating points: as deviations of hyperparameters
_AHEAD = 8  # rows to prefetch


def reset_products(params: Any, beliefs: Beliefs, rows: Longs, reset: Reset) -> None:
    """Reset beliefs of Elo-MMR."""
    sigma, mu = beliefs.sigma[rows], reset.move(beliefs.mu[rows])
    wide = reset.spread(sigma, params.sigma_init)
    if reset.is_normal:
        _make_normal(beliefs, rows, mu, wide)
        return
    _move_factors(beliefs, rows, reset, 2, 0.5 * C3)
    ratio, state = (sigma / wide) ** 2, beliefs.state
    for name in ("normal_weight", "slope"):
        state[name][rows] *= ratio
    state["shrink"][rows] *= reset.keep * ratio
    beliefs.mu[rows], beliefs.sigma[rows] = mu, wide


def reset_queues(params: Any, beliefs: Beliefs, rows: Longs, reset: Reset) -> None:
    """Reset beliefs of Elo-R: noise of variance T - c^2 sigma^2 widens the mapped ones, by the rule of the run.

    "simple" noise computes the mode again: it differs from the mapped one.
    """
    mu, wide = reset.move(beliefs.mu[rows]), reset.spread(beliefs.sigma[rows], params.sigma_init)
    if reset.is_normal:
        _make_normal(beliefs, rows, mu, wide)
        return
    state, keep = beliefs.state, reset.keep
    _check_widths(reset, state["normal_weight"][rows] ** -0.5)
    _move_factors(beliefs, rows, reset, 1, 1.0)
    for name in ("normal_weight", "slope"):
        state[name][rows] /= keep * keep
    beliefs.mu[rows], beliefs.sigma[rows] = mu, keep * beliefs.sigma[rows]
    queue = QueueFactors(*map(beliefs.column, QueueFactors._fields))
    failed = widen_rows(rows, wide, params.noise == "simple", beliefs.store, queue, beliefs.segments)
    if failed >= 0:
        raise ConvergenceError("no noise found")


def _move_factors(beliefs: Beliefs, rows: Longs, reset: Reset, part: int, unit: float) -> None:
    """Map the normal factors' centres, and centres and widths of all past performances.

    ``unit``: a width is ``unit`` divided by the number in ``part`` of the history.
    """
    if reset.keep == 1.0:
        return
    assert beliefs.history is not None
    narrowest = unit / np.array([_largest(rows, beliefs.segments, np.int64(part))])
    _check_widths(reset, narrowest)
    _move_rows(rows, beliefs.segments, np.int64(part), reset.centre, reset.keep)
    state = beliefs.state["normal_mu"]
    state[rows] = reset.move(state[rows])


def _check_widths(reset: Reset, widths: Floats) -> None:
    """Raise ``ValueError`` if a reset makes a width, in rating points, too small."""
    if len(widths) and reset.keep < 1.0 and reset.keep * widths.min() < NARROWEST:
        raise ValueError(
            f"keep = {reset.keep} makes past performances narrower than {NARROWEST:g} rating points; keep = 0 "
            "forgets them"
        )


def _make_normal(beliefs: Beliefs, rows: Longs, mu: Floats, sigma: Floats) -> None:
    """Replace beliefs by one normal factor, without a history."""
    assert beliefs.history is not None
    state, weight = beliefs.state, sigma**-2.0
    state["normal_mu"][rows], state["normal_weight"][rows], state["slope"][rows] = mu, weight, weight
    if "shrink" in state:
        state["shrink"][rows] = 1.0
    nothing = beliefs.history.ragged(rows[:0])
    none = {name: column._replace(offsets=np.zeros(len(rows) + 1, dtype=np.int64)) for name, column in nothing.items()}
    beliefs.history.put(rows, none)
    beliefs.mu[rows], beliefs.sigma[rows] = mu, sigma


@exact
def _largest(rows, history, part):
    """The largest number in one part of the histories of ``rows``; a tiny one if they are empty."""
    start, length, capacity, pool = history.start, history.length, history.capacity, history.pool
    found = 1e-300
    for i in range(len(rows)):
        if i + _AHEAD < len(rows):
            ahead = rows[i + _AHEAD]
            for k in range(0, length[ahead], LINE):
                prefetch(pool, start[ahead] + part * capacity[ahead] + k)
        first = start[rows[i]] + part * capacity[rows[i]]
        for k in range(first, first + length[rows[i]]):
            found = max(found, pool[k])
    return found


@exact
def _move_rows(rows, history, part, centre, keep):
    """Map the performances of ``rows``, and divide the numbers of one part of their histories by ``keep``."""
    start, length, capacity, pool = history.start, history.length, history.capacity, history.pool
    for i in range(len(rows)):
        if i + _AHEAD < len(rows):
            ahead = rows[i + _AHEAD]
            for k in range(0, length[ahead], LINE):
                prefetch(pool, start[ahead] + k)
                prefetch(pool, start[ahead] + part * capacity[ahead] + k)
        perf, width = start[rows[i]], start[rows[i]] + part * capacity[rows[i]]
        for k in range(length[rows[i]]):
            pool[perf + k] = centre + keep * (pool[perf + k] - centre)
            pool[width + k] /= keep
