"""Win probabilities of two players, against closed forms, simulated games and general properties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.rating_kernels import (
    BAR,
    SYSTEMS,
    CFGeneral,
    Elo,
    EloMMR,
    EloMMX,
    EloR,
    Glicko,
    GlickoAllPairs,
    System,
    TopCoder,
    TrueSkill,
)
from ranklake.rating_kernels.core.standings import Conditions
from ranklake.rating_kernels.core.system import Prior
from ranklake.rating_kernels.inference.win_probability import logistic_win_probability, normal

C3 = math.pi / math.sqrt(3.0)
N_DRAWN = 1_000_000


@pytest.fixture(params=list(SYSTEMS))
def system(request: pytest.FixtureRequest) -> System:
    return SYSTEMS[request.param]


def prior(mu: Any, sigma: Any, n_before: Any = 9) -> Prior:
    mu = np.asarray(mu, dtype=np.float64)
    return Prior(mu, np.full_like(mu, sigma), np.full_like(mu, np.nan), np.full(mu.shape, n_before, dtype=np.int32))


def win_probability(
    params: Any, one: tuple[float, float], other: tuple[float, float], weight: float = 1.0, n: int = 9
) -> float:
    system = next(system for system in SYSTEMS.values() if system.params is type(params))
    return float(system.win_probability(params, Conditions(weight), prior(*one, n), prior(*other)))


def test_win_probability__of_glickmans_example_is_the_one_he_prints() -> None:
    """Glickman, "The Glicko system": 1400 with RD 80 against 1500 with RD 150 is expected to score 0.376."""
    assert round(win_probability(Glicko(), (1400.0, 80.0), (1500.0, 150.0)), 3) == 0.376


def test_win_probability__of_codeforces_text_is_the_one_it_prints() -> None:
    """Its blog entry: about 0.75 for a gap of 200, about 0.9 for one of 400."""
    cf = SYSTEMS["codeforces"].params()
    assert win_probability(cf, (1700.0, 0.0), (1500.0, 0.0)) == pytest.approx(1 / (1 + 10**-0.5), rel=1e-14)
    assert win_probability(cf, (1900.0, 0.0), (1500.0, 0.0)) == pytest.approx(10 / 11, rel=1e-14)


def test_win_probability__on_elos_normal_curve_is_the_one_of_its_author() -> None:
    """Elo himself: Phi(x / (200 sqrt 2))."""
    expected = 0.5 * math.erfc(-150.0 / (200.0 * math.sqrt(2.0)) / math.sqrt(2.0))
    assert win_probability(Elo(cdf="normal"), (1650.0, 0.0), (1500.0, 0.0)) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("u", [-12.0, -3.0, -0.5, 0.3, 1.0, 8.0])
def test_logistic_win_probability__of_equal_scales_has_its_closed_form(u: float) -> None:
    """With u the gap in scales: 1 / (1 - e^-u) - u e^-u / (1 - e^-u)^2, by integrating the logistic law by parts."""
    rest = -math.expm1(-u)
    expected = 1.0 / rest - u * math.exp(-u) / rest**2
    assert logistic_win_probability(u * 110.0 / C3, 110.0, 110.0) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("ratio", [1.0, 1.7, 5.0, 40.0, 1e6])
@pytest.mark.parametrize("gap", [0.0, 35.0, -400.0, 2500.0])
def test_logistic_win_probability__is_the_integral_it_stands_for(ratio: float, gap: float) -> None:
    """A fine sum over the law of the first player's performance, a hundred times denser than the rule's."""
    q = np.arange(-60.0, 60.0, 0.005)
    e = np.exp(-np.abs(q))
    density = e / (1 + e) ** 2 * 0.005
    x = C3 * (gap + 100.0 / C3 * q) / (100.0 * ratio)
    expected = np.sum(density * 0.5 * (1.0 + np.tanh(0.5 * x)))
    assert logistic_win_probability(gap, 100.0, 100.0 * ratio) == pytest.approx(expected, abs=1e-11)
    assert logistic_win_probability(gap, 100.0 * ratio, 100.0) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("x", [-35.0, -8.0, -1.0, 0.0, 0.3, 4.0, 40.0])
def test_normal__keeps_its_digits_far_out(x: float) -> None:
    assert normal(x) == pytest.approx(0.5 * math.erfc(-x / math.sqrt(2.0)), rel=1e-12)


DRAWN = {
    "elo-mmr": (EloMMR(noob_delay=(0.5,)), "logistic", lambda s, w, n: math.hypot(s, _beta(w / (2 if n == 0 else 1)))),
    "elo-mmx": (EloMMX(), "normal", lambda s, w, n: math.hypot(s, _beta(w))),
    "elo-r": (EloR(), "logistic", lambda s, w, n: C3 / 2 * math.sqrt(s**2 + 100.0**2 + (250.0**2 - 100.0**2) / w)),
    "topcoder": (TopCoder(), "normal", lambda s, w, n: s / math.sqrt(w)),
}


def _beta(weight: float) -> float:
    """Of Elo-MMR with its default limits, 0.2 and 80 (arXiv:2101.00400, and its engine): beta^2 = (1 + 1/u) s^2."""
    return math.sqrt((1.0 + 1.0 / (0.2 * weight)) * 80.0**2)


@pytest.mark.quick("*-elo-mmr", "*-trueskill")
@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("weight", [1.0, 0.3])
@pytest.mark.parametrize("n", [0, 9])
def test_win_probability__is_the_frequency_in_simulated_rounds(name: str, weight: float, n: int) -> None:
    params, law, spread = DRAWN[name]
    one, other = (1620.0, 210.0), (1500.0, 95.0)
    draw = np.random.default_rng(17)
    sample = draw.normal if law == "normal" else lambda size: draw.logistic(size=size) / C3
    shown = [mu + spread(sigma, weight, at) * sample(size=N_DRAWN) for (mu, sigma), at in ((one, n), (other, 9))]
    seen = np.mean(shown[0] > shown[1])
    assert win_probability(params, one, other, weight, n) == pytest.approx(seen, abs=4 * 0.5 / math.sqrt(N_DRAWN))


def test_win_probability__of_trueskill_counts_ties_half() -> None:
    params = TrueSkill(p_draw=0.3)
    draw = np.random.default_rng(5)
    gap = 27.0 - 25.0 + math.sqrt(2 * params.beta**2 + 3.0**2 + 7.0**2) * draw.normal(size=N_DRAWN)
    tie = 0.5448 * params.beta  # Phi^-1(0.65) sqrt 2 = 0.38532 * 1.41421
    seen = np.mean(gap > tie) + 0.5 * np.mean(np.abs(gap) <= tie)
    assert win_probability(params, (27.0, 3.0), (25.0, 7.0)) == pytest.approx(seen, abs=4 * 0.5 / math.sqrt(N_DRAWN))


def test_win_probability__of_the_engines_systems_follows_their_curves() -> None:
    gap, s, t = 130.0, 120.0, 60.0
    b = 315.0
    for weight in (1.0, 4.0):
        x = C3 * gap / (b / math.sqrt(weight))
        seen = win_probability(CFGeneral(beta=b), (1500 + gap, s), (1500, t), weight)
        assert seen == pytest.approx(1 / (1 + math.exp(-x)), rel=1e-13)
        x = C3 * gap / math.sqrt(s * s + t * t + 2 * b * b / weight)
        assert win_probability(BAR(beta=b), (1500 + gap, s), (1500, t), weight) == pytest.approx(
            1 / (1 + math.exp(-x)), rel=1e-13
        )
        x = C3 * gap / math.sqrt(b * b / weight + s * s + t * t)
        seen = win_probability(GlickoAllPairs(beta=b), (1500 + gap, s), (1500, t), weight)
        assert seen == pytest.approx(1 / (1 + math.exp(-x)), rel=1e-13)


@repeatable(25)
@given(
    mu=st.lists(st.floats(-500, 6000), min_size=2, max_size=6),
    sigma=st.floats(1.0, 500.0),
    weight=st.floats(0.05, 20.0),
)
@pytest.mark.parametrize("name", list(SYSTEMS))
def test_win_probability__of_two_add_up_and_grow_with_the_rating(
    name: str, mu: list[float], sigma: float, weight: float
) -> None:
    system = SYSTEMS[name]
    lowest = {column: limits.low for column, _, limits in system.attributes}.get("mu", -math.inf)  # unrated are below
    field = prior(np.sort(np.maximum(mu, lowest)), sigma)
    rows = prior(field.mu[:, None], sigma)
    probabilities = system.win_probability(system.params(), Conditions(weight), rows, field)
    assert probabilities.shape == (len(mu), len(mu))
    assert np.allclose(probabilities + probabilities.T, 1.0, rtol=0, atol=1e-12)
    assert np.all((probabilities >= 0) & (probabilities <= 1 + 1e-14))
    assert np.all(np.diff(probabilities, axis=0) >= -1e-12), "a higher rating has the higher probability"


def test_win_probability__of_equals_is_one_half(system: System) -> None:
    params = system.params()
    one = (params.mu_init, params.sigma_init)
    assert win_probability(params, one, one) == pytest.approx(0.5, abs=1e-14)
