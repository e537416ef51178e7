"""Which worker holds the state of which players, and columns cut and joined accordingly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels.core.beliefs import AnyColumn
from ranklake.rating_kernels.core.ragged import Ragged, Shared
from ranklake.rating_kernels.core.standings import Ints, Longs

from .rater import BeliefColumns


@dataclass(frozen=True, slots=True)
class Partitioning:
    """Players on workers: player ``p`` is in row ``p // n_workers`` of worker ``p % n_workers``.

    Players with neighbouring numbers, who often meet, are spread over all workers.
    """

    n_players: int
    n_workers: int

    def players(self, known: int | None = None) -> list[Longs]:
        """The players of each worker below ``known``, by default all, in the order of their rows."""
        known = self.n_players if known is None else known
        return [np.arange(worker, known, self.n_workers) for worker in range(self.n_workers)]

    def locate(self, players: npt.NDArray[np.integer]) -> tuple[list[Ints], list[Ints], Ints]:
        """Where each player is held.

        Returns places, rows : list of int32[]: for each worker, the positions in ``players`` that it holds, ascending,
        and their rows in its store.
        Returns ranks : int32[]: for each player, its position in all ``places``, one after the other.
        """
        holder = (players % self.n_workers).astype(np.int16)  # 16 bits are sorted by counting
        order = np.argsort(holder, kind="stable").astype(np.int32)
        ranks = np.empty(len(order), dtype=np.int32)
        ranks[order] = np.arange(len(order), dtype=np.int32)
        ends = np.cumsum(np.bincount(holder, minlength=self.n_workers))
        places = np.split(order, ends[:-1])
        return places, [(players[own] // self.n_workers).astype(np.int32) for own in places], ranks

    def cut(self, columns: BeliefColumns) -> list[BeliefColumns]:
        """Columns of the first players, cut into those of each worker."""
        parts = self.players(len(columns["mu"]))
        return [{name: column.take(rows) for name, column in columns.items()} for rows in parts]

    def merge(self, parts: Sequence[BeliefColumns]) -> BeliefColumns:
        """Columns of all players from those of each worker."""
        order = np.argsort(np.concatenate(self.players()))
        return {name: _joined([part[name] for part in parts], order) for name in parts[0]}


def _joined(parts: Sequence[AnyColumn], order: Longs) -> AnyColumn:
    if isinstance(parts[0], Shared):
        return parts[0]
    if isinstance(parts[0], Ragged):
        return Ragged.concat([part for part in parts if isinstance(part, Ragged)]).take(order)
    return np.concatenate(parts)[order]


def positions(players: npt.NDArray[np.integer], others: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """The positions of players in ``others``, which ascend; -1 where a player is not among them."""
    if not len(others):
        return np.full(len(players), -1)
    at = np.minimum(np.searchsorted(others, players), len(others) - 1)
    return np.where(others[at] == players, at, -1)
