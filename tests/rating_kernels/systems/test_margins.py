"""Margins of victory: the factor of a game against its twin, and the laws of all systems that have a rule for them."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from helpers.histories import same_bits, set_ratings
from helpers.margins import rounds_of_games
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st
from twins.margins import Rule

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Outcome, Rounds
from ranklake.rating_kernels.core.margins import MARGINS, MarginParams, factor_of_game, margin_rule

ABLE = [name for name, system in SYSTEMS.items() if system.margins]
BY_PAIRS = [name for name in ABLE if SYSTEMS[name].margins == "pairs"]
KINDS = [kind for kind in MARGINS if kind != "none"]
SAME_AT_ONE = ("log", "goals", "linear")  # m = 1 at d = 1, and for a draw
STRONG, WEAK = 1620.0, 1480.0
CONTEST = Rounds.from_columns([0, 3], [0, 1, 2], [0, 1, 2], [0, 1, 2], points=[40.0, 31.0, 10.0])


def rated(name: str, given: Any, mu: Any = (STRONG, WEAK), *, sigma: float = 90.0, **chosen: Any) -> Outcome:
    params, rounds = SYSTEMS[name].params(**chosen), given if isinstance(given, Rounds) else rounds_of_games(given)
    return rate_rounds(SYSTEMS[name], params, store(name, params, mu, sigma), rounds, Serial())


def store(name: str, params: Any, mu: Any, sigma: float = 90.0) -> Beliefs:
    """Players 0, 1, ... with these ratings in usual points; on the scale of the system for TrueSkill."""
    system, unit = SYSTEMS[name], params.sigma_init / 350.0 or 1.0
    beliefs = system.newcomers(params, len(mu))
    level = params.mu_init + unit * (np.asarray(mu, float) - 1500.0)
    set_ratings(system, params, beliefs, slice(None), level, unit * sigma if params.sigma_init else 0.0, 5)
    return beliefs


@pytest.mark.parametrize("kind", KINDS)
@given(
    st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from([0.0, 0.5, 1.0]), st.floats(-3000.0, 3000.0),
    st.sampled_from([0.5, 1.0, 7.0]), st.sampled_from([None, 1.0, 4.5]),
)  # fmt: skip
@repeatable(60)
def test_factor__is_that_of_the_twin(kind, points, other, score, lead, unit, cap) -> None:
    chosen = {"margin": kind, "margin_unit": unit, "margin_cap": cap, "margin_slope": 0.4}
    found = factor_of_game(margin_rule(MarginParams(**chosen)), points - other, score, lead)
    exact = Rule(**chosen).factor(points - other, 0.0, score, lead)
    assert abs(found - float(exact)) <= 1e-12 * float(exact)


@pytest.mark.parametrize("kind", KINDS)
def test_factor__of_a_game_without_points_is_1(kind) -> None:
    assert factor_of_game(margin_rule(MarginParams(margin=kind)), math.nan, 1.0, 300.0) == 1.0


@given(st.floats(1.0, 100.0), st.floats(-1100.0, 1100.0))
@repeatable(60)
def test_log_lead__is_the_published_formula_within_its_bounds(d, x) -> None:
    """FiveThirtyEight: ln(|PD| + 1) 2.2 / ((ELOW - ELOL) 0.001 + 2.2)."""
    found = factor_of_game(margin_rule(MarginParams(margin="log_lead")), d, 1.0, x)
    assert found == pytest.approx(math.log(abs(d) + 1) * 2.2 / (x * 0.001 + 2.2), rel=1e-12)


@pytest.mark.parametrize("name", ABLE)
@pytest.mark.parametrize("kind", SAME_AT_ONE)
def test_games__won_by_one_unit_or_drawn_have_the_bits_of_none(name, kind) -> None:
    games = [(0, 1, 3, 2, 0.0), (1, 2, 5, 5, 0.0), (2, 0, 1, 0, 0.0), (1, 0, 2, 1.5, 0.0)]
    one, none = (rated(name, games, (1620, 1500, 1480), margin=margin) for margin in (kind, "none"))
    assert same_bits(one, none)


@pytest.mark.parametrize("name", ABLE)
def test_games__without_points_have_the_bits_of_none(name) -> None:
    games = rounds_of_games([(0, 1, math.nan, math.nan, 0.0), (1, 0, math.nan, 4.0, 0.0)])
    without = dataclasses.replace(games, points=np.empty(0))
    outcomes = [rated(name, part, margin=kind) for part in (games, without) for kind in ("log", "none")]
    assert all(same_bits(outcomes[0], one) for one in outcomes[1:])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pairs", ["mean", "sum"])
def test_elo__with_margins_keeps_the_sum_of_ratings(kind, pairs) -> None:
    rounds = Rounds.from_columns(
        [0, 2, 7], [1, 0, 3, 1, 0, 2, 4], [0, 1, 0, 1, 1, 3, 4], [0, 1, 0, 2, 2, 3, 4],
        points=[31, 10, 80, 75.5, 70, 40, math.nan],
    )  # fmt: skip
    outcome = rated("elo", rounds, (1900, 1500, 1480, 1333, 1200), margin=kind, pairs=pairs)
    changes = outcome.mu - outcome.mu_prior
    assert abs(changes[:2].sum()) < 1e-12 * 2000
    assert abs(changes[2:].sum()) < 1e-12 * 5000


@pytest.mark.parametrize("name", ABLE)
@pytest.mark.parametrize("kind", KINDS)
def test_players__that_are_swapped_swap_their_bits(name, kind) -> None:
    one = rated(name, [(0, 1, 7, 2, 60.0)], (STRONG, WEAK), margin=kind)
    other = rated(name, [(0, 1, 2, 7, -60.0)], (WEAK, STRONG), margin=kind)
    assert same_bits(one, other)


@pytest.mark.quick("log-*", "*-elo-mmr")
@pytest.mark.parametrize("name", sorted(set(ABLE) - set(BY_PAIRS)))
@pytest.mark.parametrize("kind", KINDS)
def test_change__by_less_noise_is_below_a_draw_for_every_loss_and_above_for_every_win(name, kind) -> None:
    """Less noise makes a victory of a strong favourite more certain: a clear one may gain less than a narrow one."""
    many, random = 500, np.random.default_rng(8)
    mu, changes = random.normal(1500.0, 300.0, 2 * many), []
    for scored, against in ((0, 5), (0, 1), (2, 2), (1, 0), (5, 0)):
        rounds = rounds_of_games([(2 * i, 2 * i + 1, scored, against, 0.0) for i in range(many)])
        outcome = rated(name, rounds, mu, margin=kind)
        changes.append((outcome.mu - outcome.mu_prior)[np.argsort(rounds.player)][::2])
    assert (np.maximum(*changes[:2]) < changes[2]).all()
    assert (changes[2] < np.minimum(*changes[3:])).all()


@pytest.mark.quick("log-*", "*-elo")
@pytest.mark.parametrize("name", BY_PAIRS)
@pytest.mark.parametrize("kind", KINDS)
def test_change__increases_with_the_result_and_its_margin(name, kind) -> None:
    """From defeat by 5 to victory by 5, for many ratings at the same time."""
    many, random = 500, np.random.default_rng(8)
    mu = random.normal(1500.0, 300.0, 2 * many)
    before = -math.inf
    for scored, against in ((0, 5), (0, 1), (2, 2), (1, 0), (5, 0)):
        rounds = rounds_of_games([(2 * i, 2 * i + 1, scored, against, 0.0) for i in range(many)])
        outcome = rated(name, rounds, mu, margin=kind)
        own = outcome.mu[np.argsort(rounds.player)][::2]
        assert (own > before).all(), (scored, against)
        before = own


@pytest.mark.parametrize("name", ["elo-mmr", "elo-mmx", "elo-mms"])
def test_sigma__falls_with_the_margin_and_the_drift_before_a_game_does_not_depend_on_it(name) -> None:
    outcomes = [rated(name, [(0, 1, scored, 0, 0.0)], margin="log") for scored in (1, 3, 9)]
    assert all(same_bits(outcomes[0].sigma_prior, one.sigma_prior) for one in outcomes[1:])
    sigmas = np.array([one.sigma for one in outcomes])
    assert (np.diff(sigmas, axis=0) < 0.0).all()


@pytest.mark.parametrize("advantage", [0.0, 35.0])
@pytest.mark.parametrize("name", sorted(set(ABLE) - set(BY_PAIRS)))
def test_noise__of_a_game_is_divided_by_its_factor(name, advantage) -> None:
    """A factor of 4 is a precision of 4, for the systems that rate games with advantages in steps, too."""
    game = rounds_of_games([(0, 1, 4, 0, advantage)])
    with_margin = rated(name, game, margin="linear", margin_slope=1.0)
    precise = rated(name, dataclasses.replace(game, precision=np.array([4.0])))
    for column in ("mu", "sigma", "perf"):
        assert np.allclose(getattr(with_margin, column), getattr(precise, column), rtol=1e-12, equal_nan=True), column


@pytest.mark.parametrize("name", sorted(set(ABLE) - set(BY_PAIRS)))
def test_rounds__of_three_have_no_margin(name) -> None:
    assert same_bits(*(rated(name, CONTEST, (1480.0, 1700.0, 1555.0), margin=kind) for kind in ("log", "none")))


@pytest.mark.parametrize("name", ABLE)
def test_points__scaled_with_their_unit_change_nothing(name) -> None:
    games = [(0, 1, 3, 0, 0.0), (1, 0, 9, 2, 0.0), (0, 1, 4, 4, 0.0)]
    scaled = [(a, b, 8 * p, 8 * q, h) for a, b, p, q, h in games]
    chosen = {"margin": "log", "margin_cap": 5.0}
    assert same_bits(rated(name, games, **chosen), rated(name, scaled, margin_unit=8.0, **chosen))


@pytest.mark.parametrize("name", ABLE)
def test_caps__bound_the_margin(name) -> None:
    games = [[(0, 1, points, 0, 0.0)] for points in (3, 9)]
    one, other = (rated(name, game, margin="linear", margin_cap=3.0) for game in games)
    assert same_bits(one, other)


@pytest.mark.parametrize("kind", KINDS)
def test_elo__in_a_contest_of_three_has_the_mean_of_its_pairs(kind) -> None:
    games, mu = [(0, 1, 40.0, 31.0, 0.0), (0, 2, 40.0, 10.0, 0.0), (1, 2, 31.0, 10.0, 0.0)], (1480.0, 1700.0, 1555.0)
    changes = np.zeros(3)
    for a, b, *game in games:
        one = rated("elo", [(a, b, *game)], mu, margin=kind)
        changes[[a, b]] += one.mu - one.mu_prior
    full = rated("elo", CONTEST, mu, margin=kind)
    assert np.allclose(full.mu - full.mu_prior, changes / 2.0, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["glicko", "glicko2"])
@pytest.mark.parametrize("kind", KINDS)
def test_glicko__in_a_contest_of_three_has_the_games_of_a_period(name, kind) -> None:
    games, mu = [(0, 1, 40.0, 31.0, 0.0), (0, 2, 40.0, 10.0, 0.0), (2, 1, 10.0, 31.0, 0.0)], (1480.0, 1700.0, 1555.0)
    rounds = rounds_of_games(games, event=[0, 0, 0])
    period, full = rated(name, rounds, mu, margin=kind, games="simultaneous"), rated(name, CONTEST, mu, margin=kind)
    for row, player in enumerate(rounds.player):
        assert period.mu[row] == pytest.approx(full.mu[player], rel=1e-12)
        assert period.sigma[row] == pytest.approx(full.sigma[player], rel=1e-12)
    assert not same_bits(full, rated(name, CONTEST, mu))


@pytest.mark.parametrize("name", BY_PAIRS)
def test_contests__with_margins_of_one_unit_are_those_of_none(name) -> None:
    rounds = Rounds.from_columns([0, 5], range(5), [0, 1, 1, 3, 4], [0, 2, 2, 3, 4], points=[3, 2.5, 2.5, 2.4, 2.2])
    mu = (1480.0, 1700.0, 1555.0, 1200.0, 1900.0)
    one, none = (rated(name, rounds, mu, margin=kind) for kind in ("goals", "none"))
    assert np.allclose(one.mu, none.mu, rtol=1e-13)
    assert np.allclose(one.sigma, none.sigma, rtol=1e-13)


@pytest.mark.parametrize("name", BY_PAIRS)
def test_contests__of_more_than_256_are_refused_with_margins(name) -> None:
    n, places = 257, np.arange(257)
    rounds = Rounds.from_columns([0, n], places, places, places, points=-places)
    rule = f"{name} counts margins pair by pair, in rounds of at most 256 participants; round 0 of those given has 257"
    with pytest.raises(ValueError, match=rule):
        rated(name, rounds, np.full(n, 1500.0), margin="log")
    rated(name, rounds, np.full(n, 1500.0))


@pytest.mark.quick("elo", "elo-mm*", "glicko*", "trueskill")
@pytest.mark.parametrize("name", ABLE)
def test_threads__have_the_bits_of_serial(name) -> None:
    random = np.random.default_rng(3)
    games = [(*random.choice(60, 2, replace=False), *random.poisson(2.0, 2), 30.0) for _ in range(400)]
    params, rounds = SYSTEMS[name].params(margin="log_lead"), rounds_of_games(games)
    outcomes = []
    for engine in (Serial(), Threads(3)):
        with engine:
            outcomes.append(
                rate_rounds(SYSTEMS[name], params, store(name, params, np.full(60, 1500.0)), rounds, engine)
            )
    assert same_bits(*outcomes)


@pytest.mark.parametrize("name", ABLE)
@pytest.mark.parametrize(
    ("chosen", "rule"),
    [
        ({"margin": "loud"}, "margin must be one of none, log, log_lead, goals, linear, power_lead, got 'loud'"),
        ({"margin_unit": 0.0}, r"margin_unit must be within 1e-09\.\.1e\+09, got 0\.0"),
        ({"margin_unit": math.nan}, "margin_unit must be within .*, got nan"),
        ({"margin_cap": 0.5}, r"margin_cap must be within 1\.\.1e\+09, got 0\.5"),
        ({"margin_slope": -0.1}, r"margin_slope must be within 0\.\.1e\+09, got -0\.1"),
    ],
    ids=str,
)
def test_hyperparameters__out_of_range_are_refused(name, chosen, rule) -> None:
    with pytest.raises(ValueError, match=rule):
        SYSTEMS[name].params(**chosen)


def poisson_games(seed: int, n: int = 6000, players: int = 30) -> Rounds:
    """Games whose points have means exp(+lead) and exp(-lead) of skills."""
    random = np.random.default_rng(seed)
    skill, a = random.normal(0.0, 0.35, players), random.integers(0, players, n)
    b = (a + random.integers(1, players, n)) % players
    mean = np.exp(skill[a] - skill[b])
    columns = a, b, random.poisson(mean), random.poisson(1.0 / mean), np.zeros(n)
    return rounds_of_games(list(zip(*(column.tolist() for column in columns), strict=True)))


def best_log_loss(rounds: Rounds, margin: str) -> float:
    """Nats a game of the last three quarters, with the best of eight K."""
    score, found = np.where(rounds.lo[1::2] == 0, 0.5, 1.0), []
    for k in 3.5 * 1.5 ** np.arange(8):
        mu = rated("elo", rounds, np.full(30, 1500.0), margin=margin, k=float(k)).mu_prior
        expected = 1.0 / (1.0 + 10.0 ** ((mu[1::2] - mu[::2]) / 400.0))
        losses = -(score * np.log(expected) + (1.0 - score) * np.log1p(-expected))
        found.append(losses[len(losses) // 4 :].mean())
    return float(min(found))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
def test_log__predicts_generated_games_better_than_none_with_the_best_k_of_each(seed) -> None:
    rounds = poisson_games(seed)
    assert best_log_loss(rounds, "log") < best_log_loss(rounds, "none")
