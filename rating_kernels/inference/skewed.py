"""Skewed performances: a bad result is weaker evidence about a skill than a good one.

The model is this project's, not a paper's. A performance lies around the skill with a two-piece noise (Fechner 1897),
wider below than above. The visible share of this skew depends on the size of a round: a duel shows only the difference
of two noises, which is symmetric. In a round of N participants the share is tau = max(0, 1 - 2 / N).

The size has two more effects, if the hyperparameters of the noise have them: performances spread wider in small rounds,
by beta (1 + (duel - 1) 2 / N) above the skill, which is beta below; and a place shows a performance only roughly. The
squared correlation of performance and place among N equals is rho = (N - 1) / (N + 1).

With p = beta^-2 w the precision of the upper side, s the skew, a belief N(mu, sigma^2) and a performance e = perf - mu
from it, the new mean is

    e >= 0    mu + e sigma^2 / (sigma^2 + 1 / p)
    e <  0    the root x in [perf, mu] of  (x - mu) / sigma^2 + (1 - tau) p (x - perf) + tau L(x - perf) = 0
              L(y) = tanh(y / 2b) / b, b = sqrt(3) s beta / (pi sqrt(w))        logistic lower side
              L(y) = p y / s^2                                                  normal lower side

and the new variance sigma^2 - rho sigma^4 / (sigma^2 + noise) for either sign, with the variance ``noise`` of the whole
law, and rho = 1 if places are taken for performances: later gains do not depend on the result. The left side of the
equation grows with x and falls with perf, hence the new mean grows with perf. The term tau L of the logistic side is at
most tau / b, so that the fall is bounded as tau tends to 1.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.jit import exact, inner_exact
from ..core.numerics import C3, exp
from ..core.parts import keep_belief, read_belief
from .diffusion import elapsed_days, practice_gain

_STEPS = 200
_CONVERGED = 1e-8  # of max(1, u): Newton's next error is at most the square of its last step


class Law(NamedTuple):
    """The hyperparameters of performances.

    ``beta``: spread above the skill in a large round of weight 1. ``skew``: how many times wider it is below.
    ``normal``: whether the lower side is normal. ``duel``: how many times wider both sides are in a duel.
    ``ranked``: whether beliefs are updated by what a place shows of a performance, not as if it showed it exactly.
    """

    beta: float
    skew: float
    normal: bool
    duel: float = 1.0
    ranked: bool = False


class RoundLaw(NamedTuple):
    """The law of performances in rounds of some size, and weight 1; numbers, or arrays of one number a round.

    ``tau``: the visible share of the skew. ``hidden``: 1 - rho, the share of a performance that places do not show.
    """

    beta: Any
    skew: float
    normal: bool
    tau: Any
    hidden: Any


def law_of_round(law, participants):
    """The :class:`RoundLaw` in rounds of so many participants, players or teams."""
    beta = law.beta * (1.0 + (law.duel - 1.0) * (2.0 / participants))
    hidden = 2.0 / (participants + 1.0) if law.ranked else 0.0
    return RoundLaw(beta, law.skew, law.normal, np.maximum(0.0, 1.0 - 2.0 / participants), hidden)


def mean_shift(law, weight):
    """The distance of the mean performance below the skill, by a :class:`RoundLaw`."""
    return law.tau * math.sqrt(2.0 / math.pi) * (law.skew - 1.0) * law.beta / np.sqrt(weight)


def noise_variance(law, weight):
    """The variance of a performance around its mean, by a :class:`RoundLaw`."""
    excess = law.skew + (1.0 - 2.0 / math.pi) * (law.skew - 1.0) ** 2 - 1.0
    return (1.0 + law.tau * excess) * law.beta * law.beta / weight


in_round = inner_exact(law_of_round)  # these three for kernels
shift_of_mean, variance_of_noise = inner_exact(mean_shift), inner_exact(noise_variance)


class Growth(NamedTuple):
    """How skills change between rounds: practice and the rounds that halve it, drift by round and by day."""

    practice: float
    practice_rounds: float
    gamma: float
    drift_per_day: float


@exact
def diffuse_rows(begin, end, player, time_seconds, conditions, law, growth, store, prior):
    """Add practice and drift to the beliefs of rows ``player[begin:end]``; newcomers stay as they are.

    ``prior.beta`` receives the standard deviation of each performance.
    """
    mu, sigma, gamma, tau = store.mu, store.sigma, growth.gamma, law.tau
    weight, precision = conditions
    deviation = math.sqrt(variance_of_noise(law, weight * precision))
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
def sides(weight, law):
    """Precision of the upper side; coefficient of the linear terms, bounded share and scale of the lower side.

    ``law``: a :class:`RoundLaw`.
    """
    beta, skew, normal, tau, _ = law
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
    begin, end, player, time_seconds, weight, law, members, prior, store, outcome
):  # fmt: skip
    """Absorb performances into the beliefs of rows ``player[begin:end]``.

    ``law``: the :class:`RoundLaw`.
    ``members``: ``prior.beta`` differs between the rows, which are members of teams. Both sides of a row's law are as
    much wider as its noise, so that the skew stays.

    Returns int: -1, or the first index without a new mean.
    """
    beta, skew, normal, tau, hidden = law
    noise, perf = prior.beta, outcome.perf
    whole_precision = weight / (beta * beta)
    whole_scale = skew * beta / (C3 * math.sqrt(weight))
    whole_linear = whole_precision * (1.0 - tau)  # coefficient of the linear terms of the lower side
    logistic = tau > 0.0 and not normal
    if normal:
        whole_linear += tau * whole_precision / (skew * skew)
    variance_alone = variance_of_noise(law, weight)
    unseen = hidden / variance_alone
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
        kept = variance * (1.0 + unseen * share * variance)  # with nothing hidden the variance itself, to the bit
        sigma = noise[i] * math.sqrt(kept / (variance + noise[i] * noise[i]))
        keep_belief(i, row, mu, sigma, time_seconds, store, outcome)
    return -1
