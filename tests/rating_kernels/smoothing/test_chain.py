"""The skills of one player with skewed performances: the mode of a dense Newton, cavities, laws."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.elo_mms import Law
from twins.smoothing import skewed_mode

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
