"""Laws of covariances of the Bradley-Terry model."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ranklake.rating_kernels.bradley_terry.comparisons import Comparisons, merged
from ranklake.rating_kernels.bradley_terry.covariance import covariance
from ranklake.rating_kernels.bradley_terry.fit import fit
from ranklake.rating_kernels.bradley_terry.params import UNIT, BradleyTerry

PLAYERS, SLOPE = 10, 0.5
SKILLS = np.linspace(-1.0, 1.0, PLAYERS)
A, B = np.triu_indices(PLAYERS, 1)


def games(rng: np.random.Generator, m: int, ties: float = 0.0) -> Comparisons:
    first = rng.integers(0, PLAYERS, m)
    second = (first + rng.integers(1, PLAYERS, m)) % PLAYERS
    x = rng.standard_normal((m, 1))
    won = rng.random(m) < 1.0 / (1.0 + np.exp(-(SKILLS[first] - SKILLS[second] + SLOPE * x[:, 0])))
    return Comparisons.of(first, second, np.where(rng.random(m) < ties, 0.5, won), x)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sandwich", "model"])
def test_covariance__intervals_cover_what_they_promise(kind: str) -> None:
    rng, params = np.random.default_rng(31), BradleyTerry(covariates=("x",), covariance=kind)
    inside = []
    for _ in range(200):
        rows = merged(games(rng, 600))
        found = fit(rows, PLAYERS, params)
        spread = covariance(found, rows, params)
        strengths = np.abs(found.theta - SKILLS) * UNIT < 1.96 * spread.sigma
        slope = np.abs(found.gamma - SLOPE) < 1.96 * spread.coefficient_errors
        apart = found.theta[A] - found.theta[B] - (SKILLS[A] - SKILLS[B])
        inside.append((strengths.mean(), slope[0], np.mean(np.abs(apart) * UNIT < 1.96 * spread.of_differences(A, B))))
    shares = np.mean(inside, axis=0)
    assert (shares > 0.93).all(), shares
    assert (shares < 0.97).all(), shares


def test_covariance__of_twice_the_games_is_half() -> None:
    rows = merged(games(np.random.default_rng(32), 800))
    params = BradleyTerry(ridge=math.inf, covariate_sd=math.inf)
    one = fit(rows, PLAYERS, params)
    twice = rows._replace(count=2.0 * rows.count)
    other = fit(twice, PLAYERS, params, one)
    assert other.theta == pytest.approx(one.theta, abs=1e-10)
    sigmas = covariance(one, rows, params).sigma, covariance(other, twice, params).sigma
    assert sigmas[1] * math.sqrt(2.0) == pytest.approx(sigmas[0], rel=1e-9)


def test_covariance__a_tie_as_half_a_win_and_half_a_loss_has_residuals_of_its_own() -> None:
    rows, params = games(np.random.default_rng(33), 500, ties=0.4), BradleyTerry()
    drawn = rows.result == 0.5
    halves = [
        rows.take(drawn)._replace(result=np.full(drawn.sum(), y), weight=np.full(drawn.sum(), 0.5)) for y in (0.0, 1.0)
    ]
    whole, split = merged(rows), merged(rows.take(~drawn), *halves)
    found, other = fit(whole, PLAYERS, params), fit(split, PLAYERS, params)
    assert other.theta == pytest.approx(found.theta, abs=1e-11)
    assert (covariance(other, split, params).sandwich > covariance(found, whole, params).sandwich).all()


def test_covariance__ignores_the_common_level_and_sums_to_zero() -> None:
    rows, params = merged(games(np.random.default_rng(34), 300)), BradleyTerry(covariates=("x",))
    found = fit(rows, PLAYERS, params)
    for kind in ("sandwich", "model"):
        whole = covariance(found, rows, BradleyTerry(covariates=("x",), covariance=kind)).matrix
        assert whole[:PLAYERS, :PLAYERS].sum(axis=0) == pytest.approx(0.0, abs=1e-12)
        assert (np.linalg.eigvalsh(whole) > -1e-12).all()


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_covariance__of_clusters(ties: str) -> None:
    """Of one game each it is the sandwich; copies of a cluster's games count once."""
    rows = games(np.random.default_rng(35), 400, ties=0.3)
    plain, clustered = (BradleyTerry(covariates=("x",), ties=ties, covariance=kind) for kind in ("sandwich", "cluster"))
    found = fit(merged(rows), PLAYERS, plain)
    single = covariance(found, rows, clustered, np.arange(400))
    assert single.matrix == pytest.approx(covariance(found, rows, plain).matrix * 400.0 / 399.0, rel=1e-9, abs=1e-13)
    twice, of = merged(rows)._replace(count=2.0 * merged(rows).count), np.repeat(np.arange(400), 2)
    copies = rows.take(np.repeat(np.arange(400), 2))
    pairs = covariance(fit(twice, PLAYERS, plain), copies, clustered, of)
    wide = covariance(fit(twice, PLAYERS, plain), copies, plain)
    assert pairs.sandwich == pytest.approx(wide.sandwich * math.sqrt(2.0 * 400.0 / 399.0), rel=1e-9)
    for clusters, words in [(None, "cluster of each of 400 rows"), (np.zeros(400, np.int64), "two clusters")]:
        with pytest.raises(ValueError, match=words):
            covariance(found, rows, clustered, clusters)


def test_covariance__drops_ties_with_their_clusters() -> None:
    rows = games(np.random.default_rng(36), 300, ties=0.3)
    params = BradleyTerry(ties="drop", covariance="cluster")
    found, clusters = fit(merged(rows), PLAYERS, params), np.arange(300) // 3
    played = rows.result != 0.5
    whole, part = (covariance(found, *given).sigma for given in (
        (rows, params, clusters), (rows.take(played), params, clusters[played]),
    ))  # fmt: skip
    assert whole.tolist() == part.tolist()
