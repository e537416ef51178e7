"""A worker's share of a run: it holds the beliefs of some players and does their part of every round.

A round is two exchanges. First everybody's diffused beliefs (:meth:`Share.prior`) go out to all (:meth:`Share.hear`);
then each worker makes the summary of the whole field for itself, finds the performances, and absorbs those of its own
players (:meth:`Share.meet`). What travels is arrays: beliefs before the round and places, never histories. Of a very
large field the summary is shared, too: its maps fill arrays in ranges, and the workers exchange what each has filled
(:meth:`Share.know`, :meth:`Share.join`). A summary has no state but these arrays: to go on, it is begun again with
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import SYSTEMS, Beliefs, ConvergenceError, Outcome, Prior, Rounds, System
from ranklake.rating_kernels.core.beliefs import Column, Ragged, serial_map
from ranklake.rating_kernels.core.standings import Floats, Ints
from ranklake.rating_kernels.core.system import Summary, select_rows
from ranklake.rating_kernels.warm import warm

from ..engines.protocols import RemoteCall

__all__ = ["ActorState", "PartitionWorker", "RoundMetadata", "diffuse", "pack", "unpack", "writable"]

Arrays = list[npt.NDArray[Any]]
RoundMetadata = tuple[npt.NDArray[Any], ...]  # of a round: time_seconds, weight, perf_ceiling, event


@dataclass(slots=True)
class _Round:
    """A round that is being worked on: the whole field, and where its own players stand in it."""

    whole: Rounds
    prior: Prior
    rows: Ints
    known: list[Arrays]  # what maps have filled so far
    places: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    summary: Summary | None = None


class ActorState:
    """The state of one worker: it carries out orders, which are its methods' names and arguments."""

    def __init__(self) -> None:
        self._sequence = 0

    def do(self, sequence: int, calls: Sequence[RemoteCall]) -> list[Any]:
        """Carry out orders; each turn once, and none left out."""
        if sequence != self._sequence + 1:
            raise RuntimeError(f"calls arrived out of order: {sequence} after {self._sequence}")
        self._sequence = sequence
        return [getattr(self, name)(*arguments) for name, arguments in calls]


class PartitionWorker(ActorState):
    """One worker's part of a run.

    Parameters
    ----------
    system, params
        A key of ``SYSTEMS`` and its hyperparameters.
    n_rows
        Players it holds.
    place, size
        Which of how many workers it is.
    """

    def __init__(self, system: str, params: Any, n_rows: int, place: int, size: int) -> None:
        super().__init__()
        self._system, self._params = SYSTEMS[system], params
        warm(self._system)  # here, where it may take its time
        self._beliefs = self._system.newcomers(params, n_rows)
        self._place, self._size = place, size
        self._round: _Round | None = None
        self._next = np.empty(0, dtype=np.int32)  # rows of its players in the round that is to be met next

    def take(self, rows: Ints) -> dict[str, Column | Ragged]:
        """What it believes of some of its players."""
        return self._beliefs.take(rows)

    def put(self, rows: Ints, columns: dict[str, Column | Ragged]) -> None:
        """Believe of some of its players what is given."""
        self._beliefs.put(writable(rows), columns)

    def prior(self, metadata: RoundMetadata, rows: Ints, without: Ints) -> list[npt.NDArray[Any]]:
        """Diffuse the beliefs of its players before a round, but for some: these come diffused, before it is met."""
        self._next = writable(rows)
        prior = diffuse(self._system, self._params, self._beliefs, metadata, np.delete(self._next, without))
        return [pack(column) for column in prior]

    def receive_priors(self, metadata: RoundMetadata, n: int, ties: Ints | None, prior: Sequence[Any]) -> None:
        """Hear everybody's beliefs before a round, the one of the last :meth:`prior`; in standings order.

        Parameters
        ----------
        n
            Participants.
        ties
            The places of all (``lo``), unless nobody ties.
        """
        lo = np.arange(n, dtype=np.int32) if ties is None else writable(ties)
        starts = np.append(np.flatnonzero(np.diff(lo, prepend=-1)), n)
        hi = np.repeat(starts[1:] - 1, np.diff(starts)).astype(np.int32)
        everybody = Prior(*(unpack(column, n) for column in prior))
        whole = _round(metadata, np.zeros(n, dtype=np.int32), lo, hi)
        self._round = _Round(whole, everybody, self._next, [])

    def finish_round(self, places: Ints, wide: bool) -> Any:
        """The rest of the round that was heard of, or its beginning if the summary is to be shared.

        Parameters
        ----------
        places
            Where its own players stand there, ascending: those of the last :meth:`prior`.
        """
        self._current().places = places
        return self.resume_summary() if wide else self._finish(self._summarise(serial_map))

    def receive_partials(self, filled: Arrays) -> None:
        """Hear what the last map of a shared summary has filled everywhere."""
        self._current().known.append(filled)

    def resume_summary(self) -> tuple[str, Any]:
        """Go on with a summary, or begin it: what a map has filled here, or performances of a range of places."""
        here = self._current()
        try:
            summary = self._summarise(_SharedMap(self._place, self._size, here.known))
        except _FilledError as ready:
            return "filled", ready.arrays
        here.summary, here.known = summary, []
        n = here.whole.n_rows
        first, last = np.searchsorted(
            summary.first, (n * self._place // self._size, n * (self._place + 1) // self._size)
        )
        perf = np.full(n, np.nan)
        self._system.perform(self._params, summary, int(first), int(last), perf)
        return "perf", perf[summary.first[first] : summary.first[last]]

    def absorb(self, perf: Floats) -> tuple[Floats, Floats]:
        """The end of a round whose summary was shared, given the performances of its own players."""
        here = self._current()
        assert here.summary is not None
        return self._absorb(here.summary, unpack(perf, len(here.rows)))[1:]

    def columns(self, n_rows: int) -> dict[str, Column | Ragged]:
        """What it believes of the first so many of its rows."""
        return self._beliefs.take(np.arange(n_rows))

    def restore(self, columns: dict[str, Column | Ragged]) -> None:
        """Believe of its first rows what was stored."""
        self._beliefs.restore(columns)

    def _current(self) -> _Round:
        assert self._round is not None
        return self._round

    def _summarise(self, map: Any) -> Summary:
        here = self._current()
        return self._system.summarise(self._params, here.prior, here.whole, map)

    def _finish(self, summary: Summary) -> tuple[Floats, Floats, Floats]:
        here = self._current()
        perf = np.full(here.whole.n_rows, np.nan)
        self._system.perform(self._params, summary, 0, len(summary.first) - 1, perf)
        return self._absorb(summary, perf[here.places])

    def _absorb(self, summary: Summary, perf: Floats) -> tuple[Floats, Floats, Floats]:
        here, own = self._current(), self._current().places
        self._round = None
        part = replace(here.whole, offsets=np.array([0, len(own)]), player=here.rows)
        part = replace(part, lo=here.whole.lo[own], hi=here.whole.hi[own])
        all_of = here.prior
        prior = Prior(all_of.mu[own], all_of.sigma[own], all_of.beta[own], all_of.n_before[own])
        outcome = replace(Outcome.empty(len(own)), perf=perf)
        self._beliefs.reserve(here.rows)
        try:
            self._system.absorb(
                self._params, self._beliefs, part, prior, select_rows(summary, own), 0, len(own), outcome
            )
        except ConvergenceError as error:  # tell the row of the whole round, not that of this worker's part
            raise ConvergenceError(error.rule, None if error.row is None else int(own[error.row])) from None
        return pack(perf), outcome.mu, outcome.sigma


class _FilledError(Exception):
    """A map has filled its range here; the others' ranges are needed to go on."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays


class _SharedMap:
    """A map whose ranges are shared with other workers: it fills its own and stops, or takes what all have filled."""

    def __init__(self, place: int, size: int, known: Sequence[Arrays]) -> None:
        self._place, self._size, self._known = place, size, iter(known)

    def __call__(self, work: Callable[[int, int], None], n: int, *filled: npt.NDArray[Any]) -> None:
        if not filled:
            work(0, n)
            return
        ready = next(self._known, None)
        if ready is None:
            start, stop = n * self._place // self._size, n * (self._place + 1) // self._size
            if stop > start:
                work(start, stop)
            raise _FilledError([array[start:stop] for array in filled])
        for array, values in zip(filled, ready, strict=True):
            array[...] = values


def pack(column: npt.NDArray[Any]) -> Any:
    """A column for the road: one entry if all are the same."""
    raw = column.view(f"i{column.itemsize}")
    return column[:1] if len(column) and (raw == raw[0]).all() else column


def unpack(column: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
    """The column again, of ``n`` entries."""
    return np.full(n, column[0]) if len(column) == 1 else writable(column)


def writable(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array for kernels: what came over a wire may be read-only, for which they would be compiled again."""
    return np.require(column, requirements=["C", "W"])


def diffuse(system: System, params: Any, beliefs: Beliefs, metadata: RoundMetadata, rows: Ints) -> Arrays:
    """Diffuse what is believed of some rows before a round, in place; ``mu, sigma, beta, n_before``."""
    nothing = np.zeros(len(rows), dtype=np.int32)
    prior = Outcome.empty(len(rows)).prior
    system.prior(params, beliefs, _round(metadata, rows, nothing, nothing), 0, len(rows), prior)
    return [prior.mu, prior.sigma, prior.beta, prior.n_before]


def _round(metadata: RoundMetadata, player: Ints, lo: Ints, hi: Ints) -> Rounds:
    return Rounds(np.array([0, len(player)]), player, lo, hi, *(writable(fact) for fact in metadata))
