"""The command that ingests results of problems."""

from __future__ import annotations

import click

from ...terminal.file_options import delimiter_option, encoding_option
from ...terminal.options import LakeAddress, dataset_option, lake_option, steal_option, usage
from ...terminal.output import print_line
from .output import ingesting


@click.command("results", short_help="Ingest who solved which problem of a contest.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--problems", metavar="FILE", help="A table of problems: problem, and perhaps name, url, position (place "
              "in the order of the contest), tags (separated by semicolons), max_score, and same_as, the id of "
              "the same problem in other results.")  # fmt: skip
@click.option("--skip-strangers", is_flag=True, help="Leave out, and count, results of players who are not in the "
              "standings of the contest, as virtual participants.")  # fmt: skip
@click.option("--column", "columns", multiple=True, metavar="KEY=COLUMN", help="Name of a column of a table: KEY is "
              "contest, player, problem, solved, score, max_score, time or attempts. KEY= ignores the column. "
              "Repeatable.")  # fmt: skip
@delimiter_option
@encoding_option
@click.option("--limit", "limits", multiple=True, metavar="KEY=NUMBER", help="Raise a limit for large files, as "
              "rows=200_000_000: KEY is expanded, rows or table. Repeatable.")  # fmt: skip
@dataset_option
@steal_option
@lake_option
def ingest_results(
    paths: tuple[str, ...],
    problems: str | None,
    skip_strangers: bool,
    columns: tuple[str, ...],
    delimiter: str | None,
    encoding: str,
    limits: tuple[str, ...],
    dataset: str,
    steal: bool,
    lake: LakeAddress,
) -> None:
    """Ingest results of problems from PATH: files or patterns of Parquet and CSV files (.parquet .csv .tsv; the texts
    also as .gz .bz2 .zst .xz), or the folder of a Delta table. `ranklake problems` makes difficulties of them.

    A table has one row for each problem that a player attempted, with the columns contest, player, problem, and solved
    (true or false) or score, from 0 to max_score. It may have time, in seconds from the start of the contest, and
    attempts, the number of submissions. The contests must be in the data set with their standings. An ingest replaces
    all results of the contests that it has results of, and no rating.

    \b
    Examples:
      ranklake ingest results solves.csv --dataset judge --lake lake
      ranklake ingest results 'points/*.parquet' --problems problems.csv \\
          --column problem=task --dataset judge --lake lake
    """
    from ....ingestion.results import ingest_results
    from ....sources.problems.tables import TableOptions

    with usage():
        options = TableOptions.parse(columns, limits, delimiter=delimiter, encoding=encoding)
    with ingesting("ingesting", "results", steal=steal) as how:
        report = ingest_results(lake.open(), paths, dataset, options, problems, skip_strangers, how)
    for line in report.notes():
        print_line(line, err=True)
    print_line(f"data set {report.dataset}: {report.line()}")
