"""Laws of performances of systems that define the chance of one player against another only.

With a logistic curve of ``rate`` natural units a point, the difference of two performances is logistic of standard
deviation pi / (sqrt(3) rate). Each performance is taken as logistic with half of this variance: the sum of two such
laws has the variance of the curve. Uncertainties of skills add to the variance, as in Glicko's factor g.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.numerics import C3
from ..core.system import PerformanceLaw, Prior

__all__ = ["curve_law"]


def curve_law(rate: Any, prior: Prior, uncertain: bool = False) -> PerformanceLaw:
    """Half of the variance of a logistic curve, and if ``uncertain`` the prior variance of the skill."""
    variance = np.broadcast_to(0.5 * (C3 / np.asarray(rate)) ** 2, prior.mu.shape)
    return PerformanceLaw("logistic", prior.mu, np.sqrt(variance + prior.sigma**2 if uncertain else variance))
