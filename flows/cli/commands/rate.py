"""The commands that bring runs up to date with their data sets, and smooth them."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any

import click

from ..terminal.apart import REMEDY, say_apart, strict_option
from ..terminal.brand_options import brand_options
from ..terminal.chance_options import chance_options
from ..terminal.options import (
    SWITCH_SECONDS,
    EngineChoice,
    LakeAddress,
    engine_options,
    lake_option,
    level_option,
    replace_option,
    run_option,
    steal_option,
    stored_places_option,
    stored_titles_option,
    usage,
)
from ..terminal.output import print_line, progress, show_compilation
from ..terminal.process import keep_freed_memory, without_pandas

if TYPE_CHECKING:
    pass


@click.command()
@click.option("--dataset", help="Name of the data set in the lake; by default that of an existing --run.")
@click.option("--system", "systems", multiple=True, help="Rating system; repeatable, one run each. By default that of "
              "an existing run, else elo-mmr.")  # fmt: skip
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE",
    help="A hyperparameter, as rho=0.04; repeatable. With several systems SYSTEM.KEY=VALUE.",
)  # fmt: skip
@click.option("--preset", help="What a site rates with: its system, hyperparameters and display rating; `ranklake "
              "systems` lists them.")  # fmt: skip
@click.option("--run", help="Name of the run; an existing run keeps its configuration. By default made "
              "of the data set, the system and the settings.")  # fmt: skip
@replace_option
@engine_options
@click.option("--max-rounds", type=click.IntRange(min=0), help="Rate only this number of contests from the start.")
@click.option(
    "--keep-uninformative/--skip-uninformative", "keep_uninformative", default=None,
    help="Rate every contest, or skip contests of one participant and ties of three or more.  [default: by the system]",
)  # fmt: skip
@click.option("--exclude", multiple=True, metavar="CONTEST", help="Skip this contest from now on; repeatable.")
@click.option("--include", multiple=True, metavar="CONTEST", help="Remove an exclusion; repeatable.")
@click.option("--from", "start", type=click.IntRange(min=0), metavar="ROUND",
              help="Rate again from this round on, even if nothing changed.")  # fmt: skip
@click.option(
    "--accept-rounding/--same-bits", "accept_rounding", default=None,
    help="Continue after rounds that another kind of machine rated, if they differ by rounding when they are computed "
    "again, or only with the same bits; stored in the run.  [default: as stored, else the same bits]",
)  # fmt: skip
@click.option("--check", is_flag=True, help="Compute the rounds that were committed last again, from the snapshot "
              "before them, and compare the bits; write nothing. The exit code is 1 if any differs.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print the rounds that would be rated, and why; write nothing.")
@chance_options
@stored_titles_option
@level_option
@stored_places_option
@brand_options
@strict_option
@steal_option
@lake_option
def rate(
    dataset: str | None,
    systems: tuple[str, ...],
    settings: tuple[str, ...],
    preset: str | None,
    run: str | None,
    replace: bool,
    engine: EngineChoice,
    max_rounds: int | None,
    keep_uninformative: bool | None,
    start: int | None,
    check: bool,
    dry_run: bool,
    steal: bool,
    lake: LakeAddress,
    chances: dict[str, Any],
    **stored: Any,
) -> None:
    """Bring a run up to date: keep the rounds that are still valid, rate and commit the others."""
    from ...compilation.child_processes import SHARED, started_ahead

    if check:
        _check([run] if run else [], lake, engine)
        return
    if engine.scheduler is None and engine.engine != "dask" and not dry_run:
        click.get_current_context().with_resource(started_ahead(systems or SHARED))

    keep_freed_memory()  # before pyarrow is imported
    without_pandas()

    from ...chances.settings import ChanceOptions
    from ...engines.factory import open_engine
    from ...engines.protocols import DistributedEngine
    from ...rating.multi_run import rate_many
    from ...rating.rate import RateOptions
    from ...rating.resolve import resolve_runs

    skip = None if keep_uninformative is None else not keep_uninformative
    with usage():
        opened = lake.open()
        learns, names = ChanceOptions(**chances), [run] if run else []
        configs = resolve_runs(opened, dataset, names, systems, settings, skip, replace, preset, learns)
        configs = [dataclasses.replace(config, **stored) for config in configs]  # exclude, include, titles, level, ...
        opened_engine = open_engine(*engine)
    sys.setswitchinterval(SWITCH_SECONDS)
    with opened_engine, progress("rating", "participations") as update:
        if isinstance(opened_engine, DistributedEngine):
            print_line(opened_engine.describe(), err=True)
        options = RateOptions(
            max_rounds, start, steal, dry_run, lambda reached: update(*reached.shown()), show_compilation(update)
        )
        for config, report in rate_many(opened, configs, opened_engine, options):
            print_line(f"run {config.run}: {report.line()}")
            for warning in report.warnings:
                print_line(f"run {config.run}: {warning}", err=True)
            if report.apart:
                say_apart(f"{report.apart}. {REMEDY}", config.run)
            if report.phases and click.get_current_context().find_root().params["debug"]:
                print_line(report.phases_line(), err=True)


def _check(runs: list[str], lake: LakeAddress, engine: EngineChoice) -> None:
    """Compute the last rounds of a run again."""
    from ...engines.factory import open_engine
    from ...maintenance.verify import replay_last

    with usage():
        if not runs:
            raise ValueError("--check needs --run")
        opened, opened_engine = lake.open(), open_engine(*engine)
    notes: list[str] = []
    with opened_engine, progress("rating again", "rounds") as update:
        rounds, problems = replay_last(opened, runs[0], opened_engine, notes, update, show_compilation(update))
    for line in (*problems, *(f"note: {note}" for note in notes)):
        print_line(line, err=True)
    if problems:
        sys.exit(1)
    bits = "differ by rounding alone" if notes else "have the same bits"
    which = f"rounds {rounds.start} to {rounds.stop - 1}, computed again, {bits}" if rounds else "no rounds"
    print_line(f"run {runs[0]}: {which}")


@click.command()
@run_option
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE",
    help="A hyperparameter of the smoothing, as beta=160; repeatable. By default as the run's system has it.",
)  # fmt: skip
@engine_options
@strict_option
@steal_option
@lake_option
def smooth(run: str, settings: tuple[str, ...], engine: EngineChoice, steal: bool, lake: LakeAddress) -> None:
    """Smooth a run: every skill at every round, given all rounds before and after. Its ratings stay as they are.

    The result is the table runs/RUN/smoothing/smoothed-*.parquet of the lake. The same command continues after an
    interruption.
    """
    from ranklake.rating_kernels.smoothing.sweeps import MEAN_MOVE, SPREAD

    from ...answers.rated_run import RatedRun
    from ...common.configuration.settings import parse_settings
    from ...engines.factory import open_engine
    from ...engines.protocols import DistributedEngine
    from ...smoothing.smooth import smooth_run

    with usage():
        opened, parsed = lake.open(), parse_settings(settings)
        opened_engine = open_engine(*engine)
    with opened_engine, progress("smoothing", "sweeps") as update:
        if isinstance(opened_engine, DistributedEngine):
            print_line(opened_engine.describe(), err=True)

        def on_sweep(sweep: int, mean_move: float, spread: float) -> None:
            moves = f"a round's mean moves by {mean_move:.2f} points (until {MEAN_MOVE:g}), "
            moves += f"two players apart by {spread:.2f} (until {SPREAD:g})"
            update(sweep, None, moves if sweep > 1 else "the next ones say how far skills still move")

        update(0, None, "reading the rounds, then the first sweep")
        shown: dict[str, Any] = {"on_sweep": on_sweep, "on_compile": show_compilation(update)}
        report = smooth_run(opened, run, opened_engine, parsed, steal=steal, **shown)
    print_line(f"run {run}: {report.line()}")
    say_apart(RatedRun(opened, run).components_line(remedy=REMEDY), run)
