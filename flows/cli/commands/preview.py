"""The command that previews a contest: rating changes from standings, nothing written."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import click

from ..terminal.file_options import read_options, table_options
from ..terminal.options import (
    TIME,
    LakeAddress,
    check_safe,
    deviations_option,
    handles_in,
    lake_option,
    run_option,
    safe_option,
    titles_option,
    usage,
    wide_option,
)
from ..terminal.output import print_freshness, print_line, print_table, write_rows
from ..terminal.process import without_pandas

if TYPE_CHECKING:
    from ...results.titles import TitlesChoice


@click.command()
@click.argument("standings", metavar="STANDINGS")
@run_option
@click.option("--entrants", type=click.File(encoding="utf-8"), metavar="FILE", help="All entrants, one handle a "
              "line. Those without a place count in the field, behind all others.")  # fmt: skip
@click.option("--time", "time_seconds", type=TIME, help="End of the contest, UTC; by default that in the file, else "
              "the end of the last rated round.")  # fmt: skip
@click.option("--top", type=click.IntRange(1, 2**31), default=50, show_default=True, help="Rows of the table.")
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True,
              help="csv and json have full precision and all participants.")  # fmt: skip
@table_options
@safe_option
@deviations_option
@titles_option
@wide_option
@lake_option
def preview(
    standings: str,
    run: str,
    entrants: IO[str] | None,
    time_seconds: int | None,
    top: int,
    form: str,
    safe: bool,
    deviations: float | None,
    titles: TitlesChoice,
    lake: LakeAddress,
    **reading: Any,
) -> None:
    """Show the rating changes that follow from the standings of a contest; nothing is written.

    STANDINGS is a file of one contest, as `ingest files` reads it, or - for stdin; a table needs no column contest. It
    may be partial. The ratings are those of the run, to the bit as if the contest were ingested and rated.
    """
    without_pandas()
    from ...preview.run_preview import RunPreview
    from ...preview.standings import standings_from_file

    options = read_options(**reading)
    with usage():
        check_safe(safe, form)
        names = handles_in(entrants, "--entrants")
        read = standings_from_file(standings, options, names, time_seconds)
        opened = lake.open()
        print_freshness(opened, run)
        found = RunPreview.open(opened, run, deviations, titles, read.players).preview(read)
    for note in found.notes:
        print_line(note, err=True)
    if form == "table":
        from ..terminal.show_changes import preview_table

        print_table(preview_table(found, top))
    else:
        write_rows(found.table(), form, safe)
