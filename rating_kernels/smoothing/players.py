"""The cavities of many players, from the performances of all rounds."""

from __future__ import annotations

import numpy as np

from ..core.beliefs import NEVER
from ..core.jit import exact
from ..inference.skewed import sides
from .chain import SCRATCH, smooth_chain
from .recursion import step

__all__ = ["smooth_players"]


@exact
def smooth_players(
    start, stop, starts, order, round_of, time, weight, share, spread, members, shown_weight, gamma2, drift, practice,
    practice_rounds, beta, skew, normal, variance, common, shift, perf, mean, cavity_variance,
):  # fmt: skip
    """Write the cavities of all participations of players ``start`` to ``stop - 1``.

    The rows of player i, in time order, are ``order[starts[i]:starts[i + 1]]``; ``round_of`` is the round of a row.
    ``shown_weight`` is the weight of each performance: one a round, or with ``members`` of teams one a row.
    With ``common``, the means grow by those that all performances of a round r equal to ``shift[r]`` would give to
    skills without practice: for normal performances a cavity is linear in them, so this is its change if all of a round
    change alike. For skewed ones it is about that.

    Returns
    -------
    int
        -1, or the first player whose skills were not found.
    """
    longest = 0
    for i in range(start, stop):
        longest = max(longest, starts[i + 1] - starts[i])
    shown, precision, growth, added = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)
    forward, forward_variance = np.empty(longest), np.empty(longest)
    cavity, uncertainty = np.empty(longest), np.empty(longest)
    laws, work = np.empty((4, longest)), np.empty((SCRATCH, longest))
    skewed = (skew > 1.0 or not normal) and not common
    for i in range(start, stop):
        first, n = starts[i], starts[i + 1] - starts[i]
        last = np.int64(NEVER)
        for k in range(n):
            row = order[first + k]
            r = round_of[row]
            observed = shown_weight[row if members else r]
            precision[k] = observed / spread[r]
            growth[k], added[k] = step(k, time[r], last, weight[r], share[r], gamma2, drift, practice, practice_rounds)
            if common:
                growth[k] = 0.0
            if skewed:
                laws[0, k], laws[1, k], laws[2, k], laws[3, k] = sides(observed, share[r], beta, skew, normal)
            shown[k] = shift[r] if common else perf[row]
            last = max(last, time[r])
        if not smooth_chain(
            n, variance, shown, precision, growth, added, skewed, skew, laws, forward, forward_variance, work, cavity,
            uncertainty,
        ):  # fmt: skip
            return i
        for k in range(n):
            row = order[first + k]
            if common:
                mean[row] += cavity[k]
            else:
                mean[row], cavity_variance[row] = cavity[k], uncertainty[k]
    return -1
