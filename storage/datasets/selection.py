"""Selections of games by their kept columns, such as the votes of one language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..lake.errors import LakeError
from ..names.hints import hint, near_names
from .dataset import Dataset
from .tables.games import GAMES_KIND
from .tables.kept import Kept

_SHOWN = 8  # values in a message


@dataclass(frozen=True, slots=True)
class Selection:
    """The games with given values of kept columns.

    ``values``: by column, sorted, the permitted values, sorted. A game is selected if it has one of them in each
    column. Without columns all games are.
    """

    values: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def parse(cls, settings: Sequence[str]) -> Selection:
        """From settings such as ``language=English``; of a column that is named twice, either value is permitted.

        Raises ``ValueError`` for another form.
        """
        found: dict[str, set[str]] = {}
        for setting in settings:
            column, equals, value = (part.strip() for part in setting.partition("="))
            if not (column and equals and value):
                raise ValueError(f"--where is COLUMN=VALUE, got {setting!r}")
            found.setdefault(column, set()).add(value)
        return cls(tuple((column, tuple(sorted(values))) for column, values in sorted(found.items())))

    def settings(self) -> list[str]:
        """The settings that :meth:`parse` takes."""
        return [f"{column}={value}" for column, values in self.values for value in values]

    def mask(self, kept: Kept | None, n: int) -> npt.NDArray[np.bool_]:
        """Which of ``n`` games with these kept columns are selected (bool[n])."""
        selected = np.ones(n, np.bool_)
        for column, permitted in self.values:
            values, codes = ([], np.empty(0)) if kept is None else kept.values(column)
            places = [place for place, value in enumerate(values) if value in permitted]
            selected &= np.isin(codes, places) if places else False
        return selected


def check_selection(dataset: Dataset, selection: Selection) -> None:
    """Raise ``LakeError`` unless a data set has a selected game; the message names the values that exist. Reads games
    until one is found.
    """
    if not selection.values:
        return
    if dataset.kind != GAMES_KIND:
        raise LakeError(f"--where selects games, and data set {dataset.name} has contests")
    seen: dict[str, set[str]] = {}
    for part in dataset.standings():
        assert part.games is not None, "a data set of games"
        kept = part.games.kept
        if selection.mask(kept, len(part.games.time_seconds)).any():
            return
        for column in kept.names() if kept else ():
            seen.setdefault(column, set()).update(kept.values(column)[0] if kept else ())
    for column, permitted in selection.values:
        setting = f"--where {column}={permitted[0]}"
        if column not in seen:
            have = f"; it has {_some(seen)}" if seen else ""
            near = hint(column, near_names(column, sorted(seen)))
            remedy = f"; `ranklake ingest games FILE --keep {column} --dataset {dataset.name}` keeps one"
            raise LakeError(f"{setting}: no game of data set {dataset.name} has this column{near}{have}{remedy}")
        if not seen[column] & set(permitted):
            near = hint(permitted[0], near_names(permitted[0], sorted(seen[column])))
            raise LakeError(
                f"{setting}: no game of data set {dataset.name} has this value{near}; there are {_some(seen[column])}"
            )
    raise LakeError(
        f"no game of data set {dataset.name} has {' and '.join(selection.settings())}; some have one of them"
    )


def _some(names: Sequence[str] | set[str] | dict[str, set[str]]) -> str:
    """The first names, in order, and how many more there are."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(map(repr, sorted(names)[:_SHOWN])) + more
