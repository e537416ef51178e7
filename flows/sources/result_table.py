"""A table of results by contest: the contest of each row, the values of its columns, and their faults."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels.core.limits import PERF_CEILING, PRECISION, SCORED, TIME_SECONDS, WEIGHT, Limits
from ranklake.rating_kernels.core.standings import Floats, StandingsError, check_places

from ..common.text import count, quoted
from .base import Order, SourceError, contest_number
from .column_names import plain_name
from .columns import Bools, Longs, as_flags, as_names, as_numbers, is_blank
from .durations import as_precisions, check_one_of_both
from .options import ReadOptions
from .places import WITHOUT_PLACE, Ints, check_standings, dropped_rows, places_of, repeated_rows
from .time_columns import as_seconds, day_of

INT32 = np.iinfo(np.int32)
_SIDES = (("above", -math.inf), ("below", math.inf))  # sides of a range of ratings, and the value for none


class ResultTable:
    """The table by contest: the contest of each row, in rated order, and the faults found so far."""

    def __init__(
        self,
        table: pa.Table,
        columns: Mapping[str, str],
        source: str,
        order: Order,
        options: ReadOptions | None,
        faults: Mapping[int, str],
        frame: bool = False,
    ) -> None:
        self.table, self.columns, self.source = table, columns, source
        self.frame = frame or options is None  # then no message names an option of the command
        self.options, self.advises = options or ReadOptions(), options is not None  # sites have no options to name
        self.faults: dict[int, SourceError] = {}
        self.notes: list[str] = []
        if table.num_rows == 0:
            raise SourceError("no contests: the table has no rows", source)
        ids, contest_of = encode(as_names(self.column("contest"), "contest", source))
        nameless = np.flatnonzero(contest_of < 0)
        if len(nameless):
            reason = next((f": {faults[row]}" for row in nameless.tolist() if row in faults), "")
            unknown = SourceError(f"the row names no contest{reason}", source, rows=(nameless[:1] + 1).tolist())
            if self.options.on_error == "stop":
                raise unknown
            # These rows form one contest with a fault, which is left out like any other.
            rows = "the row names" if len(nameless) == 1 else "the rows name"
            unknown = SourceError(f"{rows} no contest{reason}", source, rows=(nameless + 1).tolist())
            if (unnamed := pc.index(ids, "").as_py()) < 0:
                unnamed, ids = len(ids), pa.concat_arrays([ids, pa.array([""], pa.string())])
            contest_of = np.where(contest_of < 0, unnamed, contest_of)
        seconds, wrong = self._seconds(order)
        _, first = np.unique(contest_of, return_index=True)
        numbers = np.arange(len(ids))
        if order == "number":
            known = [contest_number(i) for i in ids.to_pylist()]
            numbers = np.array([-1 if number is None else number for number in known])
        sequence = np.argsort(seconds[first] if order == "time" else numbers, kind="stable")
        self.contest_of: Longs = np.argsort(sequence)[contest_of]
        self.first_row: Longs = first[sequence]
        self.sizes: Longs = np.bincount(self.contest_of)
        self.ids: list[str] = ids.take(pa.array(sequence)).to_pylist()
        if len(nameless):
            self.faults[int(self.contest_of[nameless[0]])] = unknown
        for row, rule in sorted(faults.items()):
            self.reject(int(self.contest_of[row]), rule, (row,))
        for i in np.flatnonzero(numbers[sequence] < 0).tolist():
            self.reject(i, "the contest id is no number; order by time or as given", ())
        for bad, rule in wrong:
            self.reject_values("time", bad, rule)
        self.times: list[int] = self.same("time", seconds).tolist()

    def _seconds(self, order: Order) -> tuple[Longs, tuple[tuple[Bools, str], ...]]:
        """The time of each row, and the rows without a time; zeros without a column of times."""
        if "time" not in self.columns:
            if order == "time":
                raise SourceError("there is no time column to order by", self.source)
            self.notes.append("column time: there is none, every contest is dated 1970-01-01")
            return np.zeros(self.table.num_rows, np.int64), ()
        name = self.columns["time"]
        times = as_seconds(self.column("time"), name, self.source, self.options.time_format, frame=self.frame)
        far = ~TIME_SECONDS.mask(times.seconds)
        faults = (*times.faults, (far, f"a time must be {TIME_SECONDS.rule}"))
        bad = np.logical_or.reduce([mask for mask, _ in faults])
        if not bad.all():
            good = times.seconds[~bad]
            days = (day_of(int(good.min())), day_of(int(good.max())))
            self.notes.append(f"column {plain_name(name)}: {times.kind}, {days[0]} to {days[1]}")
        return np.where(bad, 0, times.seconds) if bad.any() else times.seconds, faults

    def offsets(self, rows: Longs) -> Longs:
        """The start of each contest among the kept rows, and the end of the last one."""
        sizes = np.bincount(self.contest_of[rows], minlength=len(self.ids))
        return np.concatenate(([0], np.cumsum(sizes)))

    def column(self, key: str) -> pa.ChunkedArray:
        return self.table[self.columns[key]]

    def reject(self, contest: int, rule: str, rows: Sequence[int]) -> None:
        """Note a contest's first fault; rows from 0."""
        if contest not in self.faults:
            numbers, n = [int(r) + 1 for r in rows], int(self.sizes[contest])
            self.faults[contest] = SourceError(rule, self.source, self.ids[contest], rows=numbers, participations=n)

    def reject_rows(self, bad: Bools, word: Callable[[int], tuple[str, Sequence[int]]]) -> None:
        """Reject each contest that has bad rows, for its first one."""
        rows = np.flatnonzero(bad)
        contests, first = np.unique(self.contest_of[rows], return_index=True)
        for contest, row in zip(contests.tolist(), rows[first].tolist(), strict=True):
            self.reject(contest, *word(row))

    def reject_values(self, key: str, bad: Bools, rule: str, remedy: str = "") -> None:
        """Reject contests for the bad values of one column."""
        column = self.column(key)

        def words(row: int) -> tuple[str, Sequence[int]]:
            value = column[row].as_py()
            comma = isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d*,\d+\s*", value)
            hint = "; a decimal comma must be a point" if comma and key not in ("player", "contest") else ""
            return f"{rule}, got {self.columns[key]} = {quoted(value)}{hint}{remedy}", (row,)

        self.reject_rows(bad, words)

    def reject_places(self, start: int, lo: Ints, hi: Ints, offsets: Longs, rows: Longs) -> None:
        """Reject contests from ``start`` on whose places are no possible result; ``rows`` are those of the file."""
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
                self.reject(start + at, error.rule, rows[a + error.first_row : a + error.last_row + 1].tolist())
            at += 1

    def same(self, key: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Each contest's one value of a column; rejects contests that have several."""
        leave_out = f"columns={{{key!r}: ''}}" if self.frame else f"--column {key}="
        firsts = values[self.first_row]

        def words(row: int) -> tuple[str, Sequence[int]]:
            contest = self.contest_of[row]
            first = int(self.first_row[contest])
            shown = " and ".join(self.written(key, at, values[at]) for at in (first, row))
            rule = f"{self.columns[key]} differs inside the contest: {shown}"
            return f"{rule}; {leave_out} leaves the column out", (first, row)

        self.reject_rows(values != firsts[self.contest_of], words)
        return firsts

    def written(self, key: str, row: int, empty: Any = "") -> str:
        """A value of a column for a message, as it is in the table, or ``empty``."""
        scalar = self.column(key)[row]
        value = None if pa.types.is_temporal(scalar.type) else scalar.as_py()
        text = value if isinstance(value, str) and value else str(scalar if scalar.is_valid else empty)
        return quoted(text)[1:-1]  # the marks would stand around numbers of a CSV table

    def weights(self) -> list[float]:
        return self._factors("weight", WEIGHT)

    def precisions(self) -> list[float]:
        """Each contest's precision: that of a column, or its duration in units."""
        unit = self.options.duration_unit
        if "duration" not in self.columns or unit is None:
            return self._factors("precision", PRECISION)
        check_one_of_both(self.columns, self.source)
        values, missing = as_precisions(self.column("duration"), unit, self.source)
        rule = f"a duration must be a number of seconds, {PRECISION.rule} units of {unit} s"
        self.reject_values("duration", missing | ~PRECISION.mask(values), rule)
        return list(self.same("duration", values).tolist())

    def _factors(self, key: str, limits: Limits) -> list[float]:
        """Each contest's value of a column of factors; 1 without the column."""
        if key not in self.columns:
            return [1.0] * len(self.ids)
        values, missing = as_numbers(self.column(key), key, self.source)
        self.reject_values(key, missing | ~limits.mask(values), f"a {key} must be {limits.rule}")
        return list(self.same(key, values.astype(np.float64)).tolist())

    def perf_ceilings(self) -> list[float]:
        return self._points("perf_ceiling", "a ceiling", math.inf)

    def rating_limits(self) -> list[tuple[float, float]]:
        """The range of ratings at entry that each contest rates, from ``rated_above`` to less than ``rated_below``."""
        lows, highs = (self._points(f"rated_{side}", "a limit", none) for side, none in _SIDES)
        return list(zip(lows, highs, strict=True))

    def _points(self, key: str, noun: str, none: float) -> list[float]:
        """Each contest's value of a column of rating points, which may be empty."""
        if key not in self.columns:
            return [none] * len(self.ids)
        values, missing = as_numbers(self.column(key), key, self.source)
        blank = is_blank(self.column(key))
        bad = ~blank & (missing | ~PERF_CEILING.mask(values))
        self.reject_values(key, bad, f"{noun} must be {PERF_CEILING.rule}, or empty for none")
        return list(self.same(key, np.where(blank, none, values)).tolist())

    def points(self, unit: Longs | None = None) -> Floats | None:
        """The points of each row, NaN where unknown: its score, also beside places. None without any.

        ``unit`` is the first row of each row's team. A score that says the place of a row may be any number, and one
        that no setting names any text; what cannot be points is then unknown.
        """
        if "score" not in self.columns or not self.advises:  # sites store places only
            return None
        column, name = self.column("score"), plain_name(self.columns["score"])
        gives_places = not {"rank", "lo"} & self.columns.keys()
        named = "score" in self.options.columns.named and not gives_places
        try:
            values, missing = as_numbers(column, "score", self.source)
        except SourceError:
            if named:
                raise
            values, missing = np.zeros(len(column)), np.ones(len(column), np.bool_)
        bad = ~is_blank(column) & (missing | ~SCORED.mask(values))
        if named:
            leave_out = "columns={'score': ''}" if self.frame else "--column score="
            rule = f"points must be a number {SCORED.rule}, or empty if unknown"
            self.reject_values("score", bad, rule, f"; {leave_out} leaves the column out")
        elif bad.any():
            self.notes.append(f"column {name}: {count(int(np.count_nonzero(bad)), 'value')} not kept as points")
        points: Floats = np.where(bad | missing, np.nan, values) + 0.0  # no -0.0
        points = points if unit is None else points[unit]
        return None if np.isnan(points).all() else points

    def rated(self) -> Bools | None:
        """Whether each row is a rated participation; None if all are."""
        if "rated" not in self.columns:
            return None
        values, bad = as_flags(self.column("rated"), "rated", self.source)
        ignored = "columns={'rated': ''}" if self.frame else "--column rated="
        remedy = f"; {ignored} ignores the column"
        self.reject_values("rated", bad, "rated must be true or false, or empty for true", remedy)
        return None if values.all() else values

    def texts(self, key: str) -> list[str]:
        """Each contest's name or address, from its first row."""
        if key not in self.columns:
            return [""] * len(self.ids)
        column = as_names(self.column(key), key, self.source)
        if key == "name" and not self._names_contests(column):
            return [""] * len(self.ids)
        return [text or "" for text in column.take(pa.array(self.first_row)).to_pylist()]

    def _names_contests(self, column: pa.ChunkedArray) -> bool:
        """Whether a column ``name`` that no setting names holds names of contests: it may hold names of players."""
        name = self.columns["name"]
        if name.strip().casefold() != "name" or "name" in self.options.columns.named:
            return True
        _, codes = encode(column)
        differs = np.flatnonzero(codes != codes[self.first_row][self.contest_of])
        if len(differs):
            contest = quoted(self.ids[self.contest_of[differs[0]]])
            self.notes.append(
                f"column {plain_name(name)}: ignored, it differs inside contest {contest} and so is not the contest's "
                f"name; --column name={plain_name(name)} takes that of the first row"
            )
        return not len(differs)

    def places(
        self, players: pa.StringArray, player_of: Ints, rank: npt.NDArray[Any] | None, dropped: Bools | None = None
    ) -> tuple[Longs, Ints, Ints]:
        """The rows that are not ``dropped`` by contest, best first, and ``lo`` and ``hi`` of each; without ranks, the
        places of the table.
        """
        counted = player_of if dropped is None else np.where(dropped, -1, player_of).astype(np.int32)
        earlier = repeated_rows(self.contest_of, counted)
        duplicates = self.options.duplicates
        if duplicates == "error" or rank is None:
            hint = "duplicates='best' or 'last'" if self.frame else "--duplicates best or last"
            hint = f"; {hint} keeps one row" if rank is not None and self.advises else ""
            self.reject_repeats(players, player_of, earlier, hint)
        if rank is None:
            lo, hi = self.int32("lo"), self.int32("hi")
            rows = np.lexsort((lo, self.contest_of))
            return rows, lo[rows], hi[rows]
        repeated = bool((earlier >= 0).any())
        del earlier  # frees memory for the sorting
        if duplicates != "error" and repeated:
            twice = dropped_rows(self.contest_of, counted, rank if duplicates == "best" else None)
            n_contests = len(np.unique(self.contest_of[twice]))
            self.notes.append(
                f"duplicates: kept the {duplicates} row of each player; rows dropped: {np.count_nonzero(twice):,}, "
                f"contests concerned: {n_contests:,}"
            )
            dropped = twice if dropped is None else dropped | twice
        return places_of(self.contest_of, rank, dropped)

    def reject_repeats(self, players: pa.StringArray, player_of: Ints, earlier: Longs, hint: str = "") -> None:
        """Reject contests in which a player has an ``earlier`` row (:func:`.places.repeated_rows`)."""

        def message(row: int) -> tuple[str, Sequence[int]]:
            return f"player {quoted(players[player_of[row]].as_py())} is listed twice{hint}", (earlier[row], row)

        self.reject_rows(earlier >= 0, message)

    def int32(self, key: str) -> Ints:
        """The whole numbers of a column; rejects the contests of others."""
        values, missing = as_numbers(self.column(key), key, self.source)
        bad = missing | ~((values >= INT32.min) & (values <= INT32.max)) | (np.floor(values) != values)
        self.reject_values(key, bad, "a place must be a whole number that fits an int32", f"; {WITHOUT_PLACE}")
        return np.where(bad, 0, values).astype(np.int32)


def encode(names: pa.ChunkedArray) -> tuple[pa.StringArray, Ints]:
    """Distinct names in order of first appearance, and each row's number among them, -1 for none."""
    encoded = names.dictionary_encode().combine_chunks()
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    empty = pc.index(encoded.dictionary, "").as_py()
    return encoded.dictionary, np.where(codes == empty, -1, codes)
