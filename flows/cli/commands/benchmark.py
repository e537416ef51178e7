"""The command that compares rating systems on histories."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from ...common.metric_names import COMPARED_METRICS
from ..terminal.file_options import history_options
from ..terminal.options import LAKE, EngineChoice, LakeAddress, engine_options, format_option, usage, wide_option
from ..terminal.output import print_line, print_table, progress, show_compilation, write_json


@click.command()
@click.argument("paths", metavar="[NAME=]PATH...", nargs=-1)
@click.option("--games", multiple=True, metavar="[NAME=]PATH", help="A history of one-to-one games, as `ingest games` "
              "reads it. Repeatable.")  # fmt: skip
@click.option("--lake", type=LAKE, envvar="RANKLAKE_LAKE", show_envvar=True, help="Folder or address of a lake.")
@click.option("--dataset", "datasets", multiple=True, help="A data set of the lake is a history; repeatable.")
@click.option("--system", "systems", multiple=True, metavar="'NAME KEY=VALUE ...'", help="A system to compare, and its "
              "settings; `all`; or MODULE:NAME for a system of your own. Repeatable.  [default: all]")  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A hyperparameter, with several systems "
              "SYSTEM.KEY=VALUE; repeatable.")  # fmt: skip
@click.option("--preset", "presets", multiple=True, help="What a site rates with, as another system; repeatable.")
@click.option("--published", is_flag=True, help="Also the hyperparameters that the authors of Elo-MMR publish for a "
              "history of this name: codeforces, topcoder, reddit, ctf and others.")  # fmt: skip
@click.option("--skip-share", type=click.FloatRange(0.0, 1.0, max_open=True), default=0.1, show_default=True,
              help="Share of each history at the start that is not scored.")  # fmt: skip
@click.option("--metric", type=click.Choice(COMPARED_METRICS), default="pair_inversion", show_default=True,
              help="The metric that orders the systems.")  # fmt: skip
@click.option("--filter", "players", type=click.Choice(["everyone", "experienced"]), default="experienced",
              show_default=True, help="The group that orders the systems; both are scored.")  # fmt: skip
@history_options
@engine_options
@format_option("table", "json", help="What is printed; the folder has both.")
@wide_option
@click.option("-o", "--output", default="benchmark", show_default=True, type=click.Path(file_okay=False), metavar="DIR",
              help="Folder for report.html, report.json and the finished results.")  # fmt: skip
def benchmark(
    paths: tuple[str, ...],
    games: tuple[str, ...],
    lake: LakeAddress | None,
    datasets: tuple[str, ...],
    engine: EngineChoice,
    players: str,
    form: str,
    output: str,
    options: dict[str, Any],
    **choices: Any,
) -> None:
    """Compare rating systems on histories: accuracy, calibration, seconds and drift of the level, in one report.

    PATH is a history as `ingest files` reads it; a folder stands for all tables and archives in it. --column may be
    NAME.KEY=COLUMN for the history of this name. A history that cannot be read is named, and the others go on; the
    exit code is then 1.

    Each system on each history is one piece of work: one after the other on all cores, or one on each worker of a Dask
    cluster. After Ctrl-C, the same command continues. What changed, a file, a setting or the code of a system, is
    measured again.

    \b
    Examples:
      ranklake benchmark races.csv ctf.tar.xz -o report
      ranklake benchmark histories/ --system all \\
          --system mypackage.mymodule:SYSTEM
      ranklake benchmark chess=games.csv --system elo \\
          --system 'elo k=40' --skip-share 0.2
    """
    from ...benchmark.candidates import candidates_of
    from ...benchmark.finished import FinishedCells
    from ...benchmark.histories import HistorySource, sources_of
    from ...benchmark.report import check_report, write_report
    from ...benchmark.run import BenchmarkRequest, Watching, has_failed, run_benchmark, threads_of
    from ...engines.task_pool import open_whole_pool
    from ..terminal.show_benchmark import benchmark_tables

    sys.path.append(os.getcwd())  # for --system MODULE:NAME; last, so that it hides no module
    with usage():
        if datasets and lake is None:
            raise ValueError("--dataset needs --lake")
        sources = sources_of(paths, games, options.pop("columns"), options)
        opened = None if lake is None or not datasets else lake.open()
        sources += [HistorySource(name, opened, {}) for name in datasets]
        candidates = candidates_of(*(choices.pop(name) for name in ("systems", "settings", "presets")))
        request = BenchmarkRequest(sources, candidates, filter=players, **choices)
        threads = threads_of(*engine)
        check_report()
        pool = open_whole_pool(*engine)
    finished = FinishedCells(Path(output), request.skip_share)
    with pool, progress("comparing", "results") as update:
        watching = Watching(update, show_compilation(update), lambda line: print_line(line, err=True))
        document = run_benchmark(request, finished, pool, threads, watching)
    page = write_report(document, Path(output))
    if form == "json":
        write_json(document)
    else:
        for table in benchmark_tables(document):
            print_table(table)
        print_line(f"wrote {page}")
    if has_failed(document):
        sys.exit(1)
