"""Drift and spread of performances in Elo-MMR and Elo-MMchi, from the limits or from beta and gamma.

Source: Ebtekar and Liu, "An Elo-like System for Massive Multiplayer Competitions" (arXiv:2101.00400), and their engine.
All ratings in rating points.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from ..core.standings import Floats
from ..core.system import Prior, check_limits

__all__ = ["Rates", "check_rates", "delta", "rates", "sigma_limit"]


class Rates(Protocol):
    """Hyperparameters of drift and of the spread of performances, shared with Elo-MMchi."""

    @property
    def tie_mode(self) -> str: ...
    @property
    def weight_limit(self) -> float: ...
    @property
    def sig_limit(self) -> float: ...
    @property
    def beta(self) -> float | None: ...
    @property
    def gamma(self) -> float | None: ...
    @property
    def noob_delay(self) -> tuple[float, ...]: ...
    @property
    def drift_per_day(self) -> float: ...
    @property
    def mu_init(self) -> float: ...
    @property
    def sigma_init(self) -> float: ...


def check_rates(params: Rates) -> None:
    """Raise ``ValueError`` unless these hyperparameters are consistent; integers become floats."""
    object.__setattr__(params, "noob_delay", tuple(float(v) for v in params.noob_delay))
    check_limits(params)
    if (params.beta is None) != (params.gamma is None):
        raise ValueError(f"beta and gamma go together, got beta={params.beta}, gamma={params.gamma}")
    if params.beta is not None and params.gamma is not None:
        if params.drift_per_day:
            raise ValueError(
                f"drift_per_day goes with weight_limit and sig_limit, not beta and gamma; got {params.drift_per_day}"
            )
        if (params.weight_limit, params.sig_limit) != (0.2, 80.0):
            raise ValueError("give beta and gamma, or weight_limit and sig_limit, not both")
    elif params.sig_limit == 0.0 and params.drift_per_day == 0.0:
        raise ValueError("sig_limit must be > 0 rating points unless drift_per_day is, got 0")


def sigma_limit(params: Rates) -> float:
    """Limit of sigma after many rounds of weight 1 without idle time."""
    if params.beta is None or params.gamma is None:
        return params.sig_limit
    g2 = params.gamma**2
    return math.sqrt((math.sqrt(g2 * g2 + 4.0 * params.beta**2 * g2) - g2) / 2.0)


def rates(params: Rates) -> tuple[Any, ...]:
    """a, b, c, d and the delays on w: beta^2 = a + b / w and gamma^2 = c w + d days in a round of weight w."""
    delay = np.array(params.noob_delay, dtype=np.float64)
    if params.beta is not None and params.gamma is not None:
        return 0.0, params.beta**2, params.gamma**2, 0.0, delay
    u, s2 = params.weight_limit, params.sig_limit**2
    return s2, (s2 + params.drift_per_day) / u, u * s2, params.drift_per_day, delay


def delta(params: Rates, weight: Any, prior: Prior) -> Floats:
    """Standard deviation of performances around the prior ``mu``: sqrt(sigma^2 + beta^2)."""
    a, b, _, _, delay = rates(params)
    factor = np.concatenate((delay, [1.0]))[np.minimum(prior.n_before, len(delay))]
    spread: Floats = np.sqrt(prior.sigma**2 + a + b / (weight * factor))
    return spread
