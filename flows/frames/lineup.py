"""The entrants of a round that has not been played: players, and teams of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ranklake.rating_kernels import System
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.core.standings import Floats, Ints, Longs

from ..execution.team_laws import team_laws


@dataclass(frozen=True, slots=True, eq=False)
class Lineup:
    """The entrants of a round.

    ``players``, ``members``: names of the entrants, of a team as ``ada+grace``; names of all players, team by team.
    ``teams``: the shares of the members of each entrant, 1 each.
    """

    players: list[Any]
    members: list[Any]
    teams: Ragged

    @classmethod
    def of(cls, entrants: Sequence[Any]) -> Lineup:
        """The entrants; a list of players is a team."""
        rosters = list(map(members_of, entrants))
        members = list(chain.from_iterable(rosters))
        players = ["+".join(map(str, roster)) if len(roster) > 1 else roster[0] for roster in rosters]
        if len(players) < 2:
            raise ValueError(f"a round to predict needs at least two players, got {len(players)}")
        for names in (members, players):
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise ValueError(f"player {twice!r} is named twice")
        sizes = np.array([len(roster) for roster in rosters])
        return cls(players, members, Ragged.from_lengths(sizes, np.ones(len(members))))

    @property
    def has_teams(self) -> bool:
        """Whether an entrant has two or more members."""
        return len(self.members) > len(self.players)

    @property
    def places(self) -> Ints:
        """The place of each member if the entrants finish in their order."""
        return np.repeat(np.arange(len(self.players), dtype=np.int32), self.teams.lengths)

    def rows(self, order: Longs) -> tuple[Longs, Ints, Ragged]:
        """The members of the entrants in an order, their places, and the teams."""
        teams, bounds = self.teams.take(order), self.teams.offsets
        rows = np.concatenate([np.arange(bounds[at], bounds[at + 1]) for at in order])
        return rows, np.repeat(np.arange(len(order), dtype=np.int32), teams.lengths), teams

    def entrant_of(self, row: int) -> int:
        """The entrant of a member."""
        return int(np.searchsorted(self.teams.offsets, row, side="right")) - 1

    def roster(self, entrant: int) -> list[Any]:
        """The members of an entrant."""
        return self.members[slice(*self.teams.offsets[entrant : entrant + 2].tolist())]

    def beliefs(
        self, system: System, params: Any, mu: Floats, sigma: Floats, n_rounds: Ints, rating: Floats
    ) -> tuple[Floats, Floats, Ints, Floats]:
        """Mean, deviation, rounds and rating of each entrant: those of teams by the weights of the members."""
        n = len(self.players)
        law = team_laws(system, params, self.teams, mu, sigma, np.zeros(len(mu)))
        of_row = np.repeat(np.arange(n), self.teams.lengths)
        together = np.bincount(of_row, law.weight * rating, n).astype(np.float64)
        return law.mu, law.sigma, np.minimum.reduceat(n_rounds, self.teams.offsets[:-1]), together


def members_of(entrant: Any) -> list[Any]:
    """The players of an entrant: those of a list, which is a team, or the entrant itself."""
    if not isinstance(entrant, list):
        return [entrant]
    if not entrant:
        raise ValueError("a team has no members")
    return entrant
