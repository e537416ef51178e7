"""Proposals of a search: a grid, random draws, Optuna, or expectation-maximisation; a seed determines them.

Proposals come in batches of a size that does not depend on the number of workers. A Bayesian search receives
the scores of a batch before it proposes the next: neither the number of workers nor interruptions change the trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ranklake.rating_kernels.metrics.metrics import HIGHER_IS_BETTER

from ...common.extras import need
from .expectation import ExpectationMaximisation
from .protocol import Proposals, Settings
from .published_grids import RANGES, SPACES, published_grid
from .spaces import Range, Space, as_settings, check_settings, draw, grid, parse_space
from .trials import Trial

__all__ = ["METHODS", "open_proposals"]

METHODS = ("grid", "random", "bayes", "em")


def open_proposals(
    method: str, system: Any, space: Sequence[str], metric: str, seed: int, trials: int | None
) -> Proposals:
    """The proposals of a search; without a ``space``, those of :mod:`.published_grids`.

    Raises
    ------
    ValueError
        The method is unknown, or the space has an invalid value.
    MissingExtraError
        Optuna is not installed.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if method == "em":
        return ExpectationMaximisation(system, parse_space(system, space), trials)
    if method == "grid":
        space = space or SPACES.get(system.name, ())
        points = grid(parse_space(system, space)) if space else published_grid(system.name)
        check_settings(system, points)
        return _Grid(points, seed, trials)
    axes = parse_space(system, space or RANGES.get(system.name) or SPACES[system.name])
    if trials is None:
        raise ValueError(f"a {method} search needs a number of trials")
    return _Random(axes, seed, trials) if method == "random" else _Bayes(axes, seed, trials, metric)


class _Grid(Proposals):
    """All points of a grid, or a random sample of them; a larger sample begins with the smaller one."""

    batch = 32

    def __init__(self, points: Sequence[dict[str, Any]], seed: int, trials: int | None) -> None:
        self.total = len(points) if trials is None else min(trials, len(points))
        sampled = self.total < len(points)
        order = np.random.default_rng(seed).permutation(len(points)) if sampled else range(len(points))
        self._points = [as_settings(points[at]) for at in order]

    def ask(self, first: int, n: int) -> list[Settings]:
        return self._points[first : first + n]


class _Random(Proposals):
    batch = 32

    def __init__(self, space: Space, seed: int, trials: int) -> None:
        self.total, self._space, self._seed = trials, space, seed

    def ask(self, first: int, n: int) -> list[Settings]:
        return [as_settings(draw(self._space, self._seed, trial)) for trial in range(first, first + n)]


class _Bayes(Proposals):
    """Optuna's tree-structured Parzen estimator."""

    batch = 8

    def __init__(self, space: Space, seed: int, trials: int, metric: str) -> None:
        optuna = need("optuna", "search", "the method bayes")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.total, self._space, self._metric = trials, space, metric
        sampler = optuna.samplers.TPESampler(seed=seed)
        direction = "maximize" if metric in HIGHER_IS_BETTER else "minimize"
        self._study: Any = optuna.create_study(sampler=sampler, direction=direction)
        self._states: Any = optuna.trial.TrialState
        self._asked: list[Any] = []
        self._axes: dict[str, Any] = {}
        for name, axis in space.items():
            if not isinstance(axis, Range):
                self._axes[name] = optuna.distributions.CategoricalDistribution(
                    [as_settings({name: v})[name] for v in axis]
                )
            elif axis.whole:
                low, high = int(axis.at(0.0)), int(axis.at(1.0))
                self._axes[name] = optuna.distributions.IntDistribution(low, high, log=axis.log)
            else:
                self._axes[name] = optuna.distributions.FloatDistribution(axis.low, axis.high, log=axis.log)

    def ask(self, first: int, n: int) -> list[Settings]:
        self._asked = [self._study.ask(self._axes) for _ in range(n)]
        return [
            as_settings({name: self._value(name, trial.params[name]) for name in self._space}) for trial in self._asked
        ]

    def _value(self, name: str, value: Any) -> Any:
        axis = self._space[name]
        return axis.near(value) if isinstance(axis, Range) else value

    def tell(self, trials: Sequence[Trial]) -> None:
        for asked, trial in zip(self._asked, trials, strict=True):
            value = trial.scores.get(self._metric)
            if value is None:
                self._study.tell(asked, state=self._states.FAIL)
            else:  # also for a pruned trial: its scores so far are informative
                self._study.tell(asked, value)
