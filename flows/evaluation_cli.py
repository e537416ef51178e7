"""Commands that judge ratings: evaluate runs, and search for hyperparameters."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import click

from .terminal import lake_option, print_table, progress, usage

if TYPE_CHECKING:
    from .evaluate import Evaluation

__all__ = ["COMMANDS"]

BREAKDOWNS = ("era", "size", "experience", "rank-error")


@click.command()
@click.option("--run", "runs", multiple=True, required=True, help="Name of the run; several are compared.")
@click.option("--skip-rounds", type=click.IntRange(min=0), help="Leave the first so many rounds unscored.")
@click.option("--skip-share", type=click.FloatRange(0.0, 1.0, max_open=True),
              help="Leave the first part of all rounds unscored, as 0.1.")  # fmt: skip
@click.option("--by", "breakdowns", multiple=True, type=click.Choice(BREAKDOWNS),
              help="Also a table by year, by participants, by rounds played before, or the EloSRM tables of log2 rank "
              "errors; repeatable.")  # fmt: skip
@click.option("--scale", type=click.FloatRange(min=0.0, min_open=True), default=400.0, show_default=True,
              help="Rating points by which ten to one is foretold: for log2 rank error and cross-entropy.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True,
              help="json has everything, in full precision.")  # fmt: skip
@click.option(
    "--output", metavar="FILE.parquet", type=click.Path(dir_okay=False), help="Write every round's scores there."
)
@click.option("--workers", type=click.IntRange(min=1), help="Threads; by default one for each core.")
@lake_option
def evaluate(
    runs: tuple[str, ...],
    skip_rounds: int | None,
    skip_share: float | None,
    breakdowns: tuple[str, ...],
    scale: float,
    form: str,
    output: str | None,
    workers: int | None,
    lake: str,
) -> None:
    """How well the ratings of a run foretold its rounds, from what is on record; several runs are compared.

    Scored are the ratings before each round: of players rated before (everyone), of those with five rounds at least
    (experienced), of the first hundred places (top100). Pair inversion counts equal ratings as right, as the Elo-MMR
    paper does; beside it stands the neutral rule, which counts them half.
    """
    from storage import Lake
    from storage.layout import run_file

    from .compare import check_comparable, win_rates
    from .evaluate import evaluate as score_run
    from .evaluate import rounds_to_skip
    from .show_scores import evaluation_tables, win_table

    with usage():
        for run in runs:
            run_file(run)
        if repeated := sorted({run for run in runs if runs.count(run) > 1}):
            raise ValueError(f"--run {repeated[0]} is given twice; compare it with another")
        if skip_rounds is not None and skip_share is not None:
            raise ValueError("--skip-rounds and --skip-share exclude each other; give one")
        if output is not None and not os.path.isdir(os.path.dirname(output) or "."):
            raise ValueError(f"--output {output}: there is no folder {os.path.dirname(output)}")
    opened = Lake.open(lake)
    skips = [skip_rounds or 0 if skip_share is None else rounds_to_skip(opened, run, skip_share) for run in runs]
    hands = workers or len(os.sched_getaffinity(0))
    found: list[Evaluation] = []
    with progress("scoring") as tell:
        for run, skip in zip(runs, skips, strict=True):
            on_progress = partial(_tell, tell, run)
            one = score_run(opened, run, skip, workers=hands, scale=scale, on_progress=on_progress)
            if found:
                check_comparable(found[0], one)
            found.append(one)
    pairs = [(one, other, list(win_rates(one, other))) for at, one in enumerate(found) for other in found[at + 1 :]]
    if output is not None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.concat_tables([one.to_table() for one in found]), output)
    if form == "json":
        told = [one.to_json() for one in found]
        rates = [{"run": a.run, "other": b.run, **rate._asdict()} for a, b, some in pairs for rate in some]
        json.dump(told[0] if len(told) == 1 else {"runs": told, "win_rates": rates}, sys.stdout, ensure_ascii=False)
        sys.stdout.write("\n")
        return
    for one in found:
        for table in evaluation_tables(one, breakdowns):
            print_table(table)
    for a, b, rates_of_pair in pairs:
        for filter in a.filters:
            print_table(win_table(a.run, b.run, rates_of_pair, filter))


COMMANDS = (evaluate,)


def _tell(tell: Callable[[int, int | None, str], None], run: str, done: int, total: int) -> None:
    tell(done, total, f"run {run}")
