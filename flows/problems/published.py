"""The problems of a run as its published index has them: difficulties, seen shares by bands of rating, and solves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from .columns import BAND, OF_PROBLEMS, PROBLEM_ROWS, SOLVES
from .difficulties import ContestProblems, RunProblems
from .entrants import Field, Floats, Ints, Longs


class RunProblemTables(NamedTuple):
    """The tables ``PROBLEM_ROWS`` and ``SOLVES`` of a run.

    ``scale``: of the chances, rating points. ``uncertainty``: the factor with which sigma flattens them; 0 if it does
    not. ``left_out``: contests with results that the run has not rated.
    """

    problems: pa.Table
    solves: pa.Table
    scale: float
    uncertainty: float
    left_out: int


def problem_tables(of: RunProblems) -> RunProblemTables:
    """The problems of a run; raises as :meth:`RunProblems.table`."""
    seen = _Seen(len(of.results.problems.ids))
    found = of.table(seen.add)
    number = {name: at for at, name in enumerate(of.results.problems.ids)}
    order = np.array([number[name] for name in found.rows.column("problem").to_pylist()], np.int64)
    facts = [of.results.problems.facts.get(of.results.problems.ids[at], {}) for at in order.tolist()]
    bands = [seen.of_problem(at) for at in order.tolist()]
    columns = [
        *found.rows.columns,
        [fact.get("url") for fact in facts],
        [fact.get("tags") for fact in facts],
        [fact.get("position") for fact in facts],
        [of.used[at] for at in order.tolist()],
        [low for low, _, _ in bands],
        [counted for _, counted, _ in bands],
        [solved for _, _, solved in bands],
    ]
    uncertainty = float(of.system.uncertainty) if of.uncertain else 0.0
    problems = pa.table(columns, schema=PROBLEM_ROWS)
    return RunProblemTables(problems, seen.solves(order), found.scale, uncertainty, found.n_left_out)


def published_problems(tables: RunProblemTables) -> pa.Table:
    """The table ``problems`` of :data:`OF_PROBLEMS`, hardest first."""
    schema, rows = OF_PROBLEMS["problems"], tables.problems
    tags = [None if tags is None else ";".join(tags) for tags in rows.column("tags").to_pylist()]
    return (
        rows.select(schema.names)
        .set_column(schema.names.index("tags"), schema.field("tags"), pa.array(tags, pa.string()))
        .cast(schema)
    )


def published_results(of: RunProblems, contest_ids: pa.StringArray, start: int) -> Iterator[pa.RecordBatch]:
    """The table ``results`` of :data:`OF_PROBLEMS` for the rounds from ``start`` on; ``contest_ids`` of all rounds."""
    schema = OF_PROBLEMS["results"]
    wanted = of.chosen[of.results.rounds[of.chosen] >= start]
    for rows in of.results.rows(wanted, of.fields):
        index, player = (rows.column(name).combine_chunks() for name in ("round_index", "player"))
        named = {"contest_id": contest_ids.take(index), "handle": of.rounds.handles_of(player.to_numpy())}
        columns = {name: rows.column(name) for name in rows.column_names} | named
        yield from pa.table([columns[name] for name in schema.names], schema=schema).combine_chunks().to_batches()


class _Seen:
    """What is seen of each problem, contest by contest: solves by bands, and who solved it."""

    def __init__(self, n_problems: int) -> None:
        self._bands: list[list[tuple[int, Floats, Floats]]] = [[] for _ in range(n_problems)]
        self._solves: list[tuple[Ints, Ints]] = []

    def add(self, contest: ContestProblems) -> None:
        """Add the results of a contest."""
        field, found = contest.field, contest.found
        band = np.floor(field.rating / BAND).astype(np.int64)
        low = int(band.min(initial=0))
        band -= low
        n = int(band.max(initial=0)) + 1
        local = np.zeros(len(self._bands), np.int64)
        local[contest.own] = np.arange(len(contest.own))
        solved = np.bincount(local[found.problem] * n + band[found.row], found.share, minlength=len(contest.own) * n)
        solved = solved.reshape(-1, n)
        for chosen, problems in contest.counted:
            counted = np.bincount(band if chosen is None else band[chosen], minlength=n).astype(np.float64)
            for problem in problems.tolist():
                self._bands[problem].append((low, counted, solved[local[problem]]))
        full = found.share == 1.0
        self._solves.append(_members(field, found.row[full], found.problem[full]))

    def of_problem(self, number: int) -> tuple[float | None, list[float], list[float]]:
        """The lowest rating of the first band, and of each band the number counted and solved; empty bands at the ends
        are left out.
        """
        parts = self._bands[number]
        start = min((low for low, _, _ in parts), default=0)
        stop = max((low + len(counted) for low, counted, _ in parts), default=0)
        total = np.zeros((2, stop - start))
        for low, *values in parts:
            total[:, low - start : low - start + len(values[0])] += values
        there = np.flatnonzero(total[0])
        if not len(there):
            return None, [], []
        counted, solved = total[:, there[0] : there[-1] + 1].tolist()
        return float(start + there[0]) * BAND, counted, solved

    def solves(self, order: Longs) -> pa.Table:
        """The table ``SOLVES``; ``order`` has the number of the problem of each row."""
        row = np.zeros(len(self._bands), np.int64)
        row[order] = np.arange(len(order))
        player, problem = (np.concatenate([np.empty(0, np.int32), *(one[k] for one in self._solves)]) for k in range(2))
        keys = np.unique(player * np.int64(len(row)) + row[problem])
        columns = (np.asarray(part, np.int32) for part in np.divmod(keys, max(len(row), 1)))
        return pa.table(list(columns), schema=SOLVES)


def _members(field: Field, row: Longs, problem: Ints) -> tuple[Ints, Ints]:
    """The players of participations that solved problems: all members of a team."""
    order = np.argsort(field.row, kind="stable")
    ordered = field.row[order]
    first, last = (np.searchsorted(ordered, row, side=side) for side in ("left", "right"))
    sizes = last - first
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return field.player[order[np.repeat(first, sizes) + within]], np.repeat(problem, sizes)
