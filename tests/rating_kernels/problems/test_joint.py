"""Joint estimates of players and problems: the two problems that they solve, a peer, and known truths."""

from __future__ import annotations

import numpy as np
import pytest
import twins.problems as slow

from ranklake.rating_kernels import ConvergenceError
from ranklake.rating_kernels.problems import joint
from ranklake.rating_kernels.problems.difficulty import Entrants, difficulties
from ranklake.rating_kernels.problems.joint import Answers, estimate_jointly

LEVELS = np.array([900.0, 1300.0, 1700.0, 2100.0])

# girth 0.8.0, onepl_jml(solved.T, {"max_iteration": 500}): its difficulties times its discrimination,
# times 400 / ln 10, about their mean
GIRTH = [417.89, -251.95, 150.62, -400.11, 174.68, 311.36, -297.7, -104.81]


def solved_by(rng: np.random.Generator, skills: np.ndarray, levels: np.ndarray = LEVELS) -> np.ndarray:
    """Who solved what, a row a player."""
    return rng.random((len(skills), len(levels))) < 1.0 / (1.0 + 10.0 ** ((levels - skills[:, None]) / 400.0))


def answers_of(solved: np.ndarray, tried: np.ndarray | None = None) -> Answers:
    player, problem = np.nonzero(np.ones(solved.shape) if tried is None else tried)
    return Answers(player, problem, solved[player, problem].astype(float))


def test_joint_maximum__solves_both_problems_at_once() -> None:
    rng = np.random.default_rng(1)
    mu, sigma = rng.normal(1500.0, 300.0, 12), rng.uniform(50.0, 200.0, 12)
    solved, tried = solved_by(rng, mu), np.arange(48).reshape(12, 4) % 5 != 0
    found = estimate_jointly(mu, sigma, answers_of(solved, tried), uncertain=False)
    for k in range(4):
        own = found.level[tried[:, k]]
        expected, _ = slow.difficulty(own, solved[tried[:, k], k].astype(float), np.ones(len(own)))
        assert found.difficulty[k] == pytest.approx(expected, abs=0.02)
    alone = [
        slow.player(m, s, [(found.difficulty[k], float(solved[i, k]), 0.0) for k in np.flatnonzero(tried[i])])[0]
        for i, (m, s) in enumerate(zip(mu, sigma, strict=True))
    ]
    assert np.ptp(found.level - alone) < 0.02
    assert np.average(found.level - mu, weights=1.0 / sigma**2) == pytest.approx(0.0, abs=1e-9)


def test_joint_maximum__is_that_of_girth() -> None:
    rng = np.random.default_rng(36)
    skills, levels = rng.normal(1500.0, 300.0, 60), rng.normal(1500.0, 300.0, 8)
    solved = solved_by(rng, skills, levels)
    flat = np.full(60, 1e5)  # hardly a prior
    found = estimate_jointly(np.full(60, 1500.0), flat, answers_of(solved), pairs=0.0, uncertain=False)
    assert found.difficulty - found.difficulty.mean() == pytest.approx(GIRTH, abs=0.05)


def test_deviations__are_those_of_all_unknowns_together() -> None:
    rng = np.random.default_rng(2)
    mu, sigma = rng.normal(1500.0, 300.0, 9), rng.uniform(50.0, 200.0, 9)
    found = estimate_jointly(mu, sigma, answers_of(solved_by(rng, mu)), pairs=0.1)
    lead = found.level[:, None] - found.difficulty
    q, base = 1.0 / (1.0 + 10.0 ** (-lead / 400.0)), np.log(10.0) / 400.0
    weight = base**2 * q * (1.0 - q)
    mean = 1.0 / (1.0 + 10.0 ** ((found.difficulty - found.level.mean()) / 400.0))
    pair = 0.2 * base**2 * mean * (1.0 - mean)
    levels = np.diag(1.0 / sigma**2 + weight.sum(axis=1))
    problems = np.diag(weight.sum(axis=0) + pair) - np.outer(pair, pair) / pair.sum()
    errors = np.sqrt(np.diag(np.linalg.inv(np.block([[levels, -weight], [-weight.T, problems]]))))
    assert np.concatenate((found.spread, found.deviation)) == pytest.approx(errors, rel=1e-6)


def test_priors__place_the_scale() -> None:
    rng = np.random.default_rng(3)
    mu, sigma = rng.normal(1500.0, 300.0, 30), np.full(30, 120.0)
    answers = answers_of(solved_by(rng, mu))
    here, there = (estimate_jointly(mu + shift, sigma, answers) for shift in (0.0, 250.0))
    assert there.difficulty == pytest.approx(here.difficulty + 250.0, abs=1e-6)
    assert there.level == pytest.approx(here.level + 250.0, abs=1e-6)
    assert there.deviation == pytest.approx(here.deviation, rel=1e-9)


def test_nobody_and_everybody__have_finite_places() -> None:
    solved = np.array([[1, 1, 0], [0, 1, 0], [1, 1, 0], [0, 1, 0]], bool)
    found = estimate_jointly(np.full(4, 1500.0), np.full(4, 300.0), answers_of(solved))
    assert found.difficulty[1] < found.difficulty[0] < found.difficulty[2]
    assert np.isfinite(np.concatenate(found[:4])).all()


def test_estimate__that_does_not_converge_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint, "SWEEPS", 2)
    solved = solved_by(np.random.default_rng(4), np.linspace(900.0, 2100.0, 30))
    with pytest.raises(ConvergenceError, match=r"still move by \d.* rating points a sweep after 2 sweeps"):
        estimate_jointly(np.full(30, 1500.0), np.full(30, 300.0), answers_of(solved))


def covered(n: int, spread: float, sigma: float) -> tuple[float, float]:
    """The share of intervals of 95 % that have the truth, of 200 data sets of four problems: given ratings, and joint.

    ``n`` players have ratings of the standard deviation ``spread``; skills are ``sigma`` from them.
    """
    inside = np.zeros((2, 200))
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rating = rng.normal(1500.0, spread, n)
        solved = solved_by(rng, rating + rng.normal(0.0, sigma, n))
        given = difficulties(Entrants.of(rating, np.full(n, sigma)), solved.sum(axis=0).astype(float))
        both = estimate_jointly(rating, np.full(n, sigma), answers_of(solved))
        for row, found in enumerate((given, both)):
            inside[row, seed] = np.mean(np.abs(found.difficulty - LEVELS) < 1.96 * found.deviation)
    return inside[0].mean(), inside[1].mean()


@pytest.mark.slow  # 400 data sets, twice
def test_intervals__have_the_truth_as_often_as_they_say() -> None:
    for share in (*covered(100, 280.0, 100.0), *covered(500, 280.0, 100.0)):
        assert 0.93 < share < 0.97
    given, both = covered(500, 0.0, 300.0)  # all newcomers: their places together are uncertain, too
    assert given < 0.91
    assert 0.93 < both < 0.97


def off_by(easy: bool) -> np.ndarray:
    """The mean error of four difficulties, rating points: from all, from those who tried, and jointly from these.

    ``easy``: who has a chance of 10 % or more tries a problem, and nobody else; otherwise who solves it, and three in
    ten of those who do not. Skills are 200 points from the ratings.
    """
    errors = np.zeros((3, 4))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rating, levels = rng.normal(1500.0, 300.0, 2000), np.array([1300.0, 1600.0, 1900.0, 2200.0])
        skill, sigma = rating + rng.normal(0.0, 200.0, 2000), np.full(2000, 200.0)
        solved = solved_by(rng, skill, levels)
        likely = 1.0 / (1.0 + 10.0 ** ((levels - skill[:, None]) / 400.0)) >= 0.1
        tried = likely if easy else solved | (rng.random(solved.shape) < 0.3)
        solved &= tried
        count = solved.sum(axis=0).astype(float)
        errors[0] += difficulties(Entrants.of(rating, sigma), count).difficulty - levels
        for k, own in enumerate(tried.T):
            errors[1, k] += difficulties(Entrants.of(rating[own], sigma[own]), count[k : k + 1]).difficulty[0]
        who = np.flatnonzero(tried.any(axis=1))
        errors[2] += estimate_jointly(rating[who], sigma[who], answers_of(solved[who], tried[who])).difficulty
    errors[1:] -= 20.0 * levels
    return errors / 20.0


@pytest.mark.slow  # 40 data sets of 2,000 participants
def test_selection__has_the_errors_of_the_page() -> None:
    hopeless, likely = off_by(easy=False), off_by(easy=True)
    assert hopeless[0] == pytest.approx([0.0] * 4, abs=10.0)  # who did not try would have failed
    assert hopeless[1:].ravel() == pytest.approx([-250.0] * 8, abs=15.0)
    assert likely[:, 3] == pytest.approx([64.0, -119.0, -95.0], abs=1.0)
    assert (likely[0] > 0.0).all()
    assert (likely[1:] < 0.0).all()
