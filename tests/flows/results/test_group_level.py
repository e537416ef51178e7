"""The level of a group of players: its equation, and laws of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ranklake.flows.results.groups import group_level, group_rating


def test_group_level__beats_all_members_at_once_half_of_the_time() -> None:
    rng = np.random.default_rng(11)
    for n in (1, 2, 3, 10, 200):
        ratings = rng.normal(1500, 400, n).tolist()
        found = group_level(ratings)
        assert math.prod(1 / (1 + math.pow(10, (r - found) / 400)) for r in ratings) == pytest.approx(0.5, abs=1e-12)
        assert found >= max(ratings)


def test_group_level__of_equals_is_known() -> None:
    for n in (1, 2, 3, 50):
        assert group_level([1500.0] * n) == pytest.approx(1500.0 - 400.0 * math.log10(2.0 ** (1.0 / n) - 1.0), abs=1e-9)
    assert group_level([1500.0]) == 1500.0


def test_group_level__does_not_depend_on_the_order_and_follows_a_shift() -> None:
    ratings = [1700.0, 1200.0, 2900.0]
    assert group_level(ratings[::-1]) == group_level(ratings)
    assert group_level([r + 100 for r in ratings]) == pytest.approx(group_level(ratings) + 100, abs=1e-9)
    assert group_level([*ratings, -1e9]) == pytest.approx(group_level(ratings), abs=1e-9)
    assert group_level([*ratings, 1000.0]) > group_level(ratings)


def test_group_level__of_extreme_ratings_is_near_the_highest() -> None:
    assert group_level([-1e9, 0.0, 1e9]) == pytest.approx(1e9)
    assert group_level([-1e300, 1e300]) == 1e300


@pytest.mark.parametrize("ratings", [[], [math.nan], [math.inf, 1.0]])
def test_group_level__refuses_what_is_no_group(ratings: list[float]) -> None:
    with pytest.raises(ValueError, match="group"):
        group_level(ratings)


@pytest.mark.parametrize(
    ("n", "team", "country"), [(1, 0, 0), (2, 153, 191), (3, 234, 280), (10, 458, 512), (100, 863, 920)]
)
def test_group_level__is_below_the_rating_of_a_country(n: int, team: int, country: int) -> None:
    """A product of chances and a sum: the figures of docs/predicting.md for n equal members."""
    equal = np.full(n, 1500.0)
    assert round(group_level(equal.tolist()) - 1500.0) == team
    assert round(group_rating(equal) - 1500.0) == country
    ratings = np.random.default_rng(n).normal(1500.0, 300.0, n)
    assert ratings.max() <= group_level(ratings.tolist()) <= group_rating(ratings)
