"""The cavities of many players, from the performances of all rounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.beliefs import NEVER
from ..core.jit import exact
from ..core.standings import Floats
from ..inference.skewed import sides
from .chain import SCRATCH, smooth_chain
from .recursion import Observations, Skills, step


class ShownWeights(NamedTuple):
    """The weight of each performance: one a round, or with ``members`` of teams one a row."""

    members: bool
    weight: Floats


@exact
def smooth_players(
    start, stop, rows, model, weights, drift, law, variance, common, shift, perf, cavities
):  # fmt: skip
    """Write the cavities of all participations of players ``start`` to ``stop - 1``.

    With ``common``, the means grow by those that all performances of a round r equal to ``shift[r]`` would give to
    skills without practice: for normal performances a cavity is linear in them, so this is its change if all of a round
    change alike. For skewed ones it is about that.

    Returns int: -1, or the first player whose skills were not found.
    """
    starts, order, round_of = rows
    mean, cavity_variance = cavities
    longest = 0
    for i in range(start, stop):
        longest = max(longest, starts[i + 1] - starts[i])
    shown, precision, growth, added = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)
    forward, cavity = Skills(np.empty(longest), np.empty(longest)), Skills(np.empty(longest), np.empty(longest))
    observations = Observations(shown, precision, growth, added)
    laws, work = np.empty((4, longest)), np.empty((SCRATCH, longest))
    skewed = (law.skew > 1.0 or not law.normal) and not common
    for i in range(start, stop):
        first, n = starts[i], starts[i + 1] - starts[i]
        last = np.int64(NEVER)
        for k in range(n):
            row = order[first + k]
            r = round_of[row]
            observed = weights.weight[row if weights.members else r]
            precision[k] = observed / model.spread[r]
            growth[k], added[k] = step(k, r, last, model, drift)
            if common:
                growth[k] = 0.0
            if skewed:
                laws[0, k], laws[1, k], laws[2, k], laws[3, k] = sides(observed, model.share[r], law)
            shown[k] = shift[r] if common else perf[row]
            last = max(last, model.time[r])
        if not smooth_chain(n, variance, observations, skewed, law.skew, laws, forward, work, cavity):
            return i
        for k in range(n):
            row = order[first + k]
            if common:
                mean[row] += cavity.mean[k]
            else:
                mean[row], cavity_variance[row] = cavity.mean[k], cavity.variance[k]
    return -1
