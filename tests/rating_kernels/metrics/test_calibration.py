"""Calibration against every pair one by one, against chances that are true by construction, and its properties."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import twins.calibration as slow
from helpers.histories import same_bits
from helpers.strategies import places, repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.rating_kernels import SYSTEMS, Prior
from ranklake.rating_kernels.core.standings import Conditions
from ranklake.rating_kernels.inference.win_probability import logistic, normal_win_probability
from ranklake.rating_kernels.metrics.calibration import PairSums, calibration_error, score_pairs
from ranklake.rating_kernels.metrics.metrics import keep
from ranklake.rating_kernels.metrics.pair_cells import FEW, pair_kinds

SCALE = 400.0 / math.log(10.0)


def prior_of(mu: Any, sigma: Any = None) -> Prior:
    mu = np.asarray(mu, dtype=np.float64)
    sigma = np.full(len(mu), 100.0) if sigma is None else np.asarray(sigma)
    return Prior(mu, sigma, np.full(len(mu), np.nan), np.full(len(mu), 9, np.int32))


def scored(
    lo: Any, prior: Prior, offsets: Any = None, name: str = "elo", deviation: Any = None, **settings: Any
) -> PairSums:
    """The sums of all rows of some rounds, by a system."""
    offsets = np.array([0, len(lo)]) if offsets is None else np.asarray(offsets)
    kept = keep(offsets, np.asarray(lo, np.int32), np.ones(len(lo), dtype=bool), all_tied=True)
    system, sizes = SYSTEMS[name], np.diff(offsets)
    params = system.params(**settings)
    if deviation is None:
        each = np.repeat(sizes, sizes)
        assert system.performance_law is not None
        deviation = system.performance_law(params, Conditions(), each, prior).deviation
    rows = kept.rows
    return score_pairs(
        kept, Prior(*(column[rows] for column in prior)), np.array(deviation)[rows],
        lambda rounds, one, other: system.beats(params, Conditions(), sizes[rounds], one, other),
    )  # fmt: skip


def means(sums: PairSums) -> tuple[float, float, float]:
    """Cross-entropy, squared error and calibration error of all rounds."""
    weight = sums.weight.sum()
    return (
        sums.cross_entropy.sum() / weight, sums.squared_error.sum() / weight,
        float(calibration_error(sums.bins.sum(axis=0))),
    )  # fmt: skip


def crowd(n: int, name: str = "elo-mmr", boldness: float = 1.0, tied: float = 0.0, seed: int = 3) -> Any:
    """A round drawn from a system's own laws: places, prior, deviations. Chances of a factor ``boldness`` too sure."""
    draw = np.random.default_rng(seed)
    mu, sigma = draw.normal(1500.0, 300.0, n), draw.uniform(60.0, 250.0, n)
    system, prior = SYSTEMS[name], prior_of(mu, sigma)
    assert system.performance_law is not None
    law = system.performance_law(system.params(), Conditions(), np.full(n, n), prior)
    error = draw.normal(size=n) if law.shape == "normal" else draw.logistic(0.0, math.sqrt(3.0) / math.pi, n)
    shown = law.mean + boldness * law.deviation * error
    shown = -(np.round(shown / tied) * tied if tied else shown)
    order = np.argsort(shown, kind="stable")
    lo = np.searchsorted(shown[order], shown[order])
    return lo, Prior(*(column[order] for column in prior)), law.deviation[order]


def test_pairs__of_three_players_are_those_by_hand() -> None:
    """Elo with 400 points a factor of ten: chances 10/11, 10/11 and 1/2; the second tie with the third."""
    found = scored([0, 1, 1], prior_of([1900.0, 1500.0, 1500.0]), n=400.0)
    high = math.log2(11 / 10)
    assert found.weight.tolist() == [3]
    assert means(found)[:2] == pytest.approx([(2 * high + 1.0) / 3, 2 * (1 / 11) ** 2 / 3], rel=1e-14)
    table = found.table()
    assert [(row.pairs, row.weight) for row in table if row.pairs] == [(1, 1.0), (2, 2.0)]
    assert (table[0].chance, table[0].seen) == (0.5, 0.5)
    assert (table[8].least, table[8].most) == (0.9, 0.95)
    assert (table[8].chance, table[8].seen) == pytest.approx((10 / 11, 1.0))
    assert means(found)[2] == pytest.approx(100.0 * 2 / 3 * (1 / 11))


@st.composite
def rounds(draw: st.DrawFn) -> tuple[list[float], list[int]]:
    n = draw(st.integers(2, 25))
    rating = draw(st.sampled_from([st.integers(12, 17).map(lambda x: 100.0 * x), st.floats(600, 3500)]))
    mu = draw(st.lists(rating, min_size=n, max_size=n))
    return mu, [lo for lo, _ in draw(places(n))]


@given(st.lists(rounds(), min_size=1, max_size=4))
@repeatable(60)
def test_pairs__of_small_rounds_are_those_one_by_one(contests: list[Any]) -> None:
    mu = [value for contest, _ in contests for value in contest]
    lo = [place for _, contest in contests for place in contest]
    offsets = np.cumsum([0, *(len(contest) for contest, _ in contests)])
    found = scored(lo, prior_of(mu), offsets)
    for r, (ratings, at) in enumerate(contests):
        bits, squares, bins = slow.pair_sums(at, lambda i, j, x=ratings: 1.0 / (1.0 + math.exp((x[j] - x[i]) / SCALE)))
        n = len(at)
        assert found.weight[r] == n
        assert found.cross_entropy[r] / n == pytest.approx(bits, rel=1e-9)
        assert found.squared_error[r] / n == pytest.approx(squares, rel=1e-9, abs=1e-15)
        assert calibration_error(found.bins[r]) == pytest.approx(slow.calibration_error(bins), abs=1e-9)
        assert found.bins[r, :, 0].sum() == n * (n - 1) // 2
        assert found.bins[r, :, 1].sum() == pytest.approx(n)


@pytest.mark.quick("glicko-0.0", "bar-0.0")
@pytest.mark.parametrize("tied", [0.0, 150.0, 400.0])
@pytest.mark.parametrize("name", ["elo", "elo-mmr", "elo-mms", "glicko", "bar"])
def test_pairs__of_a_crowd_are_nearly_those_one_by_one(name: str, tied: float) -> None:
    lo, prior, deviation = crowd(400, name, tied=tied)
    n = len(lo)
    assert n > FEW
    found = scored(lo, prior, name=name, deviation=deviation)
    system = SYSTEMS[name]
    one, other = np.triu_indices(n, 1)
    first, second = (Prior(*(column[rows] for column in prior)) for rows in (one, other))
    chance = np.zeros((n, n))
    chance[one, other] = system.beats(system.params(), Conditions(), np.full(len(one), n), first, second)
    table = chance.tolist()
    bits, squares, bins = slow.pair_sums(lo.tolist(), lambda i, j: table[i][j])
    expected = bits, squares, slow.calibration_error(bins)
    assert means(found)[:2] == pytest.approx(expected[:2], abs=1e-3)
    assert means(found)[2] == pytest.approx(expected[2], abs=0.08)  # percent
    pairs = n * (n - 1) / 2
    assert found.bins[0, :, 0].sum() == pytest.approx(pairs, rel=1e-12)
    assert found.bins[0, :, 0] / pairs == pytest.approx(np.array([one[0] for one in bins]) / pairs, abs=0.003)


def test_pairs__do_not_depend_on_the_rounds_beside_them() -> None:
    sizes = [3, 400, 2, 130, 60, 2000, 128, 129]
    parts = [crowd(n, seed=n, tied=100.0) for n in sizes]
    lo, deviation = np.concatenate([one[0] for one in parts]), np.concatenate([one[2] for one in parts])
    prior = Prior(*(np.concatenate(column) for column in zip(*(one[1] for one in parts), strict=True)))
    together = scored(lo, prior, np.cumsum([0, *sizes]), "elo-mmr", deviation)
    alone = PairSums.joined([scored(*one[:2], name="elo-mmr", deviation=one[2]) for one in parts])
    for field in fields(PairSums):
        assert same_bits(getattr(together, field.name), getattr(alone, field.name)), field.name


@pytest.mark.parametrize("name", ["elo", "elo-mmr", "elo-mms"])
def test_pairs__of_equal_priors_are_even_chances(name: str) -> None:
    """Also if the chance is 1/2 up to rounding: the better place is not the favourite."""
    for n in (2, 50, 300):
        found = scored(np.arange(n), prior_of([1500.0] * n), name=name)
        assert means(found) == pytest.approx((1.0, 0.25, 0.0), abs=1e-12)
        assert found.table()[0].pairs == n * (n - 1) // 2


@pytest.mark.parametrize("mu", [[0.0, 1e6, -1e6], [0.0, 1e-9, 1e12]])
def test_pairs__of_ratings_far_apart_have_finite_scores(mu: list[float]) -> None:
    many = np.resize(mu, 300)
    assert np.isfinite(means(scored(np.arange(300), prior_of(many)))).all()


@pytest.mark.parametrize("mu", [[0.0, 1e308, -1e308], [math.nan, 0.0, 9.0], [7.0, math.inf, 0.0]])
def test_pairs__of_ratings_beyond_numbers_stay_in_their_cells(mu: list[float]) -> None:
    kept = keep(np.array([0, 300]), np.arange(300, dtype=np.int32), np.ones(300, dtype=bool))
    for deviation in ([200.0], [200.0, math.nan, 900.0], [math.nan], [math.inf, 1.0], [0.0, 5.0]):
        stop, kinds = pair_kinds(kept, 0, np.resize(mu, 300), np.resize(deviation, 300))
        assert stop == 1
        assert kinds.won.sum() + kinds.lost.sum() == pytest.approx(300 * 299 / 2)


@pytest.mark.parametrize("boldness", [1.0, 2.0])
def test_calibration_error__is_the_distance_from_true_chances(boldness: float) -> None:
    """Performances are as wide as the system says, or twice as wide: their true chances are known."""
    n, each, expected = 40, 200, []
    parts = [crowd(each, "elo-mmx", boldness, seed=seed) for seed in range(n)]
    for _, prior, deviation in parts:
        one, other = np.triu_indices(each, 1)
        gap = np.abs(prior.mu[one] - prior.mu[other])
        said, true = (normal_win_probability(gap, k * deviation[one], k * deviation[other]) for k in (1.0, boldness))
        expected.append(100.0 * float(np.mean(said - true)))
    lo, deviation = np.concatenate([one[0] for one in parts]), np.concatenate([one[2] for one in parts])
    prior = Prior(*(np.concatenate(column) for column in zip(*(one[1] for one in parts), strict=True)))
    sums = scored(lo, prior, np.arange(0, n * each + 1, each), "elo-mmx", deviation)
    assert means(sums)[2] == pytest.approx(np.mean(expected), abs=0.6)  # of sampling
    assert (means(sums)[2] > 8.0) == (boldness > 1.0)


def test_scores__of_duels_are_best_for_true_chances() -> None:
    """Results drawn with Elo's own chances, and scored with half and twice their scale."""
    rng = np.random.default_rng(4)
    n = 40_000
    skill = rng.normal(1500.0, 250.0, (n, 2))
    won = rng.random(n) < logistic((skill[:, 0] - skill[:, 1]) / SCALE)
    prior = prior_of(np.where(won[:, None], skill, skill[:, ::-1]).ravel())
    lo, offsets = np.tile([0, 1], n), np.arange(0, 2 * n + 1, 2)
    true, bold, shy = (means(scored(lo, prior, offsets, n=scale)) for scale in (400.0, 200.0, 800.0))
    for good, *others in zip(true, bold, shy, strict=True):
        assert good < min(others)
    assert true[2] < 1.0 < 5.0 < min(bold[2], shy[2])


def test_pairs__of_periods_are_those_of_their_games() -> None:
    draw = np.random.default_rng(4)
    n = 60
    games = scored(np.tile([0, 1], n), prior_of(draw.normal(1500, 200, 2 * n)), np.arange(0, 2 * n + 1, 2))
    results = np.array([0, 7, 7, 31, n])
    periods = games.grouped(results)
    assert periods.weight.tolist() == [14, 0, 48, 58]
    for name in ("cross_entropy", "squared_error", "bins"):
        for at in range(4):
            part = getattr(games, name)[results[at] : results[at + 1]]
            assert getattr(periods, name)[at] == pytest.approx(part.sum(axis=0), rel=1e-14)


def test_pairs__of_a_duel_are_those_of_a_game() -> None:
    """The errors of predicted results of games, as the squared error and the deviance of a chance."""
    mu = np.array([1620.0, 1500.0])
    chance = float(logistic(120.0 / SCALE))
    for lo, score in (([0, 1], 1.0), ([0, 0], 0.5)):
        found = means(scored(lo, prior_of(mu)))
        deviance = -score * math.log2(chance) - (1.0 - score) * math.log2(1.0 - chance)
        assert found[:2] == pytest.approx((deviance, (score - chance) ** 2), rel=1e-14)
