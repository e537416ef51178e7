"""Teams of a table of results: the rows of a contest that name the same team are its members.

Places are those of teams. The members of a team have one rank; a row without a team is a participant of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels.core.limits import SHARE
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.storage.datasets.tables.teams import Teams as StoredTeams

from ..common.text import quoted
from .columns import Bools, Longs, as_names, as_numbers
from .places import Ints, places_of
from .result_table import ResultTable, encode


class Teams:
    """The teams of all contests of a table with the column ``team`` and possibly ``share``.

    ``unit`` (int64[n]): the first row of each row's team; the row itself without a team.
    ``share`` (float64[n]): the share of each row, > 0.
    """

    def __init__(self, results: ResultTable) -> None:
        self._results = results
        self._names, team = encode(as_names(results.column("team"), "team", results.source))
        self._team = team
        rows = np.arange(len(team))
        key = np.where(team < 0, -1 - rows, results.contest_of * (len(self._names) + 1) + team)
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        self.unit: Longs = first[inverse]
        self.share = self._shares()

    def places(self, rank: npt.NDArray[np.generic], dropped: Bools | None = None) -> tuple[Longs, Ints, Ints]:
        """The rows by contest, best first and team by team, and ``lo`` and ``hi`` of each.

        All members of a team have one ``rank``, lower is better; if ``dropped``, all of them are.
        """
        self._reject_differing(rank, next(key for key in ("rank", "score") if key in self._results.columns))
        own = self.unit == np.arange(len(self.unit))
        firsts = np.flatnonzero(own if dropped is None else own & ~dropped)
        order, lo, hi = places_of(self._results.contest_of[firsts], rank[firsts])
        rows, sizes = self._members(firsts[order], dropped)
        return rows, np.repeat(lo, sizes), np.repeat(hi, sizes)

    def given_places(self, lo: Ints, hi: Ints) -> tuple[Longs, Ints, Ints]:
        """As :meth:`places`, from the first and last place of each row; contests with impossible ones are rejected."""
        self._reject_differing(lo, "lo")
        self._reject_differing(hi, "hi")
        firsts = np.flatnonzero(self.unit == np.arange(len(self.unit)))
        firsts = firsts[np.lexsort((lo[firsts], self._results.contest_of[firsts]))]
        self._results.reject_places(0, lo[firsts], hi[firsts], self._results.offsets(firsts), firsts)
        rows, _ = self._members(firsts)
        return rows, lo[rows], hi[rows]

    def _members(self, firsts: Longs, dropped: Bools | None = None) -> tuple[Longs, Longs]:
        """The rows team by team, and the number of rows of each team, given the first row of each."""
        rows = np.arange(len(self.unit)) if dropped is None else np.flatnonzero(~dropped[self.unit])
        position = np.empty(len(self.unit), dtype=np.int64)
        position[firsts] = np.arange(len(firsts))
        team = position[self.unit[rows]]
        return rows[np.argsort(team, kind="stable")], np.bincount(team, minlength=len(firsts))

    def ragged(self, rows: Longs) -> Ragged | None:
        """The shares of each team's members, given the rows of :meth:`places`; None if no team has two members."""
        unit = self.unit[rows]
        sizes = np.diff(np.flatnonzero(np.diff(unit, prepend=-1)), append=len(rows))
        return None if (sizes == 1).all() else Ragged.from_lengths(sizes, self.share[rows])

    def stored(self, rows: Longs) -> StoredTeams:
        """The teams of some rows, as a standings file has them."""
        team = self._team[rows]
        return StoredTeams(self._names.take(pa.array(team, mask=team < 0)), np.where(team < 0, 1.0, self.share[rows]))

    def _shares(self) -> npt.NDArray[np.float64]:
        """The share of each row; 1 in teams without any."""
        results = self._results
        if "share" not in results.columns:
            return np.ones(len(self.unit))
        values, missing = as_numbers(results.column("share"), "share", results.source)
        given = np.zeros(len(self.unit), dtype=np.bool_)
        np.logical_or.at(given, self.unit, ~missing)
        bad = np.where(missing, given[self.unit], ~SHARE.mask(values))
        results.reject_values("share", bad, f"a share must be {SHARE.rule}, and all members of a team have one or none")
        return np.where(missing | bad, 1.0, values).astype(np.float64)

    def _reject_differing(self, rank: npt.NDArray[np.generic], key: str) -> None:
        """Reject contests in which the members of a team have different values of a column."""

        def message(row: int) -> tuple[str, Sequence[int]]:
            first = int(self.unit[row])
            name = quoted(self._names[self._team[row]].as_py())
            shown = " and ".join(self._results.written(key, at) for at in (first, row))
            return f"{self._results.columns[key]} differs inside team {name}: {shown}", (first, row)

        self._results.reject_rows(rank != rank[self.unit], message)
