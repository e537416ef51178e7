"""From files to a data set: the contests of a folder, an archive or a table, in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ranklake.storage import Contest, Dataset, Ingest, Lake, MissingError
from ranklake.storage.datasets.ingest import IngestOrder
from ranklake.storage.lake import layout
from ranklake.storage.leases.holder import LeaseHolder

from ..common.progress import ProgressCallback
from ..common.text import count
from ..sources.base import SourceError
from ..sources.files.contests import read_contests
from ..sources.options import ReadOptions
from .report import FilesReport

__all__ = ["FILES", "check_options", "count_contests", "ingest_contests", "ingest_files", "non_default"]

FILES = "files"  # the name of the source
# The options of `follow` for files, as in `ingest files`.
DEFAULTS: dict[str, Any] = {
    "columns": (),
    "limits": (),
    **{option.name: option.default for option in fields(ReadOptions) if option.name not in ("columns", "limits")},
    "mirror": False,
}


def non_default(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that differ from their default."""
    return {name: value for name, value in options.items() if value != DEFAULTS.get(name)}


def check_options(options: Mapping[str, Any]) -> ReadOptions:
    """The settings for reading files, checked before anything is done.

    Raises
    ------
    ValueError
        An option is unknown, or its value is invalid.
    """
    if unknown := sorted(options.keys() - DEFAULTS.keys()):
        raise ValueError(f"files have no option {unknown[0]!r}; there are {', '.join(DEFAULTS)}")
    return ReadOptions.parse(**{name: value for name, value in options.items() if name != "mirror"})


def ingest_files(
    lake: Lake,
    path: str | Path,
    dataset: str,
    options: Mapping[str, Any] | None = None,
    *,
    on_progress: ProgressCallback = lambda done, total, message: None,
    before_commit: Callable[[Ingest], None] = lambda adding: None,
    **how: Any,
) -> FilesReport:
    """Bring a data set up to date with files, all contests or none.

    Parameters
    ----------
    path
        As for :func:`ranklake.flows.sources.files.contests.read_contests`.
    options
        ``columns`` (a list of KEY=COLUMN), ``limits`` (a list of KEY=NUMBER), the other fields of
        :class:`ranklake.flows.sources.options.ReadOptions`, and ``mirror``.
    before_commit
        Called with the ingest when everything is read; its errors leave the data set unchanged.
    how
        ``rewrite``, ``steal`` and ``on_wait``, as for ``Dataset.ingest``.

    Raises
    ------
    ValueError
        As for :func:`check_options`.
    SourceError
        A file cannot be read, or a contest has a fault.
    """
    reading = check_options(options or {})
    report = FilesReport(FILES, layout.check_dataset_name(dataset))
    ingest_contests(
        lake,
        read_contests(path, report=report.read, options=reading),
        report,
        "time" if reading.order == "time" else "source",
        mirror=bool(options and options.get("mirror")),
        on_progress=on_progress,
        before_commit=before_commit,
        **how,
    )
    return report


def ingest_contests(
    lake: Lake,
    contests: Iterable[Contest],
    report: FilesReport,
    order: IngestOrder = "source",
    *,
    mirror: bool = False,
    rewrite: bool = False,
    steal: bool = False,
    on_wait: Callable[[LeaseHolder], None] = lambda by: None,
    on_progress: ProgressCallback = lambda done, total, message: None,
    before_commit: Callable[[Ingest], None] = lambda adding: None,
) -> None:
    """Add contests to the data set of a report, all or none, and count them in the report.

    The iterator of contests fills ``report.read``. The first contest is read before the lease is taken: most faults of
    a file end here, and leave no folder of a new data set.
    """
    began, read = time.monotonic(), report.read
    read.on_reading = partial(on_progress, 0, None)
    changing = Dataset.ingest(
        lake, report.dataset, order=order, mirror=mirror, rewrite=rewrite, steal=steal, on_wait=on_wait
    )
    try:
        contests = iter(contests)
        first = tuple(islice(contests, 1))
        with changing as adding:
            for contest in chain(first, contests):
                report.count(adding.add(contest))
                on_progress(read.contests, read.there, count(read.participations, "participation"))
            for left_out in report.read.left_out:
                if mirror and not left_out.contest:
                    rule = "a mirror needs every record: the contest of a skipped record is unknown"
                    raise SourceError(f"{rule} ({left_out.reason})")
                adding.keep(left_out.contest)
            before_commit(adding)
    except MemoryError:
        rule = "not enough memory; nothing was ingested. Use a machine with more, or ingest in parts of whole contests"
        raise SourceError(rule, f"data set {report.dataset}") from None
    report.removed, report.moved, report.alike = len(adding.removed), adding.moved, adding.alike_players()
    report.seconds = time.monotonic() - began


def count_contests(lake: Lake, dataset: str) -> int:
    """The number of contests of a data set; 0 if it does not exist."""
    try:
        return int(Dataset.open(lake, dataset).contests.num_rows)
    except MissingError:
        return 0
