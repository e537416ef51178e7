"""Rate frames into histories of the same kind, with their index and all other columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..common.configuration.system_names import SystemName
from ..frames.kinds import SUFFIX
from ..frames.rating import RatedResults, rate_results
from ..frames.results import Results
from ..results.display import Display
from ..sources.absences import Absent
from ..sources.base import OnError
from ..sources.column_names import Columns
from ..sources.options import Duplicates

__all__ = ["Reading", "history_of"]

_REPLACED = ("contest", "player", "lo", "hi", "time", "team")  # keys of results whose values a history has itself
_OWN = (
    "round_index", "contest", "player", "time_seconds", "lo", "hi", "perf", "mu_prior", "sigma_prior", "mu", "sigma",
    "n_before", "rating",
)  # fmt: skip
_SCORED = ("round_index", "lo", "mu_prior", "sigma_prior", "n_before")


@dataclass(frozen=True, slots=True)
class Reading:
    """How results are read, for the first time and in every update.

    Attributes
    ----------
    columns : dict of str to str
        The names of columns of the frame, by key.
    on_error, duplicates, skip_uninformative, absent
        As for :func:`ranklake.rate_history`.
    """

    columns: dict[str, str] = field(default_factory=dict)
    on_error: OnError = "stop"
    duplicates: Duplicates = "error"
    skip_uninformative: bool | None = None
    absent: Absent = "error"

    def read(self, results: Any, first: int = 1) -> Results:
        """The contests of a frame; games of winners and losers without names are numbered from ``first``."""
        how = self.on_error, self.duplicates, self.absent
        return Results.read(results, self.columns, *how, limits=True, first=first)

    def found(self, history: pd.DataFrame) -> dict[str, str]:
        """The names of the history's columns with weights, ceilings, teams and shares, by key, of those that it has.

        A column of teams that was not named is none.
        """
        keys, of_teams = ("weight", "perf_ceiling"), bool(self.columns.get("team"))
        own = (*_OWN, "team") if of_teams else _OWN
        given = {key: name + SUFFIX if name in own else name for key, name in self.columns.items()}
        named = Columns.parse(f"{key}={given[key]}" for key in keys if key in given)
        columns = named.find([str(name) for name in history.columns], "history", frame=True)
        found = {key: columns[key] for key in keys if key in columns}
        if of_teams:
            found |= {"team": "team"} | ({"share": given["share"]} if given.get("share") else {})
        return found

    def scored(self, history: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
        """What :func:`ranklake.evaluate_history` reads of a history, and its ``columns``."""
        found = self.found(history)
        rows = history[list(_SCORED)].assign(**{key: history[name] for key, name in found.items()})
        if "weight" in found:  # empty where an update had no weights
            rows["weight"] = rows["weight"].fillna(1.0)
        return rows, {key: key for key in ("team", "share") if key in found}

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
    if not (are_rated := rated.rated.are_rated).all():
        rows, new = rows[are_rated], {name: column[are_rated] for name, column in new.items()}
    replaced = {key: name for key, name in rated.results.columns.items() if key in _REPLACED}
    history = rated.results.frame.extend(rows, new, replaced)
    if isinstance(history, pd.DataFrame):
        history.attrs |= rated.attributes()
    return history
