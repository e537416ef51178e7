"""The command that shows the strengths that explain all games of a run at once."""

from __future__ import annotations

import click

from ..terminal.options import ChosenRun, LakeAddress, lake_option, rows_format, run_option, usage, wide_option
from ..terminal.output import Form, print_table, write_rows
from ..terminal.process import without_pandas


@click.command()
@run_option
@click.option("--where", "conditions", multiple=True, metavar="COLUMN=VALUE", help="Only games with this value of a "
              "kept column; of one column any of several. Repeatable.")  # fmt: skip
@click.option("--by", metavar="COLUMN", help="Also the strengths in the games of each value of a kept column.")
@click.option("--coefficients", is_flag=True, help="Instead, the coefficients of the covariates.")
@click.option("--pairs", is_flag=True, help="Instead, the results of each pair of players, seen and expected.")
@click.option("--top", type=click.IntRange(1, 2**31), default=20, show_default=True, help="Number of rows, of each "
              "category.")  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="All rows.")
@rows_format("csv and json have full precision.")
@wide_option
@lake_option
def strengths(
    run: str,
    conditions: tuple[str, ...],
    by: str | None,
    coefficients: bool,
    pairs: bool,
    top: int,
    everything: bool,
    form: Form,
    lake: LakeAddress,
) -> None:
    """Show the strengths that explain all games of a run of `bt` at once, best first, in all games or in some of them.

    The columns are those that `ranklake ingest games` keeps with `--keep`. A run of another system rates game after
    game, and has no strengths.

    \b
    Examples:
      ranklake strengths --run arena --by category --lake lake
      ranklake strengths --run arena --where language=English --coefficients --lake lake
    """
    without_pandas()
    from ranklake.storage.datasets.selection import Selection

    from ...results.rated_rounds import RatedRounds
    from ...strengths.strengths import RunStrengths, first_of_each

    with usage():
        if coefficients and pairs:
            raise ValueError("--coefficients and --pairs exclude each other")
        where = Selection.parse(conditions)
        chosen_run = ChosenRun(run, lake)
        found = RunStrengths(RatedRounds(chosen_run.open(), run), where, by)
        rows = found.coefficients() if coefficients else found.pairs() if pairs else found.table()
    shown = rows if everything or coefficients else first_of_each(rows, top)
    if form.name != "table":
        write_rows(shown, form)
        return
    from ..terminal.reports.show_strengths import coefficients_table, pairs_table, strengths_table

    print_table(
        (coefficients_table if coefficients else pairs_table if pairs else strengths_table)(shown, rows.num_rows)
    )
