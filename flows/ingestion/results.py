"""Ingest the results of problems into a data set, all of them or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Dataset, Lake, LakeError
from ranklake.storage.datasets.results import NewResults, StoredResults
from ranklake.storage.datasets.tables.games import GAMES_KIND
from ranklake.storage.lake.layout import dataset_folder
from ranklake.storage.lake.schemas import RESULTS
from ranklake.storage.leases.acquire import WAIT_SECONDS, hold_lease
from ranklake.storage.names.hints import hint, near_names

from ..common.text import count, quoted
from ..sources.base import SourceError
from ..sources.problems.problems import read_problems
from ..sources.problems.results import ProblemResults, read_results
from ..sources.problems.tables import TableOptions
from .adding import QUIET, How

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ResultsReport:
    """Counts of an ingestion of results of problems.

    ``n_rows``, ``n_problems``: results and their different problems. ``new``, ``corrected``, ``unchanged``: contests.
    ``n_duplicates``: rows of a player and problem that another row had already. ``n_strangers``: rows of players who
    were not in the contest, left out.
    """

    dataset: str
    n_rows: int
    n_problems: int
    new: int
    corrected: int
    unchanged: int
    n_duplicates: int
    n_strangers: int

    def notes(self) -> list[str]:
        """What was left out, one line each."""
        lines = []
        if self.n_duplicates:
            rule = (
                "of a player and a problem in a contest that had one: the greater share, then the earlier time, counts"
            )
            lines.append(f"{count(self.n_duplicates, 'further row')} {rule}")
        if self.n_strangers:
            lines.append(f"{count(self.n_strangers, 'row')} of players who were not in the contest left out")
        return lines

    def line(self) -> str:
        """The counts in one line."""
        kinds = {"new": self.new, "corrected": self.corrected, "unchanged": self.unchanged}
        contests = ", ".join(f"{n:,} {kind}" for kind, n in kinds.items() if n) or "no"
        plural = "" if sum(kinds.values()) == 1 else "s"
        results = f"{count(self.n_rows, 'result')} of {count(self.n_problems, 'problem')}"
        return f"{results}; {contests} contest{plural}"


def ingest_results(
    lake: Lake,
    paths: Sequence[str],
    dataset: str,
    options: TableOptions,
    problems: str | None = None,
    skip_strangers: bool = False,
    how: How = QUIET,
) -> ResultsReport:
    """Replace the results of all contests in files; the results of other contests stay. No rating depends on them.

    ``problems``: a file of problems: they replace those of the same ids in the table of problems.
    ``skip_strangers``: leave out, and count, results of players who were not in the contest.

    Raises SourceError: a file or a value is invalid, or a contest or a player unknown; nothing is ingested.
    """
    opened = Dataset.open(lake, dataset)  # before the lease, whose folder would be that of a new data set
    if opened.kind == GAMES_KIND:
        raise LakeError(f"data set {dataset} has games, which have no problems; ingest results beside contests")
    table = _merged(StoredResults.open(lake, dataset).problems(), problems, options)
    how.on_progress(0, None, "reading results")
    read = read_results(paths, options, table)
    folder, purpose = dataset_folder(dataset), f"ingest results into {dataset}"
    with hold_lease(lake, folder, purpose, steal=how.steal, wait_seconds=WAIT_SECONDS, on_wait=how.on_wait) as lease:
        opened, stored = Dataset.open(lake, dataset), StoredResults.open(lake, dataset)
        place, player, strangers = _participants(opened, read, skip_strangers)
        kept, n_duplicates = _order(read, place, player, ~strangers)
        new = list(_by_contest(opened, read, place, player, kept))
        merged = None if problems is None else _merged(stored.problems(), problems, options)
        counts = stored.replace(lease, new, merged)
    n_problems = len(np.unique(read.problem.indices.to_numpy()[kept]))
    return ResultsReport(dataset, len(kept), n_problems, *counts, n_duplicates, int(strangers.sum()))


def _merged(before: pa.Table, path: str | None, options: TableOptions) -> pa.Table:
    """The table of problems with those of a file."""
    if path is None:
        return before
    new = read_problems(path, options)
    replaced = pc.is_in(before.column("problem"), value_set=new.column("problem").combine_chunks())
    merged = pa.concat_tables([before.filter(pc.invert(replaced)), new]).combine_chunks()
    _check_aliases(merged, path)
    return merged


def _check_aliases(problems: pa.Table, source: str) -> None:
    """Raise ``SourceError`` if problems are the same as each other in a circle."""
    names = problems.column("problem").to_pylist()
    same = {name: other for name, other in zip(names, problems.column("same_as").to_pylist(), strict=True) if other}
    for name in same:
        path = [name]
        while (other := same.get(path[-1])) is not None:
            path.append(other)
            if other == name:
                rule = f"{' -> '.join(map(quoted, path))} is a circle of same_as; leave it empty for one of them"
                raise SourceError(rule, source)
            if other in path[:-1]:
                break


def _participants(
    dataset: Dataset, read: ProblemResults, skip_strangers: bool
) -> tuple[Longs, npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """The place of the contest of each row in rated order, the player's index, and who was not in the contest.

    Raises SourceError: a contest is unknown, or a player was not in the contest and these are not skipped.
    """
    ids = dataset.contests.column("contest_id").combine_chunks()
    places = pc.index_in(read.contest.dictionary, value_set=ids).fill_null(-1).to_numpy()
    place = places[read.contest.indices.to_numpy()].astype(np.int64)
    if len(place) and place.min() < 0:
        row = int(np.argmax(place < 0))
        name = read.contest[row].as_py()
        near = hint(name, near_names(name, ids.to_pylist()))
        raise read.error_at(
            f"data set {dataset.name} has no contest {quoted(name)}{near}; ingest its standings first", row
        )
    players = pc.index_in(read.player.dictionary, value_set=dataset.handles()).fill_null(-1).to_numpy()
    player: npt.NDArray[np.int32] = players[read.player.indices.to_numpy()].astype(np.int32)
    order = np.argsort(place, kind="stable")
    current = np.full(len(player), -1, np.int32)
    known = order[player[order] >= 0]
    current[known] = dataset.named(place[known], player[known])
    n, ordered = max(dataset.n_players, 1), place[order]
    there = np.zeros(len(place), np.bool_)
    for part in dataset.participants():
        first, last = np.searchsorted(ordered, (part.first_contest, part.first_contest + len(part)))
        rows = order[first:last]
        if len(rows):
            in_part = part.contests_of(np.arange(len(part.player))) * n + part.player
            there[rows] = np.isin(ordered[first:last] * n + current[rows], in_part) & (current[rows] >= 0)
    if not there.all() and not skip_strangers:
        row = int(np.argmin(there))
        name = quoted(read.player[row].as_py())
        rule = f"player {name} is not in the standings of the contest"
        raise read.error_at(f"{rule}; correct the name, or --skip-strangers leaves out such rows and counts them", row)
    return place, player, ~there


def _order(
    read: ProblemResults, place: Longs, player: npt.NDArray[np.int32], chosen: npt.NDArray[np.bool_]
) -> tuple[Longs, int]:
    """The chosen rows by contest, player and problem, the best one of each; and the number of the others."""
    names = read.problem.dictionary.to_pylist()
    rank = np.empty(len(names), np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    rows = np.flatnonzero(chosen)
    problem = rank[read.problem.indices.to_numpy()[rows]] if len(names) else np.empty(0, np.int64)
    # one number for each contest, player and problem: sorting it is a tenth of the work of sorting all columns
    pair = place[rows] * (int(player.max(initial=0)) + 1) + player[rows]
    key = np.unique(pair, return_inverse=True)[1].astype(np.int64) * max(len(names), 1) + problem
    order = np.argsort(key, kind="stable")
    if (repeated := key[order][1:] == key[order][:-1]).any():
        after = np.where(np.isnan(read.after), np.inf, read.after)
        order = np.lexsort((after[rows], -read.share[rows], key))
        repeated = key[order][1:] == key[order][:-1]
    kept = np.concatenate((np.ones(min(len(rows), 1), np.bool_), ~repeated))
    return rows[order][kept], int(len(rows) - kept.sum())


def _by_contest(
    dataset: Dataset, read: ProblemResults, place: Longs, player: npt.NDArray[np.int32], rows: Longs
) -> Iterator[NewResults]:
    """The results of each contest, given the rows to keep in order."""
    ids, handles = dataset.contests.column("contest_id"), dataset.handles()
    begins = np.flatnonzero(np.diff(place[rows], prepend=-1))
    for start, stop in zip(begins.tolist(), [*begins[1:].tolist(), len(rows)], strict=True):
        own = rows[start:stop]
        columns = {
            "player": pa.array(player[own]),
            "problem": read.problem.take(pa.array(own)).dictionary_decode().dictionary_encode(),  # of this contest
            "share": pa.array(read.share[own]),
            "after": pa.array(read.after[own], from_pandas=True),
            "attempts": pa.array(read.attempts[own], from_pandas=True).cast(pa.int32()),
        }
        table = pa.table([columns[name] for name in RESULTS.names[1:]], schema=pa.schema(list(RESULTS)[1:]))
        contest_id = ids[int(place[own[0]])].as_py()
        yield NewResults(contest_id, table, handles.take(pa.array(player[own])))
