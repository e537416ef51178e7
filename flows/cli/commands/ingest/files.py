"""Commands that ingest contests from files and from a query of a database."""

from __future__ import annotations

from typing import Any

import click

from ...terminal.file_options import file_options, query_options, result_options
from ...terminal.options import LakeAddress, dataset_option, lake_option, usage, writing_options
from .output import ingesting, print_files_report, print_report


@click.command("files", short_help="Ingest contests from tables, folders and archives.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@dataset_option
@lake_option
@file_options
@writing_options
def ingest_files(
    paths: tuple[str, ...], dataset: str, lake: LakeAddress, writing: dict[str, Any], options: dict[str, Any]
) -> None:
    """Ingest contests from PATH, which is one of

    \b
      results.csv     a table, one row a participation (.csv .tsv .jsonl
                      .json .parquet; all but the last also as .gz .bz2
                      .zst .xz)
      results/*.csv   several tables as one
      results/        a folder of tables, or of contests N.json; a Delta
                      table
      scoreboard.json a scoreboard of CLICS, DOMjudge or CTFtime
      archive.tar.xz  an archive of contests N.json (.tar .tar.gz .zip)
      -               a table from standard input

    A table needs the columns contest, player and one of rank (1 is best),
    score (higher is better), or lo and hi (first and last place of the tie
    group, from 0); equal ranks or scores tie. It may have time (or
    time_seconds), weight, precision, perf_ceiling, name (or contest_name),
    url, rated, rated_above and rated_below; a score beside places is kept as
    points.
    Other columns are ignored; a line lists the columns in use.

    \b
    Examples:
      ranklake ingest files results.csv --dataset chess --lake lake
      ranklake ingest files results.csv --column contest=event_id \\
          --column score=points --dataset chess --lake lake
      ranklake ingest files days.tsv --time-format %d/%m/%Y \\
          --dataset chess --lake lake
      ranklake ingest files old.csv --delimiter ';' --encoding latin-1 \\
          --duplicates best --dataset chess --lake lake
      zcat rows.gz | ranklake ingest files - --input-format jsonl \\
          --dataset chess --lake lake
    """
    from ....ingestion.files import FILES, ingest_contests, read_files
    from ....ingestion.report import FilesReport

    with usage():
        contests = read_files(paths, options)
    with ingesting("ingesting", **writing) as how:
        report = ingest_contests(lake.open(create=True), contests, FilesReport(FILES, dataset), how)
    print_files_report(report)


@click.command("sql", short_help="Ingest contests from a query of a database.")
@query_options
@dataset_option
@lake_option
@result_options
@writing_options
def ingest_database(
    database: dict[str, Any], dataset: str, lake: LakeAddress, writing: dict[str, Any], options: dict[str, Any]
) -> None:
    """Ingest contests from a query of PostgreSQL, MariaDB, MySQL or SQLite.

    The columns are those of a table of `ingest files`: contest, player and one of rank, score, or lo and hi; time,
    weight, precision, perf_ceiling, name and url if there are any. Contests with a time are rated in its order.

    \b
    Examples:
      ranklake ingest sql --url postgresql://judge@db/judge --dataset judge \\
          --query @results.sql --lake lake
      ranklake ingest sql --url sqlite:///judge.db --dataset judge \\
          --query 'select contest, player, score, time from results' \\
          --lake lake
    """
    from ....ingestion.databases import SQL
    from ....ingestion.files import non_default
    from ....ingestion.source_update import SourceRequest, update

    with usage():
        request = SourceRequest(SQL, dataset, file_options=non_default(options), database=database)
    with ingesting("ingesting", **writing) as how:
        report = update(lake.open(create=True), request, how)
    print_report(report)
