"""Figure 1 and equation 7 of the Elo-MMR paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from helpers.experiments import finding, rows, run

from ranklake.flows.experiments.papers import losses
from ranklake.flows.experiments.published import Contender
from ranklake.flows.experiments.walks import walk


@pytest.mark.slow
def test_losses__have_the_values_of_the_curves() -> None:
    """From the specification: LR(1) = .7296, LR(3) = 4.0638, densities .3989 and .4534, weights pi^2/6, 1.305, .599."""
    report = run("losses")
    table = {row["x"]: row for row in rows(report, "losses")}
    assert [round(table[x]["LR"], 4) for x in (1.0, 3.0)] == [0.7296, 4.0638]
    assert [table[x]["L2"] for x in (1.0, 3.0)] == [0.5, 4.5]
    assert [round(table[0.0][f"{law} density"], 4) for law in ("normal", "logistic")] == [0.3989, 0.4534]
    weights = [table[x]["weight of equation 7"] for x in (0.0, 1.0, 3.0)]
    assert weights == pytest.approx([math.pi**2 / 6, 1.305, 0.599], abs=5e-4)
    assert "grows by 1.8138 a deviation" in finding(report)
    assert len(report.pictures) == 1


def test_losses__are_minus_the_logarithms_of_densities_of_variance_1() -> None:
    x, step = np.linspace(-40.0, 40.0, 80_001, retstep=True)
    for density, loss in zip(losses.densities(x), (losses.normal_loss(x), losses.logistic_loss(x)), strict=True):
        assert np.sum(density) * step == pytest.approx(1.0, abs=1e-12)
        assert np.sum(density * x * x) * step == pytest.approx(1.0, abs=1e-9)
        near = np.abs(x) < 6.0
        assert np.allclose(-np.log(density[near] / density[40_000]), loss[near], atol=1e-9)
    assert np.allclose(np.gradient(losses.logistic_loss(x), x)[1:-1], losses.logistic_pull(x)[1:-1], atol=1e-6)
    assert (losses.logistic_loss(np.array([1e-4])) / 1e-8)[0] == pytest.approx(math.pi**2 / 12, rel=1e-6)
    assert losses.robust_weight(np.array([1e6]))[0] < 2e-6


@pytest.mark.parametrize("rho", [0.0, 0.04, 1.0, 5.0])
def test_weighted_mean__of_equation_7_is_the_rating(rho: float) -> None:
    rng = np.random.default_rng(8)
    for spread in (30.0, 300.0, 1500.0):
        ratings, belief = walk(Contender("", "elo-mmr", {"rho": rho}), rng.normal(1500.0, spread, 25).tolist())
        assert losses.weighted_mean(belief, ratings[-1]) == pytest.approx(ratings[-1], abs=1e-10)
        assert abs(losses.weighted_mean(belief, ratings[-1] + 50.0) - ratings[-1] - 50.0) > 1.0
