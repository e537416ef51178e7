"""One round whose performances are given: no field decides them."""

from __future__ import annotations

from typing import Any

from ranklake.rating_kernels import Beliefs, Outcome, Rounds, System
from ranklake.rating_kernels.core.beliefs import serial_map
from ranklake.rating_kernels.core.standings import Floats
from ranklake.rating_kernels.inference.performance import group_starts


def rate_given(system: System, params: Any, beliefs: Beliefs, round: Rounds, performances: Floats | float) -> Outcome:
    """Rate one round by these performances, one a row; for systems whose update depends on nothing else."""
    n = round.n_rows
    outcome = Outcome.empty(n)
    prior = outcome.prior
    system.prior(params, beliefs, round, 0, n, prior)
    beliefs.reserve(round.player)
    summary = system.summarise(params, prior, round, serial_map)
    system.perform(params, summary, 0, len(group_starts(round.lo)) - 1, outcome.perf)
    outcome.perf[:] = performances
    system.absorb(params, beliefs, round, prior, summary, 0, n, outcome)
    return outcome
