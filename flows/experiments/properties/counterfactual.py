"""Counterfactual histories of one player, with other places in some rounds.

The beliefs about all other players stay as in the original history; only the places of the player differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Rounds, System
from ranklake.rating_kernels.core.beliefs import Column
from ranklake.rating_kernels.core.ragged import Ragged

from ...engines.serial import Serial
from ...execution.rounds import rate_rounds

__all__ = ["Stand", "move", "other_self"]

Floats = npt.NDArray[np.float64]
Columns = dict[str, Column | Ragged]
Stand = Callable[[int, Rounds, float], Rounds]
"""``(n, round, mu)``: the player's round number ``n`` with the counterfactual place; ``mu`` is the rating before it."""


def other_self(
    system: System, params: Any, rounds: Rounds, n_players: int, player: int, stand: Stand
) -> tuple[Floats, Floats]:
    """The ratings of a player after each of their rounds: original and counterfactual."""
    beliefs = system.newcomers(params, n_players)
    other = system.newcomers(params, 1).columns()
    rows = np.flatnonzero(rounds.player == player)
    honest, another, done = [], [], 0
    for n, at in enumerate((np.searchsorted(rounds.offsets, rows, side="right") - 1).tolist()):
        if at > done:
            rate_rounds(system, params, beliefs, rounds.part(done, at), Serial())
        round = rounds.part(at, at + 1)
        played = stand(n, round, float(np.asarray(other["mu"])[0]))
        field = np.sort(round.player)
        me = int(np.searchsorted(field, player))
        store = system.newcomers(params, len(field))
        store.restore(_with(beliefs.take(field), me, other))
        player_of_field = np.searchsorted(field, played.player).astype(np.int32)
        rate_rounds(system, params, store, replace(played, player=player_of_field), Serial())
        other = store.take(np.array([me]))
        rate_rounds(system, params, beliefs, round, Serial())
        honest.append(float(beliefs.mu[player]))
        another.append(float(store.mu[me]))
        done = at + 1
    return np.array(honest), np.array(another)


def move(round: Rounds, player: int, place: int) -> Rounds:
    """Move a player of one round to ``place`` (from 0) without a tie; the order and the ties of the others stay.

    Parameters
    ----------
    place
        Number of other players before this one; a place inside a tie group becomes the place before the group.
    """
    at = int(np.flatnonzero(round.player == player)[0])
    others, group = np.delete(round.player, at), np.delete(round.lo, at)  # equal within a tie group
    starts = np.searchsorted(group, group, side="left")
    place = int(starts[place]) if place < len(others) else len(others)
    key = np.insert(2 * starts, place, 2 * place - 1)  # in the order of the places
    lo = np.searchsorted(key, key, side="left").astype(np.int32)
    hi = (np.searchsorted(key, key, side="right") - 1).astype(np.int32)
    return replace(round, player=np.insert(others, place, player), lo=lo, hi=hi)


def _with(field: Columns, row: int, one: Columns) -> Columns:
    """A copy of the columns with one player's belief replaced."""
    changed: Columns = {}
    for name, column in field.items():
        other = one[name]
        if isinstance(column, Ragged) and isinstance(other, Ragged):
            changed[name] = column.put(np.array([row]), other)
        else:
            copied = np.array(column)
            copied[row] = np.asarray(other)[0]
            changed[name] = copied
    return changed
