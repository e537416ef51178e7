"""What a history in memory has taught of games between two: how common draws are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ranklake.rating_kernels import System

from ..chances.record import RunChances, chances_of_games
from ..chances.settings import ChanceSettings
from ..chances.stored import games_of_entrants
from ..evaluation.frames import entrants_of


def chances_of_history(
    rows: pd.DataFrame, columns: Mapping[str, str], system: System, params: Any
) -> RunChances | None:
    """What the games of a history teach, as a run of them learns it; None if it has contests of three entrants or more.

    A frame does not say who came first in a game: no advantage is learnt.

    ``rows``, ``columns``: as :func:`ranklake.evaluate_history` reads them.
    """
    if rows.empty:
        return RunChances(ChanceSettings(), ())
    entrants, conditions = entrants_of(system, params, rows, columns)
    if np.diff(entrants.offsets).max() > 2:
        return None
    return chances_of_games(system, params, games_of_entrants(entrants, 0, conditions))
