"""The options of all commands that read contests from files, and the value they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..terminal.terminal import usage

if TYPE_CHECKING:
    from ...sources.options import ReadOptions

__all__ = ["read_options", "table_options"]

F = TypeVar("F", bound=Callable[..., Any])

_TABLE_OPTIONS = (
    click.option("--column", "columns", multiple=True, metavar="KEY=COLUMN", help="What a table calls a column: KEY is "
                 "contest, player, rank, lo, hi, score, time, weight, perf_ceiling, name or url. KEY= alone leaves the "
                 "column out. Repeatable."),
    click.option("--time-format", default="auto", show_default=True, metavar="FORMAT", help="Times in a table: auto, "
                 "unix, unix-ms, unix-us, unix-ns, iso, yyyymmdd, or a pattern such as %d/%m/%Y."),
    click.option("--duplicates", type=click.Choice(["error", "best", "last"]), default="error", show_default=True,
                 help="A player who is in a contest of a table twice: refuse the contest, or keep the best place or "
                 "the last row."),
    click.option("--input-format", type=click.Choice(["csv", "tsv", "jsonl", "json", "parquet"]),
                 help="By default the ending of the file says it; for standard input csv."),
    click.option("--delimiter", metavar="CHARACTER", help="Between the fields of a CSV file, or tab; by default the "
                 "header says it."),
    click.option("--encoding", default="utf-8", show_default=True, help="Of a text file, as latin-1, cp1252, utf-16."),
    click.option("--limit", "limits", multiple=True, metavar="KEY=NUMBER", help="Allow larger files than usual, as "
                 "expanded=100GB: KEY is expanded, document, members, rows, table or participants. Repeatable."),
)  # fmt: skip


def table_options(command: F) -> F:
    """How tables are read: ``columns, time_format, duplicates, input_format, delimiter, encoding, limits``."""
    for option in reversed(_TABLE_OPTIONS):
        command = option(command)
    return command


def read_options(**choices: Any) -> ReadOptions:
    """The settings of :func:`table_options`, and ``order, on_error, dedupe`` if a command has them.

    Raises
    ------
    click.UsageError
        A setting has a value it cannot have.
    """
    from ...sources.options import ReadOptions

    with usage():
        return ReadOptions.parse(**choices)
