"""LeetCode's rating against its plain-Python twin, and consequences of its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.histories import four_steps, ladder, set_ratings
from helpers.strategies import POOL, histories, ratings, repeatable
from hypothesis import given
from hypothesis import strategies as st
from twins.comparison import agree_on_needs
from twins.leetcode import Twin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, LeetCode, Outcome, Rounds

SYSTEM = SYSTEMS["leetcode"]
POINTS = 1e-9
TIES = st.sampled_from(["min", "max", "avg"])


def believed(mu: Any, n_rounds: Any = 3) -> Beliefs:
    """A store of players 0, 1, 2, ... with these ratings and numbers of contests."""
    params = LeetCode()
    beliefs = SYSTEM.newcomers(params, len(mu))
    set_ratings(SYSTEM, params, beliefs, np.arange(len(mu)), np.asarray(mu, float), 0.0, n_rounds)
    return beliefs


def rated(mu: Any, round: Rounds, n_rounds: Any = 3, tie_rank: str = "min", large: bool = False) -> Outcome:
    params, beliefs = LeetCode(tie_rank=tie_rank), believed(mu, n_rounds)
    if large:
        return four_steps(SYSTEM, params, beliefs, round)
    return rate_rounds(SYSTEM, params, beliefs, round, Serial())


# --- the twin ---


@pytest.mark.quick("small")
@pytest.mark.parametrize("large", [False, True], ids=["small", "four-steps"])
@given(st.data(), histories(max_rounds=4), TIES)
@repeatable(40)
def test_history__agrees_with_the_twin(large: bool, data, contests, tie_rank) -> None:
    people = data.draw(st.dictionaries(st.sampled_from(POOL), st.tuples(ratings(extreme=True), st.integers(0, 200))))
    twin = Twin(tie_rank, initial_state=people)
    agree_on_needs(SYSTEM, LeetCode(tie_rank=tie_rank), people, contests, large, lambda c: twin.rate(c.standings))


# --- laws ---


def test_change__is_half_of_the_way_at_first_and_two_ninths_after_many_contests() -> None:
    """1 / (1 + 1), 1 / (1 + 1 + 5/7), and the limit 1 / (1 + 7/2)."""
    outcome = rated([1500.0, 1500.0, 1500.0], ladder(1, 1, 1), [0, 1, 10_000])
    part = (outcome.mu - outcome.mu_prior) / (outcome.perf - outcome.mu_prior)
    assert part == pytest.approx([1 / 2, 7 / 19, 2 / 9], rel=1e-12)
    assert SYSTEM.newcomers(LeetCode(), 1).mu[0] == 1500.0


def test_performance__of_two_equals_is_the_root_of_the_formula() -> None:
    """Both are expected at place 3/2. The first needs R with 2 / (1 + 10^((R - 1500) / 400)) = sqrt(3/2) - 1."""
    outcome = rated([1500.0, 1500.0], ladder(1, 1))
    wanted = [1500 + 400 * np.log10(2 / (np.sqrt(1.5 * place) - 1) - 1) for place in (1, 2)]
    assert outcome.perf == pytest.approx(wanted, abs=POINTS)


def test_favourite_of_two__gains_by_losing() -> None:
    """Expected first, at place 2: m = sqrt(2), and the own term alone makes the sum 1/2 at the old rating."""
    outcome = rated([0.0, 5000.0], ladder(1, 1))
    assert outcome.perf[1] == pytest.approx(5000 + 400 * np.log10(1 / (np.sqrt(2) - 1) - 1), abs=1e-6)
    assert outcome.mu[1] > 5000.0


def test_tie__has_its_first_place_by_default() -> None:
    """A participant alone in first place and one of a tie for it have the same place."""
    mu = [1700.0, 1600.0, 1500.0]
    assert rated(mu, ladder(3)).mu[0] == pytest.approx(rated(mu, ladder(1, 1, 1)).mu[0], abs=POINTS)
    assert rated(mu, ladder(3), tie_rank="max").mu[2] == pytest.approx(rated(mu, ladder(1, 1, 1)).mu[2], abs=POINTS)
