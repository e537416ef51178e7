"""Two promises that a rating owes its players: whom one beats one is not overtaken by, nor do they gain more.

Source: Mirzayanov, "Open Codeforces Rating System" (codeforces.com/blog/entry/20762, October 2015), whose program
asserts both after every round. Here they are counted and reported. The second is no theorem of the rule: where the
field falls into two camps, the rating that a place asks for hardly depends on the place in between. The first is one if
needs are measured against the whole field, in real numbers.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import exact, inner_exact
from ..core.standings import Rounds
from ..core.system import Outcome

__all__ = ["promises"]

ROUNDING = 1e-9  # rating points: a promise broken by less is kept


def promises(rounds: Rounds, outcome: Outcome) -> dict[str, int]:
    """How many participations of some rounds are let down by the result.

    Let i have a better place than j, not the same. If i came with the higher rating, i should not leave with the lower
    one; if i came with the lower rating, i should not gain less. Counted are those i for whom the first or the second
    is broken, against one j or more, by more than rounding. O(n log n) a round.

    Returns
    -------
    dict of str to int
        Participations "overtaken by the beaten" and "outgained by the beaten".
    """
    overtaken, outgained = _count_broken(rounds.offsets, rounds.hi, outcome.mu_prior, outcome.mu)
    return {"overtaken by the beaten": int(overtaken), "outgained by the beaten": int(outgained)}


@inner_exact
def _let_down(order, hi, key, value):
    """For how many rows there is one with a worse place and a smaller ``key``, but a larger ``value``.

    Rows come in the order of ``key``. The Fenwick tree ``largest`` holds the values of those that came before, by
    position from the bottom.
    """
    n = len(order)
    largest = np.full(n + 1, -math.inf)
    count = 0
    a = 0
    while a < n:
        b = a
        while b < n and (b == a or key[order[b]] == key[order[a]]):  # NaN equals nothing: still an end
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
def _count_broken(offsets, hi, before, after):
    overtaken, outgained = 0, 0
    for r in range(len(offsets) - 1):
        i, j = offsets[r], offsets[r + 1]
        order = np.argsort(before[i:j])
        overtaken += _let_down(order, hi[i:j], before[i:j], after[i:j])
        outgained += _let_down(order[::-1], hi[i:j], before[i:j], after[i:j] - before[i:j])
    return overtaken, outgained
