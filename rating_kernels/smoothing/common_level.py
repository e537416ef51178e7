"""The level that all participants share, solved for along the history instead of found by iteration.

The field of a round determines performances relative to the field: if all its beliefs shift, so do all performances.
The priors of newcomers determine the level, and a sweep moves it by a few points only, so sweeps alone take hundreds.
Its shift is therefore written as P d: linear between a few rounds, the nodes, and d at these. Cavities are linear in
performances, m_c = A p + const. With r the change of the means in one sweep, the shift after which they would change no
more is the solution of the equations that Galerkin's method gives, one for each node:

    (P' P - P' A P) d = P' r

The matrix does not depend on results and is computed once; cavities of skewed performances are nearly linear, and take
the same matrix. Shifts between nodes disappear within a few sweeps, because
a player's recursion averages over rounds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core.beliefs import NEVER, Map
from ..core.jit import exact
from ..core.standings import Floats, Longs
from .chain import ShownWeights
from .recursion import Drift, PlayerRows, RoundModel, step

NODES = 16
_BLOCKS = 64  # of players, whose sums are added in order: bits do not depend on the number of workers
_Add = Callable[[int, int, Floats], None]


def sum_players(starts: Longs, size: int, add: _Add, map: Map) -> Floats:
    """The matrix of ``size`` rows to which ``add(first, last, sums)`` adds the players ``first`` to ``last - 1``.

    ``starts`` (int64[players + 1]): first row of each player; blocks of players have about as many rows.
    """
    cuts = np.searchsorted(starts, np.linspace(0, starts[-1], _BLOCKS + 1).astype(np.int64))
    cuts[-1] = len(starts) - 1
    sums, total = np.zeros((_BLOCKS, size, size)), np.zeros((size, size))

    def work(start: int, stop: int) -> None:
        for block in range(start, stop):
            add(cuts[block], cuts[block + 1], sums[block])

    map(work, _BLOCKS, sums)
    for block in range(_BLOCKS):
        total += sums[block]
    return total


class CommonLevel:
    """Solves for the common shift of each round.

    ``offsets`` (int64[rounds + 1]).
    ``rows``, ``model``, ``weights``, ``drift``: as :func:`.chain.smooth_players` takes them.
    ``variance``: of a newcomer's skill.
    """

    def __init__(
        self, offsets: Longs, rows: PlayerRows, model: RoundModel, weights: ShownWeights, drift: Drift, variance: float,
        map: Map,
    ) -> None:  # fmt: skip
        nodes, self._node, self._share = between_nodes(len(offsets) - 1)
        self._sizes, self._nodes = np.diff(offsets).astype(np.float64), nodes

        def add(first: int, last: int, sums: Floats) -> None:
            _add_responses(first, last, rows, model, weights, drift, variance, self._node, self._share, sums)

        total = sum_players(rows.starts, nodes + 1, add, map)
        hats = np.zeros((nodes + 1, nodes + 1))
        for a, left in ((0, 1.0 - self._share), (1, self._share)):
            for b, right in ((0, 1.0 - self._share), (1, self._share)):
                np.add.at(hats, (self._node + a, self._node + b), self._sizes * left * right)
        self._matrix = (hats - total)[:nodes, :nodes]

    def shift(self, mean_move: Floats) -> Floats:
        """The common shift of the performances of each round, given the mean change of its beliefs in a sweep."""
        moves = np.zeros(self._nodes + 1)
        np.add.at(moves, self._node, self._sizes * (1.0 - self._share) * mean_move)
        np.add.at(moves, self._node + 1, self._sizes * self._share * mean_move)
        d = np.append(np.linalg.solve(self._matrix, moves[: self._nodes]), 0.0)
        shift: Floats = (1.0 - self._share) * d[self._node] + self._share * d[self._node + 1]
        return shift


def between_nodes(rounds: int) -> tuple[int, Longs, Floats]:
    """The number of nodes, and for each round the node before it and the share of the next node."""
    nodes = min(NODES, rounds)
    place = np.arange(rounds) * ((nodes - 1) / max(rounds - 1, 1))
    node = np.minimum(np.floor(place).astype(np.int64), max(nodes - 2, 0))
    return nodes, node, place - node


@exact
def _add_responses(start, stop, rows, model, weights, drift, variance, node, fraction, sums):
    """Add P' A P of players ``start`` to ``stop - 1``: all nodes' shifts go through one recursion.

    Round r has the share ``1 - fraction[r]`` of node ``node[r]`` and the rest of the next node.
    """
    starts, order, round_of = rows
    longest = 0
    for i in range(start, stop):
        longest = max(longest, starts[i + 1] - starts[i])
    nodes = len(sums)
    precision, added, forward_variance = np.empty(longest), np.empty(longest), np.empty(longest)
    scale = np.empty(longest)
    forward, m, pull = np.empty((longest, nodes)), np.empty(nodes), np.empty(nodes)
    for i in range(start, stop):
        first, n = starts[i], starts[i + 1] - starts[i]
        if n == 0:
            continue
        least, most = node[round_of[order[first]]], node[round_of[order[first + n - 1]]] + 2  # other nodes: no response
        for b in range(least, most):
            m[b], pull[b] = 0.0, 0.0
        v, last = variance, np.int64(NEVER)
        for k in range(n):
            row = order[first + k]
            r = round_of[row]
            precision[k] = weights.weight[row if weights.members else r] / model.spread[r]
            scale[k], _, added[k] = step(k, r, row, last, model, drift)
            last = max(last, model.time[r])
            v = scale[k] * scale[k] * v + added[k]
            forward_variance[k] = v
            gain = v * precision[k] / (1.0 + v * precision[k])
            for b in range(least, most):
                m[b] *= scale[k]
                forward[k, b] = m[b]
                m[b] *= 1.0 - gain
            m[node[r]] += gain * (1.0 - fraction[r])
            m[node[r] + 1] += gain * fraction[r]
            v *= 1.0 - gain
        information = 0.0
        for k in range(n - 1, -1, -1):
            r = round_of[order[first + k]]
            a, f = node[r], fraction[r]
            v = forward_variance[k] / (1.0 + forward_variance[k] * information)
            for b in range(least, most):
                cavity = v * (forward[k, b] / forward_variance[k] + pull[b])
                sums[a, b] += (1.0 - f) * cavity
                sums[a + 1, b] += f * cavity
            pull[a] += precision[k] * (1.0 - f)
            pull[a + 1] += precision[k] * f
            information += precision[k]
            kept = 1.0 / (1.0 + added[k] * information)
            information *= kept * scale[k] * scale[k]
            for b in range(least, most):
                pull[b] *= kept * scale[k]
