"""Elo-R against the figures of its report, its plain-Python twin, and properties of noise, merges and ties."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from golden.answers_elo_r import queue, remember
from helpers.histories import four_steps, ladder, same_bits, set_ratings, to_rounds
from helpers.strategies import POOL, Belief, histories, places, populations, ratings, repeatable
from hypothesis import given
from hypothesis import strategies as st
from twins.elo_r import Player, Twin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, EloR, Outcome, Rounds
from ranklake.rating_kernels.inference.factors import noise
from ranklake.rating_kernels.inference.factors.noise import _zeta
from ranklake.rating_kernels.systems.elo_r import spread

SYSTEM = SYSTEMS["elo-r"]
POINTS = 1e-9  # what a root may be off


@st.composite
def elo_r_params(draw: st.DrawFn) -> dict[str, Any]:
    """Hyperparameters of Elo-R, spelled as in the package and in the twin."""
    sigma_star = draw(st.sampled_from([100.0, 0.0, 20.0]) | st.floats(20, 200))
    return {
        "sigma_star": sigma_star,
        "gamma": sigma_star + draw(st.sampled_from([150.0, 1.0, 1000.0]) | st.floats(20, 500)),
        "noise": draw(st.sampled_from(["exact", "simple"])),
        "tie_mode": draw(st.sampled_from(["half", "full"])),
        "max_len": draw(st.none() | st.integers(2, 5)),
        "sigma_init": draw(st.sampled_from([350.0, 100.0, 1.0])),
        "drift_per_day": draw(st.sampled_from([0.0, 3.5, 50.0])),
    }


def twin_of(players: dict[str, Belief], params: dict[str, Any]) -> Twin:
    """The twin with a queue for each of ``players``."""
    twin = Twin(initial_state={name: belief.state for name, belief in players.items()}, **params)
    for name, belief in players.items():
        for performance in belief.performances:
            twin.absorb([(name, performance)])
    return twin


def store_of(params: EloR, players: dict[str, Player]) -> Beliefs:
    """A store with a row for each of the pool, with the beliefs of the twin's players."""
    beliefs = SYSTEM.newcomers(params, len(POOL))
    remember(beliefs, {row: players[name] for row, name in enumerate(POOL) if name in players})
    return beliefs


def give_gammas(beliefs: Beliefs, gammas: dict[str, float]) -> None:
    """Give players of the pool their own gamma."""
    for name, gamma in gammas.items():
        beliefs.state["gamma"][POOL.index(name)] = gamma


def veteran(params: EloR, rating: float = 1000.0, rounds: int = 40) -> Beliefs:
    """Player 0 with constant performances and sigma = sigma* from the beginning."""
    beliefs = SYSTEM.newcomers(params, 2)
    set_ratings(SYSTEM, params, beliefs, [0], rating, params.sigma_star, 0)
    walk(params, beliefs, [rating] * rounds)
    return beliefs


def walk(params: EloR, beliefs: Beliefs, performances: list[float], weight: float = 1.0) -> list[float]:
    """The ratings of player 0 after each of these performances."""
    round = Rounds.from_columns([0, 1], [0], [0], [0], weight=[weight])
    return [float(four_steps(SYSTEM, params, beliefs, round, [shown]).mu[0]) for shown in performances]


def noised(params: EloR, beliefs: Beliefs, weight: float = 1.0) -> Outcome:
    """Step 1 only, for all players of the store, in place."""
    n = len(beliefs)
    outcome = Outcome.empty(n)
    SYSTEM.prior(params, beliefs, ladder(*[1] * n, weight=weight), 0, n, outcome.prior)
    return outcome


def pull(beliefs: Beliefs, s: float, row: int = 0) -> float:
    """Minus half the slope of the log-belief at ``s``."""
    (mu_0, tau_0), *logistic = queue(beliefs, row)
    return math.fsum([(s - mu_0) / tau_0**2, *(math.tanh((s - mu) / tau) / tau for mu, tau in logistic)])


# --- what the report prints ---


def test_simple_noise__gives_the_jumps_of_the_printed_figure() -> None:
    params = EloR(noise="simple")
    ratings = walk(params, veteran(params), [3000.0] * 7)
    jumps = [b - a for a, b in pairwise([1000.0, *ratings])]
    assert [round(jump) for jump in jumps[:2]] == [48, 63]
    assert round(ratings[5]) == 1875
    assert round(jumps[6]) == 566
    assert jumps == pytest.approx([47.88, 63.48, 86.74, 124.50, 194.59, 357.36, 565.99], abs=6e-3)


def test_exact_noise__climbs_more_slowly_than_the_printed_figure() -> None:
    params = EloR()
    ratings = walk(params, veteran(params), [3000.0] * 8)
    jumps = [b - a for a, b in pairwise([1000.0, *ratings])]
    assert jumps == pytest.approx([47.88, 57.56, 70.75, 90.07, 120.84, 175.62, 288.33, 446.50], abs=5e-3)


@pytest.mark.parametrize("surprise", [1e5, -1e5, 1e9])
def test_one_big_surprise__lifts_a_veteran_by_the_limit_of_the_old_factors(surprise: float) -> None:
    """The limit solves sum tanh(x / tau') / tau' = 1 / gamma; it is about (1 / gamma) / T."""
    params = EloR()
    beliefs = veteran(params)
    (rating,) = walk(params, beliefs, [1000.0 + surprise])
    jump = abs(rating - 1000.0)
    assert jump == pytest.approx(47.88, abs=5e-3)
    (mu_0, tau_0), *logistic = queue(beliefs)
    yielded = (rating - mu_0) / tau_0**2 + sum(math.tanh((rating - mu) / tau) / tau for mu, tau in logistic[:-1])
    assert abs(yielded) == pytest.approx(1 / params.gamma, rel=1e-9)
    assert jump == pytest.approx(1 / params.gamma * (100.0**-2 - 250.0**-2) ** -1, rel=1e-2)


def test_display_rating__takes_208_120_and_77_off_newcomers() -> None:
    params, penalties = EloR(), []
    beliefs = SYSTEM.newcomers(params, 2)
    for _ in range(3):
        walk(params, beliefs, [1500.0])
        penalties.append(SYSTEM.deviations * (beliefs.sigma[0] - SYSTEM.sigma_limit(params)))
    assert [round(penalty) for penalty in penalties] == [208, 120, 77]


@pytest.mark.parametrize("noise", ["exact", "simple"])
def test_small_surprise__moves_a_rating_by_sixteen_percent(noise: str) -> None:
    """Near their centres all factors are normal: the memoryless limit sigma*^2 / gamma^2."""
    params = EloR(noise=noise)
    assert walk(params, veteran(params), [1000.01])[0] - 1000.0 == pytest.approx(0.0016, rel=1e-6)


@given(st.floats(0.01, 100), st.sampled_from(["exact", "simple"]), st.lists(st.floats(0, 3000), min_size=1, max_size=4))
@repeatable(40)
def test_sigma_star__is_the_fixed_point_for_every_weight(weight, noise, performances) -> None:
    params = EloR(noise=noise)
    beliefs = veteran(params, rounds=3)
    walk(params, beliefs, performances, weight)
    assert beliefs.sigma[0] == pytest.approx(100.0, rel=1e-12)


def test_weight__widens_gamma_and_narrows_eta_so_that_the_formula_of_the_source_holds() -> None:
    params = EloR()
    assert spread(params, 1.0, 1.0) == (250.0, pytest.approx(1904.7619047619))
    for weight in (0.05, 0.5, 3.0, 50.0):
        gamma, eta2 = spread(params, weight, 1.0)
        assert eta2 == pytest.approx(1 / (100.0**-2 - gamma**-2) - 100.0**2, rel=1e-9)
        assert eta2 == pytest.approx(weight * spread(params, 1.0, 1.0)[1], rel=1e-12)


# --- gamma of players ---


@pytest.mark.parametrize("noise", ["exact", "simple"])
@pytest.mark.parametrize("gamma", [250.0, 150.0, 600.0])
def test_own_gamma__has_its_own_limit_of_sigma(gamma: float, noise: str) -> None:
    """sigma*^2 = (-eta^2 + sqrt(eta^4 + 4 eta^2 gamma^2)) / 2, whatever the weights."""
    params = EloR(noise=noise)
    eta2 = spread(params, 1.0, 1.0)[1]
    limit = math.sqrt((math.sqrt(eta2**2 + 4.0 * eta2 * gamma**2) - eta2) / 2.0)
    assert (limit == pytest.approx(100.0, rel=1e-12)) == (gamma == params.gamma)
    for weight in (1.0, 3.0):
        beliefs = SYSTEM.newcomers(params, 2)
        beliefs.state["gamma"][0] = gamma
        walk(params, beliefs, [1500.0] * 100, weight)
        assert beliefs.sigma[0] == pytest.approx(limit, rel=1e-6)


def test_own_gammas__of_the_run_keep_all_bits_and_others_change_the_round() -> None:
    params, found = EloR(), []
    for own in (math.nan, 250.0, 180.0):
        beliefs = SYSTEM.newcomers(params, 400)
        beliefs.state["gamma"][::3] = own
        found.append(rate_rounds(SYSTEM, params, beliefs, season(), Serial()))
    usual, equal, other = found
    assert same_bits(usual, equal)
    assert np.all(other.sigma[season().player % 3 == 0] < usual.sigma[season().player % 3 == 0])
    assert not np.array_equal(other.perf, usual.perf)


def test_own_gamma__next_to_that_of_the_run_is_next_to_it_in_every_round() -> None:
    params, conditions = EloR(), {"weight": [3.0], "precision": [2.0]}
    round, near = Rounds.from_columns([0, 3], [0, 1, 2], [0, 1, 2], [0, 1, 2], **conditions), math.nextafter(250.0, 0.0)
    expected = _rate(SYSTEM, params, SYSTEM.newcomers(params, 3), round)
    for rate in (_rate, four_steps):
        own = SYSTEM.newcomers(params, 3)
        own.state["gamma"][:] = near
        found = rate(SYSTEM, params, own, round)
        assert found.mu == pytest.approx(expected.mu, rel=1e-12)
        assert found.sigma == pytest.approx(expected.sigma, rel=1e-12)


def test_beliefs__of_before_have_no_own_gammas() -> None:
    params, round = EloR(), ladder(1, 2, 1)
    beliefs = SYSTEM.newcomers(params, 4)
    _rate(SYSTEM, params, beliefs, round)
    columns = beliefs.columns()
    del columns["gamma"]
    restored = SYSTEM.newcomers(params, 0)
    restored.restore(columns)
    assert np.isnan(restored.state["gamma"]).all()
    assert same_bits(_rate(SYSTEM, params, restored, round), _rate(SYSTEM, params, beliefs, round))
    del columns["slope"]
    with pytest.raises(ValueError, match="stored beliefs have columns"):
        restored.restore(columns)


# --- the twin ---


@given(histories(max_rounds=4), populations(max_performances=3), elo_r_params(), st.booleans(), st.data())
@repeatable(60)
def test_history__agrees_with_the_twin(contests, initial_beliefs, chosen, large, data) -> None:
    """``large``: by the four steps of a large round and its table."""
    twin, params = twin_of(initial_beliefs, chosen), SYSTEM.params(**chosen)
    beliefs = store_of(params, twin.players)
    own = st.dictionaries(st.sampled_from(POOL), st.floats(params.sigma_star + 1.0, 900.0), max_size=3)
    twin.gammas = data.draw(own)
    give_gammas(beliefs, twin.gammas)
    for contest in contests:
        round = to_rounds([contest])
        rate = four_steps if large else _rate
        outcome = rate(SYSTEM, params, beliefs, round)
        expected = twin.rate(contest.standings, contest.weight, contest.perf_ceiling, contest.time)
        for name in ("perf", "mu_prior", "sigma_prior", "mu", "sigma"):
            wanted = [getattr(one, "performance" if name == "perf" else name) for one in expected]
            assert getattr(outcome, name) == pytest.approx(wanted, rel=1e-12, abs=POINTS)
        for one in expected:
            row = POOL.index(one.player)
            assert beliefs.n_rounds[row] == twin.players[one.player].n
            kept = queue(beliefs, row)
            found = [number for factor in kept[1:] for number in factor]
            wanted = [number for factor in one.factors[len(one.factors) - len(kept) + 1 :] for number in factor]
            assert found == pytest.approx(wanted, rel=1e-11, abs=POINTS)


def _rate(system, params, beliefs, round) -> Outcome:
    return rate_rounds(system, params, beliefs, round, Serial())


@pytest.mark.quick("1500.0-simple")
@pytest.mark.parametrize("noise", ["exact", "simple"])
@pytest.mark.parametrize("last", [1500.0, 6000.0])
def test_old_factors__leave_without_a_trace(noise: str, last: float) -> None:
    """With gamma near sigma* factors fade quickly; the twin keeps all of them."""
    params, twin = EloR(gamma=120.0, noise=noise), Twin(gamma=120.0, noise=noise)
    beliefs = SYSTEM.newcomers(params, 2)
    shown = [*np.random.default_rng(5).normal(1500, 200, 35).tolist(), *[last] * 10]
    for performance in shown:
        (rating,) = walk(params, beliefs, [performance])
        assert rating == pytest.approx(twin.absorb([("X", performance)])[0].mu, abs=POINTS)
    assert len(twin.players["X"].queue) == 46
    assert len(queue(beliefs)) < 30


def test_old_factors__of_a_veteran_do_not_pile_up() -> None:
    params = EloR()
    beliefs = SYSTEM.newcomers(params, 2)
    walk(params, beliefs, np.random.default_rng(5).normal(1500, 300, 1000).tolist())
    assert len(queue(beliefs)) < 200


def test_old_factors__stay_for_ever_where_skills_never_drift() -> None:
    params = EloR(sigma_star=0.0)
    beliefs = SYSTEM.newcomers(params, 2)
    walk(params, beliefs, [1600.0] * 300)
    assert len(queue(beliefs)) == 301
    assert beliefs.sigma[0] == pytest.approx((350.0**-2 + 300 * 250.0**-2) ** -0.5)


# --- noise ---


def exact_zeta(u: float) -> tuple[float, Decimal]:
    """v = u tanh u and 2 u / sinh 2 u in many digits."""
    with localcontext() as context:
        context.prec = 60
        g = Decimal(u)
        e = (-2 * g).exp()
        return float(g * (1 - e) / (1 + e)), 4 * g * e / (1 - e * e)


def test_zeta__is_right_to_the_last_digits() -> None:
    for u in (*np.logspace(-8, -1, 8), *np.linspace(0.05, 6, 120), *np.linspace(6, 40, 18), 700.0):
        v, exact = exact_zeta(u)
        assert abs(Decimal(float(_zeta(v))) - exact) <= Decimal("4e-15") * Decimal(max(1.0, v)), u


def test_zeta__is_one_at_the_mode_and_nothing_far_out() -> None:
    assert _zeta(0.0) == 1.0
    for v in (1e2, 1e4, 1e8, 1e16):
        assert 0.0 <= _zeta(v) <= 1e-15 * v


@pytest.mark.slow
@given(populations(extreme=True), elo_r_params(), st.sampled_from([0.05, 1.0, 20.0]))
@repeatable(100)
def test_exact_noise__reaches_the_wanted_variance_and_keeps_the_mode(initial_beliefs, chosen, weight) -> None:
    chosen |= {"noise": "exact"}
    params = SYSTEM.params(**chosen)
    beliefs = store_of(params, twin_of(initial_beliefs, chosen).players)
    before = beliefs.mu.copy()
    old = [queue(beliefs, row) for row in range(len(POOL))]
    sigma = np.sqrt([1 / math.fsum(tau**-2 for _, tau in one) for one in old])
    prior = noised(params, beliefs, weight)
    assert same_bits(prior.mu_prior, before)
    assert prior.sigma_prior == pytest.approx(np.hypot(sigma, math.sqrt(spread(params, weight, 1.0)[1])), rel=1e-12)
    for row, mode in enumerate(before):
        new = queue(beliefs, row)
        assert math.fsum(tau**-2 for _, tau in new) == pytest.approx(prior.sigma_prior[row] ** -2, rel=1e-12)
        kappa2 = (new[0][1] / old[row][0][1]) ** 2
        assert all(
            math.sqrt(kappa2) * (1 - 1e-12) <= tau / was <= kappa2 * (1 + 1e-12)
            for (_, was), (_, tau) in zip(old[row], new, strict=True)
        )
        steep = math.fsum(tau**-2 for _, tau in new)
        assert abs(pull(beliefs, mode, row)) <= 1e-12 * max(abs(mode), 1e3) * steep


@given(populations(extreme=True), elo_r_params(), st.sampled_from([0.05, 1.0, 20.0]))
@repeatable(60)
def test_simple_noise__widens_all_factors_alike_and_finds_the_new_mode(initial_beliefs, chosen, weight) -> None:
    chosen |= {"noise": "simple"}
    params = SYSTEM.params(**chosen)
    beliefs = store_of(params, twin_of(initial_beliefs, chosen).players)
    old = [queue(beliefs, row) for row in range(len(POOL))]
    prior = noised(params, beliefs, weight)
    for row, one in enumerate(old):
        widened = [tau / was for (_, was), (_, tau) in zip(one, queue(beliefs, row), strict=True)]
        assert widened == pytest.approx([widened[0]] * len(one), rel=1e-13)
        steep = prior.sigma_prior[row] ** -2
        assert abs(pull(beliefs, prior.mu_prior[row], row)) <= 1e-12 * max(abs(prior.mu_prior[row]), 1e3) * steep


@pytest.mark.parametrize("sigma", [1e-6, 1e-3, 1.0, 350.0, 1e5])
@pytest.mark.parametrize("weight", [1e-9, 1.0, 1e9])
def test_exact_noise__of_any_strength_agrees_with_the_twin(sigma: float, weight: float) -> None:
    start = {"X": {"factors": [[1500.0, sigma], [1400.0, 250.0], [1500.0, sigma], [5000.0, 9.0]]}}
    params, twin = EloR(), Twin(initial_state=start)
    beliefs = SYSTEM.newcomers(params, 2)
    remember(beliefs, {0: twin.players["X"]})
    (expected,) = twin.absorb([("X", 2000.0)], weight)
    assert walk(params, beliefs, [2000.0], weight) == pytest.approx([expected.mu], rel=1e-12)
    kept = [tau for _, tau in queue(beliefs)[1:]]  # those too wide to matter have joined the normal factor
    assert kept == pytest.approx([tau for _, tau in expected.factors[-len(kept) :]], rel=1e-11)


# --- idle time ---


def rested(params: EloR, beliefs: Beliefs, *days: float) -> Outcome:
    """Step 1 of a round of next to no weight at each of these days, for player 0, whose last round was at day 0."""
    for day in days:
        round = Rounds.from_columns([0, 1], [0], [0], [0], [int(day * 86_400)], [1e-9])
        outcome = Outcome.empty(1)
        SYSTEM.prior(params, beliefs, round, 0, 1, outcome.prior)
        beliefs.last_time[0] = int(day * 86_400)
    return outcome


@pytest.mark.parametrize("noise", ["exact", "simple"])
def test_idle_time__of_two_halves_is_that_of_the_whole(noise: str) -> None:
    """The equations of two steps multiply: kappa is a product."""
    params, found = EloR(noise=noise, drift_per_day=20.0), []
    for days in ([364.0], [182.0, 364.0]):
        beliefs = veteran(EloR())
        walk(EloR(), beliefs, [1400.0, 700.0, 1200.0])
        beliefs.last_time[0] = 0
        sigma = float(beliefs.sigma[0])
        outcome = rested(params, beliefs, *days)
        assert outcome.sigma_prior[0] == pytest.approx(math.sqrt(sigma**2 + 364.0 * 20.0), rel=1e-9)
        found.append([outcome.mu_prior[0], *(number for factor in queue(beliefs) for number in factor)])
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_idle_year__adds_its_drift_and_none_before_the_first_round_or_back_in_time() -> None:
    params = EloR(drift_per_day=7.0)
    beliefs = SYSTEM.newcomers(params, 2)
    one = Rounds.from_columns([0, 2], [0, 1], [0, 1], [0, 1], [10**9])
    _, eta2 = spread(params, 1.0, 1.0)
    first = _rate(SYSTEM, params, beliefs, one)
    assert first.sigma_prior == pytest.approx([math.sqrt(350.0**2 + eta2)] * 2, rel=1e-12)
    for days, counted in ((365, 365), (-4000, 0)):
        later = Rounds.from_columns([0, 2], [0, 1], [0, 1], [0, 1], [int(beliefs.last_time[0]) + days * 86_400])
        before = beliefs.sigma.copy()
        assert _rate(SYSTEM, params, beliefs, later).sigma_prior == pytest.approx(
            np.sqrt(before**2 + eta2 + counted * 7.0), rel=1e-12
        )


# --- performances ---


@pytest.mark.slow
@pytest.mark.parametrize("tie_mode", ["half", "full"])
def test_performances__of_two_thousand_agree_with_pairwise_sums(tie_mode: str) -> None:
    params, twin = EloR(tie_mode=tie_mode), Twin(tie_mode=tie_mode)
    n, draw = 2000, np.random.default_rng(7)
    beliefs = SYSTEM.newcomers(params, n)
    set_ratings(SYSTEM, params, beliefs, np.arange(n), draw.normal(1500, 400, n), draw.uniform(100, 350, n), 5)
    round = ladder(1, 2, *[1] * 500, *[3] * 100, 1196, 1)
    prior = noised(params, _copy(beliefs, params))
    field = list(zip(prior.mu_prior.tolist(), np.hypot(prior.sigma_prior, 250.0).tolist(), strict=True))
    outcome = rate_rounds(SYSTEM, params, beliefs, round, Serial())
    for i in (0, 1, 2, 300, 700, 803, 1998, 1999):
        assert outcome.perf[i] == pytest.approx(twin._performance(field, i, round.lo[i], round.hi[i]), abs=POINTS)


def _copy(beliefs: Beliefs, params: EloR) -> Beliefs:
    copy = SYSTEM.newcomers(params, 0)
    copy.restore(beliefs.columns())
    return copy


@given(places(8), st.lists(ratings(), min_size=8, max_size=8), st.floats(100, 350), elo_r_params())
@repeatable(100)
def test_ties__share_a_performance_in_full_and_order_by_rating_in_half(spots, mu, sigma, chosen) -> None:
    """Where all are known equally well: a player's own rating holds on to its performance, the tighter the surer."""
    params = SYSTEM.params(**chosen)
    beliefs = SYSTEM.newcomers(params, 8)
    set_ratings(SYSTEM, params, beliefs, np.arange(8), np.array(mu), np.full(8, sigma), 5)
    lo, hi = zip(*spots, strict=True)
    perf = _rate(SYSTEM, params, beliefs, Rounds.from_columns([0, 8], np.arange(8), lo, hi)).perf
    for i in range(8):
        for j in range(i + 1, 8):
            if lo[i] < lo[j]:
                assert perf[i] > perf[j]
            elif params.tie_mode == "full":
                assert perf[i] == perf[j]
            else:
                assert (perf[i] - perf[j]) * (mu[i] - mu[j]) >= 0 or abs(perf[i] - perf[j]) <= POINTS


def test_ceiling__limits_one_performance_and_changes_no_other() -> None:
    free, capped = (
        _rate(SYSTEM, EloR(), SYSTEM.newcomers(EloR(), 3), ladder(1, 1, 1, perf_ceiling=ceiling))
        for ceiling in (math.inf, 1550.0)
    )
    assert free.perf[0] > 1550.0 == capped.perf[0]
    assert same_bits(free.perf[1:], capped.perf[1:])
    assert 1500.0 < capped.mu[0] < free.mu[0]


# --- laws ---


@given(populations(extreme=True), elo_r_params(), st.floats(0, 5000), st.floats(0.1, 2000))
@repeatable(60)
def test_rating__rises_with_the_newest_performance(initial_beliefs, chosen, shown, more) -> None:
    params = SYSTEM.params(**chosen)
    players = twin_of(initial_beliefs, chosen).players
    one, other = store_of(params, players), store_of(params, players)
    round = Rounds.from_columns([0, len(POOL)], np.arange(len(POOL)), np.arange(len(POOL)), np.arange(len(POOL)))
    worse = four_steps(SYSTEM, params, one, round, [shown] * len(POOL))
    better = four_steps(SYSTEM, params, other, round, [shown + more] * len(POOL))
    assert (better.mu >= worse.mu - POINTS).all()
    assert same_bits(better.sigma, worse.sigma)
    between = np.minimum(worse.mu_prior, worse.perf) - POINTS, np.maximum(worse.mu_prior, worse.perf) + POINTS
    assert ((between[0] <= worse.mu) & (worse.mu <= between[1])).all()


@given(st.lists(st.floats(0, 5000), min_size=6, max_size=12), st.integers(2, 5))
@repeatable(40)
def test_bounded_queue__keeps_the_mode_and_the_bound(performances, max_len) -> None:
    params = EloR(max_len=max_len)
    beliefs = SYSTEM.newcomers(params, 2)
    for performance in performances:
        walk(params, beliefs, [performance])
        assert len(queue(beliefs)) <= max_len
        steep = beliefs.sigma[0] ** -2
        assert abs(pull(beliefs, beliefs.mu[0])) <= 1e-11 * 5000 * steep
        assert steep == pytest.approx(math.fsum(tau**-2 for _, tau in queue(beliefs)), rel=1e-12)


# --- engines ---

CHOICES = [EloR(), EloR(noise="simple", tie_mode="full"), EloR(max_len=3, gamma=120.0, drift_per_day=5.0)]


def season() -> Rounds:
    """Twenty rounds on both sides of what counts as small, in which the same players meet again and again."""
    draw = np.random.default_rng(2)
    sizes = [SYSTEM.small + 40, 30] * 10
    player, lo, hi = [], [], []
    for n in sizes:
        player.append(draw.permutation(400)[:n])
        group = np.cumsum(draw.random(n) > 0.3)
        lo.append(np.searchsorted(group, group, "left"))
        hi.append(np.searchsorted(group, group, "right") - 1)
    time = np.arange(len(sizes)) * 200_000
    return Rounds.from_columns(np.cumsum([0, *sizes]), *(np.concatenate(part) for part in (player, lo, hi)), time)


@pytest.mark.parametrize("params", CHOICES, ids=["default", "simple-full", "bounded"])
def test_engines__agree_to_the_bit_about_long_queues(params: EloR) -> None:
    expected = SYSTEM.newcomers(params, 400)
    expected.state["gamma"][:50] = np.linspace(130.0, 600.0, 50)
    start = expected.columns()
    whole = rate_rounds(SYSTEM, params, expected, season(), Serial())
    for make in (lambda: Serial(7), lambda: Threads(2), lambda: Threads(3, 11)):
        beliefs = SYSTEM.newcomers(params, 400)
        beliefs.restore(start)
        with make() as engine:
            assert same_bits(rate_rounds(SYSTEM, params, beliefs, season(), engine), whole)
        assert same_bits(beliefs, expected)


def test_noise__has_the_same_bits_wherever_its_arrays_are() -> None:
    n, draw, apart = 7, np.random.default_rng(7), noise._APART  # numbers; one register is not full
    beliefs = [np.stack([draw.normal(1500, 300, n), draw.uniform(1e-3, 1e-2, n)]) for _ in range(500)]

    def widened(belief: npt.NDArray[np.float64], places: list[int]) -> bytes:
        memory = np.zeros(4096)
        pool, curve, force = (memory[place : place + 64] for place in places)
        pool[:n], pool[8 : 8 + n] = belief
        total = noise._measure(1500.0, pool, 0, 8, n, curve, force)
        return np.array([*total, noise._widen(0.9, pool, 8, n, curve, force), *pool[: 8 + n]]).tobytes()

    for belief in beliefs:
        far = widened(belief, [0, 1024, 2048])
        for pool in (1024 - 16 - apart, 1024 + 8 + apart, 1024 + 24 + 2 * apart):  # before, between and after
            force = 1024 + 8 + apart + (16 + apart) * (pool == 1024 + 8 + apart)
            assert widened(belief, [pool, 1024, force]) == far


def test_scratch__is_apart_from_everything() -> None:
    curve, force = noise._scratch(np.int64(8))
    memory, apart = curve.base, 8 * noise._APART  # bytes
    assert len(curve) == len(force) == 8
    assert curve.ctypes.data == memory.data + apart
    assert force.ctypes.data == memory.data + 2 * apart + 64


# --- parameters ---


def test_belief__is_a_normal_factor_and_a_queue() -> None:
    beliefs = SYSTEM.newcomers(EloR(), 2)
    assert set(beliefs.state) == {"normal_mu", "normal_weight", "slope", "gamma"}
    assert queue(beliefs, 1) == [(1500.0, pytest.approx(350.0))]
