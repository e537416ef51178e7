"""Counterfactual histories of one player, or of the members of a team, with other places in some rounds.

The beliefs about all other players stay as in the original history.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ranklake.rating_kernels import Rounds, System
from ranklake.rating_kernels.core.standings import Floats, Longs

from ...engines.serial import Serial
from ...execution.rounds import rate_rounds

Stand = Callable[[int, Rounds, float], Rounds]
"""``(n, round, mu)``: the ``n``-th round with counterfactual places; ``mu`` is the first player's rating before it."""


def other_self(
    system: System, params: Any, rounds: Rounds, n_players: int, players: int | Longs, stand: Stand, start: int = 0
) -> tuple[Floats, Floats]:
    """The ratings of one player or of some after their rounds from ``start`` on: original and counterfactual."""
    group = np.sort(np.atleast_1d(players))
    beliefs, other = system.newcomers(params, n_players), system.newcomers(params, len(group))
    if start:
        rate_rounds(system, params, beliefs, rounds.part(0, start), Serial())
        other.put(np.arange(len(group)), beliefs.take(group))
    rows = np.flatnonzero(np.isin(rounds.player, group))
    own = np.unique(np.searchsorted(rounds.offsets, rows, side="right") - 1)
    honest, another, done = [], [], start
    for n, at in enumerate(own[own >= start].tolist()):
        if at > done:
            rate_rounds(system, params, beliefs, rounds.part(done, at), Serial())
        round = rounds.part(at, at + 1)
        played = stand(n, round, float(other.mu[0]))
        field = np.sort(round.player)
        here = np.flatnonzero(np.isin(group, field))
        me = np.searchsorted(field, group[here])
        store = system.newcomers(params, len(field))
        store.put(np.arange(len(field)), beliefs.take(field))
        store.put(me, other.take(here))
        player_of_field = np.searchsorted(field, played.player).astype(np.int32)
        rate_rounds(system, params, store, replace(played, player=player_of_field), Serial())
        rate_rounds(system, params, beliefs, round, Serial())
        other.put(here, store.take(me))
        honest.append(beliefs.mu[group[here]])
        another.append(store.mu[me])
        done = at + 1
    return np.concatenate(honest), np.concatenate(another)


def move(round: Rounds, player: int, place: int) -> Rounds:
    """Move a player of one round to ``place`` (from 0) without a tie; the order and the ties of the others stay.

    ``place``: number of other players before this one; a place inside a tie group becomes the place before the group.
    """
    at = int(np.flatnonzero(round.player == player)[0])
    others, group = np.delete(round.player, at), np.delete(round.lo, at)  # equal within a tie group
    starts = np.searchsorted(group, group, side="left")
    place = int(starts[place]) if place < len(others) else len(others)
    key = np.insert(2 * starts, place, 2 * place - 1)  # in the order of the places
    lo = np.searchsorted(key, key, side="left").astype(np.int32)
    hi = (np.searchsorted(key, key, side="right") - 1).astype(np.int32)
    return replace(round, player=np.insert(others, place, player), lo=lo, hi=hi)
