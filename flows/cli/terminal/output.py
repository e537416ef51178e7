"""Output of the commands on a terminal or in a log: lines, tables, rows and progress."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import click

from ...common.progress import Pace, ProgressLog
from ...common.text import count, json_visible, message, visible

if TYPE_CHECKING:
    import pyarrow as pa

    from ranklake.storage import Lake
    from ranklake.storage.leases.holder import LeaseHolder

    from ...compilation.compile import CompileCallback

WIDE = "ranklake.wide"  # key of the context: whether --wide was given


class Shown(Protocol):
    """As :data:`.ProgressCallback`; ``units`` are those of this phase, if it has others than the work."""

    def __call__(self, done: int, total: int | None, text: str, units: str = ...) -> None: ...


def show_compilation(update: Shown) -> CompileCallback:
    """A function that shows a compilation in the bar of the work that waits for it; one line in a log."""
    from ...compilation.compile import announce

    def on_compile(systems: Sequence[str], kernels: int, total: int) -> None:
        if _shows_bars():
            update(kernels, total, f"compiling {', '.join(systems)} (once per machine)", "kernels")
        else:
            announce(systems, kernels, total)

    return on_compile


@contextmanager
def progress(what: str, units: str = "contests") -> Iterator[Shown]:
    """A function that shows the progress of long work: a bar on a terminal, lines in a log.

    Lines that are printed meanwhile are above the bar; those on stdout stay there if it is no terminal.
    """
    if _shows_bars():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        texts = (TextColumn(visible(what), markup=False), TextColumn("{task.description}", markup=False))
        columns = (texts[0], BarColumn(20), TimeElapsedColumn(), texts[1])
        console, on_terminal = Console(stderr=True), sys.stdout.isatty()
        with Progress(*columns, console=console, transient=True, redirect_stdout=on_terminal) as bar:
            task, pace = bar.add_task("", total=None), Pace(units)

            def show(done: int, total: int | None, text: str, units: str = units) -> None:
                pace.take(done, total, units)
                bar.tasks[0].total = total  # of an unknown amount, too
                bar.update(task, completed=done, description=visible(pace.words(text, rate=False)))
                bar.tasks[0].finished_time = None  # the clock goes on in the next phase

            yield show
        return
    log = ProgressLog(what, units)

    def update(done: int, total: int | None, text: str, units: str = units) -> None:
        if line := log.line(done, total, text, units):
            print_line(line, err=True)

    yield update


def _shows_bars() -> bool:
    """Whether stderr is a terminal that can write a line again."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def write_utf8() -> None:
    """Write UTF-8 with plain line ends to files and pipes on every platform; a terminal keeps its encoding.

    Characters that the terminal's encoding lacks are escaped. An encoding set by ``PYTHONIOENCODING`` stays.
    """
    if "PYTHONIOENCODING" in os.environ:
        return
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper):  # no stream, or a replacement
            continue
        if stream.isatty():
            stream.reconfigure(errors="backslashreplace")
        else:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def print_freshness(lake: Lake, *runs: str) -> None:
    """Print one line on stderr for each run that is stale or behind its data set."""
    from ...maintenance.freshness import note

    for line in filter(None, (note(lake, run) for run in runs)):
        print_line(line, err=True)


def print_wait(by: LeaseHolder) -> None:
    """Print the lease holder that the command waits for."""
    print_line(waiting_for(by), err=True)


def waiting_for(by: LeaseHolder) -> str:
    """The words about a lease holder that a command waits for."""
    return f"waiting for {by.owner} to end"


def print_table(table: Any, empty: str = "") -> None:
    """Print a table of rich, fitted to the terminal; in full elsewhere, or with ``--wide``. Without rows, print the
    line ``empty``, if any: why it has none.
    """
    from .tables import print_fitted

    if empty and not table.rows:
        print_line(empty)
        return
    context = click.get_current_context(silent=True)
    print_fitted(table, wide=context is not None and context.meta.get(WIDE, False))


def print_line(line: str, err: bool = False) -> None:
    """Print one line on stdout or stderr, with control characters escaped and of limited length."""
    click.echo(message(line), err=err)


def print_hidden(n: int, err: bool = False) -> None:
    """Print how many provisional players are left out, if any are."""
    if n:
        print_line(f"({count(n, 'provisional player')} not shown)", err)


class Form(NamedTuple):
    """A format of rows: ``table``, ``csv`` or ``json``; ``safe`` escapes the cells of CSV that a spreadsheet would read
    as formulas.
    """

    name: str
    safe: bool = False


def write_rows(table: pa.Table, form: Form) -> None:
    """Write a table as CSV or JSON, in full precision; NaN and infinity are null, or empty in CSV.

    On a terminal, control characters are escaped; the values of JSON stay the same.
    """
    from ...common.finite import finite_rows

    table = finite_rows(table)
    if form.name == "csv":
        from pyarrow import csv

        from ...publication.export import change_texts

        csv.write_csv(change_texts(table, form.safe, sys.stdout.isatty()), sys.stdout.buffer)
    else:
        write_json(table.to_pylist())


def write_json(value: Any, indent: int | None = None) -> None:
    """Write a value as JSON to stdout, with a line end; on a terminal, control characters are escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    sys.stdout.write((json_visible(text) if sys.stdout.isatty() else text) + "\n")
