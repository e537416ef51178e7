"""The types of the commands' parameters: each checks and converts one argument or option."""

from __future__ import annotations

import math
from typing import IO, TYPE_CHECKING, Any

import click

from ...common.times import AGES, parse_span, parse_time

if TYPE_CHECKING:
    from ranklake.storage import Lake

    from ...common.titles import TitlesChoice

    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # generic for type checkers only

__all__ = ["AGE", "DATASET", "FINITE", "LAKE", "RUN", "SPAN", "TIME", "TITLES", "LakeAddress", "handles_in"]


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
        from ...common.titles import parse_titles

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
