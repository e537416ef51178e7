"""From a site to a data set: ask for what is missing, read the raw responses, and take in what they tell."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ranklake.storage import Dataset, Ingest, Lake
from ranklake.storage.lake import layout
from ranklake.storage.lake.errors import MissingError
from ranklake.storage.lake.naming import check_folder
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.holder import LeaseHolder

from ..common.progress import ProgressCallback
from ..common.times import parse_time
from ..http.client import Client
from ..sources.base import SourceError
from ..sources.sites.site import Site, find_site
from .fetch import fetch
from .folder_client import FolderClient
from .report import SourceReport
from .response_archive import ResponseArchive
from .update import update_dataset

__all__ = ["KAGGLE", "ingest_kaggle", "ingest_source", "normalise_source", "open_client"]

KAGGLE = "kaggle"
LEASE_TIMEOUT_SECONDS = 600.0  # for another ingestion of the same site to end


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

    What the lake has of the site's responses is not asked for again; a run that was stopped goes on where it stopped.

    Parameters
    ----------
    source
        Name of the site, a key of ``ranklake.flows.sources.sites.site.SITES``; or ``kaggle``, whose files are read
        where they are, in the folder ``base_url``, and not kept once more.
    dataset
        Name of the data set, made if need be; by default that of the site.
    since
        Ask only for contests that ended then or later: a date, a time or UTC seconds. It takes nothing out.
    base_url
        Where the site is; by default its own address.
    again
        Ask also for what is there. Without it a contest is asked for again, in its first thirty days, whenever its age
        has doubled.
    on_progress
        Called with how much is done, of how much, and what.
    client
        Asks the site; by default one is made, with the access token in ``RANKLAKE_<SOURCE>_TOKEN`` and the address in
        ``RANKLAKE_CONTACT`` in its user agent. It is closed at the end.
    on_retry
        Called with the reason, and how long it is, when a question has to be put again.
    steal, on_wait
        As ``Dataset.ingest`` has them: nobody else asks the site, or changes the data set, at the same time.
    choices
        What a site can be told beside, see its class in ``ranklake.flows.sources``.

    Raises
    ------
    ValueError
        A name, time or address is none.
    SourceError
        The site cannot be reached, or sends something else; what it sent until then is kept.
    LakeError
        The lake is damaged, or somebody else is at work for longer than ten minutes.
    """
    began = time.monotonic()
    if source == KAGGLE:
        report = SourceReport(KAGGLE, layout.check_dataset_name(dataset or KAGGLE))
        ingest_kaggle(lake, report, base_url, since, steal=steal, on_wait=on_wait, on_progress=on_progress)
        return report
    site = find_site(source, base_url, **choices)
    dataset = layout.check_dataset_name(dataset or source)
    check_folder(lake, layout.dataset_folder(dataset))  # before the site is asked for anything
    start = None if since is None else parse_time(since)
    with client or open_client(site, on_retry) as used_client:
        folder, purpose = layout.raw_folder(source), f"ingest {source}"
        with hold_lease(
            lake, folder, purpose, steal=steal, wait_seconds=LEASE_TIMEOUT_SECONDS, on_wait=on_wait
        ) as lease:
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
    """Read all raw responses of a site again and bring a data set up to date with them; asks nobody.

    Parameters
    ----------
    rewrite, steal, on_wait
        As ``Dataset.ingest`` has them.

    Raises
    ------
    ValueError
        A name is none.
    MissingError
        There are no responses of this site in the lake.
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
    """What asks a site: a client, whose token and our address come from the environment, or a reader of a folder.

    Raises
    ------
    ValueError
        The base URL is none, and no folder either.
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

    ``before_commit`` is called with the ingest when everything is read; what it raises leaves the data set as it was.
    """
    from ..sources.files.kaggle import read_meta_kaggle

    if folder is None or not Path(folder).is_dir():
        raise ValueError(f"say with --base-url in which folder the files of Meta Kaggle are, got {folder!r}")
    began = time.monotonic()
    check_folder(lake, layout.dataset_folder(report.dataset))
    start = None if since is None else parse_time(since)
    on_progress(0, None, f"reading {folder}")
    contests = list(read_meta_kaggle(folder, int(time.time()), start))
    with Dataset.ingest(lake, report.dataset, order="time", steal=steal, on_wait=on_wait) as adding:
        for contest in contests:
            if isinstance(contest, SourceError):
                report.reject(contest)
            else:
                report.count(adding.add(contest))
        before_commit(adding)
    report.seconds = time.monotonic() - began
