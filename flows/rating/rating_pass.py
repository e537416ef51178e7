"""A pass over the rounds of a data set in order, from the first round or from a snapshot."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels import ConvergenceError, Rounds
from ranklake.rating_kernels.core.ragged import from_stored
from ranklake.storage import DamagedError, LakeError, Run, StandingsPart
from ranklake.storage.lake.prefetch import prefetch
from ranklake.storage.runs.segments import AppliedReset

from ..chances.settings import LEARNT_KEY
from ..common.adapters import ContestFacts
from ..common.configuration.settings import find_system, rates_simultaneously
from ..common.skipping import Skipping
from ..engines.protocols import Engine
from ..events.apply import belief_reset
from ..events.resets import DueReset, by_round, cuts
from ..execution.outcomes import RoundError, named_error
from ..execution.rater import BeliefColumns, select_beliefs
from ..execution.raters import open_rater
from ..execution.refits import RefittedRater
from .commits.commit_policy import CommitPolicy
from .commits.rated_batch import RatedBatch
from .config import RunConfig, covariates_used
from .eligibility import Eligibility, Undecided
from .learning import Learning
from .plan import Plan
from .player_state import with_state
from .replay import Difference, largest_difference, machines_elsewhere

T = TypeVar("T")

_AHEAD = 4  # parts read while earlier ones are rated
_ROWS = 500_000  # of rounds that were rated before, read together
_BATCHES = 20  # at least, in the time after which a segment closes: some are read before their pace is known


class RatingPass:
    """Rates the contests of a plan's data set in order, without excluded ones.

    ``run`` has the ratings at entry of contests with limits, and the display rating that decides about others. With
    a ``policy``, small standings files are joined until they have as many rows as a segment, because each batch costs
    about a millisecond; those of slow rounds are not, so that segments of slow rounds can close in time.

    ``learning``: learns from the rounds that are rated; by default, only a run that rates by what it learns does so.
    ``rater``: the rater with the current beliefs.
    ``damaged_snapshots``: last rounds of damaged snapshots.
    ``accepted``: differences by rounding in rounds that were rated again.
    """

    def __init__(
        self,
        run: Run,
        config: RunConfig,
        plan: Plan,
        engine: Engine,
        policy: CommitPolicy | None = None,
        learning: Learning | None = None,
    ) -> None:
        if learning is None and LEARNT_KEY in plan.config:
            learning = Learning.of(config, plan, run)
        self._learning = learning
        self._run, self._plan, self._dataset, self._counts = run, plan, plan.dataset, ~plan.excluded
        self._system, self._params = find_system(config.system), config.params
        self._policy, self._rows_per_second = policy, 1.0  # of the last batch
        of_games = rates_simultaneously(config.params), covariates_used(config.params)
        self._facts = ContestFacts.of(plan.dataset.contests, self._counts, *of_games)
        self._eligibility = Eligibility(run, plan.dataset, self._counts)
        self._resets = by_round(plan.resets)
        self.rater = open_rater(self._system, config.params, plan.dataset.n_players, engine)
        if plan.state:
            self._restore(self._system.newcomers(config.params, 0).columns())
        self.damaged_snapshots: list[int] = []
        self.accepted: list[Difference] = []

    def rate(self, start: int, stop: int) -> Iterator[RatedBatch]:
        """Rate contests ``start`` to ``stop - 1``, the next ones; yields batches of whole standings files.

        A contest with limits is a batch of its own. The resets before a contest are applied when it is the next one.
        """
        for first, last in self._legs(start, stop):
            applied = tuple(map(self._reset, self._resets.get(first, ())))
            stored = _joined(self._dataset.standings(first, last), self._least_rows)
            parts = self._eligibility.split(_read_ahead(stored))
            waiting = deque(part for part in [next(parts, None)] if part is not None)
            while waiting:
                for rated in self._rate_parts(_until_wait(waiting.popleft(), parts, waiting)):
                    yield replace(rated, resets=applied) if rated.start == first else rated

    def _legs(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The contests that are rated without a pause: until the run learns, or a reset comes."""
        for first, last in [(start, stop)] if self._learning is None else self._learning.legs(start, stop):
            yield from cuts(self._plan.resets, first, last)

    def _reset(self, reset: DueReset) -> AppliedReset:
        try:
            centre = self.rater.reset(belief_reset(reset, self._params, self._dataset))
        except (ValueError, ConvergenceError) as error:
            raise LakeError(f"the reset of season {reset.event.name}: {error}") from error
        if self._eligibility.waits:
            self._eligibility.restore(self.rater.columns())
        return reset.applied(centre)

    def _rate_parts(self, parts: Iterator[Undecided]) -> Iterator[RatedBatch]:
        """Rate parts that the rater may read in advance."""
        unrated: deque[RatedBatch] = deque()  # read by the rater in advance
        outcomes = self.rater.rate_batches(self._remembered(parts, unrated))
        while True:
            began = time.perf_counter()
            try:
                outcome = next(outcomes, None)
            except RoundError as error:
                raise self._named(error, unrated[0]) from error
            if outcome is None:
                return
            batch = unrated.popleft()
            self._rows_per_second = batch.rounds.n_rows / max(time.perf_counter() - began, 1e-6)
            self._eligibility.follow(batch.rounds, outcome)
            rated = replace(batch, outcome=outcome)
            if self._learning is not None:
                self._learning.add(rated)
            yield rated

    def _least_rows(self) -> float:
        """Rows from which a batch is large enough."""
        if self._policy is None:
            return 0.0
        return min(self._policy.segment_rows, self._policy.segment_seconds / _BATCHES * self._rows_per_second)

    def _named(self, error: RoundError, batch: RatedBatch) -> ConvergenceError:
        """The error with the names of its contest and its player."""
        informative = batch.start + np.flatnonzero(batch.informative)
        at = int(informative[np.searchsorted(batch.first_rounds, error.round, "right") - 1])
        contest = self._dataset.contests.column("contest_id")[at].as_py()
        player = None if error.player is None else self._dataset.handles()[error.player].as_py()
        remedy = f"choose other settings, correct the contest, or exclude it with `ranklake rate --exclude {contest}`"
        return named_error(error, self._system, self._params, batch.rounds, contest, at, player, remedy)

    def _remembered(self, parts: Iterator[Undecided], unrated: deque[RatedBatch]) -> Iterator[Rounds]:
        """The rounds of the rated contests of parts; each part is appended to ``unrated`` when it is read."""
        for part, entry in map(self._eligibility.decide, parts):
            given = part if self._learning is None else self._learning.with_advantages(part)
            batch = unrated_batch(part, self._facts.rounds(given), self._counts, self._plan.skipping, entry)
            unrated.append(batch)
            yield batch.rounds

    def resume(self) -> int:
        """Restore the beliefs after the kept rounds: read the newest valid snapshot, and rate the rounds after it.

        If the run accepts rounding, the stored ratings of these rounds may differ by it; they stay as they are.

        Returns int: rounds rated again after the snapshot.
        Raises LakeError: a round rated again has another rating than the stored one.
        """
        stop = self._plan.kept
        start = self.restore(stop)
        for difference in self.differences(start, stop, ("mu", "sigma")):
            if not (self._plan.config.get("accept_rounding", False) and difference.is_rounding):
                raise difference.error(self._run, start, stop)
            self.accepted.append(difference)
        return stop - start

    def restore(self, stop: int) -> int:
        """Restore the newest valid snapshot of the first ``stop`` rounds; returns the round after it, 0 without one."""
        for last_round in reversed([number for number in self._run.snapshots() if number < stop]):
            try:
                columns, digest = self._run.read_snapshot(last_round)
            except DamagedError:
                self.damaged_snapshots.append(last_round)
                continue
            if digest == self._plan.digests[last_round]:
                self._restore(from_stored(columns))
                self._eligibility.restore(columns)
                if isinstance(self.rater, RefittedRater):
                    self.rater.follow(self._rounds_before(last_round + 1))
                return last_round + 1
        return 0

    def _rounds_before(self, stop: int) -> Iterator[Rounds]:
        """The rated rounds of the contests before ``stop``, of a run of games."""
        for part in _read_ahead(_joined(self._dataset.standings(0, stop), lambda: _ROWS)):
            start = part.first_contest
            counts = np.repeat(self._counts[start : start + len(part)], np.diff(part.offsets) // 2)
            yield self._facts.rounds(part).keep(counts)

    def _restore(self, columns: BeliefColumns) -> None:
        """Take stored beliefs; newcomers have the state that follows from their attributes."""
        if self._plan.state:
            every = np.arange(self._dataset.n_players)
            columns = with_state(select_beliefs(self._system, self._params, columns, every), self._plan.state)
        self.rater.restore(columns)

    def differences(
        self, start: int, stop: int, names: Sequence[str], on_round: Callable[[int], None] = lambda reached: None
    ) -> Iterator[Difference]:
        """Rate stored rounds again; yields each column of a segment that has other numbers.

        ``names``: numeric columns of the rounds table.
        ``on_round``: called with the first round that is not rated yet, after each batch.
        """
        rating, reached = self.rate(start, stop), start
        elsewhere: list[str] = []
        ahead = {name: np.empty(0) for name in names}  # rated, not compared yet
        for segment, table in self._run.iter_segments(start, stop, names, unrated=True):
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


def unrated_batch(
    part: StandingsPart,
    rounds: Rounds,
    counts: npt.NDArray[np.bool_],
    skipping: Skipping,
    entry: pa.Table | None = None,
) -> RatedBatch:
    """A batch without outcomes: a part of a data set, and its ``rounds`` without those that a run skips.

    ``counts``: mask of the contests of the data set that are not excluded.
    """
    start, stop = part.first_contest, part.first_contest + len(part)
    counts, facts = counts[start:stop], part.games
    if facts is None:
        reasons = np.where(counts, skipping.reasons(rounds), np.uint8(0))
        informative, games = counts & (reasons == 0), None
        rated = rounds.keep(informative)
    else:  # every game is a result
        reasons, informative = np.zeros(len(part), np.uint8), counts
        n_games = np.diff(part.offsets) // 2
        of_games = np.repeat(counts, n_games)
        games, rated = n_games[counts], rounds.keep(of_games)
        facts = facts if of_games.all() else facts.keep(of_games)
    return RatedBatch(start, stop, informative, reasons, rated, entry, games, facts)


def _until_wait(first: Undecided, parts: Iterator[Undecided], waiting: deque[Undecided]) -> Iterator[Undecided]:
    """The first part and those after it, up to one that needs their outcomes, which is added to ``waiting``."""
    yield first
    for part in parts:
        if part.waits:
            waiting.append(part)
            return
        yield part


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
