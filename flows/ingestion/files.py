"""From files to a data set: the contests of a folder, an archive or a table, in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
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
from ..sources.base import IngestReport, SourceError
from ..sources.files.contests import read_contests
from ..sources.options import ReadOptions
from .report import FilesReport

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
    """The settings for reading files; ``ValueError`` for an unknown option or an invalid value."""
    if unknown := sorted(options.keys() - DEFAULTS.keys()):
        raise ValueError(f"files have no option {unknown[0]!r}; there are {', '.join(DEFAULTS)}")
    return ReadOptions.parse(**{name: value for name, value in options.items() if name != "mirror"})


@dataclass
class ReadContests:
    """Contests that are read while they are ingested, the counts of reading them, and how they join a data set."""

    contests: Iterator[Contest]
    report: IngestReport
    order: IngestOrder = "source"
    mirror: bool = False


def read_files(path: str | Path | Sequence[str], options: Mapping[str, Any] | None = None) -> ReadContests:
    """The contests of files, with the arguments of :func:`ingest_files`; nothing is written."""
    reading, report = check_options(options or {}), IngestReport()
    contests = read_contests(path, report=report, options=reading)
    order: IngestOrder = "time" if reading.order == "time" else "source"
    return ReadContests(contests, report, order, bool(options and options.get("mirror")))


def ingest_files(
    lake: Lake, path: str | Path, dataset: str, options: Mapping[str, Any] | None = None, **how: Any
) -> FilesReport:
    """Bring a data set up to date with files, all contests or none.

    ``path`` is as for ``read_contests``. ``options`` are ``columns`` (a list of KEY=COLUMN), ``limits`` (a list of
    KEY=NUMBER), the other fields of :class:`ranklake.flows.sources.options.ReadOptions`, and ``mirror``. ``how`` is as
    for :func:`ingest_contests`.

    Raises as :func:`check_options`, and ``SourceError`` if a file cannot be read or a contest has a fault.
    """
    return ingest_contests(lake, dataset, read_files(path, options), **how)


def ingest_contests(
    lake: Lake,
    dataset: str,
    read: ReadContests,
    *,
    report: FilesReport | None = None,
    rewrite: bool = False,
    steal: bool = False,
    on_wait: Callable[[LeaseHolder], None] = lambda by: None,
    on_progress: ProgressCallback = lambda done, total, message: None,
    before_commit: Callable[[Ingest], None] = lambda adding: None,
) -> FilesReport:
    """Add contests to a data set, all or none; fills and returns ``report``.

    The first contest is read before the lease is taken: most faults of a file end here, and leave no folder of a new
    data set. ``rewrite``, ``steal`` and ``on_wait`` are as for ``Dataset.ingest``. ``before_commit`` is called with the
    ingest when everything is read; its errors leave the data set unchanged.
    """
    began, reading = time.monotonic(), read.report
    report = FilesReport(FILES, dataset) if report is None else report
    report.read = reading
    reading.on_reading = partial(on_progress, 0, None)
    how: dict[str, Any] = {"order": read.order, "mirror": read.mirror, "rewrite": rewrite}
    changing = Dataset.ingest(lake, layout.check_dataset_name(dataset), steal=steal, on_wait=on_wait, **how)
    try:
        first = tuple(islice(read.contests, 1))
        with changing as adding:
            for contest in chain(first, read.contests):
                report.count(adding.add(contest))
                on_progress(reading.contests, reading.there, count(reading.participations, "participation"))
            for left_out in reading.left_out:
                if read.mirror and not left_out.contest:
                    rule = "a mirror needs every record: the contest of a skipped record is unknown"
                    raise SourceError(f"{rule} ({left_out.reason})")
                adding.keep(left_out.contest)
            before_commit(adding)
    except MemoryError:
        rule = "not enough memory; nothing was ingested. Use a machine with more, or ingest in parts of whole contests"
        raise SourceError(rule, f"data set {dataset}") from None
    report.removed, report.moved, report.alike = len(adding.removed), adding.moved, adding.alike_players()
    report.seconds = time.monotonic() - began
    return report


def count_contests(lake: Lake, dataset: str) -> int:
    """The number of contests of a data set; 0 if it does not exist."""
    try:
        return int(Dataset.open(lake, dataset).contests.num_rows)
    except MissingError:
        return 0
