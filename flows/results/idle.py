"""Beliefs about players who do not take part: uncertainty grows with the days, in systems with a drift by day."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Prior, Rounds, System
from ranklake.rating_kernels.core.limits import TIME_SECONDS
from ranklake.rating_kernels.core.system import check_value

from ..compilation.compile import announce_compilation
from .display import Display

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


def idle_rating(
    display: Display, mu: Floats, sigma: Floats, n_rounds: npt.NDArray[np.int32], last: Longs, at: int
) -> tuple[Floats, Floats]:
    """The standard deviation and the display rating of each player at a time; see :func:`idle_sigma`.

    Raises ``ValueError`` if ``at`` is out of range.
    """
    check_value("at", at, TIME_SECONDS)
    sigma = idle_sigma(display.system, display.params, mu, sigma, n_rounds, last, at)
    return sigma, display.rating(mu, sigma, n_rounds)


def idle_sigma(
    system: System, params: Any, mu: Floats, sigma: Floats, n_rounds: npt.NDArray[np.int32], last: Longs, at: int
) -> Floats:
    """The standard deviation of each belief at a time after the player's last round, without another round.

    ``mu``, ``sigma``, ``n_rounds``: the belief after the last round of each player.
    ``last``: end of that round, UTC seconds; 0 if unknown, and then no days pass.
    ``at``: the time, UTC seconds; before ``last``, no days pass.
    Returns ``float64[n]``: rating points. Systems whose uncertainty does not depend on time return ``sigma`` to the
    bit.

    The diffusion before a round has a part for the round and one for the days. The second is the difference of the
    prior variances of a round at ``at`` with the days, and without. State beyond ``mu`` and ``sigma`` is that of a
    player with this belief by ``System.state``: the volatility of Glicko-2 is its initial value.
    """
    without = np.full(len(mu), at, dtype=np.int64)
    with_days = np.where(last == 0, at, last)
    grown = _prior_variance(system, params, mu, sigma, n_rounds, with_days, at)
    grown -= _prior_variance(system, params, mu, sigma, n_rounds, without, at)
    return np.where(grown > 0.0, np.sqrt(sigma * sigma + np.maximum(grown, 0.0)), sigma)


def _prior_variance(
    system: System, params: Any, mu: Floats, sigma: Floats, n_rounds: npt.NDArray[np.int32], last: Longs, at: int
) -> Floats:
    """The variance that each player would bring to a round of weight 1 at a time."""
    n = len(mu)
    store = system.newcomers(params, n)
    store.mu[:], store.sigma[:], store.n_rounds[:], store.last_time[:] = mu, sigma, n_rounds, last
    for name, values in system.state(params, mu, sigma).items():
        store.state[name][:] = values
    row = np.arange(n)
    prior = Prior(np.empty(n), np.empty(n), np.empty(n), np.empty(n, dtype=np.int32))
    with announce_compilation(system.name):
        system.prior(params, store, Rounds.from_columns([0, n], row, row, row, [at]), 0, n, prior)
    return prior.sigma * prior.sigma
