"""Rounds of a data set, one after the other, through a system: from the beginning or from a snapshot."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels import ConvergenceError, Outcome, Rounds, System
from ranklake.storage import DamagedError, Dataset, LakeError, Run, Segment, StandingsPart
from ranklake.storage.lake.prefetch import prefetch
from ranklake.storage.lake.remedies import remedy_for

from ..common.adapters import ContestFacts
from ..common.skipping import Skipping
from ..engines.protocols import Engine
from ..execution.factory import open_rater
from ..execution.outcomes import RoundError, in_full
from ..execution.rater import Rater

__all__ = ["RatedBatch", "RatingPass"]

T = TypeVar("T")

_AHEAD = 4  # parts read while earlier ones are rated


@dataclass(frozen=True, slots=True)
class RatedBatch:
    """Consecutive contests ``start`` to ``stop - 1`` of the data set, rated.

    Attributes
    ----------
    informative : bool[stop - start]
        Which of them were rated; the others are excluded, or passed over for a reason.
    reasons : uint8[stop - start]
        Why a contest that is not excluded was passed over: a key of :data:`.skipping.REASONS`; else 0.
    rounds, outcome
        The informative ones, and what they did.
    """

    start: int
    stop: int
    informative: npt.NDArray[np.bool_]
    reasons: npt.NDArray[np.uint8]
    rounds: Rounds
    outcome: Outcome


class RatingPass:
    """A system on its way through a data set; contests of the mask ``excluded`` count for nothing.

    Attributes
    ----------
    rater : Rater
        Holds what is believed after the rounds rated so far.
    damaged_snapshots : list of int
        Last rounds of the snapshots that were damaged, so that it could not be gone on from them.
    """

    def __init__(
        self,
        dataset: Dataset,
        system: System,
        params: Any,
        skipping: Skipping,
        engine: Engine,
        excluded: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        self._dataset, self._system, self._params = dataset, system, params
        self._counts = np.ones(dataset.contests.num_rows, dtype=bool) if excluded is None else ~excluded
        self._skipping, self._facts = skipping, ContestFacts.of(dataset.contests, self._counts)
        self.rater: Rater = open_rater(system, params, dataset.n_players, engine)
        self.damaged_snapshots: list[int] = []

    def rate(self, start: int, stop: int) -> Iterator[RatedBatch]:
        """Rate contests ``start`` to ``stop - 1``, which must be the next; a part at a time, as they lie in files."""
        for (part, reasons, informative, rounds), *then in _with_next(self._parts(start, stop), self.rater.ahead):
            try:
                outcome = self.rater.rate(rounds, [ahead[-1] for ahead in then])
            except RoundError as error:
                raise self._named(error, rounds, part.first_contest + np.flatnonzero(informative)) from error
            yield RatedBatch(part.first_contest, part.first_contest + len(part), informative, reasons, rounds, outcome)

    def _named(self, error: RoundError, rounds: Rounds, index: npt.NDArray[np.int64]) -> ConvergenceError:
        """The error with the names of the contest and of the player."""
        at = int(index[error.round])
        contest = self._dataset.contests.column("contest_id")[at].as_py()
        player = None if error.player is None else self._dataset.handles()[error.player].as_py()
        way = f"choose others, correct the contest, or pass it over with `ranklake rate --exclude {contest}`"
        return in_full(error, self._system, self._params, rounds, contest, at, player, way)

    def _parts(
        self, start: int, stop: int
    ) -> Iterator[tuple[StandingsPart, npt.NDArray[np.uint8], npt.NDArray[np.bool_], Rounds]]:
        """Contests as they lie in files, why some are passed over, which of them are rated, and these as rounds."""
        for part in _read_ahead(self._dataset.standings(start, stop)):
            rounds = self._facts.rounds(part)
            counts = self._counts[part.first_contest : part.first_contest + len(part)]
            reasons = np.where(counts, self._skipping.reasons(rounds), np.uint8(0))
            informative = counts & (reasons == 0)
            yield part, reasons, informative, rounds.keep(informative)

    def resume(self, run: Run, stop: int, digests: list[str]) -> int:
        """Believe what the run's first ``stop`` rounds say: from the newest snapshot that holds, and on from there.

        Returns
        -------
        int
            Rounds computed again after the snapshot.

        Raises
        ------
        LakeError
            They do not give the ratings on record.
        """
        start = self.restore(run, stop, digests)
        for segment, name in self.differences(run, start, stop, ("mu", "sigma")):
            first, last = max(start, segment.first_round), min(stop, segment.stop_round) - 1
            raise LakeError(
                f"{run.path_of(segment)}: rounds {first}-{last}, computed again, do not give the {name} on record; "
                f"another release or kind of machine wrote them: {remedy_for(run.path_of(segment))}, "
                "or use another --run",
                path=run.path_of(segment),
            )
        return stop - start

    def restore(self, run: Run, stop: int, digests: list[str]) -> int:
        """Believe what the newest sound snapshot of the first ``stop`` rounds says; returns the round after it."""
        for last_round in reversed([number for number in run.snapshots() if number < stop]):
            try:
                columns, digest = run.read_snapshot(last_round)
            except DamagedError:
                self.damaged_snapshots.append(last_round)
                continue
            if digest == digests[last_round]:
                self.rater.restore(columns)
                return last_round + 1
        return 0

    def differences(self, run: Run, start: int, stop: int, names: Sequence[str]) -> Iterator[tuple[Segment, str]]:
        """Rate rounds that are on record, and yield segments in which they get other numbers, with the column's name.

        Parameters
        ----------
        names
            Columns of the rounds table that hold numbers.
        """
        rating, reached = self.rate(start, stop), start
        ahead = {name: np.empty(0) for name in names}  # rated already, but not compared
        for segment, table in run.iter_segments(start, stop, names):
            outcomes = []
            while reached < min(stop, segment.stop_round):
                rated = next(rating)
                outcomes.append(rated.outcome)
                reached = rated.stop
            for name in names:
                again = np.concatenate([ahead[name], *(getattr(outcome, name) for outcome in outcomes)])
                again, ahead[name] = again[: table.num_rows], again[table.num_rows :]
                on_record = np.asarray(table.column(name).cast(pa.float64()).fill_null(np.nan))
                same = (again.view(np.int64) == on_record.view(np.int64)) | (np.isnan(again) & np.isnan(on_record))
                if not same.all():
                    yield segment, name


def _with_next(items: Iterator[T], n: int) -> Iterator[tuple[T, ...]]:
    """Each item, and the ``n`` that follow, as far as there are any."""
    window = deque(islice(items, n + 1))
    while window:
        yield tuple(window)
        window.popleft()
        window.extend(islice(items, 1))


def _read_ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, fetched by another thread a few steps ahead."""
    fetched = prefetch(lambda _: next(items, None), count(), _AHEAD - 1, 1, "ranklake-read")
    while (item := next(fetched)) is not None:
        yield item
