"""AtCoder's rating against a recorded history, against its plain-Python twin, and consequences of its definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.histories import four_steps, ladder, set_ratings, to_rounds
from helpers.strategies import POOL, histories, repeatable
from hypothesis import given
from hypothesis import strategies as st
from twins.atcoder import Twin, average, deduction, level, rating

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, AtCoder, Beliefs, Outcome
from ranklake.rating_kernels.systems.sites import atcoder

SYSTEM = SYSTEMS["atcoder"]
RECORDED = [(2455, 1255), (3192, 2155), (3623, 2676), (2974, 2728), (2813, 2733)]
"""Performances and ratings after them on atcoder.jp, the first five rated contests of one user, 2016 and 2017."""


def show(beliefs: Beliefs, perf: float, ceiling: float = math.inf) -> Outcome:
    """A contest in which player 0 shows this performance."""
    params, round, outcome = AtCoder(), ladder(1), Outcome.empty(1)
    prior, summary = outcome.prior, atcoder.Performances(np.array([0, 1]), np.array([float(perf)]), ceiling)
    SYSTEM.prior(params, beliefs, round, 0, 1, prior)
    SYSTEM.perform(params, summary, 0, 1, outcome.perf)
    SYSTEM.absorb(params, beliefs, round, prior, summary, 0, 1, outcome)
    return outcome


def believed(mu: Any, average: Any, n_rounds: int = 3) -> Beliefs:
    """A store of players 0, 1, 2, ... with these levels and averages."""
    beliefs = SYSTEM.newcomers(AtCoder(), len(mu))
    set_ratings(SYSTEM, AtCoder(), beliefs, np.arange(len(mu)), np.asarray(mu, float), 0.0, n_rounds)
    beliefs.state["average"][:] = average
    return beliefs


# --- witnesses ---


def test_rating__after_every_recorded_contest_is_the_site_s() -> None:
    beliefs = SYSTEM.newcomers(AtCoder(), 2)
    for n, (perf, official) in enumerate(RECORDED, 1):
        show(beliefs, perf)
        assert round(float(atcoder.displayed(beliefs.mu[0], n))) == official
        assert rating([one for one, _ in RECORDED[:n]]) == pytest.approx(official, abs=0.5)


def test_performance__of_a_place_has_that_many_participants_above_it() -> None:
    """The winner of three of 1200: 1/2 = 3 / (1 + 6^((P - 1200) / 400)), so 6^((P - 1200) / 400) = 5."""
    outcome = rate_rounds(SYSTEM, AtCoder(), SYSTEM.newcomers(AtCoder(), 3), ladder(1, 1, 1), Serial())
    gain = 400 * math.log(5) / math.log(6)
    assert outcome.perf.tolist() == [round(1200 + gain), 1200, round(1200 - gain)]


# --- the twin ---


@pytest.mark.parametrize("large", [False, True], ids=["small", "four-steps"])
@given(histories(max_rounds=5), st.sampled_from([800.0, 1200.0]))
@repeatable(40)
def test_history__agrees_with_the_twin(large: bool, contests, center) -> None:
    params, twin = AtCoder(mu_init=center, rounded=False), Twin(center, rounded=False)
    beliefs = SYSTEM.newcomers(params, len(POOL))
    for contest in contests:
        expected, round = twin.rate(contest.standings, contest.perf_ceiling), to_rounds([contest])
        if large:
            outcome = four_steps(SYSTEM, params, beliefs, round)
        else:
            outcome = rate_rounds(SYSTEM, params, beliefs, round, Serial())
        shown = atcoder.displayed(outcome.mu, outcome.n_before + 1)
        assert outcome.perf == pytest.approx([one.perf for one in expected], abs=1e-7)
        assert outcome.mu == pytest.approx([one.level for one in expected], abs=1e-6)
        assert shown == pytest.approx([one.rating for one in expected], abs=1e-6)
        averages = [average(twin.uncapped[name]) for name, _, _ in contest.standings]
        assert beliefs.state["average"][round.player] == pytest.approx(averages, abs=1e-7)


@given(histories(max_rounds=3))
@repeatable(30)
def test_history__in_whole_numbers_agrees_with_the_twin(contests) -> None:
    """A performance half-way between two whole numbers may be rounded to either."""
    twin, beliefs = Twin(), SYSTEM.newcomers(AtCoder(), len(POOL))
    for contest in contests:
        expected = twin.rate(contest.standings, contest.perf_ceiling)
        if any(abs(one.exact % 1.0 - 0.5) < 1e-6 for one in expected):
            return
        outcome = rate_rounds(SYSTEM, AtCoder(), beliefs, to_rounds([contest]), Serial())
        assert outcome.perf.tolist() == [one.perf for one in expected]
        assert outcome.mu == pytest.approx([one.level for one in expected], abs=1e-8)


@given(st.lists(st.integers(-500, 4000), min_size=1, max_size=60))
@repeatable(60)
def test_running_means__are_those_of_the_whole_list(performances) -> None:
    beliefs = SYSTEM.newcomers(AtCoder(), 2)
    for perf in performances:
        show(beliefs, perf)
    assert beliefs.mu[0] == pytest.approx(level(performances), abs=1e-8)
    assert beliefs.state["average"][0] == pytest.approx(average(performances), abs=1e-8)


@pytest.mark.parametrize("n", [1, 2, 10, 300])
def test_displayed__deducts_as_the_twin(n: int) -> None:
    assert atcoder.displayed(3000.0, n) == pytest.approx(3000.0 - deduction(n), abs=1e-9)


# --- laws ---


def test_displayed__begins_1200_below_the_level_and_ends_at_it() -> None:
    shown = atcoder.displayed(3000.0, np.arange(1, 200))
    assert shown[0] == 1800.0
    assert (np.diff(shown) > 0.0).all()
    assert shown[-1] == pytest.approx(3000.0, abs=1e-4)
    assert atcoder.displayed(3000.0, 0) == 0.0


def test_displayed__is_positive_smooth_at_400_and_has_an_inverse() -> None:
    levels, n = np.linspace(-3000.0, 4000.0, 701), 5
    shown = atcoder.displayed(levels, n)
    assert (shown > 0.0).all()
    assert (np.diff(shown) > 0.0).all()
    assert atcoder.level(shown, n) == pytest.approx(levels, abs=1e-8)
    edge = 400.0 + deduction(n)
    slopes = np.diff(atcoder.displayed(edge + np.array([-1e-3, 0.0, 1e-3]), n)) / 1e-3
    assert slopes == pytest.approx([1.0, 1.0], abs=1e-4)


def test_level__keeps_when_the_performance_is_the_level() -> None:
    beliefs = believed([1700.0], [1700.0])
    assert show(beliefs, 1700).mu.tolist() == [1700.0]
    assert atcoder.displayed(1700.0, 4) > atcoder.displayed(1700.0, 3)  # more contests, less is deducted


@given(st.floats(-500, 4000), st.floats(-500, 4000), st.floats(-500, 4000), st.integers(0, 50))
@repeatable(60)
def test_level__is_raised_more_by_a_better_performance_and_lies_above_the_average(mu, one, other, n) -> None:
    worse, better = (show(believed([mu], [mu], n), perf).mu[0] for perf in sorted((one, other)))
    assert worse <= better
    beliefs = believed([mu], [mu], n)
    show(beliefs, one)
    assert beliefs.mu[0] >= beliefs.state["average"][0] - 1e-9  # a mean of powers


def test_ceiling__caps_the_rating_and_not_the_average() -> None:
    beliefs = believed([2300.0], [2300.0])
    free = show(believed([2300.0], [2300.0]), 2900)
    capped = show(beliefs, 2900, 2400.0)
    assert (free.perf[0], capped.perf[0]) == (2900.0, 2400.0)
    assert 2300.0 < capped.mu[0] < 2400.0 < free.mu[0]
    assert beliefs.state["average"][0] == pytest.approx(2300.0 + 600.0 * 0.1 / (1 - 0.9**4))


def test_field__is_that_of_the_averages() -> None:
    """The level of an opponent has no effect on a performance, the average has."""
    params, round = AtCoder(rounded=False), ladder(1, 1)
    same, other = (
        rate_rounds(SYSTEM, params, believed(mu, [1500.0, 1600.0]), round, Serial()).perf
        for mu in ([1500.0, 1600.0], [1900.0, 2000.0])
    )
    assert same.tolist() == other.tolist()


def test_level__of_extreme_performances_is_finite() -> None:
    for perf, ceiling in ((1e9, math.inf), (-1e9, math.inf), (1e9, -1e12)):
        assert np.isfinite(show(believed([1500.0], [1500.0]), perf, ceiling).mu).all()
