"""The state of one partition, held by a worker, and its part of every round.

A round is two exchanges. First the diffused beliefs of each partition (:meth:`PartitionWorker.prior`) go to all workers
(:meth:`PartitionWorker.receive_priors`). Then each worker makes the summary of the whole field, finds the performances,
and absorbs those of its own players (:meth:`PartitionWorker.finish_round`). The messages are arrays of beliefs and
places, never histories. The summary of a very large field is shared: its maps fill arrays in ranges, and the workers
exchange the filled ranges (:meth:`PartitionWorker.receive_partials`, :meth:`PartitionWorker.resume_summary`). A summary
has no other state than these arrays: to resume it, it is made again with the arrays filled so far.

What all players share is held by the driver. It comes with each call that reads it, and changes by the sums of all
workers (:meth:`PartitionWorker.sums`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import SYSTEMS, Beliefs, ConvergenceError, Outcome, Prior, Rounds, System
from ranklake.rating_kernels.core.beliefs import serial_map
from ranklake.rating_kernels.core.learning import SharedArrays, Tally
from ranklake.rating_kernels.core.standings import Floats, Ints, Longs
from ranklake.rating_kernels.core.system import Summary, select_rows
from ranklake.rating_kernels.warm import warm

from ..engines.protocols import RemoteCall
from .rater import BeliefColumns, BeliefReset, HandOver

Arrays = list[npt.NDArray[Any]]
RoundMetadata = dict[str, Any]  # what a round has but its rows: time_seconds, weight and so on


@dataclass(slots=True)
class _Round:
    """The current round: the whole field, and the places of this partition's players in it."""

    whole: Rounds
    prior: Prior
    rows: Ints
    partials: list[Arrays]  # filled by the maps so far
    places: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    summary: Summary | None = None


class ActorState:
    """The state of one worker. Calls name its methods."""

    def __init__(self) -> None:
        self._sequence = 0

    def do(self, sequence: int, calls: Sequence[RemoteCall]) -> list[Any]:
        """Make calls; the sequence number of each message is one higher than the last."""
        if sequence != self._sequence + 1:
            raise RuntimeError(f"calls arrived out of order: {sequence} after {self._sequence}")
        self._sequence = sequence
        return [getattr(self, name)(*arguments) for name, arguments in calls]


class PartitionWorker(ActorState):
    """One partition of a run: ``n_rows`` players on worker ``index`` of ``size``."""

    def __init__(self, system: str, params: Any, n_rows: int, index: int, size: int) -> None:
        super().__init__()
        self._system, self._params = SYSTEMS[system], params
        warm(self._system)  # here, where the timeout is long
        self._beliefs = self._system.newcomers(params, n_rows)
        self._index, self._size = index, size
        self._round: _Round | None = None
        self._sums: Longs | None = None  # of the last round
        self._next = np.empty(0, dtype=np.int32)  # rows of this partition's players in the next round

    def take(self, rows: Ints) -> BeliefColumns:
        return self._beliefs.take(rows)

    def put(self, rows: Ints, columns: BeliefColumns) -> None:
        self._beliefs.put(writable(rows), columns)

    def prior(self, metadata: RoundMetadata, rows: Ints, without: Ints, shared: SharedArrays) -> list[npt.NDArray[Any]]:
        """Diffuse this partition's players before the round; the driver sends the rows ``without`` already diffused."""
        self._share(shared)
        self._next = writable(rows)
        prior = diffuse(self._system, self._params, self._beliefs, metadata, np.delete(self._next, without))
        return [pack(column) for column in prior]

    def receive_priors(self, metadata: RoundMetadata, n: int, ties: Ints | None, prior: Sequence[Any]) -> None:
        """Receive the priors of all ``n`` participants of the round of the last :meth:`prior`, in standings order.

        ``ties``: the place of each row (``lo``); None without ties.
        """
        lo = np.arange(n, dtype=np.int32) if ties is None else writable(ties)
        starts = np.append(np.flatnonzero(np.diff(lo, prepend=-1)), n)
        hi = np.repeat(starts[1:] - 1, np.diff(starts)).astype(np.int32)
        everybody = Prior(*(unpack(column, n) for column in prior))
        whole = _round(metadata, np.zeros(n, dtype=np.int32), lo, hi)
        self._round = _Round(whole, everybody, self._next, [])

    def finish_round(self, places: Ints, wide: bool) -> Any:
        """Finish the round whose priors were received, or begin its summary if that is shared.

        ``places``: positions of this partition's players in the standings, ascending.
        """
        here = self._current()
        here.places = places
        if wide:
            return self.resume_summary()
        summary, perf = self._summarise(serial_map), np.full(here.whole.n_rows, np.nan)
        self._system.perform(self._params, summary, 0, len(summary.first) - 1, perf)
        return self._absorb(summary, perf[places])

    def receive_partials(self, filled: Arrays) -> None:
        """Receive the arrays that the last map of a shared summary has filled on all workers."""
        self._current().partials.append(filled)

    def resume_summary(self) -> tuple[str, Any]:
        """Begin or resume a shared summary.

        Returns ("filled", arrays) or ("perf", performances): the ranges that a map has filled here; or, of a complete
        summary, the performances of a range of places.
        """
        here = self._current()
        try:
            summary = self._summarise(_SharedMap(self._index, self._size, here.partials))
        except _FilledError as ready:
            return "filled", ready.arrays
        here.summary, here.partials = summary, []
        n = here.whole.n_rows
        first, last = np.searchsorted(summary.first, [n * i // self._size for i in (self._index, self._index + 1)])
        perf = np.full(n, np.nan)
        self._system.perform(self._params, summary, int(first), int(last), perf)
        return "perf", perf[summary.first[first] : summary.first[last]]

    def absorb(self, perf: Floats) -> tuple[Floats, Floats]:
        """Finish a round with a shared summary, given the performances of this partition's players."""
        here = self._current()
        assert here.summary is not None
        return self._absorb(here.summary, unpack(perf, len(here.rows)))[1:]

    def sums(self) -> Longs | None:
        """The sums over this partition's players by which the last round changes what all share."""
        return self._sums

    def reset(self, reset: BeliefReset, centre: float) -> None:
        """Reset beliefs of this partition's players; ``reset.players`` is the mask of its rows."""
        reset.apply(self._system, self._params, self._beliefs, centre)

    def ratings(self, n_rows: int) -> BeliefColumns:
        """The ratings of this partition's players, and their numbers of rounds."""
        return {"mu": self._beliefs.mu[:n_rows].copy(), "n_rounds": self._beliefs.n_rounds[:n_rows].copy()}

    def columns(self, n_rows: int) -> BeliefColumns:
        return self._beliefs.take(np.arange(n_rows))

    def hand_over(self, n_players: int, take: HandOver, shared: SharedArrays) -> Any:
        """Call a function with the beliefs of this partition's players, of so many on all workers."""
        self._share(shared)
        players = np.arange(self._index, n_players, self._size)
        return take(players, self.columns(len(players)))

    def restore(self, columns: BeliefColumns) -> None:
        self._beliefs.restore(columns)

    def _share(self, shared: SharedArrays) -> None:
        self._beliefs.shared = {name: writable(values) for name, values in shared.items()}

    def _current(self) -> _Round:
        assert self._round is not None
        return self._round

    def _summarise(self, map: Any) -> Summary:
        here = self._current()
        return self._system.summarise(self._params, here.prior, here.whole, map)

    def _absorb(self, summary: Summary, perf: Floats) -> tuple[Floats, Floats, Floats]:
        here, own = self._current(), self._current().places
        self._round = None
        part = replace(here.whole, offsets=np.array([0, len(own)]), player=here.rows)
        part = replace(part, lo=here.whole.lo[own], hi=here.whole.hi[own])
        all_of = here.prior
        prior = Prior(all_of.mu[own], all_of.sigma[own], all_of.beta[own], all_of.n_before[own])
        outcome = Outcome.empty(len(own))._replace(perf=perf)
        self._beliefs.reserve(here.rows)
        tally = Tally(self._system.learning, self._params, self._beliefs, part, prior)
        tally.add(0, len(own), perf)
        self._sums = tally.sums
        try:
            own_summary = select_rows(summary, own)
            self._system.absorb(self._params, self._beliefs, part, prior, own_summary, 0, len(own), outcome)
        except ConvergenceError as error:  # give the row in the whole round, not in this partition
            raise ConvergenceError(error.rule, None if error.row is None else int(own[error.row])) from None
        return pack(perf), outcome.mu, outcome.sigma


class _FilledError(Exception):
    """A map has filled its range; the ranges of the other workers are needed to continue."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays


class _SharedMap:
    """A map shared among workers: it fills its own range and stops, or takes the arrays that all have filled."""

    def __init__(self, index: int, size: int, known: Sequence[Arrays]) -> None:
        self._index, self._size, self._known = index, size, iter(known)

    def __call__(self, work: Callable[[int, int], None], n: int, *filled: npt.NDArray[Any]) -> None:
        if not filled:
            work(0, n)
            return
        ready = next(self._known, None)
        if ready is None:
            start, stop = n * self._index // self._size, n * (self._index + 1) // self._size
            if stop > start:
                work(start, stop)
            raise _FilledError([array[start:stop] for array in filled])
        for array, values in zip(filled, ready, strict=True):
            array[...] = values


def pack(column: npt.NDArray[Any]) -> Any:
    """A column, as one entry if all are the same."""
    raw = column.view(f"i{column.itemsize}")
    return column[:1] if len(column) and (raw == raw[0]).all() else column


def unpack(column: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
    """A packed column with its ``n`` entries."""
    return np.full(n, column[0]) if len(column) == 1 else writable(column)


def writable(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A writable array: kernels would be compiled again for the read-only arrays of messages."""
    return np.require(column, requirements=["C", "W"])


def diffuse(system: System, params: Any, beliefs: Beliefs, metadata: RoundMetadata, rows: Ints) -> Arrays:
    """Diffuse the beliefs in some rows before a round, in place; returns ``mu, sigma, beta, n_before``."""
    nothing = np.zeros(len(rows), dtype=np.int32)
    prior = Outcome.empty(len(rows)).prior
    system.prior(params, beliefs, _round(metadata, rows, nothing, nothing), 0, len(rows), prior)
    return [prior.mu, prior.sigma, prior.beta, prior.n_before]


def _round(metadata: RoundMetadata, player: Ints, lo: Ints, hi: Ints) -> Rounds:
    facts: dict[str, Any] = {name: writable(fact) for name, fact in metadata.items()}
    return Rounds(np.array([0, len(player)]), player, lo, hi, **facts)
