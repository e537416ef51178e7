"""Counters over rated rounds; a round that is rated again after a recovery counts once."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ranklake.rating_kernels import System

from ...common.skipping import REASONS, count_ignored
from .level import Level
from .rated_batch import RatedBatch

__all__ = ["RoundCounters"]


class RoundCounters:
    """Counters over the rounds from ``start`` on.

    Attributes
    ----------
    start : int
    rows : int
        Participations rated, without unrated ones.
    skipped : Counter of str
        Rounds skipped because of their places, by reason.
    level : Level
        Level of the ratings over the years.
    violations : Counter of str
        Violations of the system's invariants, by invariant.
    ignored : Counter of str
        Rounds with a value of a column that the system ignores, by column.
    """

    def __init__(self, system: System, start: int, n_players: int) -> None:
        self.level = Level(n_players)
        self._system, self.start, self._until = system, start, start
        self.rows = 0
        self.skipped: Counter[str] = Counter()
        self.violations: Counter[str] = Counter()
        self.ignored: Counter[str] = Counter()

    def add(self, rated: RatedBatch) -> None:
        """Add the rounds of a batch that are not counted yet."""
        known = max(self._until - rated.start, 0)
        informative, at = rated.informative[known:], int(np.count_nonzero(rated.informative[:known]))
        if not len(informative):
            return
        first_round = int(rated.first_rounds[at])
        rounds = rated.rounds.part(first_round, len(rated.rounds)) if known else rated.rounds
        first = rated.rounds.n_rows - rounds.n_rows
        for reason, text in REASONS.items():
            if count := int(np.count_nonzero(rated.reasons[known:] == reason)):
                self.skipped[text] += count
        outcome = rated.outcome.part(first, rated.rounds.n_rows)
        if rounds.roles.any():
            rounds, outcome = rounds.rated_only(), outcome.select(rounds.are_rated)
        self.rows += rounds.n_rows
        self.ignored.update(count_ignored(self._system, rounds))
        self.violations.update(self._system.violations(rounds, outcome))
        self.level.add(rounds, outcome)
        self._until = rated.stop
