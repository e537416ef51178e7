"""Performances of games of two: the roots of the search for any field, and the game that has no root."""

from __future__ import annotations

import numpy as np
import pytest

from ranklake.rating_kernels.inference.game_performance import GAMES, solve_games
from ranklake.rating_kernels.inference.logistic_field import solve_small

Games = tuple[np.ndarray, ...]


def games(n: int) -> Games:
    """Two rows a game: ``mu, sigma, beta, lo``; ceiling, one a game. A third are draws, some players are extreme."""
    draw = np.random.default_rng(6)
    mu = draw.normal(1500.0, 400.0, 2 * n) * draw.choice([1.0, 1.0, 1.0, 40.0], 2 * n)
    lo = np.tile(np.array([0, 1], np.int32), n)
    lo[1::2][draw.random(n) < 1 / 3] = 0
    ceiling = draw.choice([np.inf, 1700.0], n)
    return mu, np.exp(draw.normal(4.5, 0.7, 2 * n)), draw.choice([150.0, 200.0, 400.0], 2 * n), lo, ceiling


@pytest.mark.slow  # compiles the search for any field
@pytest.mark.parametrize("split", [False, True])
def test_performances_of_games__are_those_of_the_search_for_any_field(split: bool) -> None:
    n = 500 * GAMES
    mu, sigma, beta, lo, ceiling = games(n)
    found, expected, omega = np.empty(2 * n), np.empty(2 * n), np.empty(2)
    for g in range(0, n, GAMES):
        rows, few = slice(2 * g, 2 * (g + GAMES)), slice(g, g + GAMES)
        assert solve_games(GAMES, mu[rows], sigma[rows], beta[rows], lo[rows], split, ceiling[few], found[rows]) == -1
    for g in range(n):
        one = slice(2 * g, 2 * g + 2)
        assert solve_small(mu[one], sigma[one], beta[one], lo[one], split, ceiling[g], omega, expected[one]) == -1
    # to rounding: outside of the kernels that inline it, the search for any field is a copy of its own
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-11)


def test_performances_of_games__do_not_depend_on_the_others_and_name_the_first_without_a_root() -> None:
    mu, sigma, beta, lo, ceiling = games(GAMES)
    together, alone = np.empty(2 * GAMES), np.empty(2 * GAMES)
    assert solve_games(GAMES, mu, sigma, beta, lo, False, ceiling, together) == -1
    for g in range(GAMES):
        one = slice(2 * g, 2 * g + 2)
        assert solve_games(1, mu[one], sigma[one], beta[one], lo[one], False, ceiling[g : g + 1], alone[one]) == -1
    assert together.tobytes() == alone.tobytes()
    mu[6] = np.nan
    assert solve_games(GAMES, mu, sigma, beta, lo, False, ceiling, together) == 3
    assert together[:6].tobytes() == alone[:6].tobytes()
