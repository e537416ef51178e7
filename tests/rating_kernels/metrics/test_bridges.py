"""Contests that alone join two groups of players: the search against removing each contest in turn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.components import groups_without

from ranklake.rating_kernels.metrics.bridges import Bridges, bridges


def found_in(contests: list[list[int]], n: int = 12) -> Bridges:
    first = np.cumsum([0, *map(len, contests)])[:-1].astype(np.int64)
    player = np.array([player for one in contests for player in one], np.int32)
    return bridges(first, player, np.ones(n, np.bool_))


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.sets(st.integers(0, 11), min_size=1, max_size=4).map(list), max_size=9))
def test_bridges__are_what_is_left_without_each_contest(contests: list[list[int]]) -> None:
    found = found_in(contests)
    for number, participants in enumerate(contests):
        groups = groups_without(contests, number)
        sizes = [len(group) for group in groups]
        assert found.players[number] == (sizes[1] if len(sizes) > 1 else 0)
        if len(sizes) > 1:
            of = {player: len(group) for group in groups for player in group}
            inside, outside = int(found.player[number]), int(found.other[number])
            assert {inside, outside} <= set(participants)
            assert (of[inside], of[outside]) == (sizes[1], sizes[0])
            assert not any({inside, outside} <= set(group) for group in groups)
        else:
            assert (found.player[number], found.other[number]) == (-1, -1)


def test_bridges__of_a_long_chain_are_found_without_recursion() -> None:
    n = 50_000
    found = found_in([[at, at + 1] for at in range(n - 1)], n)
    assert found.players.tolist() == [min(at + 1, n - at - 1) for at in range(n - 1)]


def test_bridges__count_the_players_who_count() -> None:
    first, player = np.array([0, 2, 4]), np.array([0, 1, 1, 2, 2, 3], np.int32)
    assert bridges(first, player, np.ones(4, np.bool_)).players.tolist() == [1, 2, 1]
    assert bridges(first, player, np.array([True, False, True, True])).players.tolist() == [1, 1, 1]


@pytest.mark.parametrize("contests", [[], [[3]]])
def test_bridges__of_nothing_are_none(contests: list[list[int]]) -> None:
    assert not found_in(contests).players.any()
