"""Proposals of a search: a grid, random draws, Optuna, or expectation-maximisation; a seed determines them.

Proposals come in batches of a size that does not depend on the number of workers. A Bayesian search receives
the scores of a batch before it proposes the next: neither the number of workers nor interruptions change the trials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ranklake.rating_kernels import System
from ranklake.rating_kernels.metrics.metrics import HIGHER_IS_BETTER
from ranklake.rating_kernels.smoothing.evidence import LEAST
from ranklake.rating_kernels.warm import SMOOTHING

from ...common.configuration.settings import build_params
from ...common.extras import need
from ...compilation.compile import compile_parts
from ...engines.factory import open_engine
from ...events.apply import reset_of_event
from ...execution.smoothing import smooth_rounds
from ...smoothing.params import estimated_of, params_of, settings_of
from ...smoothing.resets import resets_between
from .history import TrialRounds
from .published_grids import RANGES, SPACES, published_grid
from .spaces import Range, Space, as_settings, check_settings, draw, grid, parse_space
from .trials import Trial

METHODS = ("grid", "random", "bayes", "em")
_STEPS = 4  # of em by default; the beginning comes before them

Settings = dict[str, str]


class Proposals:
    """Attributes: ``batch``, the number of trials in a batch; ``total``, the number of all trials."""

    batch: int
    total: int

    def begin(self, history: TrialRounds) -> None:
        """Receive the contests for training, before the first proposal; not used by most methods."""

    def ask(self, first: int, n: int) -> list[Settings]:
        """Settings of ``n`` trials from number ``first`` on; called in order."""
        raise NotImplementedError

    def tell(self, trials: Sequence[Trial]) -> None:
        """Receive the results of the proposals since the last call, in their order; not used by most methods."""

    def try_all(self, train: TrialRounds, run: Callable[[Sequence[Settings]], Sequence[Trial]]) -> list[Trial]:
        """All trials in the order of their proposals; ``run`` runs a batch."""
        trials: list[Trial] = []
        self.begin(train)
        for first in range(0, self.total, self.batch):
            done = run(self.ask(first, min(self.batch, self.total - first)))
            self.tell(done)
            trials += done
        return trials


def open_proposals(
    method: str, system: System, space: Sequence[str], metric: str, seed: int, trials: int | None
) -> Proposals:
    """The proposals of a search; without a ``space``, those of :mod:`.published_grids`.

    Raises ValueError: the method is unknown, or the space has an invalid value.
    Raises MissingExtraError: Optuna is not installed.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if method == "em":
        return _ExpectationMaximisation(system, parse_space(system, space), trials)
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
        self._points = [as_settings(points[at]) for at in order[: self.total]]

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


class _ExpectationMaximisation(Proposals):
    """Expectation-maximisation from one point: each proposal is estimated from a smoothing with the one before it.

    The scores of trials are not used: a step maximises the probability of the results, so that a few steps replace many
    trials. The first proposal is the beginning: the system's defaults, or the values of the space.

    ``space``: one value for each hyperparameter. Those that are estimated begin there, the others keep it.
    ``trials``: number of proposals, the beginning included.
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
        self.total = _STEPS + 1 if trials is None else trials
        self._settings = as_settings(self._begin | settings_of(start, params_of(start, {})))
        self._history: TrialRounds | None = None

    def begin(self, history: TrialRounds) -> None:
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
        if first > 0:
            self._settings |= self._step()
        return [dict(self._settings)]

    def _step(self) -> Settings:
        assert self._history is not None, "asked before begin"
        history = self._history
        kept = history.rounds.informative | (np.diff(history.rounds.offsets) == 2)  # as smoothings of runs
        rounds, system_params = history.rounds.keep(kept), build_params(self._system, self._settings)
        given = [
            (int(history.units[one.unit]), reset_of_event(one.event, system_params, one.players))
            for one in history.resets
        ]
        level = np.full(rounds.n_rows, float(system_params.mu_init))  # instead of a mean of ratings: there are none
        resets = resets_between(given, rounds, np.flatnonzero(kept), level)
        compile_parts([SMOOTHING])
        with open_engine() as engine:
            params = params_of(system_params, {}).with_normal_noise()  # as in the evidence
            smoother = smooth_rounds(params, rounds, history.n_players, engine, resets=resets)
            estimated = smoother.estimate(self._estimated)
        return as_settings(settings_of(system_params, estimated))
