"""Entrants of rated rounds for metrics: one row a team, or a participant without a team.

The rating of a team is the mean of its members' ratings by their weights, which are those of the system's rule for
teams; systems that add skills up have the sum. A team is as experienced as its least experienced member.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.core.standings import Conditions, Floats, Ints, Longs, Rounds
from ranklake.rating_kernels.core.system import Outcome, PerformanceLaw, Prior, System
from ranklake.rating_kernels.metrics.calibration import Chances, PairSums, score_pairs
from ranklake.rating_kernels.metrics.metrics import FILTERS, LAW_METRICS, Filter, keep

from ..execution.team_laws import sigma_for_chances, team_laws
from .scores import RoundScores, score_rounds


@dataclass(frozen=True, slots=True)
class Entrants:
    """The entrants of consecutive rounds.

    ``offsets`` (int64[r + 1]): round ``i`` has the entrants ``offsets[i]:offsets[i + 1]``.
    ``lo`` (int32[n]): first place of the tie group.
    ``mu``, ``n_before`` ([n]): strength in the round: the rating before it, plus the advantage; rounds rated before.
    ``sigma`` (float64[n]): uncertainty for the chances of the system.
    ``change`` (float64[n]): change of the rating in the round.
    ``law``: laws of performances; None if the system has no model of them.
    ``chances``: of one entrant to beat another, by the system; None without a system.
    """

    offsets: Longs
    lo: Ints
    mu: Floats
    sigma: Floats
    n_before: Ints
    change: Floats
    law: PerformanceLaw | None
    chances: Chances | None

    @classmethod
    def of(
        cls,
        system: System | None,
        params: Any,
        offsets: Longs,
        lo: Ints,
        mu: Floats,
        sigma: Floats,
        n_before: Ints,
        change: Floats,
        conditions: Conditions,
        teams: Ragged | None,
    ) -> Entrants:
        """The entrants, from participations.

        ``system``, ``params``: the rating system; without one there are no laws, and a team has the mean of its
        members' ratings.
        ``offsets``, ``lo``, ``teams``: as in :class:`ranklake.rating_kernels.Rounds`.
        ``mu``, ``sigma``, ``n_before``, ``change``: one entry a participation: belief before the round, of the strength
        in it; rounds rated before; change of the rating.
        """
        sizes = np.diff(offsets)
        entrants = sizes if teams is None else np.diff(np.searchsorted(teams.offsets, offsets))
        prior = Prior(mu, sigma, np.full(len(mu), np.nan), n_before)
        law, chances = None, None
        if system is not None:
            law = laws_of(system, params, sizes, conditions, prior, entrants)

            def chances(of_round: Longs, one: Prior, other: Prior, system: System = system) -> Floats:
                return system.beats(params, conditions.take(of_round), entrants[of_round], one, other)

        alone = cls(offsets, lo, mu, sigma, n_before, change, law, chances)
        return alone if teams is None else _joined(alone, system, params, sigma, teams)

    @classmethod
    def of_outcome(cls, system: System | None, params: Any, rounds: Rounds, outcome: Outcome) -> Entrants:
        """The entrants of rounds that were rated; as for :meth:`of`."""
        return cls.of(
            system, params, rounds.offsets, rounds.lo, rounds.strengths(outcome.mu_prior), outcome.sigma_prior,
            outcome.n_before, outcome.mu - outcome.mu_prior, rounds.conditions, rounds.teams,
        )  # fmt: skip

    def scores(
        self,
        filters: Sequence[Filter] = tuple(FILTERS.values()),
        *,
        laws: Sequence[str] = LAW_METRICS,
        pairs: bool = True,
        **options: Any,
    ) -> dict[str, RoundScores]:
        """Score the ratings before each round; see :func:`.scores.score_rounds`.

        ``laws``: the metrics of laws to compute, if there are laws.
        ``pairs``: whether to compute the metrics of chances, if there are chances.
        """
        of_pairs = self.pair_sums if pairs and self.chances is not None else None
        given = {"law": self.law, "of_laws": laws, "pairs": of_pairs, **options}
        return score_rounds(self.offsets, self.lo, self.mu, self.n_before, filters, **given)

    def chances_of_games(self, games: Longs) -> Floats:
        """The chance of the first row of each of some games; all rounds are of two."""
        assert self.chances is not None, "a system"
        one, other = (
            Prior(self.mu[rows], self.sigma[rows], np.full(len(rows), np.nan), self.n_before[rows])
            for rows in (2 * games, 2 * games + 1)
        )
        return self.chances(games, one, other)

    def pair_sums(self, filter: Filter) -> PairSums:
        """The chances of all pairs of a round, scored under a filter."""
        assert self.chances is not None, "a system"
        kept = keep(self.offsets, self.lo, self.n_before >= filter.least, filter.top, all_tied=True)
        rows = kept.rows
        prior = Prior(self.mu[rows], self.sigma[rows], np.full(len(rows), np.nan), self.n_before[rows])
        deviation = self.sigma if self.law is None else self.law.deviation
        return score_pairs(kept, prior, deviation[rows], self.chances)


def _joined(members: Entrants, system: System | None, params: Any, sigma: Floats, teams: Ragged) -> Entrants:
    """One row a team, given one a member."""
    bounds = teams.offsets
    first, n_teams, lengths = bounds[:-1], len(bounds) - 1, teams.lengths
    of_row = np.repeat(np.arange(n_teams), lengths)
    noise = np.zeros(len(sigma))
    if members.law is not None:
        noise = np.sqrt(np.maximum(np.square(members.law.deviation) - np.square(sigma), 0.0))
    teams_law = team_laws(system, params, teams, members.mu, sigma, noise)
    law = members.law
    if law is not None:
        alone = lengths == 1
        shift = (law.mean - members.mu)[first]  # of a whole round
        mean = np.where(alone, law.mean[first], teams_law.mu + shift)
        deviation = np.where(alone, law.deviation[first], np.hypot(teams_law.sigma, teams_law.beta))
        law = replace(law, mean=mean, deviation=deviation)
    return Entrants(
        offsets=np.searchsorted(bounds, members.offsets),
        lo=members.lo[first],
        mu=teams_law.mu,
        sigma=sigma_for_chances(teams, teams_law, sigma, noise),
        n_before=np.minimum.reduceat(members.n_before, first),
        change=np.bincount(of_row, teams_law.weight * members.change, n_teams).astype(np.float64),
        law=law,
        chances=members.chances,
    )


def laws_of(
    system: System, params: Any, sizes: Longs, conditions: Conditions, prior: Prior, entrants: Longs | None = None
) -> PerformanceLaw | None:
    """The law of each row; None if the system has no model of performances.

    ``sizes`` (int64[r]), ``conditions``: number of participations, weight and precision of each round.
    ``prior``: of the strengths in the rounds; its ``beta`` is not read.
    ``entrants`` (int64[r]): number of teams of each round; by default that of participations.
    """
    if system.performance_law is None:
        return None
    n_entrants = sizes if entrants is None else entrants
    of_row = np.repeat(np.arange(len(sizes)), sizes)
    return system.performance_law(params, conditions.take(of_row), n_entrants[of_row], prior)
