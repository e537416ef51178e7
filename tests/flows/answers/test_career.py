"""What the rounds of a player say, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.flows.answers.players.career import YEAR, career, next_title
from ranklake.flows.results.titles import CODEFORCES, NONE

ROUND = st.tuples(st.booleans(), st.integers(900, 1_100), st.integers(0, 4))


@pytest.mark.slow
@repeatable(60)
@given(st.lists(ROUND, min_size=1, max_size=12), st.integers(1, 5))
def test_career__is_that_of_plain_python(rows: list[tuple[bool, int, int]], years: int) -> None:
    rounds = np.cumsum([new for new, _, _ in rows])
    ratings, ends = np.array([float(rating) for _, rating, _ in rows]), np.array([n * YEAR // 2 for _, _, n in rows])
    found, last = career(rounds, ratings, np.concatenate([[np.nan], ratings[:-1]]), ends, years * YEAR), rounds[-1]
    before = [rating for number, rating in zip(rounds, ratings, strict=True) if number < last]
    assert found.change == (ratings[-1] - before[-1] if before else None)
    old = [rating for rating, end in zip(ratings, ends, strict=True) if end and end <= (years - 1) * YEAR]
    assert found.change_year == (ratings[-1] - old[-1] if old else None)
    assert found.peak == ratings.tolist().index(max(ratings))


def test_career__of_unknown_times_and_of_nobody() -> None:
    found = career(
        np.array([3, 9]), np.array([1500.0, 1400.0]), np.array([np.nan, 1500.0]), np.zeros(2, np.int64), None
    )
    assert (found.change, found.change_year, found.peak) == (-100.0, None, 0)
    with pytest.raises(ValueError, match="no career"):
        career(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0, np.int64), None)


def test_next_title__is_the_one_above() -> None:
    assert next_title(CODEFORCES, 2390.5) == {"name": "grandmaster", "minimum": 2400.0, "points": 9.5}
    assert next_title(CODEFORCES, 2400.0) == {"name": "international grandmaster", "minimum": 2600.0, "points": 200.0}
    assert next_title(CODEFORCES, 3000.0) is None
    assert next_title(NONE, 1500.0) is None
