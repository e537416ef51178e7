"""A rating system from one function of arrays: for prototypes, and for systems that need no compiled kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from .beliefs import Beliefs, Map, serial_map
from .standings import Floats, Longs, Rounds
from .system import Outcome, Prior, System

SMALL = 256  # rounds of up to this many participants are rated one after the other in one call

Update: TypeAlias = Callable[[Any, Prior, Rounds], tuple[Any, Any]]
"""``(params, prior, round) -> (mu, sigma)``: the beliefs after a round, float64[n] each, in standings order."""


@dataclass(frozen=True, slots=True)
class _After:
    """Beliefs after a round."""

    by_row: ClassVar[tuple[str, ...]] = ("mu", "sigma")
    first: Longs
    mu: Floats
    sigma: Floats


def array_system(
    name: str,
    params: type[Any],
    update: Update,
    win_probability: Callable[[Any, Any, Prior, Prior], Floats],
    sigma_limit: Callable[[Any], float] = lambda params: 0.0,
    uncertainty: float = 0.0,
) -> System:
    """A system whose update is one function of the whole round.

    The round is computed at once, so that every engine gives the same bits; only the reading and writing of beliefs is
    divided among workers. There are no performances, no diffusion and no state beyond ``mu`` and ``sigma``.

    ``params``: frozen dataclass of hyperparameters; ``mu_init`` and ``sigma_init`` are the belief about a newcomer.
    ``update``: see :data:`Update`. ``round.lo`` and ``round.hi`` are first and last place of the tie group, from 0.
    ``win_probability``, ``sigma_limit``, ``uncertainty``: as in :class:`System`.
    """

    def summarise(params: Any, prior: Prior, round: Rounds, map: Map) -> _After:
        mu, sigma = (np.broadcast_to(column, round.n_rows) for column in update(params, prior, round))
        return _After(np.append(np.unique(round.lo), round.n_rows).astype(np.int64), mu, sigma)

    def rate_small(params: Any, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
        for i in range(len(rounds)):
            round, part = rounds.part(i, i + 1), outcome.part(*rounds.offsets[i : i + 2])
            prior = part.prior
            _read(params, beliefs, round, 0, round.n_rows, prior)
            _write(params, beliefs, round, prior, summarise(params, prior, round, serial_map), 0, round.n_rows, part)

    return System(
        name=name, performs=False, params=params, sigma_limit=sigma_limit, uncertainty=uncertainty,
        prior=_read, summarise=summarise, absorb=_write, rate_small=rate_small, small=SMALL,
        win_probability=win_probability, summary_ratings=("mu",), ignores=("precision",),
    )  # fmt: skip


def _read(params: Any, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    rows = round.player[start:stop]
    prior.mu[start:stop], prior.sigma[start:stop] = beliefs.mu[rows], beliefs.sigma[rows]
    prior.n_before[start:stop] = beliefs.n_rounds[rows]


def _write(
    params: Any, beliefs: Beliefs, round: Rounds, prior: Prior, after: _After, start: int, stop: int, outcome: Outcome
) -> None:
    rows = round.player[start:stop]
    beliefs.mu[rows] = outcome.mu[start:stop] = after.mu[start:stop]
    beliefs.sigma[rows] = outcome.sigma[start:stop] = after.sigma[start:stop]
    beliefs.n_rounds[rows] += 1
    beliefs.last_time[rows] = np.maximum(beliefs.last_time[rows], round.time_seconds[0])
