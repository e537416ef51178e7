"""The joint law of one player's skill at two moments, from smoothed beliefs and the gains of the smoother.

Source: Rauch, Tung and Striebel, "Maximum likelihood estimates of linear dynamic systems" (AIAA Journal 3, 1965).

With the variance v_f after a round, given it and the earlier ones, and the variance q added before the next one,
the gain is G = v_f / (v_f + q); with a reset that keeps the share c, it is c v_f / (c^2 v_f + q). Given all rounds, a
skill is C times a later one and an independent rest,

    s_i = C s_j + e,    C = G_i G_(i+1) ... G_(j-1),    Var(e) = v_i - C^2 v_j

so a sum of skills has a variance that is a sum of squares: it is never negative. Of a difference it is

    Var(s_j - s_i) = (v_i - C^2 v_j) + (1 - C)^2 v_j

Between two rounds no result is seen, and a skill is a Brownian bridge. Of the variance q = (v_k - G^2 v_(k+1)) / G
between them, time has added a share f until a moment, and the skill there is

    s = (1 - f) s_k + f (s_(k+1) - growth) + an independent rest of the variance q f (1 - f)

Growth and the drift of a round come with the next round. After the last round the mean stays, and time adds variance.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..core.beliefs import NEVER
from ..core.jit import exact
from ..core.standings import Floats
from ..inference.diffusion import practice_gain
from .params import Smoothing
from .recursion import include, step

_NO_GAIN = -2000.0  # logarithm of a gain through which nothing passes: its exponential is 0


class Path(NamedTuple):
    """The smoothed skills of one player, one entry a round in order of time.

    ``log_gain``: the logarithm of the product of the gains of all earlier rounds.
    """

    mean: Floats
    variance: Floats
    log_gain: Floats


class Moment(NamedTuple):
    """A moment on a path.

    ``row``: its last round.
    ``drifted``: the variance that time has added since then.
    ``growth``: of the mean, by the next round.
    """

    row: int
    drifted: float = 0.0
    growth: float = 0.0

    @classmethod
    def after(cls, row: int, days: float, participants: int, params: Smoothing) -> Moment:
        """So many days after the round ``row`` of a player; the next round has so many participants."""
        practice = max(0.0, 1.0 - 2.0 / participants) * params.practice
        growth: float = practice_gain.py_func(row + 1, practice, params.practice_rounds)
        return cls(row, params.drift_per_day * days, growth)


def mean_at(path: Path, moment: Moment) -> float:
    """Mean of the skill at a moment."""
    row, share = moment.row, _share(path, moment)
    mean = float(path.mean[row])
    return mean + share * (float(path.mean[row + 1]) - mean - moment.growth) if share > 0.0 else mean


def difference(path: Path, first: Moment, last: Moment) -> tuple[float, float]:
    """Mean and standard deviation of the skill at ``last`` less that at ``first``, an earlier moment."""
    f, g = _share(path, first), _share(path, last)
    if first.row == last.row:
        apart = (last.drifted - first.drifted) * (1.0 - (g - f))
    else:
        apart = first.drifted * (1.0 - f) + last.drifted * (1.0 - g)
    weights: dict[int, float] = {}
    for row, weight in ((first.row, f - 1.0), (first.row + 1, -f), (last.row, 1.0 - g), (last.row + 1, g)):
        if weight != 0.0:
            weights[row] = weights.get(row, 0.0) + weight
    return mean_at(path, last) - mean_at(path, first), math.sqrt(max(apart, 0.0) + _variance(path, weights))


def chance_higher(mean: float, deviation: float) -> float:
    """The chance that a normal variable is positive; one half if it is 0 for sure."""
    if deviation == 0.0:
        return 0.5 + 0.5 * ((mean > 0.0) - (mean < 0.0))
    return 0.5 * math.erfc(-mean / deviation / math.sqrt(2.0))


@exact
def log_gains(starts, order, round_of, precision, model, drift, variance, log_gain):
    """Write ``log_gain`` of all rows (:class:`Path`) of all players.

    ``precision`` (float64[rows]): of the observation that each row is.
    Other arguments: as for :func:`.chain.smooth_players`.
    """
    for i in range(len(starts) - 1):
        last, v, total = np.int64(NEVER), variance, 0.0
        for k in range(starts[i + 1] - starts[i]):
            row = order[starts[i] + k]
            r = round_of[row]
            scale, _, added = step(k, r, row, last, model, drift)
            before = scale * scale * v + added
            if scale == 1.0:
                total -= math.log1p(added / v)
            else:
                gain = scale * v / before
                total += math.log(gain) if gain > 0.0 else _NO_GAIN
            log_gain[row] = total
            v = include(0.0, before, 0.0, precision[row])[1]
            last = max(last, model.time[r])


def _share(path: Path, moment: Moment) -> float:
    """The share of the variance until the next round that time has added until a moment; 0 without a next round."""
    row = moment.row
    if row + 1 == len(path.mean) or moment.drifted == 0.0:
        return 0.0
    gain = math.exp(path.log_gain[row + 1] - path.log_gain[row])
    added = path.variance[row] - gain * gain * path.variance[row + 1]  # times 1 / gain
    return min(moment.drifted * gain / added, 1.0) if added > 0.0 else 0.0


def _variance(path: Path, weights: dict[int, float]) -> float:
    """The variance of a weighted sum of the skills of some rounds, as squares of independent rests."""
    rows, total, carried = sorted(weights), 0.0, 0.0
    for row, later in pairwise(rows):
        carried += weights[row]
        log = float(path.log_gain[later] - path.log_gain[row])
        rest = float(path.variance[row]) - math.exp(2.0 * log) * float(path.variance[later])
        total += carried * carried * max(rest, 0.0)
        carried *= math.exp(log)
    carried += weights[rows[-1]]
    return total + carried * carried * float(path.variance[rows[-1]])
