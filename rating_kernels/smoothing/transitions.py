"""Resets between two rounds of a player, as linear transitions of the skill.

A soft reset (:class:`..core.system.Reset`) moves a belief of mean m and variance v to m' = centre + c (m - centre) and
the variance T. It says of the skill

    s' = centre + c (s - centre) + noise of the variance q = T - c^2 v

with the variance v that the rounds before it leave, which does not depend on results. So c = 0 lets no information
pass, and c = 1 with the variance w^2 is a drift. Several resets between two rounds are one transition. The variance of
idle time and of the next round comes after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.beliefs import NEVER
from ..core.jit import exact
from ..core.system import Reset
from .params import Smoothing
from .recursion import Drift, PlayerRows, RoundModel, Transitions, step
from .rounds import RoundNoise


class RoundReset(NamedTuple):
    """A reset between two rounds.

    ``before``: number of the round that comes after it, from 0.
    ``players`` (bool[players]): mask of those that it acts on, None for all; never on players without a round before.
    """

    before: int
    players: npt.NDArray[np.bool_] | None
    reset: Reset


def transitions(
    resets: Sequence[RoundReset], params: Smoothing, rows: PlayerRows, model: RoundModel, noise: RoundNoise,
    drift: Drift,
) -> Transitions:  # fmt: skip
    """The transitions before each row; ``resets`` in order of their rounds."""
    n_players, n_rows = len(rows.starts) - 1, len(rows.order)
    acts = np.ones((len(resets), n_players), dtype=np.bool_)
    for mask, one in zip(acts, resets, strict=True):
        if one.players is not None:
            mask[:] = one.players
    before = np.array([one.before for one in resets], dtype=np.int64)
    numbers = [(one.reset.keep, one.reset.centre - params.mu_init, one.reset.widen) for one in resets]
    keep, centre, widen = np.array(numbers).T.copy()
    found = Transitions(np.ones(n_rows), np.zeros(n_rows), np.zeros(n_rows))
    _write_transitions(rows, model, noise, drift, params.sigma_init**2, before, acts, keep, centre, widen, found)
    return found


@exact
def _write_transitions(rows, model, noise, drift, initial, before, acts, keep, centre, widen, found):
    """Write the transitions of all players, along the variances of a filter."""
    starts, order, round_of = rows
    for i in range(len(starts) - 1):
        v, last, e = initial, np.int64(NEVER), 0
        for k in range(starts[i + 1] - starts[i]):
            row = order[starts[i] + k]
            r = round_of[row]
            while e < len(before) and before[e] <= r:
                if k > 0 and acts[e, i]:
                    c = keep[e]
                    wide = min(max(initial, v), v + widen[e] * widen[e])
                    found.scale[row] *= c
                    found.growth[row] = c * found.growth[row] + (1.0 - c) * centre[e]
                    found.added[row] = c * c * found.added[row] + (wide - c * c * v)
                    v = wide
                e += 1
            v += step(k, r, row, last, model, drift)[2]
            v *= (1.0 + noise.hidden[r] * v / noise.variance[r]) / (1.0 + v / noise.variance[r])
            last = max(last, model.time[r])
