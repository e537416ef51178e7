"""Several runs on a cluster, each held by one worker.

Only batches of rounds and their outcomes travel, many in one call. A worker caches the batches, so that each is sent to
it once for all its runs. A single run is faster if its players are partitioned (:mod:`.partitioned`).
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np

from ranklake.rating_kernels import SYSTEMS, Outcome, Rounds, System
from ranklake.rating_kernels.warm import warm

from ..engines.protocols import DistributedEngine, RemoteCall
from ..engines.serial import Serial
from .local import LocalRater
from .outcomes import RoundError
from .partition_worker import ActorState, writable
from .rater import BeliefColumns, HandOver

__all__ = ["BatchCache", "PinnedPlacement", "PinnedRater", "PinnedWorker"]

TRIP_BATCHES, TRIP_ROWS = 9, 200_000  # at most, rated by one call; one batch may have more rows
CACHE_BYTES = 1 << 28  # of batches that a worker keeps for its other runs


class PinnedPlacement:
    """A cluster on which each run is placed on one worker, the one with the fewest runs.

    Parameters
    ----------
    engine
        The cluster. It stays open when this object is closed.
    """

    def __init__(self, engine: DistributedEngine) -> None:
        self.engine = engine

    @property
    def workers(self) -> int:
        return self.engine.workers

    @property
    def on_this_machine(self) -> bool:
        return self.engine.on_this_machine

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class BatchCache:
    """Batches of rounds by their digest; the least recently used are dropped first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes, self._bytes = max_bytes, 0
        self._rounds: OrderedDict[bytes, Rounds] = OrderedDict()
        self._lock = threading.Lock()  # two runs on one worker may use it in different threads

    def put(self, digest: bytes, rounds: Rounds) -> None:
        """Add a batch, and drop others until all fit; the last one is kept in any case."""
        with self._lock:
            if digest in self._rounds:
                return
            self._rounds[digest] = rounds
            self._bytes += _size(rounds)
            while self._bytes > self._max_bytes and len(self._rounds) > 1:
                self._bytes -= _size(self._rounds.popitem(last=False)[1])

    def get(self, digest: bytes) -> Rounds | None:
        """A cached batch, or None."""
        with self._lock:
            if digest in self._rounds:
                self._rounds.move_to_end(digest)
            return self._rounds.get(digest)


_CACHE = BatchCache(CACHE_BYTES)  # one in each worker process, for all its runs


class PinnedWorker(ActorState):
    """The state of a whole run, held by one worker."""

    def __init__(self, system: str, params: Any, n_players: int) -> None:
        super().__init__()
        warm(SYSTEMS[system])  # here, where the timeout is long
        self._n_players = n_players
        self._rater = LocalRater(SYSTEMS[system], params, n_players, Serial())

    def rate(self, digests: Sequence[bytes], given: dict[bytes, Rounds]) -> list[Outcome | RoundError] | list[bytes]:
        """Rate the batches with these digests. If a batch is neither sent nor cached, return its digest instead.

        If a batch cannot be rated, its error is the last entry.
        """
        parts = []
        for digest in digests:
            part = _CACHE.get(digest)
            if digest in given:
                part = Rounds.from_arrays([writable(array) for array in given[digest].arrays])
                _CACHE.put(digest, part)
            parts.append((digest, part))
        missing = [digest for digest, part in parts if part is None]
        if missing:
            return missing
        outcomes: list[Outcome | RoundError] = []
        try:
            for outcome in self._rater.rate_batches(part for _, part in parts if part is not None):
                outcomes.append(outcome)
        except RoundError as error:
            outcomes.append(error)
        return outcomes

    def columns(self) -> BeliefColumns:
        """The beliefs about all players."""
        return self._rater.columns()

    def hand_over(self, take: HandOver) -> Any:
        """Call a function with the beliefs about all players."""
        return take(np.arange(self._n_players), self._rater.columns())

    def restore(self, columns: BeliefColumns) -> None:
        """Take stored beliefs."""
        self._rater.restore(columns)


class PinnedRater:
    """A rater whose beliefs are held by one worker of a cluster."""

    def __init__(self, system: System, params: Any, n_players: int, engine: DistributedEngine) -> None:
        self._n_players = n_players
        self._group = engine.start_actors(PinnedWorker, lambda place, size: (system.name, params, n_players), 1)
        self._in_progress = False
        self.phases: dict[str, tuple[float, int]] = {}
        self.workers, self.left_out = self._group.addresses, self._group.left_out

    def rate_batches(self, batches: Iterable[Rounds]) -> Iterator[Outcome]:
        for trip in _trips(batches):
            for number, outcome in enumerate(self._rate_trip(trip), 1):
                if isinstance(outcome, RoundError):
                    raise outcome
                self._in_progress = number < len(trip)
                yield outcome

    def columns(self) -> BeliefColumns:
        self._check_idle()
        columns: BeliefColumns = self._call("columns")
        return columns

    def map_columns(self, n: int, work: Callable[[BeliefColumns], Any]) -> list[Any] | None:
        return None

    def hand_over(self, take: HandOver) -> list[Any]:
        self._check_idle()
        return [self._call("hand_over", take)]

    def restore(self, columns: BeliefColumns) -> None:
        self._call("restore", columns)

    def close(self) -> None:
        self._group.close()

    def _check_idle(self) -> None:
        if self._in_progress:
            raise RuntimeError("the worker has rated rounds whose outcomes have not been taken")

    def _rate_trip(self, parts: Sequence[Rounds]) -> list[Outcome | RoundError]:
        digests = [_digest(part) for part in parts]
        missing: list[bytes] = []
        while True:
            given = {digest: part for digest, part in zip(digests, parts, strict=True) if digest in missing}
            replies = self._call("rate", digests, given, rows=sum(part.n_rows for part in parts))
            if isinstance(replies[0], Outcome | RoundError):
                outcomes: list[Outcome | RoundError] = replies
                return outcomes
            missing += replies

    def _call(self, name: str, *given: Any, rows: int | None = None) -> Any:
        call: RemoteCall = name, given
        return self._group.call_all([[call]], self._n_players if rows is None else rows)[0][0]


def _trips(batches: Iterable[Rounds]) -> Iterator[list[Rounds]]:
    """Batches grouped into what one call rates."""
    trip: list[Rounds] = []
    n_rows = 0
    for batch in batches:
        if trip and (len(trip) == TRIP_BATCHES or n_rows + batch.n_rows > TRIP_ROWS):
            yield trip
            trip, n_rows = [], 0
        trip.append(batch)
        n_rows += batch.n_rows
    if trip:
        yield trip


def _digest(rounds: Rounds) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for array in rounds.arrays:
        digest.update(array)
    return digest.digest()


def _size(rounds: Rounds) -> int:
    return sum(array.nbytes for array in rounds.arrays)
