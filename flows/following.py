"""The command that follows a source, once or for as long as it is let."""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

import click

from .interrupts import interruptible
from .terminal import SWITCH_SECONDS, engine_options, expected, lake_option, progress, usage

__all__ = ["COMMANDS"]

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def _duration(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """A span of time as seconds."""
    if value is None:
        return None
    found = re.fullmatch(r"([1-9][0-9]{0,6})([smhd])", value)
    if found is None:
        raise click.BadParameter(f"must be a span of time as 90s, 15m, 1h or 1d, got {value!r}")
    return int(found[1]) * _SECONDS[found[2]]


@click.command()
@click.option("--source", required=True, help="Site to follow, as `ranklake ingest --help` lists them.")
@click.option("--dataset", help="Name of the data set; by default the source's.")
@click.option("--run", "names", multiple=True, metavar="RUN", help="A run to keep up to date, by default the one that "
              "`rate` would make; one that is there goes on as it is. Repeatable.")  # fmt: skip
@click.option("--system", help="Rating system of the run; elo-mmr by default.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A hyperparameter; repeatable.")
@click.option("--since", metavar="TIME", help="Ask only for contests that ended then or later, UTC.")
@click.option("--base-url", metavar="URL", help="Another address of the source.")
@click.option("--no-publish", is_flag=True, help="Rate only.")
@click.option("--every", callback=_duration, metavar="SPAN", help="Do it again so often, as 90s, 15m, 1h or 1d, until "
              "Ctrl-C; an error is told, and tried again the next time.")  # fmt: skip
@engine_options
@lake_option
def follow(
    source: str,
    dataset: str | None,
    names: tuple[str, ...],
    system: str | None,
    settings: tuple[str, ...],
    since: str | None,
    base_url: str | None,
    no_publish: bool,
    every: int | None,
    engine: str | None,
    workers: int | None,
    scheduler: str | None,
    lake: str,
) -> None:
    """Ingest what is new of a source, rate it, and publish the ratings; nothing is done twice."""
    from storage import Lake, layout

    from .config import build_params, find_system, parse_settings
    from .engines.base import choose_engine, open_engine
    from .follow import check_source, wanted_runs
    from .follow import follow as follow_once

    dataset = dataset or source
    with usage():  # nothing is made for a command that is wrong
        check_source(source, since, base_url)
        layout.check_dataset_name(dataset)
        for name in names:
            layout.check_run_name(name)
        build_params(find_system(system or "elo-mmr"), parse_settings(settings))
        choose_engine(engine, workers, scheduler)
    opened = Lake.open(lake, create=True)
    with usage():
        runs = wanted_runs(opened, dataset, names, system, settings)
    sys.setswitchinterval(SWITCH_SECONDS)

    def once() -> None:
        with open_engine(engine, workers, scheduler) as hands:
            report = follow_once(
                opened, source, runs, hands, since=since, base_url=base_url, publish=not no_publish, show=progress
            )
        for line in report.lines():
            click.echo(line)

    if every is None:
        once()
    else:
        _again_and_again(once, every)


COMMANDS = (follow,)


def _again_and_again(once: Callable[[], None], seconds: int) -> None:
    """Do something every so many seconds, until Ctrl-C or a termination signal."""
    stopped = "stopped; what was committed stays"
    try:
        # how a container or a service manager says it; Windows has Ctrl-Break instead
        with interruptible(stopped, getattr(signal, "SIGBREAK", signal.SIGTERM)):
            while True:
                due = time.monotonic() + seconds
                click.echo(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC")
                try:
                    once()
                except Exception as error:
                    if not expected(error):
                        raise
                    click.echo(f"Error: {error}", err=True)
                while (left := due - time.monotonic()) > 0.0:
                    time.sleep(min(left, 1.0))  # on Windows, Ctrl-Break does not end a sleep
    except KeyboardInterrupt:
        click.echo(stopped)
