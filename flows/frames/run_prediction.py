"""Predict the next round of a run in the lake."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ranklake.storage import Lake, Run

from ..execution.selection import select_beliefs
from ..results.display import Display
from ..results.player_names import candidate_names
from .prediction import Prediction
from .run_state import RunState

__all__ = ["predict_run"]


def predict_run(
    lake: Lake,
    run_name: str,
    handles: Sequence[str],
    newcomers: int = 0,
    time_seconds: int | None = None,
    weight: float = 1.0,
    deviations: float | None = None,
) -> tuple[Prediction, dict[str, str]]:
    """Predict the next round of a run; also returns the rated name of the player of each handle.

    Unrated players of the data set, and ``newcomers`` more, enter as newcomers.

    Raises
    ------
    LakeError
        There is no such run, it has no ratings or was interrupted, or the data set has no such player.
    ValueError
        As for :class:`Prediction`.
    """
    run = Run.open(lake, run_name)
    state = RunState.read(run)
    n_rounds = np.asarray(state.columns["n_rounds"])
    names, rows = {}, []
    for handle in handles:
        known = candidate_names(state.dataset, handle)
        rated = (name for name, row in known.items() if row < len(n_rounds) and n_rounds[row])
        names[handle] = next(rated, next(iter(known)))
        rows.append(known[names[handle]])
    players = [names[handle] for handle in handles] + [f"newcomer {i + 1}" for i in range(newcomers)]
    display = Display.of(run, deviations)
    at = np.array(rows + [-1] * newcomers, dtype=np.int64)
    selected = select_beliefs(display.system, display.params, state.columns, at)
    time_seconds = int(state.ends.max()) if time_seconds is None else time_seconds
    return Prediction(display, players, selected, time_seconds, state.n_events, weight), names
