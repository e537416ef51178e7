"""Laws that rating systems share: what a shift, an order or a better place changes, with several hyperparameters.

A system that does not have a law is excluded beside it, with the reason.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container
from typing import Any, NamedTuple

import numpy as np
import pytest
from helpers.histories import same_bits, set_ratings, to_rounds
from helpers.rounds import N_PLAYERS, season
from helpers.strategies import histories, places, repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Outcome, Rounds, System

CHOICES: dict[str, tuple[dict[str, Any], ...]] = {
    "elo-mmr": ({}, {"tie_mode": "split", "beta": 200.0, "gamma": 35.0, "noob_delay": (0.5, 0.7)}),
    "elo-mmx": ({"noob_delay": (0.5, 0.7), "drift_per_day": 4.0}, {"tie_mode": "split", "beta": 200.0, "gamma": 0.0}),
    "elo-mms": ({}, {"lower": "normal", "tie_mode": "split"}),
    "elo-r": ({}, {"noise": "simple", "tie_mode": "full"}, {"max_len": 3, "gamma": 120.0}),
    "codeforces": (
        {"arithmetic": "real"},
        {"arithmetic": "real", "rule": "oct2015", "need_excludes_self": False, "tie_rank": "avg"},
        {"arithmetic": "real", "rule": "none", "tie_rank": "min"},
    ),
    "cf-general": ({}, {"beta": 65.0, "weight": 0.631}),
    "leetcode": ({}, {"tie_rank": "max"}, {"tie_rank": "avg"}),
    "atcoder": ({"rounded": False},),
    "topcoder": ({}, {"two_phase": True, "published_constants": True, "vol_after_cap": True}),
    "elo-srm": ({}, {"preset": "W"}, {"alpha": 1.0, "ties": "expected"}),
    "elo": ({}, {"cdf": "normal"}, {"k": 20.0, "pairs": "sum"}, {"cdf": "normal", "k_rule": "fide"}),
    "glicko": ({}, {"period_days": 3.0}),
    "glicko2": ({}, {"period_days": 3.0}),
    "glicko-allpairs": ({}, {"period_days": 3.0, "beta": 250.0}),
    "trueskill": ({}, {"model": "place"}, {"model": "place", "convention": "half_variance"}),
    "bar": ({}, {"variant": "btfull", "gamma": "one_over_teams"}, {"variant": "btfull", "gamma": "sigma_over_c"}),
}
RATINGS = st.lists(st.floats(600, 3000), min_size=8, max_size=8)
SIGMAS = st.lists(st.sampled_from([60.0, 90.0, 350.0]), min_size=8, max_size=8)


class Case(NamedTuple):
    system: System
    params: Any

    @property
    def unit(self) -> float:
        """What a rating point is to the system: about a 350th of the spread of newcomers."""
        return float(self.params.sigma_init) / 350.0 or 1.0

    def believed(self, mu: Any, sigma: Any = 90.0) -> Beliefs:
        """Players 0, 1, 2, ... with these ratings, in usual points around 1500."""
        system, params, unit = self.system, self.params, self.unit
        beliefs = system.newcomers(params, len(mu))
        level = params.mu_init + unit * (np.asarray(mu, float) - 1500.0)
        spread = unit * np.asarray(sigma, float) if params.sigma_init > 0 else 0.0
        set_ratings(system, params, beliefs, slice(None), level, spread, 5)
        return beliefs

    def rated(self, rounds: Rounds, mu: Any, sigma: Any = 90.0) -> Outcome:
        return rate_rounds(self.system, self.params, self.believed(mu, sigma), rounds, Serial())

    def close(self, one: Any, other: Any, points: float = 1e-7) -> bool:
        return bool(np.allclose(one, other, rtol=1e-10, atol=points * self.unit, equal_nan=True))


def cases(*, without: Container[str] = ()) -> pytest.MarkDecorator:
    """Each of the choices, but not some."""
    found = [
        pytest.param(Case(SYSTEMS[name], SYSTEMS[name].params(**chosen)), id=f"{name}-{i}")
        for name, choices in CHOICES.items()
        for i, chosen in enumerate(choices)
        if f"{name}-{i}" not in without
    ]
    return pytest.mark.parametrize("case", found)


def in_places(spots: list[tuple[int, int]], order: Any) -> Rounds:
    return Rounds.from_columns([0, len(spots)], order, *zip(*spots, strict=True))


@pytest.mark.quick("*-0")
@cases(without={"topcoder-0", "topcoder-1", "elo-3"})  # which know where 2000, 2400 and 2500 points are
@given(histories(max_rounds=3), RATINGS, SIGMAS, st.sampled_from([-1024.0, 512.0]))
@repeatable(20)
def test_shifting__all_ratings_shifts_all_results(case, contests, mu, sigma, shift) -> None:
    moved = [dataclasses.replace(c, perf_ceiling=c.perf_ceiling + case.unit * shift) for c in contests]
    one, other = case.rated(to_rounds(contests), mu, sigma), case.rated(to_rounds(moved), np.add(mu, shift), sigma)
    for name in ("mu", "perf"):
        assert case.close(getattr(other, name) - case.unit * shift, getattr(one, name)), name
    assert case.close(other.sigma, one.sigma)


@pytest.mark.quick("*-0")
@cases(without={"trueskill-0"})  # whose chain of differences has an order inside a tie group
@given(places(8), RATINGS, SIGMAS, st.randoms(use_true_random=False))
@repeatable(15)
def test_order__inside_a_tie_group_changes_nothing(case, spots, mu, sigma, random) -> None:
    order = sorted(range(8), key=lambda row: (spots[row][0], random.random()))
    one, other = (case.rated(in_places(spots, players), mu, sigma) for players in (range(8), order))
    for name in ("perf", "mu", "sigma"):
        assert case.close(getattr(other, name), getattr(one, name)[order]), name


@pytest.mark.quick("*-0")
@cases(without={"trueskill-0"})  # as above
@given(places(8), RATINGS)
@repeatable(15)
def test_equal_players__that_tie_move_equally(case, spots, mu) -> None:
    mu = np.round(np.array(mu), -3)
    outcome = case.rated(in_places(spots, range(8)), mu)
    for i in range(8):
        same = [j for j in range(8) if spots[i] == spots[j] and mu[i] == mu[j]]
        assert case.close(outcome.mu[same], outcome.mu[i])
        assert case.close(outcome.sigma[same], outcome.sigma[i])


@pytest.mark.quick("*-0")
@cases(without={"glicko2-0", "glicko2-1"})  # whose volatility depends on the place
@given(places(8), RATINGS, SIGMAS, st.integers(1, 7))
@repeatable(20)
def test_better_place__never_leaves_a_player_lower(case, spots, mu, sigma, place) -> None:
    lone = all(spots[row][0] == spots[row][1] for row in (place - 1, place))
    if case.system.name == "trueskill" and not lone:
        return  # to move along the chain inside a tie group is no promotion
    order = [*range(place - 1), place, place - 1, *range(place + 1, 8)]
    before, after = (case.rated(in_places(spots, players), mu, sigma) for players in (range(8), order))
    slack = 1e-7 * case.unit
    if case.system.performs and spots[place - 1] != spots[place]:
        assert after.perf[place - 1] > before.perf[place]
    if case.system.name != "codeforces":  # whose correction takes from all what some have gained
        assert after.mu[place - 1] >= before.mu[place] - slack


@pytest.mark.quick("*-0")
@cases()
def test_engines__agree_to_the_bit_and_small_rounds_in_one_call_or_in_many(case) -> None:
    system, params = case
    rounds = season((40, 3, 2, 1, 97, min(system.small, 400), 2600, 96))
    expected = system.newcomers(params, N_PLAYERS)
    whole = rate_rounds(system, params, expected, rounds, Serial())
    for engine in (Serial(7), Threads(3, 64)):
        beliefs = system.newcomers(params, N_PLAYERS)
        with engine:
            assert same_bits(rate_rounds(system, params, beliefs, rounds, engine), whole)
        assert same_bits(beliefs, expected)
    assert np.isfinite(whole.perf).any() == system.has_performance
    apart = system.newcomers(params, N_PLAYERS)
    for i in range(len(rounds)):
        part = rate_rounds(system, params, apart, rounds.part(i, i + 1), Serial())
        assert same_bits(part, whole.part(int(rounds.offsets[i]), int(rounds.offsets[i + 1])))
    assert same_bits(apart, expected)
