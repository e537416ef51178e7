"""nu and the advantage learnt from games: derivatives, known parameters found again, and the score equations."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from ranklake.rating_kernels import SYSTEMS, ConvergenceError, Prior
from ranklake.rating_kernels.chances import fit as fit_module
from ranklake.rating_kernels.chances.fit import ASSUMED, Assumed, Learnt, Played, fit
from ranklake.rating_kernels.chances.games import Leads, Pairings
from ranklake.rating_kernels.chances.sums import Sums, sums_of_leads, sums_of_scores
from ranklake.rating_kernels.chances.three_way import DAVIDSON, NONE, PRESERVING, three_way
from ranklake.rating_kernels.core.standings import Conditions, Floats

RATE = np.full(1, math.log(10.0) / 400.0)
NU, ADVANTAGE = 0.8, 60.0


def synthetic(n: int, seed: int, nu: float = NU, advantage: float = ADVANTAGE, holds: float = 0.8) -> Played:
    """Games of known parameters between players of leads with a deviation of 200 points."""
    random = np.random.default_rng(seed)
    lead, home = random.normal(0.0, 200.0, n), random.random(n) < holds
    x = RATE * (lead + advantage * home)
    win, draw, _ = three_way(1.0 / (1.0 + np.exp(-x)), 1.0 / (1.0 + np.exp(x)), nu)
    drawn = random.random(n)
    result = np.where(drawn < win, 1, np.where(drawn < win + draw, 0, -1)).astype(np.int8)
    return Played(Leads(lead, RATE), result, home)


def errors_of(found: Learnt) -> tuple[float, float]:
    """How far the parameters are from the known ones, in standard errors."""
    return (math.log(found.nu) - math.log(NU)) / found.ln_nu_error, (
        found.advantage - ADVANTAGE
    ) / found.advantage_error


@pytest.mark.parametrize("davidson", [False, True])
def test_derivatives__are_differences(davidson: bool) -> None:
    random, nothing = np.random.default_rng(5), np.empty(0)
    for _ in range(100):
        lead, rate = random.normal(0.0, 300.0, 1), random.uniform(0.002, 0.009, 1)
        result = random.integers(-1, 2, 1).astype(np.int8)
        t, h, weight = random.normal(-0.5, 1.5), random.normal(0.0, 80.0), random.uniform(0.5, 2.0, 1)

        def sums(t: float, h: float, given=(lead, rate, result, nothing, weight)) -> Sums:
            return sums_of_leads(*given, h, math.exp(t), davidson)

        here, d, e = sums(t, h), 1e-5, 1e-3
        up, down, right, left = sums(t + d, h), sums(t - d, h), sums(t, h + e), sums(t, h - e)
        differences = [
            ((right.value - left.value) / (2 * e), here.h),
            ((up.value - down.value) / (2 * d), here.t),
            ((right.h - left.h) / (2 * e), here.hh),
            ((up.h - down.h) / (2 * d), here.ht),
            ((right.t - left.t) / (2 * e), here.ht),
            ((up.t - down.t) / (2 * d), here.tt),
        ]
        for difference, derivative in differences:
            assert math.isclose(difference, derivative, rel_tol=1e-6, abs_tol=1e-9)


@pytest.mark.parametrize("davidson", [False, True])
def test_information__is_the_mean_of_the_observed_one(davidson: bool) -> None:
    for lead, nu in product((-250.0, 10.0, 400.0), (0.05, 0.8, 20.0)):
        x = RATE * lead
        e, f = 1.0 / (1.0 + np.exp(-x)), 1.0 / (1.0 + np.exp(x))
        chances = three_way(e, f, nu, DAVIDSON if davidson else PRESERVING)
        mean = np.zeros(3)
        for chance, result in zip(chances, (1, 0, -1), strict=True):
            one = np.full(1, result, np.int8)
            found = sums_of_scores(e, f, RATE, np.zeros(1), one, np.empty(0), nu, davidson)
            mean -= chance * np.array([found.hh, found.ht, found.tt])
        assert np.allclose(mean, [found.fisher_hh, found.fisher_ht, found.fisher_tt], rtol=1e-10, atol=1e-16)
        assert davidson or found.fisher_ht == 0.0


def test_fit__finds_known_parameters_within_three_standard_errors() -> None:
    found = fit(synthetic(30_000, 1))
    assert found.games == 30_000
    assert max(map(abs, errors_of(found))) < 3.0
    assert found.nu_error == found.nu * found.ln_nu_error < 0.02
    assert found.advantage_error < 3.0


@pytest.mark.slow
def test_intervals__of_95_percent_hold_the_truth_as_often() -> None:
    inside = np.zeros(2)
    for seed in range(200):
        inside += np.abs(errors_of(fit(synthetic(30_000, 1000 + seed)))) < 1.96
    assert (inside >= 184).all()
    assert (inside <= 196).all()


def test_score_equations__hold_up_to_the_prior() -> None:
    played = synthetic(5_000, 2)
    found = fit(played)
    assert isinstance(played.games, Leads)
    x = RATE * (played.games.lead + found.advantage * played.holds)
    e, f = 1.0 / (1.0 + np.exp(-x)), 1.0 / (1.0 + np.exp(x))
    draw = three_way(e, f, found.nu).draw
    # d/dtheta is the difference of shares and a residual whose weights are odd in the lead
    assert abs(np.mean(draw) - np.mean(played.result == 0)) < 2e-3
    surprise = 0.5 * (played.result + 1) - e
    assert abs(np.mean(surprise[played.holds])) < 2e-3
    certain = fit(played, assumed=Assumed(ASSUMED.nu, 1e6, 1e6))
    sums = sums_of_leads(
        *played.games, played.result, played.holds.astype(float), np.empty(0), certain.advantage, certain.nu, False
    )
    assert abs(sums.t) < 1e-9
    assert abs(sums.h) < 1e-9


def test_advantage__that_is_known_leaves_nothing_to_learn_and_the_same_chances() -> None:
    played = synthetic(20_000, 3)
    found = fit(played)
    assert isinstance(played.games, Leads)
    known = Leads(played.games.lead + found.advantage * played.holds, RATE)
    more = fit(played._replace(games=known), assumed=Assumed(advantage_deviation=1e6))
    without = fit(played, assumed=Assumed(advantage_deviation=1e6))
    assert abs(more.advantage) < 0.1 * more.advantage_error
    assert math.isclose(found.advantage + more.advantage, without.advantage, rel_tol=1e-9)
    assert math.isclose(more.nu, without.nu, rel_tol=1e-9)


def test_weights__count_games_as_often() -> None:
    played = synthetic(3_000, 4)
    times = np.random.default_rng(4).integers(0, 4, 3_000)
    again = np.repeat(np.arange(3_000), times)
    assert isinstance(played.games, Leads)
    for model in (PRESERVING, DAVIDSON, NONE):
        weighted = fit(played._replace(weight=times.astype(float)), model)
        repeated = Played(Leads(played.games.lead[again], RATE), played.result[again], played.holds[again])
        assert math.isclose(weighted.advantage, fit(repeated, model).advantage, rel_tol=1e-9)
        assert math.isclose(weighted.nu, fit(repeated, model).nu, rel_tol=1e-9)


def test_start__at_an_earlier_fit_changes_rounding_only() -> None:
    played = synthetic(11_000, 6)
    assert isinstance(played.games, Leads)
    earlier = fit(Played(Leads(played.games.lead[:10_000], RATE), played.result[:10_000], played.holds[:10_000]))
    cold, warm = fit(played), fit(played, start=earlier)
    assert warm.iterations < cold.iterations
    assert math.isclose(warm.nu, cold.nu, rel_tol=1e-12)
    assert math.isclose(warm.advantage, cold.advantage, rel_tol=1e-12)


def test_fit__of_no_games_is_the_prior_and_without_draws_nu_vanishes() -> None:
    nothing = fit(Played(Leads(np.empty(0), RATE), np.empty(0, np.int8)))
    assert (nothing.nu, nothing.advantage) == (2.0 / 3.0, 0.0)
    assert (nothing.ln_nu_error, nothing.advantage_error) == (1.0, 100.0)
    without = synthetic(10_000, 7, nu=0.0)
    assert 0.0008 < fit(without).nu < 0.003
    assert fit(without, NONE).nu == 0.0
    assert math.isclose(fit(without).advantage, fit(without, NONE).advantage, abs_tol=0.1)


def test_fit__where_the_advantage_never_holds_learns_none() -> None:
    found = fit(synthetic(2_000, 8, holds=0.0))
    assert found.advantage == 0.0
    assert math.isclose(found.advantage_error, 100.0)


def test_fit__of_extreme_results_stays_within_its_limits() -> None:
    lead = np.full(200, 3000.0)
    lost = fit(Played(Leads(lead, RATE), np.full(200, -1, np.int8)))
    assert -2000.0 <= lost.advantage < -200.0
    drawn = fit(Played(Leads(np.zeros(20_000), RATE), np.zeros(20_000, np.int8)))
    assert drawn.nu == math.exp(6.0)


@pytest.mark.parametrize("settings", [{"p_draw": 0.3}, {"model": "place", "eps": 40.0}])
def test_trueskill__learns_the_advantage_by_its_own_chances(settings: dict[str, object]) -> None:
    system, random, n = SYSTEMS["trueskill"], np.random.default_rng(9), 1_000
    params = system.params(**settings)
    mu, rounds = random.normal(params.mu_init, params.sigma_init, (2, n)), np.zeros(n, np.int32)
    sigma = np.full(n, params.sigma_init / 4)
    games = Pairings(system, params, Conditions(), 2, *(Prior(x, sigma, sigma, rounds) for x in mu))
    truth = 0.3 * params.beta
    win, draw, _ = games.three_way(0.0, truth)
    drawn = random.random(n)
    result = np.where(drawn < win, 1, np.where(drawn < win + draw, 0, -1)).astype(np.int8)
    found = fit(Played(games, result))
    assert (found.nu, found.nu_error) == (0.0, 0.0)
    assert abs(found.advantage - truth) < 3.0 * found.advantage_error
    # a maximum: the chances on both sides are less likely

    def likelihood(h: float) -> float:
        chances = np.stack(games.three_way(0.0, h))
        return float(np.sum(np.log(chances[1 - result, np.arange(n)]))) - 0.5 * (h / 100.0) ** 2

    best, step = likelihood(found.advantage), 0.1 * found.advantage_error
    curvature = (likelihood(found.advantage + step) + likelihood(found.advantage - step) - 2 * best) / step**2
    assert math.isclose(curvature, -(found.advantage_error**-2), rel_tol=1e-3)
    slope = (likelihood(found.advantage + step) - likelihood(found.advantage - step)) / (2 * step)
    assert abs(slope) < 1e-3 / found.advantage_error
    assert math.isclose(found.log_likelihood, best + 0.5 * (found.advantage / 100.0) ** 2, rel_tol=1e-12)


@pytest.mark.parametrize("name", ["elo-mmr", "glicko"])
def test_fit__by_differences_agrees_with_the_closed_form_and_holds_for_other_curves(name: str) -> None:
    system, random, n = SYSTEMS[name], np.random.default_rng(10), 1_000
    params = system.params()
    mu, rounds = random.normal(1500.0, 200.0, (2, n)), np.zeros(n, np.int32)
    one, other = (Prior(x, random.uniform(40.0, 120.0, n), x, rounds) for x in mu)
    games = Pairings(system, params, Conditions(np.ones(n), np.ones(n)), np.full(n, 2), one, other)
    result = random.integers(-1, 2, n).astype(np.int8)
    holds = random.random(n) < 0.5
    found = fit(Played(games, result, holds))
    by_differences = replace(games, system=replace(system, logistic_rate=lambda *given: None))
    other_way = fit(Played(by_differences, result, holds))
    assert math.isclose(found.advantage, other_way.advantage, rel_tol=1e-8)
    assert math.isclose(found.nu_error, other_way.nu_error, rel_tol=1e-8)

    def objective(t: float, h: float) -> float:
        chances = np.stack(games.three_way(math.exp(t), h * holds))
        off = t - math.log(ASSUMED.nu)
        return float(np.sum(np.log(chances[1 - result, np.arange(n)]))) - 0.5 * (off * off + (h / 100.0) ** 2)

    t, h = math.log(found.nu), found.advantage
    best = objective(t, h)
    for dt, dh in ((0.01, 0.0), (-0.01, 0.0), (0.0, 1.0), (0.0, -1.0)):
        assert objective(t + dt, h + dh) < best


def test_bad_games__are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    played = synthetic(50, 11)
    lead: Floats = np.zeros(50)
    lead[7] = math.nan
    with pytest.raises(ValueError, match=r"game 7 has no expected score: .* must be finite, got nan"):
        fit(played._replace(games=Leads(lead, RATE)))
    with pytest.raises(ValueError, match=r"the weight of a game must be >= 0 and finite, got -1.0"):
        fit(played._replace(weight=np.linspace(1.0, -1.0, 50).round()))
    with pytest.raises(ValueError, match="one of preserving, davidson, none, got 'rao'"):
        fit(played, "rao")
    monkeypatch.setattr(fit_module, "_MOST", 1)
    with pytest.raises(ConvergenceError, match=r"50 games .* after 1 iterations: the last step changed ln nu by .* by"):
        fit(played)


def test_sums__do_not_depend_on_the_place_of_games_in_memory() -> None:
    draw, n = np.random.default_rng(3), 1003
    lead, result, rate = draw.normal(0.0, 200.0, n), draw.integers(-1, 2, n).astype(np.int8), np.full(1, 0.00576)
    expected, none = 1.0 / (1.0 + np.exp(-rate * lead)), np.empty(0)
    found, kept = set(), []
    for _ in range(60):  # an array beside one of the kernel's own once decided whether its loop was vectorised
        kept.append(np.empty(int(draw.integers(1, 1100))))
        e, f, slope, bend = (given.copy() for given in (expected, 1.0 - expected, np.full(n, rate[0]), np.zeros(n)))
        by_leads = sums_of_leads(lead.copy(), rate, result.copy(), none, none, 20.0, 0.7, False)
        found.add((by_leads, sums_of_scores(e, f, slope, bend, result.copy(), none, 0.7, False)))
    assert len(found) == 1
