"""Beliefs spread over a crew: every player is held by one worker, rounds by nobody.

A large round is one trip to each worker and back: they end it and begin the next. A very large one takes two more, for
its summary (:data:`WIDE`). A stretch of small rounds is rated here: its players' beliefs are fetched, all its rounds
are rated in one kernel call, and what is believed after them goes back with the next orders.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Outcome, Rounds, System
from ranklake.rating_kernels.core.beliefs import Column, Ragged
from ranklake.rating_kernels.core.standings import Ints, Longs

from ..engines.protocols import ActorGroup, DistributedEngine, RemoteCall
from .outcomes import checked
from .partition_worker import Partition, PartitionWorker, RoundMetadata, diffuse, pack, unpack
from .rater import BeliefColumns
from .rounds import split_batches

__all__ = ["SHARED_SUMMARY_ROWS", "PartitionedRater"]

SHARED_SUMMARY_ROWS = 50_000  # participants from which sharing the summary is worth two more trips to each worker
_NOBODY = np.empty(0, dtype=np.int32)
OVERLAP_ROWS = 20_000  # participants from which the driver overlaps its own work with that of the workers
SHARDS = 16  # a worker: players who came together are spread over all


@dataclass(slots=True)
class _Batch:
    """One large round, or small ones together, and which worker holds whom of its participants."""

    of: Rounds  # what was given, and where in it this begins
    start: int
    rounds: Rounds
    large: bool
    players: npt.NDArray[np.integer]  # whose beliefs are needed: row by row of a large round, otherwise each once
    numbered: Rounds  # of a small one: players by their place in ``players``
    places: list[Ints]  # in ``players``, of those that each worker holds
    rows: list[Ints]  # in its store
    begun: list[Any] | None = None  # each worker's beliefs of its players, once they have been asked for,
    early: list[Ints] | None = None  # but in a large round for these of its places: they play in the stretch before,
    settled: list[npt.NDArray[Any]] | None = None  # and their beliefs come from there
    prior: list[npt.NDArray[Any]] | None = None  # of a large round: beliefs before it, row by row
    meeting: Future[list[list[Any]]] | None = None  # what workers reply who are at work on it


class PartitionedRater:
    """A keeper whose beliefs are held by the workers of an engine."""

    ahead = 3

    def __init__(
        self,
        system: System,
        params: Any,
        n_players: int,
        engine: DistributedEngine,
        shards: int | None = None,
        wide: int | None = None,
    ) -> None:
        self._system, self._params, self._n_players = system, params, n_players
        self._wide = SHARED_SUMMARY_ROWS if wide is None else wide

        def init_args(place: int, size: int) -> tuple[Any, ...]:
            return system.name, params, len(_partition(place, size, shards).players(n_players)), place, size

        self._group: ActorGroup = engine.start_actors(PartitionWorker, init_args)
        size = self._group.size
        self._partitions = [_partition(place, size, shards) for place in range(size)]
        self._holder = np.empty(self._partitions[0].n_shards, dtype=np.int16)
        for place, partition in enumerate(self._partitions):
            self._holder[partition.shards] = place
        self._waiting: list[list[RemoteCall]] = [[] for _ in self._partitions]  # orders that go with the next ones
        self._prepared: list[_Batch] = []  # of rounds that were told ahead
        self._helpers = ThreadPoolExecutor(2, thread_name_prefix="ranklake-spread")  # one asks, one shares out
        self.phases: dict[str, tuple[float, int]] = {}

    def rate(self, rounds: Rounds, ahead: Sequence[Rounds] = ()) -> Outcome:
        if rounds.n_rows and rounds.player.max() >= self._n_players:
            raise ValueError(f"player {rounds.player.max()} has no row in a store of {self._n_players} players")
        outcome, done = Outcome.empty(rounds.n_rows), 0
        coming = self._batches([rounds, *ahead])
        now, then, after = next(coming, None), next(coming, None), next(coming, None)
        while now is not None and now.of is rounds:
            rows = outcome.part(done, done + now.rounds.n_rows)
            done += now.rounds.n_rows
            with checked(self._system, self._params, now.rounds, rows, now.start):
                if now.large:
                    preparing = self._helpers.submit(next, coming, None) if _is_long(now) else None
                    replies = self._rate_large(now, then, after, rows)
                    later = next(coming, None) if preparing is None else preparing.result()
                    self._start(then, after, later)
                    self._write_down(now, replies, rows)  # while workers are at work on the next
                else:
                    self._rate_small(now, then, rows)
                    later = next(coming, None)
                    self._start(then, after, later)
            now, then, after = then, after, later
        self._prepared = [one for one in (now, then, after) if one is not None]
        return outcome

    def columns(self) -> BeliefColumns:
        assert not any(one.begun for one in self._prepared), "beliefs before a round that has begun are nobody's"
        calls = [[("columns", (len(partition.players(self._n_players)),))] for partition in self._partitions]
        parts = [reply[0] for reply in self._ask(calls, self._n_players)]
        players = [partition.players(self._n_players) for partition in self._partitions]
        return {name: _merge([part[name] for part in parts], players, self._n_players) for name in parts[0]}

    def restore(self, columns: BeliefColumns) -> None:
        known = len(columns["mu"])
        calls: list[list[RemoteCall]] = []
        for partition in self._partitions:
            players = partition.players(known)
            calls.append([("restore", ({name: _some(column, players) for name, column in columns.items()},))])
        self._ask(calls, self._n_players)

    def close(self) -> None:
        self._helpers.shutdown(wait=False, cancel_futures=True)
        self._group.close()

    def _take_waiting(self) -> list[list[RemoteCall]]:
        waiting, self._waiting = self._waiting, [[] for _ in self._partitions]
        return waiting

    def _ask(
        self,
        calls: Sequence[list[RemoteCall]],
        rows: int = 0,
        to_all: Sequence[RemoteCall] = (),
        waiting: list[list[RemoteCall]] | None = None,
    ) -> list[list[Any]]:
        """Replies to orders."""
        waiting = self._take_waiting() if waiting is None else waiting
        replies = self._group.call_all([[*one, *two] for one, two in zip(waiting, calls, strict=True)], rows, to_all)
        return [reply[len(to_all) + len(one) :] for reply, one in zip(replies, waiting, strict=True)]

    def _spent(self, phase: str, since: float) -> float:
        """Count the time since then; returns the time now."""
        now = time.perf_counter()
        seconds, times = self.phases.get(phase, (0.0, 0))
        self.phases[phase] = seconds + now - since, times + 1
        return now

    def _batches(self, parts: Sequence[Rounds]) -> Iterator[_Batch]:
        prepared = {(id(one.of), one.start): one for one in self._prepared}
        for part in parts:
            for start, stop, large in split_batches(self._system, part):
                yield prepared.get((id(part), start)) or self._batch(part, start, stop, large)

    def _batch(self, of: Rounds, start: int, stop: int, large: bool) -> _Batch:
        rounds = of.part(start, stop)
        since = time.perf_counter()
        numbered = rounds
        players: npt.NDArray[np.integer] = rounds.player
        if not large:
            players, numbers = np.unique(rounds.player, return_inverse=True)
            numbered = Rounds(rounds.offsets, numbers.astype(np.int32), *_rest(rounds))
        holder = self._holder[players % len(self._holder)]
        order = np.argsort(holder, kind="stable").astype(np.int32)
        ends = np.cumsum(np.bincount(holder, minlength=len(self._partitions)))
        places = np.split(order, ends[:-1])
        rows = [partition.rows(players[own]) for partition, own in zip(self._partitions, places, strict=True)]
        self._spent("share out", since)
        return _Batch(of, start, rounds, large, players, numbered, places, rows)

    def _begin(self, batch: _Batch | None, after: _Batch | None) -> list[list[RemoteCall]]:
        """What to ask each worker first: beliefs before a large round; or of those who play in small ones, and before
        the large round after these, but for those who play in both."""
        if batch is None:
            return [[] for _ in self._partitions]
        if batch.large:
            return [[("prior", (_metadata(batch.rounds), rows, _NOBODY))] for rows in batch.rows]
        calls: list[list[RemoteCall]] = [[("take", (rows,))] for rows in batch.rows]
        if after is not None and after.large:
            again = _among(after.players, batch.players) >= 0
            after.early = [places[again[places]] for places in after.places]
            for own, places, rows in zip(calls, after.places, after.rows, strict=True):
                own.append(("prior", (_metadata(after.rounds), rows, np.flatnonzero(again[places]))))
        return calls

    def _receive_priors(self, batch: _Batch | None, after: _Batch | None, replies: Sequence[list[Any]]) -> None:
        """Replies to what was asked first."""
        if batch is not None:
            batch.begun = [reply[0] for reply in replies]
        if after is not None and after.early is not None:
            after.begun = [reply[1] for reply in replies]

    def _begun(self, batch: _Batch, after: _Batch | None) -> list[Any]:
        if batch.begun is None:
            since = time.perf_counter()
            self._receive_priors(batch, after, self._ask(self._begin(batch, after), len(batch.players)))
            self._spent("prior", since)
        assert batch.begun is not None
        return batch.begun

    def _rate_small(self, now: _Batch, then: _Batch | None, outcome: Outcome) -> None:
        columns = self._begun(now, then)
        since = time.perf_counter()
        beliefs = self._system.newcomers(self._params, len(now.players))
        for places, own in zip(now.places, columns, strict=True):
            beliefs.put(places, own)
        self._system.rate_small(self._params, beliefs, now.numbered, outcome)
        if then is not None and then.early is not None:
            again = _among(then.players[np.concatenate(then.early)], now.players).astype(np.int32)
            then.settled = diffuse(self._system, self._params, beliefs, _metadata(then.rounds), again)
        for waiting, places, rows in zip(self._waiting, now.places, now.rows, strict=True):
            waiting.append(("put", (rows, beliefs.take(places))))
        self._spent("small rounds", since)

    def _meeting(self, now: _Batch, then: _Batch | None, after: _Batch | None) -> tuple[Any, ...]:
        """What to ask for a large round, once beliefs before it have come: what :meth:`_ask` is given."""
        assert now.begun is not None
        since = time.perf_counter()
        n, wide = now.rounds.n_rows, self._is_wide(now)
        now.prior = self._laid_out(now, now.begun)
        to_all: list[RemoteCall] = [
            ("receive_priors", (_metadata(now.rounds), n, _ties(now.rounds), [pack(one) for one in now.prior]))
        ]
        begin = self._begin(None, None) if wide else self._begin(then, after)
        calls = [[("finish_round", (places, wide)), *more] for places, more in zip(now.places, begin, strict=True)]
        self._spent("lay out", since)
        return calls, n, to_all, self._take_waiting()

    def _start(self, now: _Batch | None, then: _Batch | None, after: _Batch | None) -> None:
        """Have workers begin a long round before anybody waits for them, if all is known that they must hear."""
        if now is not None and now.begun is not None and now.large and _is_long(now):
            now.meeting = self._helpers.submit(self._ask, *self._meeting(now, then, after))

    def _rate_large(self, now: _Batch, then: _Batch | None, after: _Batch | None, outcome: Outcome) -> list[Any]:
        """Wait for the end of a large round; what each worker says of its own players."""
        if now.meeting is None:
            self._begun(now, then)
            asked = self._meeting(now, then, after)
            since = time.perf_counter()
            replies = self._ask(*asked)
        else:
            since = time.perf_counter()
            replies = now.meeting.result()
        if self._is_wide(now):
            outcome.perf[:] = self._all_reduce([reply[0] for reply in replies], now.rounds.n_rows)
            since = self._spent("summary", since)
            absorb: list[RemoteCall] = [("absorb", (pack(outcome.perf[places]),)) for places in now.places]
            begin = self._begin(then, after)
            calls = [[one, *more] for one, more in zip(absorb, begin, strict=True)]
            replies = self._ask(calls, now.rounds.n_rows)
        self._receive_priors(then, after, [reply[1:] for reply in replies])
        self._spent("meet and absorb, next prior", since)
        return [reply[0] for reply in replies]

    def _write_down(self, now: _Batch, replies: Sequence[Any], outcome: Outcome) -> None:
        """What workers said of a large round, and what was believed before it."""
        since = time.perf_counter()
        assert now.prior is not None
        outcome.mu_prior[:], outcome.sigma_prior[:], _, outcome.n_before[:] = now.prior
        for places, (*perf, mu, sigma) in zip(now.places, replies, strict=True):
            if perf:
                outcome.perf[places] = unpack(perf[0], len(places))
            outcome.mu[places], outcome.sigma[places] = mu, sigma
        self._spent("lay out", since)

    def _is_wide(self, now: _Batch) -> bool:
        return now.rounds.n_rows >= self._wide and self._group.size > 1

    def _laid_out(self, now: _Batch, begun: Sequence[Any]) -> list[npt.NDArray[Any]]:
        """Beliefs before a large round, in standings order: ``mu, sigma, beta, n_before``."""
        n = now.rounds.n_rows
        columns: list[npt.NDArray[Any]] = [np.empty(n), np.empty(n), np.empty(n), np.empty(n, dtype=np.int32)]
        early = now.early or [_NOBODY] * len(begun)
        for own, one, places in zip(begun, early, now.places, strict=True):
            asked = np.setdiff1d(places, one, assume_unique=True) if len(one) else places
            for column, values in zip(columns, own, strict=True):
                column[asked] = unpack(values, len(asked))
        if now.settled is not None:
            for column, values in zip(columns, now.settled, strict=True):
                column[np.concatenate(early)] = values
        return columns

    def _all_reduce(self, replies: Sequence[tuple[str, Any]], n: int) -> npt.NDArray[np.float64]:
        """Performances of a round whose summary the workers share: they exchange what each fills until all have it."""
        while True:
            kinds = {kind for kind, _ in replies}
            assert len(kinds) == 1, "workers disagree where a summary stands"
            parts = [part for _, part in replies]
            if kinds == {"perf"}:
                perf: npt.NDArray[np.float64] = np.concatenate(parts)
                return perf
            filled = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
            replies = [
                reply[0]
                for reply in self._ask([[("resume_summary", ())]] * len(parts), n, [("receive_partials", (filled,))])
            ]


def _partition(place: int, size: int, shards: int | None) -> Partition:
    n_shards = shards or SHARDS * size
    return Partition(np.arange(place, n_shards, size), n_shards)


def _among(players: npt.NDArray[np.integer], others: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Where players stand among others, who ascend; -1 for those who do not."""
    at = np.minimum(np.searchsorted(others, players), len(others) - 1)
    return np.where(others[at] == players, at, -1)


def _is_long(batch: _Batch) -> bool:
    return batch.rounds.n_rows >= OVERLAP_ROWS


def _ties(rounds: Rounds) -> Ints | None:
    """Where each tie group of one round begins, row by row; None if nobody ties."""
    return None if np.array_equal(rounds.lo, rounds.hi) else rounds.lo


def _metadata(rounds: Rounds) -> RoundMetadata:
    return rounds.time_seconds, rounds.weight, rounds.perf_ceiling, rounds.event


def _rest(rounds: Rounds) -> tuple[Any, ...]:
    return rounds.lo, rounds.hi, *_metadata(rounds)


def _some(column: Column | Ragged, rows: Longs) -> Column | Ragged:
    """A column's entries, or lists, of some rows."""
    if not isinstance(column, tuple):
        return column[rows]
    offsets, values = column
    lengths = np.diff(offsets)[rows]
    ends = np.cumsum(lengths)
    at = np.repeat(offsets[:-1][rows] - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
    return np.concatenate(([0], ends)), values[at]


def _merge(parts: Sequence[Column | Ragged], rows: Sequence[Longs], n: int) -> Column | Ragged:
    """One column of ``n`` entries, or lists, of parts that hold some rows each."""
    if not isinstance(parts[0], tuple):
        merged = np.empty(n, dtype=parts[0].dtype)
        for own, part in zip(rows, parts, strict=True):
            merged[own] = part
        return merged
    lengths = np.empty(n, dtype=np.int64)
    for own, (offsets, _) in zip(rows, parts, strict=True):
        lengths[own] = np.diff(offsets)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    values = np.empty(offsets[-1])
    for own, (begins, part) in zip(rows, parts, strict=True):
        values[np.repeat(offsets[own] - begins[:-1], np.diff(begins)) + np.arange(len(part))] = part
    return offsets, values
