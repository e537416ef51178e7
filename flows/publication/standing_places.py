"""Places among all ranked players before and after any round, for the participants of the round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..results.places import PlaceOptions

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of some rounds. ``since``, ``until`` (int32[n]): the round of each, and the next round of its player."""

    player: Ints
    since: Ints
    until: Ints
    rating: Floats
    ranked: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Placed:
    """Places of the participants of a round; ``player`` (int32[n]), ascending; ``before``, ``after`` (int32[n]): 0 for
    a player who was, or is, not ranked.
    """

    player: Ints
    before: Ints
    after: Ints

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
        return self.player.nbytes + self.before.nbytes + self.after.nbytes

    def of(self, players: Ints) -> tuple[Ints, Ints]:
        """The places before and after of some participants, in any order."""
        at = np.searchsorted(self.player, players)
        return self.before[at], self.after[at]


class StandingPlaces:
    """The places of the participants of each round among all players; 5 bytes a row beside its columns.

    A round costs one pass over all rows and one sort of the ratings of all ranked players.
    """

    def __init__(self, parts: list[_Rows]) -> None:
        self._parts = parts

    @classmethod
    def of(cls, parts: Iterable[Mapping[str, npt.NDArray[Any]]], n_players: int, places: PlaceOptions) -> Self:
        """From parts of consecutive rounds: ``player, round_index, rating, sigma, n_rounds``, in order of players and
        their rounds, one row a round of each.
        """
        following = np.full(n_players, np.iinfo(np.int32).max, np.int32)  # the next round of each player, after a part
        found = []
        for part in reversed(list(parts)):
            player, since = part["player"], part["round_index"]
            until = following[player]
            again = np.flatnonzero(player[1:] == player[:-1])
            until[again] = since[again + 1]
            first = np.flatnonzero(np.diff(player, prepend=-1))
            following[player[first]] = since[first]
            ranked = ~places.provisional(part["n_rounds"], part["sigma"])
            found.append(_Rows(player, since, until, part["rating"], ranked))
        return cls(found[::-1])

    def around(self, round_index: int) -> Placed:
        """The places of the participants of a round; equal ratings share one, as in :func:`.places.places`."""
        index, everyone, came, left = np.int32(round_index), [], [], []
        for part in self._parts:
            known = part.since <= index
            everyone.append(part.rating[np.flatnonzero(known & (part.until > index) & part.ranked)])
            came.append((part, np.flatnonzero(part.since == index)))
            left.append((part, np.flatnonzero(part.until == index)))
        ratings = np.sort(np.concatenate([np.zeros(0), *everyone]))
        player, rating, ranked = _joined(came)
        earlier, former, was_ranked = _joined(left)
        after, gone = np.sort(rating[ranked]), np.sort(former[was_ranked])
        places = np.where(ranked, 1 + _above(ratings, rating), 0)
        above = _above(ratings, former) - _above(after, former) + _above(gone, former)
        before = np.zeros(len(player), np.int64)
        before[np.searchsorted(player, earlier)] = np.where(was_ranked, 1 + above, 0)
        return Placed(player, before.astype(np.int32), places.astype(np.int32))


def _joined(rows: list[tuple[_Rows, npt.NDArray[np.intp]]]) -> tuple[Ints, Floats, npt.NDArray[np.bool_]]:
    """``player, rating, ranked`` of some rows of each part, by player."""
    columns = ("player", "rating", "ranked")
    player, rating, ranked = (np.concatenate([getattr(part, name)[at] for part, at in rows]) for name in columns)
    order = np.argsort(player, kind="stable")
    return player[order], rating[order], ranked[order]


def _above(ratings: Floats, rating: Floats) -> npt.NDArray[np.int64]:
    """The number of sorted ratings that are higher than each."""
    return len(ratings) - np.searchsorted(ratings, rating, side="right")
