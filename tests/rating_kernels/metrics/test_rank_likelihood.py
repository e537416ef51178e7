"""Rank likelihood against its definition, its general properties, and the parameters of generated rounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import twins.rank_likelihood as slow
from helpers.histories import same_bits
from helpers.laws import everybody, field

from ranklake.rating_kernels.core.system import PerformanceLaw
from ranklake.rating_kernels.metrics.metrics import Kept
from ranklake.rating_kernels.metrics.rank_likelihood import DIRECT, rank_likelihood

SHAPES = ("logistic", "normal")
EVERY_ONE = 10**9  # term by term in any round


def expected_of(kept: Kept, law: PerformanceLaw, value: Any = slow.rank_likelihood) -> list[float]:
    found: list[float] = value(law.mean.tolist(), law.deviation.tolist(), kept.lo.tolist(), kept.hi.tolist(), law.shape)
    return found


@pytest.mark.quick("2-*", "6-*", "17-*")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("n", "tied"), [(2, 0.0), (DIRECT, 400.0), (17, 0.0), (24, 300.0)])
def test_rank_likelihood__is_its_definition(shape: Any, n: int, tied: float) -> None:
    kept, law = field(n, shape, tied=tied, seed=n)
    assert (kept.hi > kept.lo).any() == (tied > 0.0)
    assert rank_likelihood(kept, law) == pytest.approx(expected_of(kept, law), abs=2e-8)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("gap", "error"), [(0.0, 1e-12), (300.0, 0.04), (-300.0, 0.04), (-800.0, 0.28)])
def test_rank_likelihood__of_two_is_the_chance_up_to_the_error_of_laplaces_method(
    shape: Any, gap: float, error: float
) -> None:
    """The logarithm of the chance of the result over one half; the error is larger for surprises."""
    law = PerformanceLaw(shape, np.array([1500.0 + gap, 1500.0]), np.full(2, 250.0))
    kept = everybody([0, 1])
    mean, deviation, places = law.mean.tolist(), law.deviation.tolist(), [0, 1]
    won, lost = (slow.integral(mean, deviation, places, places, shape, i) for i in (0, 1))
    assert won == pytest.approx(lost, abs=1e-12)
    assert rank_likelihood(kept, law) == pytest.approx(np.full(2, won + math.log(2.0)), abs=error)


@pytest.mark.quick("30-*", "300-*")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("n", "tied"), [(30, 0.0), (300, 50.0), (300, 2000.0), (1000, 0.0)])
def test_rank_likelihood__from_nodes_equals_the_sums_term_by_term(shape: Any, n: int, tied: float) -> None:
    kept, law = field(n, shape, tied=tied)
    found = rank_likelihood(kept, law)
    assert found == pytest.approx(rank_likelihood(kept, law, EVERY_ONE), abs=2e-8)
    assert not same_bits(found, rank_likelihood(kept, law, EVERY_ONE))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("spread", [1.0, 8.0])
def test_rank_likelihood__holds_for_deviations_and_ratings_far_apart(shape: Any, spread: float) -> None:
    draw = np.random.default_rng(8)
    n = 400
    mu = np.sort(draw.normal(1500.0, 100.0, n) + 9000.0 * (np.arange(n) >= n // 2))[::-1].copy()
    mu[:3] = mu[-3:]  # who finish first nevertheless
    law, kept = PerformanceLaw(shape, mu, 40.0 * spread ** draw.random(n)), everybody(np.arange(n))
    found = rank_likelihood(kept, law)
    assert not same_bits(found, expected := rank_likelihood(kept, law, EVERY_ONE))
    assert found == pytest.approx(expected, rel=1e-10, abs=2e-7)


@pytest.mark.parametrize("shape", SHAPES)
def test_rank_likelihood__of_equal_priors_is_nothing(shape: Any) -> None:
    for lo in (np.arange(60), np.repeat(np.arange(0, 60, 20), 20), np.arange(3), np.array([0, 1, 1])):
        n = len(lo)
        value = rank_likelihood(everybody(lo), PerformanceLaw(shape, np.full(n, 1432.1), np.full(n, 210.0)))
        assert np.abs(value).max() < (5e-8 if n > DIRECT else 1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_rank_likelihood__depends_on_neither_the_origin_nor_the_unit_nor_the_order_within_ties(shape: Any) -> None:
    kept, law = field(200, shape, tied=80.0)
    expected = rank_likelihood(kept, law)
    moved = rank_likelihood(kept, PerformanceLaw(shape, law.mean + 12_345.6, law.deviation))
    assert moved == pytest.approx(expected, abs=1e-8)
    stretched = rank_likelihood(kept, PerformanceLaw(shape, 3.0 * law.mean, 3.0 * law.deviation))
    assert stretched == pytest.approx(expected, abs=1e-8)
    order = np.lexsort((np.random.default_rng(1).random(200), kept.lo))
    assert not np.array_equal(order, np.arange(200))
    assert rank_likelihood(kept, law.take(order)) == pytest.approx(expected[order], abs=1e-9)


@pytest.mark.quick("12-500-logistic")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("n", "rounds"), [(3, 3000), (12, 500), (200, 20)])
def test_rank_likelihood__is_best_for_the_true_parameters(shape: Any, n: int, rounds: int) -> None:
    parts = [field(n, shape, seed=seed) for seed in range(rounds)]
    mean, deviation = (np.concatenate([getattr(law, name) for _, law in parts]) for name in ("mean", "deviation"))
    kept = everybody(np.tile(np.arange(n), rounds), n * np.arange(rounds + 1))

    def value(mean: Any, deviation: Any) -> float:
        return float(rank_likelihood(kept, PerformanceLaw(shape, mean, deviation)).mean())

    best = value(mean, deviation)
    for factor in (0.6, 0.85, 1.2, 1.7):
        assert value(mean, factor * deviation) < best, factor
    assert value(mean + np.random.default_rng(2).normal(0.0, 200.0, len(mean)), deviation) < best
    assert value(np.full_like(mean, 1500.0), deviation) < best
    assert value(3000.0 - mean, deviation) < 0.0


def test_rank_likelihood__is_unknown_for_impossible_deviations_and_in_large_scattered_rounds() -> None:
    kept, law = field(1100, "logistic")
    assert np.isfinite(rank_likelihood(kept, law)).all()
    for bad in (0.0, -1.0, math.nan, math.inf, 1e-9):
        deviation = law.deviation.copy()
        deviation[3] = bad
        assert np.isnan(rank_likelihood(kept, PerformanceLaw("logistic", law.mean, deviation))).all(), bad
    few, one = field(9, "normal")
    assert np.isfinite(rank_likelihood(few, PerformanceLaw("normal", 1e6 * one.mean, one.deviation))).all()


def test_rank_likelihood__has_the_same_bits_alone_and_among_other_rounds() -> None:
    parts = [field(n, "normal", seed=n, tied=50.0) for n in (40, 2, 12, 300)]
    offsets = np.cumsum([0, *(len(kept.rows) for kept, _ in parts)])
    together = everybody(np.concatenate([kept.lo for kept, _ in parts]), offsets)
    mean, deviation = (np.concatenate([getattr(law, name) for _, law in parts]) for name in ("mean", "deviation"))
    alone = np.concatenate([rank_likelihood(*part) for part in parts])
    assert same_bits(rank_likelihood(together, PerformanceLaw("normal", mean, deviation)), alone)
