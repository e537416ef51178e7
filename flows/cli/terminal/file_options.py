"""The options of all commands that read contests from files and databases, and the values they make."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import SPAN, gathered

if TYPE_CHECKING:
    from ...sources.options import ReadOptions

time_format_option = click.option(
    "--time-format", default="auto", show_default=True, metavar="FORMAT", help="Times in a table: auto, unix, unix-ms, "
    "unix-us, unix-ns, iso, yyyymmdd, or a pattern such as %d/%m/%Y.",
)  # fmt: skip
delimiter_option = click.option(
    "--delimiter", metavar="CHARACTER", help="Delimiter of the fields of a CSV file, or tab; by default found from the "
    "header.",
)  # fmt: skip
encoding_option = click.option(
    "--encoding", default="utf-8", show_default=True, help="Encoding of text, as latin-1 or utf-16.",
)  # fmt: skip
duration_option = click.option(
    "--duration-unit", type=SPAN, help="The precision is the duration, in seconds in a column duration, in this unit, "
    "as 2h.",
)  # fmt: skip
_RESULT_OPTIONS = (
    click.option("--column", "columns", multiple=True, metavar="KEY=COLUMN", help="Name of a column of a table: KEY is "
                 "contest, player, rank, lo, hi, score, time, weight, precision, perf_ceiling, name, url, rated, "
                 "rated_above, rated_below; team or share for results of teams; duration in place of precision. KEY= "
                 "ignores the column. Repeatable."),
    time_format_option,
    duration_option,
    click.option("--duplicates", type=click.Choice(["error", "best", "last"]), default="error", show_default=True,
                 help="For a player with two rows in a contest: refuse the contest, or keep the best place or "
                 "the last row."),
    click.option("--absent", type=click.Choice(["error", "last", "drop", "none"]), default="error", show_default=True,
                 help="For participants without a place, as DNF, empty, 0 or -1 in a column rank: refuse the contest, "
                 "tie them behind all others, or leave them out; none: every number is a place."),
    click.option("--limit", "limits", multiple=True, metavar="KEY=NUMBER", help="Raise a limit for large files, as "
                 "expanded=100GB: KEY is expanded, document, members, rows, table or participants. Repeatable."),
)  # fmt: skip
_TEXT_OPTIONS = (
    click.option("--input-format", type=click.Choice(["csv", "tsv", "jsonl", "json", "parquet"]),
                 help="By default from the extension of the file; csv for standard input."),
    delimiter_option,
    encoding_option,
)  # fmt: skip

_HISTORY_OPTIONS = (
    click.option(
        "--order",
        type=click.Choice(["number", "time", "given"]),
        help="Order of rating: by file number (default for folders and archives), as given (default for tables), or "
        "by time (default for databases), for all contests of the data set.",
    ),
    click.option("--on-error", type=click.Choice(["stop", "skip"]), default="stop", show_default=True,
                 help="For an invalid contest: stop and ingest nothing, or skip and list it."),
    click.option("--dedupe", is_flag=True, help="Drop contests that repeat an earlier one."),
    click.option("--field-includes-unrated", is_flag=True, help="Rated participants compete with unrated ones (column "
                 "rated), too; by default, ratings are as if those had not taken part."),
)  # fmt: skip
_CONTEST_OPTIONS = (
    *_HISTORY_OPTIONS,
    click.option("--mirror", is_flag=True, help="Remove contests from the data set that the source does not have."),
)
_QUERY_OPTIONS = (
    click.option("--url", envvar="RANKLAKE_DATABASE_URL", show_envvar=True, metavar="URL", help="Address of the "
                 "database, as postgresql://USER@HOST/DATABASE, mariadb://USER@HOST/DATABASE or sqlite:///FILE; its "
                 "password belongs into PGPASSWORD or ~/.pgpass, or MYSQL_PWD or ~/.my.cnf."),
    click.option("--query", metavar="SQL", help="The query, one row a participation; @FILE takes it from a file."),
    click.option("--watermark", metavar="COLUMN", help="A column of the query that grows whenever a row is added or "
                 "changed: the next time only contests with such rows are asked for."),
)  # fmt: skip


def _read_options(**choices: Any) -> ReadOptions:
    from ...sources.options import ReadOptions

    return ReadOptions.parse(**choices)


def _database(query: str | None, **where: str | None) -> dict[str, str | None]:
    """The options of a database; a query ``@FILE`` is the content of a file, ``ValueError`` if that cannot be read."""
    if query is not None and query.startswith("@"):
        try:
            query = Path(query[1:]).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise ValueError(f"--query {query}: {reason}") from None
    return {**where, "query": query}


# How a table of results is read, as one argument ``options``
read_options = gathered("options", (*_RESULT_OPTIONS, *_TEXT_OPTIONS), _read_options)
# Those and the options of the contests of any source, as one argument ``options`` of `update`
file_options = gathered("options", (*_RESULT_OPTIONS, *_TEXT_OPTIONS, *_CONTEST_OPTIONS))
result_options = gathered("options", (*_RESULT_OPTIONS, *_CONTEST_OPTIONS))
# The same without --mirror, for what reads files and keeps no data set
history_options = gathered("options", (*_RESULT_OPTIONS, *_TEXT_OPTIONS, *_HISTORY_OPTIONS))
# ``url, query, watermark`` of a database, as one argument ``database``
query_options = gathered("database", _QUERY_OPTIONS, _database)
