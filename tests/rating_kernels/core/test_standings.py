"""Validation of places, and its error messages."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.strategies import places, repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.rating_kernels import Rounds, StandingsError
from ranklake.rating_kernels.core.standings import (
    IN_FIELD,
    OUTSIDE,
    RATED,
    check_distinct,
    check_places,
    places_from_ranks,
)

GOOD = {"offsets": [0, 3, 5], "player": [4, 0, 2, 0, 4], "lo": [0, 1, 1, 0, 0], "hi": [0, 2, 2, 1, 1]}


@given(st.lists(st.integers(1, 9).flatmap(places), min_size=1, max_size=5))
@repeatable(100)
def test_check_places__accepts_whole_tie_groups(rounds) -> None:
    lo, hi = (np.array([place[i] for r in rounds for place in r], dtype=np.int32) for i in (0, 1))
    check_places(lo, hi, np.cumsum([0, *map(len, rounds)]))


@given(st.integers(2, 9).flatmap(places), st.data())
@repeatable(100)
def test_check_places__refuses_any_single_change(right, data) -> None:
    lo, hi = (np.array(column, dtype=np.int32) for column in zip(*right, strict=True))
    changed = data.draw(st.sampled_from([lo, hi]))
    row = data.draw(st.integers(0, len(right) - 1))
    changed[row] += data.draw(st.sampled_from([-2, -1, 1, 2]))
    with pytest.raises(StandingsError):
        check_places(lo, hi)


@pytest.mark.parametrize(
    ("lo", "hi", "rows", "rule"),
    [
        ([0, 2, 2], [0, 1, 2], (1, 1), "lo = 2 is behind hi = 1"),
        ([0, 2, 1], [0, 2, 1], (1, 2), "not sorted by place: lo = 1 follows lo = 2"),
        ([1, 1], [2, 2], (0, 1), "the tie group at position 0 has lo = 1; places leave no gaps"),
        ([0, 2, 2], [0, 3, 3], (1, 2), "the tie group at position 1 has lo = 2; places leave no gaps"),
        (
            [0, 1, 1, 1],
            [0, 2, 2, 3],
            (1, 3),
            "3 tied rows have lo = 1, hi = 2, 2, 3; a tie group shares one lo and one",
        ),
        ([0] * 9, [8] * 8 + [7], (0, 8), r"9 tied rows have lo = 0, hi = 8, 8, 8, 8, 8, \.\.\.; a tie group shares"),
        ([-1, 1], [0, 1], (0, 0), "the tie group at position 0 has lo = -1; places leave no gaps"),
    ],
)
@pytest.mark.parametrize("earlier", [0, 2])
def test_check_places__error_names_round_rows_and_rule(lo, hi, rows, rule, earlier) -> None:
    before = 2 * earlier  # valid rounds of two ahead of the wrong one
    offsets = np.array([*range(0, before + 1, 2), before + len(lo)])
    with pytest.raises(StandingsError, match=rule) as caught:
        check_places(np.array([0, 1] * earlier + lo), np.array([0, 1] * earlier + hi), offsets)
    error = caught.value
    assert (error.round, error.first_row, error.last_row) == (earlier, *rows)
    where = f"row {rows[0]}" if rows[0] == rows[1] else f"rows {rows[0]}-{rows[1]}"
    assert str(error) == f"round {earlier}, {where}: {error.rule}"


def test_check_places__refuses_an_empty_round_but_accepts_no_rounds() -> None:
    with pytest.raises(StandingsError, match="round 1, row 0: no participants"):
        check_places(np.array([0, 0]), np.array([0, 0]), np.array([0, 1, 1, 2]))
    check_places(np.empty(0, dtype=int), np.empty(0, dtype=int), np.array([0]))


def test_check_places__does_not_let_a_tie_cross_into_the_next_round() -> None:
    with pytest.raises(StandingsError, match="round 0"):
        check_places(np.array([0, 0, 0]), np.array([2, 2, 2]), np.array([0, 1, 3]))


def test_check_distinct__names_the_player_the_round_and_both_rows() -> None:
    check_distinct(np.array([3, 1, 3]), np.array([0, 2, 3]))
    with pytest.raises(StandingsError, match="round 1, rows 0-2: player 3 is listed twice") as caught:
        check_distinct(np.array([3, 3, 1, 3]), np.array([0, 1, 4]))
    assert (caught.value.round, caught.value.first_row, caught.value.last_row) == (1, 0, 2)
    with pytest.raises(StandingsError, match="round 0, rows 0-1: player 7 is listed twice"):
        check_distinct(np.array([7, 7]))


@given(st.lists(st.integers(-3, 3) | st.sampled_from([0.5, -1e300, 1e300]), min_size=1, max_size=12))
@repeatable(100)
def test_places_from_ranks__are_valid_and_keep_the_order(ranks) -> None:
    order, lo, hi = places_from_ranks(ranks)
    assert sorted(order.tolist()) == list(range(len(ranks)))
    check_places(lo, hi)
    ordered = [ranks[i] for i in order]
    for i in range(len(ranks)):
        assert lo[i] == sum(rank < ordered[i] for rank in ranks)
        assert hi[i] == sum(rank <= ordered[i] for rank in ranks) - 1
    for i in range(1, len(ranks)):
        assert ordered[i - 1] < ordered[i] or order[i - 1] < order[i]


def test_places_from_ranks__takes_competition_ranks_dense_ranks_and_negated_scores() -> None:
    expected = [[2, 0, 3, 1], [0, 1, 1, 3], [0, 2, 2, 3]]
    for ranks in ([2, 4, 1, 2], [2, 3, 1, 2], [-50, 7, -80, -50.0]):
        assert [column.tolist() for column in places_from_ranks(ranks)] == expected


def test_rounds__have_defaults_parts_and_a_number_of_rows() -> None:
    rounds = Rounds.from_columns(**GOOD)
    assert (len(rounds), rounds.n_rows) == (2, 5)
    assert rounds.time_seconds.tolist() == [0, 0]
    assert rounds.weight.tolist() == [1.0, 1.0]
    assert rounds.perf_ceiling.tolist() == [math.inf, math.inf]
    assert {rounds.player.dtype, rounds.lo.dtype, rounds.hi.dtype} == {np.dtype(np.int32)}
    second = rounds.part(1, 2)
    assert (len(second), second.n_rows, second.offsets.tolist(), second.player.tolist()) == (1, 2, [0, 2], [0, 4])
    assert np.shares_memory(second.player, rounds.player)
    assert rounds.part(0, 0).n_rows == 0
    assert len(Rounds.from_columns([0], [], [], [])) == 0


@pytest.mark.bound("ranklake.rating_kernels.core.limits.ADVANTAGE.high")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": [1, 3, 5]}, "offsets must start at 0"),
        ({"offsets": [0, 6, 5]}, "offsets must start at 0 and not decrease"),
        ({"player": [4, 0, 2, 0]}, r"player must have 5 entries, got shape \(4,\)"),
        ({"lo": [[0, 1, 1, 0, 0]]}, r"lo must have 5 entries, got shape \(1, 5\)"),
        ({"hi": [0, 2, 2, 1]}, "hi must have 5 entries"),
        ({"time_seconds": [1]}, "time_seconds must have 2 entries"),
        ({"weight": [1.0, 0.0]}, r"round 1: weight must be within 1e-09\.\.1e\+09, got 0\.0"),
        ({"weight": [-1.0, 1.0]}, "round 0: weight must be"),
        ({"weight": [1.0, math.nan]}, "round 1: weight must be within .*, got nan"),
        ({"weight": [1.0, math.inf]}, "round 1: weight must be within .*, got inf"),
        ({"perf_ceiling": [math.nan, 1.0]}, "round 0: perf_ceiling must be"),
        ({"perf_ceiling": [1.0, -math.inf]}, "round 1: perf_ceiling must be"),
        ({"advantage": [0.0, 0.0]}, r"advantage must have 5 entries, got shape \(2,\)"),
        ({"advantage": [0.0, 0.0, math.nan, 0.0, 0.0]}, r"row 2: advantage must be within -10000\.\.10000 .*, got nan"),
        ({"advantage": [0.0, 1.01e4, 0.0, 0.0, 0.0]}, r"row 1: advantage must be .* rating points, got 10100\.0"),
        ({"advantage": [0.0, 0.0, 0.0, 0.0, -math.inf]}, "row 4: advantage must be"),
        ({"precision": [1.0, 0.0]}, r"round 1: precision must be within 1e-09\.\.1e\+09, got 0\.0"),
        ({"precision": [math.nan, 1.0]}, "round 0: precision must be"),
        ({"points": [0.0, math.nan, math.inf, 0.0, 0.0]}, "row 2: points must be .* points, got inf"),
        ({"score": [1.0, 1.5]}, r"round 1: score must be within 0\.\.1, got 1\.5"),
        ({"score": [1.0, 0.5]}, "scores are for rounds of two"),
        ({"hi": [0, 2, 2, 1, 2]}, "round 1, rows 0-1: 2 tied rows"),
        ({"player": [4, 0, 4, 0, 4]}, "round 0, rows 0-2: player 4 is listed twice"),
    ],
)
def test_rounds__refuse_columns_that_mean_nothing(change, message) -> None:
    with pytest.raises(ValueError, match=message):
        Rounds.from_columns(**GOOD | change)


def test_rounds__in_which_all_tie_can_be_left_out() -> None:
    lo, hi = [0, 0, 0, 0, 1, 0, 0, 2], [0, 1, 1, 0, 1, 1, 1, 2]
    rounds = Rounds.from_columns([0, 1, 3, 5, 8], [5, 1, 2, 3, 4, 0, 6, 7], lo, hi, [10, 20, 30, 40], [1, 2, 3, 4])
    assert rounds.informative.tolist() == [False, False, True, True]
    kept = rounds.keep(rounds.informative)
    assert (kept.offsets.tolist(), kept.player.tolist()) == ([0, 2, 5], [3, 4, 0, 6, 7])
    assert (kept.lo.tolist(), kept.hi.tolist()) == ([0, 1, 0, 0, 2], [0, 1, 1, 1, 2])
    assert (kept.time_seconds.tolist(), kept.weight.tolist()) == ([30, 40], [3.0, 4.0])
    assert kept.keep(kept.informative) is kept
    assert len(rounds.keep(~rounds.informative).keep(np.zeros(2, dtype=bool))) == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0, 2], [-1, 0], [0, 1], [0, 1]), "player must be a number >= 0, got -1"),
        (([0, 2], [0.7, 1.2], [0, 1], [0, 1]), "player must hold whole numbers"),
        (([0, 2], [0, 1], [0.9, 1.9], [0, 1]), "lo must hold whole numbers"),
    ],
)
def test_rounds__refuse_numbers_that_are_no_player_or_place(columns: tuple[list[float], ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Rounds.from_columns(*columns)


def test_rated_only__is_the_same_object_unless_a_participant_is_unrated() -> None:
    rounds = Rounds.from_columns(**GOOD)
    all_rated = replace(rounds, roles=np.full(5, RATED, np.uint8))
    some = replace(rounds, roles=np.array([RATED, OUTSIDE, RATED, IN_FIELD, RATED], np.uint8))

    assert rounds.rated_only() is rounds
    assert all_rated.rated_only() is all_rated
    assert rounds.are_rated.all()
    assert all_rated.are_rated.all()
    assert some.are_rated.tolist() == [True, False, True, False, True]
    found = some.rated_only()
    assert [found.player.tolist(), found.lo.tolist(), found.hi.tolist()] == [[4, 2, 4], [0, 1, 0], [0, 1, 0]]
    assert found.offsets.tolist() == [0, 2, 3]
    assert not len(found.roles)


def test_advantages__go_with_their_rows() -> None:
    advantage = [30.0, 0.0, -30.0, 0.0, 0.0]
    rounds = Rounds.from_columns(**GOOD, advantage=advantage)

    assert rounds.advantage.tolist() == advantage
    assert rounds.with_advantages.tolist() == [True, False]
    assert rounds.part(0, 1).advantage.tolist() == advantage[:3]
    assert rounds.part(1, 2).advantage.tolist() == [0.0, 0.0]
    assert rounds.keep(np.array([True, False])).advantage.tolist() == advantage[:3]
    assert rounds.select(np.array([False, True, True, True, False])).advantage.tolist() == [0.0, -30.0, 0.0]
    again = Rounds.from_arrays(rounds.arrays)
    assert [again.advantage.tolist(), again.roles.tolist(), again.teams] == [advantage, [], None]


def test_precision__goes_with_its_round_and_points_with_their_rows() -> None:
    points = [3.0, math.nan, 1.0, 4.0, -2.0]
    rounds = Rounds.from_columns(**GOOD, precision=[0.5, 2.0], points=points)
    some = rounds.select(np.array([False, True, True, True, False]))
    found = [rounds.part(1, 2), rounds.keep(np.array([False, True])), some, Rounds.from_arrays(rounds.arrays)]
    assert [each.precision.tolist() for each in found] == [[2.0], [2.0], [0.5, 2.0], [0.5, 2.0]]
    expected = [points[3:], points[3:], points[1:4], points]
    assert all(np.array_equal(each.points, p, equal_nan=True) for each, p in zip(found, expected, strict=True))
    assert Rounds.from_columns(**GOOD).precision.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("score", [[0.5, 0.5], [0.4, 0.5], [0.8, 0.6], [0.8, 0.4]])
def test_score__agrees_with_the_places(score: list[float]) -> None:
    at = int(score[0] == 0.8)
    with pytest.raises(ValueError, match=f"round {at}: the score of its first row must be 0.5 in a tie, else more"):
        Rounds.from_columns([0, 2, 4], [0, 1, 1, 2], [0, 1, 0, 0], [0, 1, 1, 1], score=score)


def test_score__goes_with_its_game() -> None:
    games = Rounds.from_columns([0, 2, 4], [0, 1, 1, 2], [0, 1, 0, 0], [0, 1, 1, 1], score=[0.8, 0.5])
    found = [games.part(0, 1), games.keep(np.array([False, True])), Rounds.from_arrays(games.arrays)]
    assert [each.score.tolist() for each in found] == [[0.8], [0.5], [0.8, 0.5]]
    assert not len(Rounds.from_columns(**GOOD).score)


def test_advantages__are_empty_by_default() -> None:
    rounds = Rounds.from_columns(**GOOD)
    found = [rounds, rounds.part(1, 2), rounds.keep(np.array([False, True])), rounds.select(rounds.are_rated)]
    assert [len(each.advantage) for each in found] == [0] * 4
    assert not rounds.with_advantages.any()
