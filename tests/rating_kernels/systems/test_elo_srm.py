"""EloSRM against its table, against its plain-Python twin, and against the properties the document names."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers.histories import four_steps, ladder, players_at, same_bits, set_ratings
from helpers.strategies import POOL, places, ratings, repeatable, standings
from hypothesis import given
from hypothesis import strategies as st
from twins.elo_srm import K0, Twin

from ranklake.flows.engines.protocols import Engine
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, EloSRM, Outcome, Rounds
from ranklake.rating_kernels.core.beliefs import serial_map
from ranklake.rating_kernels.fields.blocks import BLOCK
from ranklake.rating_kernels.fields.direct import DIRECT
from ranklake.rating_kernels.systems.elo_srm import SMALL, Surprises, newcomer

SYSTEM = SYSTEMS["elo-srm"]
believed = partial(players_at, SYSTEM, n_rounds=3)
POINTS = 1e-9
TIES = ("half", "expected", "mid")

Events = list[list[list[tuple[str, int, int]]]]  # events of divisions of standings


def rated(params: EloSRM, mu: Any, round: Rounds, engine: Engine | None = None, n_rounds: Any = 3) -> Outcome:
    return rate_rounds(SYSTEM, params, believed(params, mu, n_rounds=n_rounds), round, engine or Serial())


def surprises(mu: Any, round: Rounds, engine: Engine | None = None, ties: str = "half") -> Surprises:
    """What the summary of a round says, whatever its size."""
    params, prior = EloSRM(ties=ties), Outcome.empty(len(mu)).prior
    SYSTEM.prior(params, believed(params, mu), round, 0, len(mu), prior)
    return SYSTEM.summarise(params, prior, round, (engine or Serial()).map)


# --- Table 5 ---


@pytest.mark.parametrize(
    ("preset", "row"),
    [
        ("initial", (K0, 0, math.inf, 0, 0, 0.0)),
        ("K", (65, 0, math.inf, 0, 0, 0.0)),
        ("W", (182, 0, math.inf, 0, 0, 0.5)),
        ("C", (415, 4, math.inf, 0, 0, 0.5)),
        ("Elo", (600, 4, 6.75, 0, 0, 0.5)),
        ("B", (600, 4, 6.75, 6, 0, 0.5)),
        ("Elo2", (600, 4, 6.75, 27, 63, 0.5)),
    ],
)
def test_preset__is_its_row_of_table_5_and_single_parameters_override_it(preset: str, row: tuple[float, ...]) -> None:
    names = ("k", "c", "m", "b", "n_inflation", "alpha")
    params = EloSRM(preset=preset)
    assert tuple(getattr(params, name) for name in names) == row
    assert params.mu_init == 1200
    other = EloSRM(preset=preset, c=1.5)
    assert other == dataclasses.replace(params, c=1.5)
    assert (other.c, other.k) == (1.5, row[0])


def test_params__are_the_final_row_unless_a_k_begins_a_row_of_its_own() -> None:
    assert EloSRM() == EloSRM(preset="Elo2")
    assert EloSRM(b=6) == EloSRM(preset="Elo2", b=6)
    assert dataclasses.replace(EloSRM(k=182), preset="W") == EloSRM(preset="W")
    assert dataclasses.replace(EloSRM(k=600, c=4, m=6.75), preset="Elo") == EloSRM(preset="Elo")
    assert EloSRM(preset="Elo2", m=math.inf).m == math.inf


def test_use_weight__is_the_older_name_of_two_values_of_alpha() -> None:
    assert EloSRM(use_weight=True) == EloSRM(alpha=0.5) == EloSRM()
    assert EloSRM(use_weight=False) == EloSRM(alpha=0.0)
    assert EloSRM(preset="K", use_weight=True) == EloSRM(preset="K", alpha=0.5) != EloSRM(preset="K")
    assert dataclasses.replace(EloSRM(use_weight=False), alpha=1.0) == EloSRM(alpha=1.0)


def test_newcomers__of_the_final_row_after_1222_rounds_have_the_rating_of_the_table() -> None:
    assert f"{newcomer(EloSRM(), 1222):.0f}" == "1970"
    assert newcomer(EloSRM(preset="B"), 1222) == 1200


def test_surprise__of_a_doubled_place_is_one_and_worth_k0_in_the_first_row() -> None:
    """P(k rhat, k r) = P: 2 for 1, 4 for 2 and 8 for 4 expected places are one surprise."""
    for n, place in ((3, 0), (7, 1), (15, 3)):
        said = surprises([1200.0] * n, ladder(*[1] * n))
        assert (said.expected_rank[place], said.actual_rank[place]) == ((n + 1) / 2, place + 1)
        assert said.p[place] == 1.0
        assert rated(EloSRM(preset="initial"), [1200.0] * n, ladder(*[1] * n)).mu[place] == 1200 + K0


# --- the twin ---


@st.composite
def some_events(draw: st.DrawFn) -> Events:
    """Events of one division, or of two without a player in common."""
    events: Events = []
    for _ in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            events.append([draw(standings())])
        else:
            order = draw(st.permutations(POOL))
            events.append([draw(standings(part)) for part in (order[:4], order[4:])])
    return events


some_params = st.fixed_dictionaries(
    {
        "preset": st.sampled_from(["initial", "K", "W", "C", "Elo", "B", "Elo2"]),
        "mu_init": st.sampled_from([1200.0, 0.0]),
    },
    optional={
        "b": st.sampled_from([0.0, 500.0, -40.0]),
        "m": st.just(0.5),
        "n_inflation": st.sampled_from([-100.0, 1000.0]),
        "alpha": st.sampled_from([0.25, 2.0]),
        "ties": st.sampled_from(TIES),
    },
)


@given(
    some_events(),
    some_params,
    st.dictionaries(st.sampled_from(POOL), st.tuples(ratings(extreme=True), st.integers(1, 99))),
)
@repeatable(80)
def test_history__of_events_and_divisions_agrees_with_the_twin(events, chosen, players) -> None:
    params = SYSTEM.params(**chosen)
    names = ("k", "c", "m", "b", "n_inflation", "alpha", "mu_init")
    twin = Twin(*(getattr(params, name) for name in names), players, params.ties)
    rows = {name: row for row, name in enumerate(POOL)}
    divisions = [division for event in events for division in event]
    times = [86_400 * (i + 1) for i, event in enumerate(events) for _ in event]
    player, lo, hi = zip(*(row for division in divisions for row in division), strict=True)
    offsets = np.cumsum([0, *(len(division) for division in divisions)])
    rounds = Rounds.from_columns(offsets, [rows[name] for name in player], lo, hi, times)
    small, large = SYSTEM.newcomers(params, len(POOL)), SYSTEM.newcomers(params, len(POOL))
    for name, (mu, n_rounds) in players.items():
        for store in (small, large):
            set_ratings(SYSTEM, params, store, [rows[name]], mu, 0.0, n_rounds)
    outcome = rate_rounds(SYSTEM, params, small, rounds, Serial())
    for i in range(len(rounds)):
        four_steps(SYSTEM, params, large, rounds.part(i, i + 1))
    expected = [one for event in events for one in twin.rate(event)]
    assert outcome.mu_prior == pytest.approx([one.mu_prior for one in expected], abs=POINTS)
    assert outcome.mu == pytest.approx([one.mu for one in expected], abs=POINTS)
    assert np.isnan(outcome.perf).all()
    assert not outcome.sigma.any()
    for name in set(player):
        for store in (small, large):
            assert store.mu[rows[name]] == pytest.approx(twin.rating[name], abs=POINTS)
            assert store.n_rounds[rows[name]] == twin.rounds[name]


def test_round_of_hundreds__agrees_with_the_twin_groups_large_and_small_included() -> None:
    sizes = [1] * 40 + [5] * 4 + [DIRECT, DIRECT + 30, 20, 1, 1]
    n = sum(sizes)
    assert n > SMALL
    draw = np.random.default_rng(4)
    mu = draw.permutation(np.append(draw.normal(1300, 500, n - 2), [0.0, 5000.0]))
    round, n_rounds = ladder(*sizes), draw.integers(1, 60, n)
    twin = Twin(initial_state={str(i): state for i, state in enumerate(zip(mu.tolist(), n_rounds, strict=True))})
    table = zip(range(n), round.lo.tolist(), round.hi.tolist(), strict=True)
    expected = twin.rate([[(str(i), lo, hi) for i, lo, hi in table]])
    assert rated(EloSRM(), mu, round, n_rounds=n_rounds).mu == pytest.approx([one.mu for one in expected], abs=POINTS)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("sizes", [[1] * SMALL, [SMALL], [100, 1, 55, 100], [2] * (SMALL // 2)])
def test_round__through_the_four_steps_is_the_same_as_in_one_call(sizes: list[int], ties: str) -> None:
    n, params = sum(sizes), EloSRM(ties=ties)
    mu = np.random.default_rng(n).normal(1500, 600, n)
    steps = four_steps(SYSTEM, params, believed(params, mu), ladder(*sizes))
    assert steps.mu == pytest.approx(rated(params, mu, ladder(*sizes)).mu, abs=POINTS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["spread", "gap", "newcomers"])
def test_surprises__of_a_field_with_a_huge_tie_group_are_those_of_all_pairs(kind: str) -> None:
    """Seven in eight tied at the end, as at zero points, in a group that is tabulated in blocks."""
    n = BLOCK + 600
    draw = np.random.default_rng(6)
    mu = {
        "spread": lambda: draw.normal(1500, 400, n),
        "gap": lambda: np.where(draw.random(n) < 0.3, draw.normal(4000, 90, n), draw.normal(100, 90, n)),
        "newcomers": lambda: np.full(n, 1200.0),
    }[kind]()
    round = ladder(*[1] * 200, 300, n - 500)
    w = 1 / (1 + 10.0 ** ((mu[:, None] - mu[None, :]) / 400))  # that the column beats the row
    np.fill_diagonal(w, 0.0)
    within = np.where(round.lo[:, None] == round.lo[None, :], w, 0.0).sum(axis=1)
    half, regardless = (round.hi - round.lo) / 2, 1 + w.sum(axis=1)
    places = {
        "half": (regardless - within + half, half), "expected": (regardless, within), "mid": (regardless, half)
    }  # fmt: skip
    for ties, (expected, tied) in places.items():
        said = surprises(mu, round, ties=ties)
        assert said.p == pytest.approx(np.log2(expected / (1 + round.lo + tied)), abs=2e-13)
        assert said.p_prime == pytest.approx((1 + (w * (1 - w)).sum(axis=1)) / regardless, rel=2e-11)


# --- laws ---


@given(places(8), st.lists(ratings(extreme=True), min_size=8, max_size=8))
@repeatable(150)
def test_surprises__without_ties_sum_to_no_less_than_zero_and_slopes_stay_between_1_over_n_and_1(spots, mu) -> None:
    lo, hi = zip(*spots, strict=True)
    said = surprises(mu, Rounds.from_columns([0, 8], np.arange(8), lo, hi))
    if (
        len(set(spots)) == 8
    ):  # expected ranks are a mean of orders; those who tie share a rank above the mean of their logs
        assert math.fsum(said.p) >= -1e-12
    assert np.all((said.p_prime >= 1 / 8 - 1e-12) & (said.p_prime <= 1 + 1e-12))
    if lo[-1] == 0:
        assert not said.p.any()


def test_ties__of_three_accounts_are_the_same_to_the_bit_where_nobody_ties() -> None:
    for n in (2, 40, SMALL + 1):
        mu = np.random.default_rng(n).normal(1500, 500, n)
        moved = [rated(EloSRM(ties=ties), mu, ladder(*[1] * n)).mu for ties in TIES]
        assert same_bits(moved[0], moved[1])
        assert same_bits(moved[0], moved[2])


def test_ties__counted_half_in_the_place_alone_pull_the_tied_together() -> None:
    moved = {ties: rated(EloSRM(preset="Elo", ties=ties), [1800.0, 1200.0], ladder(2)).mu for ties in TIES}
    assert moved["half"].tolist() == moved["expected"].tolist() == [1800.0, 1200.0]
    assert moved["mid"][0] < 1790.0
    assert moved["mid"][1] > 1210.0


@pytest.mark.slow
def test_surprises__with_ties_may_sum_to_less_than_zero() -> None:
    """Equation 9 counts on expected places that are as tied as the places: two underdogs who tie first are not."""
    draw, prior, negative = np.random.default_rng(1), Outcome.empty(8).prior, dict.fromkeys(TIES, 0)
    for _ in range(400):
        prior.mu[:], groups = draw.normal(1500, 300, 8), int(draw.integers(1, 8))
        cuts = np.sort(draw.choice(np.arange(1, 8), groups - 1, replace=False))
        round = ladder(*np.diff([0, *cuts, 8]))
        for ties in TIES:
            negative[ties] += math.fsum(SYSTEM.summarise(EloSRM(ties=ties), prior, round, serial_map).p) < -1e-12
    assert negative == {"half": 0, "expected": 0, "mid": 94}  # as in docs/systems/topcoder.md
    underdogs = [surprises([700.0, 700.0, 2300.0], ladder(2, 1), ties=ties).p.sum() for ties in TIES]
    assert underdogs == pytest.approx([math.log2(25 / 27)] * 3, abs=1e-3)


@pytest.mark.quick("[!1]*", "1?*")
@pytest.mark.parametrize("n", [1, 2, 7, SMALL, SMALL + 1, BLOCK + 1])
def test_round__in_which_all_tie_is_no_surprise_to_the_bit(n: int) -> None:
    mu = np.random.default_rng(n).normal(1500, 500, n)
    for ties in ("half", "expected"):
        assert same_bits(rated(EloSRM(preset="Elo", ties=ties), mu, ladder(n)).mu, mu)
        assert not surprises(mu, ladder(n), ties=ties).p.any()
    assert np.all(rated(EloSRM(), mu, ladder(n)).mu > mu)  # the bonus for taking part


def test_round__of_one_player_has_slope_one_and_gives_the_bonus_alone() -> None:
    b = 27 / K0
    out = rated(EloSRM(), [1500.0], ladder(1), n_rounds=3)
    assert out.mu[0] - 1500 == pytest.approx(600 * b / (1 + b / 6.75) / (2 * 5))


def test_round__of_0_against_5000_upside_down_is_finite() -> None:
    for n in (2, 400):
        mu = np.repeat([0.0, 5000.0], n // 2)
        said = surprises(mu, ladder(*[1] * n))
        assert said.p[0] == pytest.approx(math.log2(n * 0.75 + 0.5), abs=1e-9)  # n/2 above, and amid their own half
        assert np.all(np.isfinite(rated(EloSRM(), mu, ladder(*[1] * n)).mu))


def test_experience__slows_a_player_down_by_the_root_of_the_rounds() -> None:
    young, old = (rated(EloSRM(), [1200.0, 1500.0], ladder(1, 1), n_rounds=n) for n in (0, 24))
    assert young.mu - young.mu_prior == pytest.approx(5 * (old.mu - old.mu_prior))
    heavy = rated(EloSRM(), [1200.0, 1500.0], ladder(1, 1, weight=7.0), n_rounds=24)
    assert same_bits(heavy, old)  # what a contest weighs changes nothing


@pytest.mark.parametrize(("alpha", "slower"), [(0.0, 1.0), (0.25, math.sqrt(5.0)), (1.0, 25.0), (2.0, 625.0)])
def test_experience__slows_a_player_down_by_the_rounds_to_the_power_alpha(alpha: float, slower: float) -> None:
    young, old = (rated(EloSRM(alpha=alpha), [1200.0, 1500.0], ladder(1, 1), n_rounds=n) for n in (0, 24))
    assert young.mu - young.mu_prior == pytest.approx(slower * (old.mu - old.mu_prior))


# --- newcomers ---


def test_newcomers__get_a_hundredth_of_n_more_an_event_and_not_a_division() -> None:
    params = EloSRM(n_inflation=100.0)
    rounds = Rounds.from_columns([0, 2, 4, 6, 8], [0, 1, 2, 3, 0, 4, 5, 6], [0, 1] * 4, [0, 1] * 4, [10, 10, 20, 20])
    assert rounds.event.tolist() == [0, 0, 1, 1]
    beliefs = SYSTEM.newcomers(params, 8)
    outcome = rate_rounds(SYSTEM, params, beliefs, rounds, Serial())
    assert outcome.mu_prior[[0, 1, 2, 3]].tolist() == [1200.0] * 4
    assert outcome.mu_prior[[5, 6, 7]].tolist() == [1201.0] * 3
    assert outcome.mu_prior[4] == outcome.mu[0]
    assert beliefs.mu[7] == 1200.0  # not seen yet


def test_newcomers__are_those_without_rounds_at_the_initial_rating_alone() -> None:
    params = EloSRM(n_inflation=100.0)
    round = Rounds.from_columns([0, 3], [0, 1, 2], [0, 1, 2], [0, 1, 2], event=[50])
    for rate in (
        lambda b: rate_rounds(SYSTEM, params, b, round, Serial()),
        lambda b: four_steps(SYSTEM, params, b, round),
    ):
        beliefs = believed(params, [1200.0, 1200.0, 1234.0], n_rounds=[0, 1, 0])
        assert rate(beliefs).mu_prior.tolist() == [1250.0, 1200.0, 1234.0]
