"""Rounds whose participants are stronger than their ratings: the field has strengths, beliefs keep ratings."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.histories import same_bits, set_ratings
from helpers.in_process_engine import InProcessEngine
from helpers.rounds import N_PLAYERS, around, check_engines_agree, params_of, walk
from twins import elo as elo_twin
from twins.elo_mmr import Twin as EloMMRTwin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.local import LocalRater
from ranklake.flows.execution.partitioned import PartitionedRater
from ranklake.flows.execution.rounds import rate_rounds, split_batches
from ranklake.flows.execution.waves import rate_waves
from ranklake.rating_kernels import SYSTEMS, Beliefs, Outcome, Rounds, System
from ranklake.rating_kernels.core.array_system import array_system
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.core.standings import OUTSIDE
from ranklake.rating_kernels.registry import of_contests

H = 35.0  # points for the first player: White
REAL = {"codeforces": {"arithmetic": "real"}, "atcoder": {"rounded": False}}
PLAYERS = 60
MU = (1480.0, 1555.0, 1390.0, 1601.0, 1520.0)


@pytest.fixture(scope="module", params=of_contests())
def system(request: pytest.FixtureRequest) -> System:
    return SYSTEMS[request.param]


def real_params(system: System) -> Any:
    return system.params(**REAL[system.name]) if system.name in REAL else params_of(system)


def store(system: System, params: Any, mu: Any) -> Beliefs:
    """Beliefs of players with three rounds before and these ratings."""
    beliefs = system.newcomers(params, len(mu))
    sigma = np.linspace(90.0, 140.0, len(mu)) if params.sigma_init > 0.0 else 0.0
    set_ratings(system, params, beliefs, np.arange(len(mu)), np.asarray(mu), sigma, 3)
    return beliefs


def game(winner: int, loser: int, advantage: Any, drawn: bool = False) -> Rounds:
    return Rounds.from_columns(
        [0, 2], [winner, loser], [0, 0 if drawn else 1], [1 if drawn else 0, 1], [86_400], advantage=advantage
    )


def rated(system: System, params: Any, beliefs: Beliefs, rounds: Rounds) -> Outcome:
    return rate_rounds(system, params, beliefs, rounds, Serial())


def league(games: int = 300, seed: int = 5) -> Rounds:
    """Games of unequally active players; a third are draws, and the first player has the advantage in four of five."""
    draw = np.random.default_rng(seed)
    activity = 1.0 / np.arange(1, PLAYERS + 1)
    pairs = np.array([draw.choice(PLAYERS, 2, replace=False, p=activity / activity.sum()) for _ in range(games)])
    drawn = np.repeat(draw.random(games) < 1 / 3, 2)
    lo, hi = np.where(drawn, 0, np.tile([0, 1], games)), np.where(drawn, 1, np.tile([0, 1], games))
    half = np.where(draw.random(games) < 0.8, 0.5, 0.0) * draw.choice([-H - 1, H + 1], games)
    advantage = np.column_stack([half, -half]).ravel()
    return Rounds.from_columns(
        np.arange(0, 2 * games + 1, 2), pairs.ravel(), lo, hi, np.arange(games) * 50_000, advantage=advantage
    )


def some_with_advantages(rounds: Rounds, seed: int = 2) -> Rounds:
    """Rounds of which every other one has an advantage for a third of its participants, in whole points."""
    draw = np.random.default_rng(seed)
    chosen = np.repeat(np.arange(len(rounds)) % 2 == 0, np.diff(rounds.offsets)) & (draw.random(rounds.n_rows) < 1 / 3)
    return replace(rounds, advantage=np.where(chosen, np.floor(draw.normal(0.0, 60.0, rounds.n_rows)), 0.0))


# --- witnesses: arithmetic by hand ---


@pytest.mark.parametrize("white_wins", [True, False])
def test_elo__expects_the_score_of_a_lead_of_the_ratings_and_the_advantage(white_wins: bool) -> None:
    system = SYSTEMS["elo"]
    params = system.params(k=20.0)
    beliefs = store(system, params, [1500.0, 1600.0])  # White, Black
    order, halves = ((0, 1), [H / 2, -H / 2]) if white_wins else ((1, 0), [-H / 2, H / 2])
    outcome = rated(system, params, beliefs, game(*order, halves))
    expected = 1.0 / (1.0 + 10.0 ** (-(1500.0 - 1600.0 + H) / 400.0))
    change = 20.0 * (float(white_wins) - expected)
    assert beliefs.mu.tolist() == pytest.approx([1500.0 + change, 1600.0 - change], abs=1e-9)
    assert outcome.mu_prior.tolist() == [(1500.0, 1600.0)[row] for row in order]


def glickman(mu: float, sigma: float, games: list[tuple[float, float, float, float]]) -> tuple[float, float]:
    """Step 2 of Glickman's paper; games are the opponent's rating and RD, the score, and the player's advantage."""
    q = math.log(10.0) / 400.0
    information = surprise = 0.0
    for rating, deviation, score, advantage in games:
        g = 1.0 / math.sqrt(1.0 + 3.0 * q**2 * deviation**2 / math.pi**2)
        e = 1.0 / (1.0 + 10.0 ** (-g * (mu + advantage - rating) / 400.0))
        information += q**2 * g**2 * e * (1.0 - e)
        surprise += g * (score - e)
    precision = 1.0 / sigma**2 + information
    return mu + q / precision * surprise, math.sqrt(1.0 / precision)


@pytest.mark.parametrize("together", [False, True])
def test_glicko__sums_expected_scores_at_shifted_differences(together: bool) -> None:
    system = SYSTEMS["glicko"]
    params = system.params(sig_drift=0.0, games="simultaneous" if together else "sequential")
    opponents = [(1400.0, 30.0, 1.0, H), (1550.0, 100.0, 0.0, -H), (1700.0, 300.0, 0.0, H)]
    beliefs = system.newcomers(params, 4)
    set_ratings(system, params, beliefs, np.arange(4), [1500.0, *(o[0] for o in opponents)],
                [200.0, *(o[1] for o in opponents)], 3)  # fmt: skip
    players, halves = [], []
    for number, (_, _, score, advantage) in enumerate(opponents, 1):
        half = advantage / 2 if score else -advantage / 2  # of the winner
        players += [0, number] if score else [number, 0]
        halves += [half, -half]
    rounds = Rounds.from_columns([0, 2, 4, 6], players, [0, 1] * 3, [0, 1] * 3, event=[0, 0, 0], advantage=halves)
    rated(system, params, beliefs, rounds)
    if together:
        mu, sigma = glickman(1500.0, 200.0, opponents)
    else:
        mu, sigma = 1500.0, 200.0
        for one in opponents:
            mu, sigma = glickman(mu, sigma, [one])
    assert [beliefs.mu[0], beliefs.sigma[0]] == pytest.approx([mu, sigma], abs=1e-9)
    if together:
        first = glickman(1400.0, 30.0, [(1500.0, 200.0, 0.0, -H)])
        assert [beliefs.mu[1], beliefs.sigma[1]] == pytest.approx(first, abs=1e-9)


# --- twins ---


def standings_of(rounds: Rounds, r: int) -> list[tuple[str, int, int]]:
    rows = slice(rounds.offsets[r], rounds.offsets[r + 1])
    places = zip(rounds.player[rows], rounds.lo[rows], rounds.hi[rows], strict=True)
    return [(str(player), int(lo), int(hi)) for player, lo, hi in places]


@pytest.mark.parametrize("name", ["elo", "elo-mmr"])
def test_twins__agree_on_games_and_rounds_with_advantages(name: str) -> None:
    system, draw = SYSTEMS[name], np.random.default_rng(4)
    params = system.params()
    sizes, player = [2, 2, 5, 2, 7, 2, 3] * 6, []
    for n in sizes:
        player += draw.permutation(12)[:n].tolist()
    drawn = draw.random(len(sizes)) < 0.4
    places = [np.arange(n) for n in sizes]
    lo = np.concatenate([np.where(tie & (at < 2), 0, at) for at, tie in zip(places, drawn, strict=True)])
    hi = np.concatenate([np.where(tie & (at < 2), 1, at) for at, tie in zip(places, drawn, strict=True)])
    rounds = Rounds.from_columns(
        np.cumsum([0, *sizes]), player, lo, hi, np.arange(len(sizes)) * 86_400,
        advantage=draw.normal(0.0, 50.0, len(player)),
    )  # fmt: skip
    outcome = rated(system, params, system.newcomers(params, 12), rounds)
    twin: Any = elo_twin.Twin() if name == "elo" else EloMMRTwin()
    for r in range(len(rounds)):
        rows = slice(rounds.offsets[r], rounds.offsets[r + 1])
        when = {} if name == "elo" else {"time": float(rounds.time_seconds[r])}
        expected = twin.rate(standings_of(rounds, r), **when, advantages=rounds.advantage[rows].tolist())
        assert outcome.mu[rows].tolist() == pytest.approx([one.mu for one in expected], abs=1e-7)
        if system.performs:
            assert outcome.perf[rows].tolist() == pytest.approx([one.performance for one in expected], abs=1e-7)


# --- laws ---


@pytest.mark.quick("elo-mmr", "trueskill")
def test_advantage_zero__has_the_bits_of_none(system: System) -> None:
    rounds, params = around(system.small), params_of(system)
    zeros = replace(rounds, advantage=np.zeros(rounds.n_rows))
    one, other = system.newcomers(params, N_PLAYERS), system.newcomers(params, N_PLAYERS)
    assert same_bits(rated(system, params, one, zeros), rated(system, params, other, rounds))
    assert same_bits(one, other)


def test_games_without_advantage__have_the_same_bits_beside_games_with_some(system: System) -> None:
    games, params = league(), real_params(system)
    plain = replace(games, advantage=games.advantage[:0])
    without = replace(games, advantage=np.append(np.zeros(games.n_rows - 2), [H, -H]))
    one, other = system.newcomers(params, PLAYERS), system.newcomers(params, PLAYERS)
    found, expected = rated(system, params, one, without), rated(system, params, other, plain)
    assert same_bits(found.part(0, games.n_rows - 2), expected.part(0, games.n_rows - 2))
    assert not same_bits(found.mu, expected.mu)


FIVE = Rounds.from_columns([0, 5], np.arange(5), [0, 1, 1, 3, 4], [0, 2, 2, 3, 4], [86_400])
HALF = np.array([H / 2, -H / 2])


@pytest.mark.parametrize("shape", ["won", "drawn", "five"])
def test_translation__a_round_with_advantages_is_one_of_shifted_ratings(system: System, shape: str) -> None:
    params, more = real_params(system), HALF if shape != "five" else np.array([40.0, -17.5, 0.0, 81.0, -3.0])
    plain, mu = FIVE if shape == "five" else game(0, 1, None, shape == "drawn"), MU[: len(more)]
    found = rated(system, params, store(system, params, mu), replace(plain, advantage=more))
    shifted = rated(system, params, store(system, params, mu + more), plain)
    if shape != "five":
        assert found.mu_prior.tolist() == list(mu)
    for name, by in (("mu", more), ("perf", more), *([("sigma", 0.0)] if len(more) == 2 else [])):
        np.testing.assert_allclose(getattr(found, name), getattr(shifted, name) - by, rtol=0, atol=1e-9)


def test_common_advantage__changes_performances_only(system: System) -> None:
    params = real_params(system)
    one, other = (rated(system, params, store(system, params, MU[:2]), game(0, 1, HALF + by)) for by in (0.0, 250.0))
    for name in ("mu", "sigma", "perf"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=1e-9)


def test_mirror__equals_who_swap_the_advantage_swap_the_results(system: System) -> None:
    params = real_params(system)

    def of_equals(half: Any, drawn: bool) -> Outcome:
        beliefs = store(system, params, [1500.0, 1500.0])
        set_ratings(system, params, beliefs, np.arange(2), 1500.0, 100.0 if params.sigma_init > 0.0 else 0.0, 3)
        return rated(system, params, beliefs, game(0, 1, half, drawn))

    ahead, behind, *drawn = (of_equals(half, even) for even in (False, True) for half in (HALF, -HALF))
    if system.name not in ("codeforces", "leetcode"):  # their place sought grows with the expected one
        assert ahead.mu[0] < behind.mu[0]  # a win with the advantage says less
    np.testing.assert_allclose(drawn[0].mu, drawn[1].mu[::-1], rtol=0, atol=1e-9)


# --- engines ---


@pytest.mark.quick("elo-mmr", "trueskill")
def test_raters__of_any_engine_give_the_same_bits(system: System) -> None:
    check_engines_agree(system, some_with_advantages(around(system.small)))


@pytest.mark.parametrize("name", [name for name, system in SYSTEMS.items() if system.advantages])
def test_games__have_the_same_bits_in_waves_together_and_alone(name: str) -> None:
    system, games = SYSTEMS[name], league()
    params = params_of(system)
    expected = system.newcomers(params, PLAYERS)
    outcome = rated(system, params, expected, games)
    with Threads(3, 2) as engine:
        for least in (1, 2):
            beliefs, found = system.newcomers(params, PLAYERS), Outcome.empty(games.n_rows)
            rate_waves(system, params, beliefs, games, engine.map, found, least=least)
            assert same_bits((beliefs, found), (expected, outcome))
    alone, found = system.newcomers(params, PLAYERS), Outcome.empty(games.n_rows)
    for g in range(len(games)):
        system.rate_small(params, alone, games.part(g, g + 1), found.part(2 * g, 2 * g + 2))
    assert same_bits((alone, found), (expected, outcome))


@pytest.mark.parametrize("name", [name for name, system in SYSTEMS.items() if system.advantages])
def test_steps__agree_with_the_kernel_of_small_rounds(name: str) -> None:
    system, games = SYSTEMS[name], league(40)
    params = params_of(system)
    outcome = rated(system, params, system.newcomers(params, PLAYERS), games)
    by_steps = replace(system, advantages=False)
    slow = rated(by_steps, params, by_steps.newcomers(params, PLAYERS), games)
    for column in Outcome._fields:
        np.testing.assert_allclose(getattr(outcome, column), getattr(slow, column), rtol=0, atol=1e-6)


@pytest.mark.quick("elo-mmr", "trueskill")
def test_unrated__see_the_field_of_strengths(system: System) -> None:
    rounds = some_with_advantages(around(system.small))
    roles = np.zeros(rounds.n_rows, np.uint8)
    roles[rounds.offsets[:-1] + 1] = OUTSIDE
    some = replace(rounds, roles=roles)
    one, other = (LocalRater(system, params_of(system), N_PLAYERS, Serial()) for _ in range(2))
    assert same_bits(walk(one, [some]).select(some.are_rated), walk(other, [some.rated_only()]))


def test_batches__have_a_small_round_alone_unless_the_kernel_reads_advantages() -> None:
    rounds = Rounds.from_columns([0, 2, 4, 6], [0, 1] * 3, [0, 1] * 3, [0, 1] * 3, advantage=[0, 0, 9, -9, 0, 0])
    assert split_batches(SYSTEMS["elo"], rounds) == [(0, 3, False)]
    assert split_batches(SYSTEMS["elo-r"], rounds) == [(0, 1, False), (1, 2, False), (2, 3, False)]


def test_array_systems__have_new_ratings_less_the_advantage() -> None:
    def update(params: Any, prior: Any, round: Rounds) -> tuple[Any, Any]:
        return prior.mu + 0.1 * (prior.mu.mean() - prior.mu), 0.0

    elo = SYSTEMS["elo"]
    system = array_system("towards-the-mean", elo.params, update, elo.win_probability)
    outcome = rated(system, elo.params(), store(system, elo.params(), [1500.0, 1600.0]), game(0, 1, [20.0, -20.0]))
    assert outcome.mu.tolist() == pytest.approx([1503.0, 1597.0], abs=1e-9)


# --- refusals ---


@pytest.mark.parametrize(
    ("name", "change", "rule"),
    [
        ("elo-mmr", {"teams": Ragged(np.array([0, 2, 3]), np.ones(3))}, "round 0 .* teams has advantages; only rounds"),
        ("elo", {"perf_ceiling": np.array([1999.0])}, "advantages and a performance ceiling; it can have one of them"),
        ("codeforces", {}, "must be whole points where codeforces computes in whole numbers"),
        ("atcoder", {}, "must be whole points where atcoder computes in whole numbers"),
    ],
)
def test_advantages__without_a_rule_are_refused(name: str, change: dict[str, Any], rule: str) -> None:
    system = SYSTEMS[name]
    places = [0, 0, 1] if "teams" in change else [0, 1, 2]
    rounds = Rounds.from_columns([0, 3], [0, 1, 2], places, places, teams=change.get("teams"))
    rounds = replace(rounds, advantage=np.array([17.5, -17.5, 0.0]), **change)
    params = system.params()
    with pytest.raises(ValueError, match=rule):
        rated(system, params, system.newcomers(params, 3), rounds)
    with pytest.raises(ValueError, match=rule):
        walk(PartitionedRater(system, params, 3, InProcessEngine(2)), [rounds])
