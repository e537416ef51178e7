"""Elo-MMchi against external numbers, against its plain-Python twin, and properties that the paper proves."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden.answers_elo_mmr import params_of as vector_params
from golden.runner import FOLDER
from helpers.histories import four_steps, ladder, players_at, same_bits, set_ratings, to_rounds
from helpers.strategies import Contest, elo_mmr_params, histories, places, populations, repeatable
from hypothesis import given
from hypothesis import strategies as st
from twins.comparison import agree
from twins.elo_mmr import Twin

from ranklake.flows.engines.protocols import Engine
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, EloMMX, Outcome, Rounds
from ranklake.rating_kernels.core.numerics import hazard, hazards, upper_hazard
from ranklake.rating_kernels.fields import gaussian_field
from ranklake.rating_kernels.inference import gaussian
from ranklake.rating_kernels.inference.performance import FULL, SPLIT, Ties

SYSTEM = SYSTEMS["elo-mmx"]
believed = partial(players_at, SYSTEM)
VECTORS = sorted(FOLDER.glob("elo_mmr-gauss-*.json"))
POINTS = 1e-9  # what a root may be off
TIES = {FULL: "full", SPLIT: "split", Ties(0.9, 0.4, False): "weights", Ties(0.01, 1.0, False): "lenient"}


def still(**chosen: Any) -> EloMMX:
    """Parameters without drift between rounds: the test's beliefs are the priors."""
    return EloMMX(**{"beta": 200.0, "gamma": 0.0} | chosen)


def shown(params: EloMMX, mu: Any, sigma: Any, round: Rounds, engine: Engine | None = None) -> Outcome:
    return rate_rounds(SYSTEM, params, believed(params, mu, sigma), round, engine or Serial())


# --- the hazard ---


def exact_hazard(x: float) -> Decimal:
    """phi / (1 - Phi) in many digits: Phi's Taylor series up to 12, Laplace's continued fraction beyond."""
    with localcontext() as context:
        context.prec = 120
        z = Decimal(x)
        if x > 12:
            fraction = z
            for k in range(600, 0, -1):
                fraction = z + k / fraction
            return fraction
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
        density = (-z * z / 2).exp() / (2 * pi).sqrt()
        term = total = z
        for k in range(1, 2000):
            term = term * z * z / (2 * k + 1)
            total += term
            if abs(term) < Decimal(10) ** -110:
                break
        return density / (Decimal(1) / 2 - density * total)


def test_hazard__is_right_to_the_last_digits_in_the_upper_tail() -> None:
    for x in (*np.linspace(0, 12, 61), *np.logspace(-12, -1, 12), *np.logspace(1.1, 9, 40)):
        expected = exact_hazard(x)
        for found in (hazard(x), upper_hazard(x), hazards(x)[0], hazards(-x)[3]):
            assert abs(Decimal(float(found)) / expected - 1) <= Decimal("1e-15"), x


def test_hazard__is_right_in_the_lower_tail_up_to_the_rounding_of_its_exponent() -> None:
    for x in (*np.linspace(0.01, 12, 61), *np.logspace(-12, -2, 12)):
        expected = exact_hazard(-x)
        for found in (hazard(-x), hazards(-x)[0], hazards(x)[3]):
            assert abs(Decimal(float(found)) / expected - 1) <= Decimal(float(1e-15 * (1 + x * x / 2))), x


@pytest.mark.parametrize("x", [-1e14, -1e8, -38.6, -38.4, 38.4, 38.6, 1e8, 1e14])
def test_hazard__is_finite_where_density_and_distribution_underflow(x: float) -> None:
    assert all(math.isfinite(value) for value in hazards(x))
    assert hazard(x) == pytest.approx(max(x, 0.0), rel=1e-3, abs=1e-300)


@given(st.floats(-30, 30))
@repeatable(100)
def test_hazards__have_the_slopes_of_the_paper(x: float) -> None:
    up, up_slope, up_bend, down, down_slope, down_bend = hazards(x)
    assert up_slope == pytest.approx(up * (up - x), rel=1e-11, abs=1e-13)
    assert down_slope == pytest.approx(down * (down + x), rel=1e-11, abs=1e-13)
    assert up_bend == pytest.approx(up_slope * (2 * up - x) - up, abs=1e-11 * (1 + x * x))
    assert down_bend == pytest.approx(down_slope * (2 * down + x) - down, abs=1e-11 * (1 + x * x))


# --- numbers from outside ---


@pytest.mark.parametrize("large", [False, True], ids=["small", "four-steps"])
@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_vector__is_answered(path: Path, large: bool) -> None:
    vector = json.loads(path.read_text(encoding="utf-8"))
    params = SYSTEM.params(**vector_params(vector))
    known = vector["params"].get("initial_state", {})
    names = sorted({name for c in vector["contests"] for name, _, _ in c["standings"]} | set(known))
    beliefs = SYSTEM.newcomers(params, len(names))
    for name, state in known.items():
        set_ratings(SYSTEM, params, beliefs, [names.index(name)], state["mu"], state["sig"], state["n"])
    for contest, expected in zip(vector["contests"], vector["expected"], strict=True):
        how = {"time": contest.get("time", 0), "weight": contest.get("weight", 1.0)}
        round = to_rounds([Contest(contest["standings"], **how)], {name: i for i, name in enumerate(names)})
        if large:
            outcome = four_steps(SYSTEM, params, beliefs, round)
        else:
            outcome = rate_rounds(SYSTEM, params, beliefs, round, Serial())
        rows = {names[player]: i for i, player in enumerate(round.player)}
        for answer in expected:
            i = rows[answer["player"]]
            for found, key in ((outcome.mu, "mu"), (outcome.sigma, "sig"), (outcome.perf, "performance")):
                assert abs(found[i] - answer[key]) <= vector["rtol"] * max(1.0, abs(answer[key]))


# --- the twin ---


@given(histories(), populations(max_performances=0), elo_mmr_params(gaussian=True), st.booleans())
@repeatable(80)
def test_history__agrees_with_the_twin(contests, people, chosen, ceiling_gaussian) -> None:
    chosen = chosen | {"ceiling_gaussian": ceiling_gaussian}
    twin = Twin(variant="gaussian", initial_state={name: b.state for name, b in people.items()}, **chosen)

    def rate(c: Contest) -> Any:
        return twin.rate(c.standings, c.time, c.weight, c.perf_ceiling)

    agree(SYSTEM, SYSTEM.params(**chosen), people, contests, twin, rate, 1e-12, POINTS)


# --- the table against direct sums ---


def field(n: int, beta: float, sigmas: tuple[float, float], kind: str, tied: float) -> tuple[Any, Any, Any]:
    """Means, inverse deviations and first rows of groups, in order of performance."""
    draw = np.random.default_rng(n + int(beta))
    mu = draw.normal(1500, 500, n)
    if kind == "gap":
        mu += np.where(draw.random(n) < 0.5, 0.0, 12 * beta)
    delta = np.hypot(draw.uniform(*sigmas, n), beta)
    level = draw.normal(size=n) if kind == "upset" else mu + delta * draw.normal(size=n)
    order = np.argsort(-level)
    opens = np.r_[True, draw.random(n - 1) >= tied]
    return mu[order], 1 / delta[order], np.r_[np.flatnonzero(opens), n]


def direct(mu: Any, rate: Any, first: Any, ties: Ties) -> Any:
    """All roots from direct sums over all players."""
    field = gaussian_field.layout(mu, rate, first, ties)
    one, perf = np.array([0, len(first) - 1]), np.empty(len(first) - 1)
    field = field._replace(blocks=one, half_width=field.half_width * max(field.panels, 1), panels=0)
    assert gaussian.solve(0, 1, field, ties, *gaussian.no_spans(), perf) == -1
    return perf


def solved(mu: Any, rate: Any, first: Any, ties: Ties) -> Any:
    """All roots as in small rounds."""
    perf = np.empty(len(first) - 1)
    assert gaussian.solve_round(mu, rate, first, ties, *gaussian.no_spans(), perf) == -1
    return perf


@pytest.mark.parametrize("ties", TIES, ids=TIES.get)
@pytest.mark.parametrize(
    ("n", "beta", "sigmas", "kind", "tied"),
    [
        (97, 196.0, (80, 350), "usual", 0.0),
        (97, 196.0, (80, 350), "usual", 0.9),
        (400, 196.0, (80, 350), "upset", 0.3),
        (1500, 20.0, (1, 350), "usual", 0.3),
        (1500, 100.0, (20, 50), "gap", 0.3),
        (3000, 196.0, (80, 350), "usual", 0.6),
        (3000, 196.0, (80, 81), "upset", 0.99),
    ],
)
def test_performances__by_table_agree_with_direct_sums(n, beta, sigmas, kind, tied, ties) -> None:
    mu, rate, first = field(n, beta, sigmas, kind, tied)
    assert gaussian_field.layout(mu, rate, first, FULL).panels > 0  # there is a table
    perf = solved(mu, rate, first, ties)
    assert np.abs(perf - direct(mu, rate, first, ties)).max() <= POINTS
    assert np.all(np.diff(perf) < 0)
    assert np.abs(perf - gaussian.performances(mu, rate, first, ties, Serial().map)).max() <= POINTS


@pytest.mark.parametrize("by", [-4096.0, 4096.0])
@pytest.mark.parametrize("ties", TIES, ids=TIES.get)
def test_performances__by_table_shift_with_all_ratings(ties: Ties, by: float) -> None:
    mu, rate, first = field(400, 196.0, (80, 350), "upset", 0.3)
    assert np.abs(solved(mu + by, rate, first, ties) - by - solved(mu, rate, first, ties)).max() <= POINTS


@pytest.mark.parametrize("ties", TIES, ids=TIES.get)
def test_performances__of_a_lone_winner_and_a_lone_loser_keep_their_digits(ties: Ties) -> None:
    n = 3000
    mu, rate = np.full(n, 1500.0), np.full(n, 1 / 210.0)
    first = np.r_[0, 1, n - 1, n]
    perf = solved(mu, rate, first, ties)
    assert np.abs(perf - direct(mu, rate, first, ties)).max() <= POINTS
    mirrored = solved(mu, rate, first, ties._replace(loss=ties.win, win=ties.loss))
    assert perf - 1500 == pytest.approx((1500 - mirrored)[::-1], abs=POINTS)
    assert (perf[1] == pytest.approx(1500, abs=POINTS)) == (ties.loss == ties.win)


def test_performances__do_without_a_table_where_it_had_more_panels_than_roots() -> None:
    mu, rate = np.linspace(3000, 0, 200), np.full(200, 1 / 0.01)
    first = np.arange(201)
    assert gaussian_field.layout(mu, rate, first, FULL).panels == 0
    assert (
        np.abs(solved(mu, rate, first, FULL) - mu).max() <= POINTS
    )  # ratings are far apart: all results are as expected


# --- laws ---


@given(places(8), st.lists(st.floats(800, 2500), min_size=8, max_size=8), st.floats(30, 350), st.booleans())
@repeatable(100)
def test_update__of_equal_sigmas_keeps_the_winner_ahead_and_lets_the_upset_gain_more(spots, mu, sigma, split) -> None:
    """Theorem 5.6."""
    lo, hi = zip(*spots, strict=True)
    out = shown(
        still(tie_mode="split" if split else "full"), mu, [sigma] * 8, Rounds.from_columns([0, 8], np.arange(8), lo, hi)
    )
    assert len(set(out.sigma.tolist())) == 1
    gain = out.mu - out.mu_prior
    for i in range(8):
        for j in range(i + 1, 8):
            if lo[i] == lo[j]:
                continue
            assert out.perf[i] > out.perf[j]
            if mu[i] >= mu[j]:
                assert out.mu[i] > out.mu[j]
            else:
                assert gain[i] > gain[j]


@pytest.mark.parametrize("n", [7, 300, 1500])
def test_round__scaling_all_ratings_scales_all_results_to_the_bit(n: int) -> None:
    """By a power of two: the arithmetic has no absolute scale."""
    draw = np.random.default_rng(3)
    mu, sigma = draw.normal(0, 400, n), draw.uniform(80, 350, n)
    round = ladder(*([1] * n))
    one = shown(still(), mu, sigma, round)
    two = shown(still(beta=400.0), 2 * mu, 2 * sigma, round)
    assert same_bits(2 * one.perf, two.perf)
    assert same_bits(2 * one.mu, two.mu)


# --- edges ---


@pytest.mark.slow
@pytest.mark.parametrize("tie_mode", ["full", "split"])
@pytest.mark.parametrize("n", [1, 2, 130, 1500])
def test_round__in_which_all_tie_has_one_performance_for_both_modes(n: int, tie_mode: str) -> None:
    mu = np.linspace(1000, 2000, n) if n > 1 else np.array([1234.5])
    out = shown(still(tie_mode=tie_mode), mu, np.full(n, 90.0), ladder(n))
    assert len(set(out.perf.tolist())) == 1
    assert out.perf[0] == pytest.approx(mu.mean(), abs=POINTS)  # by symmetry
    assert np.all(out.sigma < 90.0)


@pytest.mark.parametrize("tie_mode", ["full", "split"])
def test_round__of_0_against_5000_with_small_sigmas_has_finite_roots(tie_mode: str) -> None:
    params = EloMMX(weight_limit=0.5, sig_limit=20.0, tie_mode=tie_mode)
    for mu in ([0.0, 5000.0], [5000.0, 0.0]):
        out = shown(params, mu, [20.0, 20.0], ladder(1, 1))
        twin = Twin(
            variant="gaussian", weight_limit=0.5, sig_limit=20.0, tie_mode=tie_mode,
            initial_state={name: {"mu": m, "sig": 20.0, "n": 5} for name, m in zip("ab", mu, strict=True)},
        )  # fmt: skip
        expected = [one.performance for one in twin.rate([("a", 0, 0), ("b", 1, 1)])]
        assert out.perf == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("tie_mode", ["full", "split"])
@pytest.mark.parametrize("n", [2, 40, 200])
def test_round__over_ten_thousand_sigmas_meets_in_the_middle_when_upside_down(n: int, tie_mode: str) -> None:
    """Far out the hazard is its argument and performances are means: losers and winners pull alike."""
    params = still(beta=1.0, tie_mode=tie_mode)
    mu = np.where(np.arange(n) < n // 2, 0.0, 14142.0)
    out = shown(params, mu, np.ones(n), ladder(n // 2, n // 2))
    assert np.all(np.isfinite(out.mu))
    assert out.perf[0] > out.perf[-1]
    assert out.perf[0] + out.perf[-1] == pytest.approx(14142.0, abs=1e-6)


def test_ceiling__applies_only_with_its_option() -> None:
    round = ladder(1, 1, perf_ceiling=1550.0)
    free = shown(still(), [1500.0, 1500.0], [80.0, 80.0], round)
    capped = shown(still(ceiling_gaussian=True), [1500.0, 1500.0], [80.0, 80.0], round)
    assert free.perf[0] > 1550.0 == capped.perf[0]
    assert capped.perf[1] == free.perf[1]


def test_belief__is_mu_and_sigma_alone() -> None:
    beliefs = SYSTEM.newcomers(EloMMX(), 3)
    assert not beliefs.state
    assert beliefs.history is None
    assert set(beliefs.columns()) == {"mu", "sigma", "last_time", "n_rounds"}


# --- engines ---


def season(sizes: tuple[int, ...], players: int = 6000) -> Rounds:
    draw = np.random.default_rng(11)
    skill = draw.normal(0, 2, players)
    player, lo, hi = [], [], []
    for n in sizes:
        chosen = draw.permutation(players)[:n]
        player.append(chosen[np.argsort(-skill[chosen] - draw.normal(0, 1, n))])
        group = np.cumsum(draw.random(n) > 0.3)
        lo.append(np.searchsorted(group, group, "left"))
        hi.append(np.searchsorted(group, group, "right") - 1)
    columns = (np.concatenate(part) for part in (player, lo, hi))
    return Rounds.from_columns(np.cumsum([0, *sizes]), *columns, np.arange(len(sizes)) * 300_000)


SEASON = season((2600, 40, 1025, 1024, 5000, 3, 1500))
LIVELY = EloMMX(noob_delay=(0.5, 0.7), drift_per_day=4.0)


def rated(rounds: Rounds, engine: Engine, params: EloMMX = LIVELY) -> tuple[Beliefs, Outcome]:
    beliefs = SYSTEM.newcomers(params, 6000)
    return beliefs, rate_rounds(SYSTEM, params, beliefs, rounds, engine)


@pytest.fixture(scope="module")
def expected() -> tuple[Beliefs, Outcome]:
    return rated(SEASON, Serial())


# --- parameters ---


def test_params__know_nothing_of_a_history() -> None:
    for name in ("rho", "history_len"):
        with pytest.raises(TypeError, match=name):
            EloMMX(**{name: 1})


def test_params__by_limits_and_by_deviations_are_the_same_system() -> None:
    limits = EloMMX()
    same = EloMMX(beta=math.sqrt(6.0) * 80.0, gamma=math.sqrt(0.2) * 80.0)
    assert SYSTEM.sigma_limit(same) == pytest.approx(SYSTEM.sigma_limit(limits), rel=1e-12)
    rounds = season((300, 40))
    assert rated(rounds, Serial(), same)[1].mu == pytest.approx(rated(rounds, Serial(), limits)[1].mu, abs=POINTS)
