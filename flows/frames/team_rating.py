"""The rating of a team: the level that beats all its members at once half of the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ..common.arguments import check_names, checked
from ..common.configuration.settings import SystemName
from ..results.display import Display
from ..results.groups import group_level
from .beliefs import HasBeliefs, InitialBeliefs

__all__ = ["team_rating"]


@checked
def team_rating(
    beliefs: Mapping[Any, float] | pd.DataFrame | HasBeliefs | None,
    players: Sequence[Any],
    system: SystemName | None = None,
    *,
    deviations: float | None = None,
    **hyperparameters: Any,
) -> float:
    """The rating of a team of some players: the level that beats all of them at once half of the time.

    Parameters
    ----------
    beliefs, system, hyperparameters, deviations
        As for :func:`ranklake.predict`.
    players
        The members; players without beliefs are newcomers.

    Returns
    -------
    float
        Rating points, of which 400 are odds of ten to one; that of the player for a single one.

    Raises
    ------
    ValueError
        No players, a player twice, invalid beliefs, or a hyperparameter out of range.
    """
    initial = InitialBeliefs.open(beliefs, system, hyperparameters)
    names = list(players)
    check_names(names)
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"player {twice[0]!r} is named twice")
    store, _ = initial.store(names, "the players")
    initial.warn_of_lost_record(system)
    display = Display(initial.system, initial.params, initial.system.deviations if deviations is None else deviations)
    members = slice(0, len(names))  # other players of the beliefs follow
    return group_level(display.rating(store.mu[members], store.sigma[members], store.n_rounds[members]).tolist())
