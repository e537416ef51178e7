"""Expectation propagation along a chain of levels: messages from a ranking to all performances.

Source: Herbrich, Minka and Graepel, "TrueSkill: A Bayesian Skill Rating System" (NIPS 2006), section 3; levels as in
Nikolenko and Sirotkin, "Extensions of the TrueSkill rating system" (2010). A level stands for one player or for one
place; the performances of a place's members are within ``window`` of its level. Neighbouring levels differ by more than
``gap``, or by at most ``gap`` if they tie.

A message is a normal law given by precision and pull (precision times mean); two zeros mean no information. MessageLaws
are passed down the chain and up again; each step replaces one truncated law by the normal law with its moments. With
known messages of the truncations one sweep would be exact. Only these messages have to converge, and the error falls by
a factor of ten to a thousand a sweep regardless of the length of the chain. Steps are damped only if that fails: with
windows of many standard deviations messages can otherwise alternate between both edges without end.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.jit import inner_exact
from ..core.standings import Floats
from .truncation import beyond, within

TOLERANCE = 1e-12  # largest relative change of a mean or a variance in the last sweep
_STAGES, _SWEEPS = 6, 32  # sweeps with full steps; each later stage halves the steps and doubles the sweeps
_CREEPING = 512  # sweeps, all with full steps, if truncated laws are sharpened


class MessageLaws(NamedTuple):
    """Normal laws by precision and pull, one a row."""

    precision: Floats
    pull: Floats


@inner_exact
def propagate(mu, variance, lo, first, window, gap, sharpen, message, pull):
    """Compute the messages from the standings to each performance.

    ``mu``, ``variance`` (float64[n]): prior means and variances of performances, best place first.
    ``lo`` (int32[n]): as in standings: levels whose first members have equal ``lo`` are tied.
    ``first`` (int64[levels + 1]): first row of each level, and the number of rows.
    ``window``: largest distance of members from their level, rating points; 0 if each level is one player's
    performance.
    ``gap`` (float64[levels - 1] or longer): bound on the difference of each level and the next, > 0 rating points.
    ``sharpen``: factor on the precision of truncated laws. 1 is exact. With other values even bounds without effect
    send messages, which decay as slowly as 1 / sweeps; the result then keeps a rest of them.
    ``message``, ``pull`` (float64[n]): filled: precision of the message to each performance, and its pull at ``mu``,
    precision (mean - mu).
    Returns int: number of sweeps, each down and up; negative if the messages did not converge.
    """
    n, levels = len(mu), len(first) - 1
    prior, prior_pull, size = np.empty(n), np.empty(n), 0.0
    for j in range(n):
        at = mu[j] - mu[0]  # relative to the first rating: a common shift costs no digits
        size = max(size, abs(at))
        prior[j], prior_pull[j] = 1.0 / variance[j], at / variance[j]
    members = n if window > 0.0 else 0
    site, site_pull = np.full(members, 3.0 / (window * window)), np.zeros(members)  # a uniform law in the window
    later, to_members = MessageLaws(np.empty(members), np.empty(members)), MessageLaws(message, pull)
    priors, sites = MessageLaws(prior, prior_pull), MessageLaws(site, site_pull)
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
                    moved, own[g], own_pull[g] = _exchange(
                        first[g], first[g + 1], outer, outer_pull, priors, window, sharpen, step, size, sites, later,
                        to_members,
                    )  # fmt: skip
                    change = _larger(moved, change)
                k = g - 1 if upward else g
                if k < 0 or k == levels - 1:
                    continue
                p, q = own[k] + down[k], own_pull[k] + down_pull[k]
                r, s = own[k + 1] + up[k + 1], own_pull[k + 1] + up_pull[k + 1]
                cavity, cavity_pull = _sum(p, q, r, -s)
                moved, link[k], link_pull[k] = _truncate(
                    lo[first[k]] == lo[first[k + 1]], cavity, cavity_pull, gap[k], sharpen, step, size,
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
def _exchange(
    begin, end, outer, outer_pull, priors, window, sharpen, step, size, sites, later, to_members
):  # fmt: skip
    """Exchange messages between one level and its members ``begin`` to ``end - 1``, one after the other.

    A member receives the sum over all others: new messages of the members before it, old ones of those after it. No
    term is subtracted from a sum that contains it.

    Returns change, own, own_pull: largest movement of members (:func:`_truncate`); their common message to the level.
    """
    prior, prior_pull = priors
    site, site_pull = sites
    message, pull = to_members
    p, q = 0.0, 0.0
    for j in range(end - 1, begin - 1, -1):
        later.precision[j], later.pull[j] = p, q
        r, s = _sum(prior[j], prior_pull[j], site[j], -site_pull[j])
        p += r
        q += s
    p, q, change = 0.0, 0.0, 0.0
    for j in range(begin, end):
        level, level_pull = outer + p + later.precision[j], outer_pull + q + later.pull[j]
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

    Returns moved, site, site_pull: distance of the truncated law from the one of the old message, in standard
    deviations and relative to all ratings, so that rounding is not a movement; the new message.
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
