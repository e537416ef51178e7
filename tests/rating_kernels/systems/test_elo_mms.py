"""Elo-MMS against its plain-Python twin, the laws of its update, and its chances against an integral."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from helpers.histories import four_steps, ladder, set_ratings, to_rounds
from helpers.strategies import (
    POOL,
    Belief,
    Contest,
    elo_mms_params,
    histories,
    populations,
    ratings,
    repeatable,
    sigmas,
)
from hypothesis import given
from hypothesis import strategies as st
from twins.elo_mms import Twin, _update

from ranklake import rate_history
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.experiments.properties.incentives import league, losses
from ranklake.flows.frames.predict import predict
from ranklake.rating_kernels import SYSTEMS, Beliefs, EloMMS, Outcome, Prior, Rounds
from ranklake.rating_kernels.core.standings import Conditions
from ranklake.rating_kernels.inference.learnt_drift import LIMIT
from ranklake.rating_kernels.inference.skewed import Law, law_of_round, noise_variance
from ranklake.rating_kernels.inference.win_probability import normal

SYSTEM = SYSTEMS["elo-mms"]
NAMES = [f"p{i}" for i in range(2000)]
POINTS = 1e-8  # error of a root of a table or a direct sum in a scattered field
SIZES = st.sampled_from([1, 2, 3, 10, 1000, 10**6])


def store_of(params: EloMMS, people: dict[Any, Belief], n: int = len(POOL)) -> Beliefs:
    """A store with these beliefs about the first players of the pool."""
    beliefs = SYSTEM.newcomers(params, n)
    for name, known in people.items():
        set_ratings(SYSTEM, params, beliefs, [POOL.index(name)], known.mu, known.sigma, known.n)
    return beliefs


def absorbed(
    params: EloMMS, mu: float, sigma: float, performances: Sequence[float], participants: int, weight: float = 1.0
) -> Outcome:
    """Equal players who show these performances in a round of ``participants``."""
    n = len(performances)
    round = Rounds.from_columns([0, n], np.arange(n), np.arange(n), np.arange(n), [0], [weight])
    object.__setattr__(round, "participants", np.array([participants]))
    beliefs = SYSTEM.newcomers(params, n)
    set_ratings(SYSTEM, params, beliefs, np.arange(n), np.full(n, mu), np.full(n, sigma), 0)
    return four_steps(SYSTEM, params, beliefs, round, performances)


# --- the twin ---


@repeatable(100)
@given(histories(), populations(), elo_mms_params())
def test_history__agrees_with_the_twin(
    contests: list[Contest], people: dict[Any, Belief], chosen: dict[str, Any]
) -> None:
    """Also with weights, ceilings, single participants, ties of all and times that go back."""
    params = SYSTEM.params(**chosen)
    beliefs = store_of(params, people)
    outcome = rate_rounds(SYSTEM, params, beliefs, to_rounds(contests), Serial())
    twin = Twin(**chosen, initial_state={name: known.state for name, known in people.items()})
    rows = [row for c in contests for row in twin.rate(c.standings, c.time, c.weight, c.perf_ceiling)]
    for name, column in (("performance", outcome.perf), ("mu_prior", outcome.mu_prior), ("mu", outcome.mu)):
        assert column == pytest.approx([getattr(row, name) for row in rows], rel=1e-10, abs=POINTS)
    assert outcome.sigma_prior == pytest.approx([row.sigma_prior for row in rows], rel=1e-12)
    assert outcome.sigma == pytest.approx([row.sigma for row in rows], rel=1e-12)
    for name, player in twin.players.items():
        assert beliefs.n_rounds[POOL.index(name)] == player.n


@pytest.mark.quick("95-*", "150-default")
@pytest.mark.parametrize(
    "chosen", [{}, {"tie_mode": "split", "lower": "normal", "skew": 2.0}], ids=["default", "other"]
)
@pytest.mark.parametrize("n", [95, 96, 97, 150])
def test_round_of_a_hundred__agrees_with_the_twin(n: int, chosen: dict[str, Any]) -> None:
    """On both sides of the switch from direct sums to the table."""
    draw = np.random.default_rng(n)
    mu, sigma = draw.normal(1500, 350, n), draw.uniform(60, 350, n)
    group = np.sort(draw.integers(0, 40, n))
    lo, hi = np.searchsorted(group, group, "left"), np.searchsorted(group, group, "right") - 1
    contest = Contest(list(zip(NAMES[:n], lo.tolist(), hi.tolist(), strict=True)))
    state = {NAMES[i]: {"mu": float(mu[i]), "sig": float(sigma[i]), "n": 5} for i in range(n)}
    expected = Twin(**chosen, initial_state=state).rate(contest.standings)
    params, rounds = SYSTEM.params(**chosen), to_rounds([contest], {name: row for row, name in enumerate(NAMES[:n])})
    for rate in (lambda *given: rate_rounds(*given, Serial()), four_steps):
        beliefs = SYSTEM.newcomers(params, n)
        set_ratings(SYSTEM, params, beliefs, np.arange(n), mu, sigma, 5)
        outcome = rate(SYSTEM, params, beliefs, rounds)
        assert outcome.perf == pytest.approx([one.performance for one in expected], abs=1e-9)
        assert outcome.mu == pytest.approx([one.mu for one in expected], abs=1e-9)


@repeatable(30)
@given(elo_mms_params(), ratings(extreme=True), st.floats(0.001, 1000), SIZES, st.floats(0.01, 100))
def test_fall__is_the_root_that_the_twin_bisects(
    chosen: dict[str, Any], mu: float, sigma: float, participants: int, weight: float
) -> None:
    law = Twin(**chosen).law(participants, weight)
    shown = mu - np.array([0.0, 1e-9, 0.1, 30.0, 150.0, 400.0, 1000.0, 5000.0, 1e6])
    outcome = absorbed(SYSTEM.params(**chosen), mu, sigma, shown, participants, weight)
    for performance, after, deviation in zip(shown.tolist(), outcome.mu, outcome.sigma, strict=True):
        expected, sigma_after = _update(mu, sigma, performance, law)
        assert after == pytest.approx(expected, rel=1e-12, abs=1e-9)
        assert deviation == pytest.approx(sigma_after, rel=1e-13)


# --- laws of the update ---


@repeatable(100)
@given(elo_mms_params(), ratings(), sigmas(), SIZES, st.floats(0.1, 10))
def test_mean__is_continuous_and_strictly_increasing_in_the_performance(
    chosen: dict[str, Any], mu: float, sigma: float, participants: int, weight: float
) -> None:
    """The slope lies strictly between 0 and 1, also where the two sides of the noise meet."""
    near = np.linspace(-1.0, 1.0, 41)
    surprise = np.unique(np.concatenate((np.linspace(-800.0, 800.0, 81), near, 1e-3 * near)))
    outcome = absorbed(SYSTEM.params(**chosen), mu, sigma, mu + surprise, participants, weight)
    rise, step = np.diff(outcome.mu), np.diff(surprise)
    assert np.all(rise > 0.0)
    assert np.all(rise <= step + 1e-11)
    assert outcome.mu[np.searchsorted(surprise, 0.0)] == mu


@repeatable(60)
@given(elo_mms_params(), ratings(), sigmas())
def test_fall__is_bounded_in_large_rounds(chosen: dict[str, Any], mu: float, sigma: float) -> None:
    """By sigma^2 / b as tau tends to 1, however bad the performance."""
    params = SYSTEM.params(**chosen | {"lower": "logistic"})
    bound = sigma**2 * math.pi / (math.sqrt(3.0) * params.skew * params.beta)
    outcome = absorbed(params, mu, sigma, [mu - 300.0, mu - 1e6], 10**18)
    assert np.all(mu - outcome.mu <= bound * (1.0 + 1e-12))
    assert mu - outcome.mu[1] >= 0.99 * min(bound, 1e6 - 10.0 * params.beta * params.skew)


@repeatable(60)
@given(elo_mms_params(), ratings(), sigmas(), SIZES, st.floats(0.1, 10))
def test_deviation__does_not_depend_on_the_result(
    chosen: dict[str, Any], mu: float, sigma: float, participants: int, weight: float
) -> None:
    outcome = absorbed(SYSTEM.params(**chosen), mu, sigma, mu + np.linspace(-900, 900, 7), participants, weight)
    assert len(set(outcome.sigma.tolist())) == 1
    if participants == 1 and chosen["resolution"] == "rank":
        assert outcome.sigma[0] == pytest.approx(sigma, rel=1e-15)
    else:
        assert outcome.sigma[0] < sigma


@repeatable(60)
@given(elo_mms_params(), ratings(), sigmas(), SIZES, st.floats(0.1, 10))
def test_duel__is_a_wider_noise_in_small_rounds(
    chosen: dict[str, Any], mu: float, sigma: float, participants: int, weight: float
) -> None:
    """Twice as wide in a duel by default, as wide as ``beta`` in large rounds, and the same law otherwise."""
    wider = 1.0 + (chosen["duel"] - 1.0) * 2.0 / participants
    other = chosen | {"beta": chosen["beta"] * wider, "duel": 1.0}
    shown = mu + np.linspace(-900, 900, 13)
    one, two = (absorbed(SYSTEM.params(**each), mu, sigma, shown, participants, weight) for each in (chosen, other))
    assert one.mu == pytest.approx(two.mu, rel=1e-12, abs=1e-9)
    assert one.sigma == pytest.approx(two.sigma, rel=1e-12)


@repeatable(60)
@given(elo_mms_params(), ratings(), sigmas(), SIZES, st.floats(0.1, 10))
def test_resolution__is_the_share_of_the_variance_that_a_place_removes(
    chosen: dict[str, Any], mu: float, sigma: float, participants: int, weight: float
) -> None:
    """The new mean does not depend on it."""
    shown = mu + np.linspace(-900, 900, 7)
    rank, exact = (
        absorbed(SYSTEM.params(**chosen | {"resolution": word}), mu, sigma, shown, participants, weight)
        for word in ("rank", "exact")
    )
    share = (participants - 1.0) / (participants + 1.0)
    assert rank.mu.tolist() == exact.mu.tolist()
    removed = share * (sigma**2 - exact.sigma**2)
    assert sigma**2 - rank.sigma**2 == pytest.approx(removed, rel=1e-9, abs=1e-9 * sigma**2)


@repeatable(60)
@given(elo_mms_params(), ratings(), sigmas(), SIZES, st.floats(0.1, 10))
def test_without_skew__it_is_the_gaussian_filter(
    chosen: dict[str, Any], mu: float, sigma: float, participants: int, weight: float
) -> None:
    plain = {"skew": 1.0, "lower": "normal", "practice": 0.0, "duel": 1.0, "resolution": "exact"}
    params = SYSTEM.params(**chosen | plain)
    shown = mu + np.linspace(-900, 900, 13)
    outcome = absorbed(params, mu, sigma, shown, participants, weight)
    belief, noise = sigma**-2, weight * params.beta**-2
    assert outcome.mu == pytest.approx((mu * belief + shown * noise) / (belief + noise), rel=1e-12, abs=1e-10)
    assert outcome.sigma == pytest.approx((belief + noise) ** -0.5, rel=1e-13)


@repeatable(40)
@given(elo_mms_params(), st.integers(0, 1000), st.data())
def test_better_place__never_lowers_a_later_rating(chosen: dict[str, Any], seed: int, data: st.DataObject) -> None:
    """Over the thirty rounds of a league, the others' beliefs and order given; but for the learnt drift."""
    rounds = league(np.random.default_rng(seed))
    at = data.draw(st.integers(0, 15), label="round")
    one = rounds.part(at, at + 1)
    rows = np.flatnonzero(one.lo > 0)
    row = int(data.draw(st.sampled_from(rows.tolist()), label="row"))
    place = data.draw(st.integers(0, int(one.lo[row]) - 1), label="place")
    lost = losses("elo-mms", SYSTEM.params(**chosen), rounds, at, int(one.player[row]), place)
    assert len(lost) > 0
    own = 2.0 * LIMIT / 1500.0  # the most that another result changes a cell of the table of drifts
    assert np.all(lost <= 1e-8 + (2.0 * own * np.arange(len(lost)) if chosen["learnt_drift"] else 0.0))
    assert lost[0] < 0.0


@repeatable(60)
@given(elo_mms_params(), ratings(), sigmas(), st.integers(0, 200))
def test_duel__between_equals_is_zero_sum_and_symmetric(
    chosen: dict[str, Any], mu: float, sigma: float, n: int
) -> None:
    params = SYSTEM.params(**chosen)
    for places, tied in (((1, 1), False), ((2,), True)):
        beliefs = SYSTEM.newcomers(params, 2)
        set_ratings(SYSTEM, params, beliefs, [0, 1], mu, sigma, n)
        outcome = rate_rounds(SYSTEM, params, beliefs, ladder(*places), Serial())
        assert outcome.mu.sum() == pytest.approx(2.0 * mu, abs=1e-9)
        assert outcome.sigma[0] == outcome.sigma[1]
        assert (outcome.mu[0] == outcome.mu[1]) if tied else (outcome.mu[0] > mu)


@repeatable(40)
@given(elo_mms_params(), ratings(), ratings(), sigmas(), sigmas(), st.integers(1, 200))
def test_duel__of_a_winner_and_a_loser_is_the_mirror_image(
    chosen: dict[str, Any], a: float, b: float, s: float, t: float, n: int
) -> None:
    """Ratings negated and places exchanged: all changes are negated."""
    params, changes = SYSTEM.params(**chosen), []
    for sign in (1.0, -1.0):
        beliefs = SYSTEM.newcomers(params, 2)
        set_ratings(SYSTEM, params, beliefs, [0, 1], [sign * a, sign * b], [s, t], n)
        order = [0, 1] if sign > 0 else [1, 0]
        round = Rounds.from_columns([0, 2], order, [0, 1], [0, 1], [0])
        rate_rounds(SYSTEM, params, beliefs, round, Serial())
        changes.append(sign * beliefs.mu - np.array([a, b]))
    assert changes[0] == pytest.approx(changes[1], abs=1e-7)


def test_skew_and_practice__fade_in_duels() -> None:
    plain, skewed = SYSTEM.params(skew=1.0, lower="normal", practice=0.0), SYSTEM.params(skew=3.0, practice=50.0)
    outcomes = []
    for params in (plain, skewed):
        beliefs = SYSTEM.newcomers(params, 2)
        set_ratings(SYSTEM, params, beliefs, [0, 1], [1700.0, 1500.0], [70.0, 90.0], 9)
        outcomes.append(rate_rounds(SYSTEM, params, beliefs, ladder(1, 1), Serial()))
    assert outcomes[0].mu.tolist() == pytest.approx(outcomes[1].mu.tolist(), rel=1e-13)


# --- practice, drift and memory ---


@pytest.mark.parametrize(("n", "gain"), [(0, 0.0), (1, 8.0 / 1.05), (20, 4.0), (150, 8.0 / 8.5)])
def test_practice__raises_a_rating_by_less_and_less(n: int, gain: float) -> None:
    """By almost 8 points before the second large round, and by less than 1 after 150."""
    params, n_players = SYSTEM.params(), 1000
    beliefs = SYSTEM.newcomers(params, n_players)
    set_ratings(SYSTEM, params, beliefs, np.arange(n_players), 1500.0, 80.0, n)
    outcome = rate_rounds(SYSTEM, params, beliefs, ladder(*[1] * n_players), Serial())
    assert outcome.mu_prior - 1500.0 == pytest.approx((1.0 - 2.0 / n_players) * gain, abs=1e-9)


def test_variance__grows_with_rounds_and_days_but_not_before_the_first_or_if_time_goes_back() -> None:
    params = SYSTEM.params(gamma=10.0, drift_per_day=7.0)
    beliefs = SYSTEM.newcomers(params, 2)
    before = 0.0
    for time, added in ((0, None), (864_000, 170.0), (0, 100.0), (86_400, 100.0), (950_400, 107.0)):
        round = Rounds.from_columns([0, 2], [0, 1], [0, 1], [0, 1], [time])
        outcome = rate_rounds(SYSTEM, params, beliefs, round, Serial())
        if added is None:
            assert outcome.sigma_prior.tolist() == [350.0, 350.0]
        else:
            assert outcome.sigma_prior[0] ** 2 - before == pytest.approx(added, rel=1e-9)
        before = outcome.sigma[0] ** 2
    assert beliefs.last_time.tolist() == [950_400, 950_400]


def test_memory__of_a_player_is_four_numbers_after_any_number_of_rounds() -> None:
    params = SYSTEM.params()
    beliefs = SYSTEM.newcomers(params, 40)
    rate_rounds(SYSTEM, params, beliefs, league(np.random.default_rng(1)), Serial())
    columns = beliefs.columns()
    assert set(columns) == {"mu", "sigma", "last_time", "n_rounds"}
    assert sum(column.itemsize for column in columns.values()) == 28  # type: ignore[union-attr]
    assert beliefs.history is None


@pytest.mark.parametrize("skew", [1.0, 1.4, 3.0])
def test_sigma_limit__is_where_large_rounds_without_idle_time_lead(skew: float) -> None:
    params = SYSTEM.params(skew=skew, gamma=25.0)
    law, variance = law_of_round(Law(params.beta, skew, normal=False), math.inf), 350.0**2
    noise = noise_variance(law, 1.0)
    for _ in range(2000):
        variance = 1.0 / (1.0 / (variance + params.gamma**2) + 1.0 / noise)
    assert SYSTEM.sigma_limit(params) == pytest.approx(math.sqrt(variance), rel=1e-9)


# --- edges ---


def test_single_participant__performs_at_the_rating() -> None:
    params = SYSTEM.params()
    beliefs = SYSTEM.newcomers(params, 2)
    set_ratings(SYSTEM, params, beliefs, [0], 1720.0, 60.0, 30)
    outcome = rate_rounds(SYSTEM, params, beliefs, ladder(1), Serial())
    assert outcome.perf[0] == pytest.approx(1720.0, abs=1e-9)
    assert outcome.mu[0] == pytest.approx(1720.0, abs=1e-9)
    assert outcome.sigma[0] == outcome.sigma_prior[0]


@pytest.mark.parametrize("tie_mode", ["full", "split"])
def test_tie_of_all__has_one_performance_and_brings_ratings_together(tie_mode: str) -> None:
    params = SYSTEM.params(tie_mode=tie_mode)
    beliefs = SYSTEM.newcomers(params, 4)
    set_ratings(SYSTEM, params, beliefs, np.arange(4), [1200.0, 1500.0, 1600.0, 2100.0], 80.0, 9)
    outcome = rate_rounds(SYSTEM, params, beliefs, ladder(4), Serial())
    assert len(set(outcome.perf.tolist())) == 1
    assert np.all(np.diff(outcome.mu) > 0.0)
    assert np.ptp(outcome.mu) < np.ptp(outcome.mu_prior)


GAPS = np.array([-600.0, -250.0, -75.0, 0.0, 25.0, 150.0, 400.0])
LARGE = 10**9
NODES = 1001


def prior(mu: Any, sigma: float) -> Prior:
    mu = np.asarray(mu, dtype=np.float64)
    return Prior(mu, np.full_like(mu, sigma), np.full_like(mu, np.nan), np.full(mu.shape, 9, dtype=np.int32))


def density(params: EloMMS, participants: int) -> tuple[Any, Any]:
    """Nodes of the noise and their weights: the exponential of minus the integral of the pull."""
    share, beta = 1.0 - 2.0 / participants, params.beta * (1.0 + (params.duel - 1.0) * 2.0 / participants)
    y = np.linspace(-14.0 * params.skew * beta, 8.0 * beta, NODES)
    symmetric = -0.5 * (y / beta) ** 2
    if params.lower == "logistic":
        scale = math.sqrt(3.0) / math.pi * params.skew * beta
        below = -2.0 * np.log(np.cosh(y / (2.0 * scale)))
    else:
        below = -0.5 * (y / (params.skew * beta)) ** 2
    weights = np.exp(np.where(y >= 0.0, symmetric, (1.0 - share) * symmetric + share * below))
    return y, weights / weights.sum()


def integral(params: EloMMS, gap: float, spread: float, participants: int) -> float:
    """The chance that gap + spread Z + e1 - e2 > 0, with a normal Z and two noises e."""
    y, weights = density(params, participants)
    return float(weights @ normal((gap + y[:, None] - y[None, :]) / spread) @ weights)


@pytest.mark.quick("40.0-40.0-chosen[147]-*")
@pytest.mark.parametrize(
    ("chosen", "participants", "error"),
    [
        ({}, LARGE, 0.0075),
        ({}, 100, 0.0085),
        ({}, 6, 0.013),
        ({"duel": 1.0}, 4, 0.011),
        ({}, 2, 1e-6),
        ({"lower": "normal"}, LARGE, 0.001),
        ({"skew": 1.0, "lower": "normal"}, LARGE, 1e-6),
        ({"skew": 2.0}, LARGE, 0.0105),
    ],
)
@pytest.mark.parametrize(("one", "other"), [(40.0, 40.0), (60.0, 350.0)])
def test_chance__is_near_the_integral(
    chosen: dict[str, Any], participants: int, error: float, one: float, other: float
) -> None:
    params = SYSTEM.params(**chosen)
    first, second = prior(1500.0 + GAPS, one), prior(0.0 * GAPS + 1500.0, other)
    found = SYSTEM.beats(params, Conditions(), participants, first, second)
    expected = [integral(params, gap, math.hypot(one, other), participants) for gap in GAPS.tolist()]
    assert np.abs(found - expected).max() <= error


def test_chance__by_the_size_of_a_round_follows_its_noise() -> None:
    """Wide in duels by default; without this widening only the skew remains, which makes large rounds less sure."""
    one, other = prior(1700.0, 60.0), prior(1500.0, 60.0)
    for params, falls in ((SYSTEM.params(), False), (SYSTEM.params(duel=1.0), True)):
        by_size = [float(SYSTEM.beats(params, Conditions(), n, one, other)) for n in (2, 3, 10, 1000)]
        assert by_size == sorted(by_size, reverse=falls)
        assert abs(by_size[0] - by_size[-1]) > 0.03
        assert SYSTEM.win_probability(params, Conditions(), one, other) == by_size[0]


def test_chance__is_surer_with_weight() -> None:
    params, one, other = SYSTEM.params(), prior(1700.0, 60.0), prior(1500.0, 60.0)
    usual = SYSTEM.beats(params, Conditions(), 1000, one, other)
    assert SYSTEM.beats(params, Conditions(4.0), 1000, one, other) > usual


def test_predict__asks_for_a_round_of_as_many_as_there_are() -> None:
    import pandas as pd

    names = [f"p{i}" for i in range(30)]
    _, beliefs = rate_history(
        pd.DataFrame({"contest": "one", "player": names, "rank": range(1, 31)}), system="elo-mms", return_beliefs=True
    )
    few, many = (predict(beliefs, names[:n], system="elo-mms") for n in (2, 30))
    assert 0.5 < few.chance("p0", "p1") < many.chance("p0", "p1")
