"""Two invariants of a rating round: a better place is not overtaken by a worse one and gains no less than one.

Source: Mirzayanov, "Open Codeforces Rating System" (codeforces.com/blog/entry/20762, October 2015), whose program
asserts both after every round. This module counts and reports violations. The first invariant is a theorem if needed
ratings are computed against the whole field in real numbers. The second is not: where the field falls into two
clusters of ratings, the needed rating hardly depends on the places between them.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import exact, inner_exact
from ..core.standings import Rounds
from ..core.system import Outcome

ROUNDING = 1e-9  # rating points: smaller differences are no violation


def invariant_violations(rounds: Rounds, outcome: Outcome) -> dict[str, int]:
    """Number of participations that violate each invariant.

    Let i have a better place than j. If i had the higher prior rating, i should not get the lower posterior rating. If
    i had the lower prior rating, i should not gain less. A participation i violates an invariant if it is violated
    against at least one j by more than rounding. O(n log n) a round.

    Returns dict of str to int: participations "overtaken by a lower place" and "gained less than a lower place".
    """
    overtaken, gained_less = _count_violations(rounds.offsets, rounds.hi, outcome.mu_prior, outcome.mu)
    return {"overtaken by a lower place": int(overtaken), "gained less than a lower place": int(gained_less)}


@inner_exact
def _count_dominated(order, hi, key, value):
    """Number of rows for which another row has a worse place, a smaller ``key`` and a larger ``value``.

    ``order`` sorts the rows by ``key``. The Fenwick tree ``largest`` holds the values of the rows before, by position
    from the bottom.
    """
    n = len(order)
    largest = np.full(n + 1, -math.inf)
    count = 0
    a = 0
    while a < n:
        b = a
        while b < n and (b == a or key[order[b]] == key[order[a]]):  # NaN equals nothing: the loop still ends
            at = n - 1 - hi[order[b]]
            worst = -math.inf
            while at > 0:
                worst = max(worst, largest[at])
                at -= at & -at
            count += worst > value[order[b]] + ROUNDING
            b += 1
        for k in range(a, b):
            at = n - order[k]
            while at <= n:
                largest[at] = max(largest[at], value[order[k]])
                at += at & -at
        a = b
    return count


@exact
def _count_violations(offsets, hi, before, after):
    overtaken, gained_less = 0, 0
    for r in range(len(offsets) - 1):
        i, j = offsets[r], offsets[r + 1]
        order = np.argsort(before[i:j])
        overtaken += _count_dominated(order, hi[i:j], before[i:j], after[i:j])
        gained_less += _count_dominated(order[::-1], hi[i:j], before[i:j], after[i:j] - before[i:j])
    return overtaken, gained_less
