"""The generalised Codeforces rule against its plain-Python twin, and consequences of its definition."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers.histories import four_steps, ladder, players_at, set_ratings
from helpers.strategies import POOL, histories, places, ratings, repeatable
from hypothesis import given
from hypothesis import strategies as st
from twins.codeforces import CFTwin
from twins.comparison import agree_on_needs

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, CFGeneral, Codeforces, Outcome, Rounds

SYSTEM = SYSTEMS["cf-general"]
believed = partial(players_at, SYSTEM, sigma=100.0)
POINTS = 1e-9  # what a root may be off


def shown(params: CFGeneral, mu: Any, round: Rounds, large: bool = False) -> Outcome:
    beliefs = believed(params, mu)
    if large:
        return four_steps(SYSTEM, params, beliefs, round)
    return rate_rounds(SYSTEM, params, beliefs, round, Serial())


def eight(spots: list[tuple[int, int]], **how: float) -> Rounds:
    occasion = [[how.get(name, other)] for name, other in (("time", 0), ("weight", 1.0), ("perf_ceiling", math.inf))]
    return Rounds.from_columns([0, 8], np.arange(8), *zip(*spots, strict=True), *occasion)


@st.composite
def cf_general_params(draw: st.DrawFn) -> dict[str, Any]:
    """Hyperparameters, spelled as in the package; half of the time the defaults."""
    if draw(st.booleans()):
        return {}
    beta = draw(st.sampled_from([65.0, 1000.0]) | st.floats(50, 600))
    return {"beta": beta, "weight": draw(st.sampled_from([0.631, 0.01, 50.0]) | st.floats(0.1, 3))}


RATINGS = st.lists(st.floats(0, 4000), min_size=8, max_size=8)


# --- the twin ---


@pytest.mark.quick("small")
@pytest.mark.parametrize("large", [False, True], ids=["small", "four-steps"])
@given(st.data(), histories(max_rounds=4), cf_general_params())
@repeatable(60)
def test_history__agrees_with_the_twin(large: bool, data, contests, chosen) -> None:
    known = data.draw(st.dictionaries(st.sampled_from(POOL), ratings(extreme=True)))
    params, twin = SYSTEM.params(**chosen), CFTwin(**chosen, initial_ratings=known)
    people = {name: (mu, 0) for name, mu in known.items()}

    def rate(c: Any) -> Any:
        return twin.rate(c.standings, c.weight, c.perf_ceiling)

    beliefs = agree_on_needs(SYSTEM, params, people, contests, large, rate, POINTS)
    assert (beliefs.sigma == params.sigma_init).all()


# --- laws ---


@pytest.mark.parametrize("large", [False, True], ids=["small", "four-steps"])
@given(RATINGS, cf_general_params())
@repeatable(40)
def test_performance__at_the_expected_place_is_the_rating(large: bool, mu, chosen) -> None:
    """In a field that is its own mirror image, where all tie, the one in the middle is."""
    chosen = SYSTEM.params(**chosen)
    field = [*mu, 2000.0, *(4000.0 - np.array(mu))]
    outcome = shown(chosen, field, ladder(len(field)), large)
    assert outcome.perf[8] == pytest.approx(2000.0, abs=POINTS)
    above = np.array(field) > 2000.0 + 1e-6
    below = np.array(field) < 2000.0 - 1e-6
    assert np.all(outcome.perf[above] < np.array(field)[above])  # a tie with all falls short of what they should do
    assert np.all(outcome.perf[below] > np.array(field)[below])


@pytest.mark.parametrize("n", [7, 400])
def test_round__scaling_all_ratings_scales_all_results(n: int) -> None:
    draw = np.random.default_rng(3)
    mu, round = draw.normal(0, 400, n), ladder(*[1] * n)
    one, two = (shown(SYSTEM.params(beta=beta), factor * mu, round) for beta, factor in ((200.0, 1), (400.0, 2)))
    assert 2 * one.perf == pytest.approx(two.perf, abs=POINTS)
    assert 2 * one.mu == pytest.approx(two.mu, abs=POINTS)


@given(RATINGS, places(8), st.floats(0.1, 5))
@repeatable(40)
def test_weight__of_a_round_sharpens_performances_and_pulls_harder(mu, spots, weight) -> None:
    """beta / sqrt(w) and w * weight: a round of weight w is one of weight 1 under other hyperparameters."""
    one = shown(SYSTEM.params(), mu, eight(spots, weight=weight))
    other = shown(SYSTEM.params(beta=CFGeneral().beta / math.sqrt(weight), weight=weight), mu, eight(spots))
    assert one.perf == pytest.approx(other.perf, abs=1e-6)
    assert one.mu == pytest.approx(other.mu, abs=1e-6)


def test_weight__of_one_goes_half_of_the_way_and_of_a_million_all_of_it() -> None:
    round = ladder(1, 1, 1)
    half = shown(SYSTEM.params(), [1500.0, 1600.0, 1700.0], round)
    whole = shown(SYSTEM.params(weight=1e9), [1500.0, 1600.0, 1700.0], ladder(1, 1, 1, weight=1e3))
    assert half.mu == pytest.approx((half.mu_prior + half.perf) / 2, abs=POINTS)
    assert whole.mu == pytest.approx(whole.perf, abs=POINTS)


def test_ceiling__caps_the_performance_before_it_pulls() -> None:
    free, capped = (
        shown(SYSTEM.params(), [1500.0, 1500.0], ladder(1, 1, perf_ceiling=at)) for at in (math.inf, 1450.0)
    )
    assert free.perf[0] > 1450.0 > free.perf[1]
    assert capped.perf.tolist() == [1450.0, free.perf[1]]
    assert capped.mu.tolist() == pytest.approx([1475.0, free.mu[1]])


def test_rule__is_that_of_codeforces_but_for_oneself() -> None:
    """With the default beta the curve is Elo's; in a large field the own term has little effect."""
    n = 5000
    mu = np.random.default_rng(5).normal(1500, 300, n)
    codeforces = SYSTEMS["codeforces"]
    params = Codeforces(rule="none", tie_rank="avg", arithmetic="real")
    beliefs = codeforces.newcomers(params, n)
    set_ratings(codeforces, params, beliefs, np.arange(n), mu, 0.0, 5)
    other = rate_rounds(codeforces, params, beliefs, ladder(*[5] * 1000), Serial())
    one = shown(SYSTEM.params(), mu, ladder(*[5] * 1000))
    inner = slice(100, n - 100)
    assert np.abs(one.perf - other.perf)[inner].max() < 5.0
    assert np.abs(one.mu - other.mu)[inner].max() < 2.5


# --- edges ---


@pytest.mark.slow
@pytest.mark.parametrize("large", [False, True], ids=["small", "four-steps"])
def test_lone_player__stays_where_they_are(large: bool) -> None:
    outcome = shown(SYSTEM.params(), [1234.5], ladder(1), large)
    assert (outcome.perf[0], outcome.mu[0]) == (1234.5, 1234.5)


@pytest.mark.parametrize("beta", [1e-6, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("n", [2, 400])
def test_beta__however_small_or_large_leaves_performances_in_or_near_the_field(beta: float, n: int) -> None:
    mu = np.random.default_rng(6).permutation(np.linspace(0, 4000, n))
    outcome = shown(SYSTEM.params(beta=beta), mu, ladder(*[1] * n))
    reach = beta * math.log(4 * n)
    assert outcome.perf.min() >= -reach - POINTS
    assert outcome.perf.max() <= 4000 + reach + POINTS


@pytest.mark.parametrize("weight", [1e-9, 1e9])
def test_weight__however_small_or_large_leaves_numbers(weight: float) -> None:
    outcome = shown(SYSTEM.params(), [1500.0, 1600.0, 1700.0], ladder(1, 1, 1, weight=weight))
    assert np.isfinite(outcome.mu).all()


def test_sigma__is_handed_through() -> None:
    params = SYSTEM.params(sigma_init=80.0)
    beliefs = SYSTEM.newcomers(params, 3)
    beliefs.sigma[1] = 33.0
    outcome = rate_rounds(SYSTEM, params, beliefs, ladder(1, 1, 1), Serial())
    assert outcome.sigma.tolist() == outcome.sigma_prior.tolist() == beliefs.sigma.tolist() == [80.0, 33.0, 80.0]
    assert SYSTEM.sigma_limit(params) == 80.0
    assert set(beliefs.columns()) == {"mu", "sigma", "last_time", "n_rounds"}


def test_params__default_beta_makes_400_points_odds_of_ten_to_one() -> None:
    """Two players: m^2 = 1.5 (1 + q) for a tie, with q = 1/11 for 400 points below."""
    perf = shown(SYSTEM.params(), [1900.0, 1500.0], ladder(2)).perf[0]
    losses = sum(1 / (1 + 10 ** ((perf - mu) / 400)) for mu in (1900.0, 1500.0))
    assert (0.5 + losses) ** 2 == pytest.approx(1.5 * (1 + 1 / 11), rel=1e-12)
