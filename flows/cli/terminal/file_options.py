"""The options of all commands that read contests from files, and the value they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .terminal import usage

if TYPE_CHECKING:
    from ...sources.options import ReadOptions

__all__ = ["read_options", "table_options"]

F = TypeVar("F", bound=Callable[..., Any])

_TABLE_OPTIONS = (
    click.option("--column", "columns", multiple=True, metavar="KEY=COLUMN", help="Name of a column of a table: KEY is "
                 "contest, player, rank, lo, hi, score, time, weight, perf_ceiling, name or url. KEY= ignores the "
                 "column. Repeatable."),
    click.option("--time-format", default="auto", show_default=True, metavar="FORMAT", help="Times in a table: auto, "
                 "unix, unix-ms, unix-us, unix-ns, iso, yyyymmdd, or a pattern such as %d/%m/%Y."),
    click.option("--duplicates", type=click.Choice(["error", "best", "last"]), default="error", show_default=True,
                 help="For a player with two rows in a contest: refuse the contest, or keep the best place or "
                 "the last row."),
    click.option("--input-format", type=click.Choice(["csv", "tsv", "jsonl", "json", "parquet"]),
                 help="By default from the extension of the file; csv for standard input."),
    click.option("--delimiter", metavar="CHARACTER", help="Delimiter of the fields of a CSV file, or tab; by default "
                 "found from the header."),
    click.option("--encoding", default="utf-8", show_default=True, help="Encoding of text, as latin-1 or utf-16."),
    click.option("--limit", "limits", multiple=True, metavar="KEY=NUMBER", help="Raise a limit for large files, as "
                 "expanded=100GB: KEY is expanded, document, members, rows, table or participants. Repeatable."),
)  # fmt: skip


def table_options(command: F) -> F:
    """Options for tables: ``columns, time_format, duplicates, input_format, delimiter, encoding, limits``."""
    for option in reversed(_TABLE_OPTIONS):
        command = option(command)
    return command


def read_options(**choices: Any) -> ReadOptions:
    """The settings of :func:`table_options`, and ``order, on_error, dedupe`` if a command has them.

    Raises
    ------
    click.UsageError
        A setting has an invalid value.
    """
    from ...sources.options import ReadOptions

    with usage():
        return ReadOptions.parse(**choices)
