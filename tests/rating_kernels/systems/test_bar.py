"""BAR against its plain-Python twin, table against direct sums, and properties of its two variants."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers.histories import four_steps, ladder, players_at, same_bits
from helpers.strategies import histories, places, populations, repeatable
from hypothesis import given
from hypothesis import strategies as st
from twins.bar import Twin
from twins.comparison import agree

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import BAR, SYSTEMS, Beliefs, Outcome, Rounds
from ranklake.rating_kernels.fields import rank_scan
from ranklake.rating_kernels.fields.pairs import terms
from ranklake.rating_kernels.systems.bar import SMALL

SYSTEM = SYSTEMS["bar"]
believed = partial(players_at, SYSTEM)
POINTS = 1e-9
PAPER = {gamma: BAR(variant="btfull", gamma=gamma) for gamma in ("sigma_over_c", "one_over_teams", "one")}
CROWDED = BAR("btfull", beta=300.0, sig_drift=20.0, gamma="one_over_teams", mu_init=1500.0, sigma_init=350.0)

engine_form = st.fixed_dictionaries(
    {"variant": st.just("allpairs_mean")},
    optional={"beta": st.floats(20, 600), "sig_drift": st.floats(0, 80), "kappa": st.floats(1e-4, 0.99)},
)
paper_form = st.fixed_dictionaries(
    {"variant": st.just("btfull"), "gamma": st.sampled_from(list(PAPER))},
    optional={"beta": st.floats(50, 600), "sig_drift": st.floats(0, 80), "kappa": st.floats(1e-4, 0.99)},
)


def rated(params: BAR, mu: Any, sigma: Any, round: Rounds) -> Outcome:
    return rate_rounds(SYSTEM, params, believed(params, mu, sigma), round, Serial())


# --- the twin ---


@given(histories(), populations(extreme=True, max_performances=0), engine_form | paper_form)
@repeatable(80)
def test_bar__agrees_with_the_twin(contests, people, chosen) -> None:
    twin = Twin(initial_state={name: [b.mu, b.sigma, b.n] for name, b in people.items()}, **chosen)
    agree(SYSTEM, BAR(**chosen), people, contests, twin, lambda c: twin.rate(c.standings, c.time, c.weight))


# --- tables against sums term by term ---


def crowd(params: BAR, n: int, sigmas: tuple[float, float], kind: str) -> tuple[Beliefs, Rounds]:
    """``n`` players and a round in which a third tie with the one before."""
    draw = np.random.default_rng(n)
    mu = draw.normal(1500, 400, n)
    if kind == "gap":
        mu += np.where(draw.random(n) < 0.5, 0.0, 5000.0)
    level = draw.normal(size=n) if kind == "upset" else mu + draw.normal(0, 300, n)
    group = np.cumsum(draw.random(n) > 0.3)
    lo, hi = np.searchsorted(group, group, "left"), np.searchsorted(group, group, "right") - 1
    beliefs = believed(params, mu, draw.uniform(*sigmas, n))
    return beliefs, Rounds.from_columns([0, n], np.argsort(-level), lo, hi)


def one_step(params: BAR, outcome: Outcome) -> Any:
    """Steps of ``mu`` against what they are summed up from: n terms of sigma^2 / c that nearly cancel."""
    terms = len(outcome.mu) if params.variant == "btfull" else 1
    return 1e-12 * terms * outcome.sigma_prior.max() ** 2 / (params.beta or math.nan)


@pytest.mark.parametrize("params", [BAR(), BAR(beta=25.0, sig_drift=63.0), CROWDED], ids=["engine", "sharp", "paper"])
@pytest.mark.parametrize(
    ("sigmas", "kind"), [((80, 350), "usual"), ((100, 100), "usual"), ((1, 900), "upset"), ((50, 200), "gap")]
)
def test_bar__by_table_agrees_with_sums_term_by_term(params, sigmas, kind) -> None:
    (one, round), (other, _) = crowd(params, SMALL, sigmas, kind), crowd(params, SMALL, sigmas, kind)
    direct = rate_rounds(SYSTEM, params, one, round, Serial())
    stepped = four_steps(SYSTEM, params, other, round)
    assert stepped.mu == pytest.approx(direct.mu, rel=1e-10, abs=one_step(params, direct))
    assert stepped.sigma == pytest.approx(direct.sigma, rel=1e-10)


@pytest.mark.quick("one")
@pytest.mark.parametrize("gamma", PAPER)
def test_bar__by_table_agrees_with_sums_term_by_term_in_a_round_of_thousands(monkeypatch, gamma: str) -> None:
    params = dataclasses.replace(CROWDED, gamma=gamma, beta=9000.0)  # gentle enough to stay above kappa
    (one, round), (other, _) = (crowd(params, 4000, (80, 350), "usual") for _ in range(2))
    tabulated = rate_rounds(SYSTEM, params, one, round, Serial())
    monkeypatch.setattr("ranklake.rating_kernels.systems.bar.pair_sums", pairs_term_by_term)
    monkeypatch.setattr("ranklake.rating_kernels.systems.bar.worse_sums", worse_term_by_term)
    direct = rate_rounds(SYSTEM, params, other, round, Serial())
    assert tabulated.mu == pytest.approx(direct.mu, rel=1e-10, abs=one_step(params, direct))
    assert (tabulated.sigma / direct.sigma_prior) ** 2 == pytest.approx(
        (direct.sigma / direct.sigma_prior) ** 2, abs=1e-10
    )
    assert np.all(direct.sigma > 1.001 * math.sqrt(params.kappa) * direct.sigma_prior)


def pairs_term_by_term(kinds: Any, mu: Any, variance: Any, map: Any) -> Any:
    sums = np.empty((len(kinds), len(mu)))
    for row, kind in enumerate(kinds):
        terms.direct_sums(terms.KINDS[kind], 0, len(mu), mu, variance, np.ones(len(mu)), sums[row])
    return sums


def worse_term_by_term(first: Any, variance: Any, map: Any) -> Any:
    sums = np.empty(len(variance))
    rank_scan.direct_worse_sums(0, len(first) - 1, first, variance, sums)
    return sums


# --- laws ---


@given(places(8), st.lists(st.floats(800, 2500), min_size=8, max_size=8), st.sampled_from([BAR(), CROWDED]))
@repeatable(60)
def test_bar__gains_and_losses_of_players_of_equal_sigma_cancel(spots, mu, params) -> None:
    lo, hi = zip(*spots, strict=True)
    outcome = rated(params, mu, [200.0] * 8, Rounds.from_columns([0, 8], np.arange(8), lo, hi))
    assert math.fsum(outcome.mu - outcome.mu_prior) == pytest.approx(0.0, abs=1e-9)


@given(
    places(8),
    st.lists(st.floats(800, 2500), min_size=8, max_size=8),
    st.integers(0, 6),
    st.sampled_from([BAR(), CROWDED]),
)
@repeatable(60)
def test_bar__a_better_place_raises_mu_and_leaves_sigma_alone(spots, mu, at, params) -> None:
    """Sigma depends on the participants and not on the result: losing gains nothing in one round."""
    lo, hi = zip(*spots, strict=True)
    sigma = np.linspace(60, 350, 8)
    before = rated(params, mu, sigma, Rounds.from_columns([0, 8], np.arange(8), lo, hi))
    swapped = np.arange(8)
    swapped[[at, at + 1]] = at + 1, at  # the player of row at + 1 takes the place above
    after = rated(params, mu, sigma, Rounds.from_columns([0, 8], swapped, lo, hi))
    if lo[at] == lo[at + 1]:
        assert after.mu == pytest.approx(before.mu[swapped], abs=POINTS)
    else:
        assert after.mu[at] > before.mu[at + 1]
    assert after.sigma == pytest.approx(before.sigma[swapped], rel=1e-12)


def test_bar__a_better_rating_stays_better_after_the_same_result_but_not_in_the_papers_form() -> None:
    """The paper's sum moves a rating n times as far as one opponent: in a large field it overshoots."""
    n = 300
    mu = np.r_[1600.0, np.full(n - 1, 1500.0)]
    for params, keeps in ((BAR(), True), (dataclasses.replace(CROWDED, sig_drift=0.0), False)):
        low, high = (rated(params, m, np.full(n, 350.0), ladder(n)).mu[0] for m in (mu, mu + 200 * (mu > 1550)))
        assert (high > low) == keeps


@pytest.mark.parametrize("gamma", PAPER)
def test_btfull__does_not_depend_on_the_unit(gamma: str) -> None:
    """The published defaults and the same in points of a quarter of the size give the same results, to the bit."""
    one = BAR("btfull", gamma=gamma)
    two = BAR("btfull", gamma=gamma, beta=25 / 6 * 64, mu_init=25.0 * 64, sigma_init=25 / 3 * 64)
    round, mu = ladder(1, 2, 3, 1), np.linspace(10, 40, 7)
    sigma = np.linspace(1, 9, 7)
    a, b = rated(one, mu, sigma, round), rated(two, 64 * mu, 64 * sigma, round)
    assert same_bits(64 * a.mu, b.mu)
    assert same_bits(64 * a.sigma, b.sigma)


def test_btfull__informs_most_with_gamma_one_and_least_with_one_over_teams() -> None:
    sigmas = {gamma: rated(p, [25.0] * 6, [8.0] * 6, ladder(*[1] * 6)).sigma[0] for gamma, p in PAPER.items()}
    assert sigmas["one"] < sigmas["sigma_over_c"] < sigmas["one_over_teams"] < 8.0


# --- edges ---


@pytest.mark.slow
@pytest.mark.parametrize("params", [BAR(), *PAPER.values()], ids=["engine", *PAPER])
def test_bar__a_player_alone_keeps_mu(params: BAR) -> None:
    outcome = rated(params, [30.0], [8.0], ladder(1))
    assert outcome.mu[0] == 30.0
    if params.variant == "btfull":
        assert outcome.sigma[0] == pytest.approx(8.0, rel=1e-15)
    else:
        assert outcome.sigma[0] < outcome.sigma_prior[0] == math.hypot(8.0, 35.0)


@pytest.mark.parametrize("n", [40, SMALL + 100, 3000])
def test_btfull__leaves_a_share_kappa_of_the_variance(n: int) -> None:
    params = BAR("btfull", beta=0.01, gamma="one", kappa=0.02)
    outcome = rated(params, np.linspace(30, 20, n), [8.0] * n, ladder(*[1] * n))
    assert outcome.sigma == pytest.approx(8.0 * math.sqrt(0.02), rel=1e-12)


@pytest.mark.parametrize("params", [BAR(), CROWDED], ids=["engine", "paper"])
@pytest.mark.parametrize("sigma", [0.0, 1e-6])
@pytest.mark.parametrize("n", [2, SMALL + 100])
def test_bar__with_tiny_sigma_does_not_move(params: BAR, sigma: float, n: int) -> None:
    mu = np.linspace(0, 5000, n)
    outcome = rated(dataclasses.replace(params, sig_drift=0.0), mu, np.full(n, sigma), ladder(*[1] * n))
    assert outcome.mu == pytest.approx(mu, abs=1e-6)
    assert outcome.sigma == pytest.approx(sigma, rel=1e-9)


@pytest.mark.parametrize("params", [BAR(), BAR(kappa=0.9), BAR(beta=30.0, sig_drift=80.0), BAR(sig_drift=0.0)])
def test_sigma_limit__is_where_sigma_rests(params: BAR) -> None:
    places = np.tile([0, 1], 3000)
    outcome = rated(params, [1500.0, 1500.0], [350.0, 20.0], Rounds.from_columns(2 * np.arange(3001), *[places] * 3))
    assert outcome.sigma[-2:] == pytest.approx(SYSTEM.sigma_limit(params), rel=1e-9, abs=20.0 * (params.sig_drift == 0))


def test_sigma_limit__is_nothing_in_the_papers_form() -> None:
    assert SYSTEM.sigma_limit(CROWDED) == 0.0


# --- parameters ---


def test_defaults__depend_on_the_variant() -> None:
    engine, paper = BAR(), BAR(variant="btfull")
    assert engine.beta == pytest.approx(315.09, abs=0.005)
    assert (engine.sig_drift, engine.kappa, engine.mu_init, engine.sigma_init) == (35.0, 1e-4, 1500.0, 350.0)
    assert (paper.beta, paper.sig_drift, paper.kappa) == (25 / 6, 0.0, 1e-4)
    assert (paper.mu_init, paper.sigma_init, paper.gamma) == (25.0, 25 / 3, "sigma_over_c")
    assert BAR(variant="btfull", beta=2).beta == 2.0
    assert dataclasses.replace(paper) == paper
