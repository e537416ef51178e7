"""From a table of results, one row a participation, to contests.

All operations are on columns of all contests at once; a contest costs a few slices. Messages count rows from 1,
without the header.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels.core.standings import OUTSIDE, RATED, Floats, Rounds, count_events
from ranklake.storage.datasets.tables.contests import Contest

from .base import Order, SourceError
from .columns import Longs, as_names
from .limits import are_short, check_contest, check_participants, rule_of_rated
from .options import ReadOptions
from .places import Ints, repeated_rows
from .ranks import Ranks, ranks_of
from .result_table import ResultTable, encode
from .teams import Teams

CHUNK_ROWS = 2**16  # rows whose names are gathered at a time: this bounds the memory and the cost of a small contest


def contests_from_results(
    table: pa.Table,
    columns: Mapping[str, str],
    *,
    order: Order = "given",
    source: str = "",
    options: ReadOptions | None = None,
    notes: list[str] | None = None,
    faults: Mapping[int, str] | None = None,
    on_count: Callable[[int], None] = lambda n_contests: None,
) -> Iterator[Contest | SourceError]:
    """Contests of a table of results, in rated order; a contest with a fault is its error, as a value.

    ``table``: one row a participation. The rows of a contest need neither be sorted nor adjacent. Its time, weight,
    ceiling and limits must be the same in all its rows; its name and address are those of its first row.
    ``columns``: the columns to use, by key of :class:`.column_names.Columns`.
    ``order``: ``given``: contests by first appearance; ``number``: by contest id; ``time``: by time, then first
    appearance.
    ``options``: None: numbers are seconds, and a player who is in a contest twice is an error.
    ``notes``: receives lines about the reading of the table.
    ``faults``: faults of rows, numbered from 0, that the reader of the file found.
    ``on_count``: called with the number of contests, those with a fault included, before the first one.
    Raises SourceError: a fault of the whole table: no rows, a column of a wrong type, a row that names no contest.
    """
    results, players, player_of = _open(table, columns, source, order, options, faults)
    rows, lo, hi, of_rows, _ = _places(results, players, player_of)
    on_count(len(results.ids))
    weights, precisions, ceilings = results.weights(), results.precisions(), results.perf_ceilings()
    names, urls = results.texts("name"), results.texts("url")
    rated, limits_of, points = results.rated(), results.rating_limits(), _points(results, rows, of_rows)
    if notes is not None:
        notes += results.notes
        notes += _odd_names(players)
    offsets, short_handles = results.offsets(rows), are_short(players)
    limits = results.options.limits
    for i in np.flatnonzero(np.diff(offsets) > limits.participants).tolist():
        try:
            check_participants(int(offsets[i + 1] - offsets[i]), limits, source, results.ids[i])
        except SourceError as error:
            results.faults.setdefault(i, error)

    start = 0
    while start < len(results.ids):
        stop = max(start + 1, int(np.searchsorted(offsets, offsets[start] + CHUNK_ROWS, side="right")) - 1)
        a, b = offsets[start], offsets[stop]
        if of_rows is None:
            results.reject_places(start, lo[a:b], hi[a:b], offsets[start : stop + 1] - a, rows[a:b])
        teams = None if of_rows is None else of_rows.stored(rows[a:b])
        handles = players.take(pa.array(player_of[rows[a:b]], mask=player_of[rows[a:b]] < 0))
        bounds = offsets[start : stop + 1].tolist()
        for i, first, end in zip(range(start, stop), bounds, bounds[1:], strict=False):
            if i in results.faults:
                yield results.faults[i]
                continue
            chosen = None if rated is None else rated[rows[first:end]]
            contest = Contest(
                contest_id=results.ids[i],
                name=names[i],
                url=urls[i],
                time_seconds=results.times[i],
                handles=handles[first - bounds[0] : end - bounds[0]],
                lo=lo[first:end],
                hi=hi[first:end],
                weight=weights[i],
                perf_ceiling=ceilings[i],
                precision=precisions[i],
                teams=None if teams is None else teams.part(first - bounds[0], end - bounds[0]),
                rated=None if chosen is None or chosen.all() else chosen,
                rated_above=limits_of[i][0],
                rated_below=limits_of[i][1],
                points=None if points is None else points[first:end],
            )
            fault = check_contest(contest, source, rows=rows[first:end] + 1, short_handles=short_handles)
            if fault is not None:
                fault.participations = len(contest)
            yield fault or contest
        start = stop


class ResultRounds(NamedTuple):
    """All contests of a table of results as rounds.

    ``rounds``: players are numbered by first appearance in the table; unrated participants are ``OUTSIDE``.
    ``rows`` (int64[n]): the table's row behind each row of the rounds, from 0.
    ``first_row`` (int64[players]): a row of the table for each player.
    ``left_out``: the fault of each contest that was left out.
    ``limits`` (float64[r, 2]): the range of ratings at entry that each contest rates.
    ``n_absent``: rows without a place; ``from_zero``: whether ranks were read as places from 0.
    """

    rounds: Rounds
    rows: Longs
    first_row: Longs
    left_out: list[SourceError]
    limits: npt.NDArray[np.float64]
    n_absent: int
    from_zero: bool


def rounds_from_results(
    table: pa.Table, columns: Mapping[str, str], source: str = "results", options: ReadOptions | None = None
) -> ResultRounds:
    """All contests of a table of results as rounds, by first appearance; for ratings without a lake.

    Raises ``SourceError`` for the first fault, unless ``options`` leave such contests out or all have one. In a table
    with teams a player who is in a contest twice is always an error.
    """
    results, players, player_of = _open(table, columns, source, "given", options, frame=True)
    rows, lo, hi, of_rows, ranks = _places(results, players, player_of)
    teams = None if of_rows is None else of_rows.ragged(rows)
    weights, ceilings = results.weights(), results.perf_ceilings()
    rated, limits = results.rated(), np.array(results.rating_limits())
    offsets = results.offsets(rows)
    if of_rows is None:
        results.reject_places(0, lo, hi, offsets, rows)
    times = np.array(results.times, dtype=np.int64)
    player = player_of[rows].astype(np.int32)
    about = times, np.array(weights), np.array(ceilings), count_events(times)
    points = _points(results, rows, of_rows)
    points, precision = np.empty(0) if points is None else points, np.array(results.precisions())
    rounds = Rounds(offsets, player, lo, hi, *about, precision=precision, points=points, teams=teams)
    if rated is not None:
        rounds = replace(rounds, roles=np.where(rated[rows], np.uint8(RATED), np.uint8(OUTSIDE)))
    _reject_rated(results, rounds, limits)
    faults = [results.faults[i] for i in sorted(results.faults)]
    if faults and (results.options.on_error == "stop" or len(faults) == len(results.ids)):
        raise faults[0]
    if faults:
        good = np.ones(len(rounds), dtype=np.bool_)
        good[list(results.faults)] = False
        rows, rounds, limits = rows[np.repeat(good, np.diff(offsets))], rounds.keep(good), limits[good]
        rounds = replace(rounds, event=count_events(rounds.time_seconds))
    numbers, first_row = _renumber(rounds.player, rows, len(player_of))
    rounds = replace(rounds, player=numbers)
    return ResultRounds(rounds, rows, first_row, faults, limits, ranks.n_absent, ranks.from_zero)


def with_contest(table: pa.Table, columns: Mapping[str, str], contest_id: str) -> tuple[pa.Table, dict[str, str]]:
    """A table of one contest with a column for it, and its columns by key."""
    name = "contest"
    while name in table.column_names:
        name += "_"
    ids = pa.chunked_array([pa.repeat(contest_id, table.num_rows)])
    return table.append_column(name, ids), {"contest": name, **columns}


def _reject_rated(results: ResultTable, rounds: Rounds, limits: npt.NDArray[np.float64]) -> None:
    """Reject contests whose unrated participants or limits break a rule."""
    of_teams, unrated = rounds.of_teams, rounds.with_unrated
    for i in np.flatnonzero(np.isfinite(limits).any(1) | of_teams & unrated).tolist():
        if rule := rule_of_rated(bool(of_teams[i]), bool(unrated[i]), *limits[i].tolist()):
            results.reject(i, rule, ())


def _places(
    results: ResultTable, players: pa.StringArray, player_of: Ints
) -> tuple[Longs, Ints, Ints, Teams | None, Ranks]:
    """The rows by contest, best first, the ``lo`` and ``hi`` of each, the teams of the table, and its ranks."""
    teams = None
    if "team" in results.columns:
        results.reject_repeats(players, player_of, repeated_rows(results.contest_of, player_of))
        teams = Teams(results)
    ranks = Ranks(None) if "lo" in results.columns else ranks_of(results, None if teams is None else teams.unit)
    if teams is None:
        return *results.places(players, player_of, ranks.rank, ranks.dropped), None, ranks
    if ranks.rank is None:
        return *teams.given_places(results.int32("lo"), results.int32("hi")), teams, ranks
    return *teams.places(ranks.rank, ranks.dropped), teams, ranks


def _points(results: ResultTable, rows: Longs, teams: Teams | None) -> Floats | None:
    """The points of these rows; those of a team are in its first row."""
    points = results.points(None if teams is None else teams.unit)
    return None if points is None else points[rows]


def _open(
    table: pa.Table,
    columns: Mapping[str, str],
    source: str,
    order: Order,
    options: ReadOptions | None,
    faults: Mapping[int, str] | None = None,
    frame: bool = False,
) -> tuple[ResultTable, pa.StringArray, Ints]:
    """The table by contest, its players, and their numbers by row."""
    results = ResultTable(table, columns, source, order, options, faults or {}, frame)
    players, player_of = encode(as_names(results.column("player"), "player", source))
    results.reject_values("player", player_of < 0, "a player needs a name")
    return results, players, player_of


def _renumber(player: Ints, rows: Longs, n_rows: int) -> tuple[Ints, Longs]:
    """Players by their first appearance in the table, and the row of it."""
    first = np.full(int(player.max(initial=-1)) + 1, n_rows)
    np.minimum.at(first, player, rows)
    order = np.argsort(first, kind="stable")
    order = order[: np.count_nonzero(first < n_rows)]
    number = np.zeros(len(first), dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return number[player], first[order]


def _odd_names(players: pa.StringArray) -> list[str]:
    """Notes about names that are kept but may be errors of the program that wrote the table."""
    notes = []
    padded = pc.sum(pc.match_substring_regex(players, r"^\s|\s$")).as_py() or 0
    if padded:
        notes.append(f"column player: names with white space around them are kept as they are: {padded:,}")
    missing = pc.index_in(pa.array(["nan", "NaN", "None", "null", "NULL", "<NA>"]), players).drop_null()
    if len(missing):
        names = ", ".join(map(repr, players.take(missing).to_pylist()))
        notes.append(f"column player: kept {names} as a name; is it a missing value?")
    if len(players) and pc.all(pc.match_substring_regex(players, r"^\d+\.0$")).as_py():
        notes.append(
            f"column player: all names are as {players[0].as_py()!r}: whole numbers written as decimals, kept so"
        )
    return notes
