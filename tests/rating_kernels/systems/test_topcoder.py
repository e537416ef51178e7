"""TopCoder's system against its plain-Python twin, its own table, and what is said of it: erratic play pays."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from helpers.histories import four_steps, ladder, same_bits, set_ratings, to_rounds
from helpers.strategies import POOL, histories, populations, repeatable
from hypothesis import given
from hypothesis import strategies as st
from twins.comparison import agree
from twins.topcoder import Twin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, ConvergenceError, Outcome, Rounds, System, TopCoder
from ranklake.rating_kernels.fields.pairs import terms
from ranklake.rating_kernels.systems.topcoder import SMALL, step_size

SYSTEM = SYSTEMS["topcoder"]
POINTS = 1e-8  # rounding of win probabilities, times competition factors of thousands of points

forms = st.fixed_dictionaries(
    {name: st.booleans() for name in ("vol_after_cap", "two_phase", "published_constants")},
    optional={
        "weight_noob": st.floats(0.05, 0.95),
        "weight_limit": st.floats(0.05, 0.95),
        "weight_multiplier": st.floats(0.05, 4.0),
        "mu_init": st.floats(0, 3000),
        "sigma_init": st.floats(10, 600),
    },
)


def believed(mu: Any, sigma: Any, n_rounds: Any = 5, params: TopCoder | None = None) -> Beliefs:
    """Players 0, 1, 2, ... with these beliefs."""
    params = params or TopCoder()
    beliefs = SYSTEM.newcomers(params, len(mu))
    set_ratings(SYSTEM, params, beliefs, np.arange(len(mu)), np.asarray(mu, float), np.asarray(sigma, float), n_rounds)
    return beliefs


def rated(params: TopCoder, beliefs: Beliefs, round: Rounds) -> Outcome:
    return rate_rounds(SYSTEM, params, beliefs, round, Serial())


# --- the twin ---


@given(histories(), populations(extreme=True, max_performances=0), forms)
@repeatable(80)
def test_topcoder__agrees_with_the_twin(contests, people, chosen) -> None:
    twin = Twin(initial_state={name: [b.mu, b.sigma, b.n] for name, b in people.items()}, **chosen)

    def rate(c: Any) -> Any:
        return twin.rate(c.standings, c.time, c.weight, c.perf_ceiling)

    agree(SYSTEM, TopCoder(**chosen), people, contests, twin, rate, points=POINTS)


@given(st.floats(-500, 6000), st.integers(0, 300), st.floats(1e-3, 1e3), forms)
@repeatable(100)
def test_step_size__is_the_twins(mu, n, weight, chosen) -> None:
    twin = Twin(initial_state={"a": [mu, 200.0, n]}, **chosen)
    (expected,) = twin.rate([("a", 0, 0)], weight=weight)
    p = TopCoder(**chosen)
    found = step_size(
        mu, n, weight, p.weight_noob, p.weight_limit, p.weight_multiplier, p.published_constants
    )  # fmt: skip
    assert found == pytest.approx((expected.weight, expected.cap), rel=1e-12)


@pytest.mark.parametrize(
    ("mu", "engine", "published"), [(1999.9, 1.0, 1.0), (2000.0, 0.9, 0.9), (2500.0, 0.8, 0.9), (2500.1, 0.8, 0.8)]
)
def test_step_size__falls_at_2000_and_2500(mu: float, engine: float, published: float) -> None:
    """The page reads "between 2000 and 2500" and "over 2500"."""
    base = 0.6 / 0.4
    assert step_size(mu, 0, 1.0, 0.6, 0.18, 1.0, False)[0] == pytest.approx(base * engine, rel=1e-12)
    assert step_size(mu, 0, 1.0, 0.6, 0.18, 1.0, True)[0] == pytest.approx(base * published, rel=1e-12)


# --- the table against sums term by term ---


def crowd(n: int, sigmas: tuple[float, float], kind: str, newcomers: float) -> tuple[Beliefs, Rounds]:
    """``n`` players, a share of them newcomers, and a round in which a third tie with the one before."""
    draw = np.random.default_rng(n)
    mu = draw.normal(1500, 400, n)
    if kind == "gap":
        mu += np.where(draw.random(n) < 0.5, 0.0, 5000.0)
    beliefs = believed(mu, draw.uniform(*sigmas, n), np.where(draw.random(n) < newcomers, 0, 9))
    level = draw.normal(size=n) if kind == "upset" else mu + draw.normal(0, 300, n)
    group = np.cumsum(draw.random(n) > 0.3)
    lo, hi = np.searchsorted(group, group, "left"), np.searchsorted(group, group, "right") - 1
    return beliefs, Rounds.from_columns([0, n], np.argsort(-level), lo, hi)


@pytest.mark.parametrize("params", [TopCoder(), TopCoder.published()], ids=["engine", "published"])
@pytest.mark.parametrize(
    ("sigmas", "kind", "newcomers"),
    [((80, 350), "usual", 0.2), ((100, 100), "usual", 0.5), ((5, 600), "upset", 0.1), ((50, 200), "gap", 0.02)],
)
def test_topcoder__by_table_agrees_with_sums_term_by_term(params, sigmas, kind, newcomers) -> None:
    (one, round), (other, _) = crowd(SMALL, sigmas, kind, newcomers), crowd(SMALL, sigmas, kind, newcomers)
    direct, stepped = rated(params, one, round), four_steps(SYSTEM, params, other, round)
    for name in ("perf", "mu", "sigma"):
        assert getattr(stepped, name) == pytest.approx(getattr(direct, name), rel=1e-9)


@pytest.mark.slow
def test_topcoder__by_table_agrees_with_sums_term_by_term_in_a_round_of_thousands(monkeypatch) -> None:
    (one, round), (other, _) = crowd(4000, (80, 350), "usual", 0.2), crowd(4000, (80, 350), "usual", 0.2)
    params = TopCoder.published()
    tabulated = rated(params, one, round)
    monkeypatch.setattr("ranklake.rating_kernels.systems.topcoder.pair_sums", term_by_term)
    direct = rated(params, other, round)
    for name in ("perf", "mu", "sigma"):
        assert getattr(tabulated, name) == pytest.approx(getattr(direct, name), rel=1e-10)


def term_by_term(kinds: Any, mu: Any, variance: Any, map: Any, weight: Any = None) -> Any:
    """What a table must say."""
    sums, weight = np.empty((len(kinds), len(mu))), np.ones(len(mu)) if weight is None else weight
    for row, kind in enumerate(kinds):
        terms.direct_sums(terms.KINDS[kind], 0, len(mu), mu, variance, weight, sums[row])
    return sums


# --- erratic play pays: Ebtekar and Liu, section 5.1 ---

PLAYERS, CONTESTS, FIELD = 150, 462, 30
FARMED = range(128, 346)


@pytest.fixture(scope="module")
def seasons() -> dict[str, list[Rounds]]:
    """Player 0 always honest, and losing on purpose in contests 128 to 345 when above 2975 points."""
    draw = np.random.default_rng(2021)
    skill = draw.normal(1800, 450, PLAYERS)
    skill[0] = 3100.0
    beliefs = SYSTEM.newcomers(TopCoder(), PLAYERS)
    honest, farming = [], []
    for contest in range(CONTESTS):
        who = np.r_[0, 1 + draw.permutation(PLAYERS - 1)[: FIELD - 1]]
        who = who[np.argsort(-skill[who] - draw.normal(0, 200, FIELD))]
        loser = contest in FARMED and beliefs.mu[0] > 2975.0
        honest.append(dataclasses.replace(ladder(*[1] * FIELD), player=who.astype(np.int32)))
        order = np.r_[who[who != 0], 0] if loser else who
        farming.append(dataclasses.replace(ladder(*[1] * FIELD), player=order.astype(np.int32)))
        rated(TopCoder(), beliefs, farming[-1])
    return {"honest": honest, "farming": farming}


def path(system: System, params: Any, rounds: list[Rounds]) -> np.ndarray:
    """Player 0's rating after every contest."""
    beliefs = system.newcomers(params, PLAYERS)
    return np.array([rate_after(system, params, beliefs, round) for round in rounds])


def rate_after(system: System, params: Any, beliefs: Beliefs, round: Rounds) -> float:
    rate_rounds(system, params, beliefs, round, Serial())
    return float(beliefs.mu[0])


@pytest.mark.slow
def test_topcoder__is_not_monotone_as_losing_on_purpose_pays(seasons) -> None:
    honest, farming = (path(SYSTEM, TopCoder(), seasons[name]) for name in ("honest", "farming"))
    assert np.array_equal(honest[: FARMED.start], farming[: FARMED.start])
    assert farming[FARMED.stop - 1] < honest[FARMED.stop - 1]
    assert farming[-1] > honest[-1] + 100  # by the same results from contest 346 on
    assert farming[FARMED.stop :].max() > honest.max() + 100


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 1.0, math.inf])
def test_elo_mmr__gives_nothing_for_the_same_losses(seasons, rho: float) -> None:
    """Theorem 5.5."""
    system = SYSTEMS["elo-mmr"]
    honest, farming = (path(system, system.params(rho=rho), seasons[name]) for name in ("honest", "farming"))
    assert np.all(farming <= honest)


# --- laws ---


@given(histories(max_rounds=4), populations(max_performances=0), forms)
@repeatable(60)
def test_topcoder__moves_no_rating_further_than_its_cap(contests, players, chosen) -> None:
    params = TopCoder(**chosen)
    beliefs = SYSTEM.newcomers(params, len(POOL))
    for name, known in players.items():
        set_ratings(SYSTEM, params, beliefs, [POOL.index(name)], known.mu, known.sigma, known.n)
    rounds = to_rounds(contests)
    outcome = rated(params, beliefs, rounds)
    weight = np.repeat(rounds.weight, np.diff(rounds.offsets))
    for mu, after, n, w in zip(outcome.mu_prior, outcome.mu, outcome.n_before, weight, strict=True):
        cap = step_size(mu, n, w, params.weight_noob, params.weight_limit, params.weight_multiplier, False)[1]
        assert abs(after - mu) <= cap * (1 + 1e-12) + 1e-9


@given(st.lists(st.floats(-300, 300), min_size=8, max_size=8), st.sampled_from([-500.0, 250.0]))
@repeatable(40)
def test_topcoder__shifting_all_ratings_shifts_all_results_between_thresholds(offsets, shift) -> None:
    low, high = (believed(1200 + s + np.array(offsets), np.linspace(80, 350, 8)) for s in (0.0, shift))
    a, b = rated(TopCoder(), low, ladder(2, 1, 3, 2)), rated(TopCoder(), high, ladder(2, 1, 3, 2))
    assert b.mu - shift == pytest.approx(a.mu, abs=POINTS)
    assert b.sigma == pytest.approx(a.sigma, abs=POINTS)


def test_topcoder__moves_high_ratings_less() -> None:
    """Between equals ERank is known: the whole round shifts, its weights do not."""
    low, high = (believed([m, m, m], [200.0] * 3) for m in (1500.0, 2600.0))
    a, b = (rated(TopCoder(), beliefs, ladder(1, 1, 1)) for beliefs in (low, high))
    assert b.perf - 1100 == pytest.approx(a.perf, abs=POINTS)
    assert b.mu[0] - 2600 < a.mu[0] - 1500
    assert b.mu[2] - 2600 > a.mu[2] - 1500


@given(histories(max_rounds=1, min_size=2), populations(max_performances=0))
@repeatable(60)
def test_two_phases__veterans_are_rated_as_if_without_newcomers(contests, players) -> None:
    veterans = {name: known for name, known in players.items() if known.n > 0}
    (contest,) = contests
    left = [row for row in contest.standings if row[0] in veterans]
    if not left:
        return
    los = [lo for _, lo, _ in left]
    alone = [(name, los.index(lo), len(los) - 1 - los[::-1].index(lo)) for name, lo, _ in left]
    params = TopCoder(two_phase=True)
    outcomes = []
    for standings in (contest.standings, alone):
        beliefs = SYSTEM.newcomers(params, len(POOL))
        for name, known in veterans.items():
            set_ratings(SYSTEM, params, beliefs, [POOL.index(name)], known.mu, known.sigma, known.n)
        outcomes.append(
            (beliefs, rated(params, beliefs, to_rounds([dataclasses.replace(contest, standings=standings)])))
        )
    rows = [POOL.index(name) for name, _, _ in left]
    assert outcomes[0][0].mu[rows] == pytest.approx(outcomes[1][0].mu[rows], abs=POINTS)
    assert outcomes[0][0].sigma[rows] == pytest.approx(outcomes[1][0].sigma[rows], abs=POINTS)


@given(histories(max_rounds=1), populations(max_performances=0))
@repeatable(40)
def test_two_phases__newcomers_are_rated_against_all_players_at_once(contests, players) -> None:
    outcomes = []
    for params in (TopCoder(), TopCoder(two_phase=True)):
        beliefs = SYSTEM.newcomers(params, len(POOL))
        for name, known in players.items():
            set_ratings(SYSTEM, params, beliefs, [POOL.index(name)], known.mu, known.sigma, known.n)
        outcomes.append(rated(params, beliefs, to_rounds(contests)))
    new = outcomes[0].n_before == 0
    assert same_bits(outcomes[0].mu[new], outcomes[1].mu[new])


@pytest.mark.parametrize("n", [40, SMALL + 40])
@pytest.mark.parametrize("n_rounds", [0, 5])
def test_two_phases__are_one_if_no_player_or_every_player_is_new(n_rounds: int, n: int) -> None:
    mu, sigma, round = np.linspace(2200, 1000, n), np.linspace(80, 400, n), ladder(*[1] * n)
    one, two = (rated(TopCoder(two_phase=apart), believed(mu, sigma, n_rounds), round) for apart in (False, True))
    assert same_bits(one, two)


# --- edges ---


def test_topcoder__gives_the_round_a_ceiling() -> None:
    free, capped = (
        rated(TopCoder(), believed([1500.0] * 3, [200.0] * 3), ladder(1, 1, 1, perf_ceiling=c))
        for c in (math.inf, 1550.0)
    )
    assert free.perf[0] > capped.perf[0] == 1550.0
    assert capped.perf[1:] == pytest.approx(free.perf[1:], abs=POINTS)


def test_volatility__sees_the_change_before_the_cap_or_after() -> None:
    mu, sigma = [0.0, 5000.0], [200.0, 200.0]
    before, after = (rated(TopCoder(vol_after_cap=v), believed(mu, sigma), ladder(1, 1)) for v in (False, True))
    assert before.mu == pytest.approx(after.mu, abs=1e-9)  # both at the cap
    assert np.all(after.sigma < before.sigma)


@pytest.mark.parametrize("n", [1, 2, 7, SMALL + 200])
def test_topcoder__equal_players_that_all_tie_keep_their_ratings(n: int) -> None:
    outcome = rated(TopCoder(), believed([1700.0] * n, [200.0] * n), ladder(n))
    assert outcome.mu == pytest.approx(1700.0, abs=POINTS)
    assert np.all(outcome.sigma < 200.0)


@pytest.mark.parametrize("n", [2, 30, SMALL + 200])
def test_topcoder__handles_sigmas_next_to_nothing(n: int) -> None:
    """Win probabilities are then 0 or 1: expected results change nothing, sigma measures the other surprises."""
    mu = np.linspace(2000, 1000, n)
    expected = rated(TopCoder(), believed(mu, np.full(n, 1e-6)), ladder(*[1] * n))
    assert expected.mu == pytest.approx(mu, abs=1e-5)
    upset = rated(
        TopCoder(),
        believed(mu, np.full(n, 1e-6)),
        dataclasses.replace(ladder(*[1] * n), player=np.arange(n, dtype=np.int32)[::-1].copy()),
    )
    assert np.isfinite(upset.mu).all()
    assert np.isfinite(upset.sigma).all()
    assert upset.sigma.max() > 100.0


def test_topcoder__handles_one_sigma_next_to_nothing_among_many() -> None:
    n = SMALL + 200
    mu, sigma = np.linspace(2000, 1000, n), np.full(n, 200.0)
    plain = rated(TopCoder(), believed(mu, sigma), ladder(*[1] * n))
    sigma[0] = 1e-6
    sharp = rated(TopCoder(), believed(mu, sigma), ladder(*[1] * n))
    assert sharp.mu[1:] == pytest.approx(plain.mu[1:], abs=2.0)


@pytest.mark.parametrize("n", [2, SMALL + 200])
@pytest.mark.parametrize("sigma", [0.0, 1e-170, math.nan])
def test_topcoder__refuses_a_sigma_of_nothing(n: int, sigma: float) -> None:
    sigmas = np.full(n, 200.0)
    sigmas[1] = sigma
    with pytest.raises(ConvergenceError, match=r"sigma must be > 0 rating points") as caught:
        rated(TopCoder(), believed(np.full(n, 1500.0), sigmas), ladder(*[1] * n))
    assert caught.value.row == 1


def test_topcoder__shows_mu_itself_as_the_rating() -> None:
    assert SYSTEM.deviations == 0.0
    assert SYSTEM.sigma_limit(TopCoder()) == 0.0


# --- parameters ---


def test_published__is_reachable_by_its_name_and_by_its_parts() -> None:
    by_parts = TopCoder(vol_after_cap=True, two_phase=True, published_constants=True)
    assert TopCoder.published() == by_parts
    assert (by_parts.mu_init, by_parts.sigma_init) == (1200.0, 515.0)
    assert (TopCoder().mu_init, TopCoder().sigma_init) == (1500.0, 350.0)
    assert TopCoder(published_constants=True, mu_init=1000).mu_init == 1000.0
    assert dataclasses.replace(by_parts) == by_parts
