"""Ingest the results of problems into a data set, all of them or none."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Dataset, Lake, LakeError
from ranklake.storage.datasets.results import StoredResults
from ranklake.storage.datasets.tables.games import GAMES_KIND
from ranklake.storage.lake.layout import dataset_folder
from ranklake.storage.leases.acquire import WAIT_SECONDS, hold_lease

from ..common.text import quoted
from ..sources.base import SourceError
from ..sources.problems.matching import MatchedResults
from ..sources.problems.problems import read_problems
from ..sources.problems.results import read_results
from ..sources.problems.tables import TableOptions
from .adding import QUIET, How
from .report import ResultsReport


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
    rows = read_results(paths, options, table)
    folder, purpose = dataset_folder(dataset), f"ingest results into {dataset}"
    with hold_lease(lake, folder, purpose, steal=how.steal, wait_seconds=WAIT_SECONDS, on_wait=how.on_wait) as lease:
        opened, stored = Dataset.open(lake, dataset), StoredResults.open(lake, dataset)
        matched = MatchedResults(opened, rows, skip_strangers=skip_strangers)
        merged = None if problems is None else _merged(stored.problems(), problems, options)
        counts = stored.replace(lease, matched.contests(), merged)
    found = matched.n_rows, matched.n_problems
    return ResultsReport(dataset, *found, *counts, matched.n_duplicates, matched.n_strangers)


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
