"""Contests that alone join two groups of players: articulation points of the graph of players and contests.

Source: Tarjan, "Depth-first search and linear graph algorithms" (SIAM Journal on Computing 1, 1972): a contest cuts off
the players below it from whom no other contest leads back above it. The search has its own stack: a history may be one
chain of millions of contests.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.jit import exact

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Bridges(NamedTuple):
    """What each contest alone joins, of contests that join nothing 0 and -1.

    ``players`` (int64[k]): players of the second largest group of those that are left without the contest.
    ``player``, ``other`` (int32[k]): participants of that group and of the largest one.
    """

    players: Longs
    player: Ints
    other: Ints


def bridges(first: Longs, player: Ints, counts: npt.NDArray[np.bool_]) -> Bridges:
    """The groups that each contest alone joins, in O(participations).

    ``first`` (int64[k]): the first of the participations ``player`` of each contest.
    ``counts``: whether each player counts for the size of a group.
    """
    k, n = len(first), len(counts)
    of_contest = np.append(first, len(player)).astype(np.int64)
    contest = np.repeat(np.arange(k, dtype=np.int32), np.diff(of_contest))
    order = np.argsort(player, kind="stable")
    of_player = np.searchsorted(player[order], np.arange(n + 1)).astype(np.int64)
    found = Bridges(np.zeros(k, np.int64), np.full(k, -1, np.int32), np.full(k, -1, np.int32))
    weight = counts.astype(np.int64)
    _search(of_contest, player.astype(np.int32), of_player, contest[order], weight, *found)
    return found


@exact
def _search(of_contest, player, of_player, contest, weight, players, inside, outside):
    """Search from each player in turn; node ``p`` is player ``p``, node ``n + c`` contest ``c``."""
    n, k = len(of_player) - 1, len(of_contest) - 1
    seen, low = np.zeros(n + k, np.int64), np.zeros(n + k, np.int64)  # order of discovery from 1, least one reached
    size, at, parent = np.zeros(n + k, np.int64), np.zeros(n + k, np.int64), np.full(n + k, -1)
    # groups below each contest: the largest and the second largest with a participant, and the sum
    top, top_player, sizes = np.zeros(k, np.int64), np.full(k, -1), np.zeros(k, np.int64)
    met = np.empty(k, np.int64)  # contests of this component
    stack, clock = np.empty(n + k, np.int64), 0
    for root in range(n):
        if seen[root] or of_player[root] == of_player[root + 1]:
            continue
        depth, n_met, stack[0] = 1, 0, root
        clock += 1
        seen[root] = low[root] = clock
        size[root] = weight[root]
        while depth:
            node = stack[depth - 1]
            begin = of_player[node] if node < n else of_contest[node - n]
            end = of_player[node + 1] if node < n else of_contest[node - n + 1]
            if begin + at[node] < end:
                edge = begin + at[node]
                at[node] += 1
                other = n + contest[edge] if node < n else player[edge]
                if seen[other]:
                    if other != parent[node]:
                        low[node] = min(low[node], seen[other])
                    continue
                clock += 1
                seen[other] = low[other] = clock
                size[other] = weight[other] if other < n else 0
                parent[other], stack[depth] = node, other
                depth += 1
                if other >= n:
                    met[n_met] = other - n
                    n_met += 1
                continue
            depth -= 1
            above = parent[node]
            if above < 0:
                continue
            low[above] = min(low[above], low[node])
            size[above] += size[node]
            if above >= n and low[node] >= seen[above]:  # nothing leads from below this player to above the contest
                c = above - n
                sizes[c] += size[node]
                if size[node] > top[c]:
                    players[c], inside[c] = top[c], top_player[c]
                    top[c], top_player[c] = size[node], node
                elif size[node] > players[c]:
                    players[c], inside[c] = size[node], node
        for i in range(n_met):
            c = met[i]
            rest, above = size[root] - sizes[c], parent[n + c]
            if rest > top[c]:
                players[c], inside[c], outside[c] = top[c], top_player[c], above
            elif rest > players[c]:
                players[c], inside[c], outside[c] = rest, above, top_player[c]
            else:
                outside[c] = top_player[c]
            if players[c] == 0:
                inside[c] = outside[c] = -1
