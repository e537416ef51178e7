"""Games with any score from 0 to 1: as single games in every system that rates them, refused by all others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.histories import same_bits

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Outcome, Rounds
from ranklake.rating_kernels.systems import glicko, glicko2
from ranklake.rating_kernels.systems.elo_games import rate_games

ABLE = [name for name, system in SYSTEMS.items() if system.fractional]
N_PLAYERS, N_GAMES = 12, 200


def games(seed: int = 1, plain: float = 0.3) -> Rounds:
    """Games between random players in periods of ten, some of them wins and draws."""
    draw = np.random.default_rng(seed)
    player = np.array([draw.choice(N_PLAYERS, 2, replace=False) for _ in range(N_GAMES)]).ravel()
    score = np.where(draw.random(N_GAMES) < plain, draw.choice([0.5, 1.0], N_GAMES), draw.uniform(0.5, 1.0, N_GAMES))
    lo, hi = np.zeros((N_GAMES, 2), np.int32), np.ones((N_GAMES, 2), np.int32)
    lo[:, 1], hi[:, 0] = score > 0.5, score == 0.5
    columns = np.arange(0, 2 * N_GAMES + 1, 2), player, lo.ravel(), hi.ravel(), 86_400 * np.arange(N_GAMES)
    return Rounds.from_columns(*columns, event=np.arange(N_GAMES) // 10, score=score)


def rated(name: str, rounds: Rounds, **chosen: Any) -> tuple[Outcome, Beliefs]:
    system, params = SYSTEMS[name], SYSTEMS[name].params(**chosen)
    beliefs = system.newcomers(params, N_PLAYERS)
    return rate_rounds(system, params, beliefs, rounds, Serial()), beliefs


def test_systems__that_rate_any_score() -> None:
    assert ABLE == ["elo", "glicko", "glicko2", "bt"]


@pytest.mark.parametrize(
    "chosen", [{}, {"cdf": "normal"}, {"k_rule": "fide"}, {"round_digits": 0}, {"k": 20.0, "pairs": "sum"}]
)
def test_elo__has_the_bits_of_single_games(chosen: dict[str, Any]) -> None:
    rounds = games()
    _, beliefs = rated("elo", rounds, **chosen)
    params = SYSTEMS["elo"].params(**chosen)
    single = SYSTEMS["elo"].newcomers(params, N_PLAYERS)
    rate_games(params, single, rounds.player[::2], rounds.player[1::2], rounds.score)
    assert np.array_equal(beliefs.mu, single.mu)
    assert len(np.unique(beliefs.mu)) > N_PLAYERS // 2


@pytest.mark.parametrize(("name", "module"), [("glicko", glicko), ("glicko2", glicko2)])
@pytest.mark.parametrize("order", ["sequential", "simultaneous"])
def test_glicko__rates_periods_as_lists_of_games(name: str, module: Any, order: str) -> None:
    rounds = games()
    _, beliefs = rated(name, rounds, games=order)
    params = SYSTEMS[name].params()
    single = SYSTEMS[name].newcomers(params, N_PLAYERS)
    size = 10 if order == "simultaneous" else 1
    for start in range(0, N_GAMES, size):
        part = rounds.part(start, start + size)
        now = int(part.time_seconds[-1])
        module.rate_games(params, single, part.player[::2], part.player[1::2], part.score, now)
    assert np.allclose(beliefs.mu, single.mu, rtol=1e-13, atol=0.0)
    assert np.allclose(beliefs.sigma, single.sigma, rtol=1e-13, atol=0.0)


@pytest.mark.parametrize("name", ABLE)
def test_wins_and_draws__have_the_same_bits_with_and_without_scores(name: str) -> None:
    rounds = games(2, plain=1.0)
    expected, _ = rated(name, replace(rounds, score=np.empty(0)))
    assert same_bits(rated(name, rounds)[0], expected)
    mixed = games(3)
    whole, _ = rated(name, mixed)
    beliefs = SYSTEMS[name].newcomers(SYSTEMS[name].params(), N_PLAYERS)
    for start in range(0, N_GAMES, 7):  # some of the parts have wins and draws only
        part = mixed.part(start, min(start + 7, N_GAMES))
        part = part if part.with_fractions.any() else replace(part, score=np.empty(0))
        found = rate_rounds(SYSTEMS[name], SYSTEMS[name].params(), beliefs, part, Serial())
        assert same_bits(found, whole.part(2 * start, 2 * start + part.n_rows))


@pytest.mark.parametrize("name", [name for name in ABLE if SYSTEMS[name].all_games is None])
def test_change__rises_with_the_score_between_a_draw_and_a_win(name: str) -> None:
    score = np.linspace(0.5, 1.0, 11)
    n = len(score)
    lo, hi = np.zeros((n, 2), np.int32), np.ones((n, 2), np.int32)
    lo[1:, 1], hi[0, 0] = 1, 1
    hi[1:, 0] = 0
    rounds = Rounds.from_columns(np.arange(0, 2 * n + 1, 2), np.arange(2 * n), lo.ravel(), hi.ravel(), score=score)
    system, params = SYSTEMS[name], SYSTEMS[name].params()
    outcome = rate_rounds(system, params, system.newcomers(params, 2 * n), rounds, Serial())
    assert (np.diff(outcome.mu[::2]) > 0).all()
    assert (np.diff(outcome.mu[1::2]) < 0).all()
    assert np.allclose(outcome.mu[::2] + outcome.mu[1::2], 2 * params.mu_init, rtol=1e-13)


@pytest.mark.parametrize("name", [name for name in SYSTEMS if name not in ABLE])
def test_other_systems__refuse_the_first_such_game(name: str) -> None:
    system, rounds = SYSTEMS[name], games(4, plain=0.0)
    chosen = {"mu_init": 1500} if system.periods else {}
    params = system.params(**chosen)
    rounds = replace(rounds, score=np.where(np.arange(N_GAMES) < 3, 1.0, 0.75), event=np.arange(N_GAMES))
    beliefs = system.newcomers(params, N_PLAYERS)
    rule = f"round 3 of those given has the score 0.75, and {name} rates wins, draws and losses only; elo, glicko, "
    with pytest.raises(ValueError, match=rule):
        rate_rounds(system, params, beliefs, rounds, Serial())
    assert not beliefs.n_rounds.any()
