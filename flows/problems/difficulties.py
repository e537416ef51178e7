"""The difficulties of all problems of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels.problems.difficulty import SCALE, Entrants, difficulties
from ranklake.rating_kernels.problems.scale import Solves as ScaleSolves
from ranklake.rating_kernels.problems.scale import fit_scale
from ranklake.rating_kernels.warm import PROBLEMS
from ranklake.storage import Lake, LakeError, MissingError
from ranklake.storage.names.hints import hint, near_names

from ..common.configuration.settings import check_uncertainty
from ..common.progress import ProgressCallback, not_shown
from ..common.text import count
from ..compilation.compile import announce, compile_parts
from ..results.display import Display
from ..results.rated_rounds import RatedRounds
from .columns import COLUMNS
from .counted import counted_sets
from .entrants import Field, Fields, Floats, Longs
from .options import ProblemOptions
from .solves import RunResults, Solves

LIKELY = 0.8  # the chance of ``rating_80``


class ContestProblems(NamedTuple):
    """A contest with results.

    ``found``: the results, in which solves after the time limit are failures.
    ``own``: the numbers of its problems.
    ``counted``: the participations that count, None for all of the field, and the problems for which they do.
    """

    round_index: int
    field: Field
    found: Solves
    own: Longs
    counted: Sequence[tuple[Longs | None, Longs]]


class _Batch(NamedTuple):
    """Problems with the same participations.

    ``sets``: rounds and the participations of each, None for all. ``problems``: their numbers.
    ``solved``, ``weighted``: of each the sum of shares, and of shares times rating.
    """

    sets: tuple[tuple[int, Longs | None], ...]
    problems: Longs
    solved: Floats
    weighted: Floats


@dataclass(frozen=True)
class ProblemTable:
    """The problems of a run, hardest first; those that nobody who counts met are last.

    ``rows``: columns as of :data:`.columns.COLUMNS`. ``scale``: of the chances, rating points.
    ``n_left_out``: contests with results that the run has not rated.
    """

    rows: pa.Table
    scale: float
    n_left_out: int

    def notes(self) -> list[str]:
        """What the reader should know, one line each."""
        lines = []
        if self.n_left_out:
            n = count(self.n_left_out, "contest")
            lines.append(f"{n} with results left out: the run has not rated {'it' if self.n_left_out == 1 else 'them'}")
        if self.scale != SCALE:
            lines.append(f"scale {self.scale:.1f}: rating points in which the odds of a solve change tenfold")
        return lines


class RunProblems:
    """The problems of a run: its results beside its ratings at entry.

    Raises ValueError: ratings shall be uncertain, and the system has no uncertainty of skills.
    Raises LakeError: the run has no rated rounds or rates games, or its data set has no results.
    """

    def __init__(
        self, lake: Lake, run: str, options: ProblemOptions, on_progress: ProgressCallback = not_shown
    ) -> None:
        self.rounds, self.options = RatedRounds(lake, run), options
        if self.rounds.of_games:
            raise LakeError(f"run {run} rates games, which have no problems")
        display = Display.of(self.rounds.run)
        self.system = display.system
        self.uncertain = bool(self.system.uncertainty) if options.uncertain is None else options.uncertain
        if self.uncertain:
            check_uncertainty(self.system, "uncertain")
        self._contests = list(self.rounds.chain.contest_ids)
        self.results = RunResults(self.rounds.dataset, self._contests)
        wanted = self.results.rounds[self.results.rounds >= 0]
        self.fields = Fields(self.rounds, display.system, display.params, wanted, on_progress)
        rated = self.fields.sizes() > 0
        self.chosen = np.flatnonzero((self.results.rounds >= 0) & rated[self.results.rounds])
        self.used: dict[int, list[int]] = {}  # the rounds of each problem, in rated order
        for round_index, problems in self.results.problems_of(self.chosen):
            for problem in problems.tolist():
                self.used.setdefault(problem, []).append(round_index)
        for rounds in self.used.values():
            rounds.sort()
        self._n_left_out = len(self.results.rounds) - len(self.chosen)

    def only(self, contest: str) -> RunProblems:
        """One contest alone; raises as :meth:`check_contest`."""
        round_index, part = self.check_contest(contest), copy(self)
        part.chosen = self.chosen[self.results.rounds[self.chosen] == round_index]
        part.used = {problem: [round_index] for problem, rounds in self.used.items() if round_index in rounds}
        return part

    def table(
        self, on_contest: Callable[[ContestProblems], None] = lambda contest: None, found: np.ndarray | None = None
    ) -> ProblemTable:
        """The difficulties of all problems.

        ``on_contest``: called with each contest with results.
        ``found`` (float64[2, problems]): difficulties and deviations, which are then not computed.

        Raises LakeError: the order of the problems of a contest or the time of a solve is unknown, and needed.
        """
        n = len(self.results.problems.ids)
        counted, solved = np.zeros(n), np.zeros(n)
        first, solver = np.full(n, np.inf), np.full(n, -1, np.int32)
        batches = list(self._batches(counted, solved, first, solver, on_contest))
        compile_parts([PROBLEMS], announce)
        scale = self.options.scale if self.options.scale is not None else self._fit(batches)
        if found is None:
            found = np.full((2, n), np.nan)
            for batch in batches:
                made = difficulties(self._entrants(batch), batch.solved, scale)
                found[0, batch.problems], found[1, batch.problems] = made
        rows = self._rows(scale, counted, solved, found, first, solver)
        return ProblemTable(rows, scale, self._n_left_out)

    def of_contest(self, table: ProblemTable, contest: str | None) -> pa.Table:
        """The rows of the problems of a contest, None for all; raises as :meth:`check_contest`."""
        if contest is None:
            return table.rows
        round_index = self.check_contest(contest)
        own = [self.results.problems.ids[problem] for problem, rounds in self.used.items() if round_index in rounds]
        return table.rows.filter(pc.is_in(table.rows.column("problem"), value_set=pa.array(own, pa.string())))

    def check_contest(self, contest: str) -> int:
        """The round of a contest with results; ``MissingError`` if there is none."""
        with_results = {self._contests[int(self.results.rounds[row])]: row for row in self.chosen.tolist()}
        if contest not in with_results:
            near = hint(contest, near_names(contest, list(with_results)))
            raise MissingError(f"run {self.rounds.run.name} has no contest {contest!r} with results of problems{near}")
        return int(self.results.rounds[with_results[contest]])

    def in_time(self, found: Solves) -> Solves:
        """The results in which solves after the time limit are failures."""
        if self.options.time_limit is None:
            return found
        return found._replace(share=np.where(found.after > self.options.time_limit, 0.0, found.share))

    def contests(self) -> Iterator[ContestProblems]:
        """All contests with results, in the order of their files."""
        positions = self.results.problems.positions()
        of_round: dict[int, list[int]] = {}
        for problem, rounds in self.used.items():
            for round_index in rounds:
                of_round.setdefault(round_index, []).append(problem)
        timed = self.options.time_limit is not None
        for round_index, field, all_found in self.results.solves(self.chosen, self.fields, timed):
            found, own = self.in_time(all_found), np.array(of_round[round_index], np.int64)
            contest = self._contests[round_index]
            counted = list(counted_sets(self.options.count, field, found, own, positions, contest))
            yield ContestProblems(round_index, field, found, own, counted)

    def _batches(
        self,
        counted: Floats,
        solved: Floats,
        first: Floats,
        solver: np.ndarray,
        on_contest: Callable[[ContestProblems], None],
    ) -> Iterator[_Batch]:
        """The problems by who counts for them; adds to the counts, and to the first solves, of all problems."""
        n = len(counted)
        single = np.array([len(self.used.get(problem, ())) == 1 for problem in range(n)])
        weighted = np.zeros(n)
        shared: dict[int, list[tuple[int, Longs | None]]] = {}
        for contest in self.contests():
            on_contest(contest)
            round_index, field, found, own, sets = contest
            local = np.zeros(n, np.int64)
            local[own] = np.arange(len(own))
            at = local[found.problem]
            _note_first(found, first, solver)
            shares = np.bincount(at, found.share, minlength=len(own))
            levels = np.bincount(at, found.share * field.rating[found.row], minlength=len(own))
            for chosen, problems in sets:
                here = local[problems]
                counted[problems] += len(field.rating) if chosen is None else len(chosen)
                solved[problems] += shares[here]
                weighted[problems] += levels[here]
                alone = single[problems]
                if alone.any():
                    yield _Batch(((round_index, chosen),), problems[alone], shares[here][alone], levels[here][alone])
                for problem in problems[~alone].tolist():
                    shared.setdefault(problem, []).append((round_index, chosen))
        groups: dict[tuple[tuple[int, int], ...], list[int]] = {}
        for problem, parts in shared.items():
            groups.setdefault(tuple((r, 0 if chosen is None else id(chosen)) for r, chosen in parts), []).append(
                problem
            )
        for problems_of in groups.values():
            numbers = np.array(problems_of)
            yield _Batch(tuple(shared[problems_of[0]]), numbers, solved[numbers], weighted[numbers])

    def _entrants(self, batch: _Batch) -> Entrants:
        ratings, sigmas = [], []
        for round_index, chosen in batch.sets:
            field = self.fields.field(round_index)
            ratings.append(field.rating if chosen is None else field.rating[chosen])
            sigmas.append(field.sigma if chosen is None else field.sigma[chosen])
        rating = np.concatenate(ratings)
        return Entrants.of(rating, np.concatenate(sigmas) * self.system.uncertainty if self.uncertain else None)

    def _fit(self, batches: Sequence[_Batch]) -> float:
        """The scale of the greatest likelihood.

        Raises LakeError: no problem was solved by some and not by others.
        """
        fields = []
        for batch in batches:
            entrants = self._entrants(batch)
            both = (batch.solved > 0.0) & (batch.solved < len(entrants.rating))
            if both.any():
                mean = float(np.mean(entrants.rating))
                moments = batch.weighted[both] - mean * batch.solved[both]
                fields.append(ScaleSolves(entrants, batch.solved[both], moments))
        if not fields:
            raise LakeError("no problem was solved by some and not by others: the scale cannot be fitted; give --scale")
        return fit_scale(fields)

    def _rows(
        self, scale: float, counted: Floats, solved: Floats, found: np.ndarray, first: Floats, solver: np.ndarray
    ) -> pa.Table:
        """The table of problems."""
        used = np.array(sorted(self.used), np.int64)
        ids = [self.results.problems.ids[problem] for problem in used.tolist()]
        facts = self.results.problems.facts
        difficulty, deviation = found[:, used]
        counted, solved = counted[used], solved[used]
        met = counted > 0.0
        bound = np.where(met & (solved == 0.0), "above", np.where(met & (solved == counted), "below", ""))
        order = np.lexsort((np.array(ids), np.where(np.isnan(difficulty), np.inf, -difficulty)))
        likely = difficulty + scale * np.log10(LIKELY / (1.0 - LIKELY))
        share = np.divide(solved, counted, out=np.full(len(used), np.nan), where=met)
        handles = self.rounds.handles_of(np.maximum(solver[used], 0))
        columns = {
            "problem": ids,
            "name": [facts.get(name, {}).get("name") for name in ids],
            "contest": [self._contests[self.used[problem][0]] for problem in used.tolist()],
            "contests": [len(self.used[problem]) for problem in used.tolist()],
            "difficulty": pa.array(difficulty, from_pandas=True),
            "deviation": pa.array(deviation, from_pandas=True),
            "counted": counted,
            "solved": solved,
            "share": pa.array(share, from_pandas=True),
            "bound": pa.array(bound.tolist(), pa.string(), mask=bound == ""),
            "rating_80": pa.array(likely, from_pandas=True),
            "first_solved": pa.array(first[used], mask=~np.isfinite(first[used])),
            "first_solver": pa.array(handles.to_pylist(), pa.string(), mask=solver[used] < 0),
        }
        return pa.table(columns, schema=COLUMNS.remove_metadata()).take(pa.array(order))


def _note_first(found: Solves, first: Floats, solver: np.ndarray) -> None:
    """Note the earliest full solve of each problem so far."""
    full = np.flatnonzero((found.share == 1.0) & ~np.isnan(found.after))
    problem, after = found.problem[full], found.after[full]
    before = first[problem]
    np.minimum.at(first, problem, after)
    best = np.flatnonzero((after == first[problem]) & (after < before))[::-1]  # the first row of several stays
    solver[problem[best]] = found.player[full[best]]
