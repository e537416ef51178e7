"""Rounds until a time."""

import numpy as np
import pytest

from ranklake.flows.common.times import count_until


@pytest.mark.parametrize(("at", "count"), [(99, 0), (100, 1), (250, 4), (300, 5), (10**6, 5)])
def test_rounds_until_a_time__include_those_before_the_last_one_that_had_ended(at: int, count: int) -> None:
    ends = np.array([100, 300, 0, 200, 300, 0])  # the clock goes back, and 0 is unknown

    assert count_until(ends, at) == count
