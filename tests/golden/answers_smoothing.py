"""Answers to the golden vectors of smoothing (system ``smoothing``): one player each, performances given."""

from __future__ import annotations

from typing import Any

import numpy as np
from golden.runner import ABOUT, Answers, Vector, known
from twins.smoothing import dense

from ranklake.rating_kernels.inference.skewed import Law
from ranklake.rating_kernels.smoothing.chain import ShownWeights, smooth_players
from ranklake.rating_kernels.smoothing.recursion import (
    Drift,
    Observations,
    PlayerRows,
    RoundModel,
    Skills,
    smooth_player,
)

_UNIT = 1000  # the added variances have three decimals: these are seconds of a drift of 86.4 a day


def twin(vector: Vector) -> Answers:
    """What the dense matrices answer."""
    answers = []
    for walk in _walks(vector):
        columns = dense(walk["mu0"], walk["sig0"], walk["perf"], walk["beta"], walk["added"], [0.0] * len(walk["perf"]))
        answers.append(_rows(columns))
    return answers


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """What the recursion answers; with ``step_by_step`` through the kernel for many players, from times and weights."""
    return [_rows(_many(walk) if step_by_step else _one(walk)) for walk in _walks(vector)]


def _walks(vector: Vector) -> list[dict[str, Any]]:
    known("key", vector, ABOUT)
    known("parameter", vector["params"], ())
    for walk in vector["contests"]:
        known("contest key", walk, {"mu0", "sig0", "perf", "beta", "added"})
    return list(vector["contests"])


def _one(walk: dict[str, Any]) -> dict[str, list[float]]:
    n = len(walk["perf"])
    perf, precision = np.array(walk["perf"]) - walk["mu0"], np.array(walk["beta"]) ** -2.0
    forward, cavity = (Skills(np.empty(n), np.empty(n)) for _ in range(2))
    shown = Observations(perf, precision, np.zeros(n), np.array(walk["added"]))
    smooth_player(n, walk["sig0"] ** 2, shown, forward, cavity)
    return _columns(walk, *cavity)


def _many(walk: dict[str, Any]) -> dict[str, list[float]]:
    n = len(walk["perf"])
    rows = np.arange(n, dtype=np.int32)
    cavities = Skills(np.empty(n), np.empty(n))
    time = np.cumsum(np.rint(np.array(walk["added"]) * _UNIT).astype(np.int64))
    weight = np.array(walk["beta"]) ** -2.0
    smooth_players(
        0, 1, PlayerRows(np.array([0, n]), rows, rows), RoundModel(time, weight, np.ones(n), np.ones(n)),
        ShownWeights(False, weight), Drift(0.0, 86400.0 / _UNIT, 0.0, 20.0), Law(1.0, 1.0, True),
        walk["sig0"] ** 2, False, np.empty(0), np.array(walk["perf"]) - walk["mu0"], cavities,
    )  # fmt: skip
    return _columns(walk, *cavities)


def _columns(walk: dict[str, Any], mean: np.ndarray, variance: np.ndarray) -> dict[str, list[float]]:
    noise = np.array(walk["beta"]) ** 2.0
    gain = variance / (variance + noise)
    smoothed = mean + gain * (np.array(walk["perf"]) - walk["mu0"] - mean)
    columns = {
        "mu": smoothed + walk["mu0"],
        "sig": np.sqrt(gain * noise),
        "mu_out": mean + walk["mu0"],
        "sig_out": np.sqrt(variance),
    }
    return {name: column.tolist() for name, column in columns.items()}


def _rows(columns: dict[str, list[float]]) -> dict[Any, dict[str, Any]]:
    """The columns of one player, as the vector has them."""
    return {"player": columns}
