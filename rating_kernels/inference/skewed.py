"""Skewed performances: a bad result is weaker evidence about a skill than a good one.

The model is this project's, not a paper's. A performance lies around the skill with a two-piece noise (Fechner 1897),
wider below than above. The visible share of this skew depends on the size of a round: a duel shows only the difference
of two noises, which is symmetric. In a round of N participants the share is tau = max(0, 1 - 2 / N).

With p = beta^-2 w the precision of the upper side, s the skew, a belief N(mu, sigma^2) and a performance e = perf - mu
from it, the new mean is

    e >= 0    mu + e sigma^2 / (sigma^2 + 1 / p)
    e <  0    the root x in [perf, mu] of  (x - mu) / sigma^2 + (1 - tau) p (x - perf) + tau L(x - perf) = 0
              L(y) = tanh(y / 2b) / b, b = sqrt(3) s beta / (pi sqrt(w))        logistic lower side
              L(y) = p y / s^2                                                  normal lower side

and the new variance 1 / (1 / sigma^2 + 1 / noise) for either sign, with the variance ``noise`` of the whole law: later
gains do not depend on the result. The left side of the equation grows with x and falls with perf, hence the new mean
grows with perf. The term tau L of the logistic side is at most tau / b, so that the fall is bounded as tau tends to 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.jit import exact, inner_exact
from ..core.numerics import C3, exp
from ..core.parts import keep_belief, read_belief
from .diffusion import elapsed_days, practice_gain

_STEPS = 200
_CONVERGED = 1e-8  # of max(1, u): Newton's next error is at most the square of its last step


def skew_share(participants):
    """tau: the visible share of the skew in a round of so many participants; numbers or arrays."""
    return np.maximum(0.0, 1.0 - 2.0 / participants)


def mean_shift(tau, beta, skew, weight):
    """The distance of the mean performance below the skill."""
    return tau * math.sqrt(2.0 / math.pi) * (skew - 1.0) * beta / np.sqrt(weight)


def noise_variance(tau, beta, skew, weight):
    """The variance of a performance around its mean; numbers or arrays."""
    excess = skew + (1.0 - 2.0 / math.pi) * (skew - 1.0) ** 2 - 1.0
    return (1.0 + tau * excess) * beta * beta / weight


share_of_skew, shift_of_mean = inner_exact(skew_share), inner_exact(mean_shift)  # for kernels
_variance = inner_exact(noise_variance)


class Law(NamedTuple):
    """Performances in a round of weight 1: spread above the skill, skew, whether the lower side is normal."""

    beta: float
    skew: float
    normal: bool


class Growth(NamedTuple):
    """How skills change between rounds: practice and the rounds that halve it, drift by round and by day."""

    practice: float
    practice_rounds: float
    gamma: float
    drift_per_day: float


@exact
def diffuse_rows(begin, end, player, time_seconds, weight, tau, law, growth, store, prior):
    """Add practice and drift to the beliefs of rows ``player[begin:end]``; newcomers stay as they are.

    ``prior.beta`` receives the standard deviation of each performance.
    """
    mu, sigma, gamma = store.mu, store.sigma, growth.gamma
    deviation = math.sqrt(_variance(tau, law.beta, law.skew, weight))
    for i in range(begin, end):
        row = player[i]
        n = store.n_rounds[row]
        if n > 0:
            mu[row] += tau * practice_gain(n, growth.practice, growth.practice_rounds)
            days = elapsed_days(time_seconds, store.last_time[row])
            sigma[row] = math.sqrt(sigma[row] * sigma[row] + gamma * gamma * weight + growth.drift_per_day * days)
        prior.beta[i] = deviation
        read_belief(i, row, store, prior)


@inner_exact
def _tanh_root(alpha, delta):
    """The root u >= 0 of  alpha u + tanh u = delta  for alpha > 0, delta >= 0; NaN if it is not found.

    The left side is concave there, so Newton's method increases towards the root from any point below it.
    """
    u = max(delta / (1.0 + alpha), (delta - 1.0) / alpha)
    for _ in range(_STEPS):
        e = exp(-2.0 * u)
        t = (1.0 - e) / (1.0 + e)
        step = (delta - alpha * u - t) / (alpha + (1.0 - t) * (1.0 + t))
        u += step
        if abs(step) <= _CONVERGED * max(1.0, u):
            return u
    return math.nan


@inner_exact
def sides(weight, tau, law):
    """Precision of the upper side; coefficient of the linear terms, bounded share and scale of the lower side."""
    beta, skew, normal = law
    precision = weight / (beta * beta)
    scale = skew * beta / (C3 * math.sqrt(weight))
    linear = precision * (1.0 - tau)
    bounded = tau
    if normal:
        linear += tau * precision / (skew * skew)
        bounded = 0.0
    return precision, linear, bounded, scale


@inner_exact
def change_of_mean(surprise, variance, precision, linear, bounded, scale):
    """Change of the mean of a belief by a performance at the distance ``surprise``, given the :func:`sides`.

    For smoothing. The same as in :func:`absorb_rows`, which does not call it: the bits of ratings would change.
    """
    if surprise >= 0.0:
        return surprise * (variance * precision / (1.0 + variance * precision))
    if not bounded > 0.0:
        return surprise * (variance * linear / (1.0 + variance * linear))
    # y = x - perf = 2 scale u; times variance * scale / tau the equation is  alpha u + tanh u = delta
    alpha = 2.0 * scale * scale * (1.0 + variance * linear) / (bounded * variance)
    u = _tanh_root(alpha, -surprise * scale / (bounded * variance))
    e = exp(-2.0 * u)
    return -variance * (linear * 2.0 * scale * u + bounded * (1.0 - e) / (1.0 + e) / scale)


@exact
def absorb_rows(
    begin, end, player, time_seconds, weight, tau, law, members, prior, store, outcome
):  # fmt: skip
    """Absorb performances into the beliefs of rows ``player[begin:end]``.

    ``members``: ``prior.beta`` differs between the rows, which are members of teams. Both sides of a row's law are as
    much wider as its noise, so that the skew stays.

    Returns int: -1, or the first index without a new mean.
    """
    beta, skew, normal = law
    noise, perf = prior.beta, outcome.perf
    whole_precision = weight / (beta * beta)
    whole_scale = skew * beta / (C3 * math.sqrt(weight))
    whole_linear = whole_precision * (1.0 - tau)  # coefficient of the linear terms of the lower side
    logistic = tau > 0.0 and not normal
    if normal:
        whole_linear += tau * whole_precision / (skew * skew)
    variance_alone = _variance(tau, beta, skew, weight)
    for i in range(begin, end):
        row = player[i]
        share = variance_alone / (noise[i] * noise[i]) if members else 1.0
        precision, linear, scale = whole_precision * share, whole_linear * share, whole_scale / math.sqrt(share)
        variance = prior.sigma[i] * prior.sigma[i]
        surprise = perf[i] - prior.mu[i]
        if surprise >= 0.0:
            change = surprise * (variance * precision / (1.0 + variance * precision))
        elif not logistic:
            change = surprise * (variance * linear / (1.0 + variance * linear))
        else:
            # y = x - perf = 2 scale u; times variance * scale / tau the equation is  alpha u + tanh u = delta
            alpha = 2.0 * scale * scale * (1.0 + variance * linear) / (tau * variance)
            u = _tanh_root(alpha, -surprise * scale / (tau * variance))
            e = exp(-2.0 * u)
            change = -variance * (linear * 2.0 * scale * u + tau * (1.0 - e) / (1.0 + e) / scale)
        if not math.isfinite(change):
            return i
        mu = prior.mu[i] + change
        sigma = noise[i] * math.sqrt(variance / (variance + noise[i] * noise[i]))
        keep_belief(i, row, mu, sigma, time_seconds, store, outcome)
    return -1
