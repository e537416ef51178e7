"""Expectation propagation along a chain of levels: what a ranking says about everybody's performance.

Source: Herbrich, Minka and Graepel, "TrueSkill: A Bayesian Skill Rating System" (NIPS 2006), section 3; levels as in
Nikolenko and Sirotkin, "Extensions of the TrueSkill rating system" (2010). A level stands for one player, or for one
place: then its members performed at it, give or take ``window``. Neighbouring levels are known to differ by more than
``gap`` or, where they tie, by at most that.

A message is a normal law told by precision and pull (precision times mean), so that a pair of zeros says nothing.
Messages run down the chain and up again; each step replaces one truncated law by the normal law of its moments. Were
the truncations' messages known, one sweep would be exact; only these have to settle, and the error falls by a factor of
ten to a thousand a sweep however long the chain. Steps are damped only where that fails: windows of many standard
deviations between players who do not fit in can make the messages jump from one edge to the other for ever.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import inner_exact
from .truncation import beyond, within

__all__ = ["TOLERANCE", "propagate"]

TOLERANCE = 1e-12  # largest relative change of a mean or a variance in the last sweep
_STAGES, _SWEEPS = 6, 32  # sweeps with full steps; each later stage halves the steps and doubles the sweeps
_CREEPING = 512  # sweeps, all with full steps, where truncated laws are sharpened


@inner_exact
def propagate(mu, variance, lo, first, window, gap, sharpen, message, pull):
    """Find what the standings say about each performance.

    Parameters
    ----------
    mu, variance : float64[n]
        Of performances before the round, best first.
    lo : int32[n]
        As in standings: levels whose first members share it are tied.
    first : int64[levels + 1]
        First row of each level, and the number of rows.
    window : float
        How far members may be from their level, rating points; 0 if each level is one member's performance.
    gap : float
        Bound on the difference of neighbouring levels, > 0 rating points.
    sharpen : float
        Truncated laws are given this many times their precision. 1 is right; otherwise even a bound that binds nobody
        tells something, such hearsay fades as slowly as 1 / sweeps, and what is left of it in the end has to do.
    message, pull : float64[n]
        Filled: precision of the message to each performance, and its pull at ``mu``, precision (mean - mu).

    Returns
    -------
    int
        Sweeps taken, each down and up; negative if the messages had not settled by then.
    """
    n, levels = len(mu), len(first) - 1
    prior, prior_pull, size = np.empty(n), np.empty(n), 0.0
    for j in range(n):
        at = mu[j] - mu[0]  # ratings from the first one's: a shift of all costs no digits
        size = max(size, abs(at))
        prior[j], prior_pull[j] = 1.0 / variance[j], at / variance[j]
    members = n if window > 0.0 else 0
    site, site_pull = np.full(members, 3.0 / (window * window)), np.zeros(members)  # an even law in the window
    later, later_pull = np.empty(members), np.empty(members)
    own, own_pull = np.zeros(levels), np.zeros(levels)
    for g in range(levels):
        for j in range(first[g], first[g + 1]):
            p, q = prior[j], prior_pull[j]
            if members > 0:
                p, q = _sum(p, q, site[j], 0.0)
            own[g] += p
            own_pull[g] += q
    down, down_pull, up, up_pull = np.zeros(levels), np.zeros(levels), np.zeros(levels), np.zeros(levels)
    link, link_pull = np.zeros(levels), np.zeros(levels)  # of level g less level g + 1
    stages, sweeps = (_STAGES, _SWEEPS) if sharpen == 1.0 else (1, _CREEPING)
    swept, settled = 0, False
    for stage in range(stages):
        step = 0.5**stage
        for _ in range(sweeps << stage):
            change = 0.0
            for turn in range(2 * levels):
                upward = turn >= levels
                g = 2 * levels - 1 - turn if upward else turn
                outer, outer_pull = down[g] + up[g], down_pull[g] + up_pull[g]
                if members == 0:
                    message[g], pull[g] = outer, outer_pull
                else:
                    moved, own[g], own_pull[g] = _meet(
                        first[g], first[g + 1], outer, outer_pull, prior, prior_pull, window, sharpen, step, size,
                        site, site_pull, later, later_pull, message, pull,
                    )  # fmt: skip
                    change = _larger(moved, change)
                k = g - 1 if upward else g
                if k < 0 or k == levels - 1:
                    continue
                p, q = own[k] + down[k], own_pull[k] + down_pull[k]
                r, s = own[k + 1] + up[k + 1], own_pull[k + 1] + up_pull[k + 1]
                cavity, cavity_pull = _sum(p, q, r, -s)
                moved, link[k], link_pull[k] = _truncate(
                    lo[first[k]] == lo[first[k + 1]], cavity, cavity_pull, gap, sharpen, step, size,
                    link[k], link_pull[k],
                )  # fmt: skip
                change = _larger(moved, change)
                if upward:
                    up[k], up_pull[k] = _sum(r, s, link[k], link_pull[k])
                else:
                    down[k + 1], down_pull[k + 1] = _sum(p, q, link[k], -link_pull[k])
            swept += 1
            settled = change <= TOLERANCE
            if settled:
                break
        if settled:
            break
    for j in range(n):
        pull[j] -= message[j] * (mu[j] - mu[0])
    return swept if settled else -swept


@inner_exact
def _sum(p, q, r, s):
    """The law of x + y, where x has precision p and pull q, y has r and s."""
    return p * r / (p + r), (q * r + s * p) / (p + r)


@inner_exact
def _larger(moved, change):
    """The larger of two, or NaN if the first is."""
    return change if moved <= change else moved


@inner_exact
def _meet(
    begin, end, outer, outer_pull, prior, prior_pull, window, sharpen, step, size,
    site, site_pull, later, later_pull, message, pull,
):  # fmt: skip
    """Exchange messages between one level and its members ``begin`` to ``end - 1``, one after the other.

    What a member meets is the sum over all others: messages before it are new, those after it old, and nothing is
    taken off a sum that it was added to.

    Returns
    -------
    change, own, own_pull
        How far members moved (:func:`_truncate`); what they together say about their level.
    """
    p, q = 0.0, 0.0
    for j in range(end - 1, begin - 1, -1):
        later[j], later_pull[j] = p, q
        r, s = _sum(prior[j], prior_pull[j], site[j], -site_pull[j])
        p += r
        q += s
    p, q, change = 0.0, 0.0, 0.0
    for j in range(begin, end):
        level, level_pull = outer + p + later[j], outer_pull + q + later_pull[j]
        cavity, cavity_pull = _sum(prior[j], prior_pull[j], level, -level_pull)  # of performance less level
        moved, site[j], site_pull[j] = _truncate(
            True, cavity, cavity_pull, window, sharpen, step, size, site[j], site_pull[j]
        )
        change = _larger(moved, change)
        message[j], pull[j] = _sum(level, level_pull, site[j], site_pull[j])
        r, s = _sum(prior[j], prior_pull[j], site[j], -site_pull[j])
        p += r
        q += s
    return change, p, q


@inner_exact
def _truncate(tied, precision, pull, edge, sharpen, step, size, site, site_pull):
    """The message of one truncation, given the difference's law without it and the old message.

    Returns
    -------
    moved, site, site_pull
        How far the difference's truncated law is from the one that the old message meant, in standard deviations and
        relative to all ratings, so that rounding alone is no movement; the new message.
    """
    if tied:
        mean, variance = within(sharpen * precision, sharpen * pull, edge)
    else:
        mean, variance = beyond(sharpen * precision, sharpen * pull, edge)
    change = max(1.0 / variance - precision, 0.0) - site
    change_pull = mean / variance - pull - site_pull
    root = math.sqrt(precision)
    shift = root * abs(change_pull - mean * change) * variance
    scale = 1.0 + (size + edge) * root + (abs(pull) / root if precision > 0.0 else 0.0)
    return max(shift, abs(change) * variance) / scale, site + step * change, site_pull + step * change_pull
