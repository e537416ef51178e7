"""The ranks of a table of results, and what becomes of the rows without a place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..common.text import count
from .absences import absences_in_words, as_places, counted_from_zero, counts_from_zero, remedy_for
from .columns import Bools, Longs
from .result_table import ResultTable

_NOUNS = {"rank": "place", "score": "score"}
_LOOKED_AT = 100  # rows whose values a message may name


class Ranks(NamedTuple):
    """The rank of each row: lower is better, equal ones tie; None for a table with places. ``dropped`` masks the rows
    to leave out; ``n_absent`` rows have no place, in whatever way they are treated; with ``from_zero``, ranks are
    places from 0.
    """

    rank: npt.NDArray[Any] | None
    dropped: Bools | None = None
    n_absent: int = 0
    from_zero: bool = False


def ranks_of(results: ResultTable, unit: Longs | None = None) -> Ranks:
    """The ranks of a table with ``rank`` or ``score``; contests with a fault in them are rejected.

    Of scores every number is one. Of ranks, numbers below 1 say that there is no place, unless all are places. ``unit``
    is the first row of each row's team.
    """
    key = "rank" if "rank" in results.columns else "score"
    fate = results.options.absent
    values, absent, bad = as_places(results.column(key), key, results.source)
    if fate == "none":
        bad |= absent
        absent = np.zeros_like(bad)
    member = np.zeros_like(bad) if unit is None else unit != np.arange(len(unit))  # beside the first of its team
    low = (values <= 0) & ~absent & ~bad if key == "rank" and fate != "none" else np.zeros_like(bad)
    heard = results.advises and bool(low.any())  # nobody reads the notes of sites
    from_zero = heard and counts_from_zero(results.contest_of, values, absent | bad | member)
    if from_zero and fate != "error":  # something has no place: the words, or the zeros
        from_zero = bool(absent.any())
    if from_zero:
        results.notes.append(f"column {results.columns[key]}: {counted_from_zero(results.frame)}")
    else:
        absent = absent | low
    results.reject_values(key, bad, f"a {_NOUNS[key]} must be a finite number")
    rank = values
    if key == "score":  # higher is better; exact for integers beyond 2**53, too
        _, order = np.unique(np.where(bad | absent, 0, values), return_inverse=True)
        rank = -order.astype(np.int64)
    if not absent.any():
        return Ranks(rank, from_zero=from_zero)
    if fate == "error":
        _refuse(results, key, absent, low)
        return Ranks(rank, from_zero=from_zero)
    n_absent = np.bincount(results.contest_of[absent], minlength=len(results.sizes))
    nobody = absent & (n_absent == results.sizes)[results.contest_of]
    for everybody in _by_contest(results, nobody):  # the contest may not have taken place
        rule = f"nobody has a {_NOUNS[key]}: {results.columns[key]} = {_values(results, key, everybody)}"
        results.reject(int(results.contest_of[everybody[0]]), rule, everybody.tolist())
    rows = np.flatnonzero(absent)
    results.notes.append(
        f"column {results.columns[key]}: no {_NOUNS[key]} in {count(len(rows), 'row')} of "
        f"{count(int(np.count_nonzero(n_absent)), 'contest')} ({_values(results, key, rows)}), "
        f"{'tied behind all others' if fate == 'last' else 'left out'}"
    )
    _, rank = np.unique(rank, return_inverse=True)
    dropped = absent & ~nobody if fate == "drop" else None
    return Ranks(np.where(absent, len(rank), rank), dropped, len(rows), from_zero)


def _refuse(results: ResultTable, key: str, absent: Bools, low: Bools) -> None:
    """Reject each contest with rows that have no place; ``low`` are numbers below 1."""
    groups = _by_contest(results, absent)
    several = len(groups) > 1 and results.options.on_error == "stop"
    n_rows = count(int(np.count_nonzero(absent)), "row")
    whole = f" ({n_rows} of {count(len(groups), 'contest')} in all)" if several else ""
    for rows in groups:
        rule = f"a {_NOUNS[key]} must be {'a number from 1' if low[rows].any() else 'a finite number'}"
        rule += f", got {results.columns[key]} = {_values(results, key, rows)}{whole}"
        hint = remedy_for(results.frame, bool(low[rows].all())) if results.advises else ""
        results.reject(int(results.contest_of[rows[0]]), rule + hint, rows.tolist())


def _by_contest(results: ResultTable, mask: Bools) -> list[Longs]:
    """The rows of a mask, by contest."""
    rows = np.flatnonzero(mask)
    contests = results.contest_of[rows]
    order = np.argsort(contests, kind="stable")
    return np.split(rows[order], np.flatnonzero(np.diff(contests[order])) + 1) if len(rows) else []


def _values(results: ResultTable, key: str, rows: Longs) -> str:
    """The values of the first of some rows, in words."""
    return absences_in_words(results.column(key).take(pa.array(rows[:_LOOKED_AT])).to_pylist())
