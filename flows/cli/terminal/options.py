"""Options of the commands, and the types of their values: each checks and converts one argument or option."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import click

from ...common.times import AGES, parse_span, parse_time
from .output import WIDE

if TYPE_CHECKING:
    from ranklake.storage import Lake

    from ...results.titles import TitlesChoice

    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # generic for type checkers only


class LakeAddress(str):
    """The folder or address of a lake."""

    def open(self, create: bool = False) -> Lake:
        """Open the lake; raises as :meth:`ranklake.storage.Lake.open`."""
        from ranklake.storage import Lake

        return Lake.open(str(self), create=create)


class _LakeType(_ParamType):
    name = "lake"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> LakeAddress:
        return LakeAddress(value)


class _NameType(_ParamType):
    """A valid name of a run or data set."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from ranklake.storage.lake.layout import check_dataset_name, check_run_name

        try:
            return check_run_name(value) if self.name == "run" else check_dataset_name(value)
        except ValueError as error:
            raise click.UsageError(str(error), ctx) from None


class _TimeType(_ParamType):
    """A date, a time or a number of seconds, as UTC seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return parse_time(value)
        except ValueError as error:
            self.fail(str(error))


class _SpanType(_ParamType):
    """A duration, as seconds."""

    name = "span"

    def __init__(self, units: str, examples: str) -> None:
        self._units, self._examples = units, examples

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return parse_span(value, self._units)
        except ValueError:
            self.fail(f"must be a duration as {self._examples}, got {value!r}")


class _FiniteType(_ParamType):
    """A finite number."""

    name = "float"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = click.FLOAT.convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"must be a finite number, got {number}")
        return number


class _TitlesType(_ParamType):
    """Titles by name or from a file."""

    name = "auto|codeforces|none|FILE"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> TitlesChoice:
        from ...results.titles import parse_titles

        try:
            return parse_titles(value)
        except ValueError as error:
            self.fail(str(error))


RUN, DATASET = _NameType("run"), _NameType("dataset")
LAKE, TIME, FINITE, TITLES = _LakeType(), _TimeType(), _FiniteType(), _TitlesType()
SPAN, AGE = _SpanType("smhd", "90s, 15m, 1h or 1d"), _SpanType(AGES, "90d, 26w or 1y")


def handles_in(file: IO[str] | None, option: str) -> list[str]:
    """The handles in the file of an option, one a line; none without a file. ``ValueError`` if it is not UTF-8."""
    try:
        return [handle for line in file or () if (handle := line.rstrip("\r\n"))]
    except UnicodeDecodeError as error:
        byte = f"0x{error.object[error.start]:02x}"
        raise ValueError(f"{option}: the text of the file is not UTF-8: byte {byte}; save it as UTF-8") from None


F = TypeVar("F", bound=Callable[..., Any])
Options = Sequence[Callable[[Callable[..., Any]], Callable[..., Any]]]
SWITCH_SECONDS = 2e-4  # instead of Python's 5 ms, as kernels and writes are short

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


# ``rewrite, steal`` of a command that ingests, as one argument ``writing``
writing_options = gathered("writing", (rewrite_option, steal_option))
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
    context.meta[WIDE] = value


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


def check_safe(safe: bool, form: str) -> None:
    """Raise ``ValueError`` for ``--safe`` with another format than CSV."""
    if safe and form != "csv":
        raise ValueError(f"--safe is for --format csv, got --format {form}")
