"""The beliefs about some players, as columns for a store of these players only."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import System
from ranklake.rating_kernels.core.ragged import Ragged

from .rater import BeliefColumns


def select_beliefs(system: System, params: Any, columns: BeliefColumns, rows: npt.NDArray[np.int64]) -> BeliefColumns:
    """The beliefs in some rows of the columns; row -1, and any beyond the last, is a newcomer."""
    known = (rows >= 0) & (rows < len(columns["mu"]))
    if known.all():
        return {
            name: column.take(rows) if isinstance(column, Ragged) else column[rows] for name, column in columns.items()
        }
    selected = system.newcomers(params, len(rows)).columns()
    at = rows[known]
    for name, column in columns.items():
        newcomers = selected[name]
        if isinstance(column, Ragged) and isinstance(newcomers, Ragged):
            selected[name] = newcomers.put(np.flatnonzero(known), column.take(at))
        else:
            newcomers[known] = column[at]  # type: ignore[index]
    return selected
