"""Requests of data from a source, and one function for all: a site, files or a database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ranklake.storage import Lake
from ranklake.storage.lake import layout

from ..common.times import parse_time
from ..sources.base import SourceError
from ..sources.sites.site import SITES, find_site
from .adding import QUIET, How, count_contests
from .databases import SQL, check_query, ingest_sql
from .file_changes import watch
from .files import FILES, KAGGLE, check_options, ingest_contests, ingest_kaggle, read_files
from .report import FilesReport, SourceReport
from .sites import ingest_source, open_client

SOURCES = (*SITES, KAGGLE, FILES, SQL)


@dataclass(frozen=True)
class SourceRequest:
    """A source to bring into a data set, where it is and how it is read; checked when it is made.

    ``source``: one of :data:`SOURCES`.
    ``dataset``: name of the data set; by default that of the source.
    ``since``, ``base_url``, ``again``, ``choices``: of sites, as for
    :func:`ranklake.flows.ingestion.sites.ingest_source`.
    ``path``: of ``files``, as for :func:`ranklake.flows.ingestion.files.read_files`; of ``kaggle``, the folder.
    ``file_options``: of ``files`` and ``sql``, the options of ``ingest_files``.
    ``database``: of ``sql``: ``url``, ``query`` and ``watermark`` of
    :func:`ranklake.flows.ingestion.databases.ingest_sql`.
    Raises ValueError: the source, the time, the address or an option of files is invalid, or the path or the query is
    missing or not allowed.
    """

    source: str
    dataset: str = ""
    since: str | None = None
    base_url: str | None = None
    path: str | None = None
    file_options: Mapping[str, Any] = field(default_factory=dict)
    database: Mapping[str, str | None] = field(default_factory=dict)
    again: bool = False
    choices: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        source = self.source
        if source not in SOURCES:
            raise ValueError(f"source must be one of {', '.join(SOURCES)}, got {source!r}")
        if self.since is not None:
            parse_time(self.since, "since")
        if source not in (FILES, SQL) and self.file_options:
            raise ValueError(f"{', '.join(self.file_options)}: an option of {FILES}, not of {source}")
        if source != SQL and self.database:
            raise ValueError(f"{', '.join(self.database)}: an option of {SQL}, not of {source}")
        if source == SQL:
            if (self.since, self.base_url, self.path) != (None, None, None):
                rule = "source sql takes the address of a database, a query and a watermark"
                raise ValueError(f"{rule}: leave the others out")
            given = self.database.get
            check_query(given("url"), given("query"), given("watermark"), self.file_options)
        elif source in (FILES, KAGGLE):
            self._check_files()
        elif self.path is not None:
            rule = f"a path is for {FILES} and {KAGGLE}; {source} is a site"
            raise ValueError(f"{rule}, give another address as base_url")
        else:
            with open_client(find_site(source, self.base_url, **self.choices)):
                pass
        object.__setattr__(self, "dataset", layout.check_dataset_name(self.dataset or source))

    def _check_files(self) -> None:
        if self.path is None and (self.source == FILES or self.base_url is None):
            kind = "of a folder, archive or table" if self.source == FILES else "of the folder of Meta Kaggle"
            raise ValueError(f"source {self.source} needs the path {kind}")
        if self.source == FILES and (self.since is not None or self.base_url is not None):
            raise ValueError("source files has no address and is read in full: leave since and base_url out")
        check_options(self.file_options)


def update(lake: Lake, request: SourceRequest, how: How = QUIET) -> SourceReport:
    """Bring a data set up to date with a source; unchanged files are not read. ``rewrite`` is for ``files`` and
    ``sql``.

    Raises ``DatabaseError`` if the database cannot be reached or refuses the query, ``SourceError`` if the site or a
    file cannot be read, and ``LakeError``. Files leave the data set unchanged then; of a site, earlier responses are
    kept.
    """
    if request.source == SQL:
        given = {name: value for name, value in request.database.items() if value is not None}
        url, query = given.pop("url"), given.pop("query")
        return ingest_sql(lake, url, query, request.dataset, options=request.file_options, how=how, **given)
    if request.source in (FILES, KAGGLE):
        return _update_from_files(lake, request, how)
    where: dict[str, Any] = {"since": request.since, "base_url": request.base_url, "again": request.again}
    return ingest_source(lake, request.source, request.dataset, how=how, **where, **request.choices)


def _update_from_files(lake: Lake, request: SourceRequest, how: How) -> FilesReport:
    source, files = request.source, request.source == FILES
    folder = str(request.path if request.path is not None else request.base_url)
    options = [source, request.since, dict(request.file_options)]
    options += [] if files else ["teams"]  # what an earlier release read without teams is read again
    read_as = json.dumps(options, sort_keys=True, default=list, allow_nan=False)
    report = FilesReport(source, request.dataset)
    only: tuple[str, ...] | None = None
    if not files:
        from ..sources.files.kaggle import FILES as TABLES  # pandas takes half a second to load

        only = tuple(TABLES)
    watched = watch(lake, report.dataset, folder, read_as, only)
    if not watched.changed and (n_contests := count_contests(lake, report.dataset)):
        report.unchanged = n_contests
    else:
        how = replace(how, before_commit=watched.record)
        try:
            if files:
                ingest_contests(lake, read_files(folder, request.file_options), report, how)
            else:
                ingest_kaggle(lake, folder, report, request.since, how)
        except SourceError:
            watched.check()  # a fault of a file that is being replaced is no fault of its content
            raise
    report.n_files, report.n_changed = watched.n_files, watched.n_changed
    return report
