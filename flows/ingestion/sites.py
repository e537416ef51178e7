"""From a site to a data set: request missing documents, then parse the stored responses."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ranklake.storage import Lake
from ranklake.storage.lake import layout
from ranklake.storage.lake.errors import MissingError
from ranklake.storage.leases.acquire import WAIT_SECONDS, hold_lease

from ..common.times import parse_time
from ..http.client import Client
from ..sources.sites.site import Site, find_site
from .adding import QUIET, How
from .fetch import FolderClient, fetch
from .report import SourceReport
from .response_archive import ResponseArchive
from .site_results import update_results
from .update import update_dataset


def ingest_source(
    lake: Lake,
    source: str,
    dataset: str | None = None,
    *,
    since: str | None = None,
    base_url: str | None = None,
    again: bool = False,
    client: Client | FolderClient | None = None,
    how: How = QUIET,
    **choices: Any,
) -> SourceReport:
    """Bring a data set up to date with a site.

    Stored responses are not requested again: an interrupted run continues where it stopped.

    ``source``: name of the site, a key of ``ranklake.flows.sources.sites.site.SITES``.
    ``dataset``: name of the data set, created if missing; by default that of the site.
    ``since``: request only contests that ended then or later: a date, a time or UTC seconds. Earlier ones are kept.
    ``base_url``: address of the site, by default its own.
    ``again``: request stored documents again, too. Otherwise a contest is requested again, in its first thirty days,
    whenever its age has doubled.
    ``client``: client of the site, closed at the end. The default has the access token in ``RANKLAKE_<SOURCE>_TOKEN``
    and the address in ``RANKLAKE_CONTACT`` in its user agent.
    ``choices``: further settings of a site, see its class in ``ranklake.flows.sources.sites``.
    Raises ValueError: a name, a time or an address is invalid.
    Raises SourceError: the site cannot be reached, or its list is invalid; earlier responses are kept.
    Raises LakeError: the lake is damaged, or another process holds a lease for longer than ten minutes.
    """
    site = find_site(source, base_url, **choices)
    report = SourceReport(source, layout.check_dataset_name(dataset or source))
    lake.check_new_folder(layout.dataset_folder(report.dataset))  # before any request
    start = None if since is None else parse_time(since, "since")
    with (
        client or open_client(site, how.on_retry) as used_client,
        hold_lease(
            lake,
            layout.raw_folder(source),
            f"ingest {source}",
            steal=how.steal,
            wait_seconds=WAIT_SECONDS,
            on_wait=how.on_wait,
        ) as lease,
    ):
        archive, before = ResponseArchive(lake, source, lease), used_client.requests
        unreadable = fetch(archive, site, used_client, since=start, again=again, on_progress=how.on_progress)
        report.requests = used_client.requests - before
    update_dataset(lake, archive, site, report, how)
    update_results(lake, archive, site, report, how)
    for error in unreadable:
        report.reject(error)
    report.end()
    return report


def normalise_source(lake: Lake, source: str, dataset: str | None = None, how: How = QUIET) -> SourceReport:
    """Parse all stored responses of a site again and bring a data set up to date with them, without any request;
    ``MissingError`` if there are none.
    """
    site = find_site(source)
    report = SourceReport(source, layout.check_dataset_name(dataset or source))
    archive = ResponseArchive(lake, source)
    archive.rebuild()
    if not any(archive.keys(kind) for kind in site.kinds):
        raise MissingError(f"no responses of {source} in {lake.url}; `ranklake ingest {source}` fetches them")
    update_dataset(lake, archive, site, report, how, everything=True)
    update_results(lake, archive, site, report, how, everything=True)
    report.end()
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
