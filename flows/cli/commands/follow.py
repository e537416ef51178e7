"""The command that follows sources, once or repeatedly."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from ...common.interrupts import interruptible
from ..terminal.file_options import contest_options, query_options, query_text, table_options
from ..terminal.parameters import SPAN, LakeAddress
from ..terminal.terminal import (
    SWITCH_SECONDS,
    engine_options,
    lake_option,
    print_line,
    progress,
    replace_option,
    usage,
    waiting_for,
)

if TYPE_CHECKING:
    from ...scheduling.follow import FollowReport

__all__ = ["follow"]


@click.command()
@click.option("--source", "sources", required=True, multiple=True, metavar="SOURCE", help="A site of `ranklake ingest "
              "--help`, kaggle, files, or sql. Repeatable; each source has a data set of its name.")  # fmt: skip
@click.option("--path", metavar="PATH", help="For files: folder, archive or table, as for `ingest files`; for kaggle: "
              "the folder. Unchanged files are not read again.")  # fmt: skip
@click.option("--dataset", help="Name of the data set; by default the source's.")
@click.option("--run", "names", multiple=True, metavar="RUN", help="Name of the run; repeatable. By default that "
              "of `rate`. An existing run keeps its configuration.")  # fmt: skip
@click.option("--system", help="Rating system of the run; by default elo-mmr for a new run.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A hyperparameter; repeatable.")
@replace_option
@click.option("--since", metavar="TIME", help="Request only contests that ended at this time or later, UTC.")
@click.option("--base-url", metavar="URL", help="Address of a mirror of the source.")
@click.option("--no-publish", is_flag=True, help="Do not publish.")
@click.option("--to", metavar="URL", help="Publish into this database instead of the lake.")
@click.option("--schema", metavar="NAME", help="With --to: schema of the tables; by default the current one.")
@click.option("--prefix", default="", metavar="TEXT", help="With --to: put before the names of the tables.")
@click.option("--every", type=SPAN, help="Repeat at this interval, as 90s, 15m, 1h or 1d, until "
              "Ctrl-C. Errors are logged; the next pass tries again.")  # fmt: skip
@click.option("--on-change", metavar="URL", help="Post what has changed to this address as JSON, signed with the "
              "secret in RANKLAKE_WEBHOOK_SECRET if it is set.")  # fmt: skip
@click.option("--exec", "command", metavar="COMMAND", help="Run this command when something has changed, with the same "
              "JSON on its standard input; no shell expands it.")  # fmt: skip
@query_options
@table_options
@contest_options
@engine_options
@lake_option
def follow(
    sources: tuple[str, ...],
    path: str | None,
    dataset: str | None,
    names: tuple[str, ...],
    system: str | None,
    settings: tuple[str, ...],
    replace: bool,
    since: str | None,
    base_url: str | None,
    no_publish: bool,
    to: str | None,
    schema: str | None,
    prefix: str,
    url: str | None,
    query: str | None,
    watermark: str | None,
    every: int | None,
    on_change: str | None,
    command: str | None,
    engine: str | None,
    workers: int | None,
    scheduler: str | None,
    lake: LakeAddress,
    **files: Any,
) -> None:
    """Ingest new contests of a source, rate them, and publish the ratings; finished work is not repeated.

    An error of one source does not stop the others. The exit code is 1 if a source failed; with --every, it is 0 when
    stopped.
    """
    from ranklake.storage import MissingError

    from ...databases.address import DatabaseAddress
    from ...engines.factory import choose_engine, open_engine
    from ...http.webhook import Webhook
    from ...ingestion.databases import SQL
    from ...ingestion.files import FILES, non_default
    from ...rating.resolve import resolve_runs
    from ...scheduling.follow import check_source
    from ...scheduling.follow import follow as run_follow
    from ...scheduling.notices import Notifier, notice_of

    where: dict[str, Any] = {"since": since, "base_url": base_url, "path": path, "file_options": non_default(files)}
    sources = tuple(dict.fromkeys(sources))
    target = None if to is None else {"url": to, "schema": schema, "prefix": prefix}
    with usage():  # before anything is written
        if SQL in sources or query is not None or watermark is not None:  # the address may be in the environment
            where["database"] = {"url": url, "query": query_text(query), "watermark": watermark}
        if to is not None:
            DatabaseAddress.parse(to)
            if no_publish or len(sources) > 1 or len(names) > 1:
                raise ValueError("--to publishes one run: it needs a single --source and --run, and no --no-publish")
        elif schema is not None or prefix:
            raise ValueError(f"{'--prefix' if schema is None else '--schema'} is for databases: give one with --to")
        if len(sources) > 1 and (path or dataset or names or base_url):
            raise ValueError("--path, --dataset, --run and --base-url need a single --source; use a command for each")
        for source in sources:
            if source == FILES and path is None:
                raise ValueError("--source files needs --path: a folder, an archive or a table")
            if source == SQL and not url:
                raise ValueError(
                    "--source sql needs --url, the address of a database as postgresql://USER@HOST/DATABASE"
                )
            check_source(source, **where)
        if dataset is None and {FILES, SQL} & set(sources):
            raise ValueError(f"--source {FILES if FILES in sources else SQL} needs a --dataset")
        choose_engine(engine, workers, scheduler)
        notifier = Notifier(Webhook.from_environment(on_change) if on_change is not None else None, command)
        try:
            there = lake.open()
        except MissingError:
            there = None
        runs = {
            source: resolve_runs(there, dataset or source, names, [system] if system else [], settings, replace=replace)
            for source in sources
        }
    opened = lake.open(create=True)
    sys.setswitchinterval(SWITCH_SECONDS)

    say = print_line if every is None else _log

    def follow_source(source: str) -> FollowReport:
        with open_engine(engine, workers, scheduler) as opened_engine:
            return run_follow(
                opened, source, runs[source], opened_engine, publish=not no_publish, to=target, show=progress,
                on_retry=lambda why: say(why, err=True), on_wait=lambda by: say(waiting_for(by), err=True), **where
            )  # fmt: skip

    def notify(report: FollowReport) -> None:
        notifier.deliver(notice_of(opened, report.ingested.dataset, report.ingested, report.runs))

    if every is not None:
        _follow_repeatedly(sources, follow_source, notify, every)
    elif not _follow_once(sources, follow_source, notify):
        raise click.exceptions.Exit(1)


def _follow_once(
    sources: Sequence[str], follow_source: Callable[[str], FollowReport], notify: Callable[[FollowReport], None]
) -> bool:
    """Follow each source once, and return whether all succeeded. The error of a single source is raised."""
    succeeded = True
    for result in _results(sources, follow_source, notify):
        if not isinstance(result, Exception):
            for line in result.lines():
                print_line(line)
        elif len(sources) == 1:
            raise result
        else:
            print_line(f"Error: {result}", err=True)
            succeeded = False
    return succeeded


def _follow_repeatedly(
    sources: Sequence[str],
    follow_source: Callable[[str], FollowReport],
    notify: Callable[[FollowReport], None],
    seconds: int,
) -> None:
    """Follow each source at an interval, until Ctrl-C or a termination signal.

    A pass that changes nothing logs one line a source. Each detail is logged once.
    """
    stopped = "stopped; committed data stay"
    logged: dict[str, set[str]] = {source: set() for source in sources}
    try:
        # containers and service managers send SIGTERM; Windows has Ctrl-Break instead
        with interruptible(stopped, getattr(signal, "SIGBREAK", signal.SIGTERM)):
            while True:
                due = time.monotonic() + seconds
                for result in _results(sources, follow_source, notify):
                    if isinstance(result, Exception):
                        _log(f"Error: {result}", err=True)
                        continue
                    source = result.ingested.source
                    details = [line for line in dict.fromkeys(result.details()) if line not in logged[source]]
                    logged[source].update(details)
                    for line in [*details, *(result.changes() if result.changed else [result.summary()])]:
                        _log(line)
                while (left := due - time.monotonic()) > 0.0:
                    time.sleep(min(left, 1.0))  # on Windows, Ctrl-Break does not end a sleep
    except KeyboardInterrupt:
        print_line(stopped)


def _results(
    sources: Sequence[str], follow_source: Callable[[str], FollowReport], notify: Callable[[FollowReport], None]
) -> Iterator[FollowReport | Exception]:
    """The report of each source and the expected errors that ended it or its notice; other errors are raised."""
    from ...scheduling.expected_errors import expected

    for source in sources:
        try:
            report = follow_source(source)
            yield report
            notify(report)
        except Exception as error:
            if not expected(error):
                raise
            yield error


def _log(line: str, err: bool = False) -> None:
    print_line(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC {line}", err=err)
