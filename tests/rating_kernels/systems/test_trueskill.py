"""TrueSkill against published figures, closed forms and its plain-Python twin, and what it owes by symmetry."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from helpers.histories import four_steps, ladder, players_at, same_bits
from helpers.margins import without_margins
from helpers.strategies import Belief, histories, places, populations, repeatable
from hypothesis import given
from hypothesis import strategies as st
from twins.comparison import agree
from twins.trueskill import Twin, _quantile

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, ConvergenceError, Outcome, Rounds, TrueSkill
from ranklake.rating_kernels.inference.message_chain import propagate
from ranklake.rating_kernels.systems.trueskill import SMALL, margin

SYSTEM = SYSTEMS["trueskill"]
believed = partial(players_at, SYSTEM)
MODELS = [
    TrueSkill(),
    TrueSkill(mu_init=1500, sigma_init=350, p_draw=0.4),
    TrueSkill(model="place"),
    TrueSkill(model="place", eps=60),
    TrueSkill(model="place", convention="half_variance"),
]
NAMES = ["adjacent", "adjacent-350", "place", "place-wide", "half-variance"]
EXACT = MODELS[:4]


def shown(params: TrueSkill, mu: Any, sigma: Any, round: Rounds, steps: bool = False) -> Outcome:
    """One round among players of these beliefs."""
    beliefs = believed(params, mu, sigma)
    return (
        four_steps(SYSTEM, params, beliefs, round) if steps else rate_rounds(SYSTEM, params, beliefs, round, Serial())
    )


def still(params: TrueSkill, **chosen: Any) -> TrueSkill:
    """The same system without drift: the test's beliefs are the priors."""
    return dataclasses.replace(params, tau=0.0, **chosen)


def crowd(n: int, tied: float, kind: str = "usual", seed: int = 1) -> tuple[Any, Any, Rounds]:
    """Ratings, deviations and a round of ``n`` in which a share ``tied`` tie with the one before."""
    draw = np.random.default_rng([seed, n])
    mu = draw.normal(1500, 400, n)
    sigma = draw.uniform(40, 350, n)
    if kind == "newcomers":
        mu[:], sigma[:] = 1500.0, 350.0
    elif kind == "upside down":
        mu.sort()
    elif kind == "as expected":
        mu = -np.sort(-mu)
    elif kind == "gap":
        mu = draw.choice([0.0, 5000.0], n)
    elif kind == "known":
        sigma[:] = 1e-6
    follows = np.r_[False, draw.random(n - 1) < tied]
    return mu, sigma, ladder(*np.diff(np.r_[np.flatnonzero(~follows), n]))


# --- numbers from outside ---


@pytest.mark.parametrize(
    ("sizes", "printed"),
    [
        ([1, 1], [(29.396, 7.171), (20.604, 7.171)]),
        ([2], [(25.000, 6.458), (25.000, 6.458)]),
        ([1] * 3, [(31.675, 6.656), (25.000, 6.208), (18.325, 6.656)]),
        ([1] * 5, [(34.363, 6.136), (29.058, 5.536), (25.000, 5.420), (20.942, 5.536), (15.637, 6.136)]),
    ],
    ids=["two", "draw", "three", "five"],
)
def test_newcomers__have_the_published_ratings(sizes: list[int], printed: list[tuple[float, float]]) -> None:
    """Figures of several public implementations with the defaults of 2006, to their three digits."""
    outcome = rate_rounds(
        SYSTEM, params := TrueSkill(), SYSTEM.newcomers(params, len(printed)), ladder(*sizes), Serial()
    )
    assert outcome.mu == pytest.approx([mu for mu, _ in printed], abs=5.001e-4)
    assert outcome.sigma == pytest.approx([sigma for _, sigma in printed], abs=5.001e-4)


@pytest.mark.parametrize(
    ("convention", "n", "printed"),
    [
        ("exact", 3, [(1767.63, 282.48), (1500.0, 263.03)]),
        ("half_variance", 3, [(1688.711, 263.118), (1500.0, 250.836)]),
        ("half_variance", 4, [(1729.507, 249.035)]),
    ],
)
def test_newcomers__of_the_engine_have_its_ratings(convention: str, n: int, printed: list[tuple[float, float]]) -> None:
    """The engine stops within 3e-4 of what it would settle at."""
    params = TrueSkill(model="place", convention=convention)
    outcome = rate_rounds(SYSTEM, params, SYSTEM.newcomers(params, n), ladder(*[1] * n), Serial())
    tolerance = 5.001e-3 if convention == "exact" else 7.5e-4
    assert outcome.mu[: len(printed)] == pytest.approx([mu for mu, _ in printed], abs=tolerance)
    assert outcome.sigma[: len(printed)] == pytest.approx([sigma for _, sigma in printed], abs=tolerance)


@given(
    st.floats(-300, 300), st.floats(5, 350), st.floats(5, 350), st.floats(50, 300), st.floats(0.02, 0.9), st.booleans()
)
@repeatable(150)
def test_two_players__have_the_posterior_of_bayes(apart, sigma, other, beta, p_draw, tied) -> None:
    """One bound on one difference: v and w of the paper's table 1 are the exact moments."""
    params = TrueSkill(mu_init=0, sigma_init=350, beta=beta, tau=0, p_draw=p_draw)
    outcome = shown(params, [apart, 0.0], [sigma, other], ladder(2) if tied else ladder(1, 1))
    normal, c = NormalDist(), math.sqrt(sigma**2 + other**2 + 2 * beta**2)
    eps, t = margin(params) / c, apart / c
    if tied:
        mass = normal.cdf(eps - t) - normal.cdf(-eps - t)
        v = (normal.pdf(-eps - t) - normal.pdf(eps - t)) / mass
        w = v * v + ((eps - t) * normal.pdf(eps - t) + (eps + t) * normal.pdf(eps + t)) / mass
    else:
        v = normal.pdf(t - eps) / normal.cdf(t - eps)
        w = v * (v + t - eps)
    assert outcome.mu == pytest.approx([apart + sigma**2 / c * v, -(other**2) / c * v], rel=1e-9, abs=1e-9)
    expected = [s * math.sqrt(1 - s**2 / c**2 * w) for s in (sigma, other)]
    assert outcome.sigma == pytest.approx(expected, rel=1e-9)


def test_two_players__far_in_the_tail_have_the_exact_posterior() -> None:
    """At 1e4 deviations a win is a win by nothing: the difference of performances is its bound."""
    params = TrueSkill(model="adjacent", mu_init=0, sigma_init=1, beta=1, tau=0)
    outcome = shown(params, [0.0, 2e4], [1.0, 1.0], ladder(1, 1))
    eps = margin(params)
    excess = 4.0 / (2e4 + eps)  # v / a of an exponential tail
    assert outcome.mu[1] - outcome.mu[0] == pytest.approx(1e4 - (eps + excess) / 2, rel=1e-9)
    assert outcome.sigma == pytest.approx([math.sqrt(0.75)] * 2, rel=1e-7)


@pytest.mark.parametrize("p_draw", [1e-9, 1e-7, 0.1, 0.381, 0.5, 0.9, 1 - 1e-6, 1 - 1e-9])
def test_margin__is_the_quantile_of_a_difference(p_draw: float) -> None:
    params = TrueSkill(p_draw=p_draw, beta=1 / math.sqrt(2.0))
    if p_draw < 0.99:
        assert margin(params) == pytest.approx(_quantile(p_draw), rel=1e-14)
    assert math.erfc(margin(params) / math.sqrt(2.0)) == pytest.approx(1 - p_draw, rel=1e-13)


# --- the twin ---


@st.composite
def chosen_params(draw: st.DrawFn) -> dict[str, Any]:
    """Hyperparameters on the scale of the strategies' ratings."""
    beta, tau = draw(st.sampled_from([175.0, 30.0]) | st.floats(20, 400)), draw(st.sampled_from([35.0, 0.0]))
    if draw(st.booleans()):
        p_draw = draw(st.sampled_from([0.1, 1e-6]) | st.floats(0.01, 0.9))
        return {"mu_init": 1500.0, "sigma_init": 350.0, "beta": beta, "tau": tau, "p_draw": p_draw}
    eps = draw(st.sampled_from([1.0]) | st.floats(0.001, 3).map(lambda width: width * beta))
    return {"model": "place", "beta": beta, "tau": tau, "eps": eps}


def compare(contests: Any, people: dict[str, Belief], chosen: dict[str, Any]) -> None:
    """A history by the package, small and step by step, and by the twin."""
    twin = Twin(initial_state={name: b.state for name, b in people.items()}, **chosen)
    agree(
        SYSTEM,
        SYSTEM.params(**chosen),
        people,
        contests,
        twin,
        lambda c: twin.rate(c.standings, c.time, c.weight),
        1e-11,
    )


@given(histories(max_rounds=3), populations(extreme=True, max_performances=0), chosen_params())
@repeatable(80)
def test_history__agrees_with_the_twin(contests, players, chosen) -> None:
    compare(contests, players, chosen)


@given(histories(max_rounds=2), populations(max_performances=0))
@repeatable(25)
def test_history__agrees_with_the_twin_under_the_convention_of_the_engine(contests, players) -> None:
    contests = [dataclasses.replace(contest, weight=1.0) for contest in contests]
    compare(contests, players, {"model": "place", "convention": "half_variance"})


# --- symmetries ---


def mirrored(mu: Any, sigma: Any, round: Rounds) -> tuple[Any, Any, Rounds]:
    """The last come first, and what was high is low."""
    sizes = [hi - lo + 1 for lo, hi in sorted(set(zip(round.lo.tolist(), round.hi.tolist(), strict=True)))]
    return 3000.0 - np.array(mu)[::-1], np.array(sigma)[::-1].copy(), ladder(*sizes[::-1])


@pytest.mark.parametrize("params", EXACT, ids=NAMES[:4])
@pytest.mark.parametrize(
    ("n", "tied", "kind"),
    [(7, 0.3, "usual"), (400, 0.0, "newcomers"), (400, 0.6, "upside down"), (1500, 0.9, "gap"), (2000, 0.1, "usual")],
)
def test_round__upside_down_has_the_mirrored_outcome(params: TrueSkill, n: int, tied: float, kind: str) -> None:
    """Sweeps then meet the chain from its other end: what they settle at does not depend on the schedule."""
    if params.sigma_init < 100:
        params = dataclasses.replace(params, beta=175.0, tau=35.0)
    mu, sigma, round = crowd(n, tied, kind)
    one, other = shown(params, mu, sigma, round), shown(params, *mirrored(mu, sigma, round))
    assert 3000.0 - other.mu[::-1] == pytest.approx(one.mu, rel=1e-10, abs=1e-8)
    assert other.sigma[::-1] == pytest.approx(one.sigma, rel=1e-10)


@pytest.mark.parametrize("params", MODELS[1:], ids=NAMES[1:])
@pytest.mark.parametrize("n", [6, 1300])
def test_round__shifting_all_ratings_shifts_all_results(params: TrueSkill, n: int) -> None:
    mu, sigma, round = crowd(n, 0.5)
    mu = np.round(mu)
    one, other = shown(params, mu, sigma, round), shown(params, mu + 2.0**20, sigma, round)
    assert other.mu - 2.0**20 == pytest.approx(one.mu, abs=1e-9)
    assert same_bits(other.sigma, one.sigma)


@pytest.mark.parametrize("params", MODELS, ids=NAMES)
@pytest.mark.parametrize("n", [6, 1300])
def test_round__scaling_all_ratings_scales_all_results_to_the_bit(params: TrueSkill, n: int) -> None:
    """By a power of two: nothing in the arithmetic knows how long a point is."""
    chosen = {name: 2.0 * getattr(params, name) for name in ("mu_init", "sigma_init", "beta", "tau")}
    chosen |= {"eps": 2.0 * params.eps} if params.model == "place" else {}
    mu, sigma, round = crowd(n, 0.5)
    one = shown(params, mu, sigma, round)
    two = shown(dataclasses.replace(params, **chosen), 2.0 * mu, 2.0 * sigma, round)
    assert same_bits(2.0 * one.mu, two.mu)
    assert same_bits(2.0 * one.sigma, two.sigma)


@given(
    places(6), st.lists(st.floats(500, 3000), min_size=6, max_size=6),
    st.lists(st.sampled_from([20.0, 90.0, 350.0]), min_size=6, max_size=6), st.sampled_from(EXACT),
)  # fmt: skip
@repeatable(150)
def test_round__a_player_that_swaps_places_with_the_next_better_one_ends_no_lower(spots, mu, sigma, params) -> None:
    """In model "adjacent" both must stand alone: moving along the chain inside a tie group is no promotion."""
    lo, hi = (np.array(column) for column in zip(*spots, strict=True))
    round = Rounds.from_columns([0, 6], np.arange(6), lo, hi)
    before = shown(params, mu, sigma, round)
    assert (before.sigma <= before.sigma_prior * (1 + 1e-12)).all()
    for i in range(1, 6):
        alone = lo[i] == hi[i] and lo[i - 1] == hi[i - 1]
        if lo[i] == lo[i - 1] or (params.model == "adjacent" and not alone):
            continue
        order = np.arange(6)
        order[[i - 1, i]] = i, i - 1
        after = shown(params, np.array(mu)[order], np.array(sigma)[order], round)
        assert after.mu[i - 1] >= before.mu[i] - 1e-8


@pytest.mark.parametrize("params", [MODELS[1], MODELS[3]], ids=["adjacent", "place"])
def test_weight__divides_the_variance_of_performances(params: TrueSkill) -> None:
    """The bounds stay: eps is that of a round of weight 1."""
    mu, sigma, plain = crowd(9, 0.4)
    round = dataclasses.replace(plain, weight=np.array([4.0]))
    other = dataclasses.replace(params, beta=params.beta / 2)
    if params.model == "adjacent":
        other = dataclasses.replace(other, p_draw=math.erf(margin(params) / params.beta))
    assert margin(other) == pytest.approx(margin(params), rel=1e-13)
    one, two = shown(params, mu, sigma, round), shown(other, mu, sigma, plain)
    assert one.mu == pytest.approx(two.mu, rel=1e-11)
    assert one.sigma == pytest.approx(two.sigma, rel=1e-11)


# --- convergence ---


def sweeps(params: TrueSkill, mu: Any, sigma: Any, round: Rounds) -> int:
    """How often messages ran down and up until they settled; the outcome is checked to be numbers."""
    n = round.n_rows
    beliefs, outcome = believed(params, mu, sigma), Outcome.empty(n)
    SYSTEM.prior(params, beliefs, round, 0, n, outcome.prior)
    summary = SYSTEM.summarise(params, outcome.prior, round, Serial().map)
    SYSTEM.absorb(params, beliefs, round, outcome.prior, summary, 0, n, outcome)
    assert np.isfinite(outcome.mu).all()
    assert ((outcome.sigma > 0) & (outcome.sigma <= outcome.sigma_prior * (1 + 1e-12))).all()
    return int(summary.sweeps)


@pytest.mark.quick("newcomers-*", "known-1.0-place-wide")
@pytest.mark.parametrize("params", EXACT[1:], ids=NAMES[1:4])
@pytest.mark.parametrize("tied", [0.0, 0.9, 1.0])
@pytest.mark.parametrize("kind", ["newcomers", "usual", "as expected", "upside down", "gap", "known"])
def test_chain__of_a_whole_codeforces_round_settles_in_a_few_sweeps(params: TrueSkill, tied: float, kind: str) -> None:
    """As fast as a chain of ten: the error does not diffuse along it."""
    assert sweeps(params, *crowd(18_743, tied, kind)) <= 16


def test_chain__needs_no_more_sweeps_when_it_is_longer() -> None:
    needed = [sweeps(MODELS[1], *crowd(n, 0.0, "newcomers")) for n in (10, 100, 1000, 10_000)]
    assert max(needed[1:]) <= needed[0]


def test_chain__in_which_full_steps_jump_for_ever_is_damped() -> None:
    """Ties that contradict the ratings, with a wide window: messages alternate between one edge and both.

    No p_draw below 1 makes a window of eight deviations, so the chain is run by itself; the mirrored one settles at the
    same messages.
    """
    draw = np.random.default_rng(1)
    mu = draw.normal(2500, 800, 1000)
    draw.uniform(1, 8, 1000)
    variance = 10 ** draw.uniform(-12, 4, 1000) + (25 / 6) ** 2
    follows = draw.random(999) < 0.98
    round = ladder(*np.diff(np.r_[0, 1 + np.flatnonzero(~follows), 1000]))
    messages, pulls = [], []
    for at, spread, places_ in ((mu, variance, round), mirrored(mu, variance, round)):
        precision, pull = np.empty(1000), np.empty(1000)
        needed = propagate(at, spread, places_.lo, np.arange(1001), 0.0, np.full(999, 50.0), 1.0, precision, pull)
        assert 32 < needed <= 96
        messages.append(precision)
        pulls.append(pull)
    assert messages[1][::-1] == pytest.approx(messages[0], rel=1e-8)
    assert -pulls[1][::-1] == pytest.approx(pulls[0], rel=1e-8, abs=1e-8)


def test_convention__of_the_engine_is_taken_as_it_is_when_its_messages_creep() -> None:
    """There, bounds without effect still send messages, which decay only with the number of sweeps."""
    params = TrueSkill(model="place", convention="half_variance", eps=1000, beta=10, tau=0)
    known = [1000.0, 0.0], [1.0, 1.0], ladder(2)  # their window is a hundred deviations wider than need be
    assert sweeps(params, *known) == 512
    outcome = shown(params, *known)
    assert outcome.sigma == pytest.approx(shown(params, *known, steps=True).sigma, rel=1e-12)
    assert outcome.sigma == pytest.approx([1.0, 1.0], abs=1e-4)
    exact = dataclasses.replace(params, convention="exact")
    assert sweeps(exact, *known) <= 16
    assert shown(exact, *known).sigma == pytest.approx([1.0, 1.0], abs=1e-5)


@pytest.mark.quick("2")
@pytest.mark.parametrize("n", [2, SMALL + 1])
def test_round__with_ratings_that_are_not_finite_is_refused(n: int) -> None:
    mu = np.full(n, 25.0)
    mu[n // 2] = math.nan
    with pytest.raises(ConvergenceError, match="round 0 of those given: messages do not settle"):
        shown(TrueSkill(), mu, np.full(n, 8.0), ladder(*[1] * n))


# --- edges ---


@pytest.mark.parametrize("params", MODELS, ids=NAMES)
def test_player_alone__only_drifts(params: TrueSkill) -> None:
    beliefs = believed(params, [1777.0], [90.0])
    outcome = rate_rounds(SYSTEM, params, beliefs, Rounds.from_columns([0, 1], [0], [0], [0], [5]), Serial())
    assert outcome.mu.tolist() == [1777.0]
    assert outcome.sigma == pytest.approx([math.hypot(90.0, params.tau)], rel=1e-15)
    assert (beliefs.n_rounds[0], beliefs.last_time[0]) == (6, 5)


@pytest.mark.parametrize("params", EXACT, ids=NAMES[:4])
@pytest.mark.parametrize("sigma", [350.0, 20.0, 1e-6])
def test_upset__of_5000_points_agrees_with_the_twin(params: TrueSkill, sigma: float) -> None:
    players = {"a": {"mu": 0.0, "sig": sigma}, "b": {"mu": 5000.0, "sig": sigma}, "c": {"mu": 2500.0, "sig": 350.0}}
    for places_ in ([0, 1, 2], [0, 0, 2], [0, 1, 1], [0, 0, 0]):
        twin = Twin(**without_margins(dataclasses.asdict(params)), initial_state=players)
        hi = [max(i for i in range(3) if places_[i] == lo) for lo in places_]
        expected = twin.rate(list(zip("abc", places_, hi, strict=True)))
        round = Rounds.from_columns([0, 3], [0, 1, 2], places_, hi)
        outcome = shown(params, [0.0, 5000.0, 2500.0], [sigma, sigma, 350.0], round)
        assert outcome.mu == pytest.approx([one.mu for one in expected], rel=1e-9, abs=1e-7)
        assert outcome.sigma == pytest.approx([one.sigma for one in expected], rel=1e-9)


@pytest.mark.parametrize("kind", ["usual", "gap", "known"])
def test_bounds__that_are_next_to_nothing_make_ties_coincidences(kind: str) -> None:
    """As eps vanishes ties meet in a point, and the limit is reached long before."""
    mu, sigma, round = crowd(50, 0.5, kind)
    for one, other in (
        (TrueSkill(sigma_init=350, p_draw=1e-9), TrueSkill(sigma_init=350, p_draw=1e-7)),
        (TrueSkill(model="place", eps=1e-9), TrueSkill(model="place", eps=1e-6)),
    ):
        least, small = shown(one, mu, sigma, round), shown(other, mu, sigma, round)
        assert least.mu == pytest.approx(small.mu, rel=1e-6, abs=1e-4)
        assert least.sigma == pytest.approx(small.sigma, rel=1e-6)


def test_upset__moves_ratings_in_proportion() -> None:
    """Nothing bounds a normal law's surprise: a loss by ten times as much moves both ten times as far."""
    moves = [shown(still(MODELS[2]), [0.0, gap], [80.0, 80.0], ladder(1, 1)).mu[0] for gap in (1e4, 1e5)]
    assert moves[1] / moves[0] == pytest.approx(10.0, rel=1e-2)


def test_order__inside_a_tie_group_of_three_matters_in_the_model_of_2006() -> None:
    """Who stands in the middle of the chain is bound on both sides."""
    out = rate_rounds(SYSTEM, TrueSkill(), SYSTEM.newcomers(TrueSkill(), 3), ladder(3), Serial())
    assert out.sigma[1] < out.sigma[0] - 1e-3
    assert out.sigma[0] == pytest.approx(out.sigma[2], rel=1e-12)


# --- hyperparameters ---


def test_params__that_are_not_given_are_those_of_the_model() -> None:
    assert TrueSkill() == TrueSkill("adjacent", "exact", 25.0, 25 / 3, 25 / 6, 25 / 3 / 100, 0.1, None)
    assert TrueSkill(model="place") == TrueSkill("place", "exact", 1500.0, 350.0, 175.0, 35.0, None, 1.0)
    assert TrueSkill(sigma_init=300).beta == 150.0
    for params in MODELS:
        assert TrueSkill(**dataclasses.asdict(params)) == params


def test_params__of_the_least_sigma_init_are_parameters_again() -> None:
    params = TrueSkill(sigma_init=1e-9)
    assert params.beta == 1e-9
    assert TrueSkill(**dataclasses.asdict(params)) == params
