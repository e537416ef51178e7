"""The command that previews a contest: rating changes from standings, nothing written."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import click

from ..terminal.file_options import read_options
from ..terminal.options import TIME, ChosenRun, chosen_run, handles_in, rows_format, run_option, usage
from ..terminal.output import Form, print_line, print_table, write_rows
from ..terminal.process import without_pandas

if TYPE_CHECKING:
    from ...sources.options import ReadOptions


@click.command()
@click.argument("standings", metavar="STANDINGS")
@run_option
@click.option("--entrants", type=click.File(encoding="utf-8"), metavar="FILE", help="All entrants, one handle a "
              "line. Those without a place count in the field, behind all others.")  # fmt: skip
@click.option("--time", "time_seconds", type=TIME, help="End of the contest, UTC; by default that in the file, else "
              "the end of the last rated round.")  # fmt: skip
@click.option("--top", type=click.IntRange(1, 2**31), default=50, show_default=True, help="Rows of the table.")
@rows_format("csv and json have full precision and all participants.")
@read_options
@chosen_run()
def preview(
    standings: str,
    chosen: ChosenRun,
    entrants: IO[str] | None,
    time_seconds: int | None,
    top: int,
    form: Form,
    options: ReadOptions,
) -> None:
    """Show the rating changes that follow from the standings of a contest; nothing is written.

    STANDINGS is a file of one contest, as `ingest files` reads it, or - for stdin; a table needs no column contest. It
    may be partial. The ratings are those of the run, to the bit as if the contest were ingested and rated.
    """
    without_pandas()
    from ...preview.run_preview import RunPreview
    from ...preview.standings import standings_from_file

    with usage():
        names = handles_in(entrants, "--entrants")
        read = standings_from_file(standings, options, names, time_seconds)
        opened = chosen.open()
        found = RunPreview.open(opened, chosen.run, chosen.deviations, chosen.titles, read.players).preview(read)
    for note in found.notes:
        print_line(note, err=True)
    if form.name == "table":
        from ..terminal.show_changes import preview_table

        print_table(preview_table(found, top))
    else:
        write_rows(found.table(), form)
