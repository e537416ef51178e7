"""Rate frames into histories of the same kind, with their index and all other columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..common.system_names import SystemName
from ..frames.rating import RatedResults, rate_results
from ..frames.results import Results
from ..results.display import Display
from ..sources.base import OnError
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

    def rate(
        self,
        results: Any,
        system: SystemName | None,
        hyperparameters: Mapping[str, Any],
        engine: Any,
        workers: int | None,
        beliefs: Any,
    ) -> RatedResults:
        """Rate all contests of a frame; see :func:`ranklake.rate_history`."""
        table = Results.read(results, self.columns, self.on_error, self.duplicates)
        return rate_results(
            table, system, hyperparameters,
            engine=engine, workers=workers, beliefs=beliefs, skip_uninformative=self.skip_uninformative,
        )  # fmt: skip


def history_of(rated: RatedResults, first_round: int = 0) -> Any:
    """Every participation in rating order, as a frame of the kind of the results, with their other columns.

    Parameters
    ----------
    first_round
        The round of the first contest.
    """
    columns, beliefs = rated.columns(first_round), rated.beliefs
    display = Display(beliefs.system, beliefs.params, beliefs.system.deviations)
    times = np.repeat(rated.rated.time_seconds, np.diff(rated.rated.offsets))
    rating = display.rating(columns["mu"], columns["sigma"], columns["n_before"] + np.int32(1))
    head = {name: columns.pop(name) for name in ("round_index", "contest", "player")}
    history = rated.results.frame.extend(rated.rows(), head | {"time_seconds": times} | columns | {"rating": rating})
    if isinstance(history, pd.DataFrame):
        history.attrs |= rated.attributes()
    return history
