"""Win probabilities of Elo-MMS against the integral of its model: the difference of two skewed performances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ranklake import rate_history
from ranklake.flows.frames.predict import predict
from ranklake.rating_kernels import SYSTEMS, EloMMS, Prior
from ranklake.rating_kernels.inference.win_probability import normal

SYSTEM = SYSTEMS["elo-mms"]
GAPS = np.array([-600.0, -250.0, -75.0, 0.0, 25.0, 150.0, 400.0])
LARGE = 10**9
NODES = 1001


def prior(mu: Any, sigma: float) -> Prior:
    mu = np.asarray(mu, dtype=np.float64)
    return Prior(mu, np.full_like(mu, sigma), np.full_like(mu, np.nan), np.full(mu.shape, 9, dtype=np.int32))


def density(params: EloMMS, participants: int) -> tuple[Any, Any]:
    """Nodes of the noise and their weights: the exponential of minus the integral of the pull."""
    share = 1.0 - 2.0 / participants
    y = np.linspace(-14.0 * params.skew * params.beta, 8.0 * params.beta, NODES)
    symmetric = -0.5 * (y / params.beta) ** 2
    if params.lower == "logistic":
        scale = math.sqrt(3.0) / math.pi * params.skew * params.beta
        below = -2.0 * np.log(np.cosh(y / (2.0 * scale)))
    else:
        below = -0.5 * (y / (params.skew * params.beta)) ** 2
    weights = np.exp(np.where(y >= 0.0, symmetric, (1.0 - share) * symmetric + share * below))
    return y, weights / weights.sum()


def integral(params: EloMMS, gap: float, spread: float, participants: int) -> float:
    """The chance that gap + spread Z + e1 - e2 > 0, with a normal Z and two noises e."""
    y, weights = density(params, participants)
    return float(weights @ normal((gap + y[:, None] - y[None, :]) / spread) @ weights)


@pytest.mark.quick("40.0-40.0-*")
@pytest.mark.parametrize(
    ("chosen", "participants", "error"),
    [
        ({}, LARGE, 0.0075),
        ({}, 100, 0.0085),
        ({}, 4, 0.011),
        ({}, 2, 1e-6),
        ({"lower": "normal"}, LARGE, 0.001),
        ({"skew": 1.0, "lower": "normal"}, LARGE, 1e-6),
        ({"skew": 2.0}, LARGE, 0.0105),
    ],
)
@pytest.mark.parametrize(("one", "other"), [(40.0, 40.0), (60.0, 350.0)])
def test_chance__is_near_the_integral(
    chosen: dict[str, Any], participants: int, error: float, one: float, other: float
) -> None:
    params = SYSTEM.params(**chosen)
    found = SYSTEM.beats(params, 1.0, participants, prior(1500.0 + GAPS, one), prior(0.0 * GAPS + 1500.0, other))
    expected = [integral(params, gap, math.hypot(one, other), participants) for gap in GAPS.tolist()]
    assert np.abs(found - expected).max() <= error


def test_chance__is_nearer_to_a_half_in_large_rounds_and_surer_with_weight() -> None:
    params, one, other = SYSTEM.params(), prior(1700.0, 60.0), prior(1500.0, 60.0)
    by_size = [float(SYSTEM.beats(params, 1.0, n, one, other)) for n in (2, 3, 10, 1000)]
    assert by_size == sorted(by_size, reverse=True)
    assert by_size[0] > by_size[-1] + 0.03
    assert SYSTEM.win_probability(params, 1.0, one, other) == by_size[0]
    assert SYSTEM.beats(params, 4.0, 1000, one, other) > by_size[-1]


def test_predict__asks_for_a_round_of_as_many_as_there_are() -> None:
    import pandas as pd

    names = [f"p{i}" for i in range(30)]
    _, beliefs = rate_history(
        pd.DataFrame({"contest": "one", "player": names, "rank": range(1, 31)}), system="elo-mms", return_beliefs=True
    )
    few, many = (predict(beliefs, names[:n], system="elo-mms") for n in (2, 30))
    assert 0.5 < many.chance("p0", "p1") < few.chance("p0", "p1")
