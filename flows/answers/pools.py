"""The pools of a published run, and who of some players never met."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..common.pools import Pools
from ..publication.index_parts import integers
from .index_rows import IndexRows

__all__ = ["pools_of"]

Ints = npt.NDArray[np.int32]


def pools_of(tables: IndexRows) -> Pools | None:
    """The pool of each player; None in an index of an early release, which has no sizes of pools.

    Unrated participants join pools only if rated ones compete with them. The index does not have in which rounds they
    do: if the pools of rated participants are not of the recorded sizes, all unrated participants join pools. Then
    some players of different pools may have one, never the reverse.
    """
    sizes, rated = tables.manifest.pools, integers(tables.leaderboard_table.column("player"))
    if sizes is None:
        return None
    of = np.full(int(rated.max(initial=-1)) + 1, -1, np.int32)
    if len(sizes) < 2:
        of[rated] = 0
        return Pools(of)
    rounds, players = _participations(tables)
    if tables.manifest.games:
        found = Pools.find(len(of), np.arange(0, len(players), 2), players)  # two rows a game
    else:
        found = Pools.find(len(of), _first(rounds), players)
        if found.sizes != sizes:
            others = tables.unrated_table
            rounds = np.concatenate([rounds, integers(others.column("round_index"))])
            order = np.argsort(rounds, kind="stable")
            players = np.concatenate([players, integers(others.column("player"))])[order]
            found = Pools.find(max(len(of), int(players.max()) + 1), _first(rounds[order]), players)
    of[rated] = found.of[rated]
    return Pools(of)


def _participations(tables: IndexRows) -> tuple[Ints, Ints]:
    """The round and the player of each rated row, in order of rounds."""
    rounds, players = zip(*(part.participations() for part in tables.parts), strict=True)
    return np.concatenate(rounds), np.concatenate(players)


def _first(rounds: Ints) -> npt.NDArray[np.int64]:
    """The first row of each round."""
    return np.flatnonzero(np.diff(rounds, prepend=-1))
