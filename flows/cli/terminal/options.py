"""Options of the commands, and the types of their values: each checks and converts one argument or option."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import click

from ...common.times import AGES, parse_span, parse_time
from .output import WIDE, Form, print_freshness

if TYPE_CHECKING:
    from ranklake.storage import Lake

    from ...answers.rated_run import RatedRun
    from ...results.places import PlaceOptions
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


class _Parsed(_ParamType):
    """A value that ``parse`` makes of a text; its ``ValueError`` is wrong use of the option, or ``of_command``."""

    def __init__(self, name: str, parse: Callable[[Any], Any], of_command: bool = False) -> None:
        self.name, self._parse, self._of_command = name, parse, of_command

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._parse(value)
        except ValueError as error:
            if self._of_command:
                raise click.UsageError(str(error), ctx) from None
            self.fail(str(error))


def _run_name(name: str) -> str:
    from ranklake.storage.lake.layout import check_run_name

    return check_run_name(name)


def _dataset_name(name: str) -> str:
    from ranklake.storage.lake.layout import check_dataset_name

    return check_dataset_name(name)


def _finite(value: Any) -> float:
    number: float = click.FLOAT.convert(value, None, None)
    if not math.isfinite(number):
        raise ValueError(f"must be a finite number, got {number}")
    return number


def _titles(value: str) -> TitlesChoice:
    from ...results.titles import parse_titles

    return parse_titles(value)


def _span(units: str, examples: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            return parse_span(text, units)
        except ValueError:
            raise ValueError(f"must be a duration as {examples}, got {text!r}") from None

    return parse


RUN, DATASET = _Parsed("run", _run_name, of_command=True), _Parsed("dataset", _dataset_name, of_command=True)
LAKE, TIME, FINITE = _Parsed("lake", LakeAddress), _Parsed("time", parse_time), _Parsed("float", _finite)
SPAN = _Parsed("span", _span("smhd", "90s, 15m, 1h or 1d"))
AGE = _Parsed("span", _span(AGES, "90d, 26w or 1y"))


def handles_in(file: IO[str] | None, option: str) -> list[str]:
    """The handles in the file of an option, one a line; none without a file. ``ValueError`` if it is not UTF-8."""
    try:
        return [handle for line in file or () if (handle := line.rstrip("\r\n"))]
    except UnicodeDecodeError as error:
        byte = f"0x{error.object[error.start]:02x}"
        raise ValueError(f"{option}: the text of the file is not UTF-8: byte {byte}; save it as UTF-8") from None


F = TypeVar("F", bound=Callable[..., Any])
Options = Sequence[Callable[[Callable[..., Any]], Callable[..., Any]]]
TITLES = "auto|codeforces|none|FILE"
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
chances_of_option = click.option(
    "--chances-of", metavar="VALUE", help="Draws and advantage of games with this value of the column of "
    "`rate --chances-by`; by default of all games.",
)  # fmt: skip
run_option = click.option("--run", type=RUN, required=True, help="Name of the run, as `ranklake runs` lists it.")


def gathered(
    argument: str, options: Options, make: Callable[..., Any] = dict, also: Sequence[str] = ()
) -> Callable[[F], F]:
    """Options whose values, and those of the options ``also``, reach a command as one argument, made by ``make``.

    A ``ValueError`` of ``make`` is wrong use of the command.
    """

    def decorate(command: F) -> F:
        taken = list(getattr(command, "__click_params__", ()))

        @functools.wraps(command)
        def gathering(**given: Any) -> Any:
            own = {name: given.pop(name) for name in (*also, *names)}
            with usage():
                given[argument] = make(**own)
            return command(**given)

        result: Callable[..., Any] = gathering
        for option in reversed(options):
            result = option(result)
        added = [parameter for parameter in result.__click_params__ if parameter not in taken]  # type: ignore[attr-defined]
        names = [parameter.name for parameter in added if parameter.expose_value]
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
    "--titles", type=_Parsed("titles", _titles), metavar=TITLES, help="Titles and their colours; FILE is .json or .csv "
    "with name, minimum, colour. By default those of `rate --titles`, else Codeforces' titles for contests from "
    "Codeforces.",
)  # fmt: skip
stored_titles_option = click.option(
    "--titles", type=_Parsed("titles", _titles), metavar=TITLES, help="Store the titles of the run; auto removes them."
)
level_option = click.option(
    "--level",
    type=click.Choice(("steady", "free")),
    help="The display ratings of the run: steady shifts those of all players together, so that the mean rating of the "
    "last year's participants stays; free does not. Stored in the run.  [default: as stored, else free]",
)


def _stored_places(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any] | None:
    if not texts:
        return None
    from ...common.configuration.settings import convert_fields, parse_settings
    from ...results.places import PlaceOptions

    with usage():
        places = convert_fields(PlaceOptions, parse_settings(texts), "--set-display")
        PlaceOptions(**places)
    return places


stored_places_option = click.option(
    "--set-display", "places", multiple=True, metavar="KEY=VALUE", callback=_stored_places, help="Store how places are "
    "shown: min_rounds=5 and max_sigma=90 leave out other players as provisional; interval=0.9, and rule=own or "
    "separated, are of the intervals. Repeatable.  [default: as stored]",
)  # fmt: skip
_OPTIONS = {"min_rounds": "--min-rounds", "max_sigma": "--max-sigma", "interval": "--interval", "rule": "--places"}
_PLACES: Options = (
    click.option("--min-rounds", type=int, metavar="N", help="Players with fewer rounds are provisional: they have no "
                 "place, and do not count for others.  [default: as `rate --set-display` stored, else 0]"),
    click.option("--max-sigma", type=float, metavar="POINTS", help="Players with a larger sigma are provisional, too."),
    click.option("--interval", type=float, metavar="P", help="The probability that a skill is within the bounds from "
                 "which the interval of a place follows.  [default: as stored, else 0.95]"),
    click.option("--places", "rule", type=click.Choice(("separated", "own")), help="The rule of these intervals: "
                 "separated counts the players who can be told apart, own the ratings outside of the player's own "
                 "bounds.  [default: as stored, else separated]"),
)  # fmt: skip


def _places(**given: Any) -> dict[str, Any]:
    places = {name: value for name, value in given.items() if value is not None}
    if places:
        from ...results.places import PlaceOptions

        for name, value in places.items():
            try:
                PlaceOptions(**{name: value})
            except ValueError as error:
                raise ValueError(str(error).replace(name, _OPTIONS[name], 1)) from None
    return places


def shown_places(rated: RatedRun, given: dict[str, Any], also: str = "") -> PlaceOptions:
    """The options of places of a run with those that were ``given``.

    Refuses options that need an uncertainty, and what was asked for ``also``, if the system has none.
    """
    from ...results.places import OF_UNCERTAINTY

    needing = [_OPTIONS[name] for name in given if name in OF_UNCERTAINTY] + [also] * bool(also)
    if needing:
        from ...common.configuration.settings import check_uncertainty

        with usage():
            check_uncertainty(rated.system, needing[0])
    return rated.places.changed(**given)


# ``min_rounds, max_sigma, interval, rule`` that were given, as one argument ``places``
places_options = gathered("places", _PLACES, _places)
provisional_option = click.option(
    "--provisional", type=click.Choice(("hide", "show", "only")), default="hide", show_default=True, help="What to do "
    "with provisional players: leave them out and print their number, show them without a place, or show only them.",
)  # fmt: skip
deviations_option = click.option(
    "--deviations",
    type=FINITE,
    help="The display rating is mu - DEVIATIONS (sigma - its limit); by default that of the system, mostly 3.",
)
threads_option = click.option("--workers", type=click.IntRange(min=1), help="Threads; by default one for each core.")


class ChosenRun(NamedTuple):
    """A run of a lake, and how its ratings are shown."""

    run: str
    lake: LakeAddress
    deviations: float | None = None
    titles: TitlesChoice = None

    def open(self) -> Lake:
        """Open the lake, and print whether the run is behind its data set."""
        opened = self.lake.open()
        print_freshness(opened, self.run)
        return opened

    def rated(self) -> RatedRun:
        """The run for questions, opened as by :meth:`open`."""
        from ...answers.rated_run import RatedRun

        return RatedRun(self.open(), self.run, self.deviations, self.titles)


def chosen_run(titles: bool = True, wide: bool = True) -> Callable[[F], F]:
    """The options of :class:`ChosenRun`, with ``--run``, as the argument ``chosen``; ``wide`` is for tables."""
    options = [deviations_option, *([titles_option] if titles else []), *([wide_option] if wide else []), lake_option]
    return gathered("chosen", options, ChosenRun, also=("run",))


def format_option(*forms: str, help: str | None = None) -> Callable[[F], F]:
    """The option ``--format`` with a table as its default."""
    return click.option("--format", "form", type=click.Choice(forms), default="table", show_default=True, help=help)


def rows_format(help: str | None = None) -> Callable[[F], F]:
    """The options ``--format`` and ``--safe`` of a command that shows rows, as the argument ``form``."""
    return gathered("form", (format_option("table", "csv", "json", help=help), safe_option), make_form)


def make_form(form: str, safe: bool) -> Form:
    """A format of rows; ``ValueError`` for ``--safe`` with another format than CSV."""
    if safe and form != "csv":
        raise ValueError(f"--safe is for --format csv, got --format {form}")
    return Form(form, safe)


@contextmanager
def usage() -> Iterator[None]:
    """Report a ``ValueError`` in this block as wrong use of the command, with exit code 2."""
    try:
        yield
    except ValueError as error:
        raise click.UsageError(str(error)) from error
