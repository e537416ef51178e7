"""The kernels against the plain-Python twin, which shares no code with them.

What a difference may be: a performance is a zero of Q, which sums numbers of size W in double precision, and so is
known to about eps W over its slope there; between far apart crowds that slope is e^-20 of W or less. A rating is an
average of performances and a performance moves with the ratings by no more than they do (the weights of both are
positive and add up to 1), so that what one round leaves open is passed on but never grows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.fields import KINDS, Table, field, groups, plan_for
from helpers.histories import C3, SYSTEM, factors, four_steps, rate, set_ratings, to_rounds
from helpers.strategies import POOL, Belief, Contest, elo_mmr_params, histories, populations, repeatable
from hypothesis import example, given
from hypothesis import strategies as st
from twins.elo_mmr import Outcome, Twin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels.inference.performance import FULL, SPLIT, Ranks, Ties, bracket, solve_groups, ties_of

RELATIVE = 1e-12  # of max(1, |rating|): some ten roundings of an epsilon a round, over a handful of rounds
EPSILON = 2.0**-52
TIES = {FULL: "full", SPLIT: "split", Ties(0.9, 0.4, False): "weights"}


def twin_of(players: dict[str, Belief], params: dict[str, Any]) -> Twin:
    twin = Twin(initial_state={name: belief.state for name, belief in players.items()}, **params)
    for name, belief in players.items():
        for performance in belief.performances:
            twin.absorb([(name, performance)])
    return twin


def left_open(twin: Twin, contest: Contest, outcomes: list[Outcome]) -> float:
    """By how much rounding may move the performances of a round: a few epsilons of Q's terms over Q's slope."""
    noise = [(outcome.sigma**-2 - outcome.sigma_prior**-2) ** -0.5 for outcome in outcomes]
    scale = [math.hypot(outcome.sigma_prior, beta) / C3 for outcome, beta in zip(outcomes, noise, strict=True)]
    worst, (loss, win, _) = 0.0, ties_of(twin)
    for (_, lo, hi), one in zip(contest.standings, outcomes, strict=True):
        if one.performance == contest.perf_ceiling:
            continue
        slope = 0.0
        for j, (other, b) in enumerate(zip(outcomes, scale, strict=True)):
            e = math.exp(-abs(one.performance - other.mu_prior) / b)
            terms = loss + win if lo <= j <= hi else 1.0
            slope += terms * e / (1 + e) ** 2 / b**2
        size = math.fsum(1 / b for b in scale)
        worst = max(worst, 16 * EPSILON * size / slope if slope > 0 else math.inf)
    return worst


@pytest.mark.slow
@given(histories(), populations(), elo_mmr_params())
@repeatable(80)
def test_history__agrees_with_the_twin(contests, initial_beliefs, chosen) -> None:
    beliefs, outcome = rate(SYSTEM.params(**chosen), contests, initial_beliefs)
    twin, row, open_ = twin_of(initial_beliefs, chosen), 0, 0.0
    for contest in contests:
        expected = twin.rate(contest.standings, contest.time, contest.weight, contest.perf_ceiling)
        open_ += left_open(twin, contest, expected)
        for one in expected:
            near = lambda value: pytest.approx(value, rel=RELATIVE, abs=RELATIVE + open_)  # noqa: E731, B023
            assert outcome.sigma_prior[row] == pytest.approx(one.sigma_prior, rel=RELATIVE)
            assert outcome.sigma[row] == pytest.approx(one.sigma, rel=RELATIVE)
            assert outcome.perf[row] == near(one.performance)
            assert outcome.mu_prior[row] == near(one.mu_prior)
            assert outcome.mu[row] == near(one.mu)
            row += 1
    assert row == len(outcome.mu)
    for name, player in twin.players.items():
        at = POOL.index(name)
        assert beliefs.n_rounds[at] == player.n
        assert beliefs.state["normal_mu"][at] == near(player.normal_mu)
        assert beliefs.state["normal_weight"][at] == pytest.approx(player.normal_weight, rel=1e-11)
        kept = factors(beliefs, at)
        assert [p for p, _ in kept] == near([p for p, _, _ in player.factors][-len(kept) :] if kept else [])
        assert [w for _, w in kept] == pytest.approx([w for _, w, _ in player.factors][-len(kept) :], rel=1e-11)
        forgotten = player.factors[: len(player.factors) - len(kept)]
        assert math.fsum(w for _, w, _ in forgotten) <= 1e-13 / player.sigma**2


@pytest.mark.slow
@given(
    st.lists(st.floats(900, 2600), min_size=30, max_size=90),
    st.sampled_from([0.0, 0.04, 1.0, 5.0]),
    st.sampled_from(["full", "split"]),
)
@example([1500.0 + 40.0 * (i % 11) for i in range(250)], 5.0, "full")  # the common factor of weights falls to 1e-100
@repeatable(12)
def test_long_career__agrees_with_the_twin(performances, rho, tie_mode) -> None:
    """Histories of dozens of factors, old and new, near and far: the mode's series, its polish and its fallback."""
    chosen = {"rho": rho, "tie_mode": tie_mode, "drift_per_day": 2.0}
    params, twin = SYSTEM.params(**chosen), Twin(**chosen)
    beliefs = SYSTEM.newcomers(params, 2)
    for i, performance in enumerate(performances):
        day = Contest([("p0", 0, 0)], time=i * 86_400 * (1 + i % 7))
        (expected,) = twin.absorb([("p0", performance)], day.time)
        outcome = four_steps(SYSTEM, params, beliefs, to_rounds([day]), [performance])
        assert outcome.mu[0] == pytest.approx(expected.mu, rel=RELATIVE)
        assert outcome.sigma[0] == pytest.approx(expected.sigma, rel=RELATIVE)


@pytest.mark.quick("95-full", "120-full")
@pytest.mark.parametrize("ties", TIES, ids=TIES.get)
@pytest.mark.parametrize("n", [95, 96, 97, 120])
def test_round_of_a_hundred__agrees_with_the_twin(n: int, ties: Ties) -> None:
    """On both sides of the switch from direct sums to the table."""
    draw = np.random.default_rng(n)
    names = [f"p{i}" for i in range(n)]
    state = {
        name: {"mu": mu, "sig": sigma, "n": 5}
        for name, mu, sigma in zip(
            names, draw.normal(1500, 350, n).tolist(), draw.uniform(60, 350, n).tolist(), strict=True
        )
    }
    chosen = {"tie_loss": ties.loss, "tie_win": ties.win}
    params, twin = SYSTEM.params(**chosen), Twin(**chosen, initial_state=state)
    beliefs = SYSTEM.newcomers(params, n)
    set_ratings(
        SYSTEM, params, beliefs, slice(None), *([known[key] for known in state.values()] for key in ("mu", "sig", "n"))
    )
    lo = np.sort(draw.integers(0, n, n))
    lo, hi = np.searchsorted(lo, lo, "left"), np.searchsorted(lo, lo, "right") - 1
    round = Contest(list(zip(names, lo.tolist(), hi.tolist(), strict=True)))
    rounds = to_rounds([round], {name: i for i, name in enumerate(names)})
    expected = twin.rate(round.standings)
    for outcome in (_small(params, beliefs, rounds), four_steps(SYSTEM, params, beliefs, rounds)):
        assert outcome.perf == pytest.approx([one.performance for one in expected], abs=1e-9)
        assert outcome.mu == pytest.approx([one.mu for one in expected], abs=1e-9)


def _small(params: Any, beliefs: Any, rounds: Any) -> Any:
    """The round on the path of small rounds, on a copy."""
    copy = SYSTEM.newcomers(params, 0)
    copy.restore(beliefs.columns())
    return rate_rounds(SYSTEM, params, copy, rounds, Serial())


@pytest.mark.parametrize("ties", TIES, ids=TIES.get)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "rate_ratio"), [(97, 1.0), (400, 5.0), (1500, 1.0), (1500, 40.0)])
def test_performances__by_table_agree_with_direct_sums(n: int, rate_ratio: float, kind: str, ties: Ties) -> None:
    """To 1e-9 points: table and direct sums differ by 1e-10 at most, but for crowds of equals."""
    mu, omega = field(kind, n, rate_ratio, seed=5)
    draw = np.random.default_rng(6)
    if kind != "gap":  # there the better crowd stays ahead: with split ties, next to nothing holds a root in a gap
        order = np.argsort(-mu - draw.logistic(0, 200, n))
        mu, omega = mu[order], omega[order]
    lo = np.cumsum(draw.random(n) > 0.3)
    lo = np.searchsorted(lo, lo, "left").astype(np.int32)
    places = groups(lo, omega)
    plan = plan_for(mu, omega, ties)
    low, high, middle, top_rate, _ = bracket(mu, omega, places.above, places.below, ties)
    table = Table(mu, omega, plan=plan._replace(low=low, high=high, middle=middle, top_rate=top_rate))
    found = {}
    for tabulated in (True, False):
        perf = np.full(n, np.nan)
        ranks = Ranks(mu, omega, places.first, places.above, places.below)
        failed = solve_groups(0, len(places.above), ranks, ties, math.inf, tabulated, table.table, perf)
        assert failed == -1
        assert np.all(np.diff(perf) <= 0)
        found[tabulated] = perf
    # Crowds of equals 15 scales apart: between them the sum hardly falls, and a rounding moves a root by 1e5 of itself.
    crowds = kind == "clusters" and rate_ratio == 1.0
    assert np.abs(found[True] - found[False]).max() <= (1e-8 if crowds else 1e-9)
