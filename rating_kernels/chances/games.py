"""Games between two entrants as a system sees them: expected scores at any advantage, and chances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.standings import Conditions, Floats
from ..core.system import Prior, System
from .three_way import NONE, PRESERVING, ThreeWay, three_way


class Leads(NamedTuple):
    """Games whose expected score is logistic in the difference of strengths.

    ``lead`` (float64[n]): strength of the first entrant beyond the other, with a known advantage; rating points.
    ``rate`` (float64[n] or [1]): natural units of odds a rating point.
    """

    lead: Floats
    rate: Floats


@dataclass(frozen=True, slots=True)
class Pairings:
    """Games, or games that could be: the first entrant of each, and the other one.

    ``conditions``, ``participants``: of the round of each game, or of all.
    ``one``, ``other``: the strengths of the entrants: rating before the game plus half of a known advantage on each
    side; of teams, those of their laws. ``beta`` is not read.
    """

    system: System
    params: Any
    conditions: Conditions
    participants: Any
    one: Prior
    other: Prior

    def ahead(self, advantage: Any) -> Pairings:
        """The same games with a further advantage of the first entrant, half of it on each side; rating points."""
        if not np.any(advantage):
            return self
        half = 0.5 * np.asarray(advantage, dtype=np.float64)
        one, other = self.one._replace(mu=self.one.mu + half), self.other._replace(mu=self.other.mu - half)
        return replace(self, one=one, other=other)

    def expected(self) -> tuple[Floats, Floats]:
        """The expected score of each entrant, a draw counting half."""
        return self.expected_of_first(), replace(self, one=self.other, other=self.one).expected_of_first()

    def expected_of_first(self) -> Floats:
        """The expected score of the first entrant alone."""
        return self.system.beats(self.params, self.conditions, self.participants, self.one, self.other)

    def weaker_first(self) -> tuple[Pairings, npt.NDArray[np.bool_]]:
        """The same games, each with its weaker entrant first, and which have changed their order."""
        changed = self.one.mu > self.other.mu
        names, pair = ("mu", "sigma", "n_before"), (self.one, self.other)
        weaker, stronger = (
            a._replace(**{name: np.where(changed, getattr(b, name), getattr(a, name)) for name in names})
            for a, b in (pair, pair[::-1])
        )
        return replace(self, one=weaker, other=stronger), changed

    def three_way(self, nu: Any, advantage: Any = 0.0, model: str = PRESERVING) -> ThreeWay:
        """The chances of the first entrant; a system with a model of draws of its own does not read ``nu``.

        Raises ValueError: see :func:`.three_way.three_way`.
        """
        games = self.ahead(advantage)
        if model != NONE and (own := self.system.three_way) is not None:
            return ThreeWay(*own(self.params, self.conditions, games.one, games.other))
        return three_way(*games.expected(), nu, model)

    def leads(self) -> Leads | None:
        """The games as leads; None if the system has no logistic curve."""
        rate = self.system.logistic_rate(self.params, self.conditions, self.one, self.other)
        return None if rate is None else Leads(self.one.mu - self.other.mu, np.atleast_1d(np.float64(rate)))

    @property
    def has_own_draws(self) -> bool:
        """Whether the system has a model of draws of its own."""
        return self.system.three_way is not None
