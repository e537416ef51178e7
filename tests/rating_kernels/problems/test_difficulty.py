"""Laws of difficulties of problems."""

from __future__ import annotations

import numpy as np
import pytest
import twins.problems as slow

from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.problems.difficulty import DIRECT, Entrants, difficulties
from ranklake.rating_kernels.problems.players import problem_ratings
from ranklake.rating_kernels.problems.scale import GREATEST, Solves, fit_scale

RNG = np.random.default_rng(20)
RATINGS = RNG.normal(1500.0, 300.0, 400)
SIGMAS = RNG.uniform(30.0, 300.0, 400)
SOLVED = np.array([0.0, 1.0, 17.5, 200.0, 399.0, 400.0])


def find(ratings: np.ndarray, solved: float, **more: float) -> tuple[float, float]:
    found = difficulties(Entrants.of(ratings), np.array([float(solved)]), **more)
    return float(found.difficulty[0]), float(found.deviation[0])


def solves(rng: np.random.Generator, levels: np.ndarray, ratings: np.ndarray, scale: float = 400.0) -> np.ndarray:
    """Who solved problems of these levels, a row a problem."""
    return rng.random((len(levels), len(ratings))) < 1.0 / (1.0 + 10.0 ** ((levels[:, None] - ratings) / scale))


def test_difficulty__is_that_of_the_printed_equation() -> None:
    few = RATINGS[:40]
    share = (np.arange(40) < 11).astype(float)
    assert find(few, 11) == pytest.approx(slow.difficulty(few, share, np.ones(40)), abs=1e-9)


def test_difficulty__moves_with_the_ratings() -> None:
    level, deviation = find(RATINGS, 123)
    assert find(RATINGS + 250.0, 123) == pytest.approx((level + 250.0, deviation), abs=1e-9)


def test_difficulty__falls_with_a_solve_and_rises_with_a_failure() -> None:
    level, _ = find(RATINGS, 123)
    assert find(RATINGS, 124)[0] < level
    assert find(RATINGS, 122)[0] > level
    other = float(RATINGS.mean())  # the pair stays where it is
    assert find(np.append(RATINGS, other), 123)[0] > level > find(np.append(RATINGS, other), 124)[0]


def test_difficulty__of_nobody_and_everybody_is_finite_and_symmetric() -> None:
    field = np.concatenate((1500.0 - RATINGS[:50], 1500.0 + RATINGS[:50]))
    none, everybody = find(field, 0), find(field, 100)
    assert none[0] - 1500.0 == pytest.approx(1500.0 - everybody[0], abs=1e-9)
    assert none[1] == pytest.approx(everybody[1], abs=1e-9)
    assert np.isnan(find(np.empty(0), 0)).all()


def test_difficulty__tends_to_the_root_without_the_pair_as_participants_repeat() -> None:
    root, _ = find(RATINGS[:30], 5, pairs=0.0)
    levels = [find(np.repeat(RATINGS[:30], k), 5 * k) for k in (1, 4, 400)]
    gaps = [abs(level - root) for level, _ in levels]
    assert gaps[0] > gaps[1] > gaps[2]
    assert levels[1][1] / levels[2][1] == pytest.approx(10.0, rel=0.1)


@pytest.mark.parametrize("sigma", [None, SIGMAS], ids=["certain", "uncertain"])
def test_table__gives_the_direct_sums(sigma: np.ndarray | None) -> None:
    assert len(RATINGS) > DIRECT
    entrants = Entrants.of(RATINGS, sigma)
    table, direct = (difficulties(entrants, SOLVED, direct=most) for most in (DIRECT, 10**9))
    assert table.difficulty == pytest.approx(direct.difficulty, abs=1e-9)
    assert table.deviation == pytest.approx(direct.deviation, abs=1e-9)


def test_weights__count_as_repeated_participants() -> None:
    weight = np.where(np.arange(400) % 2, 1.0, 3.0)
    weighted = difficulties(Entrants.of(RATINGS, weight=weight), np.array([90.0]))
    assert weighted.difficulty[0] == pytest.approx(find(np.repeat(RATINGS, weight.astype(int)), 90)[0], abs=1e-9)


def test_uncertain_ratings__of_zero_are_certain_ones_and_others_widen() -> None:
    certain = difficulties(Entrants.of(RATINGS), SOLVED)
    zero = difficulties(Entrants.of(RATINGS, np.full(400, 1e-9)), SOLVED)
    assert zero.difficulty == pytest.approx(certain.difficulty, abs=1e-9)
    assert (difficulties(Entrants.of(RATINGS, SIGMAS), SOLVED).deviation > certain.deviation).all()


def test_truth__is_found_within_its_deviation() -> None:
    rng, levels = np.random.default_rng(3), np.array([900.0, 1700.0, 2600.0])
    inside = n = 0
    for _ in range(200):
        ratings = rng.normal(1500.0, 300.0, 3000)
        found = difficulties(Entrants.of(ratings), solves(rng, levels, ratings).sum(axis=1).astype(float))
        off = np.abs(found.difficulty - levels) / found.deviation
        assert (off < 4.5).all()
        inside, n = inside + int((off < 1.96).sum()), n + len(off)
    assert 0.93 < inside / n < 0.97


def test_scale__is_fitted_to_the_solves() -> None:
    rng = np.random.default_rng(5)
    levels = rng.uniform(900.0, 2300.0, 60)
    found = solves(rng, levels, RATINGS, 280.0)
    solved = found.sum(axis=1).astype(float)
    both = (solved > 0.0) & (solved < 400.0)
    moments = (found * (RATINGS - RATINGS.mean())).sum(axis=1)
    fields = [Solves(Entrants.of(RATINGS), solved[both], moments[both])]
    assert fit_scale(fields) == pytest.approx(280.0, rel=0.03)
    backward = [Solves(Entrants.of(RATINGS), solved[both], -moments[both])]  # the weak solve, the strong do not
    assert fit_scale(backward) == GREATEST


def test_player__is_the_prior_without_problems_and_moves_with_each() -> None:
    mu, sigma = np.array([1500.0, 1500.0, 1500.0]), np.full(3, 200.0)
    share = Ragged.from_lengths(np.array([0, 1, 1]), np.array([1.0, 0.0]))
    rating, spread = problem_ratings(mu, sigma, share, np.array([1600.0, 1600.0]), np.array([0.0, 0.0]))
    assert (rating[0], spread[0]) == (1500.0, 200.0)
    assert rating[1] > 1500.0 > rating[2]
    assert (spread[1:] < 200.0).all()
