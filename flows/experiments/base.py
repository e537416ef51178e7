"""The parts of an experiment: its input, its report (text, tables with printed values, figures), its definition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from ..plotting.figures import encode
from .data import History, RatedHistory, synthetic
from .published import Contender

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SYNTHETIC = "paper"  # the preset for experiments without data


@dataclass(frozen=True, slots=True)
class ExperimentContext:
    """The input of an experiment.

    ``on_step`` ((what) -> None): called with a description of each step when it begins.
    ``systems``: systems to compare; empty for the experiment's own choice.
    ``classes``: regular expression of contest classes; empty for the default.
    """

    histories: Sequence[History] = ()
    seed: int = 0
    on_step: Callable[[str], None] = field(default=lambda _: None)
    systems: Sequence[Contender] = ()
    classes: str = ""

    def rated(
        self, history: History, contenders: Iterable[Contender], *, warm: bool = False
    ) -> Iterator[tuple[Contender, RatedHistory]]:
        """A history, rated by each system in turn; ``warm``: with all kernels compiled before."""
        for one in contenders:
            self.on_step(f"{history.name}: {one.label}")
            if warm:
                for part in history.extremes():
                    part.rate(one.system, **one.settings)
            yield one, history.rate(one.system, **one.settings)


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers of a report; those of an experiment are also written as Parquet, in full precision, under ``name``.

    ``columns``: values by heading; None for an empty cell.
    ``digits``: decimals of all columns, or by heading.
    ``file``: the name of the file with the numbers, which the page shows; empty without one.
    ``aligned``: headings of texts that are aligned as numbers, such as intervals.
    """

    name: str
    caption: str
    columns: Mapping[str, Sequence[Any]]
    digits: int | dict[str, int] = 1
    file: str = ""
    aligned: Sequence[str] = ()

    @classmethod
    def of_rows(
        cls,
        name: str,
        caption: str,
        headings: Sequence[str],
        rows: Iterable[Sequence[Any]],
        digits: int | dict[str, int] = 1,
    ) -> Table:
        return cls(name, caption, dict(zip(headings, zip(*rows, strict=True), strict=True)), digits)

    def to_arrow(self) -> pa.Table:
        return pa.table({heading: pa.array(list(values), from_pandas=True) for heading, values in self.columns.items()})


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure of a report, as SVG."""

    name: str
    caption: str
    svg: bytes

    @classmethod
    def of(cls, name: str, caption: str, figure: Figure) -> Picture:
        return cls(name, caption, encode(figure, "svg"))


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading between the parts of a report."""

    text: str


Part = str | Heading | Table | Picture


@dataclass(frozen=True, slots=True)
class Report:
    """The result: paragraphs of text, headings, tables and pictures, in order."""

    parts: Sequence[Part]

    @property
    def tables(self) -> dict[str, Table]:
        return {part.name: part for part in self.parts if isinstance(part, Table)}

    @property
    def pictures(self) -> dict[str, Picture]:
        return {part.name: part for part in self.parts if isinstance(part, Picture)}


def of_each(
    of_history: Callable[[ExperimentContext, History], Iterable[Part]],
) -> Callable[[ExperimentContext], Iterator[Part]]:
    """The parts of an experiment on several histories, given those of one."""
    return lambda context: (part for history in context.histories for part in of_history(context, history))


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment.

    ``name``, ``title``, ``source``: its name, its subject, and the document, section or figure that it reproduces.
    ``parts``: its results.
    ``before``, ``after``: the paragraphs before and after them.
    ``data``: the histories it uses: none; the given ones, if any; a synthetic one where none is given; a synthetic one
    beside the given ones; or at least one given.
    ``least``: contests that every history must have.
    ``check`` ((history) -> None): raises ``ValueError`` for an unsuitable history; the message begins with the
    requirement.
    ``takes``: of the context's ``systems`` and ``classes``, those that the experiment reads.
    """

    name: str
    title: str
    source: str
    parts: Callable[[ExperimentContext], Iterable[Part]]
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    data: Literal["none", "optional", "instead", "beside", "given"] = "none"
    least: int = 1
    check: Callable[[History], None] = field(default=lambda _: None)
    takes: tuple[Literal["systems", "classes"], ...] = ()

    def run(self, context: ExperimentContext) -> Report:
        return Report([*self.before, *self.parts(context), *self.after])

    def refusal(self, history: History) -> str:
        """Why a history is unsuitable; empty if it is not."""
        if len(history.rounds) < self.least:
            return (
                f"experiment {self.name} needs at least {self.least:,} rated contests; "
                f"data set {history.name} has {len(history.rounds):,}"
            )
        try:
            self.check(history)
        except ValueError as error:
            return str(error)
        return ""

    def with_synthetic(self, given: Sequence[History], seed: int) -> list[History]:
        """The histories of the experiment: those given, and the synthetic one where it belongs to them."""
        needed = self.data == "beside" or (self.data == "instead" and not given)
        return [*given, synthetic(SYNTHETIC, seed)] if needed else list(given)
