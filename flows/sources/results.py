"""From a table of results, one row a participation, to contests.

Everything is done for all contests at once, on columns; a contest costs a few slices. Rows are counted from 1, the
header left out, as a person counts them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flows.normalise import check_standings
from flows.sources.base import Order, SourceError, contest_number, shown
from flows.sources.columns import as_names, as_numbers, as_seconds, is_blank
from rating_kernels.standings import Rounds, StandingsError, check_places, count_events
from storage.contests import Contest

__all__ = ["contests_from_results", "rounds_from_results"]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

CHUNK_ROWS = 2**16  # rows whose names are gathered at a time: bounds memory, and makes small contests cheap
INT32 = np.iinfo(np.int32)


def contests_from_results(
    table: pa.Table, columns: Mapping[str, str], *, order: Order = "given", source: str = ""
) -> Iterator[Contest | SourceError]:
    """Contests of a table of results, in rated order; a contest with a fault is its error, as a value.

    Parameters
    ----------
    table
        One row a participation. The rows of a contest need neither be sorted nor adjacent. Its time, weight and
        ceiling must be the same in all its rows; its name and address are those of its first row.
    columns
        The columns to use: ``contest``, ``player``, either ``rank`` or ``lo`` and ``hi``, and any of ``time``,
        ``weight``, ``perf_ceiling``, ``name``, ``url``, each with what the table calls it.
    order
        ``given``: contests by first appearance; ``number``: by contest id; ``time``: by time, then first appearance.
    source
        Where the table came from, for messages.

    Raises
    ------
    SourceError
        A fault that is no single contest's: no rows, a column of a wrong type, a row that names no contest.
    """
    results, players, player_of, rows, lo, hi = _read(table, columns, source, order)
    weights, ceilings = results.weights(), results.perf_ceilings()
    names, urls = results.texts("name"), results.texts("url")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(results.contest_of, minlength=len(results.ids)))))

    start = 0
    while start < len(results.ids):
        stop = max(start + 1, int(np.searchsorted(offsets, offsets[start] + CHUNK_ROWS, side="right")) - 1)
        a, b = offsets[start], offsets[stop]
        results.blame_places(start, lo[a:b], hi[a:b], offsets[start : stop + 1] - a, rows[a:b])
        handles = players.take(pa.array(player_of[rows[a:b]], mask=player_of[rows[a:b]] < 0))
        bounds = offsets[start : stop + 1].tolist()
        for i, first, end in zip(range(start, stop), bounds, bounds[1:], strict=False):
            if i in results.faults:
                yield results.faults[i]
                continue
            yield Contest(
                contest_id=results.ids[i],
                name=names[i],
                url=urls[i],
                time_seconds=results.times[i],
                handles=handles[first - bounds[0] : end - bounds[0]],
                lo=lo[first:end],
                hi=hi[first:end],
                weight=weights[i],
                perf_ceiling=ceilings[i],
            )
        start = stop


def rounds_from_results(
    table: pa.Table, columns: Mapping[str, str], source: str = "results"
) -> tuple[Rounds, Longs, Ints]:
    """All contests of a table of results as rounds, by first appearance; for ratings without a lake.

    Parameters
    ----------
    table, columns, source
        As for :func:`contests_from_results`.

    Returns
    -------
    rounds
        Players are numbered by first appearance in the table.
    rows : int64[n]
        The table's row behind each row of the rounds, from 0.
    first_row : int32[players]
        A row of the table in which each player stands.

    Raises
    ------
    SourceError
        The first fault there is.
    """
    results, _, player_of, rows, lo, hi = _read(table, columns, source, "given")
    weights, ceilings = results.weights(), results.perf_ceilings()
    offsets = np.concatenate(([0], np.cumsum(np.bincount(results.contest_of, minlength=len(results.ids)))))
    results.blame_places(0, lo, hi, offsets, rows)
    if results.faults:
        raise results.faults[min(results.faults)]
    _, first_row = np.unique(player_of, return_index=True)
    times = np.array(results.times, dtype=np.int64)
    player = player_of[rows].astype(np.int32)
    rounds = Rounds(offsets, player, lo, hi, times, np.array(weights), np.array(ceilings), count_events(times))
    return rounds, rows, first_row.astype(np.int32)


def _read(
    table: pa.Table, columns: Mapping[str, str], source: str, order: Order
) -> tuple[_Results, pa.StringArray, Ints, Longs, Ints, Ints]:
    """The table by contest, its players, their numbers by row, and the rows by place with their ``lo`` and ``hi``."""
    results = _Results(table, columns, source, order)
    players, player_of = _encode(as_names(results.column("player"), "player", source))
    results.blame_values("player", player_of < 0, "a player needs a name")
    results.blame_repeats(players, player_of)
    return results, players, player_of, *results.places()


class _Results:
    """The table by contest: which contest each row belongs to, in rated order, and the faults found so far."""

    def __init__(self, table: pa.Table, columns: Mapping[str, str], source: str, order: Order) -> None:
        self.table, self.columns, self.source = table, columns, source
        self.faults: dict[int, SourceError] = {}
        if table.num_rows == 0:
            raise SourceError("no contests: the table has no rows", source)
        ids, contest_of = _encode(as_names(self.column("contest"), "contest", source))
        nameless = np.flatnonzero(contest_of < 0)
        if len(nameless):
            raise SourceError("the row names no contest", source, rows=(int(nameless[0]) + 1,))
        seconds, no_time = np.zeros(len(contest_of), np.int64), np.zeros(len(contest_of), bool)
        if "time" in columns:
            seconds, no_time = as_seconds(self.column("time"), "time", source)
        elif order == "time":
            raise SourceError("there is no time column to order by", source)
        _, first = np.unique(contest_of, return_index=True)
        numbers = np.arange(len(ids))
        if order == "number":
            known = [contest_number(i) for i in ids.to_pylist()]
            numbers = np.array([-1 if number is None else number for number in known])
        sequence = np.argsort(seconds[first] if order == "time" else numbers, kind="stable")
        self.contest_of: Longs = np.argsort(sequence)[contest_of]
        self.first_row: Longs = first[sequence]
        self.ids: list[str] = ids.take(pa.array(sequence)).to_pylist()
        for i in np.flatnonzero(numbers[sequence] < 0).tolist():
            self.blame(i, "the contest id is no number; order by time or as given", ())
        if "time" in columns:
            self.blame_values("time", no_time, "a time must be a whole number of UTC seconds, an int64, or a timestamp")
        self.times: list[int] = self.same("time", seconds).tolist()

    def column(self, key: str) -> pa.ChunkedArray:
        return self.table[self.columns[key]]

    def blame(self, contest: int, rule: str, rows: Sequence[int]) -> None:
        """Note a contest's first fault; rows from 0."""
        if contest not in self.faults:
            self.faults[contest] = SourceError(rule, self.source, self.ids[contest], rows=[int(r) + 1 for r in rows])

    def blame_rows(self, bad: Bools, word: Callable[[int], tuple[str, Sequence[int]]]) -> None:
        """Blame each contest that has bad rows for its first one."""
        rows = np.flatnonzero(bad)
        contests, first = np.unique(self.contest_of[rows], return_index=True)
        for contest, row in zip(contests.tolist(), rows[first].tolist(), strict=True):
            self.blame(contest, *word(row))

    def blame_values(self, key: str, bad: Bools, rule: str) -> None:
        """Blame contests for the bad values of one column."""
        column = self.column(key)
        self.blame_rows(bad, lambda row: (f"{rule}, got {self.columns[key]} = {shown(column[row].as_py())}", (row,)))

    def blame_repeats(self, players: pa.StringArray, player_of: Ints) -> None:
        """Blame contests in which a player stands twice."""
        key = self.contest_of * (len(players) + 1) + player_of
        order = np.argsort(key, kind="stable")
        again = np.flatnonzero((key[order[1:]] == key[order[:-1]]) & (player_of[order[1:]] >= 0))
        earlier = np.full(len(key), -1)
        earlier[order[again + 1]] = order[again]
        self.blame_rows(
            earlier >= 0,
            lambda row: (f"player {shown(players[player_of[row]].as_py())} stands twice", (earlier[row], row)),
        )

    def blame_places(self, start: int, lo: Ints, hi: Ints, offsets: Longs, rows: Longs) -> None:
        """Blame contests from ``start`` on whose places are no possible result; ``rows`` are those of the file."""
        at = 0
        while at < len(offsets) - 1:
            base = offsets[at]
            try:
                check_places(lo[base:], hi[base:], offsets[at:] - base)
                return
            except StandingsError as error:
                at += error.round
            a, b = offsets[at], offsets[at + 1]
            try:
                check_standings(lo[a:b], hi[a:b])
            except StandingsError as error:
                self.blame(start + at, error.rule, rows[a + error.first_row : a + error.last_row + 1].tolist())
            at += 1

    def same(self, key: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Each contest's one value of a column; blames contests that have several."""
        firsts = values[self.first_row]
        self.blame_rows(
            values != firsts[self.contest_of],
            lambda row: (
                f"{self.columns[key]} differs inside the contest: {firsts[self.contest_of[row]]} and {values[row]}",
                (self.first_row[self.contest_of[row]], row),
            ),
        )
        return firsts

    def weights(self) -> list[float]:
        if "weight" not in self.columns:
            return [1.0] * len(self.ids)
        values, missing = as_numbers(self.column("weight"), "weight", self.source)
        self.blame_values("weight", missing | ~(values > 0) | np.isinf(values), "a weight must be a finite number > 0")
        return list(self.same("weight", values.astype(np.float64)).tolist())

    def perf_ceilings(self) -> list[float]:
        if "perf_ceiling" not in self.columns:
            return [math.inf] * len(self.ids)
        values, missing = as_numbers(self.column("perf_ceiling"), "perf_ceiling", self.source)
        none = is_blank(self.column("perf_ceiling"))
        values = np.where(none, np.inf, values)
        bad = (missing & ~none) | (values == -np.inf)
        self.blame_values("perf_ceiling", bad, "a ceiling must be a number, or empty for none")
        return list(self.same("perf_ceiling", values).tolist())

    def texts(self, key: str) -> list[str]:
        """Each contest's name or address, as its first row has it."""
        if key not in self.columns:
            return [""] * len(self.ids)
        column = as_names(self.column(key), key, self.source)
        return [text or "" for text in column.take(pa.array(self.first_row)).to_pylist()]

    def places(self) -> tuple[Longs, Ints, Ints]:
        """The rows by contest, best first, and ``lo`` and ``hi`` of each."""
        if "rank" not in self.columns:
            lo, hi = self._int32("lo"), self._int32("hi")
            rows = np.lexsort((lo, self.contest_of))
            return rows, lo[rows], hi[rows]
        rank, missing = as_numbers(self.column("rank"), "rank", self.source)
        self.blame_values("rank", missing | np.isinf(rank), "a place must be a finite number")
        rows = np.lexsort((rank, self.contest_of))
        rank, contest = rank[rows], self.contest_of[rows]
        opens_contest = np.concatenate(([True], contest[1:] != contest[:-1]))
        opens_group = opens_contest | np.concatenate(([True], rank[1:] != rank[:-1]))
        starts = np.flatnonzero(opens_group)
        sizes = np.diff(starts, append=len(rows))
        begin = np.flatnonzero(opens_contest)[np.cumsum(opens_contest)[starts] - 1]  # of each group's contest
        lo = np.repeat(starts - begin, sizes).astype(np.int32)
        return rows, lo, lo + np.repeat(sizes - 1, sizes).astype(np.int32)

    def _int32(self, key: str) -> Ints:
        values, missing = as_numbers(self.column(key), key, self.source)
        bad = missing | ~((values >= INT32.min) & (values <= INT32.max)) | (np.floor(values) != values)
        self.blame_values(key, bad, "a place must be a whole number that fits an int32")
        return np.where(bad, 0, values).astype(np.int32)


def _encode(names: pa.ChunkedArray) -> tuple[pa.StringArray, Ints]:
    """Distinct names in order of first appearance, and each row's number among them, -1 for none."""
    encoded = names.dictionary_encode().combine_chunks()
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    empty = pc.index(encoded.dictionary, "").as_py()
    return encoded.dictionary, np.where(codes == empty, -1, codes)
