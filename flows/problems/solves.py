"""The results of a data set beside the fields of a run: who of each contest solved what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Dataset, LakeError
from ranklake.storage.datasets.results import StoredResults

from .entrants import Field, Fields, Floats, Ints, Longs

Bools = npt.NDArray[np.bool_]


class Solves(NamedTuple):
    """The results of one contest of those who took part; one row a participation and problem.

    ``row``: the participation, ``player``: the player, ``problem``: the number of the problem.
    ``share``: solved, in [0, 1]. ``after``: seconds from the start, NaN if unknown.
    """

    row: Longs
    player: Ints
    problem: Ints
    share: Floats
    after: Floats

    def take(self, rows: Any) -> Solves:
        """Some of the rows: a mask or numbers."""
        return Solves(self.row[rows], self.player[rows], self.problem[rows], self.share[rows], self.after[rows])


class Problems:
    """The problems of all results by number, and the table of problems.

    Problems that are the same under several ids have one number.
    """

    def __init__(self, table: pa.Table) -> None:
        self.ids: list[str] = []
        self._number: dict[str, int] = {}
        self.facts = {row["problem"]: row for row in table.to_pylist()}
        self.aliased = any(row["same_as"] for row in self.facts.values())

    def numbers(self, column: pa.ChunkedArray) -> Ints:
        """The number of the problem of each row."""
        encoded = column.unify_dictionaries().combine_chunks()
        encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
        known = np.array([self._of(name) for name in encoded.dictionary.to_pylist()], np.int32)
        return known[encoded.indices.to_numpy()] if len(known) else np.empty(0, np.int32)

    def positions(self) -> Floats:
        """The place of each problem in the order of its contests; NaN if unknown."""
        values = [self.facts.get(name, {}).get("position") for name in self.ids]
        return np.array([np.nan if value is None else value for value in values], np.float64)

    def _of(self, name: str) -> int:
        seen = {name}
        while (other := self.facts.get(name, {}).get("same_as")) and other not in seen:
            seen.add(other)
            name = other
        if name not in self._number:
            self._number[name] = len(self.ids)
            self.ids.append(name)
        return self._number[name]


class RunResults:
    """The results of the contests of a run.

    ``rounds``: the round of each contest with results; -1 if the run has none.
    ``n_left_out``: contests with results that the run has not rated.
    """

    def __init__(self, dataset: Dataset, contest_ids: list[str]) -> None:
        self._dataset = dataset
        self._stored = StoredResults.open(dataset.lake, dataset.name)
        if not self._stored.contests.num_rows:
            remedy = f"`ranklake ingest results FILES --dataset {dataset.name}` adds them"
            raise LakeError(f"data set {dataset.name} has no results of problems; {remedy}")
        self.problems = Problems(self._stored.problems())
        ids = self._stored.contests.column("contest_id")
        known = pc.index_in(ids, value_set=dataset.contests.column("contest_id").combine_chunks())
        self._place = known.fill_null(-1).to_numpy()
        found = pc.index_in(ids, value_set=pa.array(contest_ids, pa.string())).fill_null(-1).to_numpy()
        self.rounds: Longs = np.where(self._place >= 0, found, -1).astype(np.int64)

    def problems_of(self, rows: Longs) -> Iterator[tuple[int, Ints]]:
        """The different problems of each contest, given its rows among those with results."""
        for own, offsets, table in self._stored.parts(rows.tolist(), ["problem"]):
            numbers = self.problems.numbers(table.column("problem"))
            for row, a, b in zip(own, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
                yield int(self.rounds[row]), np.flatnonzero(np.bincount(numbers[a:b])).astype(np.int32)

    def solves(self, rows: Longs, fields: Fields, timed: bool) -> Iterator[tuple[int, Field, Solves]]:
        """The round, the field and the results of each contest. ``timed``: whether every solve must have a time.

        Raises LakeError: a solve has no time, and must have one.
        """
        columns = ["player", "problem", "share", "after"]
        for own, offsets, table in self._stored.parts(rows.tolist(), columns):
            numbers = self.problems.numbers(table.column("problem"))
            player, share = (table.column(name).to_numpy() for name in ("player", "share"))
            after = table.column("after").cast(pa.float64()).fill_null(np.nan).to_numpy()
            for row, a, b in zip(own, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
                field = fields.field(int(self.rounds[row]))
                names = player[a:b]
                if self._dataset.corrected:
                    names = self._dataset.named(np.full(b - a, self._place[row]), names)
                found = _joined(field, names, numbers[a:b], share[a:b], after[a:b])
                if self._dataset.corrected or field.teams or self.problems.aliased:
                    found = _without_repeats(found)
                if timed and (found.share[np.isnan(found.after)] > 0.0).any():
                    contest = self._stored.contests.column("contest_id")[row].as_py()
                    rule = "has a solve without a time, which a time limit needs"
                    raise LakeError(f"contest {contest} of data set {self._dataset.name} {rule}; ingest its times")
                yield int(self.rounds[row]), field, found

    def rows(self, rows: Longs, fields: Fields) -> Iterator[pa.Table]:
        """The results of those who took part in some contests, under their current names; a table a file.

        Columns of ``schemas.RESULTS`` with ``round_index`` in place of the contest; every member of a team has its row.
        """
        for own, offsets, table in self._stored.parts(rows.tolist()):
            numbers, kept, players = self.problems.numbers(table.column("problem")), [], []
            for row, a, b in zip(own, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
                player, at = table.column("player").slice(a, b - a).to_numpy(), np.arange(a, b)
                if self._dataset.corrected:
                    player = self._dataset.named(np.full(b - a, self._place[row]), player)
                there = np.isin(player, fields.field(int(self.rounds[row])).player)
                player, at = player[there], at[there]
                if self._dataset.corrected or self.problems.aliased:
                    share = table.column("share").to_numpy()[at]
                    after = table.column("after").cast(pa.float64()).fill_null(np.nan).to_numpy()[at]
                    best = _best_rows(player, numbers[at], share, after)
                    player, at = player[best], at[best]
                kept.append(at)
                players.append(player)
            chosen = pa.array(np.concatenate([np.empty(0, np.int64), *kept]))
            index = np.repeat(self.rounds[own], [len(part) for part in kept])
            ids = pa.array(self.problems.ids, pa.string())
            yield pa.table(
                {
                    "round_index": pa.array(index.astype(np.int32)),
                    "player": pa.array(np.concatenate([np.empty(0, np.int32), *players])),
                    "problem": ids.take(pa.array(numbers)).take(chosen),
                    **{name: table.column(name).take(chosen) for name in ("share", "after", "attempts")},
                }
            )


def _joined(field: Field, player: Ints, problem: Ints, share: Floats, after: Floats) -> Solves:
    """The results of players of the field."""
    if not len(field.player):
        return Solves(np.empty(0, np.int64), player[:0], problem[:0], share[:0], after[:0])
    order = np.argsort(field.player, kind="stable")
    ordered = field.player[order]
    at = np.minimum(np.searchsorted(ordered, player), len(ordered) - 1)
    there = ordered[at] == player
    row = field.row[order[at]]
    if there.all():
        return Solves(row, player, problem, share, after)
    return Solves(row, player, problem, share, after).take(there)


def _without_repeats(found: Solves) -> Solves:
    """One result a participation and problem: that of the greatest share, then the earliest."""
    return found.take(_best_rows(found.row, found.problem, found.share, found.after))


def _best_rows(of: Longs | Ints, problem: Ints, share: Floats, after: Floats) -> Longs:
    """The best row of each problem of a participation, or of a player, by these and the problem."""
    late = np.where(np.isnan(after), np.inf, after)
    order = np.lexsort((late, -share, problem, of))
    of, problem = of[order], problem[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (of[1:] != of[:-1]) | (problem[1:] != problem[:-1])
    return order[first]
