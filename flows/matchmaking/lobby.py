"""Players before a match, and the sides that they could form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ranklake.rating_kernels import Beliefs, Prior, Rounds, System
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.core.standings import Conditions, Floats, Longs
from ranklake.rating_kernels.core.system import PerformanceLaw, TeamLaws

from ..compilation.compile import announce_compilation
from ..execution.team_laws import noise_of, team_laws, team_prior


@dataclass(frozen=True, slots=True)
class Lobby:
    """Players before a match: the system, the conditions of the match, and the belief about each at its time."""

    system: System
    params: Any
    conditions: Conditions
    prior: Prior

    @classmethod
    def of(cls, system: System, params: Any, store: Beliefs, match: Rounds) -> Self:
        """The participants of one round, which is the match to come; their beliefs in the store are diffused."""
        n = match.n_rows
        prior = Prior(np.empty(n), np.empty(n), np.empty(n), np.empty(n, dtype=np.int32))
        with announce_compilation(system.name):
            system.prior(params, store, match, 0, n, prior)
        return cls(system, params, match.conditions.take(0), prior)

    def __len__(self) -> int:
        return len(self.prior.mu)

    def take(self, rows: Any) -> Lobby:
        """Some of the players, in this order; a player may be there several times."""
        return replace(self, prior=part_of(self.prior, rows))

    def sides(self, teams: Ragged, participants: int | None = None) -> Prior:
        """The belief about each side, for the chances of the system.

        ``teams``: the shares of the members of each side, the players of the lobby one after the other.
        ``participants``: sides of one match; by default all sides are in one.
        """
        if len(teams.values) == len(teams.offsets) - 1:
            return self.prior
        return team_prior(self.system, self.params, teams, self.conditions, self.prior, participants)

    def skills(self, teams: Ragged) -> TeamLaws:
        """The law of the skill of each side, without the noise of a match, as the system's rule for teams has it."""
        n = len(teams.offsets) - 1
        noise = noise_of(self.system, self.params, self.conditions, n, self.prior)
        return team_laws(self.system, self.params, teams, self.prior.mu, self.prior.sigma, noise)

    def performances(self, sides: Prior) -> PerformanceLaw | None:
        """The law of the performance of each side of one match; None if the system has no model of performances."""
        law = self.system.performance_law
        return None if law is None else law(self.params, self.conditions, len(sides.mu), sides)

    def chances(self, one: Prior, other: Prior, participants: int = 2) -> Floats:
        """The chance of some sides to finish before others, a tie counting half: float64[...]."""
        with announce_compilation(self.system.name):
            return self.system.beats(self.params, self.conditions, participants, one, other)


def equal_shares(lengths: Longs) -> Ragged:
    """Teams of so many members each, with equal shares."""
    return Ragged.from_lengths(lengths, np.ones(int(lengths.sum())))


def part_of(prior: Prior, rows: Any) -> Prior:
    """Some rows of the beliefs before a round."""
    return Prior(prior.mu[rows], prior.sigma[rows], prior.beta[rows], prior.n_before[rows])
