"""Check that the ratings of rounds are legal numbers; the error names the round where they are not.

An infinite rating or a NaN would be the prior of all later rounds, and tables and JSON cannot represent it. It results
from hyperparameters, weights or histories that exceed double precision. Legal ratings:

    mu_prior, mu, sigma_prior, sigma    finite, at most 1e60; sigma > 0 in systems with uncertainty, else 0. A player
                                        whose prior sigma is 0 keeps it.
    perf                                finite and at most 1e60 in systems that show performances; else NaN, null in
                                        tables. A sole winner has a finite performance, too: the participant's own
                                        expected score bounds the equation that it solves.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ranklake.rating_kernels import ConvergenceError, Outcome, Rounds, System
from ranklake.rating_kernels.core.limits import LARGEST

from ..common.text import described

_SHOWN = {
    "mu_prior": "comes with mu", "sigma_prior": "comes with sigma", "perf": "shows the performance", "mu": "gets mu",
    "sigma": "gets sigma",
}  # fmt: skip
_LEAST = math.ulp(0.0)  # the smallest number > 0


class RoundError(ConvergenceError):
    """A round that cannot be rated: its number among the given ones, and that of the participant, where it is known."""

    def __init__(self, rule: str, row: int | None, round: int, player: int | None) -> None:
        super().__init__(rule, row)
        self.round, self.player = round, player

    def __reduce__(self) -> tuple[Any, ...]:
        return RoundError, (self.rule, self.row, self.round, self.player)

    def __str__(self) -> str:
        return f"round {self.round} of those given: {self.rule}"


@contextmanager
def check_outcome(system: System, params: Any, rounds: Rounds, outcome: Outcome, first: int = 0) -> Iterator[None]:
    """Check the ratings that the block writes, and locate the round of any arithmetic error.

    ``outcome``: of ``rounds``, which begin with number ``first``; NaN before the block.
    Raises RoundError: a root was not found, or a number is not one that this module allows.

    Two passes over each column, 2 ns a row: 0.3 % of the time that a large round of Elo-MMR takes.
    """
    try:
        yield
    except RoundError:
        raise
    except ArithmeticError as error:
        raise _located(error, rounds, outcome, first) from error
    _check_numbers(system, params, rounds, outcome, first)


def named_error(
    error: RoundError,
    system: System,
    params: Any,
    rounds: Rounds,
    contest: str,
    index: int,
    player: str | None,
    remedy: str,
) -> ConvergenceError:
    """The error of some rounds with the names of contest and player, the number of the round, and what to do."""
    at = error.round
    fault = f"player {player!r} {error.rule}" if player is not None else error.rule
    usual = {"weight": 1.0, "perf_ceiling": math.inf, "precision": 1.0}
    values = dataclasses.asdict(params) | {name: float(getattr(rounds, name)[at]) for name in usual}
    defaults = dataclasses.asdict(system.params()) | usual
    changed = [f"{name}={_spelled(value)}" for name, value in values.items() if value != defaults[name]]
    likely = f"likely too extreme together: {', '.join(changed)}" if changed else "all hyperparameters are the defaults"
    return ConvergenceError(f"contest {contest}, round {index}: {system.name}: {fault}; {likely}; {remedy}", error.row)


def _spelled(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else value if isinstance(value, str) else described(value)


def _located(error: ArithmeticError, rounds: Rounds, outcome: Outcome, first: int) -> RoundError:
    """The round at which a kernel stopped is the first one without all its ratings."""
    rule = error.rule if isinstance(error, ConvergenceError) else str(error)
    missing = np.isnan(outcome.mu)
    at = _round_of(rounds, int(np.argmax(missing))) if missing.any() else 0
    start, stop = rounds.offsets[at], rounds.offsets[at + 1]
    row = error.row if isinstance(error, ConvergenceError) else None
    if row is None and not missing[start:stop].all():
        row = int(np.argmax(missing[start:stop]))
    return RoundError(rule, row, first + at, None if row is None else int(rounds.player[start + row]))


def _check_numbers(system: System, params: Any, rounds: Rounds, outcome: Outcome, first: int) -> None:
    if not rounds.n_rows:
        return
    columns = {name: getattr(outcome, name) for name in _SHOWN if name != "perf" or system.performs}
    least = {name: _LEAST if name.startswith("sigma") and params.sigma_init > 0.0 else -LARGEST for name in columns}
    # comparisons with NaN, which min and max keep, are false
    if all(column.min() >= least[name] and column.max() <= LARGEST for name, column in columns.items()):
        return
    certain = outcome.sigma_prior == 0.0
    bad = {name: ~((column >= least[name]) & (column <= LARGEST)) for name, column in columns.items()}
    for name in ("sigma_prior", "sigma"):
        bad[name] &= ~(certain & (columns[name] == 0.0))
    rows = np.flatnonzero(np.logical_or.reduce(list(bad.values())))
    if not len(rows):
        return
    row = int(rows[0])
    name = next(name for name in bad if bad[name][row])
    at = _round_of(rounds, row)
    rule = f"{_SHOWN[name]} = {columns[name][row]:.6g}"
    raise RoundError(rule, row - int(rounds.offsets[at]), first + at, int(rounds.player[row]))


def _round_of(rounds: Rounds, row: int) -> int:
    return int(np.searchsorted(rounds.offsets, row, side="right")) - 1
