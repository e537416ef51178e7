"""The laws of performances that a system's model gives for rated rounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklake.rating_kernels.core.standings import Floats, Ints, Longs
from ranklake.rating_kernels.core.system import PerformanceLaw, Prior, System

__all__ = ["laws_of"]


def laws_of(
    system: System,
    params: Any,
    sizes: Longs,
    weight: Floats,
    mu_prior: Floats,
    sigma_prior: Floats,
    n_before: Ints,
    entrants: Longs | None = None,
) -> PerformanceLaw | None:
    """The law of each row; None if the system has no model of performances.

    Parameters
    ----------
    sizes, weight : [r]
        Number of participations and weight of each round.
    mu_prior, sigma_prior, n_before
        As in :class:`ranklake.rating_kernels.Outcome`.
    entrants : int64[r]
        Number of teams of each round; by default that of participations.
    """
    if system.performance_law is None:
        return None
    nothing = np.full(len(mu_prior), np.nan)
    prior = Prior(mu_prior, sigma_prior, nothing, n_before)
    return system.performance_law(
        params, np.repeat(weight, sizes), np.repeat(sizes if entrants is None else entrants, sizes), prior
    )
