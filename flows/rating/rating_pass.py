"""A pass over the rounds of a data set in order, from the first round or from a snapshot."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels import ConvergenceError, Rounds, System
from ranklake.rating_kernels.core.ragged import from_stored
from ranklake.storage import DamagedError, Dataset, Run, StandingsPart
from ranklake.storage.lake.prefetch import prefetch

from ..common.adapters import ContestFacts
from ..common.configuration.settings import rates_simultaneously
from ..common.skipping import Skipping
from ..engines.protocols import Engine
from ..execution.local import open_rater
from ..execution.outcomes import RoundError, named_error
from ..execution.rater import Rater
from .commits.commit_policy import CommitPolicy
from .commits.rated_batch import RatedBatch
from .eligibility import Decided, Eligibility, Undecided
from .replay import Difference, largest_difference, machines_elsewhere

T = TypeVar("T")
_Part = tuple[Decided, npt.NDArray[np.uint8], npt.NDArray[np.bool_], Rounds]  # the items of _parts

_AHEAD = 4  # parts read while earlier ones are rated
_BATCHES = 20  # at least, in the time after which a segment closes: some are read before their pace is known


class RatingPass:
    """Rates the contests of a data set in order, without the contests of the mask ``excluded``.

    ``run`` has the ratings at entry of contests with limits, and the display rating that decides about others. With
    a ``policy``, small standings files are joined until they have as many rows as a segment, because each batch costs
    about a millisecond; those of slow rounds are not, so that segments of slow rounds can close in time.

    ``rater``: the rater with the current beliefs.
    ``damaged_snapshots``: last rounds of damaged snapshots.
    ``accepted``: differences by rounding in rounds that were rated again.
    """

    def __init__(
        self,
        run: Run,
        dataset: Dataset,
        system: System,
        params: Any,
        skipping: Skipping,
        engine: Engine,
        excluded: npt.NDArray[np.bool_] | None = None,
        policy: CommitPolicy | None = None,
    ) -> None:
        self._dataset, self._system, self._params = dataset, system, params
        self._counts = np.ones(dataset.contests.num_rows, dtype=bool) if excluded is None else ~excluded
        self._skipping = skipping
        self._policy, self._rows_per_second = policy, 1.0  # of the last batch
        self._facts = ContestFacts.of(dataset.contests, self._counts, rates_simultaneously(params))
        self._eligibility = Eligibility(run, dataset, self._counts)
        self.rater: Rater = open_rater(system, params, dataset.n_players, engine)
        self.damaged_snapshots: list[int] = []
        self.accepted: list[Difference] = []

    def rate(self, start: int, stop: int) -> Iterator[RatedBatch]:
        """Rate contests ``start`` to ``stop - 1``, the next ones; yields batches of whole standings files.

        A contest with limits is a batch of its own.
        """
        parts = self._eligibility.split(_read_ahead(_joined(self._dataset.standings(start, stop), self._least_rows)))
        waiting = deque(part for part in [next(parts, None)] if part is not None)
        while waiting:
            yield from self._rate_parts(_until_wait(waiting.popleft(), parts, waiting))

    def _rate_parts(self, parts: Iterator[Undecided]) -> Iterator[RatedBatch]:
        """Rate parts that the rater may read in advance."""
        unrated: deque[_Part] = deque()  # read by the rater in advance
        outcomes = self.rater.rate_batches(_remembered(self._parts(parts), unrated))
        while True:
            began = time.perf_counter()
            try:
                outcome = next(outcomes, None)
            except RoundError as error:
                (part, _), _, informative, rounds = unrated[0]
                contests = part.first_contest + np.flatnonzero(informative)
                games = _games(part, informative)
                raise self._named(error, rounds, contests if games is None else np.repeat(contests, games)) from error
            if outcome is None:
                return
            (part, entry), reasons, informative, rounds = unrated.popleft()
            self._rows_per_second = rounds.n_rows / max(time.perf_counter() - began, 1e-6)
            self._eligibility.follow(rounds, outcome)
            stop, games = part.first_contest + len(part), _games(part, informative)
            yield RatedBatch(part.first_contest, stop, informative, reasons, rounds, outcome, entry, games)

    def _least_rows(self) -> float:
        """Rows from which a batch is large enough."""
        if self._policy is None:
            return 0.0
        return min(self._policy.segment_rows, self._policy.segment_seconds / _BATCHES * self._rows_per_second)

    def _named(self, error: RoundError, rounds: Rounds, index: npt.NDArray[np.int64]) -> ConvergenceError:
        """The error with the names of its contest and its player."""
        at = int(index[error.round])
        contest = self._dataset.contests.column("contest_id")[at].as_py()
        player = None if error.player is None else self._dataset.handles()[error.player].as_py()
        remedy = f"choose other settings, correct the contest, or exclude it with `ranklake rate --exclude {contest}`"
        return named_error(error, self._system, self._params, rounds, contest, at, player, remedy)

    def _parts(self, parts: Iterator[Undecided]) -> Iterator[_Part]:
        """Decided parts, each with the skip reasons, and the rated contests as a mask and as rounds."""
        for decided in map(self._eligibility.decide, parts):
            part = decided.part
            rounds = self._facts.rounds(part)
            counts = self._counts[part.first_contest : part.first_contest + len(part)]
            if part.games is not None:  # every game is a result
                of_game = np.repeat(counts, np.diff(part.offsets) // 2)
                yield decided, np.zeros(len(part), np.uint8), counts, rounds.keep(of_game)
                continue
            reasons = np.where(counts, self._skipping.reasons(rounds), np.uint8(0))
            informative = counts & (reasons == 0)
            yield decided, reasons, informative, rounds.keep(informative)

    def resume(self, run: Run, stop: int, digests: list[str], accept_rounding: bool = False) -> int:
        """Restore the beliefs after ``stop`` rounds: read the newest valid snapshot, and rate the rounds after it.

        With ``accept_rounding``, the stored ratings of these rounds may differ by rounding; they stay as they are.

        Returns int: rounds rated again after the snapshot.
        Raises LakeError: a round rated again has another rating than the stored one.
        """
        start = self.restore(run, stop, digests)
        for difference in self.differences(run, start, stop, ("mu", "sigma")):
            if not (accept_rounding and difference.is_rounding):
                raise difference.error(run, start, stop)
            self.accepted.append(difference)
        return stop - start

    def restore(self, run: Run, stop: int, digests: list[str]) -> int:
        """Restore the newest valid snapshot of the first ``stop`` rounds; returns the round after it, 0 without one."""
        for last_round in reversed([number for number in run.snapshots() if number < stop]):
            try:
                columns, digest = run.read_snapshot(last_round)
            except DamagedError:
                self.damaged_snapshots.append(last_round)
                continue
            if digest == digests[last_round]:
                self.rater.restore(from_stored(columns))
                self._eligibility.restore(columns)
                return last_round + 1
        return 0

    def differences(
        self,
        run: Run,
        start: int,
        stop: int,
        names: Sequence[str],
        on_round: Callable[[int], None] = lambda reached: None,
    ) -> Iterator[Difference]:
        """Rate stored rounds again; yields each column of a segment that has other numbers.

        ``names``: numeric columns of the rounds table.
        ``on_round``: called with the first round that is not rated yet, after each batch.
        """
        rating, reached = self.rate(start, stop), start
        elsewhere: list[str] = []
        ahead = {name: np.empty(0) for name in names}  # rated, not compared yet
        for segment, table in run.iter_segments(start, stop, names, unrated=True):
            outcomes = []
            elsewhere = machines_elsewhere(segment, elsewhere)
            while reached < min(stop, segment.stop_round):
                rated = next(rating)
                outcomes.append(rated.outcome)
                reached = rated.stop
                on_round(reached)
            for name in names:
                again = np.concatenate([ahead[name], *(getattr(outcome, name) for outcome in outcomes)])
                again, ahead[name] = again[: table.num_rows], again[table.num_rows :]
                on_record = np.asarray(table.column(name).cast(pa.float64()).fill_null(np.nan))
                if (points := largest_difference(again, on_record)) is not None:
                    yield Difference(segment, name, points, elsewhere)


def _until_wait(first: Undecided, parts: Iterator[Undecided], waiting: deque[Undecided]) -> Iterator[Undecided]:
    """The first part and those after it, up to one that needs their outcomes, which is added to ``waiting``."""
    yield first
    for part in parts:
        if part.waits:
            waiting.append(part)
            return
        yield part


def _games(part: StandingsPart, informative: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64] | None:
    """Number of games of the informative contests; None if each is one round."""
    return None if part.games is None else np.diff(part.offsets)[informative] // 2


def _remembered(parts: Iterator[_Part], unrated: deque[_Part]) -> Iterator[Rounds]:
    """The rounds of parts; each part is appended to ``unrated`` when it is read."""
    for part in parts:
        unrated.append(part)
        yield part[-1]


def _joined(parts: Iterator[StandingsPart], least_rows: Callable[[], float]) -> Iterator[StandingsPart]:
    """The same contests; small plain parts are joined until they have ``least_rows`` rows."""
    waiting: list[StandingsPart] = []
    n_rows = 0
    for part in parts:
        if waiting and not (waiting[0].is_plain and part.is_plain):
            yield StandingsPart.concat(waiting)
            waiting, n_rows = [], 0
        waiting.append(part)
        n_rows += len(part.player)
        if n_rows >= least_rows():
            yield StandingsPart.concat(waiting)
            waiting, n_rows = [], 0
    if waiting:
        yield StandingsPart.concat(waiting)


def _read_ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, prefetched by another thread."""
    fetched = prefetch(lambda _: next(items, None), count(), _AHEAD - 1, 1, "ranklake-read")
    while (item := next(fetched)) is not None:
        yield item
