"""Common options of the commands, and their output on a terminal or in a log."""

from __future__ import annotations

import functools
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

import click

from ...common.progress import Pace, ProgressLog
from ...common.text import json_visible, message, visible
from .parameters import DATASET, FINITE, LAKE, RUN, TITLES

if TYPE_CHECKING:
    import pyarrow as pa

    from ranklake.storage import Lake
    from ranklake.storage.leases.holder import LeaseHolder

    from ...compilation.compile import CompileCallback


__all__ = [
    "SWITCH_SECONDS",
    "EngineChoice",
    "Shown",
    "check_safe",
    "dataset_option",
    "deviations_option",
    "engine_options",
    "gathered",
    "lake_option",
    "print_freshness",
    "print_line",
    "print_table",
    "print_wait",
    "progress",
    "replace_option",
    "rewrite_option",
    "run_option",
    "safe_option",
    "show_compilation",
    "steal_option",
    "target_options",
    "titles_option",
    "usage",
    "waiting_for",
    "wide_option",
    "write_json",
    "write_rows",
    "write_utf8",
]

F = TypeVar("F", bound=Callable[..., Any])
Options = Sequence[Callable[[Callable[..., Any]], Callable[..., Any]]]
SWITCH_SECONDS = 2e-4  # instead of Python's 5 ms, as kernels and writes are short
_WIDE = "ranklake.wide"  # key of the context: whether --wide was given

lake_option = click.option(
    "--lake", type=LAKE, required=True, envvar="RANKLAKE_LAKE", show_envvar=True, help="Folder or address of the lake."
)
dataset_option = click.option("--dataset", type=DATASET, required=True, help="Name of the data set in the lake.")
_ENGINE: Options = (
    click.option("--engine", help="serial, threads or dask; all give the same ratings.  [default: threads]"),
    click.option("--workers", type=click.IntRange(min=1),
                 help="Threads, or processes for dask; by default one for each core."),
    click.option("--scheduler", metavar="ADDRESS", help="Rate on the Dask cluster of this scheduler, tls://host:8786."),
)  # fmt: skip
steal_option = click.option("--steal", is_flag=True, help="Take over the lease of a writer that is certainly dead.")
replace_option = click.option(
    "--replace", is_flag=True, help="Rate an existing run again with another data set, system or settings."
)
rewrite_option = click.option(
    "--rewrite", is_flag=True, help="Write contests again even if they are unchanged; repairs damaged standings."
)
run_option = click.option("--run", type=RUN, required=True, help="Name of the run, as `ranklake runs` lists it.")


def gathered(argument: str, options: Options, make: Callable[..., Any] = dict) -> Callable[[F], F]:
    """Options whose values reach a command as one argument, which ``make`` makes of them.

    A ``ValueError`` of ``make`` is wrong use of the command.
    """

    def decorate(command: F) -> F:
        taken = list(getattr(command, "__click_params__", ()))

        @functools.wraps(command)
        def gathering(**given: Any) -> Any:
            own = {name: given.pop(name) for name in names}
            with usage():
                given[argument] = make(**own)
            return command(**given)

        result: Callable[..., Any] = gathering
        for option in reversed(options):
            result = option(result)
        names = [parameter.name for parameter in result.__click_params__ if parameter not in taken]  # type: ignore[attr-defined]
        return cast("F", result)

    return decorate


class EngineChoice(NamedTuple):
    """The arguments of :func:`.engines.factory.open_engine`."""

    engine: str | None
    workers: int | None
    scheduler: str | None


engine_options = gathered("engine", _ENGINE, EngineChoice)


def target_options(what: str) -> Callable[[F], F]:
    """The options ``--to, --schema, --prefix`` as ``target``: a database, or None; ``what`` is the help of ``--to``."""
    return gathered(
        "target",
        (
            click.option("--to", metavar="URL", help=what),
            click.option("--schema", metavar="NAME", help="With --to: schema of the tables; by default the current "
                         "one."),
            click.option("--prefix", default="", metavar="TEXT", help="With --to: put before the names of the tables."),
        ),
        _target,
    )  # fmt: skip


def _target(to: str | None, schema: str | None, prefix: str) -> dict[str, Any] | None:
    if to is None:
        if schema is not None or prefix:
            raise ValueError(f"{'--prefix' if schema is None else '--schema'} is for databases: give one with --to")
        return None
    from ...databases.address import DatabaseAddress

    DatabaseAddress.parse(to)
    return {"url": to, "schema": schema, "prefix": prefix}


def _wide(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.meta[_WIDE] = value


wide_option = click.option(
    "--wide",
    is_flag=True,
    expose_value=False,
    callback=_wide,
    help="Show all columns in full on any terminal; cells are cut at 200 columns.",
)
safe_option = click.option(
    "--safe", is_flag=True, help="With csv: put an apostrophe before text that a spreadsheet would read as a formula."
)


titles_option = click.option(
    "--titles",
    type=TITLES,
    help="Titles and their colours; FILE is .json or .csv with name, minimum, colour. By default those of "
    "`rate --titles`, else Codeforces' titles for contests from Codeforces.",
)
deviations_option = click.option(
    "--deviations",
    type=FINITE,
    help="The display rating is mu - DEVIATIONS (sigma - its limit); by default that of the system, mostly 3.",
)


@contextmanager
def usage() -> Iterator[None]:
    """Report a ``ValueError`` in this block as wrong use of the command, with exit code 2."""
    try:
        yield
    except ValueError as error:
        raise click.UsageError(str(error)) from error


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
    print_fitted(table, wide=context is not None and context.meta.get(_WIDE, False))


def print_line(line: str, err: bool = False) -> None:
    """Print one line on stdout or stderr, with control characters escaped and of limited length.

    All output of commands goes through this function, :func:`print_table`, :func:`write_rows` or
    :func:`write_json`.
    """
    click.echo(message(line), err=err)


def check_safe(safe: bool, form: str) -> None:
    """Raise ``ValueError`` for ``--safe`` with another format than CSV."""
    if safe and form != "csv":
        raise ValueError(f"--safe is for --format csv, got --format {form}")


def write_rows(table: pa.Table, form: str, safe: bool = False) -> None:
    """Write a table as ``csv`` or ``json``, in full precision; NaN and infinity are null, or empty in CSV.

    On a terminal, control characters are escaped; the values of JSON stay the same. ``safe`` escapes the cells of CSV
    that a spreadsheet would read as formulas.
    """
    from ...common.finite import finite_rows

    table = finite_rows(table)
    if form == "csv":
        from pyarrow import csv

        from ...publication.export import change_texts

        csv.write_csv(change_texts(table, safe, sys.stdout.isatty()), sys.stdout.buffer)
    else:
        write_json(table.to_pylist())


def write_json(value: Any, indent: int | None = None) -> None:
    """Write a value as JSON to stdout, with a line end; on a terminal, control characters are escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    sys.stdout.write((json_visible(text) if sys.stdout.isatty() else text) + "\n")
