"""Proposals of expectation-maximisation: each is estimated from a smoothing with the one before it.

The scores of trials are not used: a step maximises the probability of the results, so that a few steps replace many
trials. The first proposal is the beginning: the system's defaults, or the values of the space.
"""

from __future__ import annotations

import numpy as np

from ranklake.rating_kernels import System
from ranklake.rating_kernels.smoothing.evidence import LEAST
from ranklake.rating_kernels.warm import SMOOTHING

from ...common.configuration.settings import build_params
from ...compilation.compile import compile_parts
from ...engines.factory import open_engine
from ...execution.smoothing import smooth_rounds
from ...smoothing.params import estimated_of, params_of, settings_of
from .protocol import Proposals, Settings
from .spaces import Range, Space, as_settings
from .trials import History

__all__ = ["ExpectationMaximisation"]

STEPS = 4  # by default; the beginning comes before them


class ExpectationMaximisation(Proposals):
    """The steps from one point.

    Parameters
    ----------
    space
        One value for each hyperparameter. Those that are estimated begin there, the others keep it.
    trials
        Number of proposals, the beginning included.

    Raises
    ------
    ValueError
        The space has a hyperparameter with several values, or the system cannot be estimated.
    """

    batch = 1

    def __init__(self, system: System, space: Space, trials: int | None) -> None:
        self._system, self._begin = system, {}
        for name, axis in space.items():
            if isinstance(axis, Range) or len(axis) != 1:
                raise ValueError(f"an em search begins at one point; give one value for {name}, as {name}=VALUE")
            self._begin[name] = axis[0]
        start = build_params(system, self._begin)
        self._estimated = estimated_of(start)
        self.total = STEPS + 1 if trials is None else trials
        self._settings = as_settings(self._begin | settings_of(start, params_of(start, {})))
        self._history: History | None = None

    def begin(self, history: History) -> None:
        """Receive the contests.

        Raises
        ------
        ValueError
            All contests are too small, or some have teams.
        """
        if history.rounds.teams is not None:
            raise ValueError("an em search cannot use contests of teams; use another method")
        sizes = np.diff(history.rounds.offsets)
        if not np.any(sizes >= LEAST):
            raise ValueError(
                f"an em search needs contests of at least {LEAST} participants for training, the largest has "
                f"{max(sizes, default=0)}; use another method"
            )
        self._history = history

    def ask(self, first: int, n: int) -> list[Settings]:
        """One proposal."""
        if first > 0:
            self._settings |= self._step()
        return [dict(self._settings)]

    def _step(self) -> Settings:
        assert self._history is not None, "asked before begin"
        rounds = self._history.rounds
        rounds = rounds.keep(rounds.informative | (np.diff(rounds.offsets) == 2))  # as smoothings of runs
        system_params = build_params(self._system, self._settings)
        compile_parts([SMOOTHING])
        with open_engine() as engine:
            params = params_of(system_params, {}).with_normal_noise()  # as in the evidence
            smoother = smooth_rounds(params, rounds, self._history.n_players, engine)
            estimated = smoother.estimate(self._estimated)
        return as_settings(settings_of(system_params, estimated))
