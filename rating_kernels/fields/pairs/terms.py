"""Terms that depend on the ratings and the uncertainties of two players, and their direct sums.

With v = variance_i + variance_j, z = (mu_i - mu_j) / sqrt(v) and p the standard logistic function, the kinds are

    normal      Phi(-z)            spread2     p(z) (1 - p(z)) / v
    logistic    p(z) / sqrt(v)     spread3     p(z) (1 - p(z)) / v^(3/2)

Normal: the probability that j performs better than i if both performances have a normal error.
"""

from __future__ import annotations

import math

from ...core.jit import exact, inner_exact, inner_kernel, kernel
from ...core.numerics import exp, upper_hazard

NORMAL, LOGISTIC, SPREAD2, SPREAD3 = range(4)
KINDS = {"normal": NORMAL, "logistic": LOGISTIC, "spread2": SPREAD2, "spread3": SPREAD3}

_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)  # of the standard normal law at 0


@inner_exact
def term(code, d, v):
    """A pair's term for the player with the rating higher by ``d``."""
    root = math.sqrt(v)
    z = min(abs(d) / root, 1000.0)
    if code == NORMAL:
        lower = _DENSITY * exp(-0.5 * z * z) / upper_hazard(z)
        return lower if d >= 0.0 else 1.0 - lower
    e = exp(-z)
    q = 1.0 / (1.0 + e)
    if code == LOGISTIC:
        return (q if d >= 0.0 else e * q) / root
    return e * q * q / v if code != SPREAD3 else e * q * q / (v * root)


@inner_exact
def limit(code, v):
    """Sum of a pair's two terms; if the ratings are far apart, one term is the limit and the other 0."""
    return 1.0 if code == NORMAL else 1.0 / math.sqrt(v)


@kernel
def direct_sums(code, start, stop, mu, variance, weight, sums):
    """Write the sums of players ``start`` to ``stop - 1`` over all players, term by term, for small rounds."""
    for i in range(start, stop):
        total = 0.0
        m, v = mu[i], variance[i]
        if code == 0:
            for j in range(len(mu)):
                total += weight[j] * term(0, m - mu[j], v + variance[j])
        elif code == 1:
            for j in range(len(mu)):
                total += weight[j] * term(1, m - mu[j], v + variance[j])
        elif code == 2:
            for j in range(len(mu)):
                total += weight[j] * term(2, m - mu[j], v + variance[j])
        else:
            for j in range(len(mu)):
                total += weight[j] * term(3, m - mu[j], v + variance[j])
        sums[i] = total


@inner_kernel
def _some(code, m, v, mu, variance, weight, cut, begin, end):
    total = 0.0
    for j in range(begin, end):
        own = weight[j] * term(code, m - mu[j], v + variance[j])
        total += own if max(v, variance[j]) >= cut else 0.0
    return total


@exact
def add_near(code, start, stop, mu, variance, weight, cut, near, sums):
    """Add, term by term, sums over players ``near[i, 0]:near[i, 1]`` to the sums of players ``start`` to ``stop - 1``.

    Pairs of two sharp players are omitted.
    """
    for i in range(start, stop):
        m, v, begin, end = mu[i], variance[i], near[i, 0], near[i, 1]
        if code == 0:
            sums[i] += _some(0, m, v, mu, variance, weight, cut, begin, end)
        elif code == 1:
            sums[i] += _some(1, m, v, mu, variance, weight, cut, begin, end)
        elif code == 2:
            sums[i] += _some(2, m, v, mu, variance, weight, cut, begin, end)
        else:
            sums[i] += _some(3, m, v, mu, variance, weight, cut, begin, end)
