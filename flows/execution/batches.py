"""The unit of work of partitioned rating: one large round, or consecutive small rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Outcome, Prior, Rounds
from ranklake.rating_kernels.core.standings import Ints

from .partition_worker import RoundMetadata, unpack
from .partitioning import Partitioning

__all__ = ["Batch", "Stage"]


class Stage(Enum):
    """How far the driver has come with a batch. A batch of small rounds is never sent."""

    PLANNED = auto()  # no call has been made for it
    FETCHED = auto()  # the workers' replies are in ``beliefs`` (small rounds) or ``prior`` (a large round)
    SENT = auto()  # ``replies`` waits for what the workers make of the round


@dataclass(slots=True)
class Batch:
    """One large round, or consecutive small ones, and where its players are held.

    Attributes
    ----------
    start : int
        Number of its first round in the rounds it was cut from.
    players : int[]
        The players whose beliefs are needed: row by row of a large round, else ascending and each once.
    numbered : Rounds
        The same rounds. Players of small rounds are positions in ``players``.
    places, rows : list of int32[]
        For each worker, the positions in ``players`` that it holds, and their rows in its store.
    outcome : Outcome
        Of ``rounds``, to be filled.
    completes : Outcome or None
        Of all the rounds it was cut from, if it is their last batch.
    prior : Prior
        Of a large round, in standings order; a part of ``outcome``.
    carried : int[]
        Positions of a large round's players that also play in the batch of small rounds before it. Their priors come
        from there, not from the workers.
    """

    start: int
    rounds: Rounds
    large: bool
    players: npt.NDArray[np.integer]
    numbered: Rounds
    places: list[Ints]
    rows: list[Ints]
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
        places, rows = partitioning.locate(players)
        return cls(start, rounds, large, players, numbered, places, rows, outcome, completes, outcome.prior)

    @property
    def n_rows(self) -> int:
        return self.rounds.n_rows

    @property
    def metadata(self) -> RoundMetadata:
        rounds = self.rounds
        return rounds.time_seconds, rounds.weight, rounds.perf_ceiling, rounds.event, rounds.participants

    @property
    def ties(self) -> Ints | None:
        """Where the tie group of each row of a large round begins; None without ties."""
        return None if np.array_equal(self.rounds.lo, self.rounds.hi) else self.rounds.lo

    def put_prior(self, places: npt.NDArray[np.integer], columns: Sequence[npt.NDArray[Any]]) -> None:
        """Write priors, as ``mu, sigma, beta, n_before``, at some positions of a large round."""
        prior: Sequence[npt.NDArray[Any]] = [self.prior.mu, self.prior.sigma, self.prior.beta, self.prior.n_before]
        for column, values in zip(prior, columns, strict=True):
            column[places] = unpack(values, len(places))

    def put_fetched_priors(self, replies: Sequence[Sequence[npt.NDArray[Any]]]) -> None:
        """Write the priors that the workers have sent: those of all players but the carried ones."""
        fetched = np.ones(len(self.players), dtype=bool)
        fetched[self.carried] = False
        for places, columns in zip(self.places, replies, strict=True):
            self.put_prior(places[fetched[places]] if len(self.carried) else places, columns)

    def put_posteriors(self, replies: Sequence[Sequence[npt.NDArray[Any]]]) -> None:
        """Write what the workers have computed for their players: ``mu, sigma``, or ``perf, mu, sigma``."""
        for places, (*perf, mu, sigma) in zip(self.places, replies, strict=True):
            if perf:
                self.outcome.perf[places] = unpack(perf[0], len(places))
            self.outcome.mu[places], self.outcome.sigma[places] = mu, sigma
