"""Properties that the paper proves for Elo-MMR (arXiv:2101.00400, Theorems 4.1 and 5.2 to 5.7), and edge cases."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.histories import (
    C3,
    SYSTEM,
    factors,
    four_steps,
    ladder,
    pull,
    rate,
    same_bits,
    set_ratings,
    show,
    store,
    store_of,
    to_rounds,
)
from helpers.rounds import N_PLAYERS, season
from helpers.strategies import (
    POOL,
    Belief,
    Contest,
    elo_mmr_params,
    elo_mmr_ties,
    histories,
    places,
    populations,
    ratings,
    repeatable,
    standings,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, EloMMR, Outcome, Rounds

RHOS = [0.0, 0.04, 1.0, 5.0, math.inf]
ONE = ladder(1)
PASTS = st.lists(st.tuples(st.floats(-600, 600), st.floats(80, 500)), max_size=9)


def diffuse(beliefs: Beliefs, rho: float, gamma2: float) -> None:
    """Only time passes for player 0."""
    params = SYSTEM.params(rho=rho, beta=200.0, gamma=math.sqrt(gamma2))
    SYSTEM.prior(params, beliefs, ONE, 0, 1, Outcome.empty(1).prior)


def belief(sigma: float, past: list[tuple[float, float]], rho: float = 1.0) -> Beliefs:
    """A belief about one player with these past surprises and betas, whose mode is 1500."""
    share = 0.4 if past else 1.0
    w = (1.0 - share) / max(len(past), 1)
    pulled = math.fsum(w * beta * C3 * math.tanh(-surprise * C3 / (2 * beta)) for surprise, beta in past)
    past = [(1500.0 + surprise, beta) for surprise, beta in past]
    return store(SYSTEM.params(rho=rho), 1500.0, sigma, 1500.0 + pulled / share, share, past)


def weights(beliefs: Beliefs) -> list[float]:
    return [float(beliefs.state["normal_weight"][0]), *(w for _, w in factors(beliefs))]


# --- Theorem 4.1: diffusion ---


@pytest.mark.slow
@given(st.floats(20, 400), st.floats(0, 300), PASTS, st.sampled_from(RHOS))
@repeatable(100)
def test_diffusion__keeps_the_mode_where_it_is(sigma, gamma, past, rho) -> None:
    beliefs = belief(sigma, past)
    before, size = pull(beliefs, 1500.0)
    assert abs(before) <= 1e-12 * max(size, 1e-3)
    diffuse(beliefs, rho, gamma**2)
    after, size = pull(beliefs, 1500.0)
    assert beliefs.mu[0] == 1500.0
    assert abs(after) <= 1e-12 * max(size, 1e-3)


@given(st.floats(20, 400), st.floats(0, 300), PASTS, st.sampled_from(RHOS))
@repeatable(100)
def test_diffusion__adds_gamma_squared_to_the_variance_that_the_weights_add_up_to(sigma, gamma, past, rho) -> None:
    beliefs = belief(sigma, past)
    diffuse(beliefs, rho, gamma**2)
    assert math.fsum(weights(beliefs)) == pytest.approx(1 / (sigma**2 + gamma**2), rel=1e-13)
    assert beliefs.sigma[0] == pytest.approx(math.hypot(sigma, gamma), rel=1e-14)


@given(st.floats(20, 400), st.floats(0, 300), st.floats(0, 300), PASTS, st.sampled_from(RHOS))
@repeatable(100)
def test_diffusion__twice_is_once_with_the_sum(sigma, one, other, past, rho) -> None:
    twice, once = belief(sigma, past), belief(sigma, past)
    diffuse(twice, rho, one**2)
    diffuse(twice, rho, other**2)
    diffuse(once, rho, one**2 + other**2)
    assert twice.sigma[0] == pytest.approx(once.sigma[0], rel=1e-14)
    assert twice.state["normal_mu"][0] == pytest.approx(once.state["normal_mu"][0], rel=1e-12)
    assert weights(twice) == pytest.approx(weights(once), rel=1e-12)


@given(st.floats(20, 400), PASTS, st.sampled_from(RHOS[:-1]))
@repeatable(50)
def test_diffusion__by_nothing_changes_nothing_and_by_little_little(sigma, past, rho) -> None:
    beliefs, before = belief(sigma, past), belief(sigma, past)
    diffuse(beliefs, rho, 0.0)
    assert same_bits(beliefs, before)
    diffuse(beliefs, rho, 1e-12)
    assert weights(beliefs) == pytest.approx(weights(before), rel=1e-13)
    assert beliefs.state["normal_mu"][0] == pytest.approx(before.state["normal_mu"][0], rel=1e-13)


@pytest.mark.parametrize(("rho", "sigma"), [(0.04, 1e-140), (1.0, 1e-6), (5.0, 1e-3), (math.inf, 30.0)])
def test_diffusion__of_a_certain_belief_leaves_one_normal_factor(rho: float, sigma: float) -> None:
    """The paper prints its total weight as gamma^2; it is the inverse."""
    beliefs = belief(sigma, [(300.0, 200.0), (-100.0, 150.0)])
    diffuse(beliefs, rho, 35.0**2)
    assert beliefs.state["normal_mu"][0] == pytest.approx(1500.0, abs=1e-6)
    assert weights(beliefs)[0] == pytest.approx(1 / (sigma**2 + 35.0**2), rel=1e-9)
    assert math.fsum(weights(beliefs)[1:]) <= 1e-9 * weights(beliefs)[0]


def test_diffusion__at_infinite_rate_forgets_the_history_even_when_no_time_passes() -> None:
    beliefs = belief(90.0, [(300.0, 200.0), (-100.0, 150.0)])
    diffuse(beliefs, math.inf, 0.0)
    assert factors(beliefs) == []
    assert beliefs.state["normal_mu"][0] == 1500.0
    assert weights(beliefs) == pytest.approx([90.0**-2], rel=1e-15)


@given(st.floats(20, 400), st.floats(0, 300), st.lists(st.floats(-600, 600), min_size=3, max_size=3), st.data())
@repeatable(50)
def test_diffusion__weighs_without_looking_at_performances(sigma, gamma, surprises, data) -> None:
    rho = data.draw(st.sampled_from(RHOS))
    found = []
    for shown in (surprises, [0.0, 0.0, 0.0]):
        beliefs = belief(sigma, [(s, 150.0) for s in shown])
        diffuse(beliefs, rho, gamma**2)
        found.append(weights(beliefs))
    assert found[0] == found[1]


# --- Theorems 5.2 and 5.3: performances ---


def perfs(
    players: dict[str, Belief], contest: Contest, ties: dict[str, Any], steps: bool = False, **chosen: Any
) -> dict[str, float]:
    """Performances in one round, by the path of small rounds or that of large ones."""
    params = SYSTEM.params(**ties, **chosen)
    beliefs = store_of(params, players)
    round = to_rounds([contest])
    if steps:
        outcome = four_steps(SYSTEM, params, beliefs, round)
    else:
        outcome = rate_rounds(SYSTEM, params, beliefs, round, Serial())
    return {name: float(p) for (name, _, _), p in zip(contest.standings, outcome.perf, strict=True)}


@given(standings(), populations(), elo_mmr_ties(), st.booleans())
@repeatable(100)
def test_performance__better_place_is_strictly_higher_and_ties_share_one(rows, players, ties, steps) -> None:
    shown = perfs(players, Contest(rows), ties, steps)
    for name, _, hi in rows:
        for other, other_lo, _ in rows:
            assert (shown[name] > shown[other]) == (hi < other_lo)


@given(standings(min_size=2), populations(), elo_mmr_ties(), st.data())
@repeatable(60)
def test_performance__rises_with_the_own_rating(rows, players, ties, data) -> None:
    """It also increases with all ratings, by no more than the rating does."""
    name, _, _ = data.draw(st.sampled_from(rows))
    rise = data.draw(st.floats(1, 500))
    before = players.get(name, Belief(1500.0, 350.0, 0))
    others = {other: b for other, b in players.items() if other != name}
    low, high = (
        perfs(others | {name: Belief(before.mu + up, before.sigma, before.n)}, Contest(rows), ties)
        for up in (0.0, rise)
    )
    assert high[name] > low[name]
    for other in low:
        assert -1e-9 <= high[other] - low[other] <= rise + 1e-9


@given(standings(min_size=2), populations(), elo_mmr_ties(), st.data())
@repeatable(60)
def test_performance__rises_with_the_own_place(rows, players, ties, data) -> None:
    row = data.draw(st.integers(1, len(rows) - 1))
    assume(rows[row][1] > 0)
    better = moved_up(rows, row)
    name = rows[row][0]
    assert perfs(players, Contest(better), ties)[name] > perfs(players, Contest(rows), ties)[name]


def moved_up(rows: list[tuple[Any, int, int]], row: int) -> list[tuple[Any, int, int]]:
    """The same standings with one player (not of the first group) moved alone just above the group ahead."""
    groups: list[list[Any]] = []
    for name, lo, _ in rows:
        if lo == sum(map(len, groups)):
            groups.append([])
        groups[-1].append(name)
    name, lo, _ = rows[row]
    at = next(i for i, group in enumerate(groups) if name in group)
    groups[at].remove(name)
    groups.insert(at - 1, [name])
    result, start = [], 0
    for group in filter(None, groups):
        result += [(member, start, start + len(group) - 1) for member in group]
        start += len(group)
    return result


# --- Theorems 5.4 and 5.5: ratings ---


@pytest.mark.slow
@given(st.lists(ratings(), min_size=1, max_size=12), st.data(), st.sampled_from(RHOS), st.sampled_from([None, 1, 3]))
@repeatable(100)
def test_rating__rises_with_every_past_performance(shown, data, rho, history_len) -> None:
    at = data.draw(st.integers(0, len(shown) - 1))
    better = [p + 150.0 if i == at else p for i, p in enumerate(shown)]
    params = SYSTEM.params(rho=rho, history_len=history_len)
    mu = []
    for performances in (shown, better):
        beliefs = SYSTEM.newcomers(params, 2)
        show(params, beliefs, 0, *performances)
        mu.append(float(beliefs.mu[0]))
    assert mu[1] > mu[0]


def transplanted(body: Beliefs, head: Beliefs, row: int, params: Any) -> Beliefs:
    """A copy of ``body`` with the belief about player ``row`` from ``head``."""
    columns, other = body.columns(), head.columns()
    for name, column in columns.items():
        if isinstance(column, tuple):
            at = np.array([row])
            columns[name] = column.put(at, other[name].take(at))
        else:
            column[row] = other[name][row]
    result = SYSTEM.newcomers(params, 0)
    result.restore(columns)
    return result


@given(histories(max_rounds=6, min_size=2), elo_mmr_params(), st.data())
@repeatable(60)
def test_rating__is_never_lowered_later_by_a_better_place_now(contests, chosen, data) -> None:
    """Incentive alignment: with the other players' ratings and order fixed, a worse place is no gain."""
    params = SYSTEM.params(**chosen)
    first = contests[0].standings
    row = data.draw(st.integers(0, len(first) - 1))
    assume(first[row][1] > 0)
    name = first[row][0]
    player = POOL.index(name)
    honest = [to_rounds([contest]) for contest in contests]
    better = [to_rounds([replace(contests[0], standings=moved_up(first, row))]), *honest[1:]]
    beliefs, other = store_of(params, {}), store_of(params, {})
    for now, instead in zip(honest, better, strict=True):
        theirs = transplanted(beliefs, other, player, params)
        rate_rounds(SYSTEM, params, beliefs, now, Serial())
        rate_rounds(SYSTEM, params, theirs, instead, Serial())
        other = theirs
        assert other.mu[player] >= beliefs.mu[player] - 1e-9


# --- Theorem 5.7: how far one round can move a rating ---


@given(
    st.floats(40, 300), PASTS, st.sampled_from(RHOS), st.floats(50, 400), st.floats(0, 100), st.sampled_from([-1, 1])
)
@repeatable(100)
def test_rating__moves_by_no_more_than_the_bound_however_far_the_performance(
    sigma, past, rho, beta, gamma, sign
) -> None:
    beliefs, params = belief(sigma, past), SYSTEM.params(rho=rho, beta=beta, gamma=gamma)
    diffused = belief(sigma, past)
    SYSTEM.prior(params, diffused, ONE, 0, 1, Outcome.empty(1).prior)
    normal, *others = weights(diffused)
    show(params, beliefs, 0, sign * 1e8)
    change = sign * (float(beliefs.mu[0]) - 1500.0)
    most, least = C3 / beta / normal, C3 / beta / (normal + math.pi**2 / 6 * math.fsum(others))
    if rho == math.inf:
        assert most == pytest.approx(C3 * (sigma**2 + gamma**2) / beta, rel=1e-12)
    assert least * (1 - 1e-9) - 1e-9 <= change <= most * (1 + 1e-9) + 1e-9


# --- symmetries ---


def shifted(players: dict[str, Belief], by: float, times: float = 1.0) -> dict[str, Belief]:
    return {
        name: Belief(b.mu * times + by, b.sigma * times, b.n, tuple(p * times + by for p in b.performances))
        for name, b in players.items()
    }


@given(histories(max_rounds=4), populations(), st.sampled_from(RHOS), elo_mmr_ties(), st.sampled_from([0.125, 4.0]))
@repeatable(60)
def test_scaling__all_by_a_power_of_two_scales_everything(contests, players, rho, ties, times) -> None:
    beta, gamma = 200.0, 35.0
    runs = []
    for t in (1.0, times):
        params = SYSTEM.params(
            rho=rho, **ties, beta=beta * t, gamma=gamma * t, mu_init=1500.0 * t, sigma_init=350.0 * t
        )
        rounds = [replace(c, perf_ceiling=c.perf_ceiling * t) for c in contests]
        runs.append(rate(params, rounds, shifted(players, 0.0, t))[1])
    for name in ("perf", "mu_prior", "mu", "sigma_prior", "sigma"):
        assert getattr(runs[1], name) == pytest.approx(getattr(runs[0], name) * times, rel=1e-9)


@given(histories(max_rounds=4), populations(), elo_mmr_params(), st.permutations(range(len(POOL))))
@repeatable(60)
def test_relabelling__players_changes_no_bit(contests, players, chosen, order) -> None:
    rename = {POOL[i]: POOL[j] for i, j in enumerate(order)}
    params = SYSTEM.params(**chosen)
    beliefs, outcome = rate(params, contests, players)
    renamed = [replace(c, standings=[(rename[n], lo, hi) for n, lo, hi in c.standings]) for c in contests]
    others, same = rate(params, renamed, {rename[name]: b for name, b in players.items()})
    assert same_bits(outcome, same)
    assert same_bits(beliefs.mu.copy(), others.mu[list(order)])


# --- the edges (section 8) ---


def outcome_of(params: Any, round: Rounds, mu: Any = 1500.0, sigma: Any = 80.0) -> Outcome:
    """One round of veterans with these ratings; all results are checked to be finite."""
    beliefs = SYSTEM.newcomers(params, max(round.n_rows, 2))
    set_ratings(SYSTEM, params, beliefs, slice(None), mu, sigma, 9)
    outcome = rate_rounds(SYSTEM, params, beliefs, round, Serial())
    for name in ("perf", "mu", "sigma"):
        assert np.all(np.isfinite(getattr(outcome, name)))
    assert np.all(outcome.sigma > 0)
    return outcome


@pytest.mark.parametrize("ties", [{}, {"tie_mode": "split"}, {"tie_loss": 0.3, "tie_win": 0.3}])
@pytest.mark.parametrize("mu", [-3000.0, 0.0, 1500.0, 5000.0])
def test_lone_participant__performs_as_rated(mu: float, ties: dict[str, Any]) -> None:
    params = SYSTEM.params(**ties)
    outcome = outcome_of(params, ONE, mu)
    assert outcome.perf[0] == pytest.approx(mu, abs=1e-10)
    assert outcome.mu[0] == pytest.approx(mu, abs=1e-10)
    assert outcome.sigma[0] == pytest.approx(80.0, rel=1e-12)  # the limit: what a round adds it takes away


@pytest.mark.parametrize("steps", [False, True])
@pytest.mark.parametrize(("loss", "win"), [(0.25, 0.75), (0.9, 0.4), (1.0, 0.001)])
def test_unequal_weights__move_a_lone_participant_and_a_tied_field_by_their_odds(loss, win, steps) -> None:
    """F = win / (loss + win) for everyone who ties, oneself included."""
    b = math.hypot(math.sqrt(80.0**2 * 1.2), math.sqrt(80.0**2 * 6.0)) / C3
    for n in (1, 2, 5):
        players = {f"p{i}": Belief(1500.0, 80.0, 9) for i in range(n)}
        tied = Contest([(name, 0, n - 1) for name in players])
        shown = perfs(players, tied, {"tie_loss": loss, "tie_win": win}, steps)
        assert list(shown.values()) == pytest.approx([1500.0 + b * math.log(win / loss)] * n, abs=1e-9)


@pytest.mark.parametrize("name", ["elo-mmr", "elo-mmx"])
@pytest.mark.parametrize(("mode", "weight"), [("full", 1.0), ("split", 0.5)])
def test_weights_of_a_mode__have_its_bits(name: str, mode: str, weight: float) -> None:
    system, rounds = SYSTEMS[name], season((2, 2, 40, 97, 1100))
    of_mode, of_weights = (
        rate_rounds(system, params, system.newcomers(params, N_PLAYERS), rounds, Serial())
        for params in (system.params(tie_mode=mode), system.params(tie_loss=weight, tie_win=weight))
    )
    assert same_bits(of_mode, of_weights)


@pytest.mark.parametrize("n", [2, 7, 97, 1500])
def test_all_tied__share_one_performance_towards_which_they_move(n: int) -> None:
    mu = np.random.default_rng(n).normal(1500, 300, n)
    full, split = (outcome_of(SYSTEM.params(tie_mode=mode), ladder(n), mu) for mode in ("full", "split"))
    assert len(set(full.perf)) == len(set(split.perf)) == 1
    assert split.perf[0] == pytest.approx(full.perf[0], abs=1e-9)
    assert mu.min() < full.perf[0] < mu.max()
    assert np.all(np.sign(full.mu - mu) == np.sign(full.perf - mu))
    assert np.all(np.abs(full.mu - mu) < np.abs(full.perf - mu))


@pytest.mark.parametrize("steps", [False, True])
@pytest.mark.parametrize("tie_mode", ["full", "split"])
def test_gap__of_five_thousand_points_is_crossed_either_way(tie_mode: str, steps: bool) -> None:
    ties = {"tie_mode": tie_mode}
    players = {"p0": Belief(0.0, 80.0, 9), "p1": Belief(5000.0, 80.0, 9)}
    favourite = perfs(players, Contest([("p1", 0, 0), ("p0", 1, 1)]), ties, steps)
    upset = perfs(players, Contest([("p0", 0, 0), ("p1", 1, 1)]), ties, steps)
    assert favourite["p1"] == pytest.approx(5000.0, abs=1e-4)
    assert favourite["p0"] == pytest.approx(0.0, abs=1e-4)
    if tie_mode == "split":  # half a win over oneself: the level at which the other's win or loss is all but certain
        assert upset["p0"] == pytest.approx(5000.0, abs=1e-4)
        assert upset["p1"] == pytest.approx(0.0, abs=1e-4)
    else:  # beside the two exact draws with oneself, e^-p/b and 2 e^-(5000 - p)/b balance half-way
        b = math.sqrt(80.0**2 * 1.2 + 80.0**2 * 6) / C3
        assert upset["p0"] == pytest.approx(2500.0 + 0.5 * b * math.log(2), abs=1e-3)
        assert upset["p1"] == pytest.approx(2500.0 - 0.5 * b * math.log(2), abs=1e-3)


@pytest.mark.parametrize("n", [3, 200, 1500])
@pytest.mark.parametrize("sigma", [1e-6, 1e-3, 1e5])
def test_sigma__near_zero_and_huge_are_rated(sigma: float, n: int) -> None:
    outcome = outcome_of(SYSTEM.params(), ladder(*[1] * n), np.linspace(2000, 1000, n), sigma)
    assert np.all(np.diff(outcome.perf) < 0)
    assert np.all(outcome.sigma < 400)


def test_sigma__of_one_participant_near_zero_among_newcomers() -> None:
    sigma = np.full(300, 350.0)
    sigma[7] = 1e-6
    outcome = outcome_of(SYSTEM.params(beta=1.0, gamma=0.0), ladder(*[1] * 300), 1500.0, sigma)
    assert abs(outcome.mu[7] - 1500.0) < 1e-9
    assert np.all(np.diff(outcome.perf) < 0)


@pytest.mark.parametrize(
    "sizes",
    [(1,) * 20_000, (5000, 1, 14_999), (1, 19_999), (19_999, 1)],
    ids=["apart", "three-groups", "winner", "loser"],
)
def test_equals__in_a_huge_round_are_rated_symmetrically(sizes: tuple[int, ...]) -> None:
    outcome = outcome_of(SYSTEM.params(), ladder(*sizes))
    mirror = outcome_of(SYSTEM.params(), ladder(*sizes[::-1]))
    assert np.all(np.abs((outcome.perf - 1500.0) + (mirror.perf - 1500.0)[::-1]) <= 1e-8)
    starts = np.cumsum([0, *sizes[:-1]])
    assert np.all(np.diff(outcome.perf[starts]) < 0)
    assert np.all(np.repeat(outcome.perf[starts], sizes) == outcome.perf)
    assert np.abs(outcome.perf - 1500.0).max() < 3000


@pytest.mark.parametrize("n", [3, 120, 1500])
@pytest.mark.parametrize("weight", [1e-9, 1e-3, 1e3, 1e9])
@pytest.mark.parametrize("chosen", [{}, {"beta": 200.0, "gamma": 35.0}], ids=["limits", "beta"])
def test_weight__tiny_or_huge_is_rated(chosen: dict[str, float], weight: float, n: int) -> None:
    mu = np.linspace(1700, 1300, n)
    outcome = outcome_of(SYSTEM.params(**chosen), ladder(*[1] * n, weight=weight), mu)
    assert np.all(np.diff(outcome.perf) < 0)
    assert np.all(np.abs(outcome.mu - mu) <= np.abs(outcome.perf - mu) + 1e-9)
    if weight == 1e-9:  # a round that does not count hardly moves anybody
        assert np.abs(outcome.mu - mu).max() < 0.1


@pytest.mark.parametrize("n", [4, 150, 1500])
def test_ceiling__caps_performances_and_nothing_else(n: int) -> None:
    mu = np.linspace(2000, 1000, n)
    free = outcome_of(SYSTEM.params(), ladder(*[1] * n), mu)
    capped = outcome_of(SYSTEM.params(), ladder(*[1] * n, perf_ceiling=1600.0), mu)
    under = free.perf <= 1600.0
    assert 0 < under.sum() < n
    assert set(capped.perf[~under]) == {1600.0}
    assert capped.perf[under] == pytest.approx(free.perf[under], rel=1e-12)  # a search may begin elsewhere
    assert capped.mu[under] == pytest.approx(free.mu[under], rel=1e-12)
    assert np.all(capped.mu[~under] < free.mu[~under])


@given(st.integers(2, 8).flatmap(places), st.sampled_from([-500.0, 0.0, 5000.0]), elo_mmr_ties())
@repeatable(30)
def test_ceiling__below_or_above_all_performances(right, ceiling, ties) -> None:
    rows = [(name, lo, hi) for name, (lo, hi) in zip(POOL, right, strict=False)]
    shown = perfs({}, Contest(rows, perf_ceiling=ceiling), ties)
    free = perfs({}, Contest(rows), ties)
    assert shown == pytest.approx({name: min(p, ceiling) for name, p in free.items()}, rel=1e-12)


def test_delay__softens_first_rounds_and_drift_needs_a_round_before() -> None:
    params = SYSTEM.params(noob_delay=(0.5,), drift_per_day=10.0, sig_limit=0.0)
    beliefs = SYSTEM.newcomers(params, 2)
    show(params, beliefs, 0, 1800.0, time=10**9)
    assert beliefs.sigma[0] == pytest.approx((350.0**-2 + 0.1 / 10.0) ** -0.5, rel=1e-12)
    before = float(beliefs.sigma[0]) ** 2
    show(params, beliefs, 0, 1800.0, time=10**9 + 3 * 86_400)
    assert beliefs.sigma[0] == pytest.approx((1 / (before + 30.0) + 0.2 / 10.0) ** -0.5, rel=1e-12)
    before = float(beliefs.sigma[0]) ** 2
    show(params, beliefs, 0, 1800.0, time=0)  # clocks that go back add no time
    assert beliefs.sigma[0] == pytest.approx((1 / before + 0.2 / 10.0) ** -0.5, rel=1e-12)
    assert beliefs.last_time[0] == 10**9 + 3 * 86_400


# --- parameters ---


def test_parameters__at_the_edges_are_accepted() -> None:
    EloMMR(rho=math.inf, beta=1e-3, gamma=0.0)
    EloMMR(sig_limit=0.0, drift_per_day=1.0)
    EloMMR(history_len=1, mu_init=-5.0)
    assert EloMMR(noob_delay=[0.5, 1]).noob_delay == (0.5, 1.0)
    with pytest.raises(AttributeError):
        EloMMR().rho = 2.0


def test_limits__are_reached() -> None:
    """After many rounds sigma is sig_limit; a logistic factor is pi^2/6 times as steep at its centre as its weight."""
    params = SYSTEM.params(weight_limit=0.2, sig_limit=80.0, rho=math.inf)
    beliefs = SYSTEM.newcomers(params, 2)
    show(params, beliefs, 0, *[1500.0] * 150)
    assert beliefs.sigma[0] == pytest.approx(80.0, rel=1e-9)
    show(params, beliefs, 0, 1500.0 + 0.01)
    steep = 0.2 * math.pi**2 / 6
    assert beliefs.mu[0] - 1500.0 == pytest.approx(0.01 * steep / (1 + steep), rel=1e-6)
