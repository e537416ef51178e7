"""The command that follows sources, once or repeatedly."""

from __future__ import annotations

import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from ..terminal.file_options import file_options, query_options
from ..terminal.options import (
    SPAN,
    SWITCH_SECONDS,
    EngineChoice,
    LakeAddress,
    engine_options,
    lake_option,
    replace_option,
    target_options,
    usage,
)
from ..terminal.output import print_line, progress, waiting_for
from ..terminal.process import interruptible

if TYPE_CHECKING:
    from ...scheduling.follow import FollowReport


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
@target_options("Publish into this database instead of the lake.")
@click.option("--every", type=SPAN, help="Repeat at this interval, as 90s, 15m, 1h or 1d, until "
              "Ctrl-C. Errors are logged; the next pass tries again.")  # fmt: skip
@click.option("--on-change", metavar="URL", help="Post what has changed to this address as JSON, signed with the "
              "secret in RANKLAKE_WEBHOOK_SECRET if it is set.")  # fmt: skip
@click.option("--exec", "command", metavar="COMMAND", help="Run this command when something has changed, with the same "
              "JSON on its standard input; no shell expands it.")  # fmt: skip
@query_options
@file_options
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
    target: dict[str, Any] | None,
    database: dict[str, Any],
    every: int | None,
    on_change: str | None,
    command: str | None,
    engine: EngineChoice,
    lake: LakeAddress,
    options: dict[str, Any],
) -> None:
    """Ingest new contests of a source, rate them, and publish the ratings; finished work is not repeated.

    An error of one source does not stop the others. The exit code is 1 if a source failed; with --every, it is 0 when
    stopped.
    """
    from ranklake.storage import MissingError

    from ...engines.factory import choose_engine, open_engine
    from ...http.webhook import Webhook
    from ...ingestion.adding import How
    from ...ingestion.databases import SQL
    from ...ingestion.files import FILES, non_default
    from ...ingestion.source_update import SourceRequest
    from ...rating.resolve import resolve_runs
    from ...scheduling.follow import follow as run_follow
    from ...scheduling.notices import Notifier, notice_of

    sources = tuple(dict.fromkeys(sources))
    where: dict[str, Any] = {"since": since, "base_url": base_url, "path": path, "file_options": non_default(options)}
    with usage():  # before anything is written
        if target is not None and (no_publish or len(sources) > 1 or len(names) > 1):
            raise ValueError("--to publishes one run: it needs a single --source and --run, and no --no-publish")
        if len(sources) > 1 and (path or dataset or names or base_url):
            raise ValueError("--path, --dataset, --run and --base-url need a single --source; use a command for each")
        if SQL in sources or database["query"] is not None or database["watermark"] is not None:
            where["database"] = database  # else only its address is given, which may be in the environment
        if FILES in sources and path is None:
            raise ValueError("--source files needs --path: a folder, an archive or a table")
        if SQL in sources and not database["url"]:
            raise ValueError("--source sql needs --url, the address of a database as postgresql://USER@HOST/DATABASE")
        requests = [SourceRequest(source, dataset or source, **where) for source in sources]
        if dataset is None and {FILES, SQL} & set(sources):
            raise ValueError(f"--source {FILES if FILES in sources else SQL} needs a --dataset")
        choose_engine(*engine)
        notifier = Notifier(Webhook.from_environment(on_change) if on_change is not None else None, command)
        try:
            there = lake.open()
        except MissingError:
            there = None
        systems = [system] if system else []
        runs = {
            request.source: resolve_runs(there, request.dataset, names, systems, settings, replace=replace)
            for request in requests
        }
    opened = lake.open(create=True)
    sys.setswitchinterval(SWITCH_SECONDS)

    say = print_line if every is None else _log

    how = How(on_retry=lambda why: say(why, err=True), on_wait=lambda by: say(waiting_for(by), err=True))
    stages: dict[str, Any] = {"publish": not no_publish, "to": target, "show": progress, "how": how}

    def reports() -> Iterator[FollowReport | Exception]:
        """The report of each source and the expected errors that ended it or its notice; other errors are raised."""
        from ...scheduling.expected_errors import expected

        for request in requests:
            try:
                with open_engine(*engine) as opened_engine:
                    report = run_follow(opened, request, runs[request.source], opened_engine, **stages)
                yield report
                notifier.deliver(notice_of(opened, request.dataset, report.ingested, report.runs))
            except Exception as error:
                if not expected(error):
                    raise
                yield error

    if every is not None:
        _follow_repeatedly(reports, every)
    elif not _follow_once(reports(), single=len(requests) == 1):
        raise click.exceptions.Exit(1)


def _follow_once(results: Iterator[FollowReport | Exception], single: bool) -> bool:
    """Print the report of each source, and return whether all succeeded. The error of a single source is raised."""
    succeeded = True
    for result in results:
        if not isinstance(result, Exception):
            for line in result.lines():
                print_line(line)
        elif single:
            raise result
        else:
            print_line(f"Error: {result}", err=True)
            succeeded = False
    return succeeded


def _follow_repeatedly(reports: Callable[[], Iterator[FollowReport | Exception]], seconds: int) -> None:
    """Follow each source at an interval, until Ctrl-C or a termination signal.

    A pass that changes nothing logs one line a source. Each detail is logged once.
    """
    stopped = "stopped; committed data stay"
    logged: dict[str, set[str]] = defaultdict(set)
    try:
        # containers and service managers send SIGTERM; Windows has Ctrl-Break instead
        with interruptible(stopped, getattr(signal, "SIGBREAK", signal.SIGTERM)):
            while True:
                due = time.monotonic() + seconds
                for result in reports():
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


def _log(line: str, err: bool = False) -> None:
    print_line(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC {line}", err=err)
