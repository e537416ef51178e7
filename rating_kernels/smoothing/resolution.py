"""Places that show a share of a performance: the variances of the cavities.

Source: this project; the view is that of expectation propagation (Minka, "Expectation propagation for approximate
Bayesian inference", UAI 2001). With ``resolution="rank"`` a place in a round of N shows the share
rho = (N - 1) / (N + 1) of the variance of a performance. A performance p changes the mean of a belief of variance v as
an exact one would, and its variance to

    v - rho v^2 / (v + b^2)

with the variance b^2 of the noise. The normal observation that does this to a cavity has the precision and the value

    lambda = rho / (b^2 + (1 - rho) v_c),    q = m_c + (m_s - m_c) (v_c + b^2) / (rho v_c)

where m_s is the mean after it. With the force g(s - p) of the law of p, m_s = m_c - v_c g(m_s - p), and so

    lambda (m_s - q) = g(m_s - p)

At the fixed point of all messages of a player the means m_s are therefore the mode of the skills given the
performances, whatever rho is: the recursions of :mod:`.chain` find it. The cavities have the variances that follow from
the lambda of all other rounds, and the means

    m_c = m_s + v_c g(m_s - p)

Leaving a round out removes its pull, by so much as its skill gives way to it. A performance moves with its cavity: in
a round of equals the slope is kappa = 2 / (N + 1) with ties full, and 1 / N with ties split, the share of the own term
in the field's sum. The pull (p - m_c) / (v_c + b^2) therefore changes with m_c as that of a normal observation with the
precision (1 - kappa) / (b^2 + kappa v_c). With ties full kappa is 1 - rho, and this is lambda. With ties split it is
not, and the means of cavities are those for the variances from 1 - kappa instead of rho; with rho they may diverge.

The cavities for rho = 1 have narrower variances v_e, and means nearer to p. A sweep must not take the whole way from
these: it takes the share 1 / (1 + e) with e = (v_c - v_e) / (v_e + b^2). For normal noise that is

    m_c' = m_e + (m_c - p) (v_c - v_e) / (v_c + b^2)

with the mean m_e for rho = 1. If all of a round shift alike, p - m_c stays, and sweeps are those for rho = 1.

No lambda depends on a result, so the variances are found before the first sweep. A cavity's v_c falls as the other
lambda grow, and lambda grows as v_c falls: from no observations at all, the iteration decreases everywhere, to a fixed
point. Variances of members of teams depend on those of their partners, and decrease in the same iteration.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core.standings import Floats
from ..core.system import ConvergenceError

_SETTLED = 1e-10  # of a variance
_STEPS = 1000


def settle(
    cavities: Callable[[Floats], Floats], weigh: Callable[[Floats], Floats], least: Floats, hidden: Floats,
    spread: Floats,
) -> tuple[Floats, Floats]:  # fmt: skip
    """The weights of performances, and the variances of cavities, that follow from each other.

    ``cavities``: the variances of all cavities, given the weights of exact observations; 0 is none.
    ``weigh``: the weights of the performances, given the variances.
    ``least`` (float64[n]): weights of exact observations that are not too large, from which the iteration begins.
    ``hidden``, ``spread`` (float64[n]): 1 - rho, and the variance of a performance of weight 1.
    Raises ConvergenceError: the variances do not settle.
    """
    variance = cavities(least)
    for _ in range(_STEPS):
        weight = weigh(variance)
        before = variance
        variance = cavities((1.0 - hidden) * weight / (1.0 + hidden * variance * weight / spread))
        if not np.any(before - variance > _SETTLED * before):
            return weight, variance
    raise ConvergenceError("the variances of cavities do not settle")
