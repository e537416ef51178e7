"""Rank information against its definition, its general properties, and the laws of performances behind it."""

from __future__ import annotations

import math
from time import process_time
from typing import Any

import numpy as np
import pytest
import twins.rank_information as slow
from helpers.histories import same_bits
from helpers.laws import everybody, field

from ranklake.rating_kernels import SYSTEMS, Prior, System
from ranklake.rating_kernels.core.standings import Conditions
from ranklake.rating_kernels.core.system import PerformanceLaw
from ranklake.rating_kernels.inference.win_probability import logistic_win_probability, normal_win_probability
from ranklake.rating_kernels.metrics.rank_information import LEAST, PARTS, rank_information, rank_levels

SHAPES = ("logistic", "normal")
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "elo": [{}, {"cdf": "normal"}],
    "bar": [{}, {"variant": "btfull"}],
    "elo-mmr": [{}, {"noob_delay": (0.4,), "drift_per_day": 3.0}],
}


@pytest.mark.quick("30-*", "40-*")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("n", "tied"), [(LEAST, 0.0), (47, 60.0), (80, 700.0), (40, 1e6 / 3)])
def test_rank_information__is_its_definition(shape: Any, n: int, tied: float) -> None:
    kept, law = field(n, shape, tied=tied, seed=n)
    if not len(kept.rows):  # all tied: no score
        kept, law = field(n, shape, tied=900.0, seed=n)
    expected = slow.rank_information(
        law.mean.tolist(), law.deviation.tolist(), kept.lo.tolist(), kept.hi.tolist(), shape
    )
    assert rank_information(kept, law) == pytest.approx(expected, abs=1e-10)
    if tied == 700.0:
        assert max(kept.hi - kept.lo) + 1 > PARTS  # the interval of a large group is divided


@pytest.mark.quick("6.0-*")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("spread", [1.0, 6.0, 30.0])
def test_rank_information__holds_for_deviations_and_ratings_far_apart(shape: Any, spread: float) -> None:
    """Levels of the table, clusters of ratings, and a place on the edge of a gap between them."""
    draw = np.random.default_rng(8)
    n = 40
    mu = np.sort(draw.normal(1500.0, 100.0, n) + 9000.0 * (np.arange(n) >= n // 2))[::-1].copy()
    deviation = 40.0 * spread ** draw.random(n)
    kept = everybody(np.arange(n))
    expected = slow.rank_information(mu.tolist(), deviation.tolist(), kept.lo.tolist(), kept.hi.tolist(), shape)
    assert rank_information(kept, PerformanceLaw(shape, mu, deviation)) == pytest.approx(expected, rel=1e-9, abs=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_rank_information__of_equal_priors_is_nothing(shape: Any) -> None:
    lo = np.repeat(np.arange(0, 60, 20), 20)
    for kept in (everybody(np.arange(60)), everybody(lo)):
        value = rank_information(kept, PerformanceLaw(shape, np.full(60, 1432.1), np.full(60, 210.0)))
        assert np.abs(value).max() < 1e-11


@pytest.mark.parametrize("shape", SHAPES)
def test_rank_information__depends_on_neither_the_origin_nor_the_unit_nor_the_order_within_ties(shape: Any) -> None:
    kept, law = field(200, shape, tied=80.0)
    expected = rank_information(kept, law)
    moved = rank_information(kept, PerformanceLaw(shape, law.mean + 12_345.6, law.deviation))
    assert moved == pytest.approx(expected, abs=1e-9)
    stretched = rank_information(kept, PerformanceLaw(shape, 3.0 * law.mean, 3.0 * law.deviation))
    assert stretched == pytest.approx(expected, abs=1e-9)
    draw = np.random.default_rng(1)
    order = np.lexsort((draw.random(200), kept.lo))  # the standings with every tie group shuffled
    assert not np.array_equal(order, np.arange(200))
    shuffled = rank_information(kept, law.take(order))
    assert shuffled == pytest.approx(expected[order], abs=1e-11)


@pytest.mark.parametrize("shape", SHAPES)
def test_rank_information__is_larger_for_informative_priors_and_best_for_the_true_ones(shape: Any) -> None:
    kept, law = field(3000, shape)
    means = {width: rank_information(*field(3000, shape, width)).mean() for width in (0.0, 150.0, 400.0, 900.0)}
    assert list(means.values()) == sorted(means.values())
    best = rank_information(kept, law).mean()
    for factor in (0.6, 0.85, 1.2, 1.7):  # too sure and too modest
        assert rank_information(kept, PerformanceLaw(shape, law.mean, factor * law.deviation)).mean() < best
    blurred = law.mean + np.random.default_rng(2).normal(0.0, 200.0, 3000)
    assert rank_information(kept, PerformanceLaw(shape, blurred, law.deviation)).mean() < best
    upside_down = PerformanceLaw(shape, law.mean[::-1].copy(), law.deviation[::-1].copy())
    assert rank_information(kept, upside_down).mean() < 0.0


@pytest.mark.parametrize("shape", SHAPES)
def test_rank_information__is_smooth_where_pair_inversion_is_flat(shape: Any) -> None:
    """The order of ratings does not depend on the deviations; the information has a slope in them."""
    kept, law = field(500, shape)
    scales = 1.0 + 1e-4 * np.arange(-2, 3)
    means = [rank_information(kept, PerformanceLaw(shape, law.mean, scale * law.deviation)).mean() for scale in scales]
    first, second = np.diff(means), np.diff(means, 2)
    assert np.all(first != 0.0)
    assert np.abs(second).max() < 0.01 * np.abs(first).max() + 1e-7


def test_rank_information__is_unknown_in_small_rounds_and_for_impossible_deviations() -> None:
    kept, law = field(LEAST, "logistic")
    assert np.isfinite(rank_information(kept, law)).all()
    few = everybody(np.arange(LEAST - 1))
    assert np.isnan(rank_information(few, law.take(np.arange(LEAST - 1)))).all()
    assert np.isfinite(rank_levels(few, law.take(np.arange(LEAST - 1)))).all()
    for bad in (0.0, -1.0, math.nan, math.inf, 1e-9):
        deviation = law.deviation.copy()
        deviation[3] = bad
        assert np.isnan(rank_information(kept, PerformanceLaw("logistic", law.mean, deviation))).all(), bad


def test_rank_information__has_the_same_bits_alone_and_among_other_rounds() -> None:
    parts = [field(n, "normal", seed=n, tied=50.0) for n in (40, 12, 300)]
    offsets = np.cumsum([0, *(len(kept.rows) for kept, _ in parts)])
    together = everybody(np.concatenate([kept.lo for kept, _ in parts]), offsets)
    mean, deviation = (np.concatenate([getattr(law, name) for _, law in parts]) for name in ("mean", "deviation"))
    alone = np.concatenate([rank_information(*part) for part in parts])
    assert same_bits(rank_information(together, PerformanceLaw("normal", mean, deviation)), alone)


@pytest.mark.parametrize("shape", SHAPES)
def test_rank_information__costs_linear_time(shape: Any) -> None:
    def seconds(n: int) -> float:
        kept, law = field(n, shape)
        best = math.inf
        for _ in range(3):
            began = process_time()
            rank_information(kept, law)
            best = min(best, process_time() - began)
        return best

    seconds(100)
    assert seconds(64_000) < 40.0 * seconds(8_000)  # 8 if linear, 64 if quadratic


@pytest.mark.parametrize("shape", SHAPES)
def test_rank_levels__are_the_quantiles_of_the_field(shape: Any) -> None:
    kept, law = field(400, shape, tied=0.0)
    level = rank_levels(kept, law)
    assert np.all(np.diff(level) < 0.0)
    z = (level[:, None] - law.mean) / law.deviation
    below = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0)))(z) if shape == "normal" else (
        1.0 / (1.0 + np.exp(-z * math.pi / math.sqrt(3.0)))
    )  # fmt: skip
    assert 1.0 - below.mean(axis=1) == pytest.approx((np.arange(400) + 0.5) / 400, abs=1e-12)


@pytest.mark.parametrize("name", list(SYSTEMS))
def test_performance_law__agrees_with_the_chances_of_the_system(name: str) -> None:
    """Two performances drawn from the laws come in the order that the system's own curve says, nearly or exactly."""
    system: System = SYSTEMS[name]
    assert system.performance_law is not None
    mu = np.array([1500.0, 1500.0, 1700.0, 1300.0, 2400.0])
    sigma = np.array([80.0, 350.0, 120.0, 60.0, 200.0])
    for options in OPTIONS.get(name, [{}]):
        params = system.params(**options)
        for weight in (1.0, 0.4):
            prior = Prior(mu, sigma, np.full(5, np.nan), np.array([0, 1, 9, 30, 200], dtype=np.int32))
            law = system.performance_law(params, Conditions(np.full(5, weight)), np.full(5, 2), prior)
            assert law.mean.shape == law.deviation.shape == (5,)
            for i in range(5):
                one, other = (Prior(*(column[at : at + 1] for column in prior)) for at in (0, i))
                chance = float(system.win_probability(params, Conditions(weight), one, other)[0])
                between = normal_win_probability if law.shape == "normal" else logistic_win_probability
                drawn = float(between(law.mean[0] - law.mean[i], law.deviation[0], law.deviation[i]))
                assert drawn == pytest.approx(chance, abs=0.012), (options, weight, i)
