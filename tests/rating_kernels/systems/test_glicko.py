"""Glicko and the engine's all-pairs Glicko: against printed numbers, against their twins, against what they promise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.histories import ladder, same_bits, set_ratings
from helpers.leagues import Field, believed, crowd, direct_pairwise_sums, games, round_of, thrown
from helpers.strategies import DAY, POOL, histories, places, populations, repeatable
from hypothesis import given
from hypothesis import strategies as st
from twins.comparison import agree
from twins.glicko import AllPairs, games_of
from twins.glicko import Glicko as Twin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Glicko, GlickoAllPairs, Rounds
from ranklake.rating_kernels.fields import field_sums
from ranklake.rating_kernels.inference import pairwise
from ranklake.rating_kernels.systems import glicko

GLICKO, ALLPAIRS = SYSTEMS["glicko"], SYSTEMS["glicko-allpairs"]
TWINS = {"glicko": Twin, "glicko-allpairs": AllPairs}
Q = math.log(10) / 400
POINTS = 1e-9

both = pytest.mark.parametrize("system", [GLICKO, ALLPAIRS], ids=lambda system: system.name)


def known_as(system: Any, params: Any, mu: Any, sigma: Any, n_rounds: int = 1) -> Beliefs:
    """Players 0, 1, 2, ... with these beliefs."""
    beliefs = system.newcomers(params, len(mu))
    set_ratings(system, params, beliefs, np.arange(len(mu)), np.asarray(mu, float), np.asarray(sigma, float), n_rounds)
    return beliefs


# --- printed numbers ---


def test_games__of_the_paper_give_the_printed_results() -> None:
    """Glickman 1995, the example of step 2: 1500/200 beats 1400/30 and loses to 1550/100 and 1700/300."""
    params = Glicko()
    beliefs = known_as(GLICKO, params, [1500, 1400, 1550, 1700], [200, 30, 100, 300], n_rounds=0)
    period = glicko.rate_games(params, beliefs, [0, 0, 0], [1, 2, 3], [1, 0, 0])
    assert beliefs.mu[0] == pytest.approx(1464, abs=0.5)
    assert beliefs.sigma[0] == pytest.approx(151.4, abs=0.05)
    assert period.player.tolist() == [0, 1, 2, 3]
    assert 1 / (Q**2 * period.information[0]) == pytest.approx(53670.85, rel=5e-4)  # d^2 from g and E of 3 or 4 digits
    assert beliefs.n_rounds.tolist() == [1, 1, 1, 1]


def test_allpairs__has_the_g_of_glicko_at_its_default_beta() -> None:
    assert GlickoAllPairs().beta == pytest.approx(315.09, abs=0.005)
    b = GlickoAllPairs().beta
    for sigma in (30.0, 100.0, 300.0):
        assert 1 / math.hypot(1, sigma / b) == pytest.approx(1 / math.sqrt(1 + 3 * (Q * sigma / math.pi) ** 2))


# --- the twins ---


@st.composite
def hyperparameters(draw: st.DrawFn, name: str) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "sig_drift": draw(st.sampled_from([35.0, 0.0]) | st.floats(1, 150)),
        "period_days": draw(st.none() | st.sampled_from([1.0, 30.0])),
    }
    if name == "glicko":
        chosen["max_rd"] = draw(st.sampled_from([350.0, 500.0]))
        chosen["sigma_init"] = draw(st.sampled_from([350.0, 120.0]))
    else:
        chosen["beta"] = draw(st.sampled_from([GlickoAllPairs().beta, 50.0]) | st.floats(30, 600))
    return chosen


@both
@given(st.data(), histories(), populations(max_performances=0))
@repeatable(40)
def test_history__agrees_with_the_twin(system, data, contests, people) -> None:
    chosen = data.draw(hyperparameters(system.name))
    twin = TWINS[system.name](initial_state={k: (b.mu, b.sigma, b.n) for k, b in people.items()}, **chosen)

    def rate(c: Any) -> Any:
        return twin.rate(c.standings, c.time, c.weight)

    agree(system, system.params(**chosen), people, contests, twin, rate, 1e-11, POINTS)


@pytest.mark.quick("256-glicko")
@both
@pytest.mark.parametrize("n", [pairwise.SMALL, 300, 420])
def test_round__agrees_with_the_twin_from_a_table_too(system, n: int) -> None:
    mu, sigma, lo = crowd(n)
    round = round_of(lo)
    params = system.params()
    beliefs = known_as(system, params, mu, sigma)
    twin = TWINS[system.name](initial_state={str(i): (mu[i], sigma[i], 1) for i in range(n)})
    outcome = rate_rounds(system, params, beliefs, round, Serial())
    expected = twin.rate([(str(i), int(round.lo[i]), int(round.hi[i])) for i in range(n)])
    assert outcome.mu == pytest.approx([one.mu for one in expected], abs=POINTS)
    assert outcome.sigma == pytest.approx([one.sigma for one in expected], rel=1e-11)


@given(st.lists(games(), min_size=1, max_size=3), populations(max_performances=0), hyperparameters("glicko"))
@repeatable(60)
def test_games__agree_with_the_twin(periods, players, chosen) -> None:
    twin = Twin(initial_state={name: (b.mu, b.sigma, b.n) for name, b in players.items()}, **chosen)
    params = Glicko(**chosen)
    beliefs = believed(GLICKO, params, players)
    for week, played in enumerate(periods):
        a, b, score = zip(*played, strict=True)
        at = 7 * DAY * week
        period = glicko.rate_games(params, beliefs, [POOL.index(x) for x in a], [POOL.index(x) for x in b], score, at)
        expected = {one.player: one for one in twin.rate_games(played, at)}
        assert {POOL[row] for row in period.player} == set(expected)
        for name, one in expected.items():
            assert beliefs.mu[POOL.index(name)] == pytest.approx(one.mu, abs=POINTS)
            assert beliefs.sigma[POOL.index(name)] == pytest.approx(one.sigma, rel=1e-12)


@given(places(8), populations(max_performances=0))
@repeatable(40)
def test_contest__is_a_round_robin(spots, players) -> None:
    standings = [(name, lo, hi) for name, (lo, hi) in zip(POOL, spots, strict=True)]
    pairs = [
        (POOL.index(name), POOL.index(other), score)
        for name, played in games_of(standings).items()
        for other, score in played
        if name < other
    ]
    params = Glicko()
    one, other = believed(GLICKO, params, players), believed(GLICKO, params, players)
    rate_rounds(GLICKO, params, one, Rounds.from_columns([0, 8], range(8), *zip(*spots, strict=True)), Serial())
    glicko.rate_games(params, other, *zip(*pairs, strict=True))
    assert one.mu == pytest.approx(other.mu, abs=POINTS)
    assert one.sigma == pytest.approx(other.sigma, rel=1e-12)
    assert one.n_rounds.tolist() == other.n_rounds.tolist()


# --- sums over the field ---


@pytest.mark.quick("0.0057*")
@pytest.mark.parametrize("q", [Q, 10 * Q, 0.1 * Q])
def test_pairwise_sums__by_table_agree_with_sums_pair_by_pair(q: float) -> None:
    mu, sigma, lo = field = crowd(1500)
    found = pairwise.pairwise_sums(mu, sigma, lo, q, Serial().map)
    surprise, information = direct_pairwise_sums(field, q)
    assert found.surprise == pytest.approx(surprise, abs=1e-13 * len(mu))
    assert found.information == pytest.approx(information, abs=1e-12 * len(mu))


def test_pairwise_sums__of_a_lone_favourite_keep_their_digits() -> None:
    """Far above all others the expected score of the others is tiny and must not include the own term."""
    mu = np.r_[4000.0, np.full(999, 1500.0)]
    sigma, lo = np.full(1000, 50.0), np.arange(1000, dtype=np.int32)
    found = pairwise.pairwise_sums(mu, sigma, lo, Q, Serial().map)
    surprise, information = direct_pairwise_sums((mu, sigma, lo), Q)
    assert surprise[0] < 1e-3
    assert found.surprise[0] == pytest.approx(surprise[0], abs=1e-12)
    assert found.information[0] == pytest.approx(information[0], abs=1e-12)


@pytest.mark.quick("300-*")
@pytest.mark.parametrize(("reach", "sigma_reach"), [(1e4, 400.0), (1e6, 1e4), (1e9, 1e3), (1e40, 1e24)])
@pytest.mark.parametrize("n", [300, 3000])
def test_pairwise_sums__of_a_scattered_field_are_exact(n: int, reach: float, sigma_reach: float) -> None:
    mu, sigma, lo = field = thrown(n, reach, sigma_reach)
    surprise, information = direct_pairwise_sums(field, Q)
    found = pairwise.pairwise_sums(mu, sigma, lo, Q, Serial().map)
    assert field_sums.is_scattered(mu, Q) == (reach > 1e5)
    assert found.surprise == pytest.approx(surprise, abs=1e-13 * n)
    assert found.information == pytest.approx(information, abs=1e-12 * n)


@pytest.mark.parametrize("field", [crowd(2000), thrown(2000, 1e12, 1e8)], ids=["near", "scattered"])
def test_pairwise_sums__have_the_same_bits_however_they_are_shared(field: Field) -> None:
    expected = pairwise.pairwise_sums(*field, Q, Serial().map)
    for workers, block_size in ((1, 64), (2, 7), (3, 1000)):
        with Threads(workers, block_size) as engine:
            found = pairwise.pairwise_sums(*field, Q, engine.map)
            assert same_bits(found.surprise, expected.surprise)
            assert same_bits(found.information, expected.information)


def test_field__of_islands_is_summed_alike_together_and_apart() -> None:
    """Twenty islands of a hundred: each sees itself as if alone, and the others above or below it."""
    rng = np.random.default_rng(3)
    home = rng.normal(0, 300, 100)
    mu = np.concatenate([home + 1e7 * k for k in range(20)])
    rate = np.full(len(mu), Q)
    above, below, slope = field_sums.scattered_sums(mu, rate, np.ones(len(mu)), Serial().map)
    z = np.clip(Q * (home[:, None] - home[None, :]), -700, 700)
    at_home = (1 / (1 + np.exp(z))).sum(axis=1)
    for k in range(20):
        rows = slice(100 * k, 100 * k + 100)
        assert above[rows] == pytest.approx(at_home + 100 * (19 - k), rel=1e-9)
        assert below[rows] == pytest.approx(100 - at_home + 100 * k, rel=1e-9)
        assert slope[rows] == pytest.approx(slope[:100], rel=1e-7)


# --- time ---


def test_glicko__idle_player_becomes_newcomer() -> None:
    params = Glicko(sig_drift=50.0, period_days=30.0)
    beliefs = GLICKO.newcomers(params, 2)
    first = rate_rounds(GLICKO, params, beliefs, Rounds.from_columns([0, 2], [0, 1], [0, 1], [0, 1], [DAY]), Serial())
    assert first.sigma_prior.tolist() == [350.0, 350.0]
    rested = np.array([0, 1, 30, 90, 10_000])
    for days in rested:
        copy = GLICKO.newcomers(params, 0)
        copy.restore(beliefs.columns())
        again = Rounds.from_columns([0, 2], [0, 1], [0, 1], [0, 1], [DAY + int(days) * DAY])
        outcome = rate_rounds(GLICKO, params, copy, again, Serial())
        grown = np.sqrt(first.sigma**2 + 50.0**2 * days / 30)
        assert outcome.sigma_prior == pytest.approx(np.minimum(grown, 350.0), rel=1e-14)
    assert outcome.sigma_prior.tolist() == [350.0, 350.0]


@both
def test_clock__that_goes_back_takes_no_certainty_and_keeps_the_latest_time(system) -> None:
    params = system.params(period_days=1.0)
    beliefs = system.newcomers(params, 2)
    rounds = Rounds.from_columns([0, 2, 4], [0, 1, 0, 1], [0, 1, 0, 1], [0, 1, 0, 1], [9 * DAY, 2 * DAY])
    outcome = rate_rounds(system, params, beliefs, rounds, Serial())
    assert outcome.sigma_prior[2:].tolist() == outcome.sigma[:2].tolist()
    assert beliefs.last_time.tolist() == [9 * DAY, 9 * DAY]


def test_drift__by_contests_applies_after_a_first_contest_and_in_the_engine_to_all() -> None:
    round = ladder(1, 1)
    for system, first in ((GLICKO, 200.0), (ALLPAIRS, math.hypot(200.0, 35.0))):
        params = system.params(sigma_init=200.0)
        beliefs = system.newcomers(params, 2)
        outcome = rate_rounds(system, params, beliefs, round, Serial())
        assert outcome.sigma_prior == pytest.approx(first, rel=1e-15)
        again = rate_rounds(system, params, beliefs, round, Serial())
        assert again.sigma_prior == pytest.approx(np.hypot(outcome.sigma, 35.0), rel=1e-14)


def test_allpairs__newcomers_have_had_no_idle_time() -> None:
    params = GlickoAllPairs(period_days=7.0)
    beliefs = ALLPAIRS.newcomers(params, 2)
    assert rate_rounds(ALLPAIRS, params, beliefs, ladder(1, 1), Serial()).sigma_prior.tolist() == [350.0, 350.0]


def test_sit_out__widens_as_many_periods_up_to_the_limit() -> None:
    params = Glicko(sig_drift=40.0)
    beliefs = known_as(GLICKO, params, [1500.0] * 3, [100.0, 340.0, 100.0])
    glicko.sit_out(params, beliefs, np.array([0, 1]), periods=9)
    assert beliefs.sigma == pytest.approx([math.hypot(100, 120), 350.0, 100.0])
    assert beliefs.n_rounds.tolist() == [1, 1, 1]


def test_league__by_hand_and_by_the_clock_is_one() -> None:
    """Players rest one week in three, with sit_out or with idle time."""
    by_hand, by_clock = Glicko(sig_drift=40.0), Glicko(sig_drift=40.0, period_days=7.0)
    one, other = GLICKO.newcomers(by_hand, 6), GLICKO.newcomers(by_clock, 6)
    draw = np.random.default_rng(2)
    for week in range(9):
        rest = np.array([week % 3, 3 + week % 3])
        play = np.setdiff1d(np.arange(6), rest)
        a, b, score = draw.permutation(play), draw.permutation(play), draw.integers(0, 3, 4) / 2
        a, b, score = np.r_[a, play[:-1]], np.r_[b, play[1:]], np.r_[score, 1, 0, 1]
        a, b, score = (column[a != b] for column in (a, b, score))
        if week:  # no sigma can grow before
            glicko.sit_out(by_hand, one, rest[one.n_rounds[rest] > 0])
        glicko.rate_games(by_hand, one, a, b, score)
        glicko.rate_games(by_clock, other, a, b, score, DAY * 7 * week)
    resting = np.array([2, 5])
    assert np.delete(one.mu, resting) == pytest.approx(np.delete(other.mu, resting), abs=POINTS)
    assert np.delete(one.sigma, resting) == pytest.approx(np.delete(other.sigma, resting), rel=1e-12)


@pytest.mark.parametrize(("beta", "drift"), [(315.09, 35.0), (50.0, 10.0), (600.0, 150.0)])
def test_sigma_limit__of_allpairs_is_the_limit_of_sigma(beta: float, drift: float) -> None:
    params = GlickoAllPairs(beta=beta, sig_drift=drift)
    limit, q = ALLPAIRS.sigma_limit(params), math.pi / math.sqrt(3) / beta
    assert 1 / (limit**2 + drift**2) + q**2 / 4 == pytest.approx(1 / limit**2, rel=1e-12)
    beliefs = ALLPAIRS.newcomers(params, 2)
    rate_rounds(
        ALLPAIRS,
        params,
        beliefs,
        Rounds.from_columns(range(0, 801, 2), [0, 1] * 400, [0, 1] * 400, [0, 1] * 400),
        Serial(),
    )
    assert beliefs.sigma == pytest.approx(limit, rel=1e-9)


def test_sigma_limit__is_0_without_drift_and_for_glicko() -> None:
    assert ALLPAIRS.sigma_limit(GlickoAllPairs(sig_drift=0.0)) == 0.0
    assert GLICKO.sigma_limit(Glicko()) == 0.0


# --- laws ---


@both
def test_round__of_equals_gives_and_takes_alike(system) -> None:
    params = system.params()
    outcome = rate_rounds(system, params, system.newcomers(params, 9), ladder(2, 3, 4), Serial())
    assert outcome.mu.sum() == pytest.approx(9 * 1500.0, abs=1e-9)
    assert np.all(np.diff(outcome.mu[[0, 2, 5]]) < 0)
    assert len(set(outcome.sigma.tolist())) == 1


@both
@pytest.mark.parametrize("n", [5, 500])
def test_round__in_which_all_tie_draws_ratings_together(system, n: int) -> None:
    mu = np.linspace(1200, 1800, n)
    params = system.params()
    outcome = rate_rounds(system, params, known_as(system, params, mu, np.full(n, 60.0)), ladder(n), Serial())
    assert np.all(np.diff(outcome.mu) > 0) or (system, n) == (GLICKO, 500)  # whose step is too long
    assert np.ptp(outcome.mu) < np.ptp(mu)
    assert outcome.mu + outcome.mu[::-1] == pytest.approx(3000.0, abs=1e-9)


def test_allpairs__contest_of_weight_w_has_a_smaller_beta() -> None:
    heavy, plain = GlickoAllPairs(beta=300.0), GlickoAllPairs(beta=150.0)
    one, other = (ALLPAIRS.newcomers(params, 3) for params in (heavy, plain))
    rate_rounds(ALLPAIRS, heavy, one, ladder(1, 1, 1, weight=4.0), Serial())
    rate_rounds(ALLPAIRS, plain, other, ladder(1, 1, 1), Serial())
    assert one.mu == pytest.approx(other.mu, abs=POINTS)
    assert one.sigma == pytest.approx(other.sigma, rel=1e-14)


# --- edges ---


def test_glicko__many_contests_of_thousands_stay_numbers_though_ratings_run_away() -> None:
    """Step 2 overshoots where thousands of games are one period; the field it leaves is rated like any other."""
    n, params = 1200, Glicko()
    beliefs = GLICKO.newcomers(params, n)
    draw = np.random.default_rng(4)
    skill = draw.normal(0, 2.5, n)
    for _ in range(25):
        order = np.argsort(-skill - draw.logistic(0, 1, n))
        rate_rounds(GLICKO, params, beliefs, Rounds.from_columns([0, n], order, range(n), range(n)), Serial())
    assert np.isfinite(beliefs.mu).all()
    assert np.ptp(beliefs.mu) > 20_000
    assert np.all((beliefs.sigma > 0) & (beliefs.sigma <= 350.0))


@both
def test_round__of_players_with_tiny_sigma_changes_no_rating(system) -> None:
    params = system.params(sig_drift=0.0)
    outcome = rate_rounds(system, params, known_as(system, params, [1500, 1400], [1e-9, 1e-9]), ladder(1, 1), Serial())
    assert outcome.mu == pytest.approx([1500, 1400], abs=1e-12)
    assert outcome.sigma == pytest.approx(1e-9, rel=1e-12)


# --- faults ---


@pytest.mark.parametrize(
    ("a", "b", "score", "message"),
    [
        ([0, 1], [1], [1, 0], r"as many a as b and scores, got shapes \(2,\), \(1,\), \(2,\)"),
        ([0, 3], [1, 1], [1, 0], "game 1: a must be a row of a store of 3 players, got 3"),
        ([0, 1], [1, -1], [1, 0], "game 1: b must be a row of a store of 3 players, got -1"),
        ([0, 1], [1, 1], [1, 0], "game 1: player 1 plays against oneself"),
        ([0, 1], [1, 0], [1, 1.5], "game 1: score must be between 0 and 1, got 1.5"),
        ([0, 1], [1, 0], [math.nan, 1], "game 0: score must be between 0 and 1, got nan"),
        ([0.5], [1], [1], "a must be a list of whole numbers, got float64"),
    ],
)
def test_games__that_cannot_be_are_refused_and_change_nothing(a, b, score, message) -> None:
    beliefs = GLICKO.newcomers(Glicko(), 3)
    before = beliefs.columns()
    with pytest.raises(ValueError, match=message):
        glicko.rate_games(Glicko(), beliefs, a, b, score)
    assert all(same_bits(beliefs.columns()[name], column) for name, column in before.items())


def test_games__of_an_empty_list_change_nothing() -> None:
    beliefs = GLICKO.newcomers(Glicko(), 3)
    period = glicko.rate_games(Glicko(), beliefs, [], [], [])
    assert len(period.player) == 0
    assert beliefs.n_rounds.tolist() == [0, 0, 0]


def test_time__is_required_if_idle_time_counts_and_then_players_cannot_sit_out() -> None:
    params = Glicko(period_days=7.0)
    beliefs = GLICKO.newcomers(params, 2)
    with pytest.raises(ValueError, match=r"time_seconds must be given, as idle time counts \(period_days = 7.0\)"):
        glicko.rate_games(params, beliefs, [0], [1], [1])
    with pytest.raises(ValueError, match=r"sit_out must not be used where idle time counts \(period_days = 7.0\)"):
        glicko.sit_out(params, beliefs, np.array([0]))
    with pytest.raises(ValueError, match=r"periods must be within .*, got -1"):
        glicko.sit_out(Glicko(), beliefs, np.array([0]), periods=-1)
