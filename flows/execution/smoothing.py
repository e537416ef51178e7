"""Smooth a whole history on an engine. No lake.

On one machine, threads share the rounds of a sweep and then its players. On a cluster each worker holds some rounds and
finds their performances; the beliefs are with the driver, which sends 16 bytes a participation and receives 8. The
bits are the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from typing import Any

import numpy as np

from ranklake.rating_kernels import ConvergenceError, Rounds
from ranklake.rating_kernels.core.beliefs import serial_map
from ranklake.rating_kernels.core.standings import Floats
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.sweeps import Smoother, solve_performances
from ranklake.rating_kernels.smoothing.transitions import RoundReset
from ranklake.rating_kernels.warm import SMOOTHING, warm_part

from ..engines.protocols import ActorGroup, DistributedEngine, Engine, EngineError, WorkersLostError
from ..engines.threads import Threads
from .partition_worker import ActorState, writable

RECOVERIES = 5  # of one sweep

Checkpoint = tuple[int, Floats]  # number of sweeps, and the means there (`Smoother.mean`)

log = logging.getLogger("ranklake.smooth")


def smooth_rounds(
    params: Smoothing,
    rounds: Rounds,
    n_players: int,
    engine: Engine,
    checkpoint: Checkpoint | None = None,
    on_sweep: Callable[[Smoother], None] | None = None,
    resets: Sequence[RoundReset] = (),
) -> Smoother:
    """Sweep over a history until it converges; ``on_sweep`` is called after each sweep.

    ``rounds``: at least two participants each.
    ``resets``: those between the rounds, in order.
    ``checkpoint``: where an earlier call was interrupted; the result has the same bits.
    Raises ConvergenceError: the sweeps do not converge, or a performance cannot be found in double precision (names the
    row).
    Raises EngineError: there are no workers, or they were lost too often.
    """
    map = engine.map if isinstance(engine, Threads) else serial_map
    solve = _Solver(params, rounds, engine) if isinstance(engine, DistributedEngine) else None
    with nullcontext() if solve is None else closing(solve):
        smoother = Smoother(params, rounds, n_players, map, solve, resets)
        if checkpoint is not None:
            smoother.restore(*checkpoint)
        try:
            while len(rounds) and not smoother.converged:
                smoother.sweep()
                if on_sweep is not None:
                    on_sweep(smoother)
        except OverflowError as error:
            raise ConvergenceError(f"beyond double precision: {error}") from error
    return smoother


class RoundsWorker(ActorState):
    """The rounds that one worker solves."""

    def __init__(self, params: Smoothing, rounds: Rounds) -> None:
        super().__init__()
        warm_part(SMOOTHING)  # here, where the timeout is long
        self._params, self._rounds = params, Rounds.from_arrays([writable(a) for a in rounds.arrays])

    def solve(self, mean: Floats, variance: Floats) -> Floats:
        """The performances of these rounds."""
        perf = np.empty(self._rounds.n_rows)
        solve_performances(self._params, self._rounds, serial_map, writable(mean), writable(variance), perf)
        return perf


class _Solver:
    """Finds performances on the workers of a cluster; starts new workers when some are lost."""

    def __init__(self, params: Smoothing, rounds: Rounds, engine: DistributedEngine) -> None:
        self._params, self._rounds, self._engine = params, rounds, engine
        self._group: ActorGroup | None = None

    def __call__(self, mean: Floats, variance: Floats, perf: Floats) -> None:
        for attempt in range(1, RECOVERIES + 2):
            try:
                return self._solve(mean, variance, perf)
            except WorkersLostError as lost:
                self.close()
                if attempt > RECOVERIES:
                    raise EngineError(f"{lost}, {attempt} times in one sweep; the checkpoints before it stay") from lost
                log.warning("%s; recovery %d, from this sweep on", lost, attempt)

    def _solve(self, mean: Floats, variance: Floats, perf: Floats) -> None:
        if self._group is None:

            def init_args(place: int, size: int) -> tuple[Any, ...]:
                return self._params, self._rounds.part(*self._cuts(size)[place : place + 2])

            self._group = self._engine.start_actors(RoundsWorker, init_args)
        group = self._group
        rows = [self._rounds.offsets[self._cuts(group.size)[place : place + 2]] for place in range(group.size)]
        calls = [[("solve", (mean[start:stop], variance[start:stop]))] for start, stop in rows]
        replies = group.call_all(calls, rows=self._rounds.n_rows)
        for (start, stop), [part] in zip(rows, replies, strict=True):
            perf[start:stop] = part

    def _cuts(self, size: int) -> list[int]:
        """The first round of each worker, and the number of rounds: about as many participations each."""
        shares = np.linspace(0, self._rounds.n_rows, size + 1).astype(np.int64)
        return [int(cut) for cut in np.searchsorted(self._rounds.offsets, shares)]

    def close(self) -> None:
        if self._group is not None:
            self._group.close()
            self._group = None
