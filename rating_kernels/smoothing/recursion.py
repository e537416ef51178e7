"""Forward and backward messages of one player: the information of all other rounds about the skill at each round.

Source: Rauch, Tung and Striebel, "Maximum likelihood estimates of linear dynamic systems" (AIAA Journal 3, 1965), with
the backward pass in information form (Fraser and Potter, "The optimum linear smoother as a combination of two optimum
linear filters", IEEE Transactions on Automatic Control 14, 1969).

A skill is a random walk: before round k its mean grows by ``growth[k]`` and its variance by ``added[k]``; where a reset
lies between two rounds (:mod:`.transitions`), the skill is first multiplied by ``scale[k]``. Round k observes it with
precision ``precision[k]`` as ``perf[k]``. The forward pass gives the belief before each round, the backward pass the
information of all later ones. Both together give the cavity: the belief without the round itself.

    1 / v_c = 1 / v_f + lambda,    m_c = v_c (m_f / v_f + eta)

All terms are positive: nothing cancels. Means are relative to the mean skill of newcomers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.jit import exact, inner_exact
from ..core.standings import Floats, Ints, Longs
from ..inference.diffusion import elapsed_days, practice_gain


class PlayerRows(NamedTuple):
    """The rows of each player in time order: ``order[starts[i]:starts[i + 1]]``; and the round of each row."""

    starts: Longs
    order: Ints | Longs
    round_of: Ints


class RoundModel(NamedTuple):
    """What the model knows about each round.

    ``time`` (int64[rounds]).
    ``weight`` (float64[rounds]).
    ``share`` (float64[rounds]): of practice and skew: 1 - 2 / N in a round of N participants.
    ``spread`` (float64[rounds]): variance of a performance in a round of weight 1.
    """

    time: Longs
    weight: Floats
    share: Floats
    spread: Floats


_NONE = np.empty(0)


class Transitions(NamedTuple):
    """Changes of skills by the resets before each row; empty if there are no resets (:mod:`.transitions`).

    ``scale``, ``growth``, ``added`` (float64[n]): factor on the skill, then growth of mean and variance.
    """

    scale: Floats
    growth: Floats
    added: Floats


NO_RESETS = Transitions(_NONE, _NONE, _NONE)


class Drift(NamedTuple):
    """Changes of skills between rounds: variance of a round of weight 1 and of a day; growth of the mean; resets."""

    gamma2: float
    daily: float
    practice: float
    practice_rounds: float
    resets: Transitions = NO_RESETS


class Observations(NamedTuple):
    """What a player's rounds show, and how the skill changes before each; an empty ``scale`` is 1 everywhere."""

    perf: Floats
    precision: Floats
    growth: Floats
    added: Floats
    scale: Floats = _NONE


class Skills(NamedTuple):
    """Means and variances of beliefs about skills, one a row."""

    mean: Floats
    variance: Floats


@inner_exact
def step(k, r, row, last, model, drift):
    """Factor on a skill, then growth of its mean and variance, before a player's round ``k`` after time ``last``.

    That is round ``r``, in which the player has the row ``row``.
    """
    if k == 0:
        return 1.0, 0.0, 0.0
    growth = practice_gain(k, model.share[r] * drift.practice, drift.practice_rounds)
    added = drift.gamma2 * model.weight[r] + drift.daily * elapsed_days(model.time[r], last)
    resets = drift.resets
    if len(resets.scale) == 0:
        return 1.0, growth, added
    return resets.scale[row], growth + resets.growth[row], added + resets.added[row]


@inner_exact
def include(mean, variance, perf, precision):
    """The belief that also includes an observation: its mean and variance."""
    shrink = 1.0 / (1.0 + variance * precision)
    return mean + variance * precision * shrink * (perf - mean), variance * shrink


@exact
def smooth_player(n, variance, shown, forward, cavity):
    """Write the forward beliefs and the cavities of ``n`` rounds of one player.

    ``variance``: of a newcomer's skill, whose mean is 0.
    ``shown``: at least ``n``; the first ``growth``, ``added`` and ``scale`` are not read.
    ``forward``: before each round, given the earlier ones.
    ``cavity``: given all other rounds.
    """
    perf, precision, growth, added, scale = shown
    forward_mean, forward_variance = forward
    m, v = 0.0, variance
    for k in range(n):
        if k > 0:
            a = scale[k] if len(scale) > 0 else 1.0
            m = a * m + growth[k]
            v = a * a * v + added[k]
        forward_mean[k], forward_variance[k] = m, v
        m, v = include(m, v, perf[k], precision[k])
    information, pull = 0.0, 0.0
    for k in range(n - 1, -1, -1):
        v = forward_variance[k] / (1.0 + forward_variance[k] * information)
        cavity.mean[k] = v * (forward_mean[k] / forward_variance[k] + pull)
        cavity.variance[k] = v
        information += precision[k]
        pull += precision[k] * perf[k]
        kept, a = 1.0 / (1.0 + added[k] * information), scale[k] if len(scale) > 0 else 1.0
        information *= kept
        pull = a * (pull * kept - information * growth[k])
        information *= a * a
