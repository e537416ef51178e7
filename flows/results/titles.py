"""Titles: names and colours for ranges of the display rating, such as those of Codeforces.

The titles of a run are those of a command's option ``--titles``; without it, those that ``rate --titles`` wrote to
``run.json``; without them, Codeforces' titles for data sets from Codeforces, and none for other data sets.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.storage import DamagedError, Dataset, Run
from ranklake.storage.lake.layout import run_file

AUTO: Literal["auto"] = "auto"  # titles by the default rule
COLUMNS = ("name", "minimum", "colour")  # of a file of titles
_HOST = "codeforces.com"
_SCALE = (1000.0, 2000.0)  # mu of a newcomer, rating points; Codeforces' thresholds fit these scales
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
_TERMINAL = {  # by Codeforces' colour; a terminal's palette is legible on a dark and on a light background
    "#808080": "bright_black",
    "#008000": "green",
    "#03a89e": "cyan",
    "#0000ff": "blue",
    "#aa00aa": "magenta",
    "#ff8c00": "orange1",
    "#ff0000": "red",
}


@dataclass(frozen=True, slots=True)
class Title:
    """One title; ``minimum`` is its lowest display rating, -inf without a lower end, ``colour`` is ``#rrggbb``."""

    name: str
    minimum: float
    colour: str

    @property
    def style(self) -> str:
        """The colour for a terminal, as a style of the package rich."""
        return _TERMINAL.get(self.colour, self.colour)

    @classmethod
    def from_row(cls, row: Any, where: str) -> Title:
        """A checked title from a file or from ``run.json``; ``where`` is its place, for errors."""
        if not isinstance(row, Mapping):
            raise ValueError(f"{where}: must be an object with {', '.join(COLUMNS)}, got {row!r}")
        if missing := [key for key in ("name", "colour") if not isinstance(row.get(key), str)]:
            raise ValueError(f"{where}: {missing[0]} must be a text, got {row.get(missing[0])!r}")
        if unknown := [key for key in row if key not in COLUMNS]:
            raise ValueError(f"{where}: has {unknown[0]!r}; a title has {', '.join(COLUMNS)}")
        minimum = row.get("minimum")
        if minimum is None or (isinstance(minimum, str) and not minimum.strip()):
            minimum = -math.inf
        try:
            if isinstance(minimum, bool):
                raise TypeError
            return cls(row["name"], float(minimum), row["colour"].strip().lower())
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{where}: minimum must be a number, got {minimum!r}") from None


@dataclass(frozen=True, slots=True)
class Titles:
    """A ladder of titles, lowest first.

    ``name``: ``codeforces``, ``none``, or the name of a file.
    ``ladder``: the titles, in any order; a rating below the lowest minimum has no title.
    Raises ValueError: two titles have the same name or minimum, a name is empty, a minimum is NaN or +inf, or a colour
    is not ``#rrggbb``.
    """

    name: str
    ladder: tuple[Title, ...]

    _minima: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for title in self.ladder:
            if not title.name.strip():
                raise ValueError(f"titles {self.name}: a title needs a name, got {title.name!r}")
            if math.isnan(title.minimum) or title.minimum == math.inf:
                raise ValueError(f"titles {self.name}, {title.name!r}: minimum must be a number, got {title.minimum}")
            if not _COLOUR.fullmatch(title.colour):
                raise ValueError(f"titles {self.name}, {title.name!r}: colour must be #rrggbb, got {title.colour!r}")
        for what in ("name", "minimum"):
            values = [getattr(title, what) for title in self.ladder]
            if twice := next((value for i, value in enumerate(values) if value in values[:i]), None):
                raise ValueError(f"titles {self.name}: two titles have the {what} {twice!r}")
        object.__setattr__(self, "ladder", tuple(sorted(self.ladder, key=lambda title: title.minimum)))
        object.__setattr__(self, "_minima", tuple(title.minimum for title in self.ladder))

    def __bool__(self) -> bool:
        return bool(self.ladder)

    def of(self, rating: npt.NDArray[np.float64]) -> pa.StringArray:
        """The name of the title of each display rating; null below the lowest title."""
        step = self._steps(rating)
        names = pa.array([title.name for title in self.ladder], pa.string())
        return names.take(pa.array(step, mask=step < 0))

    def step(self, rating: float) -> int:
        """The number of the title of a rating, the lowest one is 0; -1 without a title."""
        return bisect_right(self._minima, rating) - 1

    def each(self, rating: npt.NDArray[np.float64]) -> list[Title | None]:
        """The title of each display rating; None below the lowest title."""
        return [self.ladder[step] if step >= 0 else None for step in self._steps(rating).tolist()]

    def above(self, rating: npt.NDArray[np.float64]) -> tuple[pa.StringArray, npt.NDArray[np.float64]]:
        """The name and the minimum of the next title above each display rating; null and NaN if there is none."""
        step = self._steps(rating) + 1
        names, none = pa.array([title.name for title in self.ladder], pa.string()), step == len(self.ladder)
        minimum = np.array([*self._minima, np.nan])
        return names.take(pa.array(step, mask=none)), minimum[step]

    def bands(self) -> Iterator[tuple[float, float, Title]]:
        """Every title with its lowest rating and the lowest rating of the next title."""
        for i, title in enumerate(self.ladder):
            yield title.minimum, self.ladder[i + 1].minimum if i + 1 < len(self.ladder) else math.inf, title

    def to_json(self) -> Any:
        """The titles for ``run.json``: the name of built-in titles, or all titles."""
        if self in BUILT_IN.values():
            return self.name
        ladder = [
            {"name": one.name, "minimum": None if one.minimum == -math.inf else one.minimum, "colour": one.colour}
            for one in self.ladder
        ]
        return {"name": self.name, "titles": ladder}

    @classmethod
    def from_json(cls, value: Any) -> Titles:
        """The inverse of :meth:`to_json`; ``ValueError`` names an invalid title."""
        if isinstance(value, str):
            if value not in BUILT_IN:
                raise ValueError(f"titles must be {' or '.join(BUILT_IN)}, got {value!r}")
            return BUILT_IN[value]
        if not isinstance(value, Mapping) or not isinstance(value.get("titles"), list):
            raise ValueError(f"titles must be {' or '.join(BUILT_IN)} or an object with a list `titles`, got {value!r}")
        name = str(value.get("name", "unnamed"))
        rows = enumerate(value["titles"], 1)
        return cls(name, tuple(Title.from_row(row, f"titles {name}, number {i}") for i, row in rows))

    def _steps(self, rating: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """The index of the title of each rating; -1 without a title."""
        return np.asarray(np.searchsorted(self._minima, rating, side="right") - 1)


TitlesChoice = Titles | Literal["auto"] | None
"""The choice of a command: titles, ``AUTO`` for the default rule, None for the titles in ``run.json``."""

NONE = Titles("none", ())
CODEFORCES = Titles(
    "codeforces",
    (
        Title("newbie", -math.inf, "#808080"),
        Title("pupil", 1200.0, "#008000"),
        Title("specialist", 1400.0, "#03a89e"),
        Title("expert", 1600.0, "#0000ff"),
        Title("candidate master", 1900.0, "#aa00aa"),
        Title("master", 2100.0, "#ff8c00"),
        Title("international master", 2300.0, "#ff8c00"),
        Title("grandmaster", 2400.0, "#ff0000"),
        Title("international grandmaster", 2600.0, "#ff0000"),
        Title("legendary grandmaster", 3000.0, "#ff0000"),
    ),
)
BUILT_IN = {one.name: one for one in (CODEFORCES, NONE)}


def parse_titles(text: str) -> TitlesChoice:
    """Parse an option of titles: ``auto``, ``codeforces``, ``none``, or a file, .json or .csv.

    A CSV file has the columns ``name, minimum, colour``; a JSON file a list of objects with these keys, or an object
    with the list under ``titles``. The lowest title may have no minimum. ``ValueError`` names the file, the row and the
    rule.
    """
    if text == AUTO:
        return AUTO
    if text in BUILT_IN:
        return BUILT_IN[text]
    path = Path(text)
    if path.suffix.lower() not in (".json", ".csv"):
        raise ValueError(
            f"titles must be auto, {', '.join(BUILT_IN)}, or a file that ends in .json or .csv, got {text!r}"
        )
    try:
        content = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ValueError(f"there is no file {text!r}") from None
    except OSError as error:
        raise ValueError(f"{text}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{text}: must be text in UTF-8") from None
    rows = _rows_of_csv(content, text) if path.suffix.lower() == ".csv" else _rows_of_json(content, text)
    titles = tuple(Title.from_row(row, f"{text}, title {i}") for i, row in enumerate(rows, 1))
    if not titles:
        raise ValueError(f"{text}: has no titles; use `none` for no titles")
    return Titles(path.name, titles)


def _rows_of_csv(content: str, path: str) -> Sequence[Any]:
    reader = csv.DictReader(io.StringIO(content, newline=""), restkey="more", strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}") from None
    if missing := [key for key in COLUMNS if key not in (reader.fieldnames or ())]:
        raise ValueError(f"{path}: needs the columns {', '.join(COLUMNS)}; {missing[0]} is missing")
    return rows


def _rows_of_json(content: str, path: str) -> Sequence[Any]:
    try:
        value = json.loads(content)
    except ValueError as error:
        raise ValueError(f"{path}: is not JSON ({error})") from None
    rows = value.get("titles") if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise ValueError(f"{path}: must have a list of titles, or an object with the list under `titles`")
    return rows


def titles_of(run: Run, dataset: Dataset, mu_init: float, choice: TitlesChoice = None) -> Titles:
    """The titles of a run, by the rule of this module.

    ``mu_init``: the mean of a newcomer's belief, rating points.
    Raises ``DamagedError`` if the titles in ``run.json`` are invalid.
    """
    if isinstance(choice, Titles):
        return choice
    recorded = run.config.get("titles") if choice is None else None
    if recorded is None:
        return default_titles(dataset, mu_init)
    try:
        return Titles.from_json(recorded)
    except ValueError as error:
        remedy = f"`ranklake rate --run {run.name} --titles auto` removes the record"
        raise DamagedError(f"{run_file(run.name)}: {error}; {remedy}", path=run_file(run.name)) from error


def default_titles(dataset: Dataset, mu_init: float) -> Titles:
    """Codeforces' titles if the first contest with an address is at Codeforces and the scale fits; otherwise none."""
    urls = dataset.contests.column("url").drop_null()
    host = (urlsplit(urls[0].as_py()).hostname or "") if len(urls) else ""
    fits = _SCALE[0] <= mu_init <= _SCALE[1] and (host == _HOST or host.endswith(f".{_HOST}"))
    return CODEFORCES if fits else NONE
