"""Which worker holds the state of which players, and columns cut and joined accordingly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels.core.beliefs import Column
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.core.standings import Ints, Longs

from .rater import BeliefColumns

SHARDS_PER_WORKER = 16  # players with neighbouring numbers, who often meet, are spread over all workers


@dataclass(frozen=True, slots=True)
class Partition:
    """The players that one worker holds: those whose number modulo ``n_shards`` is in ``shards``, which ascend."""

    shards: Longs
    n_shards: int

    @classmethod
    def of(cls, index: int, n_workers: int, n_shards: int | None = None) -> Partition:
        """The partition of worker ``index``; by default with :data:`SHARDS_PER_WORKER` shards a worker."""
        n_shards = n_shards or SHARDS_PER_WORKER * n_workers
        return cls(np.arange(index, n_shards, n_workers), n_shards)

    def rows(self, player: npt.NDArray[np.integer]) -> Ints:
        """The rows of players of this partition in the worker's store."""
        at = np.zeros(self.n_shards, dtype=np.int32)
        at[self.shards] = np.arange(len(self.shards))
        turn, shard = np.divmod(player, self.n_shards)
        return (turn * len(self.shards) + at[shard]).astype(np.int32)

    def players(self, n_players: int) -> Longs:
        """The players of this partition below ``n_players``, in the order of their rows, without gaps."""
        turns = -(-n_players // self.n_shards)
        players: Longs = (np.arange(turns)[:, None] * self.n_shards + self.shards).ravel()
        return players[players < n_players]


class Partitioning:
    """All partitions of ``n_players`` players."""

    def __init__(self, n_players: int, n_workers: int, n_shards: int | None = None) -> None:
        self._n_players = n_players
        self._partitions = [Partition.of(index, n_workers, n_shards) for index in range(n_workers)]
        self._holder = np.empty(self._partitions[0].n_shards, dtype=np.int16)
        for index, partition in enumerate(self._partitions):
            self._holder[partition.shards] = index

    @property
    def partitions(self) -> Sequence[Partition]:
        return self._partitions

    @property
    def sizes(self) -> list[int]:
        """Players in each partition."""
        return [len(partition.players(self._n_players)) for partition in self._partitions]

    def locate(self, players: npt.NDArray[np.integer]) -> tuple[list[Ints], list[Ints], Ints]:
        """Where each player is held.

        Returns places, rows : list of int32[]: for each partition, the positions in ``players`` that it holds,
        ascending, and their rows in its store.
        Returns ranks : int32[]: for each player, its position in all ``places``, one after the other.
        """
        holder = self._holder[players % len(self._holder)]
        order = np.argsort(holder, kind="stable").astype(np.int32)
        ranks = np.empty(len(order), dtype=np.int32)
        ranks[order] = np.arange(len(order), dtype=np.int32)
        ends = np.cumsum(np.bincount(holder, minlength=len(self._partitions)))
        places = np.split(order, ends[:-1])
        pairs = zip(self._partitions, places, strict=True)
        return places, [partition.rows(players[own]) for partition, own in pairs], ranks

    def cut(self, columns: BeliefColumns) -> list[BeliefColumns]:
        """Columns of the first players, cut into those of each partition."""
        known = len(columns["mu"])
        players = [partition.players(known) for partition in self._partitions]
        return [{name: column.take(rows) for name, column in columns.items()} for rows in players]

    def merge(self, parts: Sequence[BeliefColumns]) -> BeliefColumns:
        """Columns of all players from those of each partition."""
        rows = [partition.players(self._n_players) for partition in self._partitions]
        return {name: _merge([part[name] for part in parts], rows) for name in parts[0]}


def positions(players: npt.NDArray[np.integer], others: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """The positions of players in ``others``, which ascend; -1 where a player is not among them."""
    if not len(others):
        return np.full(len(players), -1)
    at = np.minimum(np.searchsorted(others, players), len(others) - 1)
    return np.where(others[at] == players, at, -1)


def _merge(parts: Sequence[Column | Ragged], rows: Sequence[Longs]) -> Column | Ragged:
    """One column from parts that hold some rows each."""
    order = np.argsort(np.concatenate(rows))
    if isinstance(parts[0], Ragged):
        return Ragged.concat([part for part in parts if isinstance(part, Ragged)]).take(order)
    return np.concatenate(parts)[order]
