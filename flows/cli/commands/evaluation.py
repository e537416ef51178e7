"""Commands that evaluate runs, find hyperparameters, and reproduce the papers' experiments."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...common.metric_names import TUNED_METRICS
from ..terminal.apart import REMEDY, say_apart, strict_option
from ..terminal.file_options import read_options
from ..terminal.options import (
    LAKE,
    RUN,
    LakeAddress,
    dataset_option,
    format_option,
    lake_option,
    threads_option,
    usage,
    wide_option,
)
from ..terminal.output import print_freshness, print_line, print_table, progress, show_compilation, write_json

if TYPE_CHECKING:
    from ...evaluation.evaluate import Evaluation
    from ...sources.options import ReadOptions

BREAKDOWNS = ("era", "size", "experience", "rank-error")
FILTERS = ("everyone", "experienced", "top100")


@click.command()
@click.option("--run", "runs", type=RUN, multiple=True, required=True, help="Name of the run; several are compared.")
@click.option("--skip-rounds", type=click.IntRange(min=0), help="Number of rounds at the start that are not scored.")
@click.option("--skip-share", type=click.FloatRange(0.0, 1.0, max_open=True),
              help="Share of the rounds at the start that is not scored, as 0.1.")  # fmt: skip
@click.option("--by", "breakdowns", multiple=True, type=click.Choice(BREAKDOWNS),
              help="Also show a table by year, number of participants or earlier rounds, or the EloSRM tables of log2 "
              "rank errors; repeatable.")  # fmt: skip
@click.option(
    "--filter",
    "chosen",
    multiple=True,
    type=click.Choice(FILTERS),
    help="The group that is scored, one table each; repeatable. By default all for one run, everyone for several.",
)
@click.option(
    "--pairs", is_flag=True, help="Also show the share of rounds that one run predicts better, for every pair of runs."
)
@click.option("--scale", type=click.FloatRange(min=0.0, min_open=True), default=400.0, show_default=True,
              help="Rating difference at odds of ten to one, for log2 rank error and cross-entropy.")  # fmt: skip
@format_option("table", "json", help="json has all values in full precision.")
@click.option(
    "--output", metavar="FILE.parquet", type=click.Path(dir_okay=False), help="Write the scores of every round."
)
@strict_option
@threads_option
@wide_option
@lake_option
def evaluate(
    runs: tuple[str, ...],
    skip_rounds: int | None,
    skip_share: float | None,
    breakdowns: tuple[str, ...],
    chosen: tuple[str, ...],
    pairs: bool,
    scale: float,
    form: str,
    output: str | None,
    workers: int | None,
    lake: LakeAddress,
) -> None:
    """Score how well the ratings of a run predicted its rounds; compare several runs in one table.

    The ratings before each round are scored for three groups: players rated before (everyone), players with at least
    five rounds (experienced), and the first hundred places (top100). Pair inversion counts equal ratings as correct, as
    in the Elo-MMR paper; the neutral value beside it counts them half. Rank information scores the prior laws of
    performances, in nats, in rounds of at least 30 players, and rank likelihood the places by these laws, in rounds of
    any size. The system's own chances of pairs of players have a cross-entropy, a Brier score and an expected
    calibration error, and for one run a reliability table. Games, and contests of two, also have scores of the
    chances of a win, a draw and a loss, by what the run had learnt of draws and advantages before. With several
    runs, the best value is marked, and the other runs show their difference to it with a 95 % confidence interval.
    """
    from ranklake.rating_kernels.core.limits import POINTS, positive
    from ranklake.rating_kernels.core.system import check_value

    from ...answers.rated_run import RatedRun
    from ...evaluation.evaluations import evaluate_runs
    from ..terminal.show_scores import show_evaluations

    with usage():
        if repeated := sorted({run for run in runs if runs.count(run) > 1}):
            raise ValueError(f"--run {repeated[0]} is given twice; give different runs")
        if skip_rounds is not None and skip_share is not None:
            raise ValueError("--skip-rounds and --skip-share exclude each other; give one")
        if output is not None and not os.path.isdir(os.path.dirname(output) or "."):
            raise ValueError(f"--output {output}: there is no folder {os.path.dirname(output)}")
        if pairs and len(runs) == 1:
            raise ValueError("--pairs compares runs; give at least two --run")
        check_value("--scale", scale, positive(POINTS)["limits"])
    opened = lake.open()
    print_freshness(opened, *runs)

    def on_scored(evaluation: Evaluation) -> None:
        if evaluation.damage:
            last = evaluation.first_round + len(evaluation) - 1
            print_line(f"run {evaluation.run}: scored up to round {last:,}; {evaluation.damage}", err=True)

    for run in runs:
        say_apart(RatedRun(opened, run).components_line(remedy=REMEDY), run)
    with progress("scoring") as update:
        found = evaluate_runs(
            opened, runs, skip_rounds or 0 if skip_share is None else skip_share, workers=workers, scale=scale,
            on_progress=lambda run, done, total: update(done, total, f"run {run}"), on_scored=on_scored,
            on_compile=show_compilation(update),
        )  # fmt: skip
    if output is not None:
        import pyarrow.parquet as pq

        pq.write_table(found.to_table(), output)
    if form == "json":
        write_json(found.to_json())
        return
    shown = [filter for filter in FILTERS if filter in (chosen or (FILTERS if len(runs) == 1 else FILTERS[:1]))]
    for table in show_evaluations(found, breakdowns, shown, pairs):
        print_table(table)


@click.command()
@dataset_option
@click.option("--system", default="elo-mmr", show_default=True, help="Rating system.")
@click.option("--train-share", type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True), default=0.1,
              show_default=True, help="Share of the contests for training; the others are for the test.")  # fmt: skip
@click.option("--folds", type=click.IntRange(min=1), default=1, show_default=True,
              help="Blocks of the contests after the training share: hyperparameters are chosen on all contests before "
              "each block and scored on it, and the best on all contests are the result.")  # fmt: skip
@click.option("--metric", type=click.Choice(TUNED_METRICS), default="pair_inversion", show_default=True,
              metavar="METRIC", help=f"The metric to optimise: {', '.join(TUNED_METRICS)}.")  # fmt: skip
@click.option("--filter", "players", type=click.Choice(FILTERS),
              help="The group that is scored. By default experienced; everyone for games by cross_entropy, brier, "
              "log2_rank_error and log_loss3.")  # fmt: skip
@click.option("--method", type=click.Choice(["grid", "random", "bayes", "em"]), default="grid", show_default=True,
              help="A full grid, random draws, proposals by Optuna, or estimates of noise, drift and practice from "
              "smoothed skills.")  # fmt: skip
@click.option("--trials", type=click.IntRange(min=1), help="Number of trials; of a grid, a random sample of this size; "
              "of em, the steps and the beginning, 5 by default.")  # fmt: skip
@click.option("--space", multiple=True, metavar="KEY=SPEC", help="Values a,b,c or a range lo:hi[:log], for a grid "
              "lo:hi[:log]:COUNT; repeatable. By default the grid of the Elo-MMR paper, or a fixed one. For em "
              "the value to begin with.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the proposals.")
@click.option("--prune", is_flag=True, help="Stop trials early that are worse than half of the others.")
@click.option(
    "--best", type=click.IntRange(min=1), default=3, show_default=True, help="Number of results to test and print."
)
@format_option("table", "json", help="json has the best trials and the folds in full precision.")
@strict_option
@threads_option
@click.option(
    "--scheduler", metavar="ADDRESS", help="Run the trials on the Dask cluster of this scheduler, tls://host:8786."
)
@click.option("--name", default="", help="Name of the search in the lake; by default made of its options.")
@wide_option
@lake_option
def tune(
    dataset: str,
    players: str | None,
    form: str,
    workers: int | None,
    scheduler: str | None,
    best: int,
    lake: LakeAddress,
    **choices: Any,
) -> None:
    """Find hyperparameters: tune on the first contests, test the best on the others.

    Finished trials stay in the lake: the same command resumes an interrupted search, and --trials may grow.
    """
    from ...engines.task_pool import open_task_pool
    from ...evaluation.tuning.record import TuningConfig
    from ...evaluation.tuning.tune import tune as run_trials
    from ..terminal.show_scores import tuning_tables

    with usage():
        config = TuningConfig(dataset, filter=players or "", **choices)
        proposals = config.proposals()
        task_pool = open_task_pool(workers, scheduler)
    with task_pool, progress("searching", "trials") as update:
        report = run_trials(lake.open(), config, task_pool, proposals, best, update, show_compilation(update))
    if form == "json":
        write_json(report.to_json())
    else:
        for table in tuning_tables(report):
            print_table(table)
        print_line(report.summary())
    for warning in report.warnings:
        print_line(f"search {report.config.name}: {warning}", err=True)
    say_apart(report.apart)
    if not report.best:
        raise ArithmeticError("no trial was completed; search another --space")
    if form == "table":
        words = [word for pair in report.best[0].settings.items() for word in ("--set", "=".join(pair))]
        print_line(
            shlex.join(["ranklake", "rate", "--dataset", dataset, "--system", config.system, *words, "--lake", lake])
        )


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="List the experiments.")
@click.option("--data", "paths", multiple=True, metavar="PATH", help="A history as `ingest files` reads it: folder, "
              "archive or table; its file name names the data set. In a folder of archives and tables, each is a data "
              "set. Repeatable.")  # fmt: skip
@read_options
@click.option("--dataset", "datasets", multiple=True, help="A data set of the lake; repeatable. By default all.")
@click.option("--lake", type=LAKE, envvar="RANKLAKE_LAKE", show_envvar=True, help="Folder or address of the lake.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of all random draws.")
@click.option("--system", "systems", multiple=True, metavar="'NAME KEY=VALUE ...'",
              help="A system to compare, for accuracy and residuals; repeatable.")  # fmt: skip
@click.option("--class", "classes", default="", metavar="REGEX",
              help="The contest class in a contest's name, for residuals.")  # fmt: skip
@wide_option
@click.option("-o", "--output", default="experiments", show_default=True, type=click.Path(file_okay=False),
              metavar="DIR", help="Folder for the report: an HTML page, and its tables as Parquet.")  # fmt: skip
def experiment(
    name: str | None,
    listing: bool,
    paths: tuple[str, ...],
    datasets: tuple[str, ...],
    lake: LakeAddress | None,
    seed: int,
    systems: tuple[str, ...],
    classes: str,
    output: str,
    options: ReadOptions,
) -> None:
    """Reproduce an experiment of the papers, with the printed values; needs the extra `report`.

    `all` makes one page of all experiments, and leaves out the histories that do not suit one of them.

    Histories come from files (--data), from a lake (--lake, --dataset) or both. Some experiments use a synthetic
    history by default.
    """
    from ...experiments import find_experiment

    if listing:
        with usage():
            if name is not None:
                raise ValueError("--list takes no other arguments")
        _list()
        return
    with usage():
        if name is None:
            raise ValueError("name an experiment; `ranklake experiment --list` lists them")
        find_experiment(name)
        if datasets and lake is None:
            raise ValueError("--dataset needs --lake")
        from ...experiments.run import ExperimentRequest

        files = [Path(path) for path in paths]
        request = ExperimentRequest(name, files, options, datasets, seed, systems, classes)
    opened = None if lake is None else lake.open()
    with usage():
        histories = request.histories(opened)
    with _step_progress(name) as update:
        page, n_tables = request.run(histories, Path(output), update)
    print_line(f"wrote {page} and {n_tables} tables")


def _list() -> None:
    from rich.text import Text

    from ...experiments import EXPERIMENTS, find_experiment
    from ..terminal.tables import TEXT, WHOLE, new_table

    table = new_table({"experiment": WHOLE, "what it shows": TEXT, "source": TEXT, "data": TEXT}, ("source",))
    inputs = {
        "none": "none",
        "optional": "none, or given",
        "instead": "given, else synthetic",
        "beside": "synthetic, and given",
        "given": "given",
    }
    for name in EXPERIMENTS:
        experiment = find_experiment(name)
        table.add_row(name, Text(experiment.title), Text(experiment.source), inputs[experiment.data])
    print_table(table)


@contextmanager
def _step_progress(name: str) -> Iterator[Callable[[str], None]]:
    """A function that shows the current step."""
    steps = 0
    with progress(name, "steps") as update:

        def step(what: str) -> None:
            nonlocal steps
            update(steps, None, what)
            steps += 1

        yield step
