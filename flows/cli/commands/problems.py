"""The command that shows the difficulties of problems, and ratings from problems."""

from __future__ import annotations

from typing import Any

import click

from ..terminal.options import (
    FINITE,
    SPAN,
    ChosenRun,
    LakeAddress,
    lake_option,
    rows_format,
    run_option,
    usage,
    wide_option,
)
from ..terminal.output import Form, print_line, print_table, progress, write_rows
from ..terminal.process import without_pandas


@click.command()
@run_option
@click.option("--contest", metavar="ID", help="Only the problems of this contest; with --players its players.")
@click.option("--count", "counts", type=click.Choice(("all", "submitted", "reached", "attempted")), default="all",
              show_default=True, help="Who counts for a problem: all participants of its contests, those with any "
              "result there, those with a result of it or a later problem, or those with a result of it.")  # fmt: skip
@click.option("--time-limit", type=SPAN, help="Later solves are failures, as 60m from the start of the contest.")
@click.option("--scale", type=FINITE, help="Rating points in which the odds of a solve change tenfold.  [default: 400]")
@click.option("--fit-scale", is_flag=True, help="Choose the scale of the greatest likelihood of all solves.")
@click.option("--uncertain/--certain", default=None, help="Whether uncertain ratings flatten the chances.  [default: "
              "uncertain, if the system has an uncertainty]")  # fmt: skip
@click.option("--top", type=click.IntRange(1, 2**31), default=20, show_default=True, help="Number of rows.")
@click.option("--all", "everything", is_flag=True, help="All rows.")
@click.option("--players", is_flag=True, help="Instead, the players of --contest with their ratings from the problems "
              "that they solved there; with --joint perhaps of all contests.")  # fmt: skip
@click.option("--joint", is_flag=True, help="Estimate players and problems together, from the results of --contest or "
              "of all contests.")  # fmt: skip
@rows_format("csv and json have full precision.")
@wide_option
@lake_option
def problems(
    run: str,
    contest: str | None,
    counts: Any,
    time_limit: int | None,
    scale: float | None,
    fit_scale: bool,
    uncertain: bool | None,
    top: int,
    everything: bool,
    players: bool,
    joint: bool,
    form: Form,
    lake: LakeAddress,
) -> None:
    """Show how difficult problems were, hardest first, on the scale of the run's ratings: a player with the rating
    `difficulty` solves the problem with chance 1/2.

    The results are those of `ranklake ingest results`. No rating depends on them.
    """
    without_pandas()
    from ranklake.rating_kernels.problems.difficulty import SCALE

    from ...problems.difficulties import RunProblems
    from ...problems.options import ProblemOptions

    with usage():
        if scale is not None and fit_scale:
            raise ValueError("--scale and --fit-scale exclude each other")
        if joint and fit_scale:
            raise ValueError("--joint and --fit-scale exclude each other: a scale is fitted to ratings; give --scale")
        if players and contest is None and not joint:
            raise ValueError("--players shows the players of one contest: name it with --contest")
        chosen = None if fit_scale else SCALE if scale is None else scale
        options = ProblemOptions(counts, time_limit, chosen, uncertain, joint)
    chosen_run = ChosenRun(run, lake)
    opened = chosen_run.open()
    with progress(f"reading {run}", "participations") as update, usage():
        found = RunProblems(opened, run, options, update)
        if joint:
            from ...problems.joint import joint_tables

            both = joint_tables(found, contest)
            rows, notes = both.players if players else both.problems.rows, both.problems.notes()
        elif players:
            from ...problems.players import problem_players

            rows, notes = problem_players(found, contest or ""), []
        else:
            table = found.table()
            rows, notes = found.of_contest(table, contest), table.notes()
    for note in notes:
        print_line(note, err=True)
    shown = rows if everything else rows.slice(0, top)
    if form.name != "table":
        write_rows(shown, form)
        return
    from ..terminal.reports.show_problems import players_table, problems_table

    print_table((players_table if players else problems_table)(shown, rows.num_rows))
