"""The sums of :mod:`.field` term by term, for fields too small to tabulate."""

from __future__ import annotations

from ..core.jit import exact, inner_kernel
from ..core.numerics import exp

DIRECT = 96  # terms up to which summing them one by one is faster than a table


@inner_kernel
def direct_sum(p, side, mu, rate, weight, start, stop):
    """``S(p)`` (``side`` +1) or ``M(p)`` (-1) of terms ``start`` to ``stop - 1``.

    Returns whole, rest, slope: the sum in two parts, the limits of all terms and the deviations from them: in a gap of
    the field the limits may cancel against other weights, and the rest is decisive.
    """
    whole = 0.0
    rest = 0.0
    slope = 0.0
    for j in range(start, stop):
        z = side * (p - mu[j]) * rate[j]
        e = exp(-abs(z))
        near = weight[j] / (1.0 + e)
        far = near * e
        counts = 1.0 if z < 0.0 else 0.0
        whole += weight[j] * counts
        rest += far * (1.0 - 2.0 * counts)
        slope += rate[j] * far / (1.0 + e)
    return whole, rest, -side * slope


@inner_kernel
def _direct_sums(p, mu, rate, weight):
    above = 0.0
    below = 0.0
    slope = 0.0
    for j in range(len(mu)):
        z = (p - mu[j]) * rate[j]
        e = exp(-abs(z))
        near = weight[j] / (1.0 + e)
        far = near * e
        above += far if z >= 0.0 else near
        below += near if z >= 0.0 else far
        slope -= rate[j] * near * e / (1.0 + e)
    return above, below, slope


@exact
def direct_sums(start, stop, at, mu, rate, weight, above, below, slope):
    """The result of :func:`read_table`, term by term."""
    for i in range(start, stop):
        above[i], below[i], slope[i] = _direct_sums(at[i], mu, rate, weight)
