"""Noise that keeps the mode: widens Elo-R's beliefs before a round.

Source: "Elo-R Competition Rating System" (2015, revised 2020); the search is ours. A belief is a normal factor and
logistic ones of centres ``mu_k`` and widths ``tau_k``; below ``y`` is 1 / tau and ``a`` a factor's distance from the
mode. Noise divides all pulls at the mode by the same kappa^2, which keeps the mode. kappa^2 is chosen so that the
weights y^2 add up to ``target``:

    normal    y'^2 = x y^2                          x = 1 / kappa^2
    logistic  y' tanh(a y') = x y tanh(a y)
    together  F(x) = sum y'^2 = target

The middle equation reads u' tanh u' = x v with u = a y and v = u tanh u. So the inverse g of u tanh u, a function of
one variable, solves it for every factor, and only ``x`` is unknown:

    y'^2 = w x psi(x v),   w = y^2 / psi(v),   psi(v) = g(v)^2 / v = v + zeta(v),   zeta(v) = 2 g / sinh 2 g

zeta falls from 1 at 0 to 0: near the mode y'^2 is proportional to x, far from it to x^2. Hence F(x) lies between F(1)
x^2 and F(1) x, and ``x`` between target / F(1) and its root. With q = y'^2, v taken at ``x`` and D = 1 + zeta(v),

    x q' = 2 q / D,   x^2 q'' = 2 q (1 - zeta + 2 v zeta) / D^3,   slope of a pull at the mode = w x zeta
"""

from __future__ import annotations

import math

import numpy as np

from ...core.beliefs import LANES, LINE
from ...core.jit import exact, inner_exact, inner_kernel
from ...core.numerics import exp, prefetch
from ...core.parts import read_belief
from ..diffusion import elapsed_days
from .product import mode

_GUESSES = 3  # Newton steps on the cubic of the first guess
_CONVERGED = 1e-5  # of x: Halley's next error is at most a quarter of the cube of its last step
_STEPS = 200
_AHEAD = 4  # rows whose histories are prefetched
_APART = 64  # places between arrays: a loop over closer ones is not vectorised and rounds differently


@exact
def noise_rows(begin, end, player, time_seconds, eta2, drift, simple, store, queue, history, prior):
    """Add the variance ``eta2 + drift days`` to the beliefs of rows ``player[begin:end]``, and write ``prior``.

    The days are those since a player's last round. ``simple`` noise divides all weights by one number; then a new mode
    is computed.

    Returns int: -1, or the first index without a noise or a mode.
    """
    sigma, start, length, capacity, pool = store.sigma, history.start, history.length, history.capacity, history.pool
    longest = np.int64(0)
    for i in range(begin, end):
        longest = max(longest, capacity[player[i]])
    curve, force = _scratch(longest)
    for i in range(begin, end):
        ahead = player[min(i + _AHEAD, end - 1)]
        for k in range(start[ahead], start[ahead] + length[ahead], LINE):
            prefetch(pool, k)
            prefetch(pool, k + capacity[ahead])
        row = player[i]
        added = eta2 + drift * elapsed_days(time_seconds, store.last_time[row])
        variance = sigma[row] * sigma[row] + added
        if not _widen_row(row, variance, added > 0.0, simple, store, queue, history, curve, force):
            return i
        sigma[row] = math.sqrt(variance)
        read_belief(i, row, store, prior)
    return -1


@exact
def widen_rows(player, wide, simple, store, queue, history):
    """Add noise to the beliefs of rows ``player`` up to the deviations ``wide`` (float64[n]), none below ``sigma``.

    Returns int: -1, or the first index without a noise or a mode.
    """
    longest = np.int64(0)
    for i in range(len(player)):
        longest = max(longest, history.capacity[player[i]])
    curve, force = _scratch(longest)
    for i in range(len(player)):
        row = player[i]
        widens = wide[i] > store.sigma[row]
        if not _widen_row(row, wide[i] * wide[i], widens, simple, store, queue, history, curve, force):
            return i
        store.sigma[row] = wide[i]
    return -1


@inner_exact
def _widen_row(row, variance, widens, simple, store, queue, history, curve, force):
    """Add noise to one belief up to a variance, except for ``sigma``; returns whether noise and mode are found."""
    mu, sigma, normal_weight, slope = store.mu, store.sigma, queue.normal_weight, queue.slope
    length, pool = history.length[row], history.pool
    perf, inverse_tau = history.start[row], history.start[row] + history.capacity[row]
    if simple:
        ratio = sigma[row] * sigma[row] / variance
        mu[row], slope[row] = _widen_alike(ratio, mu[row], row, queue, pool, perf, inverse_tau, length)
    elif widens:
        total, rise, bend = _measure(mu[row], pool, perf, inverse_tau, length, curve, force)
        x = _share(1.0 / variance, normal_weight[row], total, rise, bend, curve, force, length)
        normal_weight[row] *= x
        slope[row] = normal_weight[row] + _widen(x, pool, inverse_tau, length, curve, force)
    return not math.isnan(mu[row] + normal_weight[row])


@inner_exact
def _scratch(longest):
    """Two arrays of ``longest`` numbers, :data:`_APART` places from each other and from the end of any other array.

    The distance of arrays of their own, from each other and from the pool, would be a matter of chance, and so would
    the bits.
    """
    places = np.empty(2 * longest + 3 * _APART)
    second = longest + 2 * _APART
    return places[_APART : _APART + longest], places[second : second + longest]


@inner_exact
def _widen_alike(x, r, row, queue, pool, perf, inverse_tau, length):
    """Multiply all weights by ``x``; returns the new mode and the slope there, or NaN if it is not found."""
    normal_mu, normal_weight = queue.normal_mu, queue.normal_weight
    normal_weight[row] *= x
    lower, upper = normal_mu[row], normal_mu[row]
    for k in range(length):
        pool[inverse_tau + k] *= math.sqrt(x)
        lower, upper = min(lower, pool[perf + k]), max(upper, pool[perf + k])
    return mode(r, lower, upper, normal_mu[row], normal_weight[row], 1.0, pool, perf, inverse_tau, inverse_tau, length)


@inner_exact
def _share(target, normal_weight, total, rise, bend, curve, force, length):
    """The root of F(x) = target, given F(1), F'(1) and F''(1) of the logistic factors; NaN if it is not found.

    The root of the cubic with these values and F(0) = 0 has a relative error of 1e-6 in ordinary rounds. Halley's
    method continues from there; if it leaves the bracket or slows down, the bracket is halved on a logarithmic scale.
    """
    total += normal_weight
    rise += normal_weight
    lower, upper = target / total, math.sqrt(target / total)
    c1 = rise - total
    c2 = 0.5 * bend - c1
    x = upper + (lower - upper) * (2.0 * total / rise - 1.0)
    for _ in range(_GUESSES):
        t = x - 1.0
        value = total + t * (c1 + t * c2)
        x -= (x * value - target) / (value + x * (c1 + 2.0 * t * c2))
    if not lower <= x <= upper:
        x = math.sqrt(lower * upper)
    last = upper / lower - 1.0
    for _ in range(_STEPS):
        f, f1, f2 = _sums(x, curve, force, length)
        excess = f + normal_weight * x - target
        f1 += normal_weight * x
        if excess < 0.0:
            lower = x
        else:
            upper = x
        step = -2.0 * excess * f1 / (2.0 * f1 * f1 - excess * f2)
        halley = abs(step) <= _CONVERGED or (lower <= x + x * step <= upper and abs(step) <= 0.5 * last)
        if not halley:
            step = math.sqrt(lower * upper) / x - 1.0
        x += x * step
        last = abs(step)
        if last <= (_CONVERGED if halley else 1e-15):
            return x
    return math.nan


@inner_kernel
def _zeta(v):
    """zeta(v) = 2 g / sinh 2 g with g tanh g = v, for v >= 0; off by at most 2e-15 of v + zeta(v).

    The fourth power of the rational function of degrees 12 and 14 whose fourth power is nearest on [0, inf), relative
    to max(1, v). Found by weighted least squares in 130 digits.
    """
    n = -2.9162994598536895e-11
    n = n * v - 2.0719421947706635e-09
    n = n * v + 2.575552098722532e-07
    n = n * v - 8.663465532037119e-06
    n = n * v + 0.0001346918173062146
    n = n * v - 0.0011585412055121168
    n = n * v + 0.007811339390884503
    n = n * v - 0.03747428559804818
    n = n * v + 0.14368967448890435
    n = n * v - 0.3990095307961784
    n = n * v + 0.8497973475304621
    n = n * v - 1.1492967903109583
    n = n * v + 1.0
    d = 6.072291648711492e-11
    d = d * v + 1.32300730346362e-10
    d = d * v + 1.0408752262920939e-08
    d = d * v + 1.08358550625982e-07
    d = d * v + 8.04405351638243e-07
    d = d * v + 1.1369916104193658e-07
    d = d * v + 9.16422077886847e-05
    d = d * v - 0.000614157706854827
    d = d * v + 0.005245387214288045
    d = d * v - 0.024649808412798613
    d = d * v + 0.10590331426935047
    d = d * v - 0.29967808848033617
    d = d * v + 0.7054701046995251
    d = d * v - 0.9826301236442587
    d = d * v + 1.0
    z = n / d
    z *= z
    return z * z


@inner_kernel
def _measure(r, pool, perf, inverse_tau, length, curve, force):
    """Write logistic factors' v into ``curve`` and their w into ``force``; returns their F(1), F'(1) and F''(1)."""
    perf, inverse_tau = np.uint64(perf), np.uint64(inverse_tau)  # signed ones may count from the end of the pool
    f = 0.0
    f1 = 0.0
    f2 = 0.0
    for k in range(np.uint64((length + LANES - 1) // LANES * LANES)):
        y = pool[inverse_tau + k]
        u = abs(r - pool[perf + k]) * y
        e = exp(-2.0 * u)
        v = u * (1.0 - e) / (1.0 + e)
        z = _zeta(v)
        d = 1.0 / (1.0 + z)
        q = y * y
        curve[k] = v
        force[k] = q / (v + z)
        f += q
        q *= 2.0 * d
        f1 += q
        f2 += q * d * d * (1.0 - z + 2.0 * v * z)
    return f, f1, f2


@inner_kernel
def _sums(x, curve, force, length):
    """F(x), x F'(x) and x^2 F''(x) of the logistic factors."""
    f = 0.0
    f1 = 0.0
    f2 = 0.0
    for k in range((length + LANES - 1) // LANES * LANES):
        v = x * curve[k]
        z = _zeta(v)
        d = 1.0 / (1.0 + z)
        q = x * force[k] * (v + z)
        f += q
        q *= 2.0 * d
        f1 += q
        f2 += q * d * d * (1.0 - z + 2.0 * v * z)
    return f, f1, f2


@inner_kernel
def _widen(x, pool, inverse_tau, length, curve, force):
    """Write each logistic factor's new 1 / tau; returns the slope of their pull at the mode."""
    inverse_tau = np.uint64(inverse_tau)  # as in _measure
    slope = 0.0
    for k in range(np.uint64((length + LANES - 1) // LANES * LANES)):
        w = x * force[k]
        v = x * curve[k]
        z = _zeta(v)
        pool[inverse_tau + k] = math.sqrt(w * (v + z))
        slope += w * z
    return slope
