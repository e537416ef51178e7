"""The comparison of players, with the chance of each pair by the system of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from ..answers.run import PublishedRun

__all__ = ["compare"]


def compare(run: PublishedRun, handles: list[str]) -> dict[str, Any]:
    """As :meth:`PublishedRun.compare`; the ``chance`` of a pair is that of the first player to finish before the other.

    It is the chance at the time of the last round. A tie counts half.

    Notes
    -----
    As by ``ranklake predict``, but from the published mean, sigma, rounds and last contest alone: for a published
    version it never changes. Other state, such as the volatility of ``glicko2``, is that of a newcomer.
    """
    found = run.compare(handles)
    if len(players := found["players"]) > 1:
        beats = _chances(run, players)
        pairs = zip(found["pairs"], combinations(range(len(players)), 2), strict=True)
        found["pairs"] = [pair | {"chance": float(beats[i, j])} for pair, (i, j) in pairs]
    return found


def _chances(run: PublishedRun, players: Sequence[Mapping[str, Any]]) -> npt.NDArray[np.float64]:
    """The chance of each player (row) to finish before each other one (column)."""
    from ..common.configuration.settings import build_params, find_system
    from ..frames.prediction import Prediction
    from ..results.display import Display

    manifest = run.manifest
    system = find_system(manifest.system)
    params = build_params(system, manifest.params)
    mu, sigma = (np.array([player[name] for player in players], np.float64) for name in ("mu", "sigma"))
    columns = system.newcomers(params, len(players)).columns()
    columns |= {"mu": mu, "sigma": sigma, **system.state(params, mu, sigma)}
    columns["n_rounds"] = np.array([player["n_rounds"] for player in players], np.int32)
    columns["last_time"] = np.array([player["last_time_seconds"] for player in players], np.int64)
    time_seconds = run.facts["last_time_seconds"] or 0
    display = Display(system, params, manifest.deviations)
    handles = [player["handle"] for player in players]
    return Prediction(display, handles, columns, time_seconds, manifest.n_rounds).chances()
