"""One function that brings a data set up to date with its source: a site, files or a database."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ranklake.storage import Lake
from ranklake.storage.lake import layout
from ranklake.storage.leases.holder import LeaseHolder

from ..common.progress import ProgressCallback
from ..common.times import parse_time
from ..sources.base import SourceError
from ..sources.sites.site import SITES, find_site
from .databases import SQL, check_query, ingest_sql
from .file_changes import watch
from .files import FILES, check_options, count_contests, ingest_files
from .report import FilesReport, SourceReport
from .sites import KAGGLE, ingest_kaggle, ingest_source, open_client

__all__ = ["SOURCES", "check_source", "has_contests", "update"]

SOURCES = (*SITES, KAGGLE, FILES, SQL)


def check_source(
    source: str,
    since: str | None = None,
    base_url: str | None = None,
    path: str | None = None,
    file_options: Mapping[str, Any] | None = None,
    database: Mapping[str, str | None] | None = None,
) -> None:
    """Check the arguments of :func:`update` before anything is done.

    Raises
    ------
    ValueError
        The source, the time, the address or an option of files is invalid, or the path or the query is missing or not
        allowed.
    """
    if source not in SOURCES:
        raise ValueError(f"source must be one of {', '.join(SOURCES)}, got {source!r}")
    if since is not None:
        parse_time(since, "since")
    if source not in (FILES, SQL) and file_options:
        raise ValueError(f"{', '.join(file_options)}: an option of {FILES}, not of {source}")
    if source != SQL and database:
        raise ValueError(f"{', '.join(database)}: an option of {SQL}, not of {source}")
    if source == SQL:
        if since is not None or base_url is not None or path is not None:
            raise ValueError(
                "source sql takes the address of a database, a query and a watermark: leave the others out"
            )
        given = database or {}
        check_query(given.get("url"), given.get("query"), given.get("watermark"), file_options)
        return
    if source in (FILES, KAGGLE):
        if path is None and (source == FILES or base_url is None):
            kind = "of a folder, archive or table" if source == FILES else "of the folder of Meta Kaggle"
            raise ValueError(f"source {source} needs the path {kind}")
        if source == FILES and (since is not None or base_url is not None):
            raise ValueError("source files has no address and is read in full: leave since and base_url out")
        check_options(file_options or {})
        return
    if path is not None:
        raise ValueError(f"a path is for {FILES} and {KAGGLE}; {source} is a site, give another address as base_url")
    with open_client(find_site(source, base_url)):
        pass


def update(
    lake: Lake,
    source: str,
    dataset: str,
    *,
    since: str | None = None,
    base_url: str | None = None,
    path: str | None = None,
    file_options: Mapping[str, Any] | None = None,
    database: Mapping[str, str | None] | None = None,
    on_progress: ProgressCallback = lambda done, total, message: None,
    on_retry: Callable[[str], None] = lambda why: None,
    on_wait: Callable[[LeaseHolder], None] = lambda by: None,
) -> SourceReport:
    """Bring a data set up to date with a source; unchanged files are not read.

    Parameters
    ----------
    source
        One of :data:`SOURCES`.
    since, base_url, on_retry, on_wait
        As for :func:`ranklake.flows.ingestion.sites.ingest_source`.
    path, file_options
        For ``files``, as for :func:`ranklake.flows.ingestion.files.ingest_files`; for ``kaggle``, the folder.
    database
        For ``sql``: ``url``, ``query`` and ``watermark`` of :func:`ranklake.flows.ingestion.databases.ingest_sql`.

    Raises
    ------
    ValueError
        As for :func:`check_source`.
    DatabaseError
        The database cannot be reached, or refuses the query.
    SourceError
        The site or a file cannot be read. Files leave the data set unchanged; of a site, earlier responses are kept.
    LakeError
        The lake is damaged, or another process holds the lease of the data set for longer than ten minutes.
    """
    how: dict[str, Any] = {"on_progress": on_progress, "on_wait": on_wait}
    if source == SQL:
        check_source(source, since, base_url, path, file_options, database)
        given = {name: value for name, value in (database or {}).items() if value is not None}
        url, query = given.pop("url"), given.pop("query")
        return ingest_sql(lake, url, query, dataset, options=file_options, **how, **given)
    if source not in (FILES, KAGGLE):
        return ingest_source(lake, source, dataset, since=since, base_url=base_url, on_retry=on_retry, **how)
    check_source(source, since, base_url, path, file_options)
    folder = str(path if path is not None else base_url)
    options = [source, since, dict(file_options or {})]
    options += ["teams"] if source == KAGGLE else []  # what an earlier release read without teams is read again
    read_as = json.dumps(options, sort_keys=True, default=list, allow_nan=False)
    watched = watch(
        lake, layout.check_dataset_name(dataset), folder, read_as, _kaggle_files() if source == KAGGLE else None
    )
    report = FilesReport(source, dataset)
    if not watched.changed and (n_contests := count_contests(lake, dataset)):
        report.unchanged = n_contests
    else:
        how |= {"before_commit": watched.record}
        try:
            if source == FILES:
                report = ingest_files(lake, folder, dataset, file_options, **how)
            else:
                ingest_kaggle(lake, report, folder, since, **how)
        except SourceError:
            watched.check()  # a fault of a file that is being replaced is no fault of its content
            raise
    report.n_files, report.n_changed = watched.n_files, watched.n_changed
    return report


def has_contests(lake: Lake, dataset: str) -> bool:
    """Whether a data set has contests."""
    return count_contests(lake, dataset) > 0


def _kaggle_files() -> tuple[str, ...]:
    from ..sources.files.kaggle import FILES as TABLES  # pandas takes half a second to load

    return tuple(TABLES)
