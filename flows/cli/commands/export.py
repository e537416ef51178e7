"""The command that exports a run's ratings or leaderboard as one file."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path

import click

from ...common.progress import not_shown
from ...common.text import count
from ..terminal.options import ChosenRun, chosen_run, make_form, run_option, safe_option, usage
from ..terminal.output import print_line, progress

_SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}


@click.command()
@run_option
@click.option("--what", type=click.Choice(["ratings", "leaderboard"]), required=True,
              help="ratings: one row a participation; leaderboard: one row a player.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["csv", "parquet", "jsonl"]),
              help="By default from the extension of FILE, else csv.")  # fmt: skip
@click.option("-o", "--output", default="-", show_default=True, metavar="FILE",
              help="File to write; - is the standard output.")  # fmt: skip
@safe_option
@chosen_run(wide=False)
def export(chosen: ChosenRun, what: str, form: str | None, output: str, safe: bool) -> None:
    """Export the ratings or the leaderboard of a run as one file, in full precision.

    The columns are those of the published tables. FILE is replaced when the export is complete.
    """
    from ...publication.export import atomic_file, export_rows, write_export

    suffix = Path(output).suffix.lower()
    with usage():
        if form is None and suffix not in ("", *_SUFFIXES):
            known = ", ".join(_SUFFIXES)
            raise ValueError(
                f"--output {output}: the extension must be one of {known}; or give the --format of the file"
            )
        form = form or _SUFFIXES.get(suffix, "csv")
        make_form(form, safe)
        if output == "-" and form == "parquet" and sys.stdout.isatty():
            raise ValueError("cannot write Parquet to a terminal; give --output FILE, or a pipe")
        if output != "-" and Path(output).is_dir():
            raise ValueError(f"--output {output} is a folder; name a file in it")
        if output != "-" and not Path(output).absolute().parent.is_dir():
            raise ValueError(f"--output {output}: there is no folder {Path(output).parent}")
    opened, on_terminal = chosen.lake.open(), output == "-" and sys.stdout.isatty()
    with nullcontext(not_shown) if on_terminal else progress("exporting", "participations") as update:
        rows = export_rows(opened, chosen.run, what, chosen.deviations, chosen.titles, update)
        if output == "-":
            try:
                write_export(rows, what, form, sys.stdout.buffer, safe)
                sys.stdout.buffer.flush()
            except BrokenPipeError:  # the reader has closed the pipe
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return
        with atomic_file(Path(output)) as file:
            n = write_export(rows, what, form, file, safe)
    print_line(f"wrote {output}: {count(n, 'row')}, {Path(output).stat().st_size / 1e6:,.1f} MB")
