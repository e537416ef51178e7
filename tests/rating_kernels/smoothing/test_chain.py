"""The skills of one player: cavities of normal performances, and the mode of a dense Newton for skewed ones."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.elo_mms import Law
from twins.smoothing import dense, skewed_mode

from ranklake.rating_kernels.smoothing.chain import SCRATCH, smooth_chain
from ranklake.rating_kernels.smoothing.recursion import Observations, Skills, smooth_player

SIGMA = 350.0


class Walk:
    """A player: performances less the mean of newcomers, the law of each, and what skills change between rounds."""

    def __init__(self, seed: int, n: int, skew: float, logistic: bool, spread: float = 400.0) -> None:
        draw = np.random.default_rng(seed)
        self.skew, self.perf = skew, draw.normal(0.0, spread, n) - spread * draw.exponential(1.0, n)
        upper, share = draw.uniform(80.0, 250.0, n), draw.choice([0.0, 1.0 / 3.0, 0.99], n)
        self.laws = [Law(u, skew * u, tau, logistic) for u, tau in zip(upper.tolist(), share.tolist(), strict=True)]
        self.added, self.growth = draw.random(n) * 4000.0 + 1.0, draw.random(n) * 9.0

    @property
    def precision(self) -> np.ndarray:
        return np.array([1.0 / law.variance for law in self.laws])

    @property
    def sides(self) -> np.ndarray:
        """Precision above, coefficient of the linear terms, bounded share and scale below, each from the definition."""
        rows = []
        for law in self.laws:
            linear = (1.0 - law.share) / law.upper**2 + (0.0 if law.logistic else law.share / law.lower**2)
            scale = math.sqrt(3.0) * law.lower / math.pi
            rows.append((law.upper**-2.0, linear, law.share if law.logistic else 0.0, scale))
        return np.array(rows).T.copy()

    def cavities(self, perf: np.ndarray | None = None, skewed: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances."""
        n = len(self.perf)
        forward, cavity = (Skills(*np.empty((2, n))) for _ in range(2))
        shown = Observations(self.perf if perf is None else perf, self.precision, self.growth, self.added)
        work = np.empty((SCRATCH, n))
        assert smooth_chain(n, SIGMA**2, shown, skewed, self.skew, self.sides, forward, work, cavity)
        return cavity

    def smoothed(self, perf: np.ndarray | None = None) -> np.ndarray:
        """The mean of each cavity after its own performance: the root of the equation of Elo-MMS, bisected."""
        mean, variance = self.cavities(perf)
        return np.array([_update(*each) for each in zip(mean, variance, self.perf if perf is None else perf, self.laws,
                                                        strict=True)])  # fmt: skip

    def mode(self, left_out: int | None = None) -> np.ndarray:
        return skewed_mode(SIGMA, self.perf, self.laws, self.added, self.growth, left_out)


def _update(mean: float, variance: float, perf: float, law: Law) -> float:
    low, high = min(mean, perf), max(mean, perf)
    for _ in range(200):
        x = 0.5 * (low + high)
        y = x - perf
        force = law.pull(y) if y > 0.0 else y / law.upper**2
        low, high = (x, high) if (x - mean) / variance + force < 0.0 else (low, x)
    return 0.5 * (low + high)


cases = given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 9),
    skew=st.sampled_from([1.0, 1.4, 2.5]),
    logistic=st.booleans(),
    spread=st.sampled_from([30.0, 400.0, 3000.0]),
)


@settings(deadline=None)  # the first call compiles
@cases
def test_chain__is_the_mode_of_a_dense_newton(seed: int, n: int, skew: float, logistic: bool, spread: float) -> None:
    walk = Walk(seed, n, skew, logistic, spread)
    np.testing.assert_allclose(walk.smoothed(), walk.mode(), rtol=1e-8, atol=1e-5)


@pytest.mark.slow
def test_chain__cavities_are_near_the_mode_without_their_performances() -> None:
    """In deviations; single ones of strongly skewed performances are far away."""
    errors, changes = [], []
    for seed, n, logistic in product(range(40), (2, 5, 9), (False, True)):
        walk = Walk(seed, n, 1.4, logistic, 100.0)
        mean, variance = walk.cavities()
        exact = np.array([walk.mode(left_out=k)[k] for k in range(n)])
        errors.extend(np.abs(mean - exact) / np.sqrt(variance))
        changes.extend(np.abs(walk.smoothed() - exact) / np.sqrt(variance))
    assert np.median(errors) < 0.02
    assert np.quantile(errors, 0.99) < 0.25
    assert np.sum(errors) < 0.1 * np.sum(changes)


def test_chain__variances_are_those_of_normal_performances() -> None:
    walk = Walk(3, 20, 1.4, True)
    assert np.array_equal(walk.cavities()[1], walk.cavities(skewed=False)[1])


def test_chain__without_skew_has_the_bits_of_the_recursion() -> None:
    walk, n = Walk(4, 20, 1.0, False), 20
    forward, cavity = (Skills(*np.empty((2, n))) for _ in range(2))
    smooth_player(n, SIGMA**2, Observations(walk.perf, walk.precision, walk.growth, walk.added), forward, cavity)
    mean, variance = walk.cavities(skewed=False)
    assert (mean.tobytes(), variance.tobytes()) == (cavity.mean.tobytes(), cavity.variance.tobytes())
    np.testing.assert_allclose(walk.cavities()[0], mean, rtol=1e-10, atol=1e-9)  # Newton finds it too


@settings(deadline=None)
@cases
def test_chain__a_better_performance_lowers_no_skill(
    seed: int, n: int, skew: float, logistic: bool, spread: float
) -> None:
    walk = Walk(seed, n, skew, logistic, spread)
    better = walk.perf.copy()
    better[seed % n] += 50.0
    before, after = walk.smoothed(), walk.smoothed(better)
    assert np.all(after > before - 1e-6)
    assert after[seed % n] > before[seed % n]


def test_chain__one_round_is_the_update_of_a_newcomer() -> None:
    mean, variance = Walk(1, 1, 1.4, True).cavities()
    assert mean[0] == pytest.approx(0.0, abs=1e-9)
    assert variance[0] == pytest.approx(SIGMA**2, rel=1e-15)


def test_chain__a_bad_result_counts_for_less_than_a_good_one_and_has_a_limit() -> None:
    walk = Walk(2, 12, 1.4, True, 10.0)
    walk.laws = [Law(130.0, 182.0, 1.0, True)] * 12
    walk.growth = np.zeros(12)
    usual = np.zeros(12)
    found = []
    for surprise in (400.0, -400.0, -4_000.0, -40_000.0):
        usual[6] = surprise
        found.append(walk.smoothed(usual)[6])
    good, bad, worse, worst = found
    assert good > 1.5 * abs(bad)
    assert worst == pytest.approx(worse, abs=1e-3)  # the force of the logistic side is bounded
    assert worst < bad < 0.0


def test_chain__without_drift_is_one_skill() -> None:
    """No drift makes the precision of the chain infinite; the recursion has no such matrix."""
    walk = Walk(5, 30, 2.5, True)
    walk.added = np.zeros(30)
    walk.growth = np.zeros(30)
    assert np.ptp(walk.smoothed()) < 1e-6


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
