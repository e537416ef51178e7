"""Who is connected to whom by games: components, and groups that only won."""

from __future__ import annotations

import numpy as np

from ..core.jit import exact, inner_exact
from ..core.standings import Ints, Longs


class UnbeatenError(ValueError):
    """Without a prior, players who only won against all others have no finite strength.

    ``players`` (int32[k]): their numbers.
    """

    def __init__(self, players: Ints) -> None:
        super().__init__(players)
        self.players = players

    def __str__(self) -> str:
        return self.text(str(self.players[0]))

    def text(self, first: str) -> str:
        """The error with the name of the first of the players."""
        n = len(self.players)
        who = f"player {first}" if n == 1 else f"a group of {n:,} players, such as {first},"
        return f"{who} only won against all others, so that no finite strength is the most likely: use a finite ridge"


def components(first: Ints, second: Ints, n: int) -> Ints:
    """The component of each of ``n`` players: int32[n].

    0 is the one with the most players, of equal ones the one with the least number; -1 for players without a game.
    """
    root = np.arange(n)
    _join(first, second, root)
    played = np.zeros(n, np.bool_)
    played[first] = played[second] = True
    rows = np.flatnonzero(played)
    roots, at, sizes = np.unique(root[rows], return_inverse=True, return_counts=True)
    number = np.empty(len(roots), np.int32)
    number[np.lexsort((roots, -sizes))] = np.arange(len(roots))  # a root is the least number of its component
    of = np.full(n, -1, np.int32)
    of[rows] = number[at]
    return of


def check_beaten(winner: Ints, loser: Ints, component: Ints) -> None:
    """Raise UnbeatenError unless each player is connected by wins to all players of the component.

    ``winner``, ``loser`` (int32[k]): of each pair with a win, in both directions where both won or a game was a tie.
    """
    n = len(component)
    forward, backward = _neighbours(winner, loser, n), _neighbours(loser, winner, n)
    group = _unbeaten(*forward, *backward, component)
    if len(group):
        raise UnbeatenError(np.sort(group).astype(np.int32))


def _neighbours(of: Ints, others: Ints, n: int) -> tuple[Longs, Ints]:
    """The neighbours of each player: where they begin, and who they are."""
    order = np.argsort(of, kind="stable")
    return np.searchsorted(of[order], np.arange(n + 1)).astype(np.int64), others[order]


@inner_exact
def _root_of(root, i):
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


@exact
def _join(first, second, root):
    """Write the least number of the component of each player."""
    for k in range(len(first)):
        one, other = _root_of(root, first[k]), _root_of(root, second[k])
        root[max(one, other)] = min(one, other)
    for i in range(len(root)):
        root[i] = _root_of(root, i)


@inner_exact
def _reach(start, offsets, others, seen, stack):
    """Mark all players that are reached from one; returns their number, and writes them to ``stack``."""
    seen[start] = True
    stack[0], n, done = start, 1, 0
    while done < n:
        i = stack[done]
        done += 1
        for k in range(offsets[i], offsets[i + 1]):
            if not seen[others[k]]:
                seen[others[k]] = True
                stack[n] = others[k]
                n += 1
    return n


@exact
def _unbeaten(beaten_offsets, beaten, by_offsets, by, component):
    """The players of a group that only won; empty if there is none.

    The last start of searches from winners to losers that together reach a component belongs to a group that nobody
    outside it beat: whoever did would be reached by no search. The group is all who beat the start, through others.
    """
    n = len(component)
    seen, stack = np.zeros(n, np.bool_), np.empty(n, np.int64)
    last, size = np.full(n, -1), np.zeros(n, np.int64)
    for i in range(n):
        if component[i] >= 0:
            size[component[i]] += 1
            if not seen[i]:
                _reach(i, beaten_offsets, beaten, seen, stack)
                last[component[i]] = i
    seen[:] = False
    for c in range(n):
        if last[c] >= 0:
            found = _reach(last[c], by_offsets, by, seen, stack)
            if found < size[c]:
                return stack[:found].copy()
    return stack[:0].copy()
