"""From files to a data set: the contests of a folder, an archive or a table, in one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from ranklake.storage import Contest, Ingest, Lake
from ranklake.storage.datasets.ingest import IngestOrder
from ranklake.storage.lake import layout

from ..common.text import count
from ..common.times import parse_time
from ..sources.base import IngestReport, SourceError
from ..sources.files.contests import read_contests
from ..sources.options import ReadOptions
from .adding import QUIET, How, add_all
from .report import FilesReport, SourceReport

FILES, KAGGLE = "files", "kaggle"  # the names of the sources
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
    """The contests of files; nothing is written.

    ``path`` is as for ``read_contests``. ``options`` are ``columns`` (a list of KEY=COLUMN), ``limits`` (a list of
    KEY=NUMBER), the other fields of :class:`ranklake.flows.sources.options.ReadOptions`, and ``mirror``. Raises as
    :func:`check_options`.
    """
    reading, report = check_options(options or {}), IngestReport()
    contests = read_contests(path, report=report, options=reading)
    order: IngestOrder = "time" if reading.order == "time" else "source"
    return ReadContests(contests, report, order, bool(options and options.get("mirror")))


def ingest_files(
    lake: Lake, path: str | Path, dataset: str, options: Mapping[str, Any] | None = None, how: How = QUIET
) -> FilesReport:
    """Bring a data set up to date with files, all contests or none; ``path`` and ``options`` are as for
    :func:`read_files`, and it raises as :func:`ingest_contests`.
    """
    return ingest_contests(lake, read_files(path, options), FilesReport(FILES, dataset), how)


def ingest_contests(lake: Lake, read: ReadContests, report: FilesReport, how: How) -> FilesReport:
    """Add contests to the data set of a report, all or none; fills and returns the report.

    Raises ``SourceError`` if a file cannot be read or a contest has a fault.
    """
    report.read = reading = read.report
    reading.on_reading = partial(how.on_progress, 0, None)

    def on_added() -> None:
        how.on_progress(reading.contests, reading.there, count(reading.participations, "participation"))

    def before_commit(adding: Ingest) -> None:
        for left_out in reading.left_out:
            if read.mirror and not left_out.contest:
                rule = "a mirror needs every record: the contest of a skipped record is unknown"
                raise SourceError(f"{rule} ({left_out.reason})")
            adding.keep(left_out.contest)
        how.before_commit(adding)

    try:
        whole = replace(how, before_commit=before_commit)
        adding = add_all(lake, report, read.contests, whole, on_added, order=read.order, mirror=read.mirror)
    except MemoryError:
        rule = "not enough memory; nothing was ingested. Use a machine with more, or ingest in parts of whole contests"
        raise SourceError(rule, f"data set {report.dataset}") from None
    report.removed, report.moved = len(adding.removed), adding.moved
    return report


def ingest_kaggle(
    lake: Lake, folder: str | None, report: SourceReport, since: str | None = None, how: How = QUIET
) -> SourceReport:
    """Bring the data set of a report up to date with a folder of Meta Kaggle, which is not stored in the lake; fills
    and returns the report.

    ``since`` is as for :func:`ranklake.flows.ingestion.sites.ingest_source`.
    """
    from ..sources.files.kaggle import read_meta_kaggle  # pandas takes half a second to load

    if folder is None or not Path(folder).is_dir():
        raise ValueError(f"--base-url must be the folder with the files of Meta Kaggle, got {folder!r}")
    lake.check_new_folder(layout.dataset_folder(report.dataset))
    start = None if since is None else parse_time(since, "since")
    how.on_progress(0, None, f"reading {folder}")
    add_all(lake, report, list(read_meta_kaggle(folder, int(time.time()), start)), how, order="time")
    return report
