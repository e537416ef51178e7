"""Teams: the law of a team's performance, and what the performance says about each member.

The model is this project's; it answers the challenge that Ebtekar and Liu leave open (arXiv:2101.00400, section 7). A
member k has a skill N(mu_k, sigma_k^2) and a noise of variance beta_k^2. A team performs at the weighted sum of its
members, with weights w_k that add up to 1:

    mean        M = sum w_k mu_k
    skill       V = sum w_k^2 sigma_k^2
    noise       B^2 = sum w_k beta_k^2    the team has one noise, like a player; or
                B^2 = sum w_k^2 beta_k^2  each member has a noise of its own

The weights are the given shares. Or the team is as good as the level R that beats all its members at once half of the
time, prod_k 1 / (1 + 10^((mu_k - R) / 400)) = 1/2; then M = R, and the weights are the slopes of R, in proportion to
the probabilities 1 / (1 + 10^((R - mu_k) / 400)): a strong member explains the result and is moved by it.

A round is a round of teams, each one row of the field. Given a team's performance p, a member has shown

    q_k = mu_k + (p - M) / w_k    with the noise    b_k^2 = (B^2 + sum_(j != k) w_j^2 sigma_j^2) / w_k^2

With normal laws these are exactly the marginals of the joint posterior.

Systems whose papers have teams add the skills up (:func:`sum_members`): w_k = m share_k / sum_j share_j, which is 1 for
each of m members without shares, and each member has a noise of its own.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ...core.jit import exact, inner_exact
from ...core.numerics import exp, log1p
from ...core.standings import Floats

_LEAST = 2.0**-60  # weight of a member: below it a result moves the member by less than rounding
_RATE = math.log(10.0) / 400.0
_CONVERGED = 1e-8  # of 1 / _RATE: Newton's next error is at most the square of its last step
_STEPS = 200


@inner_exact
def _level(start, stop, mu):
    """R of ``mu[start:stop]``: the zero of sum ln(1 + 10^((mu_k - R) / 400)) - ln 2.

    The sum falls with R and is convex, so Newton's method rises to the zero from the best member's ``mu`` on.
    """
    found = mu[start]
    for k in range(start, stop):
        found = max(found, mu[k])
    for _ in range(_STEPS):
        value, slope = 0.0, 0.0
        for k in range(start, stop):
            odds = exp((mu[k] - found) * _RATE)
            value += log1p(odds)
            slope += odds / (1.0 + odds)
        step = (value - math.log(2.0)) / slope
        found += step / _RATE
        if step <= _CONVERGED:
            break
    return found


class Members(NamedTuple):
    """The members of teams before a round, one row each: skills N(mu, sigma^2), and deviations of their noises."""

    mu: Floats
    sigma: Floats
    beta: Floats


@exact
def describe_teams(start, stop, teams, best, apart, members, laws):
    """Write the laws of teams ``start`` to ``stop - 1``, and the weight of each of their members.

    ``teams``: the shares of each team's members.
    ``best``: the weights come from the members' skills, not from the shares.
    ``apart``: each member has a noise of its own.
    ``members``: their beliefs and noises. ``laws``: written. A team of one has the law of its member, to the bit.
    """
    mu, sigma, beta = members
    for t in range(start, stop):
        i, j = teams.offsets[t], teams.offsets[t + 1]
        if j - i == 1:
            _copy_law(t, i, members, laws)
            continue
        found = _level(i, j, mu) if best else 0.0
        total = 0.0
        for k in range(i, j):
            if best:
                odds = exp((mu[k] - found) * _RATE)
                laws.weight[k] = odds / (1.0 + odds)
            else:
                laws.weight[k] = teams.values[k]
            total += laws.weight[k]
        centre, skill, noise = 0.0, 0.0, 0.0
        for k in range(i, j):
            w = max(laws.weight[k] / total, _LEAST)
            laws.weight[k] = w
            centre += w * (mu[k] - mu[i])
            skill += w * w * sigma[k] * sigma[k]
            noise += (w * w if apart else w) * beta[k] * beta[k]
        laws.mu[t] = found if best else mu[i] + centre
        laws.sigma[t], laws.beta[t] = math.sqrt(skill), math.sqrt(noise)


@exact
def sum_members(start, stop, teams, members, laws):
    """As :func:`describe_teams`, for teams whose skill and noise are the sums over their members."""
    mu, sigma, beta = members
    for t in range(start, stop):
        i, j = teams.offsets[t], teams.offsets[t + 1]
        if j - i == 1:
            _copy_law(t, i, members, laws)
            continue
        total = 0.0
        for k in range(i, j):
            total += teams.values[k]
        centre, skill, noise = 0.0, 0.0, 0.0
        for k in range(i, j):
            w = max(teams.values[k] / total, _LEAST) * (j - i)
            laws.weight[k] = w
            centre += w * mu[k]
            skill += w * w * sigma[k] * sigma[k]
            noise += w * w * beta[k] * beta[k]
        laws.mu[t], laws.sigma[t], laws.beta[t] = centre, math.sqrt(skill), math.sqrt(noise)


@inner_exact
def _copy_law(t, i, members, laws):
    """Write the law of a team of one, member ``i``."""
    laws.weight[i] = 1.0
    laws.mu[t], laws.sigma[t], laws.beta[t] = members.mu[i], members.sigma[i], members.beta[i]


@exact
def credit_members(start, stop, bounds, own, members, laws, team_perf, perf):
    """Write what the performances of teams ``start`` to ``stop - 1`` say about each member.

    ``perf`` receives q_k, and ``members.beta`` b_k in place of each member's noise; all in rating points. With ``own``
    the performance of each member is that of the team, and its noise stays. ``team_perf`` begins with team ``start``.
    """
    for t in range(start, stop):
        i, j = bounds[t], bounds[t + 1]
        if own or j - i == 1:
            for k in range(i, j):
                perf[k] = team_perf[t - start]
            continue
        write_noises(i, j, laws.weight, members.sigma, laws.beta[t], perf[i:j], members.beta)
        surprise = team_perf[t - start] - laws.mu[t]
        for k in range(i, j):
            perf[k] = members.mu[k] + surprise / laws.weight[k]


@inner_exact
def write_noises(i, j, weight, sigma, team_beta, behind, beta):
    """Write b_k, the noise of members ``i`` to ``j - 1`` of one team, to ``beta``; ``behind`` is scratch for each.

    The variances of the other members are added up from both ends: nothing is subtracted.
    """
    others = 0.0
    for k in range(j - 1, i - 1, -1):
        behind[k - i] = others
        others += (weight[k] * sigma[k]) ** 2
    others = team_beta * team_beta
    for k in range(i, j):
        beta[k] = math.sqrt(others + behind[k - i]) / weight[k]
        others += (weight[k] * sigma[k]) ** 2
