"""Results of problems beside the standings of their contests: who took part, and the best row of each problem."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Dataset
from ranklake.storage.datasets.results import NewResults
from ranklake.storage.lake.schemas import RESULTS
from ranklake.storage.names.hints import hint, near_names

from ...common.text import quoted
from .rows import Ints, ResultRows

Longs = npt.NDArray[np.int64]


class MatchedResults:
    """The rows whose contests and players are in a data set; one contest at a time is sorted.

    ``n_strangers``: rows of players who were not in their contest. ``n_elsewhere``: rows of contests that the data set
    does not have. ``n_rows``, ``n_duplicates``: rows of the contests read so far, and others of their players and
    problems.
    """

    def __init__(
        self, dataset: Dataset, rows: ResultRows, *, skip_strangers: bool = False, skip_contests: bool = False
    ) -> None:
        """Raises SourceError: a contest is unknown or a player was not in the contest, and these are not skipped."""
        self._dataset, self._rows = dataset, rows
        ids = dataset.contests.column("contest_id").combine_chunks()
        known = pc.index_in(rows.contest.names, value_set=ids).fill_null(-1).to_numpy()
        known = known.astype(np.int16 if len(ids) < 2**15 else np.int32)
        place = known[rows.contest.codes]
        if not skip_contests and len(place) and place.min() < 0:
            row = int(np.argmax(place < 0))
            name = rows.contest.names[int(rows.contest.codes[row])].as_py()
            near = hint(name, near_names(name, ids.to_pylist()))
            rule = f"data set {dataset.name} has no contest {quoted(name)}{near}; ingest its standings first"
            raise rows.error_at(rule, row)
        self._order = np.argsort(place, kind="stable").astype(np.int32 if len(place) < 2**31 else np.int64)
        self._offsets = np.searchsorted(place[self._order], np.arange(len(ids) + 1, dtype=place.dtype))
        del place
        players = pc.index_in(rows.player.names, value_set=dataset.handles()).fill_null(-1).to_numpy()
        self._player: Ints = players.astype(np.int32)
        self._there = np.zeros(len(rows), np.bool_)
        self._find_participants()
        self.n_elsewhere = int(self._offsets[0])
        self.n_strangers = len(rows) - self.n_elsewhere - int(np.count_nonzero(self._there))
        if self.n_strangers and not skip_strangers:
            away = ~self._there
            away[self._order[: self.n_elsewhere]] = False
            row = int(np.argmax(away))
            name = quoted(rows.player.names[int(rows.player.codes[row])].as_py())
            rule = f"player {name} is not in the standings of the contest"
            raise rows.error_at(
                f"{rule}; correct the name, or --skip-strangers leaves out such rows and counts them", row
            )
        self.n_rows = self.n_duplicates = 0
        self._problems = np.zeros(len(rows.problem.names), np.bool_)

    @property
    def n_problems(self) -> int:
        """Number of different problems of the contests read so far."""
        return int(np.count_nonzero(self._problems))

    def contests(self) -> Iterator[NewResults]:
        """The results of each contest with any, in rated order."""
        ids = self._dataset.contests.column("contest_id")
        for place in np.flatnonzero(np.diff(self._offsets)).tolist():
            own = self._order[self._offsets[place] : self._offsets[place + 1]]
            own = own[self._there[own]]
            if len(own):
                yield self._contest(ids[place].as_py(), own)

    def _find_participants(self) -> None:
        """Mark the rows of players who were in their contest, under any of their names."""
        n = max(self._dataset.n_players, 1)
        for part in self._dataset.participants():
            bounds = self._offsets[part.first_contest : part.first_contest + len(part) + 1]
            rows = self._order[bounds[0] : bounds[-1]]
            if not len(rows):
                continue
            place = np.repeat(np.arange(len(part)), np.diff(bounds))
            player = self._player[self._rows.player.codes[rows]]
            known = np.flatnonzero(player >= 0)
            named = self._dataset.named(part.first_contest + place[known], player[known])
            in_part = part.contests_of(np.arange(len(part.player))) - part.first_contest
            there = np.isin(place[known] * n + named, in_part * n + part.player)
            self._there[rows[known[there]]] = True

    def _contest(self, contest_id: str, rows: Longs | Ints) -> NewResults:
        """The best row of each player and problem of a contest."""
        all_rows = self._rows
        player, codes = self._player[all_rows.player.codes[rows]], all_rows.problem.codes[rows]
        used = np.unique(codes)
        names = all_rows.problem.names.take(pa.array(used)).to_pylist()
        rank = np.empty(len(used), np.int64)
        rank[sorted(range(len(used)), key=names.__getitem__)] = np.arange(len(used))
        key = player.astype(np.int64) * len(used) + rank[np.searchsorted(used, codes)]
        order = np.argsort(key, kind="stable")
        first = np.ones(len(rows), np.bool_)
        np.not_equal(key[order][1:], key[order][:-1], out=first[1:])
        if not first.all():
            after = np.zeros(len(rows)) if all_rows.after is None else all_rows.after[rows]
            order = np.lexsort((np.where(np.isnan(after), np.inf, after), -all_rows.share[rows], key))
        best = order[first]
        self.n_rows, self.n_duplicates = self.n_rows + len(best), self.n_duplicates + len(rows) - len(best)
        self._problems[used] = True
        own, player = rows[best], player[best]
        after = pa.nulls(len(own), pa.float64())
        if all_rows.after is not None:
            after = pa.array(all_rows.after[own], from_pandas=True)
        attempts = pa.nulls(len(own), pa.int32())
        if all_rows.attempts is not None:
            attempts = pa.array(all_rows.attempts[own], mask=all_rows.attempts[own] < 0)
        columns = {
            "player": pa.array(player),
            "problem": all_rows.problem.names.take(pa.array(codes[best])).dictionary_encode(),
            "share": pa.array(all_rows.share[own]),
            "after": after,
            "attempts": attempts,
        }
        table = pa.table([columns[name] for name in RESULTS.names[1:]], schema=pa.schema(list(RESULTS)[1:]))
        return NewResults(contest_id, table, self._dataset.handles().take(pa.array(player)))
