"""The unit of work of partitioned rating: one large round, or consecutive small rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Outcome, Prior, Rounds
from ranklake.rating_kernels.core.standings import OF_ROUNDS, Ints

from .partition_worker import RoundMetadata, unpack
from .partitioning import Partitioning


class Stage(Enum):
    """How far the driver has come with a batch. A batch of small rounds is never sent."""

    PLANNED = auto()  # no call has been made for it
    FETCHED = auto()  # the workers' replies are in ``beliefs`` (small rounds) or ``prior`` (a large round)
    SENT = auto()  # ``replies`` waits for what the workers make of the round


@dataclass(slots=True)
class Batch:
    """One large round, or consecutive small ones, and where its players are held.

    ``start``: number of its first round in the rounds it was cut from.
    ``players`` (int[]): the players whose beliefs are needed: row by row of a large round, else ascending and each
    once.
    ``numbered``: the same rounds. Players of small rounds are positions in ``players``.
    ``places``, ``rows`` (list of int32[]): for each worker, the positions in ``players`` that it holds, and their rows
    in its store.
    ``ranks`` (int32[]): for each of ``players``, its position in all ``places``, one after the other.
    ``outcome``: of ``rounds``, to be filled.
    ``completes``: of all the rounds it was cut from, if it is their last batch.
    ``prior``: of a large round, in standings order; a part of ``outcome``.
    ``carried`` (int[]): positions of a large round's players that also play in the batch of small rounds before it.
    Their priors come from there, not from the workers.
    """

    start: int
    rounds: Rounds
    large: bool
    players: npt.NDArray[np.integer]
    numbered: Rounds
    places: list[Ints]
    rows: list[Ints]
    ranks: Ints
    outcome: Outcome
    completes: Outcome | None
    prior: Prior
    stage: Stage = Stage.PLANNED
    carried: npt.NDArray[np.integer] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    beliefs: list[Any] = field(default_factory=list)
    replies: Callable[[], list[list[Any]]] = list

    @classmethod
    def plan(
        cls,
        partitioning: Partitioning,
        start: int,
        rounds: Rounds,
        large: bool,
        outcome: Outcome,
        completes: Outcome | None,
    ) -> Batch:
        """A batch for which no call has been made."""
        players: npt.NDArray[np.integer] = rounds.player
        numbered = rounds
        if not large:
            players, numbers = np.unique(rounds.player, return_inverse=True)
            numbered = replace(rounds, player=numbers.astype(np.int32))
        places, rows, ranks = partitioning.locate(players)
        return cls(start, rounds, large, players, numbered, places, rows, ranks, outcome, completes, outcome.prior)

    @property
    def n_rows(self) -> int:
        return self.rounds.n_rows

    @property
    def metadata(self) -> RoundMetadata:
        return {name: getattr(self.rounds, name) for name in OF_ROUNDS}

    @property
    def prior_columns(self) -> Sequence[npt.NDArray[Any]]:
        return self.prior

    @property
    def ties(self) -> Ints | None:
        """Where the tie group of each row of a large round begins; None without ties."""
        return None if np.array_equal(self.rounds.lo, self.rounds.hi) else self.rounds.lo

    def divide(self, column: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """The entries of a column of a large round that each worker needs."""
        joined = np.empty_like(column)
        joined[self.ranks] = column
        return np.split(joined, np.cumsum([len(places) for places in self.places])[:-1])

    def put_prior(self, places: npt.NDArray[np.integer], columns: Sequence[npt.NDArray[Any]]) -> None:
        """Write priors, as ``mu, sigma, beta, n_before``, at some positions of a large round."""
        for column, values in zip(self.prior_columns, columns, strict=True):
            column[places] = unpack(values, len(places))

    def put_fetched_priors(self, replies: Sequence[Sequence[npt.NDArray[Any]]]) -> None:
        """Write the priors that the workers have sent: those of all players but the carried ones."""
        if not len(self.carried):
            for column, parts in zip(self.prior_columns, zip(*replies, strict=True), strict=True):
                self._join(parts, column)
            return
        fetched = np.ones(len(self.players), dtype=bool)
        fetched[self.carried] = False
        for places, columns in zip(self.places, replies, strict=True):
            self.put_prior(places[fetched[places]], columns)

    def put_posteriors(self, replies: Sequence[Sequence[npt.NDArray[Any]]]) -> None:
        """Write what the workers have computed for their players: ``mu, sigma``, or ``perf, mu, sigma``."""
        *perf, mu, sigma = zip(*replies, strict=True)
        if perf:
            self._join(perf[0], self.outcome.perf)
        self._join(mu, self.outcome.mu)
        self._join(sigma, self.outcome.sigma)

    def _join(self, parts: Sequence[npt.NDArray[Any]], column: npt.NDArray[Any]) -> None:
        """Write the entries of all workers, packed or not, to a column of a large round.

        The entries are read in the order of the column. To write those of each worker at its places would take three
        times as long on a hundred workers, because the places of one are far apart.
        """
        whole = (np.broadcast_to(part, len(own)) for part, own in zip(parts, self.places, strict=True))
        joined = np.concatenate(list(whole))
        np.take(joined, self.ranks, out=column, mode="clip")  # the other mode makes a copy of the column
