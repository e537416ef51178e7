"""Glicko-2: against printed numbers, against its twin, and what volatility does to a rating."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.histories import four_steps, ladder, same_bits, set_ratings, to_rounds
from helpers.leagues import believed, crowd, games, round_of, thrown
from helpers.strategies import DAY, POOL, histories, populations, repeatable
from hypothesis import given
from hypothesis import strategies as st
from twins.glicko2 import Glicko2 as Twin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Glicko2, Rounds
from ranklake.rating_kernels.inference import pairwise
from ranklake.rating_kernels.systems import glicko2

SYSTEM = SYSTEMS["glicko2"]
POINTS = 1e-9
PRINTED, EXACT = 173.7178, 400 / math.log(10)


def known_as(params: Glicko2, mu: Any, sigma: Any, n_rounds: int = 1) -> Beliefs:
    """Players 0, 1, 2, ... with these beliefs."""
    beliefs = SYSTEM.newcomers(params, len(mu))
    set_ratings(SYSTEM, params, beliefs, np.arange(len(mu)), np.asarray(mu, float), np.asarray(sigma, float), n_rounds)
    return beliefs


# --- printed numbers ---


@pytest.mark.parametrize("scale", ["printed", "exact"])
def test_games__of_the_paper_give_the_printed_results(scale: str) -> None:
    """Glickman 2012: 1500/200/0.06 beats 1400/30, loses to 1550/100 and 1700/300; tau 0.5. It rounds as it goes."""
    params = Glicko2(tau=0.5, scale=scale)
    beliefs = known_as(params, [1500, 1400, 1550, 1700], [200, 30, 100, 300])
    period = glicko2.rate_games(params, beliefs, [0, 0, 0], [1, 2, 3], [1, 0, 0])
    assert 1 / period.information[0] == pytest.approx(1.7785, abs=1e-3)
    assert period.surprise[0] / period.information[0] == pytest.approx(-0.4834, abs=1e-3)
    assert beliefs.mu[0] == pytest.approx(1464.06, abs=0.02)
    assert beliefs.sigma[0] == pytest.approx(151.52, abs=0.01)
    assert beliefs.state["vol"][0] == pytest.approx(0.05999, abs=1e-5)


def test_scale__exact_is_400_over_the_logarithm_of_10() -> None:
    exact, printed = (SYSTEM.newcomers(Glicko2(scale=scale), 2) for scale in ("exact", "printed"))
    for beliefs, scale in ((exact, "exact"), (printed, "printed")):
        rate_rounds(SYSTEM, Glicko2(scale=scale), beliefs, ladder(1, 1), Serial())
    g = 1 / math.sqrt(1 + 3 * (350 / EXACT / math.pi) ** 2)
    precision = 1 / ((350 / EXACT) ** 2 + exact.state["vol"][0] ** 2) + g * g / 4
    assert exact.mu[0] == pytest.approx(1500 + EXACT * g / 2 / precision, rel=1e-14)
    assert 1e-7 < abs(exact.mu[0] - printed.mu[0]) < 1e-3


def test_sit_out__widens_by_the_volatility_as_in_step_6() -> None:
    params = Glicko2()
    beliefs = known_as(params, [1500.0] * 3, [200.0] * 3)
    beliefs.state["vol"][1] = 0.12
    glicko2.sit_out(params, beliefs, np.array([0, 1]))
    assert beliefs.sigma == pytest.approx([200.27141669877062, math.hypot(200, 0.12 * PRINTED), 200.0], rel=1e-14)
    glicko2.sit_out(params, beliefs, np.array([2]), periods=3)
    assert beliefs.sigma[2] == pytest.approx(math.sqrt(200**2 + 3 * (0.06 * PRINTED) ** 2), rel=1e-14)


@pytest.mark.parametrize(
    ("days", "sigma"),
    [
        *((7, 200.0), (14, 200.27141669877062), (3, 200.0), (0, 200.0), (-7, 200.0)),
        (17.5, math.sqrt(200**2 + 1.5 * (0.06 * PRINTED) ** 2)),
    ],
)
def test_clock__adds_a_period_for_every_one_that_was_missed(days: float, sigma: float) -> None:
    """The period in which a contest falls is its own: playing every week is never to be idle."""
    params = Glicko2(period_days=7.0)
    beliefs = known_as(params, [1500.0, 1500.0, 1500.0], [200.0] * 3)
    beliefs.last_time[:2] = 100 * DAY  # the third was rated at an unknown time
    round = Rounds.from_columns([0, 3], range(3), range(3), range(3), [int((100 + days) * DAY)])
    outcome = rate_rounds(SYSTEM, params, beliefs, round, Serial())
    assert outcome.sigma_prior == pytest.approx([sigma, sigma, 200.0], rel=1e-14)


def test_newcomers__have_the_given_volatility() -> None:
    assert SYSTEM.newcomers(Glicko2(), 2).state["vol"].tolist() == [0.06, 0.06]
    assert SYSTEM.newcomers(Glicko2(vol_init=0.1), 2).columns()["vol"].tolist() == [0.1, 0.1]


# --- the twin ---


@st.composite
def hyperparameters(draw: st.DrawFn) -> dict[str, Any]:
    """Of the paper's range, 0.3 to 1.2 for tau, the lower half: above, a bad round makes ratings explode."""
    return {
        "tau": draw(st.sampled_from([0.5, 0.3]) | st.floats(0.1, 0.6)),
        "scale": draw(st.sampled_from(["printed", "exact"])),
        "period_days": draw(st.none() | st.sampled_from([1.0, 30.0])),
        "vol_init": draw(st.sampled_from([0.06, 0.1])),
    }


@pytest.mark.quick("small")
@pytest.mark.parametrize("stepwise", [False, True], ids=["small", "four-steps"])
@given(st.data(), histories(min_size=2), populations(max_performances=0))
@repeatable(60)
def test_history__agrees_with_the_twin(stepwise, data, contests, players) -> None:
    chosen = data.draw(hyperparameters())
    vol = chosen["vol_init"]
    twin = Twin(initial_state={name: (b.mu, b.sigma, vol, b.n) for name, b in players.items()}, **chosen)
    params = Glicko2(**chosen)
    beliefs = believed(SYSTEM, params, players)
    for contest in contests:
        rounds = to_rounds([contest])
        outcome = (
            four_steps(SYSTEM, params, beliefs, rounds)
            if stepwise
            else rate_rounds(SYSTEM, params, beliefs, rounds, Serial())
        )
        expected = twin.rate(contest.standings, contest.time)
        for name in ("mu_prior", "sigma_prior", "mu", "sigma"):
            wanted = [getattr(one, name) for one in expected]
            assert getattr(outcome, name) == pytest.approx(wanted, rel=1e-11, abs=POINTS)
        rows = [POOL.index(one.player) for one in expected]
        assert beliefs.state["vol"][rows] == pytest.approx([one.vol for one in expected], rel=1e-11)
        # the next round begins alike: ratings that explode would let the rounding of sums explode with them
        beliefs.mu[rows], beliefs.sigma[rows] = [one.mu for one in expected], [one.sigma for one in expected]
        beliefs.state["vol"][rows] = [one.vol for one in expected]


@given(st.lists(games(), min_size=1, max_size=3), populations(max_performances=0), hyperparameters())
@repeatable(60)
def test_games__agree_with_the_twin(periods, players, chosen) -> None:
    vol = chosen["vol_init"]
    twin = Twin(initial_state={name: (b.mu, b.sigma, vol, b.n) for name, b in players.items()}, **chosen)
    params = Glicko2(**chosen)
    beliefs = believed(SYSTEM, params, players)
    for week, played in enumerate(periods):
        a, b, score = zip(*played, strict=True)
        at = 21 * DAY * week
        period = glicko2.rate_games(params, beliefs, [POOL.index(x) for x in a], [POOL.index(x) for x in b], score, at)
        expected = {one.player: one for one in twin.rate_games(played, at)}
        assert {POOL[row] for row in period.player} == set(expected)
        for row, information in zip(period.player, period.information, strict=True):
            one = expected[POOL[row]]
            assert beliefs.mu[row] == pytest.approx(one.mu, abs=POINTS)
            assert beliefs.sigma[row] == pytest.approx(one.sigma, rel=1e-11)
            assert beliefs.state["vol"][row] == pytest.approx(one.vol, rel=1e-11)
            assert 1 / information == pytest.approx(one.v, rel=1e-12)


@pytest.mark.quick("300")
@pytest.mark.parametrize("n", [pairwise.SMALL, 300])
def test_round__agrees_with_the_twin_from_a_table_too(n: int) -> None:
    mu, sigma, lo = crowd(n)
    round, params = round_of(lo), Glicko2()
    beliefs = known_as(params, mu, sigma)
    twin = Twin(initial_state={str(i): (mu[i], sigma[i], 0.06, 1) for i in range(n)})
    outcome = rate_rounds(SYSTEM, params, beliefs, round, Serial())
    expected = twin.rate([(str(i), int(round.lo[i]), int(round.hi[i])) for i in range(n)])
    assert outcome.mu == pytest.approx([one.mu for one in expected], rel=1e-11)
    assert outcome.sigma == pytest.approx([one.sigma for one in expected], rel=1e-11)
    assert beliefs.state["vol"] == pytest.approx([one.vol for one in expected], rel=1e-10)


# --- the volatility ---


def test_volatility__of_0_stays_0() -> None:
    params = Glicko2()
    beliefs = known_as(params, [1500.0, 1500.0], [50.0, 50.0])
    beliefs.state["vol"][0] = 0.0
    rate_rounds(SYSTEM, params, beliefs, ladder(1, 1), Serial())
    assert beliefs.state["vol"][0] == 0.0
    assert beliefs.state["vol"][1] > 0.0
    assert beliefs.sigma[0] < 50.0


def test_volatility__rises_with_surprises_and_falls_without() -> None:
    params = Glicko2()
    for wins, rises in ((30, True), (15, False)):
        beliefs = known_as(params, [1500.0, 1500.0], [50.0, 30.0])
        glicko2.rate_games(params, beliefs, [0] * 30, [1] * 30, [1.0] * wins + [0.0] * (30 - wins))
        assert (beliefs.state["vol"][0] > 0.06) == rises


def test_player_alone__is_only_a_period_older() -> None:
    params = Glicko2()
    beliefs = known_as(params, [1600.0, 1500.0], [200.0, 200.0])
    outcome = rate_rounds(SYSTEM, params, beliefs, ladder(1), Serial())
    assert outcome.mu.tolist() == [1600.0]
    assert outcome.sigma[0] == pytest.approx(200.27141669877062, rel=1e-14)
    assert beliefs.state["vol"][0] == pytest.approx(0.06, rel=1e-14)


# --- incentives ---


def test_farming__a_player_that_lost_on_purpose_ends_higher() -> None:
    """Volatility farming (Ebtekar and Liu, section 5.1): worse results in some periods and equal ones in all others.

    Thirty games a period against one known opponent, ten periods at par or all lost, then ten all won.
    """
    params = Glicko2()

    def season(first_wins: int) -> Beliefs:
        beliefs = known_as(params, [1500.0, 1500.0], [50.0, 30.0])
        for wins in [first_wins] * 10 + [30] * 10:
            beliefs.mu[1], beliefs.sigma[1] = 1500.0, 30.0
            glicko2.rate_games(params, beliefs, [0] * 30, [1] * 30, [1.0] * wins + [0.0] * (30 - wins))
        return beliefs

    honest, farmer = season(15), season(0)
    assert farmer.state["vol"][0] > 2 * honest.state["vol"][0]
    assert farmer.mu[0] > honest.mu[0] + 100


# --- large rounds ---


def test_round__of_a_scattered_field_has_the_same_bits_however_it_is_shared() -> None:
    mu, sigma, lo = thrown(2000, 1e12, 1e8)
    round, params = round_of(lo), Glicko2()
    one = known_as(params, mu, sigma)
    expected = rate_rounds(SYSTEM, params, one, round, Serial())
    assert np.isfinite(expected.mu).all()
    for workers, block_size in ((1, 64), (2, 7), (3, 1000)):
        other = known_as(params, mu, sigma)
        with Threads(workers, block_size) as engine:
            assert same_bits(rate_rounds(SYSTEM, params, other, round, engine), expected)
        assert same_bits(one, other)


def test_contests__of_thousands_stay_numbers_though_ratings_run_away() -> None:
    """Thousands of games a period leave no doubt and then great surprise: volatility explodes, nothing else may."""
    n, params = 1200, Glicko2()
    beliefs = SYSTEM.newcomers(params, n)
    draw = np.random.default_rng(4)
    skill = draw.normal(0, 2.5, n)
    for _ in range(25):
        order = np.argsort(-skill - draw.logistic(0, 1, n))
        rate_rounds(SYSTEM, params, beliefs, Rounds.from_columns([0, n], order, range(n), range(n)), Serial())
    for column in (beliefs.mu, beliefs.sigma, beliefs.state["vol"]):
        assert np.isfinite(column).all()
    assert np.ptp(beliefs.mu) > 1e6
    assert (beliefs.sigma > 0).all()


# --- faults ---


def test_time__is_required_if_idle_time_counts_and_then_players_cannot_sit_out() -> None:
    params = Glicko2(period_days=7.0)
    beliefs = SYSTEM.newcomers(params, 2)
    with pytest.raises(ValueError, match="time_seconds must be given"):
        glicko2.rate_games(params, beliefs, [0], [1], [1])
    with pytest.raises(ValueError, match="sit_out must not be used"):
        glicko2.sit_out(params, beliefs, np.array([0]))
