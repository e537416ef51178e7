"""The messages of one player: laws, and dense matrices as a twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.smoothing import dense

from ranklake.rating_kernels.smoothing.recursion import Observations, Skills, smooth_player

SIGMA = 350.0


def walk(seed: int, n: int, drift: float = 4000.0, growth: float = 9.0) -> tuple[np.ndarray, ...]:
    """perf (relative to newcomers), beta, added and growth of one player."""
    draw = np.random.default_rng(seed)
    return draw.normal(0.0, 300.0, n), draw.uniform(80.0, 300.0, n), draw.random(n) * drift, draw.random(n) * growth


def cavities(perf, beta, added, growth, variance: float = SIGMA**2) -> Skills:
    n = len(perf)
    forward, cavity = (Skills(np.empty(n), np.empty(n)) for _ in range(2))
    smooth_player(n, variance, Observations(perf, beta**-2.0, growth, added), forward, cavity)
    return cavity


def smoothed(perf, beta, added, growth) -> tuple[np.ndarray, np.ndarray]:
    """Cavity times observation."""
    mean, variance = cavities(perf, beta, added, growth)
    gain = variance / (variance + beta**2)
    return mean + gain * (perf - mean), gain * beta**2


@settings(deadline=None)  # the first call compiles
@given(seed=st.integers(0, 10_000), n=st.integers(1, 12))
def test_recursion__agrees_with_dense_matrices(seed: int, n: int) -> None:
    perf, beta, added, growth = walk(seed, n)
    added += 1.0
    expected = dense(0.0, SIGMA, perf, beta, added, growth)
    mean, variance = cavities(perf, beta, added, growth)
    own, own_variance = smoothed(perf, beta, added, growth)
    np.testing.assert_allclose(mean, expected["mu_out"], rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(np.sqrt(variance), expected["sig_out"], rtol=1e-9)
    np.testing.assert_allclose(own, expected["mu"], rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(np.sqrt(own_variance), expected["sig"], rtol=1e-9)


def test_recursion__one_round_leaves_the_newcomer_as_its_cavity() -> None:
    mean, variance = cavities(*walk(1, 1))
    assert (mean[0], variance[0]) == (0.0, pytest.approx(SIGMA**2, rel=1e-15))


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 40))
def test_recursion__without_drift_is_one_bayesian_mean(seed: int, n: int) -> None:
    perf, beta, _, _ = walk(seed, n)
    mean, variance = smoothed(perf, beta, np.zeros(n), np.zeros(n))
    precision = SIGMA**-2.0 + np.sum(beta**-2.0)
    np.testing.assert_allclose(variance, 1.0 / precision, rtol=1e-12)
    np.testing.assert_allclose(mean, np.sum(perf * beta**-2.0) / precision, rtol=1e-10, atol=1e-9)


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 30))
def test_recursion__has_no_direction_where_nothing_is_known_at_first(seed: int, n: int) -> None:
    """With a flat prior and no growth, time may as well run backwards."""
    perf, beta, added, _ = walk(seed, n)
    added[0] = 0.0
    reverse = np.concatenate(([0.0], added[:0:-1]))
    out = cavities(perf, beta, added, np.zeros(n), 1e16)
    back = cavities(perf[::-1].copy(), beta[::-1], reverse, np.zeros(n), 1e16)
    np.testing.assert_allclose(back.mean[::-1], out.mean, rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(back.variance[::-1], out.variance, rtol=1e-6)


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 30))
def test_recursion__the_last_smoothed_belief_is_that_of_the_filter(seed: int, n: int) -> None:
    perf, beta, added, growth = walk(seed, n)
    mean, variance = smoothed(perf, beta, added, growth)
    m, v = 0.0, SIGMA**2
    for k in range(n):
        m, v = (m + growth[k], v + added[k]) if k else (m, v)
        gain = v / (v + beta[k] ** 2)
        m, v = m + gain * (perf[k] - m), gain * beta[k] ** 2
    np.testing.assert_allclose([mean[-1], variance[-1]], [m, v], rtol=1e-10, atol=1e-9)


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 30))
def test_recursion__a_cavity_does_not_depend_on_its_own_performance(seed: int, n: int) -> None:
    perf, beta, added, growth = walk(seed, n)
    k = seed % n
    mean, variance = cavities(perf, beta, added, growth)
    changed = perf.copy()
    changed[k] += 1000.0
    other, other_variance = cavities(changed, beta, added, growth)
    assert other[k] == pytest.approx(mean[k], abs=1e-9)
    assert np.array_equal(other_variance, variance)
    assert np.all(np.delete(other, k) > np.delete(mean, k))
