"""The level of a group of players: its equation, and laws of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ranklake.flows.results.group_level import group_level


def test_group_level__solves_its_equation_within_the_range_of_the_members() -> None:
    rng = np.random.default_rng(11)
    for n in (1, 2, 3, 10, 200):
        ratings, weights = rng.normal(1500, 400, n).tolist(), rng.uniform(0.1, 3.0, n).tolist()
        level = group_level(ratings, weights)
        shares = [w / (1 + math.pow(10, (level - r) / 400)) for r, w in zip(ratings, weights, strict=True)]
        assert sum(shares) / sum(weights) == pytest.approx(0.5, abs=1e-12)
        assert min(ratings) <= level <= max(ratings)


def test_group_level__of_two_equal_weights_is_the_mean() -> None:
    assert group_level([1200.0, 1600.0]) == pytest.approx(1400.0, abs=1e-9)
    assert group_level([0.0, 4000.0]) == pytest.approx(2000.0, abs=1e-6)


def test_group_level__does_not_depend_on_the_order_or_the_scale_of_weights() -> None:
    ratings, weights = [1700.0, 1200.0, 2900.0], [1.0, 2.0, 0.5]
    level = group_level(ratings, weights)
    assert group_level(ratings[::-1], weights[::-1]) == level
    assert group_level(ratings, [8 * w for w in weights]) == level
    assert group_level([r + 100 for r in ratings], weights) == pytest.approx(level + 100, abs=1e-9)
    assert group_level([1200.0, 1200.0, 1700.0, 2900.0], [1.0, 1.0, 1.0, 0.5]) == pytest.approx(level, abs=1e-9)


def test_group_level__of_extreme_ratings_is_between_them() -> None:
    assert -1e9 <= group_level([-1e9, 0.0, 1e9]) <= 1e9
    assert -1e300 <= group_level([-1e300, 1e300]) <= 1e300


@pytest.mark.parametrize(
    ("ratings", "weights"), [([], None), ([math.nan], None), ([1.0], [0.0]), ([1.0], [1.0, 1.0]), ([1.0], [math.inf])]
)
def test_group_level__refuses_what_is_no_group(ratings: list[float], weights: list[float] | None) -> None:
    with pytest.raises(ValueError, match="group"):
        group_level(ratings, weights)
