"""Performances: those of games of two as by the search for any field, and the games that have no root."""

from __future__ import annotations

import numpy as np
import pytest

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.inference.game_performance import GAMES, solve_games
from ranklake.rating_kernels.inference.logistic_field import solve_small
from ranklake.rating_kernels.inference.performance import FULL, SPLIT, Ties, bracket
from ranklake.rating_kernels.inference.teams.rounds import FieldRows


def games(n: int) -> tuple[Rounds, FieldRows]:
    """Two rows a game. A third are draws, some players are extreme."""
    draw = np.random.default_rng(6)
    mu = draw.normal(1500.0, 400.0, 2 * n) * draw.choice([1.0, 1.0, 1.0, 40.0], 2 * n)
    lo, hi = np.tile([0, 1], n), np.tile([0, 1], n)
    drawn = draw.random(n) < 1 / 3
    lo[1::2][drawn], hi[::2][drawn] = 0, 1
    rounds = Rounds.from_columns(
        2 * np.arange(n + 1), np.arange(2 * n), lo, hi, perf_ceiling=draw.choice([np.inf, 1700.0], n)
    )
    sigma, beta = np.exp(draw.normal(4.5, 0.7, 2 * n)), draw.choice([150.0, 200.0, 400.0], 2 * n)
    return rounds, FieldRows(mu, sigma, beta, rounds.lo, np.empty(2 * n))


def solved(rounds: Rounds, field: FieldRows, r: int, stop: int, ties: Ties = FULL) -> int:
    return int(solve_games(r, stop, rounds.columns, field.mu, field.sigma, field.beta, ties, field.perf))


@pytest.mark.slow  # compiles the search for any field
@pytest.mark.parametrize("ties", [FULL, SPLIT, Ties(0.9, 0.4, False)])
def test_performances_of_games__are_those_of_the_search_for_any_field(ties: Ties) -> None:
    n = 500 * GAMES
    rounds, field = games(n)
    expected, omega = np.empty(2 * n), np.empty(2)
    for g in range(0, n, GAMES):
        assert solved(rounds, field, g, g + GAMES, ties) == -1
    for g, ceiling in enumerate(rounds.perf_ceiling):
        one = FieldRows(*(column[2 * g : 2 * g + 2] for column in field._replace(perf=expected)))
        assert solve_small(one, 2, ties, ceiling, omega) == -1
    # to rounding: outside of the kernels that inline it, the search for any field is a copy of its own
    np.testing.assert_allclose(field.perf, expected, rtol=1e-14, atol=1e-11)


def test_performances_of_games__do_not_depend_on_the_others_and_name_the_first_without_a_root() -> None:
    rounds, field = games(GAMES)
    assert solved(rounds, field, 0, GAMES) == -1
    together = field.perf.copy()
    for g in range(GAMES):
        assert solved(rounds, field, g, g + 1) == -1
    assert together.tobytes() == field.perf.tobytes()
    field.mu[6] = np.nan
    assert solved(rounds, field, 0, GAMES) == 3
    assert together[:6].tobytes() == field.perf[:6].tobytes()


@pytest.mark.parametrize("ties", [FULL, SPLIT, Ties(0.9, 0.4, False)])
def test_bracket__has_the_roots_and_the_extreme_rates(ties: Ties) -> None:
    rng = np.random.default_rng(3)
    n = 9
    mu, omega = rng.normal(1500.0, 300.0, n), 1.0 / rng.uniform(50.0, 400.0, n)
    above = np.concatenate(([0.0], np.cumsum(omega)[:-1]))
    below = omega.sum() - np.cumsum(omega)
    low, high, middle, top_rate, bottom_rate = bracket(mu, omega, above, below, ties)
    assert (top_rate, bottom_rate) == (omega.max(), omega.min())
    assert low < middle < high

    def excess(p: float) -> np.ndarray:
        """Of each player, who shares a place with nobody: losses less wins, which rise with ``p``."""
        lost = omega / (1.0 + np.exp(-(p - mu) * omega))
        return lost.sum() + (ties.loss + ties.win - 1.0) * lost - below - ties.win * omega

    assert np.all(excess(low) < 0.0)
    assert np.all(excess(high) > 0.0)
