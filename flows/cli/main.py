"""The command line: each command imports what it needs when it runs, so that ``--help`` answers at once."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ..common.interrupts import interruptible
from .commands import (
    corrections,
    maintenance,
)
from .commands import (
    evaluation as evaluation_cli,
)
from .commands import (
    experiments as experimenting,
)
from .commands import (
    export as exporting,
)
from .commands import (
    follow as following,
)
from .commands import (
    ingest as ingest_cli,
)
from .commands import (
    plot as drawing,
)
from .commands import (
    predict as predicting,
)
from .commands import (
    systems as describing,
)
from .commands import (
    warm as warming,
)
from .terminal.messages import escape_logs, say_traceback, say_usage
from .terminal.terminal import (
    SWITCH_SECONDS,
    check_safe,
    deviations_option,
    engine_options,
    lake_option,
    replace_option,
    run_option,
    safe_option,
    say,
    speak_utf8,
    steal_option,
    tell_freshness,
    titles_choice,
    titles_option,
    wide_option,
)
from .terminal.terminal import print_table as _print
from .terminal.terminal import progress as _progress
from .terminal.terminal import usage as _usage
from .terminal.terminal import write_rows as _write

if TYPE_CHECKING:
    from ..common.titles import TitlesChoice
    from ..rating.multi_run import ManyProgress

__all__ = ["cli", "main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="ranklake")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Rate players from the whole history of ranked contests.

    Contests go into a lake of Parquet files (`ingest`), every round is rated in time order and committed (`rate`),
    and the result is read with `leaderboard`, `player` or any tool that reads Parquet.
    """
    escape_logs()


for module in (
    corrections,
    describing,
    evaluation_cli,
    experimenting,
    exporting,
    following,
    ingest_cli,
    drawing,
    predicting,
    maintenance,
    warming,
):
    for command in module.COMMANDS:
        cli.add_command(command)


@cli.command()
@click.option("--dataset", help="Name of the data set in the lake; by default that of an existing --run.")
@click.option("--system", "systems", multiple=True, help="Rating system; several make a run each. By default that of "
              "an existing run, else elo-mmr.")  # fmt: skip
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE",
    help="A hyperparameter, as rho=0.04; repeatable. With several systems SYSTEM.KEY=VALUE.",
)  # fmt: skip
@click.option("--run", help="Name of the run; one that is there goes on as it is. By default made of the data set, "
              "the system and the settings.")  # fmt: skip
@replace_option
@engine_options
@click.option("--max-rounds", type=click.IntRange(min=0), help="Rate only the first so many contests.")
@click.option(
    "--keep-uninformative/--skip-uninformative", "keep_uninformative", default=None,
    help="Rate every contest, or skip those of three or more in which all tie, and of one.  [default: by the system]",
)  # fmt: skip
@click.option("--exclude", multiple=True, metavar="CONTEST", help="Pass over this contest from now on; repeatable.")
@click.option("--include", multiple=True, metavar="CONTEST", help="Take an exclusion back; repeatable.")
@click.option("--from", "start", type=click.IntRange(min=0), metavar="ROUND",
              help="Rate again from this round on, whatever is on record.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only tell what would be rated again and why; write nothing.")
@click.option("--titles", callback=titles_choice, metavar="auto|codeforces|none|FILE",
              help="Record the titles of the run's players in the run; auto removes the record.")  # fmt: skip
@steal_option
@lake_option
def rate(
    dataset: str | None,
    systems: tuple[str, ...],
    settings: tuple[str, ...],
    run: str | None,
    replace: bool,
    engine: str | None,
    workers: int | None,
    scheduler: str | None,
    max_rounds: int | None,
    keep_uninformative: bool | None,
    exclude: tuple[str, ...],
    include: tuple[str, ...],
    start: int | None,
    dry_run: bool,
    titles: TitlesChoice,
    steal: bool,
    lake: str,
) -> None:
    """Bring a run up to date: keep the rounds that still hold, rate the others, commit as they come."""
    from ..compilation.child_processes import SHARED, started_ahead

    if scheduler is None and engine != "dask" and not dry_run:
        click.get_current_context().with_resource(started_ahead(systems or SHARED))

    from ranklake.storage import Lake

    from ..compilation.compile import announce
    from ..engines.base import Remote, open_engine
    from ..rating.multi_run import rate_many
    from ..rating.resolve import wanted_runs

    skip = None if keep_uninformative is None else not keep_uninformative
    with _usage():
        opened = Lake.open(lake)
        configs = wanted_runs(opened, dataset, [run] if run else [], systems, settings, skip, replace)
        hands = open_engine(engine, workers, scheduler)
    configs = [dataclasses.replace(config, exclude=exclude, include=include, titles=titles) for config in configs]
    sys.setswitchinterval(SWITCH_SECONDS)
    with hands, _progress("rating") as tell:
        if isinstance(hands, Remote):
            say(hands.line(), err=True)

        def on_progress(runs: ManyProgress) -> None:
            progress = runs.total
            tell(progress.rounds, progress.n_rounds, f"{progress.rows / max(progress.seconds, 1e-9):,.0f} rows/s")

        def on_compile(systems: Sequence[str], kernels: int) -> None:
            if sys.stderr.isatty():
                tell(0, None, f"compiling {', '.join(systems)} (once per machine): {kernels} kernels")
            else:
                announce(systems, kernels)

        for config, report in rate_many(
            opened, configs, hands, max_rounds, on_progress, steal, dry_run, start, on_compile
        ):
            say(f"run {config.run}: {report.line()}")
            if report.drift:
                say(f"run {config.run}: {report.drift}", err=True)
            if report.phases:
                say(report.phases_line(), err=True)


@cli.command()
@run_option
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@click.option("--all", "everybody", is_flag=True, help="Everybody.")
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True,
              help="csv and json have full precision.")  # fmt: skip
@safe_option
@deviations_option
@titles_option
@wide_option
@lake_option
def leaderboard(
    run: str,
    top: int,
    everybody: bool,
    form: str,
    safe: bool,
    deviations: float | None,
    titles: TitlesChoice,
    lake: str,
) -> None:
    """Who stands where after a run, best first."""
    from ranklake.storage import Lake
    from ranklake.storage.lake.layout import run_file

    from ..results.leaderboard import leaderboard as of_run
    from ..results.leaderboard import rating_format

    with _usage():
        run_file(run)
        check_safe(safe, form)
    opened = Lake.open(lake)
    tell_freshness(opened, run)
    table = of_run(opened, run, deviations, titles)
    shown = table if everybody else table.slice(0, top)
    if form == "table":
        from .terminal.show import leaderboard_table

        _print(leaderboard_table(shown, table.num_rows, rating_format(opened, run, titles)))
    else:
        _write(shown, form, safe)


@cli.command()
@click.argument("handle")
@run_option
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
@safe_option
@deviations_option
@titles_option
@wide_option
@lake_option
def player(
    handle: str, run: str, form: str, safe: bool, deviations: float | None, titles: TitlesChoice, lake: str
) -> None:
    """Every rated round of one player, in order; an old name leads to the new one."""
    from ranklake.storage import Lake
    from ranklake.storage.lake.layout import run_file

    from ..results.leaderboard import player_history

    with _usage():
        run_file(run)
        check_safe(safe, form)
    opened = Lake.open(lake)
    tell_freshness(opened, run)
    history = player_history(opened, run, handle, deviations, titles)
    if history.note:
        say(history.note, err=True)
    if form == "table":
        from .terminal.show import player_table

        _print(player_table(history))
    else:
        _write(history.rows, form, safe)


@cli.command()
@run_option
@deviations_option
@click.option("--maintain", is_flag=True, help="Also merge small files, and remove old ones after a week.")
@click.option(
    "--afresh", "rebuild", is_flag=True, help="First delete what was published of the run: mends damaged tables."
)
@titles_option
@steal_option
@lake_option
def publish(
    run: str,
    deviations: float | None,
    maintain: bool,
    rebuild: bool,
    titles: TitlesChoice,
    steal: bool,
    lake: str,
) -> None:
    """Publish a run as tables that any data tool reads: leaderboard, ratings, players, contests."""
    from ranklake.storage import Lake
    from ranklake.storage.lake.layout import run_file

    from ..publication.publish import publish as publish_run

    with _usage():
        run_file(run)
    opened = Lake.open(lake)
    report = publish_run(opened, run, deviations, maintain, steal, rebuild, titles)
    tell_freshness(opened, run)
    say(f"run {run}: {report.line()}")


_INTERRUPTED = "interrupted; what was committed stays, the same command goes on from there"


def main() -> None:
    """Run a command; exit with 0 done, 1 failed, 2 wrong use. A traceback only with ``--debug``."""
    speak_utf8()
    try:
        with interruptible(_INTERRUPTED):
            cli.main(standalone_mode=False)
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except click.UsageError as error:
        say_usage(error)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        say(_INTERRUPTED, err=True)
        sys.exit(1)
    except Exception as error:
        from ..scheduling.expected_errors import expected

        # Behind the command, words are its own.
        asked = itertools.takewhile(lambda word: word.startswith("-"), sys.argv[1:])
        if "--debug" in asked or not expected(error):
            say_traceback(error)
            sys.exit(1)
        say(f"Error: {error}", err=True)
        sys.exit(getattr(error, "exit_code", 1))
