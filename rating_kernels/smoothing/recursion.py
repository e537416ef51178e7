"""Forward and backward messages of one player: the information of all other rounds about the skill at each round.

Source: Rauch, Tung and Striebel, "Maximum likelihood estimates of linear dynamic systems" (AIAA Journal 3, 1965), with
the backward pass in information form (Fraser and Potter, "The optimum linear smoother as a combination of two optimum
linear filters", IEEE Transactions on Automatic Control 14, 1969).

A skill is a random walk: before round k its mean grows by ``growth[k]`` and its variance by ``added[k]``. Round k
observes it with precision ``precision[k]`` as ``perf[k]``. The forward pass gives the belief before each round, the
backward pass the information of all later ones. Both together give the cavity: the belief without the round itself.

    1 / v_c = 1 / v_f + lambda,    m_c = v_c (m_f / v_f + eta)

All terms are positive: nothing cancels. Means are relative to the mean skill of newcomers.
"""

from __future__ import annotations

from ..core.jit import exact, inner_exact
from ..inference.diffusion import elapsed_days, practice_gain

__all__ = ["include", "smooth_player", "step"]


@inner_exact
def step(k, time, last, weight, share, gamma2, drift, practice, practice_rounds):
    """Growth of the mean and of the variance of a skill before its round ``k``, given the time of the last one."""
    if k == 0:
        return 0.0, 0.0
    return practice_gain(k, share * practice, practice_rounds), gamma2 * weight + drift * elapsed_days(time, last)


@inner_exact
def include(mean, variance, perf, precision):
    """The belief that also includes an observation: its mean and variance."""
    shrink = 1.0 / (1.0 + variance * precision)
    return mean + variance * precision * shrink * (perf - mean), variance * shrink


@exact
def smooth_player(n, variance, perf, precision, growth, added, forward_mean, forward_variance, mean, cavity_variance):
    """Write the forward beliefs and the cavities of ``n`` rounds of one player.

    Parameters
    ----------
    variance : float
        Of a newcomer's skill, whose mean is 0.
    perf, precision, growth, added : float64[>= n]
        Observations and drift; ``growth[0]`` and ``added[0]`` are not read.
    forward_mean, forward_variance : float64[>= n]
        The belief before each round, given the earlier ones.
    mean, cavity_variance : float64[>= n]
        The belief given all other rounds.
    """
    m, v = 0.0, variance
    for k in range(n):
        if k > 0:
            m += growth[k]
            v += added[k]
        forward_mean[k], forward_variance[k] = m, v
        m, v = include(m, v, perf[k], precision[k])
    information, pull = 0.0, 0.0
    for k in range(n - 1, -1, -1):
        v = forward_variance[k] / (1.0 + forward_variance[k] * information)
        mean[k] = v * (forward_mean[k] / forward_variance[k] + pull)
        cavity_variance[k] = v
        information += precision[k]
        pull += precision[k] * perf[k]
        kept = 1.0 / (1.0 + added[k] * information)
        information *= kept
        pull = pull * kept - information * growth[k]
