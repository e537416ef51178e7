"""The command line: each command imports what it needs when it runs, so that ``--help`` answers at once."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from . import (
    corrections,
    evaluation_cli,
    upkeep,
)
from .terminal import dataset_option, lake_option, run_option, steal_option, tell_wait
from .terminal import print_table as _print
from .terminal import progress as _progress
from .terminal import usage as _usage
from .terminal import write_rows as _write

if TYPE_CHECKING:
    from storage import Contest
    from storage.ingest import IngestOrder

    from .rate import Progress
    from .sources.base import IngestReport

__all__ = ["cli", "main"]

_SWITCH_SECONDS = 2e-4  # kernels and writes are short: their threads should not wait 5 ms for the interpreter


def _finite(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"must be a finite number, got {value}")
    return value


rewrite_option = click.option(
    "--rewrite", is_flag=True, help="Write contests again even if they are unchanged: mends damaged standings."
)
deviations_option = click.option(
    "--deviations",
    type=float,
    callback=_finite,
    help="The rating shown is mu - DEVIATIONS (sigma - its limit); by default as the system has it, mostly 3.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="ranklake")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Rate players from the whole history of ranked contests.

    Contests go into a lake of Parquet files (`ingest`), every round is rated in time order and committed (`rate`),
    and the result is read with `leaderboard`, `player` or any tool that reads Parquet.
    """


for module in (
    corrections,
    evaluation_cli,
    upkeep,
):
    for command in module.COMMANDS:
        cli.add_command(command)


@cli.group()
def ingest() -> None:
    """Bring contests into the lake; contests that are there already and unchanged stay as they are."""


@ingest.command("files")
@click.argument("path")
@dataset_option
@lake_option
@click.option(
    "--order",
    type=click.Choice(["number", "time", "given"]),
    help="What comes first is rated first: by file number (default for folders and archives), as given (default for "
    "tables), or by time: then all the data set is kept in order of time, whatever was in it before.",
)
@click.option("--column", "columns", multiple=True, metavar="KEY=COLUMN", help="A table's name for contest, player, "
              "rank, lo, hi, time, weight, perf_ceiling, name or url; repeatable.")  # fmt: skip
@click.option("--on-error", type=click.Choice(["stop", "skip"]), default="stop", show_default=True,
              help="At a contest with a fault: stop with nothing ingested, or leave it out and list it.")  # fmt: skip
@click.option("--dedupe", is_flag=True, help="Drop contests that repeat an earlier one.")
@click.option("--mirror", is_flag=True, help="Take contests out of the data set that are not in PATH.")
@rewrite_option
@steal_option
def ingest_files(
    path: str,
    dataset: str,
    lake: str,
    columns: tuple[str, ...],
    mirror: bool,
    rewrite: bool,
    steal: bool,
    **choices: Any,
) -> None:
    """Ingest a folder or archive (.tar.xz, .zip) of contests N.json, or a .csv or .parquet of results."""
    from .sources.base import IngestReport
    from .sources.files import Columns, read_contests

    with _usage():
        parsed = Columns.parse(columns)
    report = IngestReport()
    order: IngestOrder = "time" if choices["order"] == "time" else "source"
    contests = read_contests(path, columns=parsed, report=report, **choices)
    _ingest(lake, dataset, contests, report, order, mirror=mirror, rewrite=rewrite, steal=steal)


@ingest.command("synthetic")
@click.option("--preset", required=True, help="paper, paper-quarter, synth-sm or synth-la.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--dataset", help="Name of the data set; by default the preset's.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change the preset, as n_rounds=100.")
@rewrite_option
@steal_option
@lake_option
def ingest_synthetic(
    preset: str, seed: int, dataset: str | None, settings: tuple[str, ...], lake: str, rewrite: bool, steal: bool
) -> None:
    """Ingest a made-up history of players whose true skills are known; the same seed gives the same contests."""
    from .config import convert_fields, parse_settings
    from .sources.base import IngestReport, screen
    from .sources.synthetic import PRESETS, generate

    with _usage():
        if preset not in PRESETS:
            raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
        changes = convert_fields(type(PRESETS[preset]), parse_settings(settings), f"preset {preset}")
        chosen = dataclasses.replace(PRESETS[preset], **changes)
    report = IngestReport()
    _ingest(lake, dataset or preset, screen(generate(chosen, seed), report), report, rewrite=rewrite, steal=steal)


@cli.command()
@click.option("--dataset", help="Name of the data set in the lake; by default that of an existing --run.")
@click.option("--system", help="Rating system.  [default: elo-mmr]")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="A hyperparameter, as rho=0.04; repeatable."
)
@click.option("--run", help="Name of the run; by default made of the data set, the system and the settings.")
@click.option("--engine", default="threads", show_default=True, help="serial or threads: the same ratings to the bit.")
@click.option("--workers", type=click.IntRange(min=1), help="Threads; by default one for each core.")
@click.option("--max-rounds", type=click.IntRange(min=0), help="Rate only the first so many contests.")
@click.option("--keep-uninformative", is_flag=True, help="Rate contests in which everybody ties, too.")
@click.option("--exclude", multiple=True, metavar="CONTEST", help="Pass over this contest from now on; repeatable.")
@click.option("--include", multiple=True, metavar="CONTEST", help="Take an exclusion back; repeatable.")
@click.option("--from", "start", type=click.IntRange(min=0), metavar="ROUND",
              help="Rate again from this round on, whatever is on record.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only tell what would be rated again and why; write nothing.")
@steal_option
@lake_option
def rate(
    dataset: str | None,
    system: str | None,
    settings: tuple[str, ...],
    run: str | None,
    engine: str,
    workers: int | None,
    max_rounds: int | None,
    keep_uninformative: bool,
    exclude: tuple[str, ...],
    include: tuple[str, ...],
    start: int | None,
    dry_run: bool,
    steal: bool,
    lake: str,
) -> None:
    """Bring a run up to date: keep the rounds that still hold, rate the others, commit as they come."""
    from storage import Lake, Run
    from storage.layout import contests_file, run_file

    from .config import RunConfig, build_params, default_run, find_system, parse_settings
    from .engines.base import open_engine
    from .rate import rate as bring_up_to_date

    with _usage():
        chosen = parse_settings(settings)
        if dataset is None:
            if run is None or system or chosen or keep_uninformative:
                raise ValueError("give --dataset; or --run alone, to rate what there is with what it was made with")
            run_file(run)
            config = RunConfig.of(Run.open(Lake.open(lake), run))
        else:
            system = system or "elo-mmr"
            params = build_params(find_system(system), chosen)
            run = run or default_run(dataset, system, chosen, not keep_uninformative)
            contests_file(dataset)  # names that no folder can have are told at once
            run_file(run)
            config = RunConfig(dataset, run, system, params, not keep_uninformative)
        hands = open_engine(engine, workers)
    config = dataclasses.replace(config, exclude=exclude, include=include)
    sys.setswitchinterval(_SWITCH_SECONDS)
    with hands, _progress("rating") as tell:

        def on_progress(progress: Progress) -> None:
            tell(progress.rounds, progress.n_rounds, f"{progress.rows / max(progress.seconds, 1e-9):,.0f} rows/s")

        report = bring_up_to_date(Lake.open(lake), config, hands, max_rounds, on_progress, steal, dry_run, start)
    click.echo(f"run {run}: {report.line()}")


@cli.command()
@run_option
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@click.option("--all", "everybody", is_flag=True, help="Everybody.")
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True,
              help="csv and json have full precision.")  # fmt: skip
@deviations_option
@lake_option
def leaderboard(run: str, top: int, everybody: bool, form: str, deviations: float | None, lake: str) -> None:
    """Who stands where after a run, best first."""
    from storage import Lake
    from storage.layout import run_file

    from .leaderboard import leaderboard as of_run

    with _usage():
        run_file(run)
    table = of_run(Lake.open(lake), run, deviations)
    shown = table if everybody else table.slice(0, top)
    if form == "table":
        from .show import leaderboard_table

        _print(leaderboard_table(shown, table.num_rows))
    else:
        _write(shown, form)


@cli.command()
@click.argument("handle")
@run_option
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
@deviations_option
@lake_option
def player(handle: str, run: str, form: str, deviations: float | None, lake: str) -> None:
    """Every rated round of one player, in order; an old name leads to the new one."""
    from storage import Lake
    from storage.layout import run_file

    from .leaderboard import player_history

    with _usage():
        run_file(run)
    history = player_history(Lake.open(lake), run, handle, deviations)
    if history.note:
        click.echo(history.note, err=True)
    if form == "table":
        from .show import player_table

        _print(player_table(history.handle, history.rows))
    else:
        _write(history.rows, form)


@cli.command()
@run_option
@deviations_option
@click.option("--maintain", is_flag=True, help="Also merge small files, and remove old ones after a week.")
@click.option("--afresh", is_flag=True, help="First delete what was published of the run: mends damaged tables.")
@steal_option
@lake_option
def publish(run: str, deviations: float | None, maintain: bool, afresh: bool, steal: bool, lake: str) -> None:
    """Publish a run as tables that any data tool reads: leaderboard, ratings, players, contests."""
    from storage import Lake
    from storage.layout import run_file

    from .publish import publish as publish_run

    with _usage():
        run_file(run)
    report = publish_run(Lake.open(lake), run, deviations, maintain, steal, afresh)
    click.echo(f"run {run}: {report.line()}")


def _ingest(
    lake: str,
    dataset: str,
    contests: Iterator[Contest],
    report: IngestReport,
    order: IngestOrder = "source",
    **how: Any,
) -> None:
    """Add contests to a data set, all or none, and tell what came of it."""
    from collections import Counter

    from storage import Dataset, Lake
    from storage.layout import contests_file

    with _usage():
        contests_file(dataset)  # a name that no folder can have is told before anything is read
    changes: Counter[str] = Counter()
    opened = Lake.open(lake, create=True)
    changing = Dataset.ingest(opened, dataset, order=order, on_wait=tell_wait, **how)
    with _progress("ingesting") as tell, changing as adding:
        for contest in contests:
            changes[adding.add(contest)] += 1
            tell(report.contests, None, f"{report.participations:,} participations")
        for left_out in report.left_out:
            adding.keep(left_out.contest)
    changes["removed"], changes["moved"] = len(adding.removed), adding.moved
    for line in report.lines():
        click.echo(line, err=line.startswith(("time", "left", "duplicate")))
    kinds = ("new", "corrected", "removed", "unchanged", "moved")
    told = ", ".join(f"{changes[kind]:,} {kind}" for kind in kinds if changes[kind])
    click.echo(f"data set {dataset}: {told or 'nothing came in'}")


def main() -> None:
    """Run a command; exit with 0 done, 1 failed, 2 wrong use. A traceback only with ``--debug``."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except click.UsageError as error:
        error.show()
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted; what was committed stays, the same command goes on from there", err=True)
        sys.exit(1)
    except Exception as error:
        if "--debug" in sys.argv or not _expected(error):
            raise
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)


def _expected(error: Exception) -> bool:
    """Whether an error was put into words for a person; any other is our bug and shows its traceback."""
    from storage import LakeError

    from .extras import MissingExtraError
    from .sources.base import SourceError

    return isinstance(error, LakeError | MissingExtraError | SourceError | ValueError | ArithmeticError | OSError)
