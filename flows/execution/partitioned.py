"""Beliefs partitioned over the workers of a cluster: each player is held by one worker.

A large round takes one trip to each worker and back, which ends it and fetches the priors of the next round. A very
large round takes two more trips, for its summary (``ClusterLimits.shared_summary_rows``). Consecutive small rounds are
rated in this process: their players' beliefs are fetched, all rounds are rated in one kernel call, and the new beliefs
go back with the next calls. So is each large round of teams, or with advantages.

What all players share is held by this process. A large round then takes two trips: its priors depend on what the round
before it changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Outcome, Rounds, System
from ranklake.rating_kernels.core.beliefs import serial_map
from ranklake.rating_kernels.core.learning import add_sums

from ..engines.protocols import ActorGroup, DistributedEngine, RemoteCall
from .batches import Batch, Stage
from .outcomes import check_outcome
from .partition_worker import PartitionWorker, diffuse, pack
from .partitioning import Partitioning, positions
from .rater import BeliefColumns, BeliefReset, HandOver, mean_of_rated
from .rounds import check_rounds, rate_few, split_batches

P = ParamSpec("P")
T = TypeVar("T")

_NO_ROWS = np.empty(0, dtype=np.int64)


class PartitionedRater:
    """A rater whose beliefs are held by all workers of an engine."""

    def __init__(self, system: System, params: Any, n_players: int, engine: DistributedEngine) -> None:
        self._system, self._params, self._n_players = system, params, n_players
        self._nobody = system.newcomers(params, 0)  # has what all players share
        self._shared_summary_rows = engine.limits.shared_summary_rows

        def init_args(index: int, size: int) -> tuple[Any, ...]:
            return system.name, params, len(range(index, n_players, size)), index, size

        self._group: ActorGroup = engine.start_actors(PartitionWorker, init_args)
        self._partitioning = Partitioning(n_players, self._group.size)
        self._queued = self._no_calls()  # calls that go with the next ones
        self._overlap = _Overlap(engine.limits.overlap_rows)
        self._in_progress = False
        self.phases: dict[str, tuple[float, int]] = {}
        self.workers, self.left_out = self._group.addresses, self._group.left_out

    def rate_batches(self, batches: Iterable[Rounds]) -> Iterator[Outcome]:
        plan = self._plan(batches)
        now, following, second = (next(plan, None) for _ in range(3))
        while now is not None:
            self._in_progress = following is not None
            with check_outcome(self._system, self._params, now.rounds, now.outcome, now.start):
                third = self._overlap.submit(now.n_rows if now.large else 0, next, plan, None)
                replies: list[Any] = []
                if now.large:
                    replies = self._rate_large(now, following, second)
                else:
                    self._rate_small(now, following)
                after = third()
                if following is not None and following.large and following.stage is Stage.FETCHED:
                    self._send(following, second, after)
                if now.large:  # while the workers compute the next one
                    since = time.perf_counter()
                    now.put_posteriors(replies)
                    self._record_phase("pack and unpack", since)
            if now.completes is not None:
                yield now.completes
            now, following, second = following, second, after

    def reset(self, reset: BeliefReset) -> float:
        self._check_idle()
        since = time.perf_counter()
        centre = self._mean() if reset.centre is None else reset.centre
        calls: list[list[RemoteCall]] = []
        for own in self._partitioning.players():
            players = None if reset.players is None else reset.players[own[own < len(reset.players)]]
            calls.append([("reset", (replace(reset, players=players), centre))])
        self._call(calls, self._n_players)
        self._record_phase("resets", since)
        return centre

    def _mean(self) -> float:
        """The mean rating of all players with a round."""
        calls: list[list[RemoteCall]] = [[("ratings", (len(own),))] for own in self._partitioning.players()]
        columns = self._partitioning.merge([reply[0] for reply in self._call(calls, self._n_players)])
        return mean_of_rated(columns["mu"], columns["n_rounds"])  # type: ignore[arg-type]  # one entry a player

    def columns(self) -> BeliefColumns:
        self._check_idle()
        calls: list[list[RemoteCall]] = [[("columns", (len(own),))] for own in self._partitioning.players()]
        columns = self._partitioning.merge([reply[0] for reply in self._call(calls, self._n_players)])
        return columns | self._nobody.shared_columns

    def hand_over(self, take: HandOver) -> list[Any]:
        self._check_idle()
        since = time.perf_counter()
        calls: list[list[RemoteCall]] = [
            [("hand_over", (self._n_players, take, self._nobody.shared))] for _ in range(self._group.size)
        ]
        results = [reply[0] for reply in self._call(calls, self._n_players)]
        self._record_phase("beliefs handed over", since)
        return results

    def restore(self, columns: BeliefColumns) -> None:
        self._check_idle()
        calls: list[list[RemoteCall]] = [[("restore", (part,))] for part in self._partitioning.cut(columns)]
        self._call(calls, self._n_players)
        self._nobody.share(columns)

    def close(self) -> None:
        self._overlap.close()
        self._group.close()

    def _check_idle(self) -> None:
        if self._in_progress:
            raise RuntimeError("the workers have begun a round that has not been rated; there are no beliefs to take")

    def _plan(self, batches: Iterable[Rounds]) -> Iterator[Batch]:
        """The rounds cut into batches, planned one at a time."""
        for rounds in batches:
            if rounds.n_rows and rounds.player.max() >= self._n_players:
                raise ValueError(f"player {rounds.player.max()} has no row in a store of {self._n_players} players")
            check_rounds(self._system, self._params, rounds)
            outcome = Outcome.empty(rounds.n_rows)
            for start, stop, large in split_batches(self._system, rounds) or [(0, 0, False)]:
                since = time.perf_counter()
                part = outcome.part(rounds.offsets[start], rounds.offsets[stop])
                completes = outcome if stop == len(rounds) else None
                batch = Batch.plan(self._partitioning, start, rounds.part(start, stop), large, part, completes)
                self._record_phase("plan", since)
                yield batch

    def _rate_small(self, now: Batch, following: Batch | None) -> None:
        """Rate small rounds here, and send the new beliefs with the next calls."""
        if now.stage is Stage.PLANNED:
            self._fetch(now, self._known(following))
        since = time.perf_counter()
        beliefs = self._system.newcomers(self._params, len(now.players))
        beliefs.shared = self._nobody.shared
        for places, columns in zip(now.places, now.beliefs, strict=True):
            beliefs.put(places, columns)
        if now.n_rows:
            rate_few(self._system, self._params, beliefs, now.numbered, serial_map, now.outcome)
        if following is not None and len(following.carried):
            rows = positions(following.players[following.carried], now.players).astype(np.int32)
            prior = diffuse(self._system, self._params, beliefs, following.metadata, rows)
            following.put_prior(following.carried, prior)
        for queued, places, rows in zip(self._queued, now.places, now.rows, strict=True):
            queued.append(("put", (rows, beliefs.take(places))))
        self._record_phase("small rounds", since)

    def _rate_large(self, now: Batch, following: Batch | None, second: Batch | None) -> list[Any]:
        """Have the workers rate a large round, and fetch for the next batches; each worker's new ratings."""
        if now.stage is Stage.PLANNED:
            self._fetch(now, following)
        if now.stage is Stage.FETCHED:
            self._send(now, following, second)
        since = time.perf_counter()
        replies = now.replies()
        if self._shares_summary(now):
            now.outcome.perf[:] = self._all_reduce([reply[0] for reply in replies], now.n_rows)
            since = self._record_phase("summary", since)
            absorb: list[RemoteCall] = [("absorb", (pack(perf),)) for perf in now.divide(now.outcome.perf)]
            since = self._record_phase("pack and unpack", since)
            fetch = self._last_calls(following, second)
            replies = self._call([[one, *more] for one, more in zip(absorb, fetch, strict=True)], now.n_rows)
        last = [reply[1:] for reply in replies]
        if self._nobody.shared:
            assert self._system.learning is not None
            sums = add_sums(self._system.learning, [reply[0] for reply in last if reply[0] is not None])
            self._system.learning.learn(self._params, self._nobody.shared, sums)
            last = [reply[1:] for reply in last]
        self._receive(self._known(following), self._known(second), last)
        self._record_phase("large rounds, next priors", since)
        return [reply[0] for reply in replies]

    def _send(self, batch: Batch, following: Batch | None, second: Batch | None) -> None:
        """Send a large round whose priors are known, with the calls that fetch for the next batches."""
        since = time.perf_counter()
        prior = list(map(pack, batch.prior_columns))
        to_all: list[RemoteCall] = [("receive_priors", (batch.metadata, batch.n_rows, batch.ties, prior))]
        shares = self._shares_summary(batch)
        fetch = self._no_calls() if shares else self._last_calls(following, second)
        calls: list[list[RemoteCall]] = [
            [("finish_round", (places, shares)), *more] for places, more in zip(batch.places, fetch, strict=True)
        ]
        batch.replies = self._overlap.submit(batch.n_rows, self._call, calls, batch.n_rows, to_all, self._take_queued())
        batch.stage = Stage.SENT
        self._record_phase("pack and unpack", since)

    def _fetch(self, batch: Batch, following: Batch | None) -> None:
        """Fetch for a batch in a trip of its own."""
        since = time.perf_counter()
        self._receive(batch, following, self._call(self._fetch_calls(batch, following), len(batch.players)))
        self._record_phase("priors", since)

    def _known(self, batch: Batch | None) -> Batch | None:
        """The batch if what it needs is known before those ahead of it are rated; priors read what all share."""
        return None if batch is None or (batch.large and self._nobody.shared) else batch

    def _last_calls(self, following: Batch | None, second: Batch | None) -> list[list[RemoteCall]]:
        """Calls for each worker after a large round: for its sums if all players share a state, then those that fetch
        for the next batches.
        """
        sums: list[RemoteCall] = [("sums", ())] if self._nobody.shared else []
        return [[*sums, *calls] for calls in self._fetch_calls(self._known(following), self._known(second))]

    def _fetch_calls(self, batch: Batch | None, following: Batch | None) -> list[list[RemoteCall]]:
        """Calls for each worker that fetch the priors of a large round, or the beliefs of the players of small ones.

        With the beliefs come the priors of a large round that follows, except those of players in both.
        """
        if batch is None:
            return self._no_calls()
        if batch.large:
            return [[("prior", (batch.metadata, rows, _NO_ROWS, self._nobody.shared))] for rows in batch.rows]
        calls: list[list[RemoteCall]] = [[("take", (rows,))] for rows in batch.rows]
        if following is not None and following.large:
            in_both = positions(following.players, batch.players) >= 0
            following.carried = np.flatnonzero(in_both)
            for own, places, rows in zip(calls, following.places, following.rows, strict=True):
                own.append(("prior", (following.metadata, rows, np.flatnonzero(in_both[places]), {})))
        return calls

    def _receive(self, batch: Batch | None, following: Batch | None, replies: Sequence[list[Any]]) -> None:
        """Take the replies to :meth:`_fetch_calls`."""
        if batch is None:
            return
        since = time.perf_counter()
        fetched = [batch] if batch.large or following is None or not following.large else [batch, following]
        for one, of_workers in zip(fetched, zip(*replies, strict=True), strict=True):
            if one.large:
                one.put_fetched_priors(of_workers)
            else:
                one.beliefs = list(of_workers)
            one.stage = Stage.FETCHED
        self._record_phase("pack and unpack", since)

    def _shares_summary(self, batch: Batch) -> bool:
        return batch.n_rows >= self._shared_summary_rows and self._group.size > 1

    def _all_reduce(self, replies: Sequence[tuple[str, Any]], n: int) -> npt.NDArray[np.float64]:
        """Performances of a round whose summary the workers share: each fills a range of each map, and receives all."""
        while True:
            parts = [part for _, part in replies]
            if all(kind == "perf" for kind, _ in replies):
                perf: npt.NDArray[np.float64] = np.concatenate(parts)
                return perf
            filled = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
            calls: list[list[RemoteCall]] = [[("resume_summary", ())] for _ in parts]
            replies = [reply[0] for reply in self._call(calls, n, [("receive_partials", (filled,))])]

    def _call(
        self,
        calls: Sequence[list[RemoteCall]],
        rows: int,
        to_all: Sequence[RemoteCall] = (),
        queued: list[list[RemoteCall]] | None = None,
    ) -> list[list[Any]]:
        """Make the queued calls and then ``calls``; returns the replies to the latter."""
        queued = self._take_queued() if queued is None else queued
        own = [[*first, *then] for first, then in zip(queued, calls, strict=True)]
        replies = self._group.call_all(own, rows, to_all)
        return [reply[len(to_all) + len(first) :] for reply, first in zip(replies, queued, strict=True)]

    def _no_calls(self) -> list[list[RemoteCall]]:
        return [[] for _ in range(self._group.size)]

    def _take_queued(self) -> list[list[RemoteCall]]:
        queued, self._queued = self._queued, self._no_calls()
        return queued

    def _record_phase(self, phase: str, since: float) -> float:
        """Add the time since then to a phase; returns the time now."""
        now = time.perf_counter()
        seconds, times = self.phases.get(phase, (0.0, 0))
        self.phases[phase] = seconds + now - since, times + 1
        return now


class _Overlap:
    """The driver's own work beside that of the workers, in rounds of so many participants.

    While the workers compute a long round, a thread plans the next batch, and another one sends the next long round
    while the driver writes the last one into its arrays. In shorter rounds the hand-over costs more than it gains.
    """

    def __init__(self, least_rows: int) -> None:
        self._least_rows = least_rows
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="ranklake-overlap")

    def submit(self, n_rows: int, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Callable[[], T]:
        """A function that returns the result of ``call``; a thread makes the call now if the round is long."""
        if n_rows >= self._least_rows:
            return self._threads.submit(call, *args, **kwargs).result
        return partial(call, *args, **kwargs)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
