"""Two teams of given players, as even as possible; parties stay together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ranklake.rating_kernels.core.standings import Floats, Longs

from ..chances.to_come import GamesToCome
from .lobby import Lobby, equal_shares, part_of
from .quality import MatchQuality, quality_of
from .splits import Split, check_possible, even_split, every_split, exchanges, team_sizes

EXACT_PARTIES = 12  # up to so many parties all splits are compared, at most 924
_CLOSE = 1e-4  # distance of a chance from 1/2 at which the search ends
_ALIKE = 1e-12  # chances that differ by rounding only: the first split counts
_LARGER_MOVES = 1 << 14  # exchanges of two parties that one step of the search compares
_ROWS = 1 << 20  # players of splits in memory at a time


@dataclass(frozen=True, slots=True)
class Balance:
    """Two teams.

    ``teams``: the players of both, each in the order in which they were given.
    ``quality``: of the match on neutral ground; its first chance is that of the first team.
    ``exact``: whether all splits were compared; otherwise they are the result of a local search.
    """

    teams: tuple[list[Any], list[Any]]
    quality: MatchQuality
    exact: bool

    def to_json(self) -> dict[str, Any]:
        """The teams and the numbers of their match, for JSON."""
        return {"teams": list(self.teams), **self.quality.to_json(), "exact": self.exact}


def first_teams(parties: Sequence[Sequence[Any]], sizes: Sequence[int] | None = None) -> list[list[Any]]:
    """Any two teams that keep parties together, to learn about their players.

    Raises ValueError: no such teams, an empty party, or as :func:`.splits.team_sizes`.
    """
    numbers = np.array([len(party) for party in parties], np.int64)
    if not numbers.all():
        raise ValueError("a party has no players")
    size, _ = team_sizes(int(numbers.sum()), sizes)
    check_possible(numbers, size)
    split = even_split(numbers, np.zeros(len(numbers)), size)
    return [_members(parties, side) for side in (split, ~split)]


def balance(
    lobby: Lobby, parties: Sequence[Sequence[Any]], sizes: Sequence[int] | None = None, games: GamesToCome | None = None
) -> Balance:
    """The two teams of the players of a lobby whose match is nearest to a chance of 1/2, draws counting half.

    All splits are compared if there are up to :data:`EXACT_PARTIES` parties, a single player being one. Otherwise
    :func:`.splits.even_split` is improved by the best exchange of parties, as long as one improves it by more than
    rounding, until the chance is within 1e-4 of 1/2. Of equally good splits the first one counts, in the order of the
    parties. Of two teams of equal size, the first one has the first party.

    ``parties``: the names of the players, party by party, in the order of the lobby.
    ``sizes``: of the first team and of the second one; by default equal.
    ``games``: what is known of draws.
    Raises ValueError: as :func:`first_teams`.
    """
    numbers = np.array([len(party) for party in parties], np.int64)
    size, other = team_sizes(len(lobby), sizes)
    check_possible(numbers, size)
    match = _Match(lobby, numbers, size)
    exact = len(numbers) <= EXACT_PARTIES
    split = match.best(every_split(numbers, size))[0] if exact else match.search()
    if size == other and not split[0]:
        split = ~split
    rows = match.rows(split[None])[0]
    quality = quality_of(lobby.take(rows), equal_shares(np.array([size, other])), games, neutral=True)
    return Balance((_members(parties, split), _members(parties, ~split)), quality, exact)


class _Match:
    """Splits of the players of a lobby, and how far their chances are from 1/2."""

    def __init__(self, lobby: Lobby, parties: Longs, size: int) -> None:
        self._lobby, self._parties, self._size = lobby, parties, size
        self._party = np.repeat(np.arange(len(parties)), parties)

    def rows(self, splits: Split) -> Longs:
        """The players of the first team of each split, then those of the second one: int64[splits, players]."""
        first = splits[:, self._party]
        count = len(splits)
        sides = [np.nonzero(side)[1].reshape(count, -1) for side in (first, ~first)]
        return np.hstack(sides)

    def distances(self, splits: Split) -> Floats:
        """How far the chance of the first team is from 1/2: float64[splits]."""
        n, block = len(self._party), max(1, _ROWS // len(self._party))
        found = []
        for at in range(0, len(splits), block):
            rows = self.rows(splits[at : at + block])
            teams = equal_shares(np.tile([self._size, n - self._size], len(rows)))
            sides = self._lobby.take(rows.ravel()).sides(teams, participants=2)
            one, other = (part_of(sides, slice(which, None, 2)) for which in (0, 1))
            found.append(np.abs(self._lobby.chances(one, other) - 0.5))
        distances: Floats = np.concatenate(found)
        return distances

    def best(self, splits: Split) -> tuple[Split, float]:
        """The best split, the first one of those that are equal but for rounding, and its distance."""
        distances = self.distances(splits)
        at = int(np.argmax(distances <= distances.min() + _ALIKE))
        return splits[at], float(distances[at])

    def search(self) -> Split:
        """A split that no exchange improves, or that is close enough."""
        mu = self._lobby.prior.mu
        strengths = np.bincount(self._party, mu - mu.mean(), len(self._parties)).astype(np.float64)
        split, distance = self.best(even_split(self._parties, strengths, self._size)[None])
        while distance > _CLOSE and (better := self._improved(split, distance)) is not None:
            split, distance = better
        return split

    def _improved(self, split: Split, distance: float) -> tuple[Split, float] | None:
        for some in exchanges(split, self._parties, max(1, _ROWS // len(self._party)), _LARGER_MOVES):
            changed, closer = self.best(some)
            if closer < distance - _ALIKE:
                return changed, closer
        return None


def _members(parties: Sequence[Sequence[Any]], side: Split) -> list[Any]:
    return list(chain.from_iterable(party for party, mine in zip(parties, side.tolist(), strict=True) if mine))
