"""The Prefect flows: commands with a schedule, retries of network errors, and a page about the result.

A task is a whole stage; its arguments are names and configurations, never tables. Prefect caches no result: the lake
stores the finished work. A task is not retried inside its run: the run is rescheduled, see
:mod:`ranklake.flows.scheduling.flow_errors`.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from uuid import UUID

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact, create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE

from ..common.progress import ProgressCallback, ProgressLog
from ..common.text import markdown, message
from ..engines.factory import choose_engine, open_engine
from ..http.webhook import Webhook
from ..ingestion.adding import How, count_contests
from ..ingestion.report import SourceReport
from ..ingestion.source_update import SourceRequest
from ..ingestion.source_update import update as bring_in
from ..publication.publish import PublishReport
from ..rating.config import RunConfig
from ..rating.report import RateReport
from ..rating.resolve import resolve_runs
from .flow_errors import plain_errors, reschedules
from .follow import Followed, has_ratings, publish_rated, rate_shown
from .notices import Notice, Notifier, best, ingested_page, notice_of, run_page
from .parameters import (
    Database,
    DatasetName,
    Engine,
    FileOptions,
    FilePath,
    LakeUrl,
    OnChange,
    RunName,
    Source,
    Target,
    Workers,
    check_target,
    open_lake,
    source_request,
)

__all__ = ["follow", "ingest_source", "publish_run", "rate_run"]

PROGRESS_SECONDS = 2.0  # between two updates of a progress bar; shorter work has no bar


@flow(persist_result=False, flow_run_name="{source}")
def ingest_source(
    lake: LakeUrl,
    source: Source,
    dataset: DatasetName | None = None,
    since: str | None = None,
    base_url: str | None = None,
    path: FilePath = None,
    file_options: FileOptions = None,
    database: Database = None,
) -> None:
    """Bring a data set up to date with a source."""
    with reschedules():
        _ingest(lake, source_request(source, dataset, since, base_url, path, file_options, database))


@flow(persist_result=False, flow_run_name="{dataset}")
def rate_run(
    lake: LakeUrl,
    dataset: DatasetName,
    run: RunName | None = None,
    system: str | None = None,
    settings: list[str] | None = None,
    engine: Engine | None = None,
    workers: Workers | None = None,
    scheduler: str | None = None,
    replace: bool = False,
    on_change: OnChange = None,
) -> None:
    """Bring a run up to date with its data set; without ``replace``, an existing run keeps its configuration."""
    with reschedules():
        choose_engine(engine, workers, scheduler)
        systems, settings = [system] if system else [], settings or []
        (config,) = resolve_runs(open_lake(lake), dataset, [run] if run else [], systems, settings, replace=replace)
        rated = _rate(lake, config, engine, workers, scheduler)
        followed = Followed(config.run, rated, None)
        _show_run(lake, followed)
        _notify(lake, config.dataset, None, [followed], on_change)


@flow(persist_result=False, flow_run_name="{run}")
def publish_run(lake: LakeUrl, run: RunName, maintain: bool = False, to: Target = None) -> None:
    """Publish a run; with ``maintain`` also merge small files of its tables and remove old ones."""
    with reschedules():
        check_target(to, maintain)
        _publish(lake, run, maintain, to)


@flow(persist_result=False, flow_run_name="{source}")
def follow(
    lake: LakeUrl,
    source: Source,
    dataset: DatasetName | None = None,
    runs: list[RunName] | None = None,
    system: str | None = None,
    settings: list[str] | None = None,
    since: str | None = None,
    base_url: str | None = None,
    path: FilePath = None,
    file_options: FileOptions = None,
    database: Database = None,
    publish: bool = True,
    to: Target = None,
    maintain: bool = False,
    engine: Engine | None = None,
    workers: Workers | None = None,
    scheduler: str | None = None,
    replace: bool = False,
    on_change: OnChange = None,
) -> None:
    """Ingest new contests of a source, and update runs and their published tables."""
    with reschedules():
        request = source_request(source, dataset, since, base_url, path, file_options, database)
        choose_engine(engine, workers, scheduler)
        dataset, systems, settings = request.dataset, [system] if system else [], settings or []
        check_target(to, maintain, publish, runs or [])
        opened = open_lake(lake, create=True)
        configs = resolve_runs(opened, dataset, runs or [], systems, settings, replace=replace)
        ingested = _ingest(lake, request)
        if not count_contests(opened, dataset):
            get_run_logger().info("no contests yet, nothing to rate")
            return
        followed = []
        for config in configs:
            rated = _rate(lake, config, engine, workers, scheduler)
            published = _publish(lake, config.run, maintain, to) if publish else None
            followed.append(Followed(config.run, rated, published))
            _show_run(lake, followed[-1])
        _notify(lake, dataset, ingested, followed, on_change)


@task(name="ingest", tags=["network"], cache_policy=NO_CACHE, persist_result=False)
def _ingest(lake: str, request: SourceRequest) -> SourceReport:
    with plain_errors():
        with _shown(f"ingesting {request.source}", "responses") as update_progress:
            opened = open_lake(lake, create=True)
            how = How(on_progress=update_progress, on_retry=lambda why: _log([why]))
            report = bring_in(opened, request, how)
        _log(f"data set {request.dataset}: {line}" for line in report.lines())
        if report.changed or report.rejected:
            create_markdown_artifact(ingested_page(report), key=_key("contests", request.dataset))
        return report


@task(name="rate", cache_policy=NO_CACHE, persist_result=False)
def _rate(lake: str, config: RunConfig, engine: str | None, workers: int | None, scheduler: str | None) -> RateReport:
    with plain_errors():
        opened = open_lake(lake)
        with open_engine(engine, workers, scheduler) as opened_engine:
            report = rate_shown(opened, config, opened_engine, _shown)
        _log(f"run {config.run}: {line}" for line in (report.line(), *report.warnings, *filter(None, [report.apart])))
        return report


@task(name="publish", cache_policy=NO_CACHE, persist_result=False)
def _publish(lake: str, run: str, maintain: bool, to: dict[str, str] | None) -> PublishReport | None:
    with plain_errors():
        report = publish_rated(open_lake(lake), run, maintain, to, _shown)
        _log([f"run {run}: {report.line() if report else 'no ratings yet, nothing to publish'}"])
        return report


def _notify(
    lake: str, dataset: str, ingested: SourceReport | None, followed: list[Followed], on_change: str | None
) -> None:
    """Post what has changed, if anything has and there is an address."""
    if on_change is not None and (notice := notice_of(open_lake(lake), dataset, ingested, followed)) is not None:
        _post(on_change, notice)


@task(name="notify", tags=["network"], cache_policy=NO_CACHE, persist_result=False)
def _post(on_change: str, notice: Notice) -> None:
    with plain_errors():
        webhook = Webhook.from_environment(on_change)
        Notifier(webhook).deliver(notice)
        _log([f"posted the changes to {webhook.host}"])


def _show_run(lake: str, followed: Followed) -> None:
    """Create the page of a run that has changed."""
    opened = open_lake(lake)
    if followed.changed and has_ratings(opened, followed.run):
        page = run_page(opened, followed.run, followed.lines(), best(opened, followed.run))
        create_markdown_artifact(page, key=_key("run", followed.run))


@contextmanager
def _shown(what: str, units: str) -> Iterator[ProgressCallback]:
    """Show work longer than :data:`PROGRESS_SECONDS` as a progress bar of the run and lines in its log."""
    shown_at = time.monotonic()
    log = ProgressLog(what, units)
    artifact: UUID | None = None

    def update_progress(done: int, total: int | None, text: str) -> None:
        nonlocal shown_at, artifact
        if line := log.line(done, total, text):
            _log([line])
        if time.monotonic() - shown_at < PROGRESS_SECONDS:
            return
        share = 100.0 * done / total if total else 0.0
        if artifact is None:
            created = create_progress_artifact(share, description=markdown(what))
            assert isinstance(created, UUID)  # with an event loop it would be a coroutine; these flows have none
            artifact = created
        else:
            update_progress_artifact(artifact, share)
        shown_at = time.monotonic()

    yield update_progress
    if artifact is not None:
        update_progress_artifact(artifact, 100.0)


def _log(lines: Iterable[str]) -> None:
    for line in lines:
        get_run_logger().info(message(line))


def _key(what: str, name: str) -> str:
    """A unique and valid key for the pages about a name."""
    key = re.sub(r"[^a-z0-9]+", "-", f"{what}-{name}".lower()).strip("-")
    return key if key == f"{what}-{name}" else f"{key}-{hashlib.blake2b(name.encode(), digest_size=4).hexdigest()}"
