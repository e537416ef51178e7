"""Rate frames into histories of the same kind, with their index and all other columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..common.configuration.system_names import SystemName
from ..frames.rating import RatedResults, rate_results
from ..frames.results import Results
from ..results.display import Display
from ..sources.base import OnError
from ..sources.column_names import Columns
from ..sources.options import Duplicates

__all__ = ["Reading", "history_of"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How results are read, for the first time and in every update.

    Attributes
    ----------
    columns : dict of str to str
        The names of columns of the frame, by key.
    on_error, duplicates, skip_uninformative
        As for :func:`ranklake.rate_history`.
    """

    columns: dict[str, str] = field(default_factory=dict)
    on_error: OnError = "stop"
    duplicates: Duplicates = "error"
    skip_uninformative: bool | None = None

    def read(self, results: Any) -> Results:
        """The contests of a frame."""
        return Results.read(results, self.columns, self.on_error, self.duplicates, limits=True)

    def found(self, history: pd.DataFrame) -> dict[str, str]:
        """The names of the history's columns with weights and ceilings, by key, of those that it has."""
        keys = ("weight", "perf_ceiling")
        named = Columns.parse(f"{key}={self.columns[key]}" for key in keys if key in self.columns)
        columns = named.find([str(name) for name in history.columns], "history", frame=True)
        return {key: columns[key] for key in keys if key in columns}

    def rate(
        self,
        results: Results,
        system: SystemName | None,
        hyperparameters: Mapping[str, Any],
        engine: Any,
        workers: int | None,
        beliefs: Any,
    ) -> RatedResults:
        """Rate all contests; see :func:`ranklake.rate_history`."""
        return rate_results(
            results, system, hyperparameters,
            engine=engine, workers=workers, beliefs=beliefs, skip_uninformative=self.skip_uninformative,
        )  # fmt: skip


def history_of(rated: RatedResults, first_round: int = 0) -> Any:
    """Every rated participation in rating order, as a frame of the kind of the results, with their other columns.

    Parameters
    ----------
    first_round
        The round of the first contest.
    """
    columns, beliefs, rows = rated.columns(first_round), rated.beliefs, rated.rows()
    display = Display(beliefs.system, beliefs.params, beliefs.system.deviations)
    times = np.repeat(rated.rated.time_seconds, np.diff(rated.rated.offsets))
    rating = display.rating(columns["mu"], columns["sigma"], columns["n_before"] + np.int32(1))
    head = {name: columns.pop(name) for name in ("round_index", "contest", "player")}
    new = head | {"time_seconds": times} | columns | {"rating": rating}
    new.pop("rated", None)
    if not (are_rated := rated.are_rated).all():
        rows, new = rows[are_rated], {name: column[are_rated] for name, column in new.items()}
    history = rated.results.frame.extend(rows, new, set(rated.results.columns.values()))
    if isinstance(history, pd.DataFrame):
        history.attrs |= rated.attributes()
    return history
