"""Answers to the golden vectors of smoothing (systems ``smoothing``, ``smoothed_differences``).

One player each, performances given; the second ones are the differences of the skill between two rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist
from typing import Any

import numpy as np
from golden.runner import ABOUT, Answers, Vector, known
from twins.smoothing import dense, joint

from ranklake.rating_kernels.inference.skewed import Law
from ranklake.rating_kernels.smoothing.chain import ShownWeights, smooth_players
from ranklake.rating_kernels.smoothing.dates import Moment, Path, chance_higher, difference, log_gains
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


def differences(vector: Vector, step_by_step: bool = False) -> Answers:
    """What smoothed beliefs and gains answer about pairs of rounds."""
    answers = []
    for walk in _walks(vector, "pairs"):
        columns = _many(walk) if step_by_step else _one(walk)
        mean, variance = np.array(columns["mu"]), np.square(columns["sig"])
        path = Path(mean, variance, _log_gains(walk))
        pairs = [(i, j, *difference(path, Moment(i), Moment(j))) for i, j in walk["pairs"]]
        answers.append(_pairs((i, j, mean, sd, chance_higher(mean, sd)) for i, j, mean, sd in pairs))
    return answers


def differences_twin(vector: Vector) -> Answers:
    """What the inverse of the precision matrix answers about pairs of rounds."""
    answers = []
    for walk in _walks(vector, "pairs"):
        perf = np.array(walk["perf"]) - walk["mu0"]
        mean, covariance = joint(walk["sig0"], perf, walk["beta"], walk["added"], [0.0] * len(perf))
        pairs = []
        for i, j in walk["pairs"]:
            deviation = math.sqrt(covariance[i, i] + covariance[j, j] - 2.0 * covariance[i, j])
            apart = float(mean[j] - mean[i])
            pairs.append((i, j, apart, deviation, NormalDist().cdf(apart / deviation)))
        answers.append(_pairs(pairs))
    return answers


def _pairs(rows: Iterable[tuple[int, int, float, float, float]]) -> dict[Any, dict[str, Any]]:
    """Rows in order, as the vector has them."""
    names = ("from", "to", "difference", "deviation", "chance_higher")
    return {row: dict(zip(names, values, strict=True)) for row, values in enumerate(rows)}


def _log_gains(walk: dict[str, Any]) -> np.ndarray:
    """Through the kernel for many players, from times."""
    found = np.empty(len(walk["perf"]))
    rows, model, drift = _facts(walk)
    log_gains(*rows, np.array(walk["beta"]) ** -2.0, model, drift, walk["sig0"] ** 2, found)
    return found


def _walks(vector: Vector, *further: str) -> list[dict[str, Any]]:
    known("key", vector, ABOUT)
    known("parameter", vector["params"], ())
    for walk in vector["contests"]:
        known("contest key", walk, {"mu0", "sig0", "perf", "beta", "added", *further})
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
    cavities = Skills(np.empty(n), np.empty(n))
    rows, model, drift = _facts(walk)
    smooth_players(
        0, 1, rows, model, ShownWeights(False, model.weight), drift, Law(1.0, 1.0, True), walk["sig0"] ** 2, False,
        np.empty(0), np.array(walk["perf"]) - walk["mu0"], cavities,
    )  # fmt: skip
    return _columns(walk, *cavities)


def _facts(walk: dict[str, Any]) -> tuple[PlayerRows, RoundModel, Drift]:
    """A walk as rounds with times and weights."""
    n = len(walk["perf"])
    rows = np.arange(n, dtype=np.int32)
    time = np.cumsum(np.rint(np.array(walk["added"]) * _UNIT).astype(np.int64))
    model = RoundModel(time, np.array(walk["beta"]) ** -2.0, np.ones(n), np.ones(n))
    return PlayerRows(np.array([0, n]), rows, rows), model, Drift(0.0, 86400.0 / _UNIT, 0.0, 20.0)


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
