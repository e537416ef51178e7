"""Elo against printed tables, against its plain-Python twin, and properties of the rules."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from golden.answers_elo import package, twin
from golden.runner import FOLDER
from helpers.histories import four_steps, ladder, same_bits, set_ratings, to_rounds
from helpers.strategies import POOL, histories, places, ratings, repeatable
from hypothesis import given
from hypothesis import strategies as st
from twins.elo import Twin

from ranklake import k_for, wins_for
from ranklake.flows.common.configuration.settings import params_to_json
from ranklake.flows.engines.protocols import Engine
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import IMPORTANCE, SYSTEMS, Beliefs, Elo, Games, Outcome, Rounds, rate_games
from ranklake.rating_kernels.systems.elo import SMALL

SYSTEM = SYSTEMS["elo"]
POINTS = 1e-9
TABLE = (50.0, 0.58, 120.0, 0.67, 200.0, 0.8, 450.0, 0.97)


def believed(params: Elo, mu: Any, **state: Any) -> Beliefs:
    """A store of players 0, 1, 2, ... with these ratings."""
    beliefs = SYSTEM.newcomers(params, len(mu))
    set_ratings(SYSTEM, params, beliefs, np.arange(len(mu)), np.asarray(mu, float), 0.0, 0)
    for name, values in state.items():
        beliefs.state[name][:] = values
    return beliefs


def rated(params: Elo, mu: Any, round: Rounds, engine: Engine | None = None, **state: Any) -> Outcome:
    return rate_rounds(SYSTEM, params, believed(params, mu, **state), round, engine or Serial())


def game(params: Elo, a: float, b: float, score: float = 1.0, k: float | None = None) -> Games:
    return rate_games(params, believed(params, [a, b]), [0], [1], [score], k)


# --- printed numbers ---


def test_blog__table_of_four_games_comes_out_row_by_row(capsys: pytest.CaptureFixture[str]) -> None:
    """The printed rows except for one misprint: the last row has Cindy at 1162, but the rule subtracts 17 points."""
    names = ["Amy", "Brad", "Cindy", "Dirk"]
    params = Elo(k=40, mu_init=1200, round_digits=0, round_what="change")
    beliefs = SYSTEM.newcomers(params, 4)
    printed = {
        ("Amy", "Brad"): "Amy 1200 1220 | Brad 1200 1180 | 20",
        ("Dirk", "Cindy"): "Dirk 1200 1220 | Cindy 1200 1180 | 20",
        ("Amy", "Cindy"): "Amy 1220 1238 | Cindy 1180 1162 | 18",
        ("Dirk", "Cindy", "again"): "Dirk 1220 1237 | Cindy 1162 1145 | 17",
    }
    for winner, loser, *_ in printed:
        a, b = names.index(winner), names.index(loser)
        before = beliefs.mu[[a, b]]
        games = rate_games(params, beliefs, [a], [b], [1])
        mu_a, mu_b = games.mu_a[0], games.mu_b[0]
        change = mu_a - before[0]
        print(f"{winner} {before[0]:.0f} {mu_a:.0f} | {loser} {before[1]:.0f} {mu_b:.0f} | {change:.0f}")
    assert capsys.readouterr().out.splitlines() == list(printed.values())


@pytest.mark.parametrize(("k", "winner", "loser"), [(70, "1059.43143", "1240.56857"), (5, "1004.2451", "1295.7549")])
def test_blog__gain_of_a_winning_underdog_is_the_printed_one(k: float, winner: str, loser: str) -> None:
    games = game(Elo(k=k), 1000, 1300)
    decimals = len(winner.partition(".")[2])
    assert f"{games.expected_a[0]:.9f}" == "0.150979557"
    assert (f"{games.mu_a[0]:.{decimals}f}", f"{games.mu_b[0]:.{decimals}f}") == (winner, loser)


def test_expectation__at_a_lead_of_n_is_ten_games_of_eleven() -> None:
    for n in (100.0, 400.0):
        games = game(Elo(n=n), 1500 + n, 1500)
        assert games.expected_a[0] == pytest.approx(10 / 11, rel=1e-15)
        assert games.expected_a[0] + games.expected_b[0] == pytest.approx(1, abs=2e-16)


@pytest.mark.parametrize("lead", [-700.0, -35.5, 0.0, 120.0, 400.0])
def test_expectation__of_the_normal_curve_is_elos_own(lead: float) -> None:
    """Performances of standard deviation 200: the difference of two has 200 sqrt(2)."""
    games = game(Elo(cdf="normal"), 1500 + lead, 1500)
    assert games.expected_a[0] == pytest.approx(NormalDist(0, 200 * math.sqrt(2)).cdf(lead), rel=1e-12)


@pytest.mark.parametrize(("n", "w"), [(400, Fraction(160, 3)), (100, Fraction(10))])
def test_k__by_the_rule_of_thumb_lets_w_even_wins_gain_n_points(n: int, w: Fraction) -> None:
    k = k_for(float(w), n)
    assert k == pytest.approx(float(2 * n / w), rel=1e-15)
    assert wins_for(k, n) == pytest.approx(float(w), rel=1e-15)
    for params in (Elo(n=n, k=k), Elo(n=n, k_wins=float(w))):
        games = game(params, 1500, 1500)
        assert (games.mu_a[0] - 1500) * float(w) == pytest.approx(n)


def test_k__of_15_gains_400_points_by_53_33_wins() -> None:
    assert (f"{wins_for(15):.2f}", f"{k_for(53.33):.2f}") == ("53.33", "15.00")
    assert k_for(53.33) * 53.33 == pytest.approx(800, rel=1e-15)
    same = [rated(Elo(**chosen), [1500.0, 1620.0], ladder(1, 1)).mu for chosen in ({"k_wins": 32.0}, {"k": 25.0})]
    assert same[0].tolist() == same[1].tolist()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: k_for(0.0), "wins must be .* wins, got 0.0"),
        (lambda: wins_for(-15.0), "k must be .* rating points, got -15.0"),
        (lambda: k_for(10.0, math.nan), "n must be .* rating points, got nan"),
        (lambda: Elo(k=15.0, k_wins=53.33), "two ways to give K; give one of them, got 15.0 and 53.33"),
        (lambda: Elo(k_rule="fide", k_wins=10.0), "k_wins goes with k_rule fixed, not with FIDE's tiers; got 10.0"),
    ],
)
def test_k__that_means_nothing_is_refused(call: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


# --- the twin ---


def some_params(rounding: bool = True) -> st.SearchStrategy[dict[str, Any]]:
    """Hyperparameters; K is odd enough that no changes but those of equals are halves of a decimal."""
    k = st.sampled_from([{"k": 32.0}, {"k": 0.0}, {"k": 31.4159}, {"k_rule": "fide"}])
    rounded = [{"round_digits": 0, "round_what": what} for what in ("change", "rating")] + [{"round_digits": 2}]
    curves = [{"n": n, "cdf": cdf} for n in (400.0, 100.0, 1000.0) for cdf in ("logistic", "normal")]
    curves += [{"cdf": "linear", "certain_lead": 425.0}, {"cdf": "table", "cdf_table": TABLE}]
    others = st.builds(dict.__or__, st.sampled_from(curves), st.sampled_from([{"pairs": "mean"}, {"pairs": "sum"}]))
    how = st.sampled_from([{}, *rounded] if rounding else [{}])
    return st.builds(lambda *parts: {name: value for part in parts for name, value in part.items()}, others, k, how)


@given(
    histories(max_rounds=8),
    some_params(),
    st.dictionaries(st.sampled_from(POOL), ratings(extreme=True), max_size=8),
    st.dictionaries(st.sampled_from(POOL), st.sampled_from([0.0, 10.1234, 55.1234]), max_size=3),
)
@repeatable(80)
def test_history__agrees_with_the_twin(contests, chosen, initial_beliefs, own) -> None:
    initial_beliefs = {**dict.fromkeys(POOL, 1500.0), **initial_beliefs}
    slow = Twin(initial_ratings=initial_beliefs, initial_k=own, **chosen)
    params = SYSTEM.params(**chosen)
    own_k = [own.get(name, math.nan) for name in POOL]
    small, large = (believed(params, list(initial_beliefs.values()), k=own_k) for _ in range(2))
    outcome = rate_rounds(SYSTEM, params, small, to_rounds(contests), Serial())
    for contest in contests:
        four_steps(SYSTEM, params, large, to_rounds([contest]))
    expected = [one for contest in contests for one in slow.rate(contest.standings, contest.weight)]
    assert outcome.mu_prior == pytest.approx([one.mu_prior for one in expected], abs=POINTS)
    assert outcome.mu == pytest.approx([one.mu for one in expected], abs=POINTS)
    assert np.isnan(outcome.perf).all()
    assert not outcome.sigma.any()
    assert not outcome.sigma_prior.any()
    for store in (small, large):
        for row, name in enumerate(POOL):
            player = slow.players[name]
            assert store.mu[row] == pytest.approx(player.mu, abs=POINTS)
            assert store.state["peak"][row] == pytest.approx(player.peak, abs=POINTS)
            assert (store.state["games"][row], store.n_rounds[row]) == (player.games, player.n)
            assert (store.sigma[row], store.state["k"][row]) == (0.0, pytest.approx(own_k[row], nan_ok=True))


@given(
    st.lists(
        st.tuples(st.permutations(range(4)), st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0, 1)), min_size=1, max_size=9
    ),
    some_params(),
    st.lists(ratings(extreme=True), min_size=4, max_size=4),
    st.data(),
)
@repeatable(100)
def test_games__agree_with_the_twin(pairings, chosen, mu, data) -> None:
    slow = Twin(initial_ratings=dict(zip("abcd", mu, strict=True)), **chosen)
    params = SYSTEM.params(**chosen)
    beliefs = believed(params, mu)
    a, b = [pair[0] for pair, _ in pairings], [pair[1] for pair, _ in pairings]
    ks = data.draw(st.none() | st.lists(st.sampled_from([math.nan, 20.0, 60.0]), min_size=len(a), max_size=len(a)))
    games = rate_games(params, beliefs, a, b, [score for _, score in pairings], ks)
    for i, (_, score) in enumerate(pairings):
        k = None if ks is None or math.isnan(ks[i]) else ks[i]
        expected = slow.play("abcd"[a[i]], "abcd"[b[i]], score, k=k)
        for name in ("expected_a", "expected_b", "mu_a", "mu_b"):
            assert getattr(games, name)[i] == pytest.approx(getattr(expected, name), rel=1e-12, abs=POINTS)


@pytest.mark.parametrize("cdf", ["logistic", "normal"])
def test_round_of_hundreds__agrees_with_the_twin_and_with_summing_term_by_term(cdf: str) -> None:
    n = SMALL + 44
    draw = np.random.default_rng(5)
    mu = np.append(draw.normal(1500, 500, n - 2), [0.0, 5000.0])
    lo = np.sort(draw.integers(0, n // 2, n))
    lo, hi = np.searchsorted(lo, lo, "left"), np.searchsorted(lo, lo, "right") - 1
    params = Elo(cdf=cdf, pairs="sum", k=1)
    large = rated(params, mu, Rounds.from_columns([0, n], np.arange(n), lo, hi))
    slow = Twin(cdf=cdf, pairs="sum", k=1, initial_ratings={str(i): m for i, m in enumerate(mu.tolist())})
    standings = [(str(i), int(a), int(b)) for i, (a, b) in enumerate(zip(lo, hi, strict=True))]
    assert large.mu == pytest.approx([one.mu for one in slow.rate(standings)], abs=POINTS)


@pytest.mark.parametrize("cdf", ["logistic", "normal"])
@pytest.mark.parametrize("n", [1, 2, 3, 96, 97, SMALL])
def test_round__through_the_four_steps_is_the_same_as_in_one_call(n: int, cdf: str) -> None:
    draw = np.random.default_rng(n)
    mu = draw.normal(1500, 600, n)
    params = Elo(cdf=cdf)
    sizes = [1] * (n % 3) + [3] * (n // 3)
    steps = four_steps(SYSTEM, params, believed(params, mu), ladder(*sizes))
    assert steps.mu == pytest.approx(rated(params, mu, ladder(*sizes)).mu, abs=POINTS)


# --- laws ---


@given(ratings(extreme=True), ratings(extreme=True), st.sampled_from([1.0, 0.5, 0.0]), some_params())
@repeatable(200)
def test_contest_of_two__has_the_bits_of_one_game(a, b, score, chosen) -> None:
    params = SYSTEM.params(**chosen)
    one, other = believed(params, [a, b]), believed(params, [a, b])
    games = rate_games(params, one, [0], [1], [score])
    players, lo, hi = ([1, 0] if score == 0 else [0, 1]), [0, 1 if score != 0.5 else 0], [0 if score != 0.5 else 1, 1]
    outcome = rate_rounds(SYSTEM, params, other, Rounds.from_columns([0, 2], players, lo, hi), Serial())
    assert outcome.mu[[players.index(0), players.index(1)]].tolist() == [games.mu_a[0], games.mu_b[0]]
    other.last_time[:] = one.last_time
    assert same_bits(one, other)


@given(st.floats(-3000, 3000), st.sampled_from([1.0, 0.5, 0.0]), st.sampled_from(["logistic", "normal"]))
@repeatable(100)
def test_game__changes_of_both_players_cancel(lead, score, cdf) -> None:
    """Under a K that dwarfs ratings, so that their own rounding does not hide the change."""
    k = 1e10
    games = game(Elo(cdf=cdf, k=k), lead, 0.0, score)
    assert abs(games.mu_a[0] + games.mu_b[0] - lead) <= k * 2.0**-51


@given(places(8), st.lists(ratings(extreme=True), min_size=8, max_size=8), some_params(rounding=False))
@repeatable(100)
def test_round__of_a_common_k_conserves_the_sum_of_ratings(spots, mu, chosen) -> None:
    chosen = {name: value for name, value in chosen.items() if name != "k_rule"}
    lo, hi = zip(*spots, strict=True)
    out = rated(SYSTEM.params(**chosen), mu, Rounds.from_columns([0, 8], np.arange(8), lo, hi))
    assert math.fsum(out.mu) == pytest.approx(math.fsum(out.mu_prior), abs=1e-8)


@pytest.mark.parametrize("n", [2, 5, 300])
def test_pairs__of_the_mean_let_a_round_weigh_one_game_and_of_the_sum_all_of_them(n: int) -> None:
    mean, total = (rated(Elo(k=32, pairs=pairs), [1500.0] * n, ladder(*[1] * n)) for pairs in ("mean", "sum"))
    assert (mean.mu[0], mean.mu[-1]) == (pytest.approx(1516, abs=POINTS), pytest.approx(1484, abs=POINTS))
    assert total.mu - 1500 == pytest.approx((mean.mu - 1500) * (n - 1), abs=POINTS)


def test_weight__multiplies_k_whichever_rule_it_comes_from() -> None:
    for chosen in ({"k": 20}, {"k_rule": "fide"}):
        params = Elo(**chosen)
        plain, heavy = (rated(params, [1500, 1600], ladder(1, 1, weight=w)) for w in (1.0, 2.5))
        assert heavy.mu - heavy.mu_prior == pytest.approx(2.5 * (plain.mu - plain.mu_prior))


@pytest.mark.parametrize(("match", "k"), IMPORTANCE.items())
def test_importance__is_the_weight_of_a_contest_under_k_1_or_the_k_of_a_game(match: str, k: float) -> None:
    assert {"world cup finals": 60, "friendlies": 20}.get(match, k) == k
    contest = rated(Elo(k=1), [1500, 1500], ladder(1, 1, weight=IMPORTANCE[match]))
    games = game(Elo(), 1500, 1500, k=IMPORTANCE[match])
    assert contest.mu.tolist() == [games.mu_a[0], games.mu_b[0]] == [1500 + k / 2, 1500 - k / 2]


def test_vectors__may_name_the_importance_of_a_game() -> None:
    vector = json.loads((FOLDER / "elo-normal-draws.json").read_text(encoding="utf-8"))
    named = vector | {"contests": [{"games": [["a", "b", 1], ["b", "c", 0.5, "qualifiers"]]}]}
    for one, other in zip(package(named)[0].values(), twin(named)[0].values(), strict=True):
        assert (one.pop("a"), one.pop("b")) == (other.pop("a"), other.pop("b"))
        assert one == pytest.approx(other)
    for runner in (package, twin):
        with pytest.raises(ValueError, match="unknown importance: 60"):
            runner(vector | {"contests": [{"games": [["a", "b", 1, 60]]}]})
        with pytest.raises(ValueError, match="unknown parameter: k_map"):
            runner(vector | {"params": {"k_map": {}}})
        with pytest.raises(ValueError, match="unknown contest key: standings"):
            runner(vector | {"contests": [{"standings": []}]})


# --- K by tiers, K of a player's own, rounding ---


@pytest.mark.parametrize(
    ("games", "peak", "k"), [(0, 1500, 40), (29, 2700, 40), (30, 2399.9, 20), (30, 2400, 10), (500, 2400, 10)]
)
def test_tiers__are_40_for_30_games_then_10_after_a_rating_of_2400_else_20(games, peak, k) -> None:
    out = rated(Elo(k_rule="fide"), [1500, 1500], ladder(1, 1), games=games, peak=peak)
    assert out.mu[0] - 1500 == k / 2


@pytest.mark.parametrize(("pairs", "rounds"), [("mean", 30), ("sum", 8)])
def test_tiers__count_a_larger_round_as_its_pairs_do(pairs: str, rounds: int) -> None:
    """Five players: one game a round with the mean of the pairs, four with their sum."""
    params = Elo(k_rule="fide", pairs=pairs)
    beliefs = SYSTEM.newcomers(params, 5)
    ks = []
    for _ in range(rounds + 1):
        beliefs.mu[:] = 1500.0
        out = rate_rounds(SYSTEM, params, beliefs, ladder(*[1] * 5), Serial())
        ks.append((out.mu[0] - 1500) * 2 / (4 if pairs == "sum" else 1))
    assert ks == [40.0] * rounds + [20.0]


def test_tiers__keep_a_fallen_master_at_10_for_life() -> None:
    params = Elo(k_rule="fide")
    beliefs = believed(params, [2395.0, 2395.0], games=30)
    rate_games(params, beliefs, [0], [1], [1])
    assert beliefs.state["peak"].tolist() == [2405.0, 2395.0]
    rate_games(params, beliefs, [0, 0], [1, 1], [0, 0], k=800.0)
    assert beliefs.mu[0] < 2000
    before = beliefs.mu[0]
    games = rate_games(params, beliefs, [0], [1], [1])
    assert games.mu_a[0] - before == pytest.approx(10 * games.expected_b[0])


def test_k__of_a_players_own_beats_the_rule_and_need_not_balance() -> None:
    for params in (Elo(k=32), Elo(k_rule="fide")):
        out = rated(params, [1500, 1500], ladder(1, 1), k=[8.0, math.nan])
        assert out.mu.tolist() == [1504, 1500 - (params.k or 40) / 2]


@pytest.mark.parametrize("what", ["change", "rating"])
def test_rounding__takes_halves_away_from_zero(what: str) -> None:
    params = Elo(k=5, round_digits=0, round_what=what)
    assert rated(params, [0, 0], ladder(1, 1)).mu.tolist() == [3, -3]  # 2.5 and -2.5
    assert rated(Elo(k=5, round_digits=1, round_what=what), [0, 0], ladder(1, 1)).mu.tolist() == [2.5, -2.5]
    huge = 123_456_789_012_345.0
    assert rated(Elo(k=5, round_digits=9), [huge, huge], ladder(1, 1)).mu[0] == huge + 2.5


def test_rounding__of_ratings_moves_a_fraction_and_of_changes_keeps_it() -> None:
    change, rating = (
        rated(Elo(round_digits=0, round_what=w), [1500.25] * 2, ladder(1, 1)).mu for w in ("change", "rating")
    )
    assert change.tolist() == [1516.25, 1484.25]
    assert rating.tolist() == [1516.0, 1484.0]


# --- edges ---


@pytest.mark.parametrize("cdf", ["logistic", "normal"])
def test_round__of_one_player_or_of_tied_equal_players_changes_no_rating(cdf: str) -> None:
    params = Elo(cdf=cdf)
    beliefs = believed(params, [1234.5])
    assert rate_rounds(SYSTEM, params, beliefs, ladder(1), Serial()).mu[0] == 1234.5
    assert (beliefs.state["games"][0], beliefs.n_rounds[0]) == (0, 1)
    for n in (3, 200, 1000):
        assert rated(params, [1500.0] * n, ladder(n)).mu == pytest.approx([1500.0] * n, abs=POINTS)


@pytest.mark.parametrize("cdf", ["logistic", "normal"])
@pytest.mark.parametrize("n", [2, 4, 400])
def test_round__of_0_against_5000_is_finite_and_moves_by_the_upset(cdf: str, n: int) -> None:
    mu = np.repeat([5000.0, 0.0], n // 2)
    params = Elo(cdf=cdf, k=32, pairs="sum")
    as_expected, upset = rated(params, mu, ladder(n // 2, n // 2)), rated(params, mu[::-1], ladder(n // 2, n // 2))
    assert as_expected.mu == pytest.approx(mu, abs=1e-6)
    assert upset.mu == pytest.approx(mu[::-1] + np.repeat([16.0 * n, -16.0 * n], n // 2), abs=1e-6)


# --- faults ---


def test_params__say_all_once_built() -> None:
    assert (Elo().k, Elo().round_what) == (32.0, None)
    assert (Elo(k_rule="fide").k, Elo(round_digits=1).round_what) == (None, "rating")
    assert Elo(n=400, k=32, mu_init=1500) == Elo()


@pytest.mark.parametrize(
    ("a", "b", "score", "k", "message"),
    [
        ([0, 1], [1, 1], [1, 1], None, "game 1: a and b must be two players of 3, got a = 1, b = 1"),
        ([0], [3], [1], None, "game 0: a and b must be two players of 3, got a = 0, b = 3"),
        ([-1], [0], [1], None, "game 0: a and b must be two players of 3, got a = -1"),
        ([0.5], [1], [1], None, "game 0: a and b must be two players of 3, got a = 0"),
        ([0], [1], [1.5], None, r"game 0: score must be in \[0, 1\]"),
        ([0], [1], [math.nan], None, r"game 0: score must be in \[0, 1\]"),
        ([0, 0], [1, 2], [1, 1], [32, -1], "game 1: k must be within 0"),
        ([0], [1], [1], math.inf, "game 0: k must be within 0"),
        ([0, 1], [1], [1], None, "a, b and score must be equally long"),
    ],
)
def test_games__that_cannot_be_are_refused_and_change_nothing(a, b, score, k, message: str) -> None:
    beliefs = believed(Elo(), [1500.0, 1600.0, 1700.0])
    untouched = believed(Elo(), [1500.0, 1600.0, 1700.0])
    with pytest.raises(ValueError, match=message):
        rate_games(Elo(), beliefs, a, b, score, k)
    assert same_bits(beliefs, untouched)


# --- curves in pieces ---


def tabulated(step: float = 1.0, stop: float = 3200.0) -> tuple[float, ...]:
    leads = np.arange(0.0, stop + step, step)
    return tuple(np.stack([leads, 1.0 / (1.0 + 10.0 ** (-leads / 400.0))], axis=1).ravel().tolist())


@pytest.mark.parametrize("sizes", [(1, 1), (3, 2, 1), (1,) * 300], ids=["two", "six", "three-hundred"])
def test_table__of_the_logistic_curve_reproduces_elo(sizes: tuple[int, ...]) -> None:
    mu = np.random.default_rng(1).normal(1500.0, 350.0, sum(sizes))
    logistic, table = (
        rated(Elo(k=32, pairs="sum", **chosen), mu, ladder(*sizes)).mu
        for chosen in ({"cdf": "logistic"}, {"cdf": "table", "cdf_table": tabulated()})
    )
    assert np.abs(logistic - table).max() < 1e-6


def test_table__of_whole_numbers_is_recorded_as_that_of_other_numbers() -> None:
    whole, other = (Elo(cdf="table", cdf_table=(lead, 0.75, 2 * lead, 1)) for lead in (100, 100.0))
    assert json.dumps(params_to_json(whole)) == json.dumps(params_to_json(other))
    assert params_to_json(whole)["cdf_table"] == [100.0, 0.75, 200.0, 1.0]
    assert "cdf_table" not in params_to_json(Elo())


def test_games__of_a_tabulated_curve_reproduce_elo() -> None:
    draw = np.random.default_rng(2)
    a = draw.integers(0, 20, 2000)
    b = (a + draw.integers(1, 20, 2000)) % 20
    score, mu = draw.random(2000), draw.normal(1500.0, 350.0, 20)
    kinds = [Elo(), Elo(cdf="table", cdf_table=tabulated())]
    logistic, table = (rate_games(params, believed(params, mu), a, b, score) for params in kinds)
    assert max(np.abs(x - y).max() for x, y in zip(logistic, table, strict=True)) < 1e-6


def test_line__gives_85_points_for_each_tenth_and_certainty_from_425_on() -> None:
    params = Elo(cdf="linear", certain_lead=425, k=24)
    games = rate_games(params, believed(params, [1585, 1500, 2000, 1500]), [0, 2, 2], [1, 3, 1], [1, 1, 1])
    assert games.expected_a.tolist() == pytest.approx([0.6, 1.0, 1.0], abs=1e-15)
    assert games.mu_a.tolist() == pytest.approx([1585 + 24 * 0.4, 2000.0, 2000.0], abs=1e-12)


@pytest.mark.quick("linear")
@pytest.mark.parametrize(
    "chosen", [{"cdf": "linear", "certain_lead": 425.0}, {"cdf": "table", "cdf_table": TABLE}], ids=["linear", "table"]
)
def test_curves_in_pieces__in_large_rounds_are_those_of_the_twin(chosen: dict[str, Any]) -> None:
    n = SMALL + 44
    mu = np.random.default_rng(3).normal(1500.0, 250.0, n)
    out = rated(Elo(k=20.0, **chosen), mu, ladder(*[3] * (n // 3)))
    names = [str(i) for i in range(n)]
    model = Twin(k=20.0, initial_ratings=dict(zip(names, mu.tolist(), strict=True)), **chosen)
    expected = model.rate([(name, 3 * (i // 3), 3 * (i // 3) + 2) for i, name in enumerate(names)])
    assert out.mu == pytest.approx([one.mu for one in expected], abs=POINTS)
    assert (out.mu - mu).sum() == pytest.approx(0.0, abs=POINTS)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"cdf": "linear"}, "cdf linear needs certain_lead"),
        ({"cdf": "table"}, "cdf table needs cdf_table"),
        ({"certain_lead": 425.0}, "certain_lead goes with cdf linear, not with logistic; leave one out"),
        ({"cdf": "linear", "certain_lead": 425.0, "n": 400.0}, "n goes with cdf logistic and normal, not with linear"),
        ({"cdf": "normal", "cdf_table": TABLE}, "cdf_table goes with cdf table, not with normal"),
        ({"cdf": "linear", "certain_lead": 425.0, "k_wins": 50.0}, "cdf linear has no n; give k instead"),
        ({"cdf": "table", "cdf_table": (100.0, 0.4)}, "cdf_table, row 1: an expected score must be within 0.5..1"),
        (
            {"cdf": "table", "cdf_table": (100.0, math.inf)},
            "cdf_table.1. must be numbers, .* lead and expected, got inf",
        ),
    ],
)
def test_curve__of_hyperparameters_that_exclude_each_other_is_refused(chosen: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Elo(**chosen)
