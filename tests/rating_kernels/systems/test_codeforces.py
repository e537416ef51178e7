"""Codeforces' rating against its plain-Python twin, and properties that its author states."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers.histories import four_steps, ladder, players_at, same_bits
from helpers.strategies import POOL, histories, places, repeatable
from hypothesis import given
from hypothesis import strategies as st
from twins.codeforces import CodeforcesTwin, invariant_violations
from twins.comparison import agree_on_needs

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Codeforces, Outcome, Prior, Rounds
from ranklake.rating_kernels.core.standings import Conditions
from ranklake.rating_kernels.inference.needed_rating import Convention, needed_ratings, solve_directly
from ranklake.rating_kernels.inference.performance import without_table

SYSTEM = SYSTEMS["codeforces"]
believed = partial(players_at, SYSTEM)
OVERTAKEN, GAINED_LESS = "overtaken by a lower place", "gained less than a lower place"
POINTS = 1e-9  # what a root may be off
RULES, TIES = ("oct2015", "r327", "none"), ("max", "avg", "min")
CONVENTIONS = {"text": (1.0, 0.0), "program": (1.0, 1.0), "cfsys": (0.5, 1.0)}
RATE = math.log(10.0) / 400.0


def shown(params: Codeforces, mu: Any, round: Rounds, large: bool = False) -> Outcome:
    beliefs = believed(params, mu)
    if large:
        return four_steps(SYSTEM, params, beliefs, round)
    return rate_rounds(SYSTEM, params, beliefs, round, Serial())


@st.composite
def codeforces_params(draw: st.DrawFn) -> dict[str, Any]:
    """Hyperparameters, spelled as in the package."""
    return {
        "rule": draw(st.sampled_from(RULES)),
        "arithmetic": draw(st.sampled_from(["integer", "real"])),
        "tie_rank": draw(st.sampled_from(TIES)),
        "need_excludes_self": draw(st.booleans()),
        "lone_player": draw(st.sampled_from(["unchanged", "literal"])),
    }


# --- the twin ---


@pytest.mark.parametrize("large", [False, True], ids=["small", "four-steps"])
@given(st.data(), histories(max_rounds=4), codeforces_params())
@repeatable(60)
def test_history__agrees_with_the_twin(large: bool, data, contests, chosen) -> None:
    whole = chosen["arithmetic"] == "integer"
    rating = st.integers(-500, 6000).map(float) if whole else st.floats(-500, 6000)
    known = data.draw(st.dictionaries(st.sampled_from(POOL), rating))
    params, twin = SYSTEM.params(**chosen), CodeforcesTwin(**chosen, initial_ratings=known)
    people, points = {name: (mu, 0) for name, mu in known.items()}, 0.0 if whole else POINTS
    beliefs = agree_on_needs(SYSTEM, params, people, contests, large, lambda c: twin.rate(c.standings), points)
    assert not whole or np.array_equal(beliefs.mu, np.floor(beliefs.mu))
    assert beliefs.n_rounds.tolist() == [twin.n.get(name, 0) for name in POOL]


@given(st.data(), codeforces_params(), places(33))
@repeatable(25)
def test_inflation_step__takes_the_first_of_equal_players_at_the_end_of_the_top_group(data, chosen, spots) -> None:
    """Of 33 participants the 24 highest rated count, and there are but five ratings."""
    mu = data.draw(st.lists(st.sampled_from([1200.0, 1400.0, 1500.0, 1501.0, 2200.0]), min_size=33, max_size=33))
    names = [str(i) for i in range(33)]
    twin = CodeforcesTwin(**chosen, initial_ratings=dict(zip(names, mu, strict=True)))
    expected = twin.rate([(name, lo, hi) for name, (lo, hi) in zip(names, spots, strict=True)])
    lo, hi = zip(*spots, strict=True)
    outcome = shown(SYSTEM.params(**chosen), mu, Rounds.from_columns([0, 33], np.arange(33), lo, hi))
    assert outcome.mu == pytest.approx([one.mu for one in expected], abs=POINTS)


# --- the table ---


def field(kind: str, n: int = 1500) -> np.ndarray:
    draw = np.random.default_rng(7)
    mu = np.round(draw.normal(1500, 400, n))
    if kind == "newcomers":
        mu[:] = 1500.0
    elif kind == "wide":
        mu = np.round(draw.uniform(-20_000, 20_000, n))
    elif kind == "beyond a table":
        mu = np.round(draw.uniform(-2e7, 2e7, n))
    elif kind == "lone ends":
        mu[:2] = 9000.0, -5000.0
    elif kind == "two at the top":
        mu[:2] = 6000.0
    return mu


def standings(mu: np.ndarray, order: str, tied: float) -> tuple[np.ndarray, ...]:
    """Ratings in the order of places, and the places."""
    draw = np.random.default_rng(11)
    level = {"as expected": mu, "usual": mu + draw.normal(0, 300, len(mu)), "upside down": -mu}[order]
    group = np.cumsum(draw.random(len(mu)) >= tied)
    lo, hi = np.searchsorted(group, group, "left"), np.searchsorted(group, group, "right") - 1
    return mu[np.argsort(-level, kind="stable")], lo.astype(np.int32), hi.astype(np.int32)


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True], ids=["real", "integer"])
@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("kind", ["usual", "newcomers", "wide", "beyond a table", "lone ends", "two at the top"])
def test_needs__from_a_table_agree_with_direct_sums(kind: str, convention: str, whole: bool) -> None:
    mu = field(kind)
    n = len(mu)
    # between the last one and all others the curve is flat, and flatter where one's own former rating counts
    worst = {"text": POINTS, "program": 1e-6, "cfsys": 3e-8}[convention] if kind == "lone ends" else POINTS
    ways = (("as expected", 0.0, 1.0), ("usual", 0.3, 0.5), ("usual", 0.9, 1.0), ("upside down", 0.0, 0.0))
    for order, tied, share in ways:
        rows, lo, hi = standings(mu, order, tied)
        rule = Convention(share, RATE, *CONVENTIONS[convention], whole)
        seed, need = needed_ratings(rows, lo, hi, rule, Serial().map)
        exact_seed, exact_need = np.empty(n), np.empty(n)
        empty = without_table(0.0, 0.0, 0.0, 1.0)
        assert solve_directly(rows, lo, hi, rule, empty, exact_seed, exact_need) == -1
        assert np.abs(seed / exact_seed - 1.0).max() <= 1e-12
        assert (seed == exact_seed).all() == (kind == "beyond a table")
        assert np.abs(need - exact_need).max() <= (0.0 if whole else worst)


@pytest.mark.parametrize("excludes", [True, False], ids=["text", "program"])
def test_engines__agree_to_the_bit_where_the_ends_are_summed_directly(excludes: bool) -> None:
    params = SYSTEM.params(need_excludes_self=excludes, arithmetic="integer")
    mu, lo, hi = standings(field("lone ends"), "as expected", 0.2)
    round = Rounds.from_columns([0, len(mu)], np.arange(len(mu)), lo, hi)
    expected = shown(params, mu, round)
    for engine in (Serial(1), Serial(7), Threads(2, 64), Threads(3)):
        with engine:
            assert same_bits(rate_rounds(SYSTEM, params, believed(params, mu), round, engine), expected)


# --- equality, to the point ---


@pytest.mark.parametrize("large", [False, True], ids=["small", "four-steps"])
def test_need__that_is_a_whole_number_exactly_is_found(large: bool) -> None:
    """99 newcomers: the second place needs m = sqrt(2 * 50) = 10 = 1 + 99 / (1 + 10)."""
    params = SYSTEM.params(arithmetic="integer", need_excludes_self=False)
    assert shown(params, np.full(99, 1500.0), ladder(*[1] * 99), large).perf[1] == 1900.0


@pytest.mark.parametrize("large", [False, True], ids=["small", "four-steps"])
@pytest.mark.parametrize("arithmetic", ["real", "integer"])
@pytest.mark.parametrize("gap", [0.0, 100.0, 600.0, 5000.0, 60_000.0])
def test_need__of_a_player_at_the_expected_place_is_the_rating(gap: float, arithmetic: str, large: bool) -> None:
    """In a symmetric field where all tie, the middle player has the expected place, also on a flat curve."""
    params = SYSTEM.params(rule="none", arithmetic=arithmetic, tie_rank="avg")
    for mu in ([2000 - gap, 2000, 2000 + gap], [2000 - 2 * gap, 2000 - gap, 2000, 2000 + gap, 2000 + 2 * gap]):
        outcome = shown(params, mu, ladder(len(mu)), large)
        assert outcome.perf[len(mu) // 2] == outcome.mu[len(mu) // 2] == 2000.0


def test_need__in_integers_is_the_real_one_rounded_down_within_the_range_of_the_program() -> None:
    mu = np.random.default_rng(2).integers(-800, 4000, 150).astype(float)
    integer, real = (shown(SYSTEM.params(arithmetic=name), mu, ladder(*[1] * 150)).perf for name in ("integer", "real"))
    assert integer.tolist() == np.clip(np.floor(real), 1, 7999).tolist()
    assert real.min() < 1
    strong = shown(SYSTEM.params(arithmetic="integer"), [7990.0, 7000.0, 7980.0], ladder(1, 1, 1))
    assert strong.perf[0] == 7999.0


# --- laws ---


RATINGS = st.lists(st.floats(0, 4000), min_size=8, max_size=8)


def eight(spots: list[tuple[int, int]]) -> Rounds:
    return Rounds.from_columns([0, 8], np.arange(8), *zip(*spots, strict=True))


@given(RATINGS, places(8), st.sampled_from(TIES), st.sampled_from(RULES))
@repeatable(100)
def test_invariant__of_not_being_overtaken_holds_if_all_players_count_in_needs(mu, spots, tie, rule) -> None:
    params = SYSTEM.params(rule=rule, tie_rank=tie, need_excludes_self=False, arithmetic="real")
    round = eight(spots)
    assert SYSTEM.violations(round, shown(params, mu, round))[OVERTAKEN] == 0


@given(RATINGS, places(8))
@repeatable(60)
def test_inflation_step__of_2015_keeps_the_sum_of_the_strongest(mu, spots) -> None:
    """With eight participants the strongest are all participants."""
    outcome = shown(SYSTEM.params(rule="oct2015", arithmetic="real"), mu, eight(spots))
    assert outcome.mu.sum() == pytest.approx(np.sum(mu), abs=1e-8)


@given(RATINGS, places(8))
@repeatable(60)
def test_inflation_step__of_round_327_takes_a_point_and_at_most_ten_more_from_all(mu, spots) -> None:
    change = shown(SYSTEM.params(arithmetic="real"), mu, eight(spots)).mu - mu
    assert -11.0 - 1e-9 <= change.mean() <= -1.0 + 1e-9


# --- invariants ---


@given(st.data(), places(8))
@repeatable(200)
def test_invariants__are_counted_as_by_looking_at_every_pair(data, spots) -> None:
    few = st.sampled_from([1000.0, 1100.0, 1200.0, 1300.0])
    before, after = (np.array(data.draw(st.lists(few, min_size=8, max_size=8))) for _ in range(2))
    outcome = Outcome.empty(8)
    outcome.mu_prior[:], outcome.mu[:] = before, after
    found = SYSTEM.violations(eight(spots), outcome)
    expected = invariant_violations(before, after, [("", lo, hi) for lo, hi in spots])
    assert (found[OVERTAKEN], found[GAINED_LESS]) == expected


def test_invariants__of_many_rounds_add_up() -> None:
    one, other = ladder(1, 1), ladder(1, 2)
    both = Rounds.from_columns([0, 2, 5], [0, 1, 0, 1, 2], [0, 1, 0, 1, 1], [0, 1, 0, 2, 2])
    outcome = Outcome.empty(5)
    outcome.mu_prior[:] = 1500, 1400, 1000, 1000, 900
    outcome.mu[:] = 1500, 1600, 1000, 1001, 1001
    parts = [SYSTEM.violations(round, outcome.part(a, b)) for round, a, b in ((one, 0, 2), (other, 2, 5))]
    assert parts == [{OVERTAKEN: 1, GAINED_LESS: 0}, {OVERTAKEN: 1, GAINED_LESS: 0}]
    assert SYSTEM.violations(both, outcome) == {OVERTAKEN: 2, GAINED_LESS: 0}


def test_invariants__of_ratings_that_are_no_numbers_come_to_an_end() -> None:
    assert set(SYSTEM.violations(ladder(1, 1, 1), Outcome.empty(3))) == {OVERTAKEN, GAINED_LESS}


def test_invariants__violation_between_two_camps_is_reported() -> None:
    """2,000 at 0 to 50 and 2,000 at 3000 to 3050: at their border a place more asks for hundreds of points less.

    The lower rated of two weak players who come in among the strong, one place ahead, gains less.
    """
    weak, strong = np.linspace(0, 50, 2000), np.linspace(3050, 3000, 2000)
    order = np.r_[strong[:1333], 20.0, 30.0, strong[1333:], weak]
    outcome = shown(SYSTEM.params(arithmetic="real"), order, ladder(*[1] * len(order)))
    gain = outcome.mu - outcome.mu_prior
    assert gain[1334] - gain[1333] > 100.0
    assert SYSTEM.violations(ladder(*[1] * len(order)), outcome)[GAINED_LESS] >= 1


# --- edges ---


@pytest.mark.slow
@pytest.mark.parametrize("large", [False, True], ids=["small", "four-steps"])
@pytest.mark.parametrize("arithmetic", ["real", "integer"])
def test_lone_player__is_left_alone_unless_the_rule_is_taken_literally(arithmetic: str, large: bool) -> None:
    for mu in (1234.0, -40.0):
        outcome = shown(SYSTEM.params(arithmetic=arithmetic), [mu], ladder(1), large)
        assert (outcome.perf[0], outcome.mu[0]) == (mu, mu)
    outcome = shown(SYSTEM.params(arithmetic=arithmetic, lone_player="literal"), [1234.0], ladder(1), large)
    assert (outcome.perf[0], outcome.mu[0]) == (7999.0 if arithmetic == "integer" else 1234.0, 1233.0)


@pytest.mark.parametrize("large", [False, True], ids=["small", "four-steps"])
@pytest.mark.parametrize("excludes", [True, False], ids=["text", "program"])
def test_round__of_0_against_5000_keeps_its_digits(excludes: bool, large: bool) -> None:
    """Probabilities near 1 are computed from 1 - p; otherwise the error would be a tenth of a point."""
    chosen = {"need_excludes_self": excludes, "rule": "none", "arithmetic": "real"}
    params = SYSTEM.params(**chosen)
    for mu in ([5000.0, 0.0], [0.0, 5000.0]):
        twin = CodeforcesTwin(**chosen, initial_ratings=dict(zip("ab", mu, strict=True)))
        expected = twin.rate([("a", 0, 0), ("b", 1, 1)])
        slack = [POINTS + one.slack for one in expected]  # the loser's curve is flat on the way to their former rating
        assert np.all(np.abs(shown(params, mu, ladder(1, 1), large).perf - [one.need for one in expected]) <= slack)
    if excludes:  # m - 1 = sqrt(1 + q) - 1 for q = 10^-12.5 / (1 + 10^-12.5), odds of 1 to 10^12.8
        favourite = shown(params, [5000.0, 0.0], ladder(1, 1), large).perf[0]
        assert favourite == pytest.approx(400 * (12.5 + math.log10(2)), abs=1e-9)


def test_ratings__below_zero_go_on_falling() -> None:
    outcome = shown(SYSTEM.params(arithmetic="integer"), [1200.0, 900.0, -40.0], ladder(1, 1, 1))
    assert outcome.perf[2] == 1.0  # the program looks no further down
    real = shown(SYSTEM.params(arithmetic="real"), [1200.0, 900.0, -400.0], ladder(1, 1, 1))
    assert real.perf[2] < -400.0
    assert real.mu[2] < -400.0


# --- newcomers and what is shown ---


def test_newcomers__of_2020_have_1400_and_show_their_first_six_rounds_by_and_by() -> None:
    params = SYSTEM.params(display_2020=True)
    assert SYSTEM.newcomers(params, 1).mu[0] == 1400.0
    assert SYSTEM.offset is not None
    offset = SYSTEM.offset(params, np.full(9, 1400.0), np.arange(9, dtype=np.int32))
    assert (1400.0 + offset).tolist() == [0.0, 500.0, 850.0, 1100.0, 1250.0, 1350.0, 1400.0, 1400.0, 1400.0]
    assert SYSTEM.newcomers(SYSTEM.params(display_2020=True, initial=1450), 1).mu[0] == 1450.0


def test_newcomers__before_2020_had_1500_and_showed_them() -> None:
    params = SYSTEM.params()
    assert SYSTEM.newcomers(params, 1).mu[0] == 1500.0
    assert SYSTEM.offset is not None
    assert not SYSTEM.offset(params, np.full(9, 1500.0), np.arange(9, dtype=np.int32)).any()


def test_belief__is_mu_alone() -> None:
    params = SYSTEM.params()
    beliefs = SYSTEM.newcomers(params, 3)
    assert set(beliefs.columns()) == {"mu", "sigma", "last_time", "n_rounds"}
    outcome = rate_rounds(SYSTEM, params, beliefs, ladder(1, 1, 1), Serial())
    assert not outcome.sigma.any()
    assert not beliefs.sigma.any()
    assert SYSTEM.sigma_limit(params) == 0.0


# --- parameters and faults ---


@pytest.mark.parametrize("n", [3, 400])
def test_integers__refuse_a_rating_that_is_none(n: int) -> None:
    mu = np.full(n, 1500.0)
    mu[1] = 1500.5
    with pytest.raises(ValueError, match=r"player 1 comes with rating 1500\.5; arithmetic 'integer' needs whole"):
        shown(SYSTEM.params(arithmetic="integer"), mu, ladder(*[1] * n))


# --- what is default ---


@pytest.mark.parametrize("large", [False, True], ids=["small", "four-steps"])
def test_default__is_the_official_rating_in_whole_numbers(large: bool) -> None:
    params = SYSTEM.params()
    assert params.arithmetic == "integer"
    outcome = shown(params, [1500.0, 1613.0, 1287.0, 1500.0], ladder(1, 2, 1), large)
    for column in (outcome.mu, outcome.perf):
        assert np.array_equal(column, np.floor(column))
    real = shown(SYSTEM.params(arithmetic="real"), [1500.0, 1613.0, 1287.0, 1500.0], ladder(1, 2, 1), large)
    assert not np.array_equal(real.mu, np.floor(real.mu))
    assert np.abs(real.mu - outcome.mu).max() < 4.0


def test_default__predicts_with_the_curve_of_the_text() -> None:
    one, other = (Prior(np.array([mu]), np.zeros(1), np.zeros(1), np.zeros(1, np.int32)) for mu in (1900.0, 1500.0))
    assert SYSTEM.win_probability(SYSTEM.params(), Conditions(), one, other).tolist() == pytest.approx([10 / 11])
