"""From a site to a data set: request missing documents, then parse the stored responses."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ranklake.storage import Dataset, Ingest, Lake
from ranklake.storage.lake import layout
from ranklake.storage.lake.access.naming import check_folder
from ranklake.storage.lake.errors import MissingError
from ranklake.storage.leases.acquire import WAIT_SECONDS, hold_lease
from ranklake.storage.leases.holder import LeaseHolder

from ..common.progress import ProgressCallback
from ..common.times import parse_time
from ..http.client import Client
from ..sources.base import SourceError
from ..sources.sites.site import Site, find_site
from .fetch import FolderClient, fetch
from .report import SourceReport
from .response_archive import ResponseArchive
from .update import update_dataset

KAGGLE = "kaggle"


def ingest_source(
    lake: Lake,
    source: str,
    dataset: str | None = None,
    *,
    since: str | None = None,
    base_url: str | None = None,
    again: bool = False,
    on_progress: ProgressCallback = lambda done, total, message: None,
    client: Client | FolderClient | None = None,
    on_retry: Callable[[str], None] = lambda why: None,
    steal: bool = False,
    on_wait: Callable[[LeaseHolder], None] = lambda by: None,
    **choices: Any,
) -> SourceReport:
    """Bring a data set up to date with a site.

    Stored responses are not requested again: an interrupted run continues where it stopped.

    ``source``: name of the site, a key of ``ranklake.flows.sources.sites.site.SITES``; or ``kaggle``, whose files are
    read in the folder ``base_url`` and not stored in the lake.
    ``dataset``: name of the data set, created if missing; by default that of the site.
    ``since``: request only contests that ended then or later: a date, a time or UTC seconds. Earlier ones are kept.
    ``base_url``: address of the site, by default its own.
    ``again``: request stored documents again, too. Otherwise a contest is requested again, in its first thirty days,
    whenever its age has doubled.
    ``on_progress``: called with the number of documents that are done, their number, and a message.
    ``client``: client of the site, closed at the end. The default has the access token in ``RANKLAKE_<SOURCE>_TOKEN``
    and the address in ``RANKLAKE_CONTACT`` in its user agent.
    ``on_retry``: called with the reason and the length of the pause before a request is repeated.
    ``steal``, ``on_wait``: as for ``Dataset.ingest``, also for the lease on the responses of the site.
    ``choices``: further settings of a site, see its class in ``ranklake.flows.sources.sites``.
    Raises ValueError: a name, a time or an address is invalid.
    Raises SourceError: the site cannot be reached, or its list is invalid; earlier responses are kept.
    Raises LakeError: the lake is damaged, or another process holds a lease for longer than ten minutes.
    """
    began = time.monotonic()
    if source == KAGGLE:
        report = SourceReport(KAGGLE, layout.check_dataset_name(dataset or KAGGLE))
        ingest_kaggle(lake, report, base_url, since, steal=steal, on_wait=on_wait, on_progress=on_progress)
        return report
    site = find_site(source, base_url, **choices)
    dataset = layout.check_dataset_name(dataset or source)
    check_folder(lake, layout.dataset_folder(dataset))  # before any request
    start = None if since is None else parse_time(since, "since")
    with client or open_client(site, on_retry) as used_client:
        folder, purpose = layout.raw_folder(source), f"ingest {source}"
        with hold_lease(lake, folder, purpose, steal=steal, wait_seconds=WAIT_SECONDS, on_wait=on_wait) as lease:
            archive, before = ResponseArchive(lake, source, lease), used_client.requests
            unreadable = fetch(archive, site, used_client, since=start, again=again, on_progress=on_progress)
            requests = used_client.requests - before
    report = update_dataset(lake, archive, site, dataset, steal=steal, on_wait=on_wait, on_progress=on_progress)
    for error in unreadable:
        report.reject(error)
    report.requests, report.seconds = requests, time.monotonic() - began
    return report


def normalise_source(
    lake: Lake,
    source: str,
    dataset: str | None = None,
    *,
    rewrite: bool = False,
    steal: bool = False,
    on_progress: ProgressCallback = lambda done, total, message: None,
    on_wait: Callable[[LeaseHolder], None] = lambda by: None,
) -> SourceReport:
    """Parse all stored responses of a site again and bring a data set up to date with them, without any request;
    ``MissingError`` if there are none.
    """
    began = time.monotonic()
    site = find_site(source)
    dataset = layout.check_dataset_name(dataset or source)
    archive = ResponseArchive(lake, source)
    archive.rebuild()
    if not any(archive.keys(kind) for kind in site.kinds):
        raise MissingError(f"no responses of {source} in {lake.url}; `ranklake ingest {source}` fetches them")
    report = update_dataset(
        lake,
        archive,
        site,
        dataset,
        everything=True,
        rewrite=rewrite,
        steal=steal,
        on_wait=on_wait,
        on_progress=on_progress,
    )
    report.seconds = time.monotonic() - began
    return report


def open_client(site: Site, on_retry: Callable[[str], None] = lambda why: None) -> Client | FolderClient:
    """The client of a site, with token and contact from the environment, or of a folder that holds its files;
    ``ValueError`` if its address is neither.
    """
    if not site.base_url:
        raise ValueError(f"{site.name} is closed; --base-url must be the folder with the files of its feed")
    if Path(site.base_url).is_dir():
        return FolderClient(site.name, site.base_url)
    return Client(
        site.name,
        site.base_url,
        interval_seconds=site.interval_seconds,
        pause_seconds=site.pause_seconds,
        token=os.environ.get(f"RANKLAKE_{site.name.upper()}_TOKEN", ""),
        contact=os.environ.get("RANKLAKE_CONTACT", ""),
        on_retry=on_retry,
    )


def ingest_kaggle(
    lake: Lake,
    report: SourceReport,
    folder: str | None,
    since: str | None = None,
    *,
    steal: bool = False,
    on_wait: Callable[[LeaseHolder], None] = lambda by: None,
    on_progress: ProgressCallback = lambda done, total, message: None,
    before_commit: Callable[[Ingest], None] = lambda adding: None,
) -> None:
    """Bring the data set of a report up to date with a folder of Meta Kaggle; see :func:`ingest_source`.

    ``before_commit`` is called with the ingest when everything is read; its errors leave the data set unchanged.
    """
    from ..sources.files.kaggle import read_meta_kaggle

    if folder is None or not Path(folder).is_dir():
        raise ValueError(f"--base-url must be the folder with the files of Meta Kaggle, got {folder!r}")
    began = time.monotonic()
    check_folder(lake, layout.dataset_folder(report.dataset))
    start = None if since is None else parse_time(since, "since")
    on_progress(0, None, f"reading {folder}")
    contests = list(read_meta_kaggle(folder, int(time.time()), start))
    with Dataset.ingest(lake, report.dataset, order="time", steal=steal, on_wait=on_wait) as adding:
        for contest in contests:
            if isinstance(contest, SourceError):
                report.reject(contest)
            else:
                report.count(adding.add(contest))
        before_commit(adding)
    report.alike = adding.alike_players()
    report.seconds = time.monotonic() - began
