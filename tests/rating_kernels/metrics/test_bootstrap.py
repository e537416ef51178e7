"""The paired bootstrap over rounds."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.histories import same_bits

from ranklake.rating_kernels.metrics.bootstrap import MOST_UNITS, interval, resampled_sums


def test_resampled_sums__have_the_spread_of_a_mean() -> None:
    values = np.random.default_rng(1).exponential(2.0, 500)
    found = resampled_sums(np.stack([values, np.ones(500)], axis=1))
    assert same_bits(found[:, 1], np.full(len(found), 500.0))  # as many rounds as there are
    mean = found[:, 0] / found[:, 1]
    error = values.std() / np.sqrt(500)
    assert mean.mean() == pytest.approx(values.mean(), abs=0.1 * error)
    assert mean.std() == pytest.approx(error, rel=0.06)
    low, high = interval(mean)
    assert (low, high) == pytest.approx((values.mean() - 1.96 * error, values.mean() + 1.96 * error), abs=0.25 * error)


def test_resampled_sums__have_the_same_draws_for_two_systems() -> None:
    draw = np.random.default_rng(2)
    one = draw.normal(0.0, 5.0, (300, 2, 3))
    again, shifted = resampled_sums(one), resampled_sums(one + 1.0)
    assert again.shape == (len(again), 2, 3)
    assert same_bits(again, resampled_sums(one.copy()))
    assert shifted - again == pytest.approx(np.full_like(again, 300.0))
    assert not np.array_equal(again, resampled_sums(one, seed=1))


@pytest.mark.slow
def test_resampled_sums__of_many_rounds_are_drawn_in_blocks() -> None:
    n = 3 * MOST_UNITS + 5
    values = np.random.default_rng(3).normal(1.0, 1.0, n)
    found = resampled_sums(np.stack([values, np.ones(n)], axis=1))
    ratio = found[:, 0] / found[:, 1]
    assert ratio.mean() == pytest.approx(values.mean(), abs=0.002)
    assert ratio.std() == pytest.approx(1.0 / np.sqrt(n), rel=0.06)


def test_interval__of_unknown_values_is_unknown() -> None:
    assert interval(np.array([np.nan, 1.0, 2.0, 3.0]), 0.5) == (1.5, 2.5)
    assert np.isnan(interval(np.array([np.nan]))).all()
    assert interval(resampled_sums(np.array([4.0]))) == (4.0, 4.0)  # one round
