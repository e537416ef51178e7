"""The joint law of a skill at two moments: dense matrices of whole smoothings, moments between rounds, laws."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from helpers.rounds import history
from twins.smoothing import joint

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.smoothing.dates import Moment, Path, chance_higher, difference, log_gains, mean_at
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.recursion import Drift, PlayerRows, RoundModel
from ranklake.rating_kernels.smoothing.sweeps import Smoothed, Smoother

DAY = 86_400
RANKED = Smoothing(beta=130.0, skew=1.4, lower="logistic", practice=8.0, duel=2.0, resolution="rank")


def smooth(params: Smoothing, rounds: Rounds) -> Smoothed:
    smoother = Smoother(params, rounds, int(rounds.player.max()) + 1)
    while not smoother.converged:
        smoother.sweep()
    return smoother.result()


def with_partners(rounds: Rounds) -> Rounds:
    """The same rounds without ties, and the first two of each are partners."""
    sizes = np.concatenate([[2, *[1] * (n - 2)] for n in np.diff(rounds.offsets).tolist()])
    place = np.concatenate([np.arange(n - 1) for n in np.diff(rounds.offsets).tolist()])
    lo = np.repeat(place, sizes)
    teams = Ragged.from_lengths(sizes, np.ones(rounds.n_rows))
    return Rounds.from_columns(rounds.offsets, rounds.player, lo, lo, rounds.time_seconds, teams=teams)


@pytest.mark.parametrize(
    ("params", "teams"),
    [(Smoothing(), False), (RANKED, False), (replace(RANKED, tie_mode="split"), False), (Smoothing(), True)],
    ids=["normal", "ranked", "split", "teams"],
)
def test_smoothing__has_the_joint_law_of_dense_matrices(params: Smoothing, teams: bool) -> None:
    """Deviations of all pairs of rounds of all players, and of moments between and after rounds, seen by nobody."""
    rounds = history([6, 2, 5, 8, 2, 7, 3, 6], 9)
    rounds = with_partners(rounds) if teams else rounds
    result, round_of = smooth(params, rounds), np.repeat(np.arange(len(rounds)), np.diff(rounds.offsets))
    sizes = np.array([hi.max() + 1 for hi in np.split(rounds.hi, rounds.offsets[1:-1])])
    for player in range(9):
        at = np.flatnonzero(rounds.player == player)
        mean, variance = result.smooth_mu[at], result.smooth_sigma[at] ** 2
        seen = 1.0 / variance - 1.0 / result.cavity_sigma[at] ** 2
        path, mine = Path(mean, variance, result.log_gain[at]), round_of[at]
        days = np.diff(rounds.time_seconds[mine], prepend=rounds.time_seconds[mine[0]]) / DAY
        weight = rounds.weight[mine]
        moments, noises, added, rows = [], [], [], []
        for k in range(len(mine)):
            following = int(sizes[mine[min(k + 1, len(mine) - 1)]])
            until = float(days[k + 1]) if k + 1 < len(mine) else 30.0
            first = params.gamma**2 * weight[k] + params.drift_per_day * days[k] * (0.25 if k else 1.0)
            moments += [Moment.after(k, share * until, following, params) for share in (0.0, 0.5, 0.75)]
            noises += [seen[k] ** -0.5, math.inf, math.inf]
            added += [first, params.drift_per_day * until / 2, params.drift_per_day * until / 4]
            rows.append(3 * k)
        _, law = joint(params.sigma_init, np.zeros(len(added)), noises, added, np.zeros(len(added)))
        np.testing.assert_allclose(variance, law[rows, rows], rtol=1e-8)
        for i in range(len(added)):
            for j in range(i, len(added)):
                expected = law[i, i] + law[j, j] - 2.0 * law[i, j]
                assert difference(path, moments[i], moments[j])[1] ** 2 == pytest.approx(expected, rel=1e-6, abs=1e-4)


def test_mean__between_rounds_is_that_of_a_round_that_shows_nothing() -> None:
    """Practice grows with the next round, and time adds its share of the variance."""
    perf, beta, growth = [120.0, -40.0, 260.0], [150.0, 120.0, 180.0], [0.0, 7.0, 5.0]
    params = Smoothing(gamma=30.0, drift_per_day=12.0, practice=14.0, practice_rounds=1.0)
    days = [0.0, 100.0, 50.0]
    added = [0.0] + [params.gamma**2 + params.drift_per_day * day for day in days[1:]]
    mean, law = joint(350.0, perf, beta, added, growth)
    path = Path(mean, np.diag(law), log_gains_of(350.0**2, [beta], [added])[0])
    middle = Moment(0, params.drift_per_day * 40.0, growth[1])
    dense, spread = joint(
        350.0, [perf[0], 0.0, *perf[1:]], [beta[0], math.inf, *beta[1:]],
        [0.0, params.drift_per_day * 40.0, added[1] - params.drift_per_day * 40.0, added[2]], [0.0, 0.0, *growth[1:]],
    )  # fmt: skip
    assert mean_at(path, middle) == pytest.approx(dense[1], abs=1e-9)
    expected = spread[1, 1] + spread[3, 3] - 2.0 * spread[1, 3]
    apart, deviation = difference(path, middle, Moment(2))
    assert (apart, deviation**2) == pytest.approx((dense[3] - dense[1], expected), rel=1e-9)


def log_gains_of(variance: float, beta: list[list[float]], added: list[list[float]]) -> np.ndarray:
    """Of many players with as many rounds each; added variances in whole thousandths."""
    players, n = len(beta), len(beta[0])
    rows = np.arange(players * n, dtype=np.int32)
    time = np.cumsum(np.rint(np.array(added) * 1000.0).astype(np.int64), axis=1).ravel()
    ones, found = np.ones(players * n), np.empty(players * n)
    log_gains(
        *PlayerRows(np.arange(0, players * n + 1, n), rows, rows), np.array(beta).ravel() ** -2.0,
        RoundModel(time, ones, ones, ones), Drift(0.0, DAY / 1000.0, 0.0, 20.0), variance, found,
    )  # fmt: skip
    return found.reshape(players, n)


def test_variance__is_never_negative_on_ten_thousand_walks() -> None:
    """From no drift to gains that vanish, and noises from one point to a million."""
    draw = np.random.default_rng(5)
    beta, added = 10.0 ** draw.uniform(0, 6, (10_000, 5)), np.round(10.0 ** draw.uniform(-4, 12, (10_000, 5)), 3)
    added[draw.random(added.shape) < 0.3] = 0.0
    log_gain = log_gains_of(350.0**2, beta.tolist(), added.tolist())
    forward, information = np.empty_like(beta), np.zeros(len(beta))
    smoothed, v = np.empty_like(beta), np.full(len(beta), 350.0**2)
    for k in range(5):
        v = v + (added[:, k] if k else 0.0)
        forward[:, k] = v
        v = v / (1.0 + v / beta[:, k] ** 2)
    for k in reversed(range(5)):
        smoothed[:, k] = forward[:, k] / (1.0 + forward[:, k] * (information + beta[:, k] ** -2.0))
        information = information + beta[:, k] ** -2.0
        information = information / (1.0 + added[:, k] * information)
    first = draw.integers(0, 4, len(beta))
    for walk, i in enumerate(first.tolist()):
        path = Path(np.zeros(5), smoothed[walk], log_gain[walk])
        _, deviation = difference(path, Moment(i, draw.random()), Moment(4, 2.0))
        assert 0.0 <= deviation < math.inf
        between = sum(added[walk, i + 1 :].tolist())
        assert difference(path, Moment(i), Moment(4))[1] <= math.sqrt(between) * (1 + 1e-9) + 1e-3


@pytest.mark.parametrize("mean", [-300.0, -1.0, 0.0, 1.0, 300.0])
def test_chance__is_that_of_the_normal_law(mean: float) -> None:
    assert chance_higher(mean, 40.0) == pytest.approx(NormalDist(0.0, 40.0).cdf(mean), rel=1e-12)
    assert chance_higher(mean, 0.0) == (1.0 if mean > 0.0 else 0.0 if mean < 0.0 else 0.5)
