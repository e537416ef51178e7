"""Waves: the games of one share no player, each player's games keep their order, and there are as few as possible."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklake.rating_kernels.core.waves import Waves

PLAYERS = 7
GAMES = st.lists(st.lists(st.integers(0, PLAYERS - 1), min_size=2, max_size=2, unique=True), max_size=30)


def of(games: list[list[int]]) -> Waves:
    return Waves.of(np.array(games, np.int32).reshape(-1), PLAYERS)


def longest_chain(games: list[list[int]]) -> int:
    """By the definition: the length of the longest sequence of games of which each shares a player with the next."""
    length: list[int] = []
    for at, game in enumerate(games):
        before = [length[i] for i in range(at) if set(games[i]) & set(game)]
        length.append(1 + max(before, default=0))
    return max(length, default=0)


@given(GAMES)
@settings(deadline=None, max_examples=60)
def test_waves__divide_the_games_by_the_laws_of_a_colouring(games: list[list[int]]) -> None:
    waves = of(games)
    assert sorted(waves.order.tolist()) == list(range(len(games)))
    assert len(waves.bounds) - 1 == longest_chain(games)
    for start, stop in zip(waves.bounds[:-1], waves.bounds[1:], strict=True):
        wave = waves.order[start:stop].tolist()
        players = [player for game in wave for player in games[game]]
        assert len(wave) > 0
        assert wave == sorted(wave)
        assert len(players) == len(set(players))
    for player in range(PLAYERS):
        own = [game for game in waves.order.tolist() if player in games[game]]
        assert own == sorted(own)


def test_waves__of_one_player_against_all_are_single_games() -> None:
    waves = of([[0, 1], [2, 0], [0, 3]])
    assert waves.order.tolist() == [0, 1, 2]
    assert waves.bounds.tolist() == [0, 1, 2, 3]


def test_waves__of_disjoint_games_are_one() -> None:
    assert of([[0, 1], [2, 3], [4, 5]]).bounds.tolist() == [0, 3]
