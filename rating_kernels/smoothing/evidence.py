"""Evidence for hyperparameters: how probable performances are under the model of smoothing, with derivatives.

Source: Schweppe, "Evaluation of likelihood functions for Gaussian signals" (IEEE Transactions on Information Theory 11,
1965); derivatives through the filter and Fisher's information as in Gupta and Mehra, "Computational aspects of maximum
likelihood estimation and reduction in sensitivity function calculations" (IEEE Transactions on Automatic Control 19,
1974).

The filter of a player predicts each performance from the earlier ones. With its mean m and variance v before the round,

    e = perf - m - level,    s = v + beta^2 / w,    log evidence = -1/2 sum of log s + e^2 / s

The level of a round is free, linear between a few rounds, the nodes: ranks determine differences within a round only.
With h = m + level, all derivatives follow from one forward pass:

    score        sum of 1/2 ds (e^2 / s - 1) / s + dh e / s
    information  sum of 1/2 ds ds' / s^2 + dh dh' / s
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..core.beliefs import NEVER, Map
from ..core.jit import exact
from ..core.standings import Floats, Longs
from ..inference.diffusion import elapsed_days, practice_gain
from .common_level import between_nodes, sum_players
from .recursion import NO_RESETS, PlayerRows, RoundModel, Transitions

BETA2, GAMMA2, DRIFT, SIGMA2, PRACTICE = range(5)  # places in the vector of hyperparameters; levels follow
LEVELS = 5
LEAST = 30  # participants of a round: in smaller ones a performance depends too much on single opponents


@dataclass(frozen=True, slots=True)
class Slope:
    """The evidence at one point.

    ``value``: logarithm of the evidence, up to a constant.
    ``score`` (float64[p]): its derivatives.
    ``information`` (float64[p, p]): fisher's information: the expected negative second derivatives.
    """

    value: float
    score: Floats
    information: Floats


class Evidence:
    """The evidence of the performances in rounds of at least :data:`LEAST` participants.

    ``rows``, ``model``: as :func:`.chain.smooth_players` takes them.
    ``sizes`` (int64[rounds]): participants.
    ``shown`` (float64[rounds]): weights of performances (:class:`.rounds.RoundNoise`).
    ``perf`` (float64[n]): performances, less ``mu_init``.
    ``resets``: those between the rounds, as they are; what they add to variances does not follow the point.
    ``spread``: standard deviation of a node's level around 0, rating points: where no results determine a level, this
    does.
    ``size``: length of a point: beta^2, gamma^2, drift_per_day, sigma_init^2, practice, and the levels of the nodes.
    Raises ValueError: no round is large enough.
    """

    def __init__(
        self, sizes: Longs, rows: PlayerRows, model: RoundModel, shown: Floats, perf: Floats, practice_rounds: float,
        spread: float, map: Map, resets: Transitions = NO_RESETS,
    ) -> None:  # fmt: skip
        self._players, self._perf, self._map = (rows, model, shown, resets), perf, map
        self._observed = sizes >= LEAST
        if not self._observed.any():
            raise ValueError(
                f"hyperparameters are estimated from rounds of at least {LEAST} participants, the largest has "
                f"{max(sizes, default=0)}; one performance in a small round depends on its opponents too much"
            )
        nodes, self._node, self._share = between_nodes(len(sizes))
        self._practice_rounds, self._precision = practice_rounds, spread**-2.0
        self.size = LEVELS + nodes + 1

    def at(self, point: Floats) -> Slope:
        """The evidence, its derivatives and the information at a point; float64[:attr:`size`]."""
        size = self.size

        def add(first: int, last: int, sums: Floats) -> None:
            _add_evidence(
                first, last, *self._players, self._observed, self._node, self._share, self._practice_rounds, point,
                self._perf, sums,
            )  # fmt: skip

        total = sum_players(self._players[0].starts, size + 1, add, self._map)
        levels = np.arange(size) >= LEVELS
        pull = np.where(levels, self._precision * point, 0.0)
        information = np.tril(total[:size, :size]) + np.tril(total[:size, :size], -1).T
        information += np.diag(np.where(levels, self._precision, 0.0))
        return Slope(float(total[size, size] - 0.5 * (pull @ point)), total[size, :size] - pull, information)


@exact
def _add_evidence(
    start, stop, rows, model, shown, resets, observed, node, fraction, practice_rounds, point, perf, sums
):  # fmt: skip
    """Add information (lower triangle), score (last row) and value (last element) of players ``start`` to ``stop - 1``.

    Round r has the share ``1 - fraction[r]`` of the level of node ``node[r]`` and the rest of the next node.
    """
    (starts, order, round_of), (time, weight, share, _) = rows, model
    size = len(point)
    beta2, gamma2, drift, practice = point[BETA2], point[GAMMA2], point[DRIFT], point[PRACTICE]
    d_mean, d_variance, d_spread = np.empty(size), np.empty(PRACTICE), np.empty(PRACTICE)
    for i in range(start, stop):
        first, n = starts[i], starts[i + 1] - starts[i]
        m, v, last = 0.0, point[SIGMA2], np.int64(NEVER)
        for a in range(size):
            d_mean[a] = 0.0
        for a in range(PRACTICE):
            d_variance[a] = 0.0
        d_variance[SIGMA2] = 1.0
        for k in range(n):
            row = order[first + k]
            r = round_of[row]
            if k > 0:
                growth, days = practice_gain(k, share[r], practice_rounds), elapsed_days(time[r], last)
                if len(resets.scale) > 0:
                    factor = resets.scale[row]
                    m = factor * m + resets.growth[row]
                    v = factor * factor * v + resets.added[row]
                    for a in range(size):
                        d_mean[a] *= factor
                    for a in range(PRACTICE):
                        d_variance[a] *= factor * factor
                m += practice * growth
                v += gamma2 * weight[r] + drift * days
                d_mean[PRACTICE] += growth
                d_variance[GAMMA2] += weight[r]
                d_variance[DRIFT] += days
            last = max(last, time[r])
            if not observed[r]:
                continue
            at, near, far = LEVELS + node[r], 1.0 - fraction[r], fraction[r]
            s = v + beta2 / shown[r]
            e = perf[row] - m - near * point[at] - far * point[at + 1]
            d_mean[at] += near  # until the end of the round: derivatives of the expected performance
            d_mean[at + 1] += far
            for a in range(PRACTICE):
                d_spread[a] = d_variance[a]
            d_spread[BETA2] += 1.0 / shown[r]
            sums[size, size] -= 0.5 * (math.log(s) + e * e / s)
            for a in range(size):
                sums[size, a] += d_mean[a] * e / s
                for b in range(a + 1):
                    sums[a, b] += d_mean[a] * d_mean[b] / s
            for a in range(PRACTICE):
                sums[size, a] += 0.5 * d_spread[a] * (e * e / s - 1.0) / s
                for b in range(a + 1):
                    sums[a, b] += 0.5 * d_spread[a] * d_spread[b] / (s * s)
            gain = v / s
            for a in range(size):
                d_mean[a] *= 1.0 - gain
            for a in range(PRACTICE):
                d_mean[a] += (d_variance[a] - gain * d_spread[a]) * e / s
                d_variance[a] *= (1.0 - gain) ** 2
            d_variance[BETA2] += gain * gain / shown[r]
            d_mean[at] -= near
            d_mean[at + 1] -= far
            m += gain * e
            v *= 1.0 - gain
