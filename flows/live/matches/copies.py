"""A copy of all beliefs at one moment, made a few rows at a time while matches go on.

What a match is about to change is copied before it. So the copy is that of the moment at which it began, and no answer
waits longer than for a block of rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Beliefs
from ranklake.rating_kernels.core.standings import Ints

from ...execution.rater import BeliefColumns
from .beliefs import LiveBeliefs

_BLOCK = 16_384  # rows copied in one step: less than a millisecond


class BeliefsCopy:
    """The beliefs of a run when this object was made; :meth:`columns` waits for no one and needs :attr:`done`."""

    def __init__(self, beliefs: LiveBeliefs) -> None:
        self._beliefs, self._n = beliefs, beliefs.n_players
        self._copied: npt.NDArray[np.bool_] = np.zeros(self._n, np.bool_)
        self._next = 0
        self._parts: list[tuple[npt.NDArray[np.int64], BeliefColumns]] = []
        self._shared = beliefs.store.shared_columns

    @property
    def done(self) -> bool:
        """Whether all rows are copied."""
        return self._next >= self._n

    def before(self, players: Ints) -> None:
        """Copy the rows of some players that are about to change."""
        if self.done:
            return
        rows = players[players < self._n]
        rows = rows[~self._copied[rows]]
        if len(rows):
            self._take(np.unique(rows).astype(np.int64))

    def step(self) -> None:
        """Copy the next block of rows."""
        stop = min(self._next + _BLOCK, self._n)
        rows = self._next + np.flatnonzero(~self._copied[self._next : stop])
        if len(rows):
            self._take(rows)
        self._next = stop

    def complete(self) -> None:
        """Copy all rows that are left."""
        while not self.done:
            self.step()

    def columns(self) -> BeliefColumns:
        """The copy, in the order of the players."""
        display = self._beliefs.display
        store: Beliefs = display.system.newcomers(display.params, self._n)
        for rows, columns in self._parts:
            store.put(rows, columns)
        store.share(self._shared)
        return store.columns()

    def _take(self, rows: npt.NDArray[np.int64]) -> None:
        self._copied[rows] = True
        self._parts.append((rows, self._beliefs.columns(rows)))
